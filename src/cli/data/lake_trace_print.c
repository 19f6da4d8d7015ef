#include "base/auto.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/data/lake_trace.h"
#include "lake/core/path.h"
#include "view/text.h"

#include <stdlib.h>
#include <string.h>

/* What is written in one go. */
#define PAGE_BYTES 65536
/* More than any one put below: a reference is a set's name and a number. */
#define PUT_MAX_BYTES 256

/* A page that is written out when it is full, and all references as texts: printf, and looking up
 * each name once an edge, would take most of the time of a large graph. */
struct page {
    FILE *out;
    size_t n;
    char *refs; /* one behind the other */
    size_t *at; /* where that of node i begins, and where the last one ends */
    char bytes[PAGE_BYTES + PUT_MAX_BYTES];
};

static void page_clear(struct page *p)
{
    free(p->refs);
    free(p->at);
}

static void flush(struct page *p)
{
    fwrite(p->bytes, 1, p->n, p->out);
    p->n = 0;
}

static inline void put_bytes(struct page *p, const char *bytes, size_t n)
{
    memcpy(p->bytes + p->n, bytes, n);
    p->n += n;
    if (p->n >= PAGE_BYTES)
        flush(p);
}

/* For literals, whose length the compiler knows. */
#define PUT(p, text) put_bytes(p, text, sizeof(text) - 1)

/* Writes the digits and returns their number. */
static size_t write_number(char out[static 24], int64_t v)
{
    char digits[24];
    size_t n = 0;

    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    for (size_t i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    return n;
}

static void put_number(struct page *p, int64_t v)
{
    char digits[24];

    put_bytes(p, digits, write_number(digits, v));
}

static void page_init(struct page *p, FILE *out, const struct lake_graph *g)
{
    size_t cap = 0, n = 0;

    *p = (struct page){.out = out, .at = mem_zero(g->n_nodes + 1, sizeof *p->at)};
    for (size_t i = 0; i < g->n_nodes; i++) {
        size_t len = strnlen(g->nodes[i].set_name, LAKE_NAME_MAX);
        if (cap - n < PUT_MAX_BYTES) {
            cap = 2 * cap + PUT_MAX_BYTES;
            p->refs = mem_grow(p->refs, cap, 1);
        }
        p->refs[n++] = '@';
        memcpy(p->refs + n, g->nodes[i].set_name, len);
        n += len;
        p->refs[n++] = ':';
        n += write_number(p->refs + n, g->nodes[i].number);
        p->at[i + 1] = n;
    }
}

static inline void put_ref(struct page *p, size_t node)
{
    put_bytes(p, p->refs + p->at[node], p->at[node + 1] - p->at[node]);
}

static void put_json_edge(struct page *p, const struct lake_graph_edge *edge)
{
    PUT(p, "    {\"from\": \"");
    put_ref(p, edge->from);
    PUT(p, "\", \"to\": \"");
    put_ref(p, edge->to);
    if (edge->kind == LAKE_EDGE_JOB)
        PUT(p, "\", \"kind\": \"job\", \"job\": ");
    else
        PUT(p, "\", \"kind\": \"create\", \"job\": ");
    if (edge->job > 0)
        put_number(p, edge->job);
    else
        PUT(p, "null");
    PUT(p, "}");
}

/* Item i of an array begins. */
static inline void put_separator(struct page *p, size_t i)
{
    if (i > 0)
        PUT(p, ",\n");
    else
        PUT(p, "\n");
}

/* An array of n items ends, as cli/json_list would write it. */
static void put_array_end(struct page *p, size_t n)
{
    if (n > 0)
        PUT(p, "\n  ]");
    else
        PUT(p, "]");
}

static void put_json_cost(struct page *p, const struct lake_lineage_cost *cost)
{
    char text[PUT_MAX_BYTES];
    int n = snprintf(text, sizeof text,
                     ",\n  \"cost\": {\"jobs\": %llu, \"cost_usd\": %.15g, \"runtime_s\": %.15g}",
                     (unsigned long long)cost->jobs, money_to_usd(cost->cost_microusd),
                     cost->runtime_s);

    put_bytes(p, text, (size_t)n);
}

void lake_trace_json(FILE *out, const struct lake_graph *g, const struct lake_lineage_cost *cost)
{
    AUTO_CLEAR(page) struct page p;

    page_init(&p, out, g);
    PUT(&p, "{\n  \"nodes\": [");
    for (size_t i = 0; i < g->n_nodes; i++) {
        put_separator(&p, i);
        PUT(&p, "    {\"ref\": \"");
        put_ref(&p, i);
        PUT(&p, "\"}");
    }
    put_array_end(&p, g->n_nodes);
    PUT(&p, ",\n  \"edges\": [");
    for (size_t i = 0; i < g->n_edges; i++) {
        put_separator(&p, i);
        put_json_edge(&p, &g->edges[i]);
    }
    put_array_end(&p, g->n_edges);
    if (cost)
        put_json_cost(&p, cost);
    PUT(&p, "\n}\n");
    flush(&p);
}

static void put_dot_edge(struct page *p, const struct lake_graph_edge *edge)
{
    PUT(p, "  \"");
    put_ref(p, edge->from);
    PUT(p, "\" -> \"");
    put_ref(p, edge->to);
    PUT(p, "\"");
    if (edge->kind == LAKE_EDGE_JOB) {
        PUT(p, " [label=\"job ");
        put_number(p, edge->job);
        PUT(p, "\"]");
    }
    PUT(p, ";\n");
}

/* Edges lead from the newer to the older one, which RL puts to the left. */
void lake_trace_dot(FILE *out, const struct lake_graph *g)
{
    AUTO_CLEAR(page) struct page p;

    page_init(&p, out, g);
    PUT(&p, "digraph provenance {\n  rankdir=RL;\n  node [shape=box];\n");
    for (size_t i = 0; i < g->n_nodes; i++) {
        PUT(&p, "  \"");
        put_ref(&p, i);
        PUT(&p, "\";\n");
    }
    for (size_t i = 0; i < g->n_edges; i++)
        put_dot_edge(&p, &g->edges[i]);
    PUT(&p, "}\n");
    flush(&p);
}

static void print_cost(FILE *out, const struct lake_lineage_cost *cost)
{
    char jobs[32], money[32], runtime[32];

    fprintf(out, "made by %s job%s that cost %s and ran for %s\n", text_count(cost->jobs, jobs),
            cost->jobs == 1 ? "" : "s", money_text(cost->cost_microusd, money),
            time_text(cost->runtime_s, runtime));
}

/* Each set version, and below it those it was made from. */
void lake_trace_text(FILE *out, const struct lake_graph *g, const struct lake_lineage_cost *cost)
{
    AUTO_CLEAR(page) struct page p;
    char nodes[32], edges[32];
    size_t e = 0;

    page_init(&p, out, g);
    for (size_t i = 0; i < g->n_nodes; i++) {
        put_ref(&p, i);
        PUT(&p, "\n");
        for (; e < g->n_edges && g->edges[e].from == i; e++) {
            PUT(&p, "    from ");
            put_ref(&p, g->edges[e].to);
            if (g->edges[e].kind == LAKE_EDGE_JOB) {
                PUT(&p, " by job ");
                put_number(&p, g->edges[e].job);
            }
            PUT(&p, "\n");
        }
    }
    flush(&p);
    fprintf(out, "%s set version%s, %s edge%s\n", text_count(g->n_nodes, nodes),
            g->n_nodes == 1 ? "" : "s", text_count(g->n_edges, edges), g->n_edges == 1 ? "" : "s");
    if (cost)
        print_cost(out, cost);
}
