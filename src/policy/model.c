#include "policy/model.h"

#include "base/auto.h"
#include "base/mem.h"
#include "policy/clp.h"
#include "policy/cuts.h"
#include "policy/lp.h"
#include "policy/structured.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each round adds every cut that is violated, so that few rounds are many. */
#define ROUNDS_MAX 50
/* Least size of a scaled objective its proof is relative to: an answer of 0 is 0 within 1e-9. */
#define SIZE_LEAST 1e-3

/* A question laid out as rows and columns. */
struct layout {
    const struct model_ask *ask;
    const struct policy_problem *p;
    const struct cuts *cuts;
    struct lp lp;
    double cost_unit;   /* costs are divided by it, so that tolerances mean the same everywhere */
    int *work_row;      /* per job; -1 = none */
    int *time_row;      /* per slot; -1 in open windows */
    int quota_row;      /* of the first type in the first window, then groups, then next window */
    int cut_row;        /* of the first cut */
    int budget_row;     /* -1 = none */
    int shortfall_col;  /* of the first job that must finish */
    size_t *group_from; /* per type and one more: its groups within group_of */
    size_t *group_of;
};

/* ---- rows ---- */

static bool is_scaled(const struct model_ask *ask, size_t window)
{
    return window >= ask->first_scaled;
}

static double budget_unit(const struct model_ask *ask)
{
    return ask->budget_usd > 0 ? ask->budget_usd : 1;
}

/* A row that holds `most`, or most times the scale. */
static int add_limit(struct layout *y, double most, bool scaled)
{
    return lp_add_row(&y->lp, -(double)INFINITY, scaled ? 0 : most);
}

static size_t finite_windows(const struct grid *g)
{
    return g->n_windows - (g->n_windows > 0 && !isfinite(g->edge[g->n_windows]));
}

static void add_capacity_rows(struct layout *y)
{
    const struct grid *g = y->ask->grid;

    y->quota_row = y->lp.n_rows;
    for (size_t k = 0; k < finite_windows(g); k++) {
        for (size_t j = 0; j < y->p->n_types; j++)
            add_limit(y, y->p->types[j].quota, is_scaled(y->ask, k));
        for (size_t i = 0; i < y->p->n_groups; i++)
            add_limit(y, y->p->groups[i].quota, is_scaled(y->ask, k));
    }
    y->cut_row = y->lp.n_rows;
    for (size_t i = 0; i < y->cuts->n; i++)
        add_limit(y, y->cuts->list[i].most, is_scaled(y->ask, y->cuts->list[i].window));
}

static void add_rows(struct layout *y)
{
    const struct grid *g = y->ask->grid;

    for (size_t m = 0; m < y->p->n_jobs; m++)
        y->work_row[m] = y->ask->must_finish[m] ? lp_add_row(&y->lp, 1, (double)INFINITY) : -1;
    for (size_t s = 0; s < g->n_slots; s++)
        y->time_row[s] = isfinite(g->slots[s].hours)
                             ? add_limit(y, 1, is_scaled(y->ask, g->slots[s].window))
                             : -1;
    add_capacity_rows(y);
    y->budget_row = -1;
    if (isfinite(y->ask->budget_usd))
        y->budget_row =
            lp_add_row(&y->lp, -(double)INFINITY, y->ask->budget_usd / budget_unit(y->ask));
}

/* ---- columns ---- */

static void index_groups(struct layout *y)
{
    size_t n = 0;

    y->group_from = mem_zero(y->p->n_types + 1, sizeof *y->group_from);
    y->group_of = mem_zero(y->p->n_types * y->p->n_groups + 1, sizeof *y->group_of);
    for (size_t j = 0; j < y->p->n_types; j++) {
        for (size_t i = 0; i < y->p->n_groups; i++)
            if (y->p->groups[i].units[j] > 0)
                y->group_of[n++] = i;
        y->group_from[j + 1] = n;
    }
}

static void add_capacity_cells(struct layout *y, const struct grid_slot *s, size_t type)
{
    const struct grid *g = y->ask->grid;
    double gang = y->p->jobs[s->job].gang;
    int quota = y->quota_row + (int)(s->window * (y->p->n_types + y->p->n_groups));
    size_t n;
    const struct cut *cut = cuts_of(y->cuts, g, s->window, type, &n);

    lp_add_cell(&y->lp, quota + (int)type, gang * s->room);
    for (size_t i = y->group_from[type]; i < y->group_from[type + 1]; i++) {
        size_t group = y->group_of[i];
        lp_add_cell(&y->lp, quota + (int)(y->p->n_types + group),
                    gang * s->room * y->p->groups[group].units[type]);
    }
    for (size_t i = 0; i < n && cut[i].size <= gang; i++)
        lp_add_cell(&y->lp, y->cut_row + (int)(cut + i - y->cuts->list), s->room);
}

