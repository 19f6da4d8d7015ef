/* Reads the CSV files of Tradewind's own catalog layout into rows. read.c and import.c call it. */
#include "catalog/read.h"

#include "base/csv.h"
#include "base/nearest.h"
#include "base/number.h"
#include "catalog/catalog.h"
#include "catalog/limits.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define CELL(type, row, member)                                                                    \
    CATALOG_CELL_##type, .at = offsetof(struct catalog_##row##_row, member)

static const struct catalog_column offer_columns[] = {
    {"cloud", CELL(TEXT, offer, cloud), .required = true},
    {"region", CELL(TEXT, offer, region), .required = true},
    {"zone", CELL(TEXT, offer, zone)},
    {"instance_type", CELL(TEXT, offer, instance_type), .required = true},
    {"vcpus", CELL(NUMBER, offer, vcpus), &limit_vcpus},
    {"memory_gib", CELL(NUMBER, offer, memory_gib), &limit_memory},
    {"accelerator", CELL(ACCELERATOR, offer, accelerator)},
    {"accelerator_count", CELL(NUMBER, offer, accelerator_count), &limit_accelerators},
    {"network_gbps", CELL(NUMBER, offer, network_gbps), &limit_gbit},
    {"price_usd_per_hour", CELL(PRICE, offer, price_usd), &limit_price},
    {"spot_usd_per_hour", CELL(PRICE, offer, spot_usd), &limit_price},
    {"preemptions_per_hour", CELL(NUMBER, offer, preemptions), &limit_preemptions},
};
static const struct catalog_column transfer_columns[] = {
    {"src_cloud", CELL(CLOUD, transfer, src_cloud)},
    {"src_region", CELL(REGION, transfer, src_region)},
    {"dst_cloud", CELL(DST_CLOUD, transfer, dst_cloud)},
    {"dst_region", CELL(DST_REGION, transfer, dst_region)},
    {"usd_per_gb", CELL(NUMBER, transfer, usd_per_gb), &limit_transfer_price, true},
    {"tier_from_gb", CELL(COUNT, transfer, tier_from_gb), &limit_tier_gb},
    {"gbit_per_s", CELL(NUMBER, transfer, gbit_per_s), &limit_speed},
    {"rtt_ms", CELL(COUNT, transfer, rtt_ms), &limit_rtt},
};
static const struct catalog_column storage_columns[] = {
    {"cloud", CELL(TEXT, storage, cloud), .required = true},
    {"region", CELL(REGION, storage, region)},
    {"class", CELL(TEXT, storage, class), .required = true},
    {"usd_per_gb_month", CELL(NUMBER, storage, usd_per_gb_month), &limit_storage, true},
    {"usd_per_1000_read", CELL(NUMBER, storage, usd_per_1000_read), &limit_storage},
    {"usd_per_1000_write", CELL(NUMBER, storage, usd_per_1000_write), &limit_storage},
    {"usd_per_1000_list", CELL(NUMBER, storage, usd_per_1000_list), &limit_storage},
};
static const struct catalog_column source_columns[] = {
    {"cloud", CELL(TEXT, source, cloud), .required = true},
    {"source", CELL(TEXT, source, source)},
    {"date", CELL(TEXT, source, date)},
};

const struct catalog_layout *catalog_layout_of(enum catalog_table table)
{
#define COLUMNS(list) list, sizeof list / sizeof *list
    static const struct catalog_layout layouts[] = {
        [CATALOG_TABLE_OFFERS] = {"offers.csv", COLUMNS(offer_columns)},
        [CATALOG_TABLE_TRANSFERS] = {"transfers.csv", COLUMNS(transfer_columns)},
        [CATALOG_TABLE_STORAGE] = {"storage.csv", COLUMNS(storage_columns)},
        [CATALOG_TABLE_SOURCES] = {"sources.csv", COLUMNS(source_columns)},
    };

    if (table >= sizeof layouts / sizeof *layouts || !layouts[table].file)
        return NULL;
    return &layouts[table];
}

/* The row being read. Cells note the first thing that is wrong in e and let the rest pass. */
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
    const char *names[LAYOUT_COLUMNS_MAX];

    for (size_t i = 0; i < l->n_columns; i++) {
        names[i] = l->columns[i].name;
        if (strcmp(names[i], name) != 0)
            continue;
        if (r->at[i] != SIZE_MAX)
            return bad_line(r->csv, e, "there are two columns", name);
        return (int)i;
    }
    const char *near = nearest(name, names, l->n_columns);
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
            return bad_line(r->csv, e, "there is no column", r->layout->columns[i].name);
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
    const struct csv_field *f = &r->fields[r->at[column]];

    if (!r->bad)
        err_set(r->e, ERR_USAGE, "%s:%zu: %s \"%.60s\" %s", csv_name(r->csv), csv_line(r->csv),
                r->layout->columns[column].name, catalog_name_good(f) ? f->text : "", why);
    r->bad = true;
}

static double number(struct row *r, size_t column)
{
    const struct catalog_column *c = &r->layout->columns[column];
    const char *text = r->fields[r->at[column]].text;
    double v = c->cell == CATALOG_CELL_COUNT ? 0 : (double)NAN;

    if (!*text && c->required)
        complain(r, column, "is missing");
    else if (!*text)
        return v;
    else if (!number_parse(text, &v))
        complain(r, column, "is not a number");
    else if (c->cell == CATALOG_CELL_PRICE && v == 0)
        return (double)NAN;
    else if (v < 0)
        complain(r, column, "is negative");
    else if (!limit_known(c->limit, v))
        complain(r, column,
                 v < c->limit->least ? "is too small to be true" : "is too large to be true");
    return v;
}

