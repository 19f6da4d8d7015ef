/* The readers of tables: our own CSV, Azure's days, the daily history of a catalog. import.c calls
 * them. */
#include "base/csv.h"
#include "market/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_MAX 8

struct table {
    struct import_at *at;
    struct csv *csv;
    const struct csv_field *fields;
    size_t n;
    size_t where[COLUMNS_MAX];
};

/* The next row that is no remark: 1, 0 at the end; rows that are no CSV are counted. */
static int next_row(struct table *t)
{
    for (;;) {
        struct err e = {0};
        int got = csv_next(t->csv, &t->fields, &t->n, &e);
        t->at->line = csv_line(t->csv);
        if (got == 0)
            return 0;
        if (got > 0 && t->fields[0].text[0] == '#')
            continue;
        t->at->report->rows_read++;
        if (got > 0)
            return 1;
        import_drop(t->at, MARKET_DROP_MALFORMED, "%s", e.text);
    }
}

static const char *field(const struct table *t, size_t column)
{
    size_t at = t->where[column];

    return at < t->n ? t->fields[at].text : "";
}

/* Finds the columns in the first row that is no remark. */
static int read_header(struct table *t, const char *const *names, size_t n_names, struct err *e)
{
    if (next_row(t) == 0)
        return err_set(e, ERR_USAGE, "%s:1: there is no header line", t->at->from->name);
    t->at->report->rows_read = 0;
    for (size_t i = 0; i < n_names; i++) {
        t->where[i] = SIZE_MAX;
        for (size_t j = 0; j < t->n; j++)
            if (strcmp(t->fields[j].text, names[i]) == 0)
                t->where[i] = j;
        if (t->where[i] == SIZE_MAX)
            return err_set(e, ERR_USAGE, "%s:%zu: there is no column \"%s\"", t->at->from->name,
                           t->at->line, names[i]);
    }
    return 0;
}

static struct csv *csv_of(const struct import_at *at)
{
    return csv_in_place(at->from->name, at->from->text, at->from->len);
}

static bool names_good(struct import_at *at, const struct import_names *n)
{
    if (*n->cloud && *n->region && *n->instance_type && import_name_good(n->cloud) &&
        import_name_good(n->region) && import_name_good(n->zone) &&
        import_name_good(n->instance_type))
        return true;
    return import_drop(at, MARKET_DROP_MALFORMED,
                       "cloud, region or instance type is empty or not a name");
}

/* One row of our own layout. -1 only when there is no room. */
static int read_row(struct table *t, struct err *e)
{
    enum { CLOUD, REGION, ZONE, TYPE, TIME, PRICE };
    struct import_at *at = t->at;
    const char *price = field(t, PRICE);
    const struct import_names names = {at->from->cloud ? at->from->cloud : field(t, CLOUD),
                                       at->from->region ? at->from->region : field(t, REGION),
                                       field(t, ZONE), field(t, TYPE)};
    double at_s, usd = (double)NAN;

    if (t->n <= t->where[PRICE] || t->n <= t->where[TIME])
        return import_drop(at, MARKET_DROP_MALFORMED, "%zu fields are too few", t->n);
    if (!names_good(at, &names) || !import_parse_time(at, field(t, TIME), &at_s) ||
        (*price && !import_parse_price(at, price, &usd)))
        return 0;
    uint32_t offer = import_offer(at->im, &names, MARKET_FEED_CSV, e);
    return offer == IMPORT_NO_OFFER ? -1 : import_price(at, offer, at_s, usd, e);
}

int import_read_csv(struct import_at *at, struct err *e)
{
    static const char *const columns[] = {"cloud",         "region", "zone",
                                          "instance_type", "time",   "price_usd_per_hour"};
    AUTO(csv) struct csv *csv = csv_of(at);
    struct table t = {.at = at, .csv = csv};

    if (read_header(&t, columns, sizeof columns / sizeof *columns, e) < 0)
        return -1;
    while (next_row(&t))
        if (read_row(&t, e) < 0)
            return -1;
    return 0;
}

/* "us_east" of ".../us_east.csv.gz". */
static void stem_of(const char *path, char out[static 64])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    snprintf(out, 64, "%.*s", (int)strcspn(name, "."), name);
}

struct azure {
    struct table table;
    const char *cloud, *region;
    char sizes[64][64]; /* of the columns; "" = the date */
    bool priced[64];    /* there was a price above */
    size_t n;
};

static int azure_cell(struct azure *a, size_t column, double at_s, struct err *e)
{
    const char *text = a->table.fields[column].text;
    const struct import_names names = {a->cloud, a->region, "", a->sizes[column]};
    struct import_at *at = a->table.at;
    double usd = (double)NAN;

    /* Not sold in this region at all; below a price it means "no longer". */
    if (!*text && !a->priced[column])
        return 0;
    at->report->rows_read++;
    if (*text && !import_parse_price(at, text, &usd))
        return 0;
    a->priced[column] = true;
    uint32_t offer = import_offer(at->im, &names, MARKET_FEED_AZURE, e);
    return offer == IMPORT_NO_OFFER ? -1 : import_price(at, offer, at_s, usd, e);
}

/* "2/24/2020", or a date as everybody else writes it. */
static bool azure_date(struct import_at *at, const char *text, double *out)
{
    if (!strchr(text, '/'))
        return import_parse_time(at, text, out);
    if (import_us_date(text, out))
        return true;
    return import_drop(at, MARKET_DROP_TIME, "\"%.40s\" is not a date like 2/24/2020", text);
}

