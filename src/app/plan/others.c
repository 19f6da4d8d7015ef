/* others: plans beside the plan: a stage elsewhere, and other goals and limits. plan.solve asks. */
#include "app/plan/internal.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "spec/place.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_MAX_BYTES 4096

size_t app_plan_find_stage(const struct spec *spec, const char *name, struct err *e)
{
    AUTO_MEM const char **names = mem_zero(spec->n_stages, sizeof *names);

    for (size_t i = 0; i < spec->n_stages; i++) {
        names[i] = spec->stages[i].name;
        if (!strcmp(names[i], name))
            return i;
    }
    const char *close = nearest(name, names, spec->n_stages);
    if (close)
        err_set(e, ERR_NOTFOUND, "%s has no stage \"%s\"; did you mean \"%s\"?", spec->file, name,
                close);
    else
        err_set(e, ERR_NOTFOUND, "%s has no stage \"%s\"; its first is \"%s\"", spec->file, name,
                names[0]);
    return SIZE_MAX;
}

/* A plan that does not exist, and why. */
static int no_plan(struct app_plan_other *other,
                   enum plan_status status,
                   const char *reason,
                   const struct answer *out,
                   struct err *e)
{
    other->status = app_plan_status_texts[status];
    other->point = (struct plan_point){FIELD_NONE, (double)NAN};
    other->delta_microusd = FIELD_NONE;
    other->delta_s = (double)NAN;
    other->reason = answer_text(out, e, "%s", reason);
    return other->reason ? 0 : -1;
}

/* Asks once more, within what remains of the limit, and notes the difference to p's plan. */
static int ask_other(const struct app_plan *p,
                     const struct plan_problem *problem,
                     struct plan_query query,
                     struct app_plan_other *other,
                     const struct answer *out,
                     struct err *e)
{
    AUTO_CLEAR(plan_answer) struct plan_answer answer = {0};
    char over[80];

    query.begun_s = p->begun_s;
    if (!(app_plan_remaining_s(p) > 0)) {
        snprintf(over, sizeof over, "the search ended at its limit of %g s", p->solve_limit_s);
        return no_plan(other, PLAN_LIMIT, over, out, e);
    }
    if (plan_solve(problem, &query, &answer, e) < 0)
        return -1;
    if (!plan_found(&answer))
        return no_plan(other, answer.status, answer.reason, out, e);
    other->status = app_plan_status_texts[answer.status];
    other->point = (struct plan_point){answer.plan.cost_microusd, answer.plan.time_s};
    other->delta_microusd = answer.plan.cost_microusd - p->answer.plan.cost_microusd;
    other->delta_s = answer.plan.time_s - p->answer.plan.time_s;
    return other->change ? 0
                         : app_plan_machine(p, &answer.plan.stages[query.pinned_stage], out->arena,
                                            &other->machine, e);
}

