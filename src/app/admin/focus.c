/* focus: the operation bill.focus, the charges of a month in the columns of FOCUS 1.2, the FinOps
 * Open Cost and Usage Specification. `tradewind bill --focus` calls it. */
#include "app/admin/admin.h"
#include "app/admin/bill.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All columns of version 1.2 in its order, and what the extension rule calls x_ columns. A column
 * without a value is null, as the specification wants it where a feature is not used. */
/* clang-format off */
#define FOCUS_COLUMNS(X)                                                                          \
    X(AvailabilityZone, "Zone of the machine.")                                                   \
    X(BilledCost, "Cost of the charge.")                                                          \
    X(BillingAccountId, "Project.")                                                               \
    X(BillingAccountName, "Project.")                                                             \
    X(BillingAccountType, "What the billing account is.")                                         \
    X(BillingCurrency, "Currency of all costs.")                                                  \
    X(BillingPeriodEnd, "Beginning of the next month.")                                           \
    X(BillingPeriodStart, "Beginning of the month.")                                              \
    X(CapacityReservationId, "Not used.")                                                         \
    X(CapacityReservationStatus, "Not used.")                                                     \
    X(ChargeCategory, "Usage.")                                                                   \
    X(ChargeClass, "Not used: no charge is a correction.")                                        \
    X(ChargeDescription, "Job, stage and machine of the charge.")                                 \
    X(ChargeFrequency, "Usage-Based.")                                                            \
    X(ChargePeriodEnd, "End of the job or the machine.")                                          \
    X(ChargePeriodStart, "Start of the job or the machine.")                                      \
    X(CommitmentDiscountCategory, "Not used.")                                                    \
    X(CommitmentDiscountId, "Not used.")                                                          \
    X(CommitmentDiscountName, "Not used.")                                                        \
    X(CommitmentDiscountQuantity, "Not used.")                                                    \
    X(CommitmentDiscountStatus, "Not used.")                                                      \
    X(CommitmentDiscountType, "Not used.")                                                        \
    X(CommitmentDiscountUnit, "Not used.")                                                        \
    X(ConsumedQuantity, "Hours of the charge.")                                                   \
    X(ConsumedUnit, "Unit of the quantity.")                                                      \
    X(ContractedCost, "Cost of the charge.")                                                      \
    X(ContractedUnitPrice, "Cost per hour.")                                                      \
    X(EffectiveCost, "Cost of the charge.")                                                       \
    X(InvoiceId, "Not used: Tradewind sends no invoices.")                                        \
    X(InvoiceIssuerName, "Who sends the invoice.")                                                \
    X(ListCost, "Cost of the charge.")                                                            \
    X(ListUnitPrice, "Cost per hour.")                                                            \
    X(PricingCategory, "Standard, or Dynamic for spot instances.")                                \
    X(PricingCurrency, "Currency of all prices.")                                                 \
    X(PricingCurrencyContractedUnitPrice, "Cost per hour.")                                       \
    X(PricingCurrencyEffectiveCost, "Cost of the charge.")                                        \
    X(PricingCurrencyListUnitPrice, "Cost per hour.")                                             \
    X(PricingQuantity, "Hours of the charge.")                                                    \
    X(PricingUnit, "Unit of the quantity.")                                                       \
    X(ProviderName, "Cloud, host group or this machine.")                                         \
    X(PublisherName, "Cloud, host group or this machine.")                                        \
    X(RegionId, "Region of the machine.")                                                         \
    X(RegionName, "Region of the machine.")                                                       \
    X(ResourceId, "Job or machine.")                                                              \
    X(ResourceName, "Name of the job or the machine.")                                            \
    X(ResourceType, "Job or Machine.")                                                            \
    X(ServiceCategory, "Compute.")                                                                \
    X(ServiceName, "What was used.")                                                              \
    X(ServiceSubcategory, "Virtual Machines or Other (Compute).")                                 \
    X(SkuId, "Instance type, or CPUs and memory of the job.")                                     \
    X(SkuMeter, "What is counted.")                                                               \
    X(SkuPriceDetails, "CPUs and memory, as JSON.")                                               \
    X(SkuPriceId, "SKU and how it was priced.")                                                   \
    X(SubAccountId, "User.")                                                                      \
    X(SubAccountName, "User.")                                                                    \
    X(SubAccountType, "What the sub account is.")                                                 \
    X(Tags, "Run, stage, user and basis of the cost, as JSON.")                                   \
    X(x_CostBasis, "measured or modelled.")                                                       \
    X(x_Job, "Job.")                                                                              \
    X(x_Run, "Run.")
