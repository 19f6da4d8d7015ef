/* Reads AWS's offer file of a region, CSV of hundreds of megabytes, in pieces: no more than one
 * block of rows is in memory. aws.c feeds it from the network. */
#include "base/csv.h"
#include "base/mem.h"
#include "base/number.h"
#include "catalog/feed/internal.h"
#include "catalog/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A piece from the network and the longest row; rows have some 2 KB. */
#define PENDING_MAX_BYTES ((size_t)4 << 20)
#define ROW_MAX_BYTES ((size_t)1 << 20)
/* The header comes behind five lines about the file. */
#define HEAD_LINES_MAX 20

enum {
    AWS_TERM,
    AWS_UNIT,
    AWS_PRICE,
    AWS_CURRENCY,
    AWS_FAMILY,
    AWS_TYPE,
    AWS_VCPUS,
    AWS_MEMORY,
    AWS_TENANCY,
    AWS_SYSTEM,
    AWS_CAPACITY,
    AWS_SOFTWARE,
    AWS_REGION,
    AWS_N_NEEDED, /* the columns above must be there */
    AWS_GPUS = AWS_N_NEEDED,
    AWS_MARKET,
    AWS_COLUMNS
};
static const char *const columns[AWS_COLUMNS] = {
    [AWS_TERM] = "TermType",
    [AWS_UNIT] = "Unit",
    [AWS_PRICE] = "PricePerUnit",
    [AWS_CURRENCY] = "Currency",
    [AWS_FAMILY] = "Product Family",
    [AWS_TYPE] = "Instance Type",
    [AWS_VCPUS] = "vCPU",
    [AWS_MEMORY] = "Memory",
    [AWS_TENANCY] = "Tenancy",
    [AWS_SYSTEM] = "Operating System",
    [AWS_CAPACITY] = "CapacityStatus",
    [AWS_SOFTWARE] = "Pre Installed S/W",
    [AWS_REGION] = "Region Code",
    [AWS_GPUS] = "GPU",
    [AWS_MARKET] = "MarketOption",
};

/* What a row must say to be the price of a Linux instance on demand. */
static const struct {
    unsigned column;
    const char *text, *or_text;
} wanted[] = {
    {AWS_TERM, "OnDemand", NULL}, {AWS_FAMILY, "Compute Instance", "Compute Instance (bare metal)"},
    {AWS_SYSTEM, "Linux", NULL},  {AWS_TENANCY, "Shared", NULL},
    {AWS_CAPACITY, "Used", NULL}, {AWS_SOFTWARE, "NA", ""},
    {AWS_UNIT, "Hrs", NULL},      {AWS_CURRENCY, "USD", NULL},
    {AWS_MARKET, "OnDemand", ""},
};

void feed_offers_init(struct feed_offers *o,
                      const char *name,
                      struct feed_list *list,
                      size_t region)
{
    *o = (struct feed_offers){.name = name,
                              .list = list,
                              .region = region,
                              .at = mem_zero(AWS_COLUMNS, sizeof *o->at),
                              .items_before = list->items};
    memcpy(o->dropped_before, list->dropped, sizeof o->dropped_before);
    buf_init(&o->pending, PENDING_MAX_BYTES);
}

void feed_offers_clear(struct feed_offers *o)
{
    buf_clear(&o->pending);
    free(o->at);
    *o = (struct feed_offers){0};
}

static const char *text_of(const struct feed_offers *o,
                           const struct csv_field *row,
                           unsigned column)
{
    return o->at[column] == SIZE_MAX ? "" : row[o->at[column]].text;
}

static bool is_wanted(const struct feed_offers *o, const struct csv_field *row)
{
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const char *text = text_of(o, row, wanted[i].column);
        if (strcmp(text, wanted[i].text) != 0 &&
            (!wanted[i].or_text || strcmp(text, wanted[i].or_text) != 0))
            return false;
    }
    /* Local and Wavelength Zones have regions of their own. */
    return strcmp(text_of(o, row, AWS_REGION), o->list->regions[o->region].name) == 0;
}

/* "1,952 GiB"; NaN for what is no such number. */
static double read_gib(const char *text)
{
    char digits[32];
    size_t n = 0;
    double gib;
    const char *end;

    for (; *text && n + 1 < sizeof digits; text++)
        if (*text != ',')
            digits[n++] = *text;
    digits[n] = '\0';
    if (!number_prefix(digits, &end, &gib) || strcmp(end, " GiB") != 0)
        return (double)NAN;
    return limit_known(&limit_memory, gib) ? gib : (double)NAN;
}

