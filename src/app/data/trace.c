/* trace: the operation that follows provenance between set versions. `tradewind trace` calls it. */
#include "app/data/data.h"
#include "base/number.h"
#include "base/time.h"
#include "broker/core/details.h"
#include "broker/pipeline/lineage.h"
#include "lake/core/path.h"
#include "lake/job/job.h"
#include "lake/set/graph.h"

#include <assert.h>
#include <string.h>

/* "@name:number": a name, a number of at most 20 digits, and the signs around them. */
#define REF_MAX (LAKE_NAME_MAX + 24)
#define REFS_BYTES (256 * REF_MAX)

static const char *const kinds[] = {[LAKE_EDGE_CREATE] = "create", [LAKE_EDGE_JOB] = "job"};
static const char *const directions[] = {
    [LAKE_BACK] = "back", [LAKE_FORWARD] = "forward", [LAKE_BOTH] = "both"};

/* clang-format off */
static const struct field node_fields[] = {
    {"ref", FIELD(TEXT, struct data_node, ref), .help = "The set version."},
};
static const struct record node_record = RECORD("trace_node", struct data_node, node_fields);

static const struct field edge_fields[] = {
    {"from", FIELD(TEXT, struct data_edge, from), .help = "The newer set version."},
    {"to", FIELD(TEXT, struct data_edge, to), .help = "The set version it was made from."},
    {"kind", FIELD(ENUM, struct data_edge, kind), FIELD_CHOICES(kinds),
     .help = "Whether set create or a job made it."},
    {"job", FIELD(INT, struct data_edge, job), .help = "Number of the job; null = none."},
};

static const struct field cost_fields[] = {
    {"jobs", FIELD(COUNT, struct data_trace_cost, jobs), .help = "How many jobs there are upstream."},
    {"cost_usd", FIELD(MONEY, struct data_trace_cost, cost_microusd), .unit = "USD",
     .help = "What they cost."},
    {"runtime_s", FIELD(DURATION, struct data_trace_cost, runtime_s), .unit = "s",
     .help = "How long they ran."},
};
static const struct record cost_record = RECORD("trace_cost", struct data_trace_cost, cost_fields);

static const struct field trace_fields[] = {
    {"cost", FIELD(RECORD, struct data_trace, cost), .record = &cost_record, .omit_none = true,
     .help = "What all jobs upstream cost, with those whose checkpoints they continued; only where it is asked for."},
    {"nodes", FIELD(RECORDS, struct data_trace, nodes), .record = &node_record,
     .help = "The set versions, the start first."},
};

struct trace_request {
    const char *ref;
    enum lake_direction direction;
    uint64_t hops;
    bool cost;
};

static const struct field request_fields[] = {
    {"ref", FIELD(TEXT, struct trace_request, ref), .operand = true,
     .help = "A set version, or a file, which stands for every set version that holds it; without "
             "it the whole graph."},
    {"direction", FIELD(ENUM, struct trace_request, direction), FIELD_CHOICES(directions),
     .is_remote_only = true, .preset = "both",
     .help = "back: what it was made from; forward: what was made from it."},
    {"hops", FIELD(COUNT, struct trace_request, hops), .value = "N", .least = 1, .most = 1e9,
     .help = "At most N steps away (default: no limit)."},
    {"cost", FIELD(BOOL, struct trace_request, cost),
     .help = "Add the cost and run time of all jobs upstream of REF."},
};
/* clang-format on */

static int read_cost(struct app *app,
                     const struct lake_ref *ref,
                     struct data_trace_cost *out,
                     struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};
    struct lake *l = app_lake(app, e);
    const char *home = app_home(app, e);
    struct lake_lineage_cost cost;

    if (!l || !home || open_bills_read(home, time_epoch_ms(), &open, e) < 0 ||
        lake_lineage_cost(l, ref, job_details_continued, &cost, e) < 0 ||
        lineage_add_open(l, ref, &open, &cost, e) < 0)
        return -1;
    *out = (struct data_trace_cost){cost.jobs, cost.cost_microusd, cost.runtime_s};
    return 0;
}

/* The set versions as references, in the arena. */
static int name_nodes(const struct lake_graph *g,
                      struct arena *arena,
                      struct data_node **out,
                      struct err *e)
{
    struct data_node *nodes = arena_alloc(arena, g->n_nodes, sizeof *nodes);
    char *at = NULL, *end = NULL, digits[24];

    for (size_t i = 0; nodes && i < g->n_nodes; i++) {
        const char *number = number_text(g->nodes[i].number, digits);
        size_t n = strlen(g->nodes[i].set_name);
        size_t n_digits = (size_t)(digits + sizeof digits - number); /* with the NUL */
        assert(n <= LAKE_NAME_MAX);
        if (end - at < REF_MAX) { /* a million of them: many in one piece of memory */
            at = arena_alloc(arena, 1, REFS_BYTES);
            end = at ? at + REFS_BYTES : NULL;
        }
        if (!at)
            nodes = NULL;
        else {
            nodes[i].ref = at;
            *at++ = '@';
            memcpy(at, g->nodes[i].set_name, n);
            at += n;
            *at++ = ':';
            memcpy(at, number, n_digits);
            at += n_digits;
        }
    }
    if (!nodes && g->n_nodes > 0)
        return err_set(e, ERR_NOFIT, "the graph is too large");
    *out = nodes;
    return 0;
}

static int answer_edges(const struct lake_graph *g,
                        const struct data_node *nodes,
                        struct answer *out,
                        struct err *e)
{
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct lake_graph_edge *edge = &g->edges[i];
        const struct data_edge item = {
            .from = nodes[edge->from].ref,
            .to = nodes[edge->to].ref,
            .kind = edge->kind,
            .job = edge->job > 0 ? edge->job : FIELD_NONE,
        };
        if (answer_listed(out, &item, e) < 0)
            return -1;
    }
    return 0;
}

static int check_start(const struct trace_request *q, struct err *e)
{
    if (q->ref || (q->direction == LAKE_BOTH && q->hops == UINT64_MAX && !q->cost))
        return 0;
    return err_set(e, ERR_USAGE,
                   "a direction, a number of hops and the cost need a set version to start from, "
                   "as in @NAME:1");
}

static int run_trace(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct trace_request *q = request;
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    uint32_t hops = q->hops == UINT64_MAX ? 0 : (uint32_t)q->hops;
    struct data_trace_cost cost;
    struct data_node *nodes;

    if (check_start(q, e) < 0)
        return -1;
    struct lake *l = app_lake(app, e);
    if (!l || (q->ref && lake_resolve(l, q->ref, LAKE_READ, &ref, e) < 0) ||
        lake_trace(l, q->ref ? &ref : NULL, q->direction, hops, &g, e) < 0 ||
        (q->cost && read_cost(app, &ref, &cost, e) < 0) ||
        name_nodes(&g, out->arena, &nodes, e) < 0)
        return -1;
    const struct data_trace head = {.cost = q->cost ? &cost : NULL, .nodes = {nodes, g.n_nodes}};
    if (answer_head(out, &head, e) < 0)
        return -1;
    return answer_edges(&g, nodes, out, e);
}

const struct operation trace_operation = {
    .name = "lake.trace",
    .summary = "Show the set versions a set was made from, and those made from it.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct trace_request, request_fields),
    .answer = RECORD_AT("trace", struct data_trace, trace_fields),
    .item = RECORD_AT("trace_edge", struct data_edge, edge_fields),
    .items_name = "edges",
    .run = run_trace,
};
