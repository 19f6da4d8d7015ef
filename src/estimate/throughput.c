#include "estimate/throughput.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/mem.h"
#include "base/number.h"
#include "catalog/catalog.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Far above any real table: they bound memory. */
#define FILE_MAX_BYTES ((size_t)16 << 20)
#define ARENA_MAX_BYTES ((size_t)128 << 20)
#define ROWS_MAX 20000 /* of one table */

#define BATCH_PREFIX "(batchsize"
#define NAME_MAX_BYTES 200
#define NOT_MEASURED ((double)NAN)

struct throughput_table {
    const char **accelerators;
    size_t n_accelerators;
};

struct throughput_row {
    const char *model; /* as the table spells it, without the batch size */
    const char *key;   /* the same, folded */
    double batch_size; /* 0 = none */
    bool builtin;
    size_t line;
    const struct throughput_table *table;
    double *per_s; /* one per accelerator of the table; NaN = not measured */
};

struct throughputs {
    struct arena *arena;
    struct throughput_row *rows; /* by key, batch size, the user's before the built-in one */
    size_t n_rows, cap_rows;
    const char **models;
    size_t n_models;
};

/* A model as written, folded and taken apart. */
struct throughput_name {
    char key[NAME_MAX_BYTES + 1];
    size_t model_len;  /* of the text before any "(batch size N)" */
    double batch_size; /* 0 = not written */
};

/* data/throughputs.csv, linked in by builtin.S. */
extern const char throughputs_builtin[], throughputs_builtin_end[];

/* ---- reading ---- */

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

/* False when the text is empty or longer than any model's name. */
static bool name_parse(const char *text, struct throughput_name *out)
{
    size_t n = 0;

    *out = (struct throughput_name){.model_len = trimmed_len(text, strlen(text))};
    for (const char *p = text; *p; p++) {
        if (*p == '-' || *p == '_' || isspace((unsigned char)*p))
            continue;
        if (n == NAME_MAX_BYTES)
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
                return err_set(e, ERR_USAGE, "%s:%zu: accelerator '%s' is listed twice",
                               csv_name(csv), csv_line(csv), accelerator);
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
            row->per_s[i] = NOT_MEASURED;
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

    if (!name_parse(fields[0].text, &name))
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

/* Appends the rows of one table; ERR_USAGE with FILE:LINE. */
static int read_rows(struct throughputs *t, struct csv *csv, bool builtin, struct err *e)
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

/* ---- all rows ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct throughput_row *x = a, *y = b;
    int by_key = strcmp(x->key, y->key);

    if (by_key)
        return by_key;
    if (x->batch_size < y->batch_size || x->batch_size > y->batch_size)
        return x->batch_size < y->batch_size ? -1 : 1;
    if (x->builtin != y->builtin)
        return x->builtin ? 1 : -1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static bool same_row(const struct throughput_row *x, const struct throughput_row *y)
{
    return strcmp(x->key, y->key) == 0 && !(x->batch_size < y->batch_size) &&
           !(x->batch_size > y->batch_size);
}

/* Sorts the rows, refuses a (model, batch size) that one table has twice, and lists the models. */
static int index_rows(struct throughputs *t, const char *user_csv, struct err *e)
{
    if (t->n_rows)
        qsort(t->rows, t->n_rows, sizeof *t->rows, compare_rows);
    t->models = mem_zero(t->n_rows + 1, sizeof *t->models);
    for (size_t i = 0; i < t->n_rows; i++) {
        const struct throughput_row *row = &t->rows[i], *before = i ? &t->rows[i - 1] : NULL;
        if (before && same_row(row, before) && row->builtin == before->builtin)
            return err_set(e, ERR_USAGE, "%s:%zu: '%s' with this batch size is on line %zu already",
                           row->builtin ? "built-in throughputs" : user_csv, row->line, row->model,
                           before->line);
        if (!before || strcmp(row->key, before->key) != 0)
            t->models[t->n_models++] = row->model;
    }
    return 0;
}

struct throughputs *throughputs_load(const char *user_csv, struct err *e)
{
    AUTO(throughputs) struct throughputs *t = mem_zero(1, sizeof *t);

    t->arena = arena_new(ARENA_MAX_BYTES);
    if (user_csv) {
        AUTO(csv) struct csv *user = csv_open(user_csv, FILE_MAX_BYTES, e);
        if (!user || read_rows(t, user, false, e) < 0) {
            err_wrap(e, "throughput table");
            return NULL;
        }
    }
    AUTO(csv)
    struct csv *builtin = csv_from_memory("built-in throughputs", throughputs_builtin,
                                          (size_t)(throughputs_builtin_end - throughputs_builtin));
    if (read_rows(t, builtin, true, e) < 0 || index_rows(t, user_csv, e) < 0) {
        err_wrap(e, "throughput table");
        return NULL;
    }
    return TAKE(t);
}

void throughputs_free(struct throughputs *t)
{
    if (!t)
        return;
    arena_free(t->arena);
    free(t->rows);
    free(t->models);
    free(t);
}

/* The first row of the model; *n_out = how many it has. */
static const struct throughput_row *rows_of(const struct throughputs *t,
                                            const char *key,
                                            size_t *n_out)
{
    size_t low = 0, high = t->n_rows;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(t->rows[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < t->n_rows && strcmp(t->rows[end].key, key) == 0)
        end++;
    *n_out = end - low;
    return t->rows + low;
}

static size_t accelerators_covered(const struct throughput_row *row)
{
    size_t n = 0;

    for (size_t i = 0; i < row->table->n_accelerators; i++)
        n += row->per_s[i] > 0;
    return n;
}

/* The row meant when no batch size is written. rows ascend by batch size, so the later of equals
 * is the larger. A row without a batch size is what the bare name says. */
static const struct throughput_row *default_row(const struct throughput_row *rows,
                                                size_t n,
                                                bool *guessed_out)
{
    const struct throughput_row *best = NULL;
    bool users = false;
    size_t candidates = 0;

    for (size_t i = 0; i < n; i++)
        users |= !rows[i].builtin;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].builtin == users)
            continue;
        candidates++;
        if (!best || accelerators_covered(&rows[i]) >= accelerators_covered(best))
            best = &rows[i];
        if (rows[i].batch_size <= 0) {
            *guessed_out = false;
            return &rows[i];
        }
    }
    assert(best); /* rows is not empty */
    *guessed_out = candidates > 1;
    return best;
}

