/* picture: charts of a plan: its timeline, and the Pareto frontier around it. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/plan/plan.h"
#include "draw/chart.h"

#include <stdint.h>
#include <stdlib.h>

/* The frontier in the terminal, or as SVG where svg is not NULL. */
static void draw_frontier(const struct app_plan_report *r,
                          FILE *out,
                          const struct text_look *look,
                          struct buf *svg)
{
    const struct app_plan_pareto *plans = r->pareto.items;
    AUTO_MEM struct chart_point *points = mem_zero(r->pareto.n, sizeof *points);
    AUTO_MEM char *title = mem_printf("%s: Pareto frontier of cost and time", r->pipeline);
    struct chart_frontier frontier = {
        .n = r->pareto.n, .points = points, .chosen = SIZE_MAX, .title = title};

    for (size_t i = 0; i < r->pareto.n; i++) {
        const struct plan_point *point = &plans[i].point;
        points[i] = (struct chart_point){point->time_s, money_to_usd(point->cost_microusd)};
        if (point->cost_microusd == r->point.cost_microusd)
            frontier.chosen = i;
    }
    if (svg)
        chart_frontier_svg(svg, &frontier);
    else
        chart_frontier_text(out, &frontier, look);
}

void cli_plan_draw_frontier(const struct app_plan_report *r,
                            FILE *out,
                            const struct text_look *look)
{
    draw_frontier(r, out, look, NULL);
}

static char *bar_detail(const struct app_plan_stage *s)
{
    const struct app_plan_machine *m = &s->machine;
    AUTO_MEM char *machine = cli_plan_machine_text(m);
    char money[32];

    money_text(s->compute_microusd + s->transfer_microusd + s->storage_microusd, money);
    /* The end is cut where there is no room. */
    return mem_printf("%s, %s/%s, %s%s", money, m->cloud, m->region, machine,
                      m->market[0] == 's' ? " spot" : "");
}

static void timeline_svg(const struct app_plan_report *r, struct buf *svg)
{
    const struct app_plan_stage *stages = r->stages.items;
    size_t n = r->stages.n;
    AUTO_MEM struct chart_bar *bars = mem_zero(n, sizeof *bars);
    AUTO_MEM char **details = mem_zero(n, sizeof *details);
    char money[32], time[32];

    for (size_t i = 0; i < n; i++) {
        const struct app_plan_stage *s = &stages[i];
        details[i] = bar_detail(s);
        bars[i] = (struct chart_bar){
            .name = s->machine.name,
            .detail = details[i],
            .start_s = s->start_s,
            .parts_s = {s->boot_s, s->setup_s, s->input_s, s->run_s},
        };
    }
    AUTO_MEM char *title =
        mem_printf("%s: %s, %s", r->pipeline, money_text(r->point.cost_microusd, money),
                   time_text(r->point.time_s, time));
    chart_timeline_svg(svg, &(struct chart_timeline){
                                .title = title,
                                .part_names = {"boot", "setup", "input", "run"},
                                .bars = bars,
                                .n = n,
                            });
    for (size_t i = 0; i < n; i++)
        free(details[i]);
}

int cli_plan_save_svg(const struct app_plan_report *r, const char *path, struct err *e)
{
    AUTO_CLEAR(buf) struct buf svg;

    buf_init(&svg, CHART_SVG_MAX_BYTES);
    if (r->pareto.n > 0)
        draw_frontier(r, NULL, NULL, &svg);
    else
        timeline_svg(r, &svg);
    return chart_save(path, &svg, e);
}
