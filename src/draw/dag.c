#include "draw/dag.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Pixels. A letter of 13 pixels is some 7.5 wide. */
#define LETTER_WIDTH 7.5
#define BOX_HEIGHT 28.0
#define ROW_HEIGHT 46.0
#define BEND_HEIGHT 18.0
#define COLUMN_GAP 90.0
#define MARGIN 20.0
#define ARROW 6.0
#define SVG_MAX_BYTES ((size_t)64 << 20)
/* Boxes and lines beside them, beyond which the lines cannot be followed. */
#define CELLS_MAX 2000
/* Times that the cells of each column are put in order of their neighbours. */
#define SWEEPS 6

/* A box, or a line that passes through a column on its way to the next. */
struct cell {
    size_t column; /* edges on the longest way to the oldest */
    double order;  /* among those of its column */
    double x, y;   /* left side, middle */
    double width, height;
};

/* From one column to the next; those of an edge follow each other from left to right. */
struct link {
    size_t left, right;
};

struct drawing {
    const struct dag *g;
    struct cell *cells; /* those of the boxes first */
    size_t n_cells, cap_cells;
    struct link *links;
    size_t n_links, cap_links;
    size_t *links_of; /* edge i has links[links_of[i]] to links[links_of[i + 1] - 1] */
    size_t n_columns;
    double width, height;
};

static void drawing_clear(struct drawing *d)
{
    free(d->cells);
    free(d->links);
    free(d->links_of);
}

static size_t add_cell(struct drawing *d, struct cell cell)
{
    d->cells = mem_room(d->cells, d->n_cells, &d->cap_cells, sizeof *d->cells);
    cell.order = (double)d->n_cells;
    d->cells[d->n_cells] = cell;
    return d->n_cells++;
}

static void add_link(struct drawing *d, size_t left, size_t right)
{
    d->links = mem_room(d->links, d->n_links, &d->cap_links, sizeof *d->links);
    d->links[d->n_links++] = (struct link){left, right};
}

/* Each right of all it was made from; as many rounds as the longest way has edges. */
static void place_columns(struct drawing *d)
{
    const struct dag *g = d->g;
    bool moved = true;

    assert(d->cells || g->n_edges == 0);
    while (moved) {
        moved = false;
        for (size_t i = 0; i < g->n_edges; i++) {
            struct cell *from = &d->cells[g->edges[i].from];
            const struct cell *to = &d->cells[g->edges[i].to];
            if (from->column > to->column)
                continue;
            from->column = to->column + 1;
            moved = true;
        }
    }
    for (size_t i = 0; i < g->n; i++)
        if (d->cells[i].column >= d->n_columns)
            d->n_columns = d->cells[i].column + 1;
}

/* Edges over several columns get a cell in each, so that they do not run behind boxes. */
static void add_bends(struct drawing *d)
{
    const struct dag *g = d->g;

    d->links_of = mem_zero(g->n_edges + 1, sizeof *d->links_of);
    for (size_t i = 0; i < g->n_edges && d->n_cells <= CELLS_MAX; i++) {
        size_t left = g->edges[i].to, last = d->cells[g->edges[i].from].column;
        for (size_t column = d->cells[left].column + 1; column < last; column++) {
            size_t bend = add_cell(d, (struct cell){.column = column, .height = BEND_HEIGHT});
            add_link(d, left, bend);
            left = bend;
        }
        add_link(d, left, g->edges[i].from);
        d->links_of[i + 1] = d->n_links;
    }
}

struct wish {
    double order;
    size_t cell;
};

static int compare_wishes(const void *a, const void *b)
{
    const struct wish *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->cell < y->cell ? -1 : x->cell > y->cell;
}

/* Where the neighbours of each cell of a column stand on average, on one side or the other. */
static size_t wishes_of(const struct drawing *d, size_t column, bool to_left, struct wish *wishes)
{
    AUTO_MEM double *sum = mem_zero(d->n_cells, sizeof *sum);
    AUTO_MEM size_t *count = mem_zero(d->n_cells, sizeof *count);
    size_t n = 0;

    for (size_t i = 0; i < d->n_links; i++) {
        size_t cell = to_left ? d->links[i].right : d->links[i].left;
        size_t other = to_left ? d->links[i].left : d->links[i].right;
        sum[cell] += d->cells[other].order;
        count[cell]++;
    }
    for (size_t i = 0; i < d->n_cells; i++)
        if (d->cells[i].column == column)
            wishes[n++] =
                (struct wish){count[i] ? sum[i] / (double)count[i] : d->cells[i].order, i};
    return n;
}

static void order_columns(struct drawing *d)
{
    AUTO_MEM struct wish *wishes = mem_zero(d->n_cells, sizeof *wishes);

    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (size_t i = 0; i < d->n_columns; i++) {
            size_t column = sweep % 2 ? d->n_columns - 1 - i : i;
            size_t n = wishes_of(d, column, sweep % 2 == 0, wishes);
            qsort(wishes, n, sizeof *wishes, compare_wishes);
            for (size_t k = 0; k < n; k++)
                d->cells[wishes[k].cell].order = (double)k;
        }
    }
}

