/* Price steps per type, turned into intervals of constant prices. read.c and the commands of
 * policies call it (read.h). */
#include "base/auto.h"
#include "base/csv.h"
#include "base/mem.h"
#include "base/number.h"
#include "policy/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many changes can lie on POLICY_INTERVALS_MAX moments. */
#define STEPS_MAX ((size_t)POLICY_INTERVALS_MAX * POLICY_TYPES_MAX)

int policy_steps_add(struct policy_steps *s, const struct policy_step *step, struct err *e)
{
    if (s->n == STEPS_MAX)
        return err_set(e, ERR_USAGE, "more than %zu prices", STEPS_MAX);
    s->list = mem_room(s->list, s->n, &s->cap, sizeof *s->list);
    s->list[s->n++] = *step;
    return 0;
}

void policy_steps_clear(struct policy_steps *s)
{
    free(s->list);
    *s = (struct policy_steps){0};
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
                     struct policy_step *out,
                     struct err *e)
{
    *out = (struct policy_step){.type = type_named(p, text[1]), .line = csv_line(c)};
    if (!number_parse(text[0], &out->at_h) || !(out->at_h >= 0 && out->at_h <= ROUNDS_HOURS_MAX))
        return err_set(e, ERR_USAGE, "%s:%zu: at_h \"%.60s\": expected a number from 0 to %g",
                       csv_name(c), csv_line(c), text[0], ROUNDS_HOURS_MAX);
    if (out->type == p->n_types)
        return err_set(e, ERR_USAGE, "%s:%zu: type \"%.60s\": the trace has no such type",
                       csv_name(c), csv_line(c), text[1]);
    double usd;
    if (!number_parse(text[2], &usd) || !(usd >= 0 && usd <= POLICY_NUMBER_MAX) ||
        (usd != 0 && usd < POLICY_NUMBER_MIN))
        return err_set(e, ERR_USAGE,
                       "%s:%zu: price_usd_per_hour \"%.60s\": expected a number from 0 to %g",
                       csv_name(c), csv_line(c), text[2], POLICY_NUMBER_MAX);
    out->usd_per_hour = usd;
    return 0;
}

static int read_steps(struct csv *c,
                      const struct policy_problem *p,
                      struct policy_steps *out,
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
            return err_set(e, ERR_USAGE, "%s: missing column %s", csv_name(c), names[i]);
    while ((more = csv_next(c, &fields, &n, e)) == 1) {
        const char *text[3];
        for (size_t i = 0; i < 3; i++)
            text[i] = at[i] < n ? fields[at[i]].text : "";
        struct policy_step step;
        if (read_step(c, p, text, &step, e) < 0)
            return -1;
        if (policy_steps_add(out, &step, e) < 0)
            return err_wrap(e, "%s", csv_name(c));
    }
    return more;
}

static int by_time(const void *a, const void *b)
{
    const struct policy_step *x = a, *y = b;

    if (x->at_h != y->at_h)
        return x->at_h < y->at_h ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* Counts rows that are out of order, as the file has them. */
static void note_order(const struct policy_steps *s, struct policy_price_notes *notes)
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
static void drop_repeated(struct policy_steps *s, size_t n_types, struct policy_price_notes *notes)
{
    AUTO_MEM double *seen_h = mem_zero(n_types + 1, sizeof *seen_h);
    size_t kept = 0;

    for (size_t j = 0; j < n_types; j++)
        seen_h[j] = -1;
    for (size_t i = 0; i < s->n; i++) {
        const struct policy_step *step = &s->list[i];
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
static int fill(const struct policy_steps *s, struct policy_file *file, struct err *e)
{
    struct policy_problem *p = &file->problem;
    size_t moments = 0, k = 0;

    for (size_t i = 0; i < s->n; i++)
        moments += s->list[i].at_h > (i ? s->list[i - 1].at_h : 0);
    if (moments > POLICY_INTERVALS_MAX)
        return err_set(e, ERR_USAGE, "prices change at %zu times; the limit is %d", moments,
                       POLICY_INTERVALS_MAX);
    struct policy_interval *list = arena_alloc(file->arena, moments + 1, sizeof *list);
    struct policy_type *types = arena_alloc(file->arena, p->n_types + 1, sizeof *types);
    if (!list || !types)
        return err_set(e, ERR_USAGE, "too many prices");
    memcpy(types, p->types, p->n_types * sizeof *types);
    for (size_t i = 0; i < s->n; i++) {
        const struct policy_step *step = &s->list[i];
        if (step->at_h > (i ? s->list[i - 1].at_h : 0)) {
            double *prices = arena_alloc(file->arena, p->n_types + 1, sizeof *prices);
            if (!prices)
                return err_set(e, ERR_USAGE, "too many prices");
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

int policy_steps_use(struct policy_steps *s, struct policy_file *file, struct err *e)
{
    file->price_notes = (struct policy_price_notes){.rows = s->n};
    note_order(s, &file->price_notes);
    qsort(s->list, s->n, sizeof *s->list, by_time);
    drop_repeated(s, file->problem.n_types, &file->price_notes);
    return fill(s, file, e);
}

int policy_read_prices(
    const char *name, const char *bytes, size_t n, struct policy_file *file, struct err *e)
{
    AUTO(csv) struct csv *c = csv_from_memory(name, bytes, n);
    AUTO_CLEAR(policy_steps) struct policy_steps steps = {0};

    if (read_steps(c, &file->problem, &steps, e) < 0)
        return -1;
    if (steps.n == 0)
        return err_set(e, ERR_USAGE, "%s: no prices", name);
    return policy_steps_use(&steps, file, e) < 0 ? err_wrap(e, "%s", name) : 0;
}
