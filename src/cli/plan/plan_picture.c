#include "cli/plan/plan_parts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "draw/chart.h"

#include <stdint.h>
#include <stdlib.h>

/* Points of the frontier, the caller's to free. */
static struct chart_point *points_of(const struct plan_answer *a, size_t *chosen_out)
{
    struct chart_point *points = mem_zero(a->n_pareto, sizeof *points);

    *chosen_out = SIZE_MAX;
    for (size_t i = 0; i < a->n_pareto; i++) {
        const struct plan *plan = &a->pareto[i];
        points[i] = (struct chart_point){plan->time_s, money_to_usd(plan->cost_microusd)};
        if (plan->cost_microusd == a->plan.cost_microusd)
            *chosen_out = i;
    }
    return points;
}

void cli_plan_draw_frontier(const struct app_plan *p, FILE *out, const struct text_look *look)
{
    struct chart_frontier frontier = {.n = p->answer.n_pareto};
    AUTO_MEM struct chart_point *points = points_of(&p->answer, &frontier.chosen);

    frontier.points = points;
    if (frontier.n > 0)
        chart_frontier_text(out, &frontier, look);
}

static void frontier_svg(const struct app_plan *p, struct buf *svg)
{
    struct chart_frontier frontier = {.n = p->answer.n_pareto};
    AUTO_MEM struct chart_point *points = points_of(&p->answer, &frontier.chosen);
    AUTO_MEM char *title =
        mem_printf("%s: plans of which none is both cheaper and faster", p->spec->name);

    frontier.points = points;
    frontier.title = title;
    chart_frontier_svg(svg, &frontier);
}

static char *bar_detail(const struct app_plan *p, const struct plan_stage *s)
{
    AUTO_MEM char *place = app_plan_place_text(p->catalog, s->place, NULL);
    char money[32], nodes[32] = "";

    if (s->nodes > 1)
        snprintf(nodes, sizeof nodes, "%u x ", s->nodes);
    money_text(s->compute_microusd + s->transfer_microusd + s->storage_microusd, money);
    return mem_printf("%s, %s%s%s, %s", place, nodes,
                      catalog_text(p->catalog, s->kind->instance_type), s->spot ? " spot" : "",
                      money);
}

static void timeline_svg(const struct app_plan *p, struct buf *svg)
{
    const struct plan *plan = &p->answer.plan;
    struct chart_bar *bars = mem_zero(plan->n_stages, sizeof *bars);
    char **details = mem_zero(plan->n_stages, sizeof *details);
    char money[32], time[32];

    for (size_t i = 0; i < plan->n_stages; i++) {
        const struct plan_stage *s = &plan->stages[i];
        details[i] = bar_detail(p, s);
        bars[i] = (struct chart_bar){
            .name = p->spec->stages[s->stage].name,
            .detail = details[i],
            .start_s = s->start_s,
            .parts_s = {s->boot_s, s->setup_s, s->input_s, s->run_s},
        };
    }
    AUTO_MEM char *title =
        mem_printf("%s: %s, %s", p->spec->name, money_text(plan->cost_microusd, money),
                   time_text(plan->time_s, time));
    chart_timeline_svg(svg, &(struct chart_timeline){
                                .title = title,
                                .part_names = {"boot", "setup", "input", "run"},
                                .bars = bars,
                                .n = plan->n_stages,
                            });
    for (size_t i = 0; i < plan->n_stages; i++)
        free(details[i]);
    free(details);
    free(bars);
}

int cli_plan_save_svg(const struct app_plan *p, bool pareto, const char *path, struct err *e)
{
    AUTO_CLEAR(buf) struct buf svg;

    buf_init(&svg, CHART_SVG_MAX_BYTES);
    if (pareto && p->answer.n_pareto > 0)
        frontier_svg(p, &svg);
    else
        timeline_svg(p, &svg);
    return chart_save(path, &svg, e);
}
