#include "broker/pipeline/replay.h"

#include "base/arena.h"
#include "base/mem.h"
#include "broker/core/details.h"
#include "broker/pipeline/lineage.h"
#include "lake/core/path.h"
#include "lake/job/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct compose {
    struct lake *lake;
    struct arena *arena;
    struct lineage *lineage;
    struct run *run;
    /* By node: the stage that makes it again, or its set anew; SIZE_MAX = none. */
    size_t *stage_of;
    bool too_large; /* the arena's bound */
};

static const char *keep(struct compose *c, const char *s)
{
    const char *kept = s ? arena_dup(c->arena, s) : NULL;

    c->too_large = c->too_large || (s && !kept);
    return kept;
}

static void *room_for(struct compose *c, size_t n, size_t size)
{
    void *room = arena_alloc(c->arena, n + 1, size);

    c->too_large = c->too_large || !room;
    return room;
}

static const char *keep_ref(struct compose *c, const struct lineage_node *n)
{
    AUTO_MEM char *ref = lineage_ref(n);

    return keep(c, ref);
}

static int check_size(const struct compose *c, struct err *e)
{
    return c->too_large ? err_set(e, ERR_NOFIT, "the jobs to run are too many for one run") : 0;
}

/* ---- a stage of a job ---- */

/* "job-7" of "@job-7:1"; NULL: the job stored nothing. */
static const char *own_set(struct compose *c, const struct lake_job *job)
{
    if (!job->output_set[0])
        return NULL;
    const char *set = job->output_set + 1;
    AUTO_MEM char *name = mem_printf("%.*s", (int)strcspn(set, ":"), set);
    return keep(c, name);
}

static int plan_from_job(struct compose *c, int64_t id, struct run_stage_plan *plan, struct err *e)
{
    AUTO_CLEAR(job_details) struct job_details details = {0};
    const struct lake_job_request *asked;
    struct lake_job job;

    if (lake_job_load(c->lake, id, c->arena, &job, e) < 0) {
        c->too_large = c->too_large || e->kind == ERR_USAGE;
        return c->too_large ? check_size(c, e) : -1;
    }
    asked = &job.asked;
    if (job_details_parse(asked->details, &details, e) < 0)
        return -1;
    *plan = (struct run_stage_plan){
        .name = asked->name,
        .command = asked->command,
        .n_command = asked->n_command,
        .code = asked->code,
        .output = asked->output ? asked->output : own_set(c, &job),
        .cpus = asked->cpus,
        .memory_mb = asked->memory_mb,
        .time_limit_s = asked->time_limit_s,
        .repeats = job.id,
        .input = asked->input,
        .note = "",
        .place = keep(c, details.on),
        .instance_type = "",
        .nodes = 1,
        .price_usd_per_hour = details.price_usd_per_hour,
        .planned_s = job.runtime_s,
        .planned_microusd = job.cost_microusd,
    };
    return 0;
}

/* A run finds the jobs of its stages by their names. */
static void make_unique(struct compose *c, size_t stage)
{
    struct run_stage_plan *p = &c->run->stages[stage].plan;

    for (size_t i = 0; p->name && i < stage; i++) {
        const char *other = c->run->stages[i].plan.name;
        if (other && strcmp(other, p->name) == 0) {
            AUTO_MEM char *name =
                mem_printf("%.*s-%" PRId64, LAKE_NAME_MAX - 24, p->name, p->repeats);
            p->name = keep(c, name);
            return;
        }
    }
}

static int add_stage(struct compose *c, size_t node, struct err *e)
{
    size_t stage = c->run->n_stages++;
    struct run_stage_plan *plan = &c->run->stages[stage].plan;

    if (plan_from_job(c, c->lineage->nodes[node].job, plan, e) < 0)
        return -1;
    make_unique(c, stage);
    c->stage_of[node] = stage;
    c->run->planned_s += plan->planned_s;
    c->run->planned_microusd += plan->planned_microusd;
    return check_size(c, e);
}

/* ---- what a stage's input gets in the place of what it held ---- */

