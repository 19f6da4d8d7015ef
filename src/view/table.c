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

static size_t sum_width(const size_t *widths, size_t n)
{
    size_t sum = (n - 1) * GAP;

    for (size_t i = 0; i < n; i++)
        sum += widths[i];
    return sum;
}

/* The column to narrow by one: lowest rank, of those the widest. SIZE_MAX when none is left. */
static size_t next_cut(const struct table *t, const size_t *widths)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < t->n_columns; i++) {
        const struct table_column *c = &t->columns[i];
        if (c->cut_rank == 0 || widths[i] <= c->least)
            continue;
        if (best == SIZE_MAX || c->cut_rank < t->columns[best].cut_rank ||
            (c->cut_rank == t->columns[best].cut_rank && widths[i] > widths[best]))
            best = i;
    }
    return best;
}

static void measure(const struct table *t, size_t max_columns, size_t *widths)
{
    for (size_t i = 0; i < t->n_columns; i++)
        widths[i] = text_width(t->columns[i].title);
    for (size_t i = 0; i < t->n_cells; i++) {
        size_t width = t->cells[i] ? text_width(t->cells[i]) : 0;
        if (width > widths[i % t->n_columns])
            widths[i % t->n_columns] = width;
    }
    while (sum_width(widths, t->n_columns) > max_columns) {
        size_t cut = next_cut(t, widths);
        if (cut == SIZE_MAX)
            break;
        widths[cut]--;
    }
}

size_t table_least_width(const struct table *t)
{
    AUTO_MEM size_t *widths = mem_zero(t->n_columns, sizeof *widths);

    measure(t, 0, widths);
    return sum_width(widths, t->n_columns);
}

static void put_spaces(struct buf *line, size_t n)
{
    while (n-- > 0)
        buf_add(line, " ", 1);
}

static void put_row(struct buf *line,
                    const struct table *t,
                    const char *const *cells,
                    const size_t *widths,
                    const struct text_look *look)
{
    size_t owed = 0; /* spaces before the next text, so that no line ends in spaces */

    for (size_t i = 0; i < t->n_columns; i++) {
        struct buf cell;
        buf_init(&cell, CELL_MAX_BYTES);
        text_put(&cell, cells[i], widths[i], look->utf8);
        size_t pad = widths[i] - text_width(buf_str(&cell));
        owed += t->columns[i].right ? pad : 0;
        if (cell.len > 0) {
            put_spaces(line, owed);
            buf_add(line, buf_str(&cell), cell.len);
            owed = 0;
        }
        owed += (t->columns[i].right ? 0 : pad) + GAP;
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

static void print_titles(const struct table *t,
                         FILE *out,
                         size_t indent,
                         const size_t *widths,
                         const struct text_look *look)
{
    AUTO_CLEAR(buf) struct buf line;
    AUTO_MEM const char **titles = mem_zero(t->n_columns, sizeof *titles);

    for (size_t i = 0; i < t->n_columns; i++)
        titles[i] = t->columns[i].title;
    buf_init(&line, t->n_columns * CELL_MAX_BYTES);
    put_row(&line, t, titles, widths, look);
    if (look->colour)
        fprintf(out, "%*s\033[1m%s\033[0m\n", (int)indent, "", buf_str(&line));
    else
        print_line(out, indent, &line);
}

void table_print(const struct table *t, FILE *out, size_t indent, const struct text_look *look)
{
    size_t max_columns = text_columns(look);
    AUTO_MEM size_t *widths = mem_zero(t->n_columns, sizeof *widths);

    assert(t->n_cells % t->n_columns == 0);
    measure(t, max_columns > indent ? max_columns - indent : 0, widths);
    print_titles(t, out, indent, widths, look);
    for (size_t i = 0; i < t->n_cells; i += t->n_columns) {
        AUTO_CLEAR(buf) struct buf line;
        buf_init(&line, t->n_columns * CELL_MAX_BYTES);
        if (t->cells[i])
            put_row(&line, t, (const char *const *)(t->cells + i), widths, look);
        else
            put_rule(&line, sum_width(widths, t->n_columns), look);
        print_line(out, indent, &line);
    }
}
