/* Reads the CSV files of Tradewind's own catalog layout (catalog/layout.h) into rows.
 * read.c and import.c call it. */
#include "catalog/read.h"

#include "base/csv.h"
#include "base/nearest.h"
#include "base/number.h"
#include "catalog/accelerator.h"
#include "catalog/catalog.h"
#include "catalog/layout.h"
#include "catalog/limits.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The row being read. Getters note the first thing that is wrong in e and let the rest pass, so
 * that a row is read without a check after every field. */
struct row {
    struct csv *csv;
    const struct catalog_layout *layout;
    size_t at[LAYOUT_COLUMNS_MAX];
    size_t n_fields; /* of the header */
    const struct csv_field *fields;
    struct catalog_rows *rows;
    bool bad;
    struct err *e;
};

static int bad_line(const struct csv *csv, struct err *e, const char *what, const char *column)
{
    return err_set(e, ERR_USAGE, "%s:%zu: %s \"%s\"", csv_name(csv), csv_line(csv), what, column);
}

static bool is_remark(const struct csv_field *fields)
{
    return fields[0].text[0] == '#';
}

static void read_remark(struct row *r, const struct csv_field *f, uint32_t *date_out)
{
    static const char mark[] = "# date: ";

    if (!date_out || *date_out || strncmp(f->text, mark, sizeof mark - 1) != 0)
        return;
    const struct csv_field date = {f->text + sizeof mark - 1, f->len - (sizeof mark - 1)};
    if (catalog_name_good(&date))
        *date_out = catalog_rows_intern_n(r->rows, date.text, strcspn(date.text, " "));
}

static int find_column(const struct row *r, const char *name, struct err *e)
{
    const struct catalog_layout *l = r->layout;

    for (size_t i = 0; i < l->n_columns; i++) {
        if (strcmp(l->columns[i], name) != 0)
            continue;
        if (r->at[i] != SIZE_MAX)
            return bad_line(r->csv, e, "there are two columns", name);
        return (int)i;
    }
    const char *near = nearest(name, l->columns, l->n_columns);
    if (near)
        return err_set(e, ERR_USAGE, "%s:%zu: unknown column \"%.60s\"; did you mean \"%s\"?",
                       csv_name(r->csv), csv_line(r->csv), name, near);
    return err_set(e, ERR_USAGE, "%s:%zu: unknown column \"%.60s\"; %s has no such column",
                   csv_name(r->csv), csv_line(r->csv), name, l->file);
}

static int read_header(struct row *r, uint32_t *date_out, struct err *e)
{
    int got;

    while ((got = csv_next(r->csv, &r->fields, &r->n_fields, e)) == 1 && is_remark(r->fields))
        read_remark(r, r->fields, date_out);
    if (got < 0)
        return -1;
    if (got == 0)
        return err_set(e, ERR_USAGE, "%s: empty, not even a header", csv_name(r->csv));
    for (size_t i = 0; i < LAYOUT_COLUMNS_MAX; i++)
        r->at[i] = SIZE_MAX;
    for (size_t i = 0; i < r->n_fields; i++) {
        int column = find_column(r, r->fields[i].text, e);
        if (column < 0)
            return -1;
        r->at[column] = i;
    }
    for (size_t i = 0; i < r->layout->n_columns; i++) {
        if (r->at[i] == SIZE_MAX)
            return bad_line(r->csv, e, "there is no column", r->layout->columns[i]);
    }
    return 0;
}

/* 1 and a row to read, 0 at the end. */
static int next_row(struct row *r, struct err *e)
{
    size_t n;
    int got;

    do {
        got = csv_next(r->csv, &r->fields, &n, e);
    } while (got == 1 && is_remark(r->fields));
    if (got == 1 && n != r->n_fields)
        return err_set(e, ERR_USAGE, "%s:%zu: %zu fields, the header has %zu", csv_name(r->csv),
                       csv_line(r->csv), n, r->n_fields);
    return got;
}

static void complain(struct row *r, size_t column, const char *why)
{
    const char *text = r->fields[r->at[column]].text;

    if (!r->bad)
        err_set(r->e, ERR_USAGE, "%s:%zu: %s \"%.60s\" %s", csv_name(r->csv), csv_line(r->csv),
                r->layout->columns[column],
                catalog_name_good(&r->fields[r->at[column]]) ? text : "", why);
    r->bad = true;
}

