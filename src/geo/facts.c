#include "geo/facts.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/mem.h"
#include "base/number.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_MAX_BYTES ((size_t)16 << 20)
#define ROWS_MAX 100000
#define COLUMNS_MAX 16
/* More is a slip of the pen; it also keeps what is computed from them finite. */
#define FIGURE_MAX 1e9

/* data/geo-*.csv, linked in by builtin.S. */
extern const char geo_functions_builtin[], geo_functions_builtin_end[];
extern const char geo_stores_builtin[], geo_stores_builtin_end[];
extern const char geo_links_builtin[], geo_links_builtin_end[];
extern const char geo_machines_builtin[], geo_machines_builtin_end[];

/* One column and where it goes in a row's struct: texts first, then figures. */
struct column {
    const char *name;
    size_t offset;
    bool is_text;
    double least; /* figures: not less */
};

struct table {
    const struct column *columns;
    size_t n_columns;
    size_t row_size;
};

#define TEXT(type, member)                                                                         \
    {                                                                                              \
#member, offsetof(struct type, member), true, 0                                            \
    }
#define FIGURE(type, member, least)                                                                \
    {                                                                                              \
#member, offsetof(struct type, member), false, least                                       \
    }
#define N(array) (sizeof(array) / sizeof *(array))

static const struct column function_columns[] = {
    TEXT(geo_function_fact, cloud),
    TEXT(geo_function_fact, region),
    TEXT(geo_function_fact, product),
    FIGURE(geo_function_fact, usd_per_gb_s, 0),
    FIGURE(geo_function_fact, usd_per_cpu_s, 0),
    FIGURE(geo_function_fact, cpu_per_gb, 0),
    FIGURE(geo_function_fact, usd_per_request, 0),
    FIGURE(geo_function_fact, billing_step_ms, 1e-3),
    FIGURE(geo_function_fact, memory_step_mb, 1e-3),
    FIGURE(geo_function_fact, trigger_s, 0),
    FIGURE(geo_function_fact, cold_s, 0),
    FIGURE(geo_function_fact, max_s, 1),
    FIGURE(geo_function_fact, max_memory_mb, 1),
    FIGURE(geo_function_fact, max_disk_mb, 0),
};
static const struct column store_columns[] = {
    TEXT(geo_store_fact, cloud),
    FIGURE(geo_store_fact, keys_per_list, 1),
    FIGURE(geo_store_fact, multipart_requests, 0),
    FIGURE(geo_store_fact, connection_mbps, 1e-6),
    FIGURE(geo_store_fact, request_s, 0),
};
static const struct column link_columns[] = {
    TEXT(geo_link_fact, src_cloud),       TEXT(geo_link_fact, src_region),
    TEXT(geo_link_fact, dst_cloud),       TEXT(geo_link_fact, dst_region),
    FIGURE(geo_link_fact, usd_per_gb, 0), FIGURE(geo_link_fact, mbps, 1e-6),
    FIGURE(geo_link_fact, rtt_ms, 1e-3),
};
static const struct column machine_columns[] = {
    TEXT(geo_machine_fact, cloud),
    TEXT(geo_machine_fact, region),
    TEXT(geo_machine_fact, instance_type),
    FIGURE(geo_machine_fact, network_gbps, 1e-6),
    FIGURE(geo_machine_fact, usd_per_hour, 0),
};

static const struct table tables[4] = {
    {function_columns, N(function_columns), sizeof(struct geo_function_fact)},
    {store_columns, N(store_columns), sizeof(struct geo_store_fact)},
    {link_columns, N(link_columns), sizeof(struct geo_link_fact)},
    {machine_columns, N(machine_columns), sizeof(struct geo_machine_fact)},
};

/* A table on its way from the text to the arena. */
struct reading {
    struct arena *arena;
    struct csv *csv;
    const struct table *table;
    size_t at[COLUMNS_MAX]; /* of each column in a row of the file */
};

static int read_cell(const struct reading *r,
                     const struct column *column,
                     const char *text,
                     char *row,
                     struct err *e)
{
    const struct csv *csv = r->csv;
    double value;

    if (column->is_text) {
        char *copy = arena_dup(r->arena, text);
        if (!copy || !*copy)
            return err_set(e, ERR_USAGE, "%s:%zu: %s %s", csv_name(csv), csv_line(csv),
                           column->name,
                           copy ? "is empty" : "does not fit: the table is too large");
        memcpy(row + column->offset, &copy, sizeof copy);
        return 0;
    }
    if (!number_parse(text, &value) || !(value >= column->least && value <= FIGURE_MAX))
        return err_set(e, ERR_USAGE, "%s:%zu: %s: \"%.40s\" is not a number from %g to %g",
                       csv_name(csv), csv_line(csv), column->name, text, column->least, FIGURE_MAX);
    memcpy(row + column->offset, &value, sizeof value);
    return 0;
}

/* The next row that is no remark: 1, 0 at the end, -1. */
static int next_row(struct csv *csv, const struct csv_field **fields, size_t *n, struct err *e)
{
    int got;

    do
        got = csv_next(csv, fields, n, e);
    while (got > 0 && (*fields)[0].text[0] == '#');
    return got;
}

