#include "estimate/throughput.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "estimate/internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Far above any real table: they bound memory. */
#define FILE_MAX_BYTES ((size_t)16 << 20)
#define ARENA_MAX_BYTES ((size_t)128 << 20)

/* data/throughputs.csv, linked in by builtin.S. */
extern const char throughputs_builtin[], throughputs_builtin_end[];

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
            return err_set(e, ERR_USAGE,
                           "%s:%zu: '%s' with this batch size stands on line %zu already",
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
        if (!user || throughputs_read(t, user, false, e) < 0) {
            err_wrap(e, "throughput table");
            return NULL;
        }
    }
    AUTO(csv)
    struct csv *builtin = csv_from_memory("built-in throughputs", throughputs_builtin,
                                          (size_t)(throughputs_builtin_end - throughputs_builtin));
    if (throughputs_read(t, builtin, true, e) < 0 || index_rows(t, user_csv, e) < 0) {
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
    return throughput_name_parse(model, &name) && find_row(t, &name, &left, out);
}

double throughputs_get(const struct throughputs *t, const char *model, const char *accelerator)
{
    struct throughput_model found;
    struct throughput_name name;
    size_t left = 0;

    if (!throughput_name_parse(model, &name))
        return THROUGHPUT_NOT_MEASURED;
    const struct throughput_row *row = find_row(t, &name, &left, &found);
    for (const struct throughput_row *r = row; left && same_row(r, row); r++, left--)
        for (size_t i = 0; i < r->table->n_accelerators; i++)
            if (!isnan(r->per_s[i]) &&
                catalog_same_accelerator(accelerator, r->table->accelerators[i]))
                return r->per_s[i];
    return THROUGHPUT_NOT_MEASURED;
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