static double number(struct row *r, size_t column, const struct limit *limit)
{
    const char *text = r->fields[r->at[column]].text;
    double v = (double)NAN;

    if (!*text)
        return v;
    if (!number_parse(text, &v))
        complain(r, column, "is not a number");
    else if (v < 0)
        complain(r, column, "is negative");
    else if (!limit_known(limit, v))
        complain(r, column,
                 v < limit->least ? "is too small to be true" : "is too large to be true");
    return v;
}

/* Zero is how some price lists say "not for sale". */
static double price(struct row *r, size_t column)
{
    double v;

    if (number_parse(r->fields[r->at[column]].text, &v) && v == 0)
        return (double)NAN;
    return number(r, column, &limit_price);
}

static double number_given(struct row *r, size_t column, const struct limit *limit)
{
    if (!r->fields[r->at[column]].len)
        complain(r, column, "is missing");
    return number(r, column, limit);
}

static double number_or(struct row *r, size_t column, const struct limit *limit, double otherwise)
{
    double v = number(r, column, limit);

    return isnan(v) ? otherwise : v;
}

static uint32_t text(struct row *r, size_t column)
{
    const struct csv_field *f = &r->fields[r->at[column]];

    if (!catalog_name_good(f))
        complain(r, column, "is not a name (UTF-8 without control characters, at most 255 bytes)");
    uint32_t id = catalog_rows_intern_n(r->rows, f->text, f->len);
    if (r->rows->full)
        complain(r, column, "is one name too many");
    return id;
}

static uint32_t text_given(struct row *r, size_t column)
{
    uint32_t id = text(r, column);

    if (!id)
        complain(r, column, "is empty");
    return id;
}

enum pattern_column { PATTERN_CLOUD, PATTERN_REGION, PATTERN_DST_CLOUD, PATTERN_DST_REGION };

/* What would match nothing, though it looks as if it should. */
static const char *pattern_fault(const char *text, enum pattern_column kind)
{
    bool is_region = kind == PATTERN_REGION || kind == PATTERN_DST_REGION;
    bool is_source = kind == PATTERN_CLOUD || kind == PATTERN_REGION;
    const char *star = strchr(text, '*');

    if (star && star[1])
        return "has a * before its end: write a name, a prefix with * or *";
    if (star && !is_region && star != text)
        return "is a prefix, which only regions may be: write a name or *";
    if (is_source && strcmp(text, "=") == 0)
        return "means \"same as the source\": only a destination can be that";
    return NULL;
}

static uint32_t pattern(struct row *r, size_t column, enum pattern_column kind)
{
    uint32_t id = text(r, column);
    const char *fault = pattern_fault(r->fields[r->at[column]].text, kind);

    if (fault)
        complain(r, column, fault);
    return id ? id : catalog_rows_intern(r->rows, "*");
}

static uint32_t accelerator(struct row *r)
{
    uint32_t id = text(r, OFFER_ACCELERATOR);

    return catalog_rows_intern(r->rows, catalog_accelerator(catalog_rows_text(r->rows, id)));
}

static int read_offer(struct row *r, struct catalog_file_report *report, struct err *e)
{
    const struct catalog_offer_row offer = {
        .cloud = text_given(r, OFFER_CLOUD),
        .region = text_given(r, OFFER_REGION),
        .zone = text(r, OFFER_ZONE),
        .instance_type = text_given(r, OFFER_TYPE),
        .vcpus = number(r, OFFER_VCPUS, &limit_vcpus),
        .memory_gib = number(r, OFFER_MEMORY, &limit_memory),
        .accelerator = accelerator(r),
        .accelerator_count = number(r, OFFER_COUNT, &limit_accelerators),
        .network_gbps = number(r, OFFER_NETWORK, &limit_gbit),
        .price_usd = price(r, OFFER_PRICE),
        .spot_usd = price(r, OFFER_SPOT),
        .preemptions = number(r, OFFER_PREEMPTIONS, &limit_preemptions),
    };
    bool duplicate;

    if (r->bad)
        return -1;
    if (!catalog_priced(offer.price_usd) && !catalog_priced(offer.spot_usd)) {
        report->dropped[CATALOG_DROP_UNPRICED]++;
        return 0;
    }
    if (catalog_rows_put(r->rows, &offer, &duplicate, e) < 0)
        return err_wrap(e, "%s:%zu", csv_name(r->csv), csv_line(r->csv));
    report->dropped[CATALOG_DROP_DUPLICATE] += duplicate;
    report->spot_above_on_demand += offer.spot_usd > offer.price_usd;
    return 0;
}

