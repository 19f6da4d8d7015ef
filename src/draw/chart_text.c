/* Draws the Pareto frontier of plans in the terminal, in braille dots or ASCII. `plan` prints
 * it. */
#include "draw/chart.h"

#include "base/buf.h"
#include "draw/chart_svg.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The plot inside its axes, in characters; a braille character is 2 x 4 dots. */
#define COLUMNS 76
#define ROWS 16
#define LABEL_COLUMNS 10
#define COST_MARKS 5
#define TIME_MARKS 7

struct canvas {
    bool utf8;
    size_t dots_x, dots_y; /* dots of a character */
    uint8_t dots[ROWS][COLUMNS];
    char marks[ROWS][COLUMNS]; /* 'o' a plan, 'X' the chosen one, 0 neither */
};

static void set_dot(struct canvas *c, size_t x, size_t y)
{
    /* Bits of a braille character by row and column, as Unicode numbers its dots. */
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

    c->dots[y / c->dots_y][x / c->dots_x] |= bits[y % c->dots_y][x % c->dots_x];
}

struct dot {
    size_t x, y;
};

static struct dot dot_at(const struct canvas *c,
                         const struct chart_scale *time,
                         const struct chart_scale *cost,
                         const struct chart_point *p)
{
    double x = chart_scale_at(time, p->time_s) * (double)(COLUMNS * c->dots_x - 1);
    double y = (1 - chart_scale_at(cost, p->cost_usd)) * (double)(ROWS * c->dots_y - 1);

    return (struct dot){(size_t)lround(x), (size_t)lround(y)};
}

/* Between two neighbours the faster one's price holds until the cheaper one's time. */
static void draw_step(struct canvas *c, struct dot cheaper, struct dot faster)
{
    for (size_t x = faster.x; x <= cheaper.x; x++)
        set_dot(c, x, faster.y);
    for (size_t y = faster.y; y <= cheaper.y; y++)
        set_dot(c, cheaper.x, y);
}

static void draw(struct canvas *c,
                 const struct chart_frontier *f,
                 const struct chart_scale *time,
                 const struct chart_scale *cost)
{
    struct dot last = {0};

    for (size_t i = 0; i < f->n; i++) {
        struct dot d = dot_at(c, time, cost, &f->points[i]);
        if (i > 0)
            draw_step(c, last, d);
        c->marks[d.y / c->dots_y][d.x / c->dots_x] = 'o';
        last = d;
    }
    if (f->chosen < f->n) {
        struct dot d = dot_at(c, time, cost, &f->points[f->chosen]);
        c->marks[d.y / c->dots_y][d.x / c->dots_x] = 'X';
    }
}

static void print_cell(FILE *out, const struct canvas *c, size_t row, size_t column)
{
    uint8_t dots = c->dots[row][column];
    char mark = c->marks[row][column];

    if (mark && !c->utf8)
        fputc(mark, out);
    else if (mark)
        fputs(mark == 'X' ? "\xe2\x97\x86" : "\xe2\x97\x8f", out);
    else if (!c->utf8)
        fputc(dots ? '.' : ' ', out);
    else if (dots) /* U+2800 + dots in UTF-8 */
        fprintf(out, "\xe2%c%c", 0xa0 | (dots >> 6), 0x80 | (dots & 0x3f));
    else
        fputc(' ', out);
}

static void print_rows(FILE *out, const struct canvas *c, const struct chart_scale *cost)
{
    for (size_t row = 0; row < ROWS; row++) {
        char label[32] = "";
        for (size_t i = 0; i < chart_scale_marks(cost); i++) {
            double at = (1 - chart_scale_at(cost, chart_scale_mark(cost, i))) * (ROWS - 1);
            if (lround(at) == (long)row)
                chart_scale_label(cost, chart_scale_mark(cost, i), label);
        }
        fprintf(out, "%*s %s", LABEL_COLUMNS, label,
                c->utf8  ? *label ? "\xe2\x94\xa4" : "\xe2\x94\x82"
                : *label ? "+"
                         : "|");
        size_t end = COLUMNS;
        while (end > 0 && !c->marks[row][end - 1] && !c->dots[row][end - 1])
            end--;
        for (size_t column = 0; column < end; column++)
            print_cell(out, c, row, column);
        fputc('\n', out);
    }
}