static void add_slot_columns(struct layout *y, size_t slot)
{
    const struct grid *g = y->ask->grid;
    const struct grid_slot *s = &g->slots[slot];
    bool scaled = is_scaled(y->ask, s->window) && isfinite(s->hours);

    for (size_t q = s->first; q < s[1].first; q++) {
        lp_add_column(&y->lp, y->ask->cost ? y->ask->cost[q] / y->cost_unit : 0, scaled);
        if (y->work_row[s->job] >= 0)
            lp_add_cell(&y->lp, y->work_row[s->job], g->work[q]);
        if (y->time_row[slot] >= 0) {
            lp_add_cell(&y->lp, y->time_row[slot], 1);
            add_capacity_cells(y, s, g->type[q]);
        }
        if (y->budget_row >= 0)
            lp_add_cell(&y->lp, y->budget_row, g->usd[q] / budget_unit(y->ask));
    }
}

static void add_shortfall_columns(struct layout *y)
{
    y->shortfall_col = y->lp.n_columns;
    for (size_t m = 0; m < y->p->n_jobs && isfinite(y->ask->shortfall_cost); m++) {
        if (y->work_row[m] < 0)
            continue;
        lp_add_column(&y->lp, y->ask->shortfall_cost / y->cost_unit, false);
        lp_add_cell(&y->lp, y->work_row[m], 1);
    }
}

static void add_scale_column(struct layout *y)
{
    const struct grid *g = y->ask->grid;

    y->lp.scale_column = lp_add_column(&y->lp, 1 / y->cost_unit, true);
    for (size_t s = 0; s < g->n_slots; s++)
        if (y->time_row[s] >= 0 && is_scaled(y->ask, g->slots[s].window))
            lp_add_cell(&y->lp, y->time_row[s], -1);
    int row = y->quota_row;
    for (size_t k = 0; k < finite_windows(g); k++) {
        for (size_t j = 0; j < y->p->n_types; j++, row++)
            lp_add_cell(&y->lp, row, is_scaled(y->ask, k) ? -y->p->types[j].quota : 0);
        for (size_t i = 0; i < y->p->n_groups; i++, row++)
            lp_add_cell(&y->lp, row, is_scaled(y->ask, k) ? -y->p->groups[i].quota : 0);
    }
    for (size_t i = 0; i < y->cuts->n; i++)
        if (is_scaled(y->ask, y->cuts->list[i].window))
            lp_add_cell(&y->lp, y->cut_row + (int)i, -y->cuts->list[i].most);
}

/* The mean of the costs there are. */
static double cost_unit(const struct model_ask *ask)
{
    double sum = 0;
    size_t n = 0;

    for (size_t q = 0; ask->cost && q < ask->grid->n_columns; q++) {
        sum += fabs(ask->cost[q]);
        n += ask->cost[q] != 0;
    }
    return sum > 0 ? sum / (double)n : 1;
}

static void layout_init(struct layout *y, const struct model_ask *ask, const struct cuts *cuts)
{
    const struct grid *g = ask->grid;
    const struct policy_problem *p = g->scope->p;
    size_t rows = p->n_jobs + g->n_slots + g->n_windows * (p->n_types + p->n_groups) + cuts->n + 1;

    *y = (struct layout){
        .ask = ask,
        .p = p,
        .cuts = cuts,
        .cost_unit = cost_unit(ask),
        .work_row = mem_zero(p->n_jobs + 1, sizeof *y->work_row),
        .time_row = mem_zero(g->n_slots + 1, sizeof *y->time_row),
    };
    lp_init(&y->lp, rows, g->n_columns + p->n_jobs + 1);
    index_groups(y);
    add_rows(y);
    for (size_t s = 0; s < g->n_slots; s++)
        add_slot_columns(y, s);
    add_shortfall_columns(y);
    if (ask->first_scaled != SIZE_MAX)
        add_scale_column(y);
}

static void layout_clear(struct layout *y)
{
    lp_clear(&y->lp);
    free(y->work_row);
    free(y->time_row);
    free(y->group_from);
    free(y->group_of);
}

