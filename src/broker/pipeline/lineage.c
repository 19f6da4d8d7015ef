#include "broker/pipeline/lineage.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/money.h"
#include "broker/core/details.h"
#include "lake/set/set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lineage_clear(struct lineage *g)
{
    free(g->nodes);
    free(g->marks);
    free(g->priv);
    *g = (struct lineage){0};
}

void lineage_need_clear(struct lineage_need *n)
{
    free(n->nodes);
    *n = (struct lineage_need){0};
}

char *lineage_ref(const struct lineage_node *n)
{
    return lake_ref_of_set(n->set, n->number);
}

/* ---- reading ---- */

static int look_at_job(struct lake *l, struct lineage_node *n, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    AUTO_CLEAR(job_details) struct job_details details = {0};
    struct lake_job job;

    if (lake_job_load(l, n->job, arena, &job, e) < 0 ||
        job_details_parse(job.asked.details, &details, e) < 0)
        return -1;
    n->priced = job.cost_basis[0] != '\0';
    n->cost_microusd = job.cost_microusd;
    n->runtime_s = job.runtime_s;
    n->secrets = details.n_secrets > 0;
    n->gang = details.nodes > 1;
    return 0;
}

static int look_at_content(struct lake *l, struct lineage_node *n, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO_MEM char *text = lineage_ref(n);
    struct err why = {0};
    struct lake_gone gone;

    if (lake_resolve(l, text, LAKE_READ, &ref, &why) < 0) {
        n->there = false;
        return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    }
    if (lake_set_gone(l, &ref, &gone, e) < 0)
        return -1;
    n->there = gone.files == 0;
    return 0;
}

static int by_version(const void *a, const void *b)
{
    int64_t x = ((const struct lineage_node *)a)->version;
    int64_t y = ((const struct lineage_node *)b)->version;

    return (x > y) - (x < y);
}

/* Places of the found ones in the order of age. */
static void link_nodes(const struct lake_graph *found, struct lineage *out)
{
    size_t *all = mem_zero(found->n_edges + 1, sizeof *all);
    AUTO_MEM size_t *place = mem_zero(found->n_nodes + 1, sizeof *place);

    out->priv = all;
    for (size_t i = 0; i < found->n_nodes; i++)
        place[i] = lineage_find(out, found->nodes[i].version);
    for (size_t k = 0; k < found->n_edges; k++) {
        struct lineage_node *n = &out->nodes[place[found->edges[k].from]];
        all[k] = place[found->edges[k].to];
        if (n->n_from++ == 0)
            n->from = &all[k];
    }
}

int lineage_load(struct lake *l,
                 const struct lake_graph *found,
                 bool contents,
                 struct lineage *out,
                 struct err *e)
{
    *out = (struct lineage){.n = found->n_nodes};
    out->nodes = mem_zero(out->n + 1, sizeof *out->nodes);
    out->marks = mem_zero(out->n + 1, sizeof *out->marks);
    for (size_t i = 0; i < out->n; i++)
        out->nodes[i] = (struct lineage_node){.version = found->nodes[i].version,
                                              .set = found->nodes[i].set_name,
                                              .number = found->nodes[i].number,
                                              .there = true};
    qsort(out->nodes, out->n, sizeof *out->nodes, by_version);
    link_nodes(found, out);
    for (size_t i = 0; i < out->n; i++) {
        struct lineage_node *n = &out->nodes[i];
        if (lake_set_maker(l, n->version, &n->job, e) < 0 || (n->job && look_at_job(l, n, e) < 0) ||
            (contents && look_at_content(l, n, e) < 0)) {
            lineage_clear(out);
            return -1;
        }
    }
    return 0;
}

size_t lineage_find(const struct lineage *g, int64_t version)
{
    const struct lineage_node key = {.version = version};
    const struct lineage_node *n =
        g->n ? bsearch(&key, g->nodes, g->n, sizeof key, by_version) : NULL;

    return n ? (size_t)(n - g->nodes) : SIZE_MAX;
}

/* ---- what must run ---- */

struct walk {
    struct lineage *g;
    size_t *open; /* nodes still to be looked at */
    size_t n, cap;
};

/* Each once a walk. */
static void want(struct walk *w, size_t node)
{
    if (w->g->marks[node] == w->g->walk)
        return;
    w->g->marks[node] = w->g->walk;
    w->open = mem_room(w->open, w->n, &w->cap, sizeof *w->open);
    w->open[w->n++] = node;
}

static bool comes_back(const struct lineage *g, const struct lineage_node *n)
{
    for (size_t i = 0; i < n->n_from; i++)
        if (!g->nodes[n->from[i]].there)
            return true;
    return false;
}

/* ref is taken. */
static int cannot(enum err_kind kind, char *ref, const char *why, struct err *e)
{
    int result = err_set(e, kind, "%s %s", ref, why);

    free(ref);
    return result;
}

