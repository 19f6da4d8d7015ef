/* Reads tables of measured throughputs (CSV, and the built-in one). throughput.c calls it. */
#include "estimate/internal.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/mem.h"
#include "base/number.h"
#include "catalog/catalog.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* In one table. Far above any real one: it bounds memory. */
#define ROWS_MAX 20000

#define BATCH_PREFIX "(batchsize"

/* "(batchsize128)" at the end of the folded text is the batch size. */
static void cut_batch_size(struct throughput_name *name)
{
    char *open = strstr(name->key, BATCH_PREFIX);
    const char *end;
    double batch;

    if (!open || !number_prefix(open + strlen(BATCH_PREFIX), &end, &batch) || batch <= 0 ||
        strcmp(end, ")") != 0)
        return;
    name->batch_size = batch;
    *open = '\0';
}

static size_t trimmed_len(const char *text, size_t len)
{
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    return len;
}

bool throughput_name_parse(const char *text, struct throughput_name *out)
{
    size_t n = 0;

    *out = (struct throughput_name){.model_len = trimmed_len(text, strlen(text))};
    for (const char *p = text; *p; p++) {
        if (*p == '-' || *p == '_' || isspace((unsigned char)*p))
            continue;
        if (n == THROUGHPUT_NAME_MAX_BYTES)
            return false;
        out->key[n++] = (char)tolower((unsigned char)*p);
    }
    cut_batch_size(out);
    if (out->batch_size > 0)
        out->model_len = trimmed_len(text, (size_t)(strrchr(text, '(') - text));
    return out->key[0] != '\0';
}

static int out_of_room(const struct csv *csv, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s:%zu: the table is too large", csv_name(csv), csv_line(csv));
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

static int read_header(struct throughputs *t,
                       struct csv *csv,
                       struct throughput_table *table,
                       struct err *e)
{
    const struct csv_field *fields;
    size_t n;
    int got = next_row(csv, &fields, &n, e);

    if (got < 0)
        return -1;
    if (got == 0 || n < 3 || strcmp(fields[0].text, "model") != 0 ||
        strcmp(fields[1].text, "batch_size") != 0)
        return err_set(e, ERR_USAGE,
                       "%s:%zu: a throughput table begins with the header "
                       "'model,batch_size,' and one accelerator or more",
                       csv_name(csv), got ? csv_line(csv) : (size_t)1);
    table->n_accelerators = n - 2;
    table->accelerators = arena_alloc(t->arena, n - 2, sizeof *table->accelerators);
    if (!table->accelerators)
        return out_of_room(csv, e);
    for (size_t i = 0; i < table->n_accelerators; i++) {
        const char *accelerator = fields[i + 2].text;
        if (!*accelerator)
            return err_set(e, ERR_USAGE, "%s:%zu: column %zu has no accelerator", csv_name(csv),
                           csv_line(csv), i + 3);
        for (size_t j = 0; j < i; j++)
            if (catalog_same_accelerator(accelerator, table->accelerators[j]))
                return err_set(e, ERR_USAGE, "%s:%zu: accelerator '%s' stands twice", csv_name(csv),
                               csv_line(csv), accelerator);
        table->accelerators[i] = arena_dup(t->arena, accelerator);
        if (!table->accelerators[i])
            return out_of_room(csv, e);
    }
    return 0;
}

static int read_batch_size(const struct csv *csv,
                           const char *text,
                           struct throughput_name *name,
                           struct err *e)
{
    double batch;

    if (!*text)
        return 0;
    if (!number_parse(text, &batch) || batch <= 0)
        return err_set(e, ERR_USAGE, "%s:%zu: batch_size '%s' is not a positive number",
                       csv_name(csv), csv_line(csv), text);
    if (name->batch_size > 0 && (name->batch_size < batch || name->batch_size > batch))
        return err_set(e, ERR_USAGE, "%s:%zu: the model says batch size %g, batch_size says %g",
                       csv_name(csv), csv_line(csv), name->batch_size, batch);
    name->batch_size = batch;
    return 0;
}

static int read_figures(const struct csv *csv,
                        const struct csv_field *fields,
                        struct throughput_row *row,
                        struct err *e)
{
    for (size_t i = 0; i < row->table->n_accelerators; i++) {
        const char *text = fields[i].text;
        if (!*text)
            row->per_s[i] = THROUGHPUT_NOT_MEASURED;
        else if (!number_parse(text, &row->per_s[i]) || row->per_s[i] < 0)
            return err_set(
                e, ERR_USAGE, "%s:%zu: '%s' is not a number of iterations per second (%s on %s)",
                csv_name(csv), csv_line(csv), text, row->model, row->table->accelerators[i]);
    }
    return 0;
}

static int read_row(struct throughputs *t,
                    const struct csv *csv,
                    const struct csv_field *fields,
                    struct throughput_row *row,
                    struct err *e)
{
    struct throughput_name name;

    if (!throughput_name_parse(fields[0].text, &name))
        return err_set(e, ERR_USAGE, "%s:%zu: the model's name is empty or too long", csv_name(csv),
                       csv_line(csv));
    if (read_batch_size(csv, fields[1].text, &name, e) < 0)
        return -1;
    row->line = csv_line(csv);
    row->batch_size = name.batch_size;
    row->key = arena_dup(t->arena, name.key);
    row->model = arena_dup_n(t->arena, fields[0].text, name.model_len);
    row->per_s = arena_alloc(t->arena, row->table->n_accelerators, sizeof *row->per_s);
    if (!row->key || !row->model || !row->per_s)
        return out_of_room(csv, e);
    return read_figures(csv, fields + 2, row, e);
}

int throughputs_read(struct throughputs *t, struct csv *csv, bool builtin, struct err *e)
{
    struct throughput_table *table = arena_alloc(t->arena, 1, sizeof *table);
    const struct csv_field *fields;
    size_t n, n_before = t->n_rows;
    int got;

    if (!table)
        return out_of_room(csv, e);
    if (read_header(t, csv, table, e) < 0)
        return -1;
    while ((got = next_row(csv, &fields, &n, e)) > 0) {
        if (n != table->n_accelerators + 2)
            return err_set(e, ERR_USAGE, "%s:%zu: %zu fields where the header has %zu",
                           csv_name(csv), csv_line(csv), n, table->n_accelerators + 2);
        if (t->n_rows - n_before == ROWS_MAX)
            return out_of_room(csv, e);
        struct throughput_row row = {.table = table, .builtin = builtin};
        if (read_row(t, csv, fields, &row, e) < 0)
            return -1;
        t->rows = mem_room(t->rows, t->n_rows, &t->cap_rows, sizeof *t->rows);
        t->rows[t->n_rows++] = row;
    }
    return got;
}
