#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "cli/lake_trace.h"

#include <string.h>

/* Of the picture, in pixels. A letter of 13 pixels is some 7.5 wide. */
#define LETTER_WIDTH 7.5
#define BOX_HEIGHT 28.0
#define ROW_HEIGHT 46.0
#define COLUMN_GAP 90.0
#define MARGIN 20.0
#define SVG_MAX_BYTES ((size_t)64 << 20)
/* Times that the boxes of a column are put in order of their neighbours. */
#define SWEEPS 4

struct box {
    size_t column; /* edges on the longest way to the oldest */
    double row;    /* in its column */
    double x, y, width;
    char *text;
};

struct drawing {
    const struct lake_graph *g;
    struct box *boxes; /* as g->nodes */
    size_t n_columns;
    size_t *order; /* boxes, oldest first */
    double width, height;
};

static void drawing_clear(struct drawing *d)
{
    for (size_t i = 0; i < d->g->n_nodes; i++)
        auto_free_mem(&d->boxes[i].text);
    auto_free_mem(&d->boxes);
    auto_free_mem(&d->order);
}

/* Parents have lower ids, so one pass in order of the ids sees them first. */
static void place_columns(struct drawing *d)
{
    const struct lake_graph *g = d->g;

    for (size_t i = 0; i < g->n_nodes; i++) {
        size_t k = i;
        for (; k > 0 && g->nodes[d->order[k - 1]].version > g->nodes[i].version; k--)
            d->order[k] = d->order[k - 1];
        d->order[k] = i;
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        struct box *box = &d->boxes[d->order[i]];
        for (size_t k = 0; k < g->n_edges; k++)
            if (g->edges[k].from == d->order[i] && d->boxes[g->edges[k].to].column >= box->column)
                box->column = d->boxes[g->edges[k].to].column + 1;
        if (box->column >= d->n_columns)
            d->n_columns = box->column + 1;
    }
}

/* Where the boxes that i has edges with stand on average; its own row when there are none. */
static double neighbours_row(const struct drawing *d, size_t i)
{
    double sum = 0;
    size_t n = 0;

    for (size_t k = 0; k < d->g->n_edges; k++) {
        const struct lake_graph_edge *edge = &d->g->edges[k];
        if (edge->from == i || edge->to == i) {
            sum += d->boxes[edge->from == i ? edge->to : edge->from].row;
            n++;
        }
    }
    return n ? sum / (double)n : d->boxes[i].row;
}

/* Puts the boxes of a column below each other, in order of their wishes. */
static void order_column(struct drawing *d, size_t column, const double *wish)
{
    AUTO_MEM size_t *in_column = mem_zero(d->g->n_nodes, sizeof *in_column);
    size_t n = 0;

    for (size_t i = 0; i < d->g->n_nodes; i++) {
        size_t box = d->order[i], k = n;
        if (d->boxes[box].column != column)
            continue;
        for (; k > 0 && wish[in_column[k - 1]] > wish[box]; k--)
            in_column[k] = in_column[k - 1];
        in_column[k] = box;
        n++;
    }
    for (size_t k = 0; k < n; k++)
        d->boxes[in_column[k]].row = (double)k;
}

static void place_rows(struct drawing *d)
{
    AUTO_MEM double *wish = mem_zero(d->g->n_nodes, sizeof *wish);

    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (size_t column = 0; column < d->n_columns; column++) {
            for (size_t i = 0; sweep > 0 && i < d->g->n_nodes; i++)
                wish[i] = neighbours_row(d, i);
            order_column(d, column, wish);
        }
    }
}

static void measure(struct drawing *d)
{
    double x = MARGIN;

    for (size_t column = 0; column < d->n_columns; column++) {
        double widest = 0;
        for (size_t i = 0; i < d->g->n_nodes; i++) {
            struct box *box = &d->boxes[i];
            if (box->column != column)
                continue;
            box->x = x;
            box->y = MARGIN + box->row * ROW_HEIGHT;
            widest = box->width > widest ? box->width : widest;
            if (box->y + BOX_HEIGHT + MARGIN > d->height)
                d->height = box->y + BOX_HEIGHT + MARGIN;
        }
        d->width = x + widest + MARGIN;
        x += widest + COLUMN_GAP;
    }
}

static void put_edge(struct buf *svg, const struct drawing *d, const struct lake_graph_edge *edge)
{
    const struct box *from = &d->boxes[edge->from], *to = &d->boxes[edge->to];
    double x1 = from->x, y1 = from->y + BOX_HEIGHT / 2;
    double x2 = to->x + to->width + 6, y2 = to->y + BOX_HEIGHT / 2;

    buf_printf(svg,
               "<path d=\"M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f\" fill=\"none\" "
               "stroke=\"%s\" marker-end=\"url(#arrow)\"/>\n",
               x1, y1, x1 - COLUMN_GAP / 2, y1, x2 + COLUMN_GAP / 2, y2, x2, y2,
               edge->kind == LAKE_EDGE_JOB ? "#D55E00" : "#999999");
    if (edge->kind == LAKE_EDGE_JOB)
        buf_printf(svg,
                   "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"11\">"
                   "job %lld</text>\n",
                   (x1 + x2) / 2, (y1 + y2) / 2 - 4, (long long)edge->job);
}

static void put_box(struct buf *svg, const struct box *box)
{
    buf_printf(svg,
               "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" "
               "fill=\"#FFFFFF\" stroke=\"#0072B2\"/>\n"
               "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"13\">%s</text>\n",
               box->x, box->y, box->width, BOX_HEIGHT, box->x + box->width / 2,
               box->y + BOX_HEIGHT / 2 + 4.5, box->text);
}

static void put_picture(struct buf *svg, const struct drawing *d)
{
    buf_printf(svg,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\" "
               "fill=\"#222222\">\n<title>Provenance</title>\n"
               "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"2\" refY=\"4\" "
               "markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">"
               "<path d=\"M0 0 L8 4 L0 8 z\" fill=\"#555555\"/></marker></defs>\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#FFFFFF\"/>\n",
               d->width, d->height, d->width, d->height);
    for (size_t i = 0; i < d->g->n_edges; i++)
        put_edge(svg, d, &d->g->edges[i]);
    for (size_t i = 0; i < d->g->n_nodes; i++)
        put_box(svg, &d->boxes[i]);
    buf_puts(svg, "</svg>\n");
}

int lake_trace_svg(FILE *out, const struct lake_graph *g, struct err *e)
{
    AUTO_CLEAR(buf) struct buf svg;
    AUTO_CLEAR(drawing) struct drawing d = {.g = g, .width = 2 * MARGIN, .height = 2 * MARGIN};

    buf_init(&svg, SVG_MAX_BYTES);
    d.boxes = mem_zero(g->n_nodes + 1, sizeof *d.boxes);
    d.order = mem_zero(g->n_nodes + 1, sizeof *d.order);
    if (g->n_nodes > LAKE_TRACE_SVG_MAX)
        return err_set(e, ERR_USAGE,
                       "a picture of %zu set versions cannot be read: limit it by --hops, or let "
                       "Graphviz draw what --dot prints",
                       g->n_nodes);
    for (size_t i = 0; i < g->n_nodes; i++) {
        d.boxes[i].text =
            mem_printf("@%s:%lld", g->nodes[i].set_name, (long long)g->nodes[i].number);
        d.boxes[i].width = (double)strlen(d.boxes[i].text) * LETTER_WIDTH + 16;
    }
    place_columns(&d);
    place_rows(&d);
    measure(&d);
    put_picture(&svg, &d);
    fwrite(svg.data, 1, svg.len, out);
    return 0;
}
