/* simulate_svg: the chart of a simulation: jobs by type, queue and cost over one time axis. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "cli/policy/policy.h"
#include "draw/chart.h"
#include "draw/chart_svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Readers cannot tell apart more rows, or more types by colour. */
#define JOBS_MAX 60
#define COLOURS 7
#define ROW 18
#define BAR 12
#define PANEL 110
#define LEFT 150
#define WIDTH (SVG_WIDTH - LEFT - 30)
/* Bars this wide have the name of the type in them, for print without colours. */
#define NAMED_WIDTH 44

static const struct {
    const char *fill, *text;
} colours[COLOURS + 1] = {
    {SVG_BLUE, "#FFFFFF"},  {SVG_ORANGE, "#222222"}, {"#009E73", "#FFFFFF"},
    {SVG_SKY, "#222222"},   {"#CC79A7", "#222222"},  {SVG_VERMILION, "#FFFFFF"},
    {"#444444", "#FFFFFF"}, {SVG_GREY, "#222222"}, /* all further types */
};

struct picture {
    struct buf *svg;
    const struct app_policy_simulated *s;
    struct chart_scale time;
    size_t n_jobs;  /* rows */
    uint32_t *jobs; /* by arrival */
};

static size_t colour_of(size_t type)
{
    return type < COLOURS ? type : COLOURS;
}

static double x_of(const struct picture *p, double s)
{
    return LEFT + WIDTH * chart_scale_at(&p->time, s);
}

static double x_of_ms(const struct picture *p, int64_t ms)
{
    return x_of(p, (double)ms / 1e3);
}

/* ---- the frame of a panel ---- */

static void put_times(const struct picture *p, double top, double height)
{
    char label[32];

    for (size_t i = 0; i < chart_scale_marks(&p->time); i++) {
        double mark = chart_scale_mark(&p->time, i);
        double x = LEFT + WIDTH * chart_scale_at(&p->time, mark);
        svg_line(p->svg, x, top, x, top + height + 5, "#DDDDDD");
        svg_text(p->svg, (struct svg_label){x, top + height + 19, "middle", 12, ""},
                 chart_scale_label(&p->time, mark, label));
    }
    svg_line(p->svg, LEFT, top + height, LEFT + WIDTH, top + height, "#222222");
}

static void put_title(const struct picture *p, double y, const char *title)
{
    svg_text(p->svg, (struct svg_label){LEFT, y, "start", 13, " font-weight=\"bold\""}, title);
}

static void put_y_axis(const struct picture *p, double top, const struct chart_scale *y)
{
    char label[32];

    for (size_t i = 0; i < chart_scale_marks(y); i++) {
        double mark = chart_scale_mark(y, i);
        double at = top + PANEL * (1 - chart_scale_at(y, mark));
        svg_line(p->svg, LEFT - 5, at, LEFT + WIDTH, at, "#EEEEEE");
        svg_text(p->svg, (struct svg_label){LEFT - 9, at + 4, "end", 12, ""},
                 chart_scale_label(y, mark, label));
    }
}

/* ---- jobs ---- */

static void put_key(const struct picture *p, double y)
{
    const struct app_policy_type *types = p->s->types.items;
    double x = LEFT;

    for (size_t j = 0; j < p->s->types.n && j <= COLOURS && x < SVG_WIDTH - 120; j++) {
        const char *name = j < COLOURS ? types[j].name : "other types";
        svg_rect(p->svg, x, y - 10, 12, 12, colours[j].fill);
        svg_text(p->svg, (struct svg_label){x + 17, y, "start", 12, ""}, name);
        x += 40 + 7.5 * (double)text_width(name);
    }
}

static const struct app_policy_job *job_in(const struct picture *p, size_t row)
{
    return (const struct app_policy_job *)p->s->jobs.items + p->jobs[row];
}