static int azure_row(struct azure *a, struct err *e)
{
    struct table *t = &a->table;
    double at_s;

    if (t->n > a->n)
        return import_drop(t->at, MARKET_DROP_MALFORMED, "%zu fields where the header has %zu",
                           t->n, a->n);
    if (!azure_date(t->at, field(t, 0), &at_s))
        return 0;
    t->at->report->rows_read--; /* its prices are the rows */
    for (size_t i = 0; i < t->n; i++)
        if (a->sizes[i][0] && azure_cell(a, i, at_s, e) < 0)
            return -1;
    return 0;
}

static int azure_header(struct azure *a, struct err *e)
{
    static const char *const columns[] = {"Date"};
    struct table *t = &a->table;

    if (read_header(t, columns, 1, e) < 0)
        return -1;
    if (t->n > 64 || t->n < 2)
        return err_set(e, ERR_USAGE, "%s:%zu: 1 to 63 sizes of machines must stand beside Date",
                       t->at->from->name, t->at->line);
    a->n = t->n;
    for (size_t i = 0; i < t->n; i++) {
        const char *size = t->fields[i].text;
        if (i == t->where[0])
            continue;
        if (!*size || !import_name_good(size) || strlen(size) >= sizeof a->sizes[i])
            return err_set(e, ERR_USAGE, "%s:%zu: column %zu does not name an instance size",
                           t->at->from->name, t->at->line, i + 1);
        snprintf(a->sizes[i], sizeof a->sizes[i], "%s", size);
    }
    return 0;
}

int import_read_azure(struct import_at *at, struct err *e)
{
    AUTO(csv) struct csv *csv = csv_of(at);
    struct azure a = {.table = {.at = at, .csv = csv}, .cloud = at->from->cloud};
    char stem[64];

    stem_of(at->from->name, stem);
    a.cloud = at->from->cloud ? at->from->cloud : "azure";
    a.region = at->from->region ? at->from->region : stem;
    if (!*a.region || !import_name_good(a.region))
        return err_set(e, ERR_USAGE, "%s: the name does not tell the region; say --region NAME",
                       at->from->name);
    if (azure_header(&a, e) < 0)
        return -1;
    while (next_row(&a.table))
        if (azure_row(&a, e) < 0)
            return -1;
    return 0;
}

/* Rows of one offer stand together: its name is looked up once. */
struct daily {
    struct table table;
    const char *cloud;
    char type[MARKET_NAME_MAX_BYTES + 1], zone[MARKET_NAME_MAX_BYTES + 1];
    uint32_t offer;
};

static int daily_offer(struct daily *d, const char *type, const char *zone, struct err *e)
{
    struct import_at *at = d->table.at;
    char region[64];

    if (d->offer != IMPORT_NO_OFFER && strcmp(d->type, type) == 0 && strcmp(d->zone, zone) == 0)
        return 1;
    d->offer = IMPORT_NO_OFFER;
    if (!at->from->region && !import_region_of_zone(d->cloud, zone, region))
        return import_drop(at, MARKET_DROP_MALFORMED, "\"%.40s\" is not a zone of %s", zone,
                           d->cloud);
    const struct import_names names = {d->cloud, at->from->region ? at->from->region : region, zone,
                                       type};
    if (!names_good(at, &names))
        return 0;
    snprintf(d->type, sizeof d->type, "%s", type);
    snprintf(d->zone, sizeof d->zone, "%s", zone);
    d->offer = import_offer(at->im, &names, MARKET_FEED_DAILY, e);
    return d->offer == IMPORT_NO_OFFER ? -1 : 1;
}

static int daily_row(struct daily *d, struct err *e)
{
    enum { TYPE, ZONE, DATE, ON_DEMAND, SPOT };
    struct table *t = &d->table;
    const char *spot = field(t, SPOT), *on_demand = field(t, ON_DEMAND);
    double at_s, usd = (double)NAN, list_usd = (double)NAN;

    if (t->n <= t->where[SPOT] || t->n <= t->where[ON_DEMAND])
        return import_drop(t->at, MARKET_DROP_MALFORMED, "%zu fields are too few", t->n);
    if (!import_parse_time(t->at, field(t, DATE), &at_s) ||
        (*spot && !import_parse_price(t->at, spot, &usd)) ||
        (*on_demand && !import_parse_price(t->at, on_demand, &list_usd)))
        return 0;
    int got = daily_offer(d, field(t, TYPE), field(t, ZONE), e);
    if (got <= 0)
        return got;
    import_on_demand(t->at, d->offer, at_s, list_usd);
    return import_price(t->at, d->offer, at_s, usd, e);
}

int import_read_daily(struct import_at *at, struct err *e)
{
    static const char *const columns[] = {"instance_type", "az_id", "date", "ondemand_usd_h",
                                          "spot_usd_h"};
    AUTO(csv) struct csv *csv = csv_of(at);
    struct daily d = {.table = {.at = at, .csv = csv}, .offer = IMPORT_NO_OFFER};

    d.cloud = at->from->cloud ? at->from->cloud : "aws";
    if (read_header(&d.table, columns, sizeof columns / sizeof *columns, e) < 0)
        return -1;
    while (next_row(&d.table))
        if (daily_row(&d, e) < 0)
            return -1;
    return 0;
}
