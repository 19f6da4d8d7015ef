#include "broker/learn/profile_import.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/number.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)16 << 20)
#define RUNS_MAX_BYTES ((size_t)64 << 20)
#define SHOWN 60

/* The columns that every run has. */
enum { CPUS, MEMORY, RUNTIME, FIGURES };
static const char *const figure_names[FIGURES] = {FIT_CPUS, FIT_MEMORY, "runtime_s"};

void profile_runs_clear(struct profile_runs *r)
{
    if (r->arena)
        arena_free(r->arena);
    *r = (struct profile_runs){0};
}

size_t profile_runs_column(const struct profile_runs *r, const char *name)
{
    size_t i = 0;

    while (i < r->n_columns && strcmp(r->columns[i], name) != 0)
        i++;
    return i;
}

/* A run with room for its values; NULL when there are too many. */
static struct profile_run *add_run(struct profile_runs *r, const char *name)
{
    if (!r->arena)
        r->arena = arena_new(RUNS_MAX_BYTES);
    r->items = arena_room(r->arena, r->items, r->n, &r->cap, sizeof *r->items);
    if (!r->items)
        return NULL;
    struct profile_run *run = &r->items[r->n];
    *run = (struct profile_run){.name = arena_dup(r->arena, name),
                                .values =
                                    arena_alloc(r->arena, r->n_columns + 1, sizeof *run->values)};
    if (!run->name || !run->values)
        return NULL;
    r->n++;
    return run;
}

static int too_many(const char *name, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s: a profile takes at most %d runs", name, FIT_RUNS_MAX);
}

/* ---- from CSV ---- */

/* A file while it is read: where figures and values stand. */
struct reading {
    struct csv *csv;
    struct profile_runs *runs;
    size_t figure_at[FIGURES];
    size_t *value_at; /* per column */
    size_t n_fields;
};

static int bad_header(const struct reading *r, const char *what, const char *name, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "%s:%zu: %s \"%.60s\"; the header needs cpus, memory_mb, runtime_s "
                   "and a column for each value of the command",
                   csv_name(r->csv), csv_line(r->csv), what, name);
}

static int take_column(struct reading *r, const char *name, size_t at, struct err *e)
{
    struct profile_runs *runs = r->runs;

    if (profile_runs_column(runs, name) < runs->n_columns)
        return bad_header(r, "two columns", name, e);
    for (size_t i = 0; i < FIGURES; i++)
        if (strcmp(name, figure_names[i]) == 0) {
            if (r->figure_at[i] != SIZE_MAX)
                return bad_header(r, "two columns", name, e);
            r->figure_at[i] = at;
            return 0;
        }
    if (!fit_name_ok(name))
        return err_set(e, ERR_USAGE,
                       "%s:%zu: \"%.60s\" is no name of a value; use at most %d letters, digits, "
                       "'_', '-' and '.'",
                       csv_name(r->csv), csv_line(r->csv), name, FIT_NAME_MAX_BYTES);
    if (runs->n_columns == FIT_FEATURES_MAX - 2)
        return err_set(e, ERR_USAGE, "%s:%zu: more than %d values of the command", csv_name(r->csv),
                       csv_line(r->csv), FIT_FEATURES_MAX - 2);
    r->value_at[runs->n_columns] = at;
    runs->columns[runs->n_columns++] = arena_dup(runs->arena, name);
    return 0;
}

static int read_header(struct reading *r, struct err *e)
{
    const struct csv_field *fields;
    int got = csv_next(r->csv, &fields, &r->n_fields, e);

    if (got < 0)
        return -1;
    if (got == 0)
        return err_set(e, ERR_USAGE,
                       "%s: no rows; the first is the header: cpus, memory_mb, "
                       "runtime_s and a column for each value of the command",
                       csv_name(r->csv));
    r->runs->arena = arena_new(RUNS_MAX_BYTES);
    r->runs->columns = arena_zero(r->runs->arena, FIT_FEATURES_MAX, sizeof *r->runs->columns);
    r->value_at = arena_zero(r->runs->arena, FIT_FEATURES_MAX, sizeof *r->value_at);
    for (size_t i = 0; i < FIGURES; i++)
        r->figure_at[i] = SIZE_MAX;
    for (size_t i = 0; i < r->n_fields; i++)
        if (take_column(r, fields[i].text, i, e) < 0)
            return -1;
    for (size_t i = 0; i < FIGURES; i++)
        if (r->figure_at[i] == SIZE_MAX)
            return bad_header(r, "no column", figure_names[i], e);
    return 0;
}