static int find_columns(struct reading *r, struct err *e)
{
    const struct table *table = r->table;
    const struct csv_field *fields;
    size_t n;
    int got = next_row(r->csv, &fields, &n, e);

    if (got < 0)
        return -1;
    for (size_t i = 0; i < table->n_columns; i++) {
        r->at[i] = SIZE_MAX;
        for (size_t k = 0; got && k < n; k++)
            if (strcmp(fields[k].text, table->columns[i].name) == 0)
                r->at[i] = k;
        if (r->at[i] == SIZE_MAX)
            return err_set(e, ERR_USAGE, "%s: the header has no column %s", csv_name(r->csv),
                           table->columns[i].name);
    }
    return 0;
}

static int read_row(
    const struct reading *r, const struct csv_field *fields, size_t n, char *row, struct err *e)
{
    for (size_t i = 0; i < r->table->n_columns; i++) {
        const struct column *column = &r->table->columns[i];
        if (r->at[i] >= n)
            return err_set(e, ERR_USAGE, "%s:%zu: the row ends before column %s", csv_name(r->csv),
                           csv_line(r->csv), column->name);
        if (read_cell(r, column, fields[r->at[i]].text, row, e) < 0)
            return -1;
    }
    return 0;
}

/* Rows of one table, in memory of the arena. */
static void *read_table(struct arena *arena,
                        const struct geo_facts_text *text,
                        const struct table *table,
                        size_t *n_out,
                        struct err *e)
{
    AUTO(csv) struct csv *csv = csv_from_memory(text->name, text->bytes, text->len);
    AUTO_MEM char *rows = NULL;
    struct reading r = {.arena = arena, .csv = csv, .table = table};
    size_t n = 0, cap = 0, n_fields;
    const struct csv_field *fields;
    int got;

    if (find_columns(&r, e) < 0)
        return NULL;
    while ((got = next_row(csv, &fields, &n_fields, e)) > 0) {
        if (n == ROWS_MAX) {
            err_set(e, ERR_USAGE, "%s: more than %d rows", text->name, ROWS_MAX);
            return NULL;
        }
        rows = mem_room(rows, n, &cap, table->row_size);
        char *row = rows + n++ * table->row_size;
        memset(row, 0, table->row_size);
        if (read_row(&r, fields, n_fields, row, e) < 0)
            return NULL;
    }
    void *copy = got < 0 ? NULL : arena_alloc(arena, n + 1, table->row_size);
    if (!copy) {
        if (got == 0)
            err_set(e, ERR_USAGE, "%s: the table is too large", text->name);
        return NULL;
    }
    if (n)
        memcpy(copy, rows, n * table->row_size);
    *n_out = n;
    return copy;
}

struct geo_facts *geo_facts_read(const struct geo_facts_text texts[static 4], struct err *e)
{
    AUTO(geo_facts) struct geo_facts *f = mem_zero(1, sizeof *f);

    f->arena = arena_new(ARENA_MAX_BYTES);
    if (!(f->functions = read_table(f->arena, &texts[0], &tables[0], &f->n_functions, e)) ||
        !(f->stores = read_table(f->arena, &texts[1], &tables[1], &f->n_stores, e)) ||
        !(f->links = read_table(f->arena, &texts[2], &tables[2], &f->n_links, e)) ||
        !(f->machines = read_table(f->arena, &texts[3], &tables[3], &f->n_machines, e)))
        return NULL;
    return TAKE(f);
}

struct geo_facts *geo_facts_builtin(struct err *e)
{
    const struct geo_facts_text texts[4] = {
        {"geo-functions.csv", geo_functions_builtin,
         (size_t)(geo_functions_builtin_end - geo_functions_builtin)},
        {"geo-stores.csv", geo_stores_builtin,
         (size_t)(geo_stores_builtin_end - geo_stores_builtin)},
        {"geo-links.csv", geo_links_builtin, (size_t)(geo_links_builtin_end - geo_links_builtin)},
        {"geo-machines.csv", geo_machines_builtin,
         (size_t)(geo_machines_builtin_end - geo_machines_builtin)},
    };

    return geo_facts_read(texts, e);
}

void geo_facts_free(struct geo_facts *f)
{
    if (!f)
        return;
    arena_free(f->arena);
    free(f);
}

static bool same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

const struct geo_function_fact *geo_facts_function(const struct geo_facts *f,
                                                   const char *cloud,
                                                   const char *region)
{
    for (size_t i = 0; i < f->n_functions; i++)
        if (same(f->functions[i].cloud, cloud) && same(f->functions[i].region, region))
            return &f->functions[i];
    return NULL;
}

const struct geo_store_fact *geo_facts_store(const struct geo_facts *f, const char *cloud)
{
    for (size_t i = 0; i < f->n_stores; i++)
        if (same(f->stores[i].cloud, cloud))
            return &f->stores[i];
    return NULL;
}

const struct geo_link_fact *geo_facts_link(const struct geo_facts *f,
                                           const char *src_cloud,
                                           const char *src_region,
                                           const char *dst_cloud,
                                           const char *dst_region)
{
    for (size_t i = 0; i < f->n_links; i++) {
        const struct geo_link_fact *l = &f->links[i];
        if (same(l->src_region, src_region) && same(l->dst_region, dst_region) &&
            same(l->src_cloud, src_cloud) && same(l->dst_cloud, dst_cloud))
            return l;
    }
    return NULL;
}

const struct geo_machine_fact *geo_facts_machine(const struct geo_facts *f,
                                                 const char *cloud,
                                                 const char *region,
                                                 const char *instance_type)
{
    for (size_t i = 0; i < f->n_machines; i++) {
        const struct geo_machine_fact *m = &f->machines[i];
        if (same(m->cloud, cloud) && same(m->region, region) &&
            same(m->instance_type, instance_type))
            return m;
    }
    return NULL;
}