/* clang-format on */

/* Texts throughout: CSV has no types, and decimals stay as they are written. */
struct focus_row {
#define MEMBER(name, help) const char *name;
    FOCUS_COLUMNS(MEMBER)
#undef MEMBER
};

static const struct field focus_fields[] = {
#define COLUMN(name_, help_) {#name_, FIELD(TEXT, struct focus_row, name_), .help = (help_)},
    FOCUS_COLUMNS(COLUMN)
#undef COLUMN
};

struct focus_request {
    const char *month;
};
static const struct field focus_request_fields[] = {
    {"month", FIELD(TEXT, struct focus_request, month), .value = "MONTH",
     .help = "Month of UTC, as in 2026-11 (default: the current one)."},
};

/* Values of one row that are written for it. */
struct focus_texts {
    char from[32], until[32], begin[32], end[32];
    char cost[40], hours[40], price[40];
    char job[32], run[32], resource[340], sku[160], price_id[200], described[500];
};

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

static char *dump_text(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);

    json_decref(object);
    return text;
}

static char *tags_text(const struct admin_charge *c)
{
    json_t *tags = json_object();

    json_object_set_new(tags, "basis", json_string(c->basis));
    if (c->run)
        json_object_set_new(tags, "run", json_sprintf("%lld", (long long)c->run));
    if (*c->stage)
        json_object_set_new(tags, "stage", json_string(c->stage));
    if (*c->user)
        json_object_set_new(tags, "user", json_string(c->user));
    return dump_text(tags);
}

static char *details_text(const struct admin_charge *c)
{
    json_t *details = json_object();

    json_object_set_new(details, "CoreCount", json_number(c->cpus));
    json_object_set_new(details, "MemorySize", json_number((double)c->memory_mb / 1024));
    return dump_text(details);
}

static void write_texts(const struct admin_charge *c,
                        const struct admin_month *month,
                        struct focus_texts *t)
{
    /* A period has a length, and begins and ends at seconds here. */
    int64_t end_ms = c->until_ms - c->from_ms >= 1000 ? c->until_ms : c->from_ms + 1000;
    double hours = (double)(c->until_ms > c->from_ms ? c->until_ms - c->from_ms : 1) / 3.6e6;
    double usd = (double)c->microusd / 1e6;

    time_iso(month->from_ms, t->from);
    time_iso(month->until_ms, t->until);
    time_iso(c->from_ms, t->begin);
    time_iso(end_ms, t->end);
    snprintf(t->cost, sizeof t->cost, "%.6f", usd);
    snprintf(t->hours, sizeof t->hours, "%.9f", hours);
    snprintf(t->price, sizeof t->price, "%.9f", usd / hours);
    snprintf(t->job, sizeof t->job, "%lld", (long long)c->job);
    snprintf(t->run, sizeof t->run, "%lld", (long long)c->run);
    if (c->job)
        snprintf(t->resource, sizeof t->resource, "job-%lld", (long long)c->job);
    else
        snprintf(t->resource, sizeof t->resource, "%s", c->machine);
    if (*c->instance_type)
        snprintf(t->sku, sizeof t->sku, "%.120s", c->instance_type);
    else
        snprintf(t->sku, sizeof t->sku, "%g vCPU, %llu MB", c->cpus,
                 (unsigned long long)c->memory_mb);
    snprintf(t->price_id, sizeof t->price_id, "%s, %.30s", t->sku, c->basis);
    snprintf(t->described, sizeof t->described, "%s %.300s%s%.100s", c->job ? "job" : "machine",
             c->job ? t->job : c->name, *c->stage ? ", stage " : "", c->stage);
}