static int read_figure(const struct reading *r,
                       const struct csv_field *fields,
                       size_t figure,
                       double *out,
                       struct err *e)
{
    const char *text = fields[r->figure_at[figure]].text;

    if (!number_parse(text, out) || !(*out > 0))
        return err_set(e, ERR_USAGE, "%s:%zu: %s \"%.60s\": must be a number above 0",
                       csv_name(r->csv), csv_line(r->csv), figure_names[figure], text);
    return 0;
}

/* The file's own name: whole characters that JSON and terminals take. */
static void put_file_name(const char *path, char out[static SHOWN + 1])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    uint32_t character;
    size_t n = 0;

    while (*name) {
        size_t width = utf8_decode(name, strlen(name), &character);
        bool is_good = width && character >= ' ' && character != 0x7f;
        width = width ? width : 1;
        if (n + width > SHOWN)
            break;
        for (size_t i = 0; i < width; i++)
            out[n++] = is_good ? name[i] : '?';
        name += width;
    }
    out[n] = 0;
}

static int read_run(struct reading *r, const struct csv_field *fields, struct err *e)
{
    char file[SHOWN + 1], name[SHOWN + 24];

    put_file_name(csv_name(r->csv), file);
    snprintf(name, sizeof name, "%s:%zu", file, csv_line(r->csv));
    struct profile_run *run = r->runs->n < FIT_RUNS_MAX ? add_run(r->runs, name) : NULL;
    if (!run)
        return too_many(name, e);
    if (read_figure(r, fields, CPUS, &run->cpus, e) < 0 ||
        read_figure(r, fields, MEMORY, &run->memory_mb, e) < 0 ||
        read_figure(r, fields, RUNTIME, &run->runtime_s, e) < 0)
        return -1;
    for (size_t i = 0; i < r->runs->n_columns; i++) {
        const char *text = fields[r->value_at[i]].text;
        if (!*text || !fit_level_ok(text))
            return err_set(e, ERR_USAGE,
                           "%s:%zu: %s \"%.60s\": must be a number, or a text of at "
                           "most %d bytes in UTF-8",
                           csv_name(r->csv), csv_line(r->csv), r->runs->columns[i], text,
                           FIT_LEVEL_MAX_BYTES);
        run->values[i] = arena_dup(r->runs->arena, text);
        if (!run->values[i])
            return too_many(name, e);
    }
    return 0;
}

static int read_rows(struct reading *r, struct err *e)
{
    const struct csv_field *fields;
    size_t n;
    int got;

    while ((got = csv_next(r->csv, &fields, &n, e)) > 0) {
        if (n != r->n_fields)
            return err_set(e, ERR_USAGE, "%s:%zu: %zu fields; the header has %zu", csv_name(r->csv),
                           csv_line(r->csv), n, r->n_fields);
        if (read_run(r, fields, e) < 0)
            return -1;
    }
    if (got == 0 && !r->runs->n)
        return err_set(e, ERR_USAGE, "%s: no runs below the header", csv_name(r->csv));
    return got;
}

int profile_runs_read(const char *path, struct profile_runs *out, struct err *e)
{
    AUTO(csv) struct csv *csv = csv_open(path, FILE_MAX_BYTES, e);
    struct reading r = {.csv = csv, .runs = out};

    *out = (struct profile_runs){0};
    if (csv && read_header(&r, e) == 0 && read_rows(&r, e) == 0)
        return 0;
    profile_runs_clear(out);
    return -1;
}

/* ---- together ---- */

static bool same_run(const struct profile_runs *r,
                     const struct profile_run *a,
                     const struct profile_run *b,
                     const size_t *column)
{
    if (number_compare(&a->cpus, &b->cpus) || number_compare(&a->memory_mb, &b->memory_mb) ||
        number_compare(&a->runtime_s, &b->runtime_s))
        return false;
    for (size_t i = 0; i < r->n_columns; i++)
        if (strcmp(a->values[i], b->values[column[i]]) != 0)
            return false;
    return true;
}