static void print_time_axis(FILE *out, const struct canvas *c, const struct chart_scale *time)
{
    char labels[LABEL_COLUMNS + 2 + COLUMNS + 32];
    bool ticks[COLUMNS] = {false};
    size_t used = 0;

    memset(labels, ' ', sizeof labels);
    for (size_t i = 0; i < chart_scale_marks(time); i++) {
        char text[32];
        double mark = chart_scale_mark(time, i);
        size_t column = (size_t)lround(chart_scale_at(time, mark) * (COLUMNS - 1));
        size_t len = strlen(chart_scale_label(time, mark, text));
        size_t at = LABEL_COLUMNS + 2 + column - len / 2;
        ticks[column] = true;
        if (at + len >= TEXT_COLUMNS || at < used)
            continue;
        memcpy(labels + at, text, len);
        used = at + len + 1;
    }
    fprintf(out, "%*s %s", LABEL_COLUMNS, "", c->utf8 ? "\xe2\x94\x94" : "+");
    for (size_t i = 0; i < COLUMNS; i++)
        fputs(c->utf8 ? ticks[i] ? "\xe2\x94\xac" : "\xe2\x94\x80" : ticks[i] ? "+" : "-", out);
    fprintf(out, "\n%.*s\n", (int)(used > 0 ? used - 1 : 0), labels);
}

void chart_frontier_text(FILE *out,
                         const struct chart_frontier *frontier,
                         const struct text_look *look)
{
    const struct chart_frontier *f = frontier;
    const struct chart_point *first = &f->points[0], *last = &f->points[f->n - 1];
    struct chart_scale cost =
        chart_scale_make(CHART_DOLLARS, first->cost_usd, last->cost_usd, COST_MARKS);
    struct chart_scale time = chart_scale_make(CHART_TIME, last->time_s, first->time_s, TIME_MARKS);
    struct canvas c = {
        .utf8 = look->utf8, .dots_x = look->utf8 ? 2 : 1, .dots_y = look->utf8 ? 4 : 1};

    draw(&c, f, &time, &cost);
    fprintf(out, "%*s\n", LABEL_COLUMNS, "cost, USD");
    print_rows(out, &c, &cost);
    print_time_axis(out, &c, &time);
    fprintf(out, "%*s time, %s   %s a plan", LABEL_COLUMNS, "", time.unit_name,
            c.utf8 ? "\xe2\x97\x8f" : "o");
    if (f->chosen < f->n)
        fprintf(out, "   %s this plan", c.utf8 ? "\xe2\x97\x86" : "X");
    fputc('\n', out);
}

/* The mean of the points that fall to column i of `columns`. */
static double column_mean(const double *y, size_t n, size_t columns, size_t i)
{
    size_t from = n * i / columns, until = n * (i + 1) / columns;
    double sum = 0;

    until = until > from ? until : from + 1;
    for (size_t at = from; at < until; at++)
        sum += y[at] / (double)(until - from);
    return sum;
}

void chart_spark(
    struct buf *out, const double *y, size_t n, size_t columns, const struct text_look *look)
{
    double low = HUGE_VAL, high = -HUGE_VAL;

    columns = columns < n ? columns : n;
    for (size_t i = 0; i < columns; i++) {
        double mean = column_mean(y, n, columns, i);
        low = fmin(low, mean);
        high = fmax(high, mean);
    }
    for (size_t i = 0; i < columns; i++) {
        double share = high > low ? (column_mean(y, n, columns, i) - low) / (high - low) : 0.5;
        if (look->utf8) /* U+2581 .. U+2588 */
            buf_printf(out, "\xe2\x96%c", (char)(0x81 + lround(share * 7)));
        else
            buf_printf(out, "%d", (int)lround(share * 9));
    }
}