void model_program(const struct model_ask *ask, struct lp *out)
{
    AUTO_CLEAR(cuts) struct cuts none;
    struct layout y;

    cuts_init(&none, ask->grid);
    layout_init(&y, ask, &none);
    *out = y.lp;
    y.lp = (struct lp){0};
    layout_clear(&y);
}

/* ---- answers ---- */

static void take_shortfalls(const struct layout *y,
                            const struct lp_point *at,
                            struct model_answer *a)
{
    int column = y->shortfall_col;

    for (size_t m = 0; m < y->p->n_jobs && isfinite(y->ask->shortfall_cost); m++) {
        if (y->work_row[m] < 0)
            continue;
        a->shortfall[m] = at->x[column++];
        a->total_shortfall += a->shortfall[m];
    }
}

static void take_shadow_prices(const struct layout *y, const struct lp_point *at, double *shadow)
{
    int row = y->quota_row;

    for (size_t k = 0; k < finite_windows(y->ask->grid); k++) {
        double scale = is_scaled(y->ask, k) ? at->x[y->lp.scale_column] : 1;
        for (size_t j = 0; j < y->p->n_types; j++)
            shadow[j] -= at->y[row++] * scale * y->cost_unit;
        row += (int)y->p->n_groups;
    }
}

static void take(const struct layout *y, const struct lp_point *at, struct model_answer *a)
{
    const struct grid *g = y->ask->grid;

    *a = (struct model_answer){
        .objective = at->objective * y->cost_unit,
        .bound = at->bound * y->cost_unit,
        .scale = y->lp.scale_column < 0 ? 1 : at->x[y->lp.scale_column],
        .x = mem_zero(g->n_columns + 1, sizeof(double)),
        .shortfall = mem_zero(y->p->n_jobs + 1, sizeof(double)),
        .shadow_price = mem_zero(y->p->n_types + 1, sizeof(double)),
    };
    memcpy(a->x, at->x, g->n_columns * sizeof *a->x);
    take_shortfalls(y, at, a);
    take_shadow_prices(y, at, a->shadow_price);
}

void model_answer_clear(struct model_answer *a)
{
    free(a->x);
    free(a->shortfall);
    free(a->shadow_price);
    *a = (struct model_answer){0};
}

static bool solve_large_with(const struct model_ask *ask,
                             const struct cuts *cuts,
                             struct model_answer *out)
{
    return structured_fits(ask, cuts) && structured_solve(ask, cuts, out);
}

static int solve_with(const struct model_ask *ask,
                      const struct cuts *cuts,
                      struct model_answer *out,
                      struct err *e)
{
    struct layout y;
    AUTO_CLEAR(lp_point) struct lp_point at = {0};

    if (solve_large_with(ask, cuts, out))
        return 0;
    layout_init(&y, ask, cuts);
    lp_point_init(&at, &y.lp);
    int solved = clp_solve(&y.lp, SIZE_LEAST, &at, e);
    if (solved == 0)
        take(&y, &at, out);
    layout_clear(&y);
    return solved;
}

/* Adds rows for gangs until none is violated; only_large: without the solver for everything. */
static int solve_rounds(const struct model_ask *ask,
                        bool only_large,
                        struct model_answer *out,
                        struct err *e)
{
    AUTO_CLEAR(cuts) struct cuts cuts;

    cuts_init(&cuts, ask->grid);
    *out = (struct model_answer){0};
    for (int round = 0; round < ROUNDS_MAX; round++) {
        model_answer_clear(out);
        if (only_large ? !solve_large_with(ask, &cuts, out) : solve_with(ask, &cuts, out, e) < 0)
            return -1;
        if (cuts_find(&cuts, ask->grid, out->x, ask->first_scaled, out->scale) == 0)
            return 0;
    }
    model_answer_clear(out);
    return err_set(e, ERR_IO, "gangs: more than %d rounds of cuts", ROUNDS_MAX);
}

int model_solve(const struct model_ask *ask, struct model_answer *out, struct err *e)
{
    return solve_rounds(ask, false, out, e);
}

int model_solve_large(const struct model_ask *ask, struct model_answer *out)
{
    AUTO_CLEAR(cuts) struct cuts none;

    cuts_init(&none, ask->grid);
    if (!structured_fits(ask, &none))
        return -1;
    return solve_rounds(ask, true, out, NULL) == 0;
}