/* Puts the cells of a column below each other; returns the height. */
static double stack_column(struct drawing *d, size_t column)
{
    AUTO_MEM struct wish *cells = mem_zero(d->n_cells, sizeof *cells);
    double y = 0;
    size_t n = 0;

    for (size_t i = 0; i < d->n_cells; i++)
        if (d->cells[i].column == column)
            cells[n++] = (struct wish){d->cells[i].order, i};
    qsort(cells, n, sizeof *cells, compare_wishes);
    for (size_t k = 0; k < n; k++) {
        struct cell *cell = &d->cells[cells[k].cell];
        cell->y = y + cell->height / 2;
        y += cell->height;
    }
    return y;
}

static double widest_of(const struct drawing *d, size_t column)
{
    double widest = 0;

    for (size_t i = 0; i < d->n_cells; i++)
        if (d->cells[i].column == column && d->cells[i].width > widest)
            widest = d->cells[i].width;
    return widest;
}

static void place(struct drawing *d)
{
    AUTO_MEM double *heights = mem_zero(d->n_columns + 1, sizeof *heights);
    double x = MARGIN, tallest = 0;

    for (size_t column = 0; column < d->n_columns; column++) {
        double widest = widest_of(d, column);
        heights[column] = stack_column(d, column);
        tallest = heights[column] > tallest ? heights[column] : tallest;
        for (size_t i = 0; i < d->n_cells; i++) {
            if (d->cells[i].column != column)
                continue;
            d->cells[i].x = x;
            if (i >= d->g->n) /* straight through */
                d->cells[i].width = widest;
        }
        d->width = x + widest + MARGIN;
        x += widest + COLUMN_GAP;
    }
    for (size_t i = 0; i < d->n_cells; i++)
        d->cells[i].y += MARGIN + (tallest - heights[d->cells[i].column]) / 2;
    d->height = tallest + 2 * MARGIN;
}

/* A curve through the gap to the left of x1. */
static void put_curve(struct buf *svg, double x1, double y1, double x2, double y2)
{
    double middle = (x1 + x2) / 2;

    buf_printf(svg, " C%.1f %.1f %.1f %.1f %.1f %.1f", middle, y1, middle, y2, x2, y2);
}

static void put_edge(struct buf *svg, const struct drawing *d, size_t i)
{
    const struct dag_edge *edge = &d->g->edges[i];
    const struct cell *right = &d->cells[edge->from];
    double x = right->x, y = right->y;

    buf_printf(svg, "<path d=\"M%.1f %.1f", x, y);
    for (size_t k = d->links_of[i + 1]; k > d->links_of[i]; k--) {
        const struct cell *left = &d->cells[d->links[k - 1].left];
        bool arrived = k - 1 == d->links_of[i];
        put_curve(svg, x, y, left->x + left->width + (arrived ? ARROW : 0), left->y);
        if (!arrived)
            buf_printf(svg, " H%.1f", left->x);
        x = left->x;
        y = left->y;
    }
    buf_printf(svg, "\" fill=\"none\" stroke=\"%s\" marker-end=\"url(#arrow)\"/>\n",
               edge->label ? "#D55E00" : "#999999");
    if (edge->label) {
        const struct cell *left = &d->cells[d->links[d->links_of[i + 1] - 1].left];
        buf_printf(svg,
                   "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"11\">"
                   "%s</text>\n",
                   right->x - COLUMN_GAP / 2, (left->y + right->y) / 2 - 4, edge->label);
    }
}

static void put_box(struct buf *svg, const struct cell *cell, const char *label)
{
    buf_printf(svg,
               "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" "
               "fill=\"#FFFFFF\" stroke=\"#0072B2\"/>\n"
               "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"13\">%s</text>\n",
               cell->x, cell->y - BOX_HEIGHT / 2, cell->width, BOX_HEIGHT,
               cell->x + cell->width / 2, cell->y + 4.5, label);
}

static void put_picture(struct buf *svg, const struct drawing *d)
{
    buf_printf(svg,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\" "
               "fill=\"#222222\">\n<title>%s</title>\n"
               "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"2\" refY=\"4\" "
               "markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">"
               "<path d=\"M0 0 L8 4 L0 8 z\" fill=\"#555555\"/></marker></defs>\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#FFFFFF\"/>\n",
               d->width, d->height, d->width, d->height, d->g->title);
    for (size_t i = 0; i < d->g->n_edges; i++)
        put_edge(svg, d, i);
    for (size_t i = 0; i < d->g->n; i++)
        put_box(svg, &d->cells[i], d->g->labels[i]);
    buf_puts(svg, "</svg>\n");
}

static int too_large(const struct dag *g, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "a picture of %zu boxes and %zu arrows cannot be read: limit it by --hops, or "
                   "let Graphviz draw the output of --dot",
                   g->n, g->n_edges);
}

int dag_svg(FILE *out, const struct dag *g, struct err *e)
{
    AUTO_CLEAR(buf) struct buf svg;
    AUTO_CLEAR(drawing) struct drawing d = {.g = g, .width = 2 * MARGIN};

    buf_init(&svg, SVG_MAX_BYTES);
    if (g->n > DAG_BOXES_MAX)
        return too_large(g, e);
    for (size_t i = 0; i < g->n; i++)
        add_cell(&d, (struct cell){.height = ROW_HEIGHT,
                                   .width = (double)strlen(g->labels[i]) * LETTER_WIDTH + 16});
    place_columns(&d);
    add_bends(&d);
    if (d.n_cells > CELLS_MAX)
        return too_large(g, e);
    if (g->n > 0)
        order_columns(&d);
    place(&d);
    put_picture(&svg, &d);
    fwrite(svg.data, 1, svg.len, out);
    return 0;
}