struct swaps {
    struct run_swap *items;
    size_t n, cap;
    size_t *open; /* nodes still to be looked at */
    size_t n_open, cap_open;
};

static void swaps_clear(struct swaps *s)
{
    free(s->items);
    free(s->open);
}

static void look_into(struct compose *c, struct swaps *s, const struct lineage_node *n)
{
    struct lineage *g = c->lineage;

    for (size_t i = 0; i < n->n_from; i++) {
        if (g->marks[n->from[i]] == g->walk)
            continue;
        g->marks[n->from[i]] = g->walk;
        s->open = mem_room(s->open, s->n_open, &s->cap_open, sizeof *s->open);
        s->open[s->n_open++] = n->from[i];
    }
}

/* Fills in what now stands for the node and returns true, or false: it stays. */
typedef bool find_now(struct compose *c, size_t reader, size_t node, struct run_input *now);

/* Through sets that were made by hand, up to the jobs' outputs. */
static void find_swaps(struct compose *c, size_t reader, find_now *find, struct swaps *out)
{
    struct lineage *g = c->lineage;

    g->walk++;
    look_into(c, out, &g->nodes[reader]);
    while (out->n_open > 0) {
        size_t node = out->open[--out->n_open];
        struct run_input now = {0};
        if (find(c, reader, node, &now)) {
            out->items = mem_room(out->items, out->n, &out->cap, sizeof *out->items);
            out->items[out->n++] = (struct run_swap){keep_ref(c, &g->nodes[node]), now};
        } else if (!g->nodes[node].job) {
            look_into(c, out, &g->nodes[node]);
        }
    }
}

/* Stages whose output is swapped in come first; code is no input. */
static void take_swaps(struct compose *c, struct run_stage_plan *p, const struct swaps *found)
{
    struct run_swap *swaps = room_for(c, found->n, sizeof *swaps);
    size_t *needs = room_for(c, found->n, sizeof *needs);

    if (!swaps || !needs)
        return;
    for (size_t i = 0; i < found->n; i++) {
        const struct run_swap *s = &found->items[i];
        if (p->code && s->set && strcmp(p->code, s->set) == 0) {
            p->code = s->now.ref ? s->now.ref : p->code;
            continue;
        }
        swaps[p->n_swaps++] = *s;
        if (!s->now.ref)
            needs[p->n_needs++] = s->now.stage;
    }
    p->swaps = swaps;
    p->needs = needs;
}

static int connect(struct compose *c, size_t node, find_now *find, struct err *e)
{
    AUTO_CLEAR(swaps) struct swaps found = {0};

    find_swaps(c, node, find, &found);
    take_swaps(c, &c->run->stages[c->stage_of[node]].plan, &found);
    return check_size(c, e);
}

static void compose_clear(struct compose *c)
{
    free(c->stage_of);
}

static int begin(struct compose *c, const char *what, const char *ref, size_t most, struct err *e)
{
    AUTO_MEM char *name = mem_printf("%s %s", what, ref);

    *c->run = (struct run){.name = keep(c, name),
                           .file = keep(c, ref),
                           .no_cache = true,
                           .on = "local",
                           .user = "",
                           .reason = "",
                           .stages = room_for(c, most, sizeof *c->run->stages)};
    c->stage_of = mem_zero(c->lineage->n + 1, sizeof *c->stage_of);
    memset(c->stage_of, 0xff, (c->lineage->n + 1) * sizeof *c->stage_of);
    return check_size(c, e);
}

static int resolve_set(struct lake *l, const char *text, struct lake_ref *out, struct err *e)
{
    if (lake_resolve(l, text, LAKE_READ, out, e) < 0)
        return -1;
    if (out->kind != LAKE_REF_SET || strcmp(out->path, "/") != 0)
        return err_set(e, ERR_USAGE, "%.200s is not a whole set version; give one such as @S:3",
                       text);
    return 0;
}

/* ---- replay ---- */

