/* read_prices: steps of prices, type by type, as intervals in which all prices stay. */
#include "base/auto.h"
#include "base/csv.h"
#include "base/mem.h"
#include "policy/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many changes can lie on POLICY_INTERVALS_MAX moments. */
#define STEPS_MAX ((size_t)POLICY_INTERVALS_MAX * POLICY_TYPES_MAX)

struct step {
    double at_h, usd_per_hour;
    size_t type;
    size_t line;
};

struct steps {
    struct step *list;
    size_t n, cap;
};

static void steps_clear(struct steps *s)
{
    free(s->list);
}

static size_t type_named(const struct policy_problem *p, const char *name)
{
    size_t j = 0;

    while (j < p->n_types && strcmp(p->types[j].name, name) != 0)
        j++;
    return j;
}

static int read_step(const struct csv *c,
                     const struct policy_problem *p,
                     const char *const text[3],
                     struct step *out,
                     struct err *e)
{
    *out = (struct step){.type = type_named(p, text[1]), .line = csv_line(c)};
    if (!csv_number(text[0], &out->at_h) || !(out->at_h >= 0 && out->at_h <= ROUNDS_HOURS_MAX))
        return err_set(e, ERR_USAGE, "%s:%zu: at_h \"%.60s\": a number from 0 to %g is wanted",
                       csv_name(c), csv_line(c), text[0], ROUNDS_HOURS_MAX);
    if (out->type == p->n_types)
        return err_set(e, ERR_USAGE, "%s:%zu: type \"%.60s\": the trace has no such type",
                       csv_name(c), csv_line(c), text[1]);
    double usd;
    if (!csv_number(text[2], &usd) || !(usd >= 0 && usd <= POLICY_NUMBER_MAX) ||
        (usd != 0 && usd < POLICY_NUMBER_MIN))
        return err_set(e, ERR_USAGE,
                       "%s:%zu: price_usd_per_hour \"%.60s\": a number from 0 to %g is wanted",
                       csv_name(c), csv_line(c), text[2], POLICY_NUMBER_MAX);
    out->usd_per_hour = usd;
    return 0;
}

static int read_steps(struct csv *c,
                      const struct policy_problem *p,
                      struct steps *out,
                      struct err *e)
{
    static const char *const names[3] = {"at_h", "type", "price_usd_per_hour"};
    const struct csv_field *fields;
    size_t at[3], n;
    int more;

    if (csv_header(c, names, 3, at, e) < 0)
        return -1;
    for (size_t i = 0; i < 3; i++)
        if (at[i] == SIZE_MAX)
            return err_set(e, ERR_USAGE, "%s: there is no column %s", csv_name(c), names[i]);
    while ((more = csv_next(c, &fields, &n, e)) == 1) {
        const char *text[3];
        for (size_t i = 0; i < 3; i++)
            text[i] = at[i] < n ? fields[at[i]].text : "";
        if (out->n == STEPS_MAX)
            return err_set(e, ERR_USAGE, "%s: more than %zu rows", csv_name(c), STEPS_MAX);
        out->list = mem_room(out->list, out->n, &out->cap, sizeof *out->list);
        if (read_step(c, p, text, &out->list[out->n++], e) < 0)
            return -1;
    }
    return more;
}

static int by_time(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    if (x->at_h != y->at_h)
        return x->at_h < y->at_h ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* Counts rows that are out of order, as the file has them. */
static void note_order(const struct steps *s, struct policy_price_notes *notes)
{
    double latest = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->list[i].at_h < latest && notes->disordered++ == 0)
            notes->disordered_line = s->list[i].line;
        latest = fmax(latest, s->list[i].at_h);
    }
}

/* Of two prices of a type for one time the one that the file has first counts; the steps are in
 * order of time, then of line. */
static void drop_repeated(struct steps *s, size_t n_types, struct policy_price_notes *notes)
{
    AUTO_MEM double *seen_h = mem_zero(n_types + 1, sizeof *seen_h);
    size_t kept = 0;

    for (size_t j = 0; j < n_types; j++)
        seen_h[j] = -1;
    for (size_t i = 0; i < s->n; i++) {
        const struct step *step = &s->list[i];
        if (seen_h[step->type] == step->at_h) {
            if (notes->repeated++ == 0 || step->line < notes->repeated_line)
                notes->repeated_line = step->line;
            continue;
        }
        seen_h[step->type] = step->at_h;
        s->list[kept++] = *step;
    }
    s->n = kept;
}

/* One row of prices from each moment on: intervals for all but the last, which the types have. */
static int fill(const char *name, const struct steps *s, struct policy_file *file, struct err *e)
{
    struct policy_problem *p = &file->problem;
    size_t moments = 0, k = 0;

    for (size_t i = 0; i < s->n; i++)
        moments += s->list[i].at_h > (i ? s->list[i - 1].at_h : 0);
    if (moments > POLICY_INTERVALS_MAX)
        return err_set(e, ERR_USAGE, "%s: prices change at %zu times, and at most %d are allowed",
                       name, moments, POLICY_INTERVALS_MAX);
    struct policy_interval *list = arena_alloc(file->arena, moments + 1, sizeof *list);
    struct policy_type *types = arena_alloc(file->arena, p->n_types + 1, sizeof *types);
    if (!list || !types)
        return err_set(e, ERR_USAGE, "%s: there is no room for so many prices", name);
    memcpy(types, p->types, p->n_types * sizeof *types);
    for (size_t i = 0; i < s->n; i++) {
        const struct step *step = &s->list[i];
        if (step->at_h > (i ? s->list[i - 1].at_h : 0)) {
            double *prices = arena_alloc(file->arena, p->n_types + 1, sizeof *prices);
            if (!prices)
                return err_set(e, ERR_USAGE, "%s: there is no room for so many prices", name);
            for (size_t j = 0; j < p->n_types; j++)
                prices[j] = types[j].price_usd_per_hour;
            list[k++] = (struct policy_interval){step->at_h, prices};
        }
        types[step->type].price_usd_per_hour = step->usd_per_hour;
    }
    p->types = types;
    p->intervals = list;
    p->n_intervals = k;
    return 0;
}

int policy_read_prices(
    const char *name, const char *bytes, size_t n, struct policy_file *file, struct err *e)
{
    AUTO(csv) struct csv *c = csv_from_memory(name, bytes, n);
    AUTO_CLEAR(steps) struct steps steps = {0};

    if (read_steps(c, &file->problem, &steps, e) < 0)
        return -1;
    if (steps.n == 0)
        return err_set(e, ERR_USAGE, "%s: there are no prices", name);
    file->price_notes = (struct policy_price_notes){.rows = steps.n};
    note_order(&steps, &file->price_notes);
    qsort(steps.list, steps.n, sizeof *steps.list, by_time);
    drop_repeated(&steps, file->problem.n_types, &file->price_notes);
    return fill(name, &steps, file, e);
}