static int read_transfer(struct row *r, struct catalog_file_report *report, struct err *e)
{
    const struct catalog_transfer_row transfer = {
        .src_cloud = pattern(r, TRANSFER_SRC_CLOUD, PATTERN_CLOUD),
        .src_region = pattern(r, TRANSFER_SRC_REGION, PATTERN_REGION),
        .dst_cloud = pattern(r, TRANSFER_DST_CLOUD, PATTERN_DST_CLOUD),
        .dst_region = pattern(r, TRANSFER_DST_REGION, PATTERN_DST_REGION),
        .usd_per_gb = number_given(r, TRANSFER_USD, &limit_transfer_price),
        .tier_from_gb = number_or(r, TRANSFER_TIER, &limit_tier_gb, 0),
        .gbit_per_s = number(r, TRANSFER_SPEED, &limit_speed),
        .rtt_ms = number_or(r, TRANSFER_RTT, &limit_rtt, 0),
        .file = catalog_rows_intern(r->rows, csv_name(r->csv)),
        .line = (uint32_t)csv_line(r->csv),
    };

    (void)report;
    if (r->bad)
        return -1;
    return catalog_rows_put_transfer(r->rows, &transfer, e);
}

static int read_storage(struct row *r, struct catalog_file_report *report, struct err *e)
{
    const struct catalog_storage_row storage = {
        .cloud = text_given(r, STORAGE_CLOUD),
        .region = pattern(r, STORAGE_REGION, PATTERN_REGION),
        .class = text_given(r, STORAGE_CLASS),
        .usd_per_gb_month = number_given(r, STORAGE_USD, &limit_storage),
        .usd_per_1000_read = number(r, STORAGE_READ, &limit_storage),
        .usd_per_1000_write = number(r, STORAGE_WRITE, &limit_storage),
        .usd_per_1000_list = number(r, STORAGE_LIST, &limit_storage),
    };

    (void)report;
    if (r->bad)
        return -1;
    return catalog_rows_put_storage(r->rows, &storage, e);
}

/* The cloud `*` stands for the catalog as a whole. */
static int read_source(struct row *r, struct catalog_file_report *report, struct err *e)
{
    uint32_t cloud = text_given(r, SOURCE_CLOUD), source = text(r, SOURCE_TEXT),
             date = text(r, SOURCE_DATE);

    (void)report;
    (void)e;
    if (r->bad)
        return -1;
    if (strcmp(catalog_rows_text(r->rows, cloud), "*") == 0) {
        r->rows->origin = source;
        r->rows->date = date;
    } else {
        catalog_rows_put_source(r->rows, cloud, catalog_rows_text(r->rows, source),
                                catalog_rows_text(r->rows, date));
    }
    return 0;
}

int catalog_read_tradewind(struct csv *csv,
                           enum catalog_table table,
                           struct catalog_rows *rows,
                           struct catalog_file_report *report,
                           uint32_t *date_out,
                           struct err *e)
{
    static int (*const readers[])(struct row *, struct catalog_file_report *, struct err *) = {
        [CATALOG_TABLE_OFFERS] = read_offer,
        [CATALOG_TABLE_TRANSFERS] = read_transfer,
        [CATALOG_TABLE_STORAGE] = read_storage,
        [CATALOG_TABLE_SOURCES] = read_source,
    };
    struct row r = {.csv = csv, .layout = catalog_layout_of(table), .rows = rows, .e = e};
    int got;

    if (date_out)
        *date_out = 0;
    if (read_header(&r, date_out, e) < 0)
        return -1;
    while ((got = next_row(&r, e)) == 1) {
        report->rows_read++;
        if (readers[table](&r, report, e) < 0)
            return -1;
    }
    report->rows_kept = report->rows_read - catalog_report_dropped(report);
    report->offers = table == CATALOG_TABLE_OFFERS ? report->rows_kept : 0;
    return got;
}
