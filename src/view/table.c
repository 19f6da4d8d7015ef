#include "view/table.h"

#include "base/buf.h"
#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2
#define CELL_MAX_BYTES 4096

struct table {
    struct table_column *columns;
    size_t n_columns;
    char **cells; /* row by row; a row whose first cell is NULL is a rule */
    size_t n_cells, cap_cells;
};

struct table *table_new(const struct table_column *columns, size_t n)
{
    struct table *t = mem_zero(1, sizeof *t);

    assert(n > 0);
    t->columns = mem_zero(n, sizeof *t->columns);
    memcpy(t->columns, columns, n * sizeof *columns);
    t->n_columns = n;
    return t;
}

void table_free(struct table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t->columns);
    free(t);
}

static void take_cell(struct table *t, char *text)
{
    t->cells = mem_room(t->cells, t->n_cells, &t->cap_cells, sizeof *t->cells);
    t->cells[t->n_cells++] = text;
}

void table_put(struct table *t, const char *text)
{
    take_cell(t, mem_dup(text));
}

void table_printf(struct table *t, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    int len = vasprintf(&text, fmt, args);
    va_end(args);
    take_cell(t, len < 0 ? mem_dup("") : text);
}

void table_rule(struct table *t)
{
    assert(t->n_cells % t->n_columns == 0);
    for (size_t i = 0; i < t->n_columns; i++)
        take_cell(t, NULL);
}

/* Some columns of a table, by their numbers. */
struct part {
    const struct table *t;
    size_t *columns;
    size_t n;
};

static size_t sum_width(const size_t *widths, size_t n)
{
    size_t sum = (n - 1) * GAP;

    for (size_t i = 0; i < n; i++)
        sum += widths[i];
    return sum;
}

/* The column to narrow by one: lowest rank, of those the widest. SIZE_MAX when none is left. */
static size_t next_cut(const struct part *p, const size_t *widths)
{
    size_t best = SIZE_MAX;
    unsigned best_rank = 0;

    for (size_t i = 0; i < p->n; i++) {
        const struct table_column *c = &p->t->columns[p->columns[i]];
        if (c->cut_rank == 0 || widths[i] <= c->least)
            continue;
        if (best == SIZE_MAX || c->cut_rank < best_rank ||
            (c->cut_rank == best_rank && widths[i] > widths[best])) {
            best = i;
            best_rank = c->cut_rank;
        }
    }
    return best;
}