static bool made_again(struct compose *c, size_t reader, size_t node, struct run_input *now)
{
    (void)reader;
    if (c->stage_of[node] == SIZE_MAX)
        return false;
    *now = (struct run_input){.stage = c->stage_of[node], .output = ""};
    return true;
}

static int add_replayed(struct compose *c, const struct lineage_need *need, struct err *e)
{
    for (size_t i = 0; i < need->n; i++) {
        if (add_stage(c, need->nodes[i], e) < 0)
            return -1;
        c->run->stages[i].plan.restores = keep_ref(c, &c->lineage->nodes[need->nodes[i]]);
    }
    for (size_t i = 0; i < need->n; i++)
        if (connect(c, need->nodes[i], made_again, e) < 0)
            return -1;
    return 0;
}

int replay_compose(
    struct lake *l, const char *text, struct arena *arena, struct run *out, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO_CLEAR(lake_graph) struct lake_graph found = {0};
    AUTO_CLEAR(lineage) struct lineage lineage = {0};
    AUTO_CLEAR(lineage_need) struct lineage_need need = {0};
    AUTO_CLEAR(compose)
    struct compose c = {.lake = l, .arena = arena, .lineage = &lineage, .run = out};

    if (resolve_set(l, text, &ref, e) < 0 || lake_trace(l, &ref, LAKE_BACK, 0, &found, e) < 0 ||
        lineage_load(l, &found, true, &lineage, e) < 0 ||
        lineage_need(&lineage, lineage_find(&lineage, ref.set_version), &need, e) < 0)
        return -1;
    AUTO_MEM char *exact = lake_ref_text(&ref);
    return begin(&c, "replay", exact, need.n, e) < 0 ? -1 : add_replayed(&c, &need, e);
}

/* ---- rerun ---- */

struct rerun {
    struct compose c;
    const struct lake_ref *ref; /* of the newer version */
    const char *exact;
    /* By node: came of an older version; came of this one. */
    bool *stale, *fresh;
    bool changed;   /* fresh did, while reproductions are read */
    size_t *newest; /* by node: the newest of its set that a job made of these; SIZE_MAX = none */
};

static bool is_older(const struct rerun *r, const struct lineage_node *n)
{
    return strcmp(n->set, r->ref->set_name) == 0 && n->number < r->ref->number;
}

static void spread(struct rerun *r)
{
    const struct lineage *g = r->c.lineage;

    for (size_t i = 0; i < g->n; i++) {
        const struct lineage_node *n = &g->nodes[i];
        r->stale[i] = is_older(r, n);
        r->fresh[i] = r->fresh[i] || n->version == r->ref->set_version;
        for (size_t k = 0; k < n->n_from; k++) {
            r->stale[i] = r->stale[i] || r->stale[n->from[k]];
            r->fresh[i] = r->fresh[i] || r->fresh[n->from[k]];
        }
    }
}

/* What was made of older versions and reproduced of this one is up to date. */
static int see_reproduction(
    void *context, int64_t output, int64_t input, int64_t code, struct err *e)
{
    struct rerun *r = context;
    size_t node = lineage_find(r->c.lineage, output);
    const size_t from[] = {lineage_find(r->c.lineage, input), lineage_find(r->c.lineage, code)};

    (void)e;
    for (size_t i = 0; i < 2; i++)
        if (node != SIZE_MAX && from[i] != SIZE_MAX && r->fresh[from[i]] && !r->fresh[node])
            r->fresh[node] = r->changed = true;
    return 0;
}

static int spread_all(struct rerun *r, struct err *e)
{
    do {
        r->changed = false;
        spread(r);
        if (lake_job_reproductions(r->c.lake, see_reproduction, r, e) < 0)
            return -1;
    } while (r->changed);
    return 0;
}