static double read_count(const char *text, const struct limit *limit)
{
    double n;

    return number_parse(text, &n) && limit_known(limit, n) ? n : (double)NAN;
}

static int add_row(struct feed_offers *o, const struct csv_field *row, struct err *e)
{
    struct catalog_offer_row offer = feed_nothing();

    if (!is_wanted(o, row)) {
        o->list->dropped[FEED_DROP_OTHER]++;
        return 0;
    }
    offer.price_usd = read_count(text_of(o, row, AWS_PRICE), &limit_price);
    offer.vcpus = read_count(text_of(o, row, AWS_VCPUS), &limit_vcpus);
    offer.memory_gib = read_gib(text_of(o, row, AWS_MEMORY));
    offer.accelerator_count = read_count(text_of(o, row, AWS_GPUS), &limit_accelerators);
    return feed_list_put(o->list, o->region, false, "", &offer, text_of(o, row, AWS_TYPE), e);
}

static bool is_header(const struct csv_field *row, size_t n)
{
    return n > AWS_N_NEEDED && strcmp(row[0].text, "SKU") == 0;
}

static int read_header(struct feed_offers *o, const struct csv_field *row, size_t n, struct err *e)
{
    for (size_t i = 0; i < AWS_COLUMNS; i++) {
        o->at[i] = SIZE_MAX;
        for (size_t k = 0; k < n && o->at[i] == SIZE_MAX; k++)
            if (strcmp(row[k].text, columns[i]) == 0)
                o->at[i] = k;
        if (i < AWS_N_NEEDED && o->at[i] == SIZE_MAX)
            return err_set(e, ERR_IO, "%s: there is no column \"%s\"", o->name, columns[i]);
    }
    o->has_header = true;
    return 0;
}

static bool has_columns(const struct feed_offers *o, size_t n)
{
    for (size_t i = 0; i < AWS_COLUMNS; i++)
        if (o->at[i] != SIZE_MAX && o->at[i] >= n)
            return false;
    return true;
}

/* Whole rows; the byte behind them is NUL. */
static int read_rows(struct feed_offers *o, char *text, size_t len, struct err *e)
{
    AUTO(csv) struct csv *csv = csv_in_place(o->name, text, len);
    const struct csv_field *row;
    size_t n;
    int got;

    while ((got = csv_next(csv, &row, &n, NULL)) != 0) {
        if (!o->has_header) {
            if (got == 1 && is_header(row, n) && read_header(o, row, n, e) < 0)
                return -1;
            if (!o->has_header && ++o->n_head > HEAD_LINES_MAX)
                return err_set(e, ERR_IO, "%s: no offer file: there is no header with SKU",
                               o->name);
            continue;
        }
        o->list->items++;
        if (got < 0 || !has_columns(o, n))
            o->list->dropped[FEED_DROP_MALFORMED]++;
        else if (add_row(o, row, e) < 0)
            return -1;
    }
    return 0;
}

/* How much of what is pending is whole rows: up to the last line's end outside of quotes. */
static size_t whole_rows(struct feed_offers *o)
{
    size_t end = 0;

    for (; o->scanned < o->pending.len; o->scanned++) {
        char c = o->pending.data[o->scanned];
        if (c == '"')
            o->quoted = !o->quoted;
        else if (c == '\n' && !o->quoted)
            end = o->scanned + 1;
    }
    return end;
}

int feed_offers_add(struct feed_offers *o, const void *bytes, size_t n, struct err *e)
{
    if (o->pending.len + n > PENDING_MAX_BYTES || buf_add(&o->pending, bytes, n) < 0)
        return err_set(e, ERR_IO, "%s: a piece of %zu bytes is too large", o->name, n);
    size_t whole = whole_rows(o), rest = o->pending.len - whole;
    char *text = o->pending.data;

    if (rest > ROW_MAX_BYTES)
        return err_set(e, ERR_IO, "%s: a row has more than %zu bytes", o->name, ROW_MAX_BYTES);
    if (!whole)
        return 0;
    char next = text[whole];
    text[whole] = '\0';
    int result = read_rows(o, text, whole, e);
    text[whole] = next;
    memmove(text, text + whole, rest + 1);
    o->pending.len = o->scanned = rest;
    return result;
}

int feed_offers_end(struct feed_offers *o, struct err *e)
{
    if (o->quoted)
        return err_set(e, ERR_IO, "%s: the file ends within quotes", o->name);
    if (o->pending.len && read_rows(o, o->pending.data, o->pending.len, e) < 0)
        return -1;
    return o->has_header
               ? 0
               : err_set(e, ERR_IO, "%s: no offer file: there is no header with SKU", o->name);
}