static int add_job(const struct lineage_node *n,
                   size_t node,
                   struct lineage_need *out,
                   struct err *e)
{
    if (n->secrets)
        return cannot(ERR_USAGE, lineage_ref(n),
                      "was made by a job that was given secrets, which are not kept: it cannot run "
                      "again by itself",
                      e);
    if (n->gang)
        return cannot(ERR_USAGE, lineage_ref(n),
                      "was made by one of several jobs that ran together: run its pipeline again",
                      e);
    out->nodes = mem_room(out->nodes, out->n, &out->cap, sizeof *out->nodes);
    out->nodes[out->n++] = node;
    out->priced = out->priced && n->priced;
    out->runtime_s += n->runtime_s;
    if (__builtin_add_overflow(out->cost_microusd, n->cost_microusd, &out->cost_microusd))
        out->cost_microusd = INT64_MAX;
    return 0;
}

static int look(struct walk *w, size_t node, size_t target, struct lineage_need *out, struct err *e)
{
    const struct lineage_node *n = &w->g->nodes[node];

    if (n->there && node != target)
        return 0;
    if (n->job && add_job(n, node, out, e) < 0)
        return -1;
    if (!n->job && n->there)
        return cannot(ERR_USAGE, lineage_ref(n), "is there, and no job made it", e);
    if (!n->job && !comes_back(w->g, n))
        return cannot(ERR_NOTFOUND, lineage_ref(n),
                      "has lost content that no job makes: put it again", e);
    for (size_t i = 0; i < n->n_from; i++)
        want(w, n->from[i]);
    return 0;
}

static int by_number(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

int lineage_need(struct lineage *g, size_t node, struct lineage_need *out, struct err *e)
{
    struct walk w = {.g = g};
    int result = 0;

    g->walk++;
    *out = (struct lineage_need){.priced = true};
    want(&w, node);
    while (result == 0 && w.n > 0)
        result = look(&w, w.open[--w.n], node, out, e);
    free(w.open);
    if (result < 0) {
        lineage_need_clear(out);
        return -1;
    }
    if (out->n)
        qsort(out->nodes, out->n, sizeof *out->nodes, by_number);
    return 0;
}

/* ---- hosts that are not released ---- */

static int add_open_bill(
    struct lake *l, int64_t id, const struct open_bills *open, int64_t *sum, struct err *e)
{
    struct lake_job job;

    if (lake_job_load(l, id, NULL, &job, e) < 0)
        return -1;
    int64_t recorded = job.cost_microusd;
    bill_show(open, &job);
    if (__builtin_add_overflow(*sum, job.cost_microusd - recorded, sum))
        *sum = INT64_MAX;
    return 0;
}

int lineage_add_open(struct lake *l,
                     const struct lake_ref *ref,
                     const struct open_bills *open,
                     struct lake_lineage_cost *cost,
                     struct err *e)
{
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};

    if (open->n == 0)
        return 0;
    if (lake_trace(l, ref, LAKE_BACK, 0, &g, e) < 0)
        return -1;
    for (size_t i = 0; i < g.n_nodes; i++) {
        int64_t job;
        if (lake_set_maker(l, g.nodes[i].version, &job, e) < 0 ||
            (open_bill_of(open, job) && add_open_bill(l, job, open, &cost->cost_microusd, e) < 0))
            return -1;
    }
    return 0;
}

/* ---- keeping or making again ---- */

static void stay(struct economics_set *s, const char *why)
{
    snprintf(s->why, sizeof s->why, "%.199s", why);
}

static void weigh(struct lineage *g, const struct economics_terms *terms, struct economics_set *s)
{
    AUTO_CLEAR(lineage_need) struct lineage_need need = {0};
    struct err e = {0};

    s->keep_usd_per_month = (double)s->only_bytes / 1e9 * terms->gb_month_usd;
    double keep_usd = s->keep_usd_per_month * terms->months;
    s->keep_microusd = money_from_usd(keep_usd < MONEY_MAX_USD ? keep_usd : MONEY_MAX_USD);
    if (lineage_need(g, s->node, &need, &e) < 0) {
        stay(s, e.text);
        return;
    }
    s->replay_microusd = need.cost_microusd;
    s->replay_s = need.runtime_s;
    s->replay_jobs = need.n;
    if (s->only_bytes == 0)
        stay(s, "nothing is its alone");
    else if (!need.priced)
        stay(s, "the cost of its jobs is unknown");
    else
        s->goes = s->replay_microusd < s->keep_microusd;
}

void economics_weigh(struct lineage *g,
                     const struct economics_terms *terms,
                     struct economics_set *sets,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sets[i].goes = false;
        sets[i].why[0] = '\0';
        weigh(g, terms, &sets[i]);
        if (sets[i].goes)
            g->nodes[sets[i].node].there = false;
    }
}