/* column[i]: where `from` has the i-th column of `to`. */
static int match_columns(struct profile_runs *to,
                         const struct profile_runs *from,
                         size_t *column,
                         struct err *e)
{
    if (!to->n) {
        profile_runs_clear(to);
        to->arena = arena_new(RUNS_MAX_BYTES);
        to->columns = arena_zero(to->arena, FIT_FEATURES_MAX, sizeof *to->columns);
        for (size_t i = 0; i < from->n_columns; i++)
            to->columns[to->n_columns++] = arena_dup(to->arena, from->columns[i]);
    }
    for (size_t i = 0; i < to->n_columns; i++) {
        column[i] = profile_runs_column(from, to->columns[i]);
        if (column[i] == from->n_columns)
            return err_set(e, ERR_USAGE, "no column %s, which the imported runs have",
                           to->columns[i]);
    }
    for (size_t i = 0; i < from->n_columns; i++)
        if (profile_runs_column(to, from->columns[i]) == to->n_columns)
            return err_set(e, ERR_USAGE, "column %s, which the imported runs have not",
                           from->columns[i]);
    return 0;
}

int profile_runs_add(struct profile_runs *to,
                     const struct profile_runs *from,
                     size_t *n_added_out,
                     struct err *e)
{
    size_t column[FIT_FEATURES_MAX], known = to->n;

    *n_added_out = 0;
    if (match_columns(to, from, column, e) < 0)
        return -1;
    for (size_t i = 0; i < from->n; i++) {
        const struct profile_run *run = &from->items[i];
        size_t k = 0;
        while (k < known && !same_run(to, &to->items[k], run, column))
            k++;
        if (k < known)
            continue;
        struct profile_run *added = to->n < FIT_RUNS_MAX ? add_run(to, run->name) : NULL;
        if (!added)
            return too_many(run->name, e);
        added->cpus = run->cpus;
        added->memory_mb = run->memory_mb;
        added->runtime_s = run->runtime_s;
        for (size_t c = 0; c < to->n_columns; c++)
            if (!(added->values[c] = arena_dup(to->arena, run->values[column[c]])))
                return too_many(run->name, e);
        ++*n_added_out;
    }
    return 0;
}

/* ---- JSON: {columns: [...], runs: [[name, cpus, memory_mb, runtime_s, value...]...]} ---- */

json_t *profile_runs_json(const struct profile_runs *r)
{
    json_t *columns = json_array(), *runs = json_array();

    for (size_t i = 0; i < r->n_columns; i++)
        json_array_append_new(columns, json_string(r->columns[i]));
    for (size_t i = 0; i < r->n; i++) {
        const struct profile_run *run = &r->items[i];
        json_t *row = json_pack("[sfff]", run->name, run->cpus, run->memory_mb, run->runtime_s);
        for (size_t c = 0; c < r->n_columns; c++)
            json_array_append_new(row, json_string(run->values[c]));
        json_array_append_new(runs, row);
    }
    return json_pack("{s:o, s:o}", "columns", columns, "runs", runs);
}

static bool read_json_run(struct profile_runs *r, const json_t *row)
{
    const char *name = json_string_value(json_array_get(row, 0));
    struct profile_run *run = name ? add_run(r, name) : NULL;

    if (!run || json_array_size(row) != 1 + FIGURES + r->n_columns)
        return false;
    run->cpus = json_number_value(json_array_get(row, 1 + CPUS));
    run->memory_mb = json_number_value(json_array_get(row, 1 + MEMORY));
    run->runtime_s = json_number_value(json_array_get(row, 1 + RUNTIME));
    for (size_t c = 0; c < r->n_columns; c++) {
        const char *value = json_string_value(json_array_get(row, 1 + FIGURES + c));
        run->values[c] = value ? arena_dup(r->arena, value) : NULL;
        if (!run->values[c])
            return false;
    }
    return run->cpus > 0 && run->memory_mb > 0 && run->runtime_s > 0;
}

int profile_runs_from_json(const json_t *root, struct profile_runs *out)
{
    const json_t *columns = json_object_get(root, "columns"), *runs = json_object_get(root, "runs");

    *out = (struct profile_runs){.arena = arena_new(RUNS_MAX_BYTES)};
    out->columns = arena_zero(out->arena, FIT_FEATURES_MAX, sizeof *out->columns);
    if (json_array_size(columns) > FIT_FEATURES_MAX - 2 || json_array_size(runs) > FIT_RUNS_MAX)
        return -1;
    for (size_t i = 0; i < json_array_size(columns); i++) {
        const char *name = json_string_value(json_array_get(columns, i));
        if (!name || !fit_name_ok(name))
            return -1;
        out->columns[out->n_columns++] = arena_dup(out->arena, name);
    }
    for (size_t i = 0; i < json_array_size(runs); i++)
        if (!read_json_run(out, json_array_get(runs, i)))
            return -1;
    return 0;
}
