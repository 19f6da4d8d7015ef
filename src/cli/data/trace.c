/* trace: the command `trace`: provenance as lines, as JSON, for Graphviz and as a picture. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/number.h"
#include "base/time.h"
#include "cli/data/data.h"
#include "draw/dag.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 32768
/* Nodes without edges are printed together. */
#define LINES_MAX_BYTES ((size_t)1 << 30)

/* The graph as it is printed. The nodes live in the answer's arena. */
struct graph {
    const struct data_node *nodes;
    size_t n_nodes, n_printed;
    bool has_cost;
    struct data_trace_cost cost;
    struct buf lines;       /* not written yet */
    struct dag_edge *edges; /* of a picture */
    size_t n_edges, cap_edges;
};

static void clear(struct operate_text *t)
{
    struct graph *g = t->state;

    buf_clear(&g->lines);
    free(g->edges);
}

static void begin(struct operate_text *t, const void *record)
{
    const struct data_trace *head = record;
    struct graph *g = t->state;

    *g = (struct graph){
        .nodes = head->nodes.items, .n_nodes = head->nodes.n, .has_cost = head->cost != NULL};
    if (head->cost)
        g->cost = *(const struct data_trace_cost *)head->cost;
    buf_init(&g->lines, LINES_MAX_BYTES);
}

/* ---- lines: each set version, and below it those it was made from ---- */