/* The first row, the user's if there is one, that has the batch size the name stands for. */
static const struct throughput_row *find_row(const struct throughputs *t,
                                             const struct throughput_name *name,
                                             size_t *left_out,
                                             struct throughput_model *out)
{
    size_t n;
    const struct throughput_row *rows = rows_of(t, name->key, &n);
    double batch = name->batch_size;

    *out = (struct throughput_model){0};
    if (!n)
        return NULL;
    out->name = rows->model;
    if (batch <= 0)
        batch = default_row(rows, n, &out->batch_guessed)->batch_size;
    out->batch_size = batch;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].batch_size < batch || rows[i].batch_size > batch)
            continue;
        *left_out = n - i;
        return &rows[i];
    }
    out->batch_unknown = true;
    return NULL;
}

bool throughputs_find(const struct throughputs *t, const char *model, struct throughput_model *out)
{
    struct throughput_name name;
    size_t left;

    *out = (struct throughput_model){0};
    return name_parse(model, &name) && find_row(t, &name, &left, out);
}

double throughputs_get(const struct throughputs *t, const char *model, const char *accelerator)
{
    struct throughput_model found;
    struct throughput_name name;
    size_t left = 0;

    if (!name_parse(model, &name))
        return NOT_MEASURED;
    const struct throughput_row *row = find_row(t, &name, &left, &found);
    for (const struct throughput_row *r = row; left && same_row(r, row); r++, left--)
        for (size_t i = 0; i < r->table->n_accelerators; i++)
            if (!isnan(r->per_s[i]) &&
                catalog_same_accelerator(accelerator, r->table->accelerators[i]))
                return r->per_s[i];
    return NOT_MEASURED;
}

static double figure_of(const struct throughput_row *row, const char *accelerator)
{
    for (size_t i = 0; i < row->table->n_accelerators; i++)
        if (catalog_same_accelerator(accelerator, row->table->accelerators[i]))
            return row->per_s[i];
    return NOT_MEASURED;
}

double throughputs_speed(const struct throughputs *t, const char *accelerator, const char *over)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; t && i < t->n_rows; i++) {
        double a = figure_of(&t->rows[i], accelerator), b = figure_of(&t->rows[i], over);
        if (!(a > 0) || !(b > 0))
            continue;
        sum += log(a / b);
        n++;
    }
    return n ? exp(sum / (double)n) : NOT_MEASURED;
}

const char *const *throughputs_models(const struct throughputs *t, size_t *n_out)
{
    *n_out = t->n_models;
    return t->models;
}

const char *throughputs_only_model(const struct throughputs *t)
{
    const struct throughput_row *only = NULL;

    for (size_t i = 0; i < t->n_rows; i++) {
        if (t->rows[i].builtin)
            continue;
        if (only && strcmp(only->key, t->rows[i].key) != 0)
            return NULL;
        only = &t->rows[i];
    }
    return only ? only->model : NULL;
}