static void put_life(const struct picture *p, size_t row, double top)
{
    const struct app_policy_job *job = job_in(p, row);
    double y = top + (double)row * ROW + ROW / 2.0;
    double end_h = isnan(job->finish_h) ? p->s->end_h : job->finish_h;

    svg_text(p->svg, (struct svg_label){LEFT - 9, y + 4, "end", 12, ""}, job->name);
    if (end_h > job->arrival_h)
        svg_line(p->svg, x_of(p, job->arrival_h * 3600), y, x_of(p, end_h * 3600), y, "#999999");
}

/* A bar across; one that was missed is told in words, seen without colours, too. */
static void put_deadline(const struct picture *p, size_t row, double top)
{
    const struct app_policy_job *job = job_in(p, row);
    double y = top + (double)row * ROW, x = x_of(p, job->deadline_h * 3600);
    char late[32];

    if (isnan(job->deadline_h) || x > LEFT + WIDTH)
        return;
    svg_rect(p->svg, x - 1, y + 1, 2, ROW - 2, "#000000");
    if (isnan(job->late_h))
        return;
    snprintf(late, sizeof late, "%.3g h late", job->late_h);
    x = x_of(p, job->finish_h * 3600);
    bool room = x < LEFT + WIDTH - 70;
    svg_text(p->svg,
             (struct svg_label){room ? x + 4 : x - 4, y + 13, room ? "start" : "end", 11, ""},
             late);
}

static void put_span(const struct picture *p, const struct app_policy_span *span, double y)
{
    double x = x_of_ms(p, span->from_ms), width = x_of_ms(p, span->to_ms) - x;
    size_t c = colour_of(span->type);
    char extra[40];

    svg_rect(p->svg, x, y + (ROW - BAR) / 2.0, width, BAR, colours[c].fill);
    snprintf(extra, sizeof extra, " fill=\"%s\"", colours[c].text);
    const char *name = ((const struct app_policy_type *)p->s->types.items)[span->type].name;
    if (width >= NAMED_WIDTH && 6.5 * (double)text_width(name) < width - 4)
        svg_text(p->svg, (struct svg_label){x + 4, y + 13, "start", 10, extra}, name);
}

static double put_jobs(const struct picture *p, double top)
{
    const struct app_policy_span *spans = p->s->spans.items;
    double height = (double)p->n_jobs * ROW;
    AUTO_MEM size_t *row_of = mem_zero(p->s->jobs.n + 1, sizeof *row_of);
    char more[64];

    put_title(p, top - 30, "jobs by type; grey: waiting; black bar: deadline");
    put_key(p, top - 11);
    put_times(p, top, height);
    for (size_t i = 0; i < p->n_jobs; i++) {
        row_of[p->jobs[i]] = i + 1;
        put_life(p, i, top);
    }
    for (size_t i = 0; i < p->s->spans.n; i++) {
        size_t row = row_of[spans[i].job];
        if (row)
            put_span(p, &spans[i], top + (double)(row - 1) * ROW);
    }
    for (size_t i = 0; i < p->n_jobs; i++)
        put_deadline(p, i, top);
    if (p->n_jobs < p->s->jobs.n) {
        snprintf(more, sizeof more, "and %zu jobs that came later", p->s->jobs.n - p->n_jobs);
        svg_text(p->svg, (struct svg_label){LEFT + WIDTH, top + height + 36, "end", 12, ""}, more);
    }
    return top + height + 40;
}

/* ---- the queue and the cost ---- */

enum line { LINE_RUNNING, LINE_WAITING, LINE_COST };

static double value_of(const struct app_policy_sample *sample, enum line line)
{
    return line == LINE_RUNNING   ? (double)sample->running
           : line == LINE_WAITING ? (double)sample->waiting
                                  : money_to_usd(sample->cost_microusd);
}