static bool is_same(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

static void put(struct graph *g, const char *before, const char *text, const char *after)
{
    buf_puts(&g->lines, before);
    buf_puts(&g->lines, text);
    buf_puts(&g->lines, after);
}

/* Writes the lines so far once they fill a page: a million of them spend their time here. */
static void print_page(struct operate_text *t, struct graph *g, size_t page_bytes)
{
    if (g->lines.len < page_bytes)
        return;
    fwrite(buf_str(&g->lines), 1, g->lines.len, t->out);
    g->lines.len = 0;
}

static void print_edge(struct operate_text *t, const void *record)
{
    const struct data_edge *edge = record;
    struct graph *g = t->state;
    char digits[24];

    while (g->n_printed < g->n_nodes &&
           (g->n_printed == 0 || !is_same(g->nodes[g->n_printed - 1].ref, edge->from)))
        put(g, "", g->nodes[g->n_printed++].ref, "\n");
    put(g, "    from ", edge->to, "");
    if (edge->kind == LAKE_EDGE_JOB)
        put(g, " by job ", number_text(edge->job, digits), "");
    buf_add(&g->lines, "\n", 1);
    print_page(t, g, PAGE_BYTES);
}

static void end_lines(struct operate_text *t)
{
    struct graph *g = t->state;
    char nodes[32], edges[32], jobs[32], money[32], runtime[32];

    while (g->n_printed < g->n_nodes)
        put(g, "", g->nodes[g->n_printed++].ref, "\n");
    print_page(t, g, 0);
    fprintf(t->out, "%s set version%s, %s edge%s\n", text_count(g->n_nodes, nodes),
            g->n_nodes == 1 ? "" : "s", text_count(t->n_items, edges), t->n_items == 1 ? "" : "s");
    if (g->has_cost)
        fprintf(t->out, "made by %s job%s that cost %s and ran for %s\n",
                text_count((size_t)g->cost.jobs, jobs), g->cost.jobs == 1 ? "" : "s",
                money_text(g->cost.cost_microusd, money), time_text(g->cost.runtime_s, runtime));
}

/* ---- for Graphviz. Names of sets need no quoting: they have only letters, digits, '.', '_', '-'.
 */

/* Edges lead from the newer to the older one, which RL puts to the left. */
static void begin_dot(struct operate_text *t, const void *record)
{
    struct graph *g = t->state;

    begin(t, record);
    buf_puts(&g->lines, "digraph provenance {\n  rankdir=RL;\n  node [shape=box];\n");
    for (size_t i = 0; i < g->n_nodes; i++) {
        put(g, "  \"", g->nodes[i].ref, "\";\n");
        print_page(t, g, PAGE_BYTES);
    }
}

static void print_dot_edge(struct operate_text *t, const void *record)
{
    const struct data_edge *edge = record;
    struct graph *g = t->state;
    char digits[24];

    put(g, "  \"", edge->from, "\" -> \"");
    put(g, "", edge->to, "\"");
    if (edge->kind == LAKE_EDGE_JOB)
        put(g, " [label=\"job ", number_text(edge->job, digits), "\"]");
    buf_puts(&g->lines, ";\n");
    print_page(t, g, PAGE_BYTES);
}

static void end_dot(struct operate_text *t)
{
    struct graph *g = t->state;

    buf_puts(&g->lines, "}\n");
    print_page(t, g, 0);
}

/* ---- a picture, older set versions to the left ---- */

static size_t node_index(const struct graph *g, const char *ref)
{
    size_t i = 0;

    while (i < g->n_nodes && !is_same(g->nodes[i].ref, ref))
        i++;
    return i;
}

static void add_edge(struct operate_text *t, const void *record)
{
    const struct data_edge *edge = record;
    struct graph *g = t->state;
    size_t i = g->n_edges++;

    if (g->n_nodes > DAG_BOXES_MAX)
        return; /* which dag_svg refuses */
    g->edges = mem_room(g->edges, i, &g->cap_edges, sizeof *g->edges);
    g->edges[i] =
        (struct dag_edge){.from = node_index(g, edge->from), .to = node_index(g, edge->to)};
    if (edge->kind == LAKE_EDGE_JOB)
        g->edges[i].label = arena_printf(t->arena, "job %" PRId64, edge->job);
}

static void end_picture(struct operate_text *t)
{
    const struct graph *g = t->state;
    AUTO_MEM const char **labels = mem_zero(g->n_nodes + 1, sizeof *labels);
    const struct dag dag = {.title = "Provenance",
                            .labels = labels,
                            .n = g->n_nodes,
                            .edges = g->edges,
                            .n_edges = g->n_edges};

    for (size_t i = 0; i < g->n_nodes; i++)
        labels[i] = g->nodes[i].ref;
    dag_svg(t->out, &dag, &t->error);
}

/* ---- the command ---- */

static int check_options(const struct command_args *args, struct err *e)
{
    bool is_picture = command_has(args, "--dot") || command_has(args, "--svg");
    int forms = command_has(args, "--json") + command_has(args, "--csv") +
                command_has(args, "--dot") + command_has(args, "--svg");

    if (forms > 1)
        return err_set(e, ERR_USAGE, "--json, --csv, --dot and --svg: choose one of them");
    if (command_has(args, "--cost") && is_picture)
        return err_set(e, ERR_USAGE, "--cost needs text or --json: pictures have no costs");
    if (args->n_operands == 0 && (command_has(args, "--back") || command_has(args, "--forward") ||
                                  command_has(args, "--hops") || command_has(args, "--cost")))
        return err_set(e, ERR_USAGE,
                       "--back, --forward, --hops and --cost need a set version to start from, as "
                       "in tradewind trace @NAME:1");
    return 0;
}

static int run_trace(const struct command_args *args, struct err *e)
{
    static const struct command_text lines = {.head = begin,
                                              .item = print_edge,
                                              .end = end_lines,
                                              .clear = clear,
                                              .state_size = sizeof(struct graph)};
    static const struct command_text dot = {.head = begin_dot,
                                            .item = print_dot_edge,
                                            .end = end_dot,
                                            .clear = clear,
                                            .state_size = sizeof(struct graph)};
    static const struct command_text picture = {.head = begin,
                                                .item = add_edge,
                                                .end = end_picture,
                                                .clear = clear,
                                                .state_size = sizeof(struct graph)};
    bool back = command_has(args, "--back"), forward = command_has(args, "--forward");
    AUTO_JSON json_t *request = operate_request(args, &trace_operation, e);

    if (!request || check_options(args, e) < 0)
        return -1;
    if (back != forward)
        json_object_set_new(request, "direction", json_string(back ? "back" : "forward"));
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(true);
    return operate_call(args, terminal, &trace_operation, request,
                        command_has(args, "--svg")   ? &picture
                        : command_has(args, "--dot") ? &dot
                                                     : &lines,
                        e);
}

static const struct command_option trace_options[] = {
    {.name = "--back", .help = "Follow only what REF was made from."},
    {.name = "--forward", .help = "Follow only what was made from REF."},
    {.name = "--dot", .help = "Print the graph for Graphviz."},
    {.name = "--svg",
     .help = "Print a picture, older set versions to the left; >graph.svg keeps it."},
    {0},
};

const struct command command_trace = {
    .name = "trace",
    .operands = "[REF]",
    .summary = "Show the provenance of a set, and what was made from it",
    .details = "Follows provenance from a set version (@S is its latest) in both directions unless "
               "told otherwise: each set version, and below it the ones it was made from. A file "
               "(/p#2) stands for every set version that contains that version of it. Without REF "
               "the command shows the whole graph.",
    .example = "tradewind trace @model --back --dot",
    .options = trace_options,
    .operation = &trace_operation,
    .is_long = true,
    .run = run_trace,
};