/* Of each column of the part, within max_columns as far as cutting allows. */
static void measure(const struct part *p, size_t max_columns, size_t *widths)
{
    const struct table *t = p->t;

    for (size_t i = 0; i < p->n; i++) {
        size_t column = p->columns[i];
        widths[i] = text_width(t->columns[column].title);
        for (size_t k = column; k < t->n_cells; k += t->n_columns) {
            size_t width = t->cells[k] ? text_width(t->cells[k]) : 0;
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    while (sum_width(widths, p->n) > max_columns) {
        size_t cut = next_cut(p, widths);
        if (cut == SIZE_MAX)
            break;
        widths[cut]--;
    }
}

static void all_columns(const struct table *t, struct part *out)
{
    *out = (struct part){t, mem_zero(t->n_columns, sizeof *out->columns), t->n_columns};
    for (size_t i = 0; i < out->n; i++)
        out->columns[i] = i;
}

size_t table_least_width(const struct table *t)
{
    AUTO_MEM size_t *widths = mem_zero(t->n_columns, sizeof *widths);
    struct part all;

    all_columns(t, &all);
    measure(&all, 0, widths);
    free(all.columns);
    return sum_width(widths, t->n_columns);
}

static void put_spaces(struct buf *line, size_t n)
{
    while (n-- > 0)
        buf_add(line, " ", 1);
}

static void put_row(struct buf *line,
                    const struct part *p,
                    const char *const *cells,
                    const size_t *widths,
                    const struct text_look *look)
{
    size_t owed = 0; /* spaces before the next text, so that no line ends in spaces */

    for (size_t i = 0; i < p->n; i++) {
        bool right = p->t->columns[p->columns[i]].right;
        struct buf cell;
        buf_init(&cell, CELL_MAX_BYTES);
        text_put(&cell, cells[p->columns[i]], widths[i], look->utf8);
        size_t pad = widths[i] - text_width(buf_str(&cell));
        owed += right ? pad : 0;
        if (cell.len > 0) {
            put_spaces(line, owed);
            buf_add(line, buf_str(&cell), cell.len);
            owed = 0;
        }
        owed += (right ? 0 : pad) + GAP;
        buf_clear(&cell);
    }
}

static void put_rule(struct buf *line, size_t columns, const struct text_look *look)
{
    for (size_t i = 0; i < columns; i++)
        buf_puts(line, look->utf8 ? "\xe2\x94\x80" : "-");
}

static void print_line(FILE *out, size_t indent, const struct buf *line)
{
    fprintf(out, "%*s%s\n", (int)indent, "", buf_str(line));
}

static void print_titles(const struct part *p,
                         FILE *out,
                         size_t indent,
                         const size_t *widths,
                         const struct text_look *look)
{
    const struct table *t = p->t;
    AUTO_CLEAR(buf) struct buf line;
    AUTO_MEM const char **titles = mem_zero(t->n_columns, sizeof *titles);

    for (size_t i = 0; i < t->n_columns; i++)
        titles[i] = t->columns[i].title;
    buf_init(&line, t->n_columns * CELL_MAX_BYTES);
    put_row(&line, p, titles, widths, look);
    if (look->colour)
        fprintf(out, "%*s\033[1m%s\033[0m\n", (int)indent, "", buf_str(&line));
    else
        print_line(out, indent, &line);
}

static void print_part(const struct part *p,
                       FILE *out,
                       size_t indent,
                       size_t max_columns,
                       const struct text_look *look)
{
    const struct table *t = p->t;
    AUTO_MEM size_t *widths = mem_zero(p->n, sizeof *widths);

    measure(p, max_columns, widths);
    print_titles(p, out, indent, widths, look);
    for (size_t i = 0; i < t->n_cells; i += t->n_columns) {
        AUTO_CLEAR(buf) struct buf line;
        buf_init(&line, t->n_columns * CELL_MAX_BYTES);
        if (t->cells[i])
            put_row(&line, p, (const char *const *)(t->cells + i), widths, look);
        else
            put_rule(&line, sum_width(widths, p->n), look);
        print_line(out, indent, &line);
    }
}

/* Leaves out optional columns, the rightmost first, until the least widths fit or none is left;
 * least has them afterwards. */
static void leave_out(struct part *p, size_t max_columns, size_t *least)
{
    measure(p, 0, least);
    for (size_t i = p->n; i-- > 1 && sum_width(least, p->n) > max_columns;)
        if (p->t->columns[p->columns[i]].is_optional) {
            p->n--;
            memmove(p->columns + i, p->columns + i + 1, (p->n - i) * sizeof *p->columns);
            memmove(least + i, least + i + 1, (p->n - i) * sizeof *least);
        }
}

void table_print(const struct table *t, FILE *out, size_t indent, const struct text_look *look)
{
    size_t max_columns = text_columns(look) > indent ? text_columns(look) - indent : 0;
    AUTO_MEM size_t *least = mem_zero(t->n_columns, sizeof *least);
    struct part all;

    assert(t->n_cells % t->n_columns == 0);
    all_columns(t, &all);
    leave_out(&all, max_columns, least);
    AUTO_MEM size_t *columns = mem_zero(all.n, sizeof *columns);
    struct part p = {t, columns, 1}; /* the first column, and those from `next` on that fit */
    for (size_t next = 1;; fputc('\n', out)) {
        size_t width = least[0];
        for (p.n = 1; next < all.n && (p.n == 1 || width + GAP + least[next] <= max_columns);
             next++) {
            width += GAP + least[next];
            p.columns[p.n++] = all.columns[next];
        }
        print_part(&p, out, indent, max_columns, look);
        if (next >= all.n)
            break;
    }
    free(all.columns);
}