static int by_added_cost(const void *a, const void *b)
{
    const struct app_plan_other *x = a, *y = b;

    if (!x->reason != !y->reason)
        return x->reason ? 1 : -1;
    if (x->delta_microusd != y->delta_microusd)
        return x->delta_microusd < y->delta_microusd ? -1 : 1;
    if (x->delta_s < y->delta_s || x->delta_s > y->delta_s)
        return x->delta_s < y->delta_s ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

int app_plan_explain(const struct app_plan *p,
                     size_t stage,
                     const struct answer *out,
                     struct field_records *list,
                     struct err *e)
{
    size_t n;
    const size_t *places = plan_stage_places(p->problem, stage, &n);
    struct plan_query query = app_plan_query(p, &p->settings);
    struct app_plan_other *others = answer_alloc(out, n, sizeof *others, e);

    if (!others)
        return -1;
    *list = (struct field_records){.items = others};
    query.pinned_stage = stage;
    for (size_t i = 0; i < n; i++) {
        const struct catalog_place *place = &p->catalog->places[places[i]];
        if (places[i] == p->answer.plan.stages[stage].place)
            continue;
        struct app_plan_other *other = &others[list->n++];
        *other = (struct app_plan_other){
            .place = places[i],
            .machine = {.cloud = catalog_text(p->catalog, place->cloud),
                        .region = catalog_text(p->catalog, place->region),
                        .nodes = FIELD_NONE,
                        .vcpus = (double)NAN,
                        .memory_gib = (double)NAN,
                        .price_usd_per_hour = (double)NAN},
        };
        query.pinned_place = places[i];
        if (ask_other(p, p->problem, query, other, out, e) < 0)
            return -1;
    }
    if (list->n > 1)
        qsort(others, list->n, sizeof *others, by_added_cost);
    return 0;
}

static bool stage_may_run_at(const struct plan_problem *problem, size_t stage, size_t place)
{
    size_t n;
    const size_t *places = plan_stage_places(problem, stage, &n);

    for (size_t i = 0; i < n; i++)
        if (places[i] == place)
            return true;
    return false;
}

/* STAGE.location=CLOUD/REGION; the stage's name may itself hold dots. */
static int set_pin(const struct app_plan *p,
                   struct app_plan_settings *s,
                   const char *stage,
                   const char *value,
                   struct err *e)
{
    AUTO(arena) struct arena *scratch = arena_new(PLACE_MAX_BYTES);
    struct spec_place place;

    s->pinned_stage = app_plan_find_stage(p->spec, stage, e);
    if (s->pinned_stage == SIZE_MAX || spec_place_parse(value, scratch, &place, e) < 0)
        return -1;
    if (!place.cloud || !place.region)
        return err_set(e, ERR_USAGE, "\"%s\" is not a location; write CLOUD/REGION", value);
    s->pinned_place = catalog_find_place(p->catalog, place.cloud, place.region);
    if (s->pinned_place == SIZE_MAX)
        return err_set(e, ERR_NOTFOUND, "the catalog has no offer at %s/%s", place.cloud,
                       place.region);
    return 0;
}

/* The settings of p with one change. */
static int apply(const struct app_plan *p,
                 const char *change,
                 struct arena *arena,
                 struct app_plan_settings *out,
                 struct err *e)
{
    const char *equals = strchr(change, '=');
    struct plan_request q = p->request;

    *out = p->settings;
    if (!equals || equals == change)
        return err_set(e, ERR_USAGE,
                       "write KEY=VALUE, as in cloud=aws or STAGE.location=CLOUD/REGION");
    AUTO_MEM char *key = mem_printf("%.*s", (int)(equals - change), change);
    char *dot = strrchr(key, '.');
    if (!dot)
        return app_plan_change(&q, key, equals + 1, arena, e) < 0
                   ? -1
                   : app_plan_settings_read(&q, &p->spec->goal, "objective", out, e);
    if (strcmp(dot, ".location") != 0 && strcmp(dot, ".place") != 0)
        return err_set(e, ERR_USAGE, "of a stage only the location can change: STAGE.location=%s",
                       equals + 1);
    *dot = '\0';
    return set_pin(p, out, key, equals + 1, e);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_world(const struct app_plan_settings *a, const struct app_plan_settings *b)
{
    bool same_price =
        !(a->max_hourly_usd < b->max_hourly_usd) && !(a->max_hourly_usd > b->max_hourly_usd);

    return a->market == b->market && same_text(a->cloud, b->cloud) &&
           same_text(a->region, b->region) && same_price;
}

/* That nothing fits is an answer to "what if", not a failure of the operation. */
static int ask_what_if(const struct app_plan *p,
                       const struct app_plan_settings *s,
                       struct app_plan_other *other,
                       const struct answer *out,
                       struct err *e)
{
    bool same = same_world(s, &p->settings);
    struct err why = {0};
    AUTO(plan_problem) struct plan_problem *changed = same ? NULL : app_plan_problem(p, s, &why);
    const struct plan_problem *problem = same ? p->problem : changed;
    struct plan_query query = app_plan_query(p, s);

    if (!problem)
        return no_plan(other, PLAN_INFEASIBLE, why.text, out, e);
    if (s->pinned_stage != SIZE_MAX && !stage_may_run_at(problem, s->pinned_stage, s->pinned_place))
        return no_plan(other, PLAN_INFEASIBLE, "no offer there fits the stage", out, e);
    query.totals_only = true;
    return ask_other(p, problem, query, other, out, e);
}

int app_plan_what_if(const struct app_plan *p,
                     const struct field_list *changes,
                     const struct answer *out,
                     struct field_records *list,
                     struct err *e)
{
    struct app_plan_other *others = answer_alloc(out, changes->n, sizeof *others, e);

    if (!others)
        return -1;
    *list = (struct field_records){others, changes->n};
    for (size_t i = 0; i < changes->n; i++) {
        struct app_plan_settings s;
        others[i].change = changes->items[i];
        if (apply(p, changes->items[i], out->arena, &s, e) < 0 ||
            ask_what_if(p, &s, &others[i], out, e) < 0)
            return err_wrap(e, "%s", changes->items[i]);
    }
    return 0;
}