struct named {
    const char *set;
    size_t node;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = strcmp(x->set, y->set);

    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static void find_newest(struct rerun *r)
{
    const struct lineage *g = r->c.lineage;
    AUTO_MEM struct named *names = mem_zero(g->n + 1, sizeof *names);
    size_t latest = SIZE_MAX;

    for (size_t i = 0; i < g->n; i++)
        names[i] = (struct named){g->nodes[i].set, i};
    if (g->n)
        qsort(names, g->n, sizeof *names, by_name);
    for (size_t k = g->n; k-- > 0;) {
        size_t i = names[k].node;
        if (k + 1 == g->n || strcmp(names[k].set, names[k + 1].set) != 0)
            latest = SIZE_MAX;
        if (latest == SIZE_MAX && g->nodes[i].job && (r->stale[i] || r->fresh[i]))
            latest = i;
        r->newest[i] = latest;
    }
}

static bool is_to_run(const struct rerun *r, size_t i)
{
    const struct lineage_node *n = &r->c.lineage->nodes[i];

    return n->job && r->stale[i] && !r->fresh[i] && strcmp(n->set, r->ref->set_name) != 0 &&
           r->newest[i] == i;
}

/* What came before the reader alone: so there are no circles. */
static bool made_newer(struct compose *c, size_t reader, size_t node, struct run_input *now)
{
    const struct rerun *r = (const struct rerun *)c;
    const struct lineage_node *n = &c->lineage->nodes[node];

    if (is_older(r, n)) {
        now->ref = keep(c, r->exact);
        return true;
    }
    size_t latest = n->job && r->stale[node] ? r->newest[node] : SIZE_MAX;
    if (latest == SIZE_MAX)
        return false;
    if (c->stage_of[latest] == SIZE_MAX) {
        now->ref = latest != node ? keep_ref(c, &c->lineage->nodes[latest]) : NULL;
        return now->ref != NULL;
    }
    *now = (struct run_input){.stage = c->stage_of[latest], .output = ""};
    return latest < reader;
}

static int add_rerun(struct rerun *r, struct err *e)
{
    struct lineage *g = r->c.lineage;
    size_t n = 0;

    for (size_t i = 0; i < g->n; i++)
        n += is_to_run(r, i);
    if (begin(&r->c, "rerun from", r->exact, n, e) < 0)
        return -1;
    for (size_t i = 0; i < g->n; i++) {
        if (!is_to_run(r, i))
            continue;
        if (g->nodes[i].secrets)
            return err_set(e, ERR_USAGE,
                           "job %" PRId64 " was given secrets, which are not kept; submit it anew",
                           g->nodes[i].job);
        if (g->nodes[i].gang)
            return err_set(e, ERR_USAGE,
                           "job %" PRId64 " ran together with others; run its pipeline again",
                           g->nodes[i].job);
        if (add_stage(&r->c, i, e) < 0)
            return -1;
    }
    for (size_t i = 0; i < g->n; i++)
        if (r->c.stage_of[i] != SIZE_MAX && connect(&r->c, i, made_newer, e) < 0)
            return -1;
    return 0;
}

int rerun_compose(
    struct lake *l, const char *text, struct arena *arena, struct run *out, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO_CLEAR(lake_graph) struct lake_graph found = {0};
    AUTO_CLEAR(lineage) struct lineage lineage = {0};

    if (resolve_set(l, text, &ref, e) < 0 || lake_trace(l, NULL, LAKE_BOTH, 0, &found, e) < 0 ||
        lineage_load(l, &found, false, &lineage, e) < 0)
        return -1;
    AUTO_MEM char *exact = lake_ref_text(&ref);
    AUTO_MEM bool *stale = mem_zero(lineage.n + 1, sizeof *stale);
    AUTO_MEM bool *fresh = mem_zero(lineage.n + 1, sizeof *fresh);
    AUTO_MEM size_t *newest = mem_zero(lineage.n + 1, sizeof *newest);
    struct rerun r = {.c = {.lake = l, .arena = arena, .lineage = &lineage, .run = out},
                      .ref = &ref,
                      .exact = exact,
                      .stale = stale,
                      .fresh = fresh,
                      .newest = newest};
    int result = spread_all(&r, e);
    find_newest(&r);
    if (result == 0)
        result = add_rerun(&r, e);
    compose_clear(&r.c);
    return result;
}
