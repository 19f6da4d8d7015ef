#include "base/buf.h"
#include "cli/lake_trace.h"
#include "cli/text.h"

#include <string.h>

/* What is written in one go. */
#define PIECE_BYTES 65536
/* More than any one put below. */
#define PUT_MAX_BYTES 1024

/* A page that is written out when it is full: printf would take most of the time of a large graph.
 */
struct page {
    FILE *out;
    size_t n;
    char bytes[PIECE_BYTES + PUT_MAX_BYTES];
};

static void flush(struct page *p)
{
    fwrite(p->bytes, 1, p->n, p->out);
    p->n = 0;
}

static void put(struct page *p, const char *text)
{
    size_t n = strnlen(text, PUT_MAX_BYTES);

    memcpy(p->bytes + p->n, text, n);
    p->n += n;
    if (p->n >= PIECE_BYTES)
        flush(p);
}

static void put_number(struct page *p, int64_t v)
{
    char digits[24];
    size_t at = sizeof digits - 1;

    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    put(p, digits + at);
}

/* @S:1 */
static void put_ref(struct page *p, const struct lake_graph_node *node)
{
    put(p, "@");
    put(p, node->set_name);
    put(p, ":");
    put_number(p, node->number);
}

static void put_json_edge(struct page *p, const struct lake_graph *g, size_t i)
{
    const struct lake_graph_edge *edge = &g->edges[i];

    put(p, i ? ",\n    {\"from\": \"" : "\n    {\"from\": \"");
    put_ref(p, &g->nodes[edge->from]);
    put(p, "\", \"to\": \"");
    put_ref(p, &g->nodes[edge->to]);
    put(p, edge->kind == LAKE_EDGE_JOB ? "\", \"kind\": \"job\", \"job\": "
                                       : "\", \"kind\": \"create\", \"job\": ");
    if (edge->job > 0)
        put_number(p, edge->job);
    else
        put(p, "null");
    put(p, "}");
}

void lake_trace_json(FILE *out, const struct lake_graph *g)
{
    struct page p = {.out = out};

    put(&p, "{\n  \"nodes\": [");
    for (size_t i = 0; i < g->n_nodes; i++) {
        put(&p, i ? ",\n    {\"ref\": \"" : "\n    {\"ref\": \"");
        put_ref(&p, &g->nodes[i]);
        put(&p, "\"}");
    }
    put(&p, g->n_nodes ? "\n  ],\n  \"edges\": [" : "],\n  \"edges\": [");
    for (size_t i = 0; i < g->n_edges; i++)
        put_json_edge(&p, g, i);
    put(&p, g->n_edges ? "\n  ]\n}\n" : "]\n}\n");
    flush(&p);
}

static void put_quoted_ref(struct page *p, const struct lake_graph_node *node)
{
    put(p, "\"");
    put_ref(p, node);
    put(p, "\"");
}

/* Edges lead from the newer to the older one, which RL puts to the left. */
void lake_trace_dot(FILE *out, const struct lake_graph *g)
{
    struct page p = {.out = out};

    put(&p, "digraph provenance {\n  rankdir=RL;\n  node [shape=box];\n");
    for (size_t i = 0; i < g->n_nodes; i++) {
        put(&p, "  ");
        put_quoted_ref(&p, &g->nodes[i]);
        put(&p, ";\n");
    }
    for (size_t i = 0; i < g->n_edges; i++) {
        const struct lake_graph_edge *edge = &g->edges[i];
        put(&p, "  ");
        put_quoted_ref(&p, &g->nodes[edge->from]);
        put(&p, " -> ");
        put_quoted_ref(&p, &g->nodes[edge->to]);
        if (edge->kind == LAKE_EDGE_JOB) {
            put(&p, " [label=\"job ");
            put_number(&p, edge->job);
            put(&p, "\"]");
        }
        put(&p, ";\n");
    }
    put(&p, "}\n");
    flush(&p);
}

/* Each set version, and below it those it was made from. */
void lake_trace_text(FILE *out, const struct lake_graph *g)
{
    struct page p = {.out = out};
    char nodes[32], edges[32];
    size_t e = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        put_ref(&p, &g->nodes[i]);
        put(&p, "\n");
        for (; e < g->n_edges && g->edges[e].from == i; e++) {
            put(&p, "    from ");
            put_ref(&p, &g->nodes[g->edges[e].to]);
            if (g->edges[e].kind == LAKE_EDGE_JOB) {
                put(&p, " by job ");
                put_number(&p, g->edges[e].job);
            }
            put(&p, "\n");
        }
    }
    flush(&p);
    fprintf(out, "%s set version%s, %s edge%s\n", text_count(g->n_nodes, nodes),
            g->n_nodes == 1 ? "" : "s", text_count(g->n_edges, edges), g->n_edges == 1 ? "" : "s");
}