/* More points than pixels show nothing more: of those on one tenth of a pixel the last is drawn. */
static void put_line(const struct picture *p,
                     enum line line,
                     const struct chart_scale *y,
                     double top)
{
    const struct app_policy_sample *samples = p->s->samples.items;
    size_t n = p->s->samples.n;
    double before = -1;

    buf_printf(
        p->svg,
        "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" stroke-dasharray=\"%s\" d=\"",
        line == LINE_WAITING ? SVG_VERMILION : SVG_BLUE, line == LINE_WAITING ? "5 3" : "none");
    for (size_t i = 0; i < n; i++) {
        const struct app_policy_sample *s = &samples[i];
        double x = x_of_ms(p, s->from_ms), to = x_of_ms(p, s->to_ms);
        if (i > 0 && i + 1 < n && to - before < 0.1)
            continue;
        double at = top + PANEL * (1 - chart_scale_at(y, value_of(s, line)));
        if (line == LINE_COST && i == 0)
            buf_printf(p->svg, "M%.1f %.1f", x, top + PANEL);
        if (line == LINE_COST)
            buf_printf(p->svg, "L%.1f %.1f", to, at);
        else
            buf_printf(p->svg, i ? "L%.1f %.1fH%.1f" : "M%.1f %.1fH%.1f", x, at, to);
        before = to;
    }
    buf_puts(p->svg, "\"/>\n");
}

static double most_of(const struct picture *p, enum line line)
{
    const struct app_policy_sample *samples = p->s->samples.items;
    double most = 0;

    for (size_t i = 0; i < p->s->samples.n; i++)
        most = fmax(most, value_of(&samples[i], line));
    return most;
}

static void put_panel(const struct picture *p,
                      double top,
                      const char *title,
                      const struct chart_scale *y)
{
    put_title(p, top - 12, title);
    put_times(p, top, PANEL);
    put_y_axis(p, top, y);
}

static double put_queue(const struct picture *p, double top)
{
    double most = fmax(most_of(p, LINE_RUNNING), most_of(p, LINE_WAITING));
    struct chart_scale y = chart_scale_make(CHART_NUMBER, 0, fmax(most, 1), 4);

    put_panel(p, top, "running jobs (blue), waiting jobs (dashed)", &y);
    put_line(p, LINE_RUNNING, &y, top);
    put_line(p, LINE_WAITING, &y, top);
    return top + PANEL + 64;
}

static void put_cost(const struct picture *p, double top)
{
    double most = most_of(p, LINE_COST);
    struct chart_scale y = chart_scale_make(CHART_DOLLARS, 0, most > 0 ? most : 1, 4);

    put_panel(p, top, "cost so far, USD", &y);
    put_line(p, LINE_COST, &y, top);
}

/* ---- the picture ---- */

/* The first to arrive. Few rows are picked from many jobs once: simple does. */
static void pick_jobs(struct picture *p)
{
    const struct app_policy_job *jobs = p->s->jobs.items;

    for (size_t i = 0; i < p->s->jobs.n; i++) {
        size_t at = p->n_jobs < JOBS_MAX ? p->n_jobs++ : JOBS_MAX;
        while (at > 0 && jobs[p->jobs[at - 1]].arrival_h > jobs[i].arrival_h) {
            p->jobs[at] = p->jobs[at - 1];
            at--;
        }
        p->jobs[at] = (uint32_t)i;
    }
}

int cli_policy_save_svg(const char *path, const struct app_policy_simulated *s, struct err *e)
{
    AUTO_CLEAR(buf) struct buf svg;
    uint32_t jobs[JOBS_MAX + 1] = {0};
    struct picture p = {.svg = &svg, .s = s, .jobs = jobs};
    char title[120], money[32];
    double top = 96;

    pick_jobs(&p);
    p.time = chart_scale_make(CHART_TIME, 0, fmax(s->end_h * 3600, 1), 8);
    snprintf(title, sizeof title, "%s: %zu of %zu jobs, %s", s->policy, (size_t)s->jobs_done,
             s->jobs.n, money_text(s->cost_microusd, money));
    buf_init(&svg, CHART_SVG_MAX_BYTES);
    svg_head(&svg, top + (double)p.n_jobs * ROW + 70 + 2 * (PANEL + 64), title);
    top = put_jobs(&p, top) + 30;
    top = put_queue(&p, top);
    put_cost(&p, top);
    buf_puts(&svg, "</svg>\n");
    return chart_save(path, &svg, e);
}