static struct focus_row row_of(const struct admin_charge *c, const struct focus_texts *t)
{
    const char *account = *c->project ? c->project : "default";
    const char *provider = strcmp(c->cloud, "local") == 0 ? "this machine" : c->cloud;

    return (struct focus_row){
        .AvailabilityZone = or_null(c->zone),
        .BilledCost = t->cost,
        .BillingAccountId = account,
        .BillingAccountName = account,
        .BillingAccountType = "Project",
        .BillingCurrency = "USD",
        .BillingPeriodEnd = t->until,
        .BillingPeriodStart = t->from,
        .ChargeCategory = "Usage",
        .ChargeDescription = t->described,
        .ChargeFrequency = "Usage-Based",
        .ChargePeriodEnd = t->end,
        .ChargePeriodStart = t->begin,
        .ConsumedQuantity = t->hours,
        .ConsumedUnit = "Hours",
        .ContractedCost = t->cost,
        .ContractedUnitPrice = t->price,
        .EffectiveCost = t->cost,
        .InvoiceIssuerName = "Tradewind",
        .ListCost = t->cost,
        .ListUnitPrice = t->price,
        .PricingCategory = c->spot ? "Dynamic" : "Standard",
        .PricingCurrency = "USD",
        .PricingCurrencyContractedUnitPrice = t->price,
        .PricingCurrencyEffectiveCost = t->cost,
        .PricingCurrencyListUnitPrice = t->price,
        .PricingQuantity = t->hours,
        .PricingUnit = "Hours",
        .ProviderName = provider,
        .PublisherName = provider,
        .RegionId = or_null(c->region),
        .RegionName = or_null(c->region),
        .ResourceId = t->resource,
        .ResourceName = or_null(c->name),
        .ResourceType = c->job ? "Job" : "Machine",
        .ServiceCategory = "Compute",
        .ServiceName = c->job ? "Jobs" : "Machines",
        .ServiceSubcategory = c->job ? "Other (Compute)" : "Virtual Machines",
        .SkuId = t->sku,
        .SkuMeter = c->job ? "Job hours" : "Machine hours",
        .SkuPriceId = t->price_id,
        .SubAccountId = or_null(c->user),
        .SubAccountName = or_null(c->user),
        .SubAccountType = *c->user ? "User" : NULL,
        .x_CostBasis = c->is_measured ? "measured" : "modelled",
        .x_Job = c->job ? t->job : NULL,
        .x_Run = c->run ? t->run : NULL,
    };
}

struct focusing {
    const struct admin_month *month;
    struct answer *out;
};

static int put_charge(void *context, const struct admin_charge *charge, struct err *e)
{
    struct focusing *f = context;
    AUTO_MEM char *tags = tags_text(charge);
    AUTO_MEM char *details = details_text(charge);
    struct focus_texts texts;

    write_texts(charge, f->month, &texts);
    struct focus_row row = row_of(charge, &texts);
    row.Tags = tags;
    row.SkuPriceDetails = details;
    return answer_item(f->out, &row, e);
}

static int run_focus(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct focus_request *q = request;
    struct admin_month month;
    struct focusing f = {.month = &month, .out = out};
    char option[64];

    if (admin_month_read(q->month, time_epoch_ms(), &month, e) < 0)
        return err_wrap(e, "%s", answer_spell(out, "month", option));
    return admin_each_charge(app, &month, put_charge, &f, e);
}

const struct operation bill_focus_operation = {
    .name = "bill.focus",
    .summary = "List the charges of a month in the columns of FOCUS 1.2.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct focus_request, focus_request_fields),
    .item = RECORD_AT("focus_charge", struct focus_row, focus_fields),
    .run = run_focus,
};