/* What would match nothing, though it looks as if it should. */
static const char *pattern_fault(const char *text, enum catalog_cell cell)
{
    bool is_region = cell == CATALOG_CELL_REGION || cell == CATALOG_CELL_DST_REGION;
    bool is_source = cell == CATALOG_CELL_CLOUD || cell == CATALOG_CELL_REGION;
    const char *star = strchr(text, '*');

    if (star && star[1])
        return "has a * before its end: write a name, a prefix with * or *";
    if (star && !is_region && star != text)
        return "is a prefix, which only regions may be: write a name or *";
    if (is_source && strcmp(text, "=") == 0)
        return "means \"same as the source\": only a destination can be that";
    return NULL;
}

static uint32_t text(struct row *r, size_t column)
{
    const struct catalog_column *c = &r->layout->columns[column];
    const struct csv_field *f = &r->fields[r->at[column]];
    bool is_pattern = c->cell >= CATALOG_CELL_CLOUD;
    const char *fault = is_pattern ? pattern_fault(f->text, c->cell) : NULL;

    if (!catalog_name_good(f))
        complain(r, column, "is not a name (UTF-8 without control characters, at most 255 bytes)");
    uint32_t id = catalog_rows_intern_n(r->rows, f->text, f->len);
    if (r->rows->full)
        complain(r, column, "is one name too many");
    else if (!id && c->required)
        complain(r, column, "is empty");
    else if (fault)
        complain(r, column, fault);
    if (c->cell == CATALOG_CELL_ACCELERATOR)
        return catalog_rows_intern(r->rows, catalog_accelerator(catalog_rows_text(r->rows, id)));
    return id || !is_pattern ? id : catalog_rows_intern(r->rows, "*");
}

/* A row of any table. */
union any_row {
    struct catalog_offer_row offer;
    struct catalog_transfer_row transfer;
    struct catalog_storage_row storage;
    struct catalog_source_row source;
};

static void read_cells(struct row *r, union any_row *out)
{
    for (size_t i = 0; i < r->layout->n_columns; i++) {
        const struct catalog_column *c = &r->layout->columns[i];
        void *cell = (char *)out + c->at;
        if (c->cell >= CATALOG_CELL_NUMBER)
            *(double *)cell = number(r, i);
        else
            *(uint32_t *)cell = text(r, i);
    }
}

static int keep_offer(struct row *r,
                      const struct catalog_offer_row *offer,
                      struct catalog_file_report *report,
                      struct err *e)
{
    bool duplicate;

    if (!catalog_priced(offer->price_usd) && !catalog_priced(offer->spot_usd)) {
        report->dropped[CATALOG_DROP_UNPRICED]++;
        return 0;
    }
    if (catalog_rows_put(r->rows, offer, &duplicate, e) < 0)
        return err_wrap(e, "%s:%zu", csv_name(r->csv), csv_line(r->csv));
    report->dropped[CATALOG_DROP_DUPLICATE] += duplicate;
    report->spot_above_on_demand += offer->spot_usd > offer->price_usd;
    return 0;
}

/* The cloud `*` stands for the catalog as a whole. */
static void keep_source(struct catalog_rows *rows, const struct catalog_source_row *s)
{
    if (strcmp(catalog_rows_text(rows, s->cloud), "*") == 0) {
        rows->origin = s->source;
        rows->date = s->date;
    } else {
        catalog_rows_put_source(rows, s->cloud, catalog_rows_text(rows, s->source),
                                catalog_rows_text(rows, s->date));
    }
}

static int read_row(struct row *r,
                    enum catalog_table table,
                    struct catalog_file_report *report,
                    struct err *e)
{
    union any_row row = {0};

    read_cells(r, &row);
    if (r->bad)
        return -1;
    switch (table) {
    case CATALOG_TABLE_OFFERS:
        return keep_offer(r, &row.offer, report, e);
    case CATALOG_TABLE_TRANSFERS:
        row.transfer.file = catalog_rows_intern(r->rows, csv_name(r->csv));
        row.transfer.line = (uint32_t)csv_line(r->csv);
        return catalog_rows_put_transfer(r->rows, &row.transfer, e);
    case CATALOG_TABLE_STORAGE:
        return catalog_rows_put_storage(r->rows, &row.storage, e);
    case CATALOG_TABLE_SOURCES:
        keep_source(r->rows, &row.source);
        break;
    case CATALOG_TABLE_UNKNOWN:
    case CATALOG_TABLE_SKYPILOT:
        break;
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
    struct row r = {.csv = csv, .layout = catalog_layout_of(table), .rows = rows, .e = e};
    int got;

    if (date_out)
        *date_out = 0;
    if (read_header(&r, date_out, e) < 0)
        return -1;
    while ((got = next_row(&r, e)) == 1) {
        report->rows_read++;
        if (read_row(&r, table, report, e) < 0)
            return -1;
    }
    report->rows_kept = report->rows_read - catalog_report_dropped(report);
    report->offers = table == CATALOG_TABLE_OFFERS ? report->rows_kept : 0;
    return got;
}
