#include "policy/model.h"

#include "base/arena.h"
#include "base/mem.h"
#include "policy/internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each round adds every cut that is violated, so that few rounds are many. */
#define CUT_ROUNDS_MAX 50
/* Least size of a scaled objective its proof is relative to: an answer of 0 is 0 within 1e-9. */
#define SIZE_LEAST 1e-3
/* A little quota: well above the solver's tolerances, well below what changes the answer's shape.
 */
#define LITTLE 1e-5
/* Worth less, as part of the objective: rounding. */
#define WORTH_LEAST 1e-12

/* A question laid out as rows and columns. */
struct layout {
    const struct model_ask *ask;
    const struct policy_problem *p;
    const struct cuts *cuts;
    struct lp lp;
    double cost_unit;   /* costs are divided by it, so that tolerances mean the same everywhere */
    double *unit;       /* per column of the grid: how much of the slot one of the program's is */
    int *work_row;      /* per job; -1 = none */
    int *time_row;      /* per slot; -1 in open windows */
    int quota_row;      /* of the first type in the first window, then groups, then next window */
    int cut_row;        /* of the first cut */
    int budget_row;     /* -1 = none */
    int shortfall_col;  /* of the first job that must finish */
    size_t *group_from; /* per type and one more: its groups within group_of */
    size_t *group_of;
    struct arena *arena; /* of the arrays */
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
}

/* Last and as they were found, so that what was added to a program stands behind its other rows. */
static void add_cut_rows(struct layout *y)
{
    y->cut_row = y->lp.n_rows;
    for (size_t i = 0; i < y->cuts->n; i++)
        add_limit(y, 0, false);
    for (const struct cut *c = y->cuts->list; c < y->cuts->list + y->cuts->n; c++)
        if (!is_scaled(y->ask, c->window))
            y->lp.upper[y->cut_row + (int)c->nth] = c->most;
}

static void add_rows(struct layout *y)
{
    const struct grid *g = y->ask->grid;

    for (size_t m = 0; m < y->p->n_jobs; m++)
        y->work_row[m] =
            model_must_finish(y->ask, m) ? lp_add_row(&y->lp, 1, (double)INFINITY) : -1;
    for (size_t s = 0; s < g->n_slots; s++)
        y->time_row[s] = isfinite(g->slots[s].hours)
                             ? add_limit(y, 1, is_scaled(y->ask, g->slots[s].window))
                             : -1;
    add_capacity_rows(y);
    y->budget_row = -1;
    if (isfinite(y->ask->budget_usd))
        y->budget_row =
            lp_add_row(&y->lp, -(double)INFINITY, y->ask->budget_usd / budget_unit(y->ask));
    add_cut_rows(y);
}

/* ---- columns ---- */

static void index_groups(struct layout *y)
{
    size_t n = 0;

    y->group_from = arena_zero(y->arena, y->p->n_types + 1, sizeof *y->group_from);
    y->group_of = arena_zero(y->arena, y->p->n_types * y->p->n_groups + 1, sizeof *y->group_of);
    for (size_t j = 0; j < y->p->n_types; j++) {
        for (size_t i = 0; i < y->p->n_groups; i++)
            if (y->p->groups[i].units[j] > 0)
                y->group_of[n++] = i;
        y->group_from[j + 1] = n;
    }
}

static int quota_row(const struct layout *y, size_t window, size_t type)
{
    return y->quota_row + (int)(window * (y->p->n_types + y->p->n_groups) + type);
}

static void add_capacity_cells(struct layout *y,
                               const struct grid_slot *s,
                               size_t type,
                               double unit)
{
    const struct grid *g = y->ask->grid;
    double gang = y->p->jobs[s->job].gang, room = s->room * unit;
    int quota = quota_row(y, s->window, 0);
    size_t n;
    const struct cut *cut = cuts_of(y->cuts, g, s->window, type, &n);

    lp_add_cell(&y->lp, quota + (int)type, gang * room);
    for (size_t i = y->group_from[type]; i < y->group_from[type + 1]; i++) {
        size_t group = y->group_of[i];
        lp_add_cell(&y->lp, quota + (int)(y->p->n_types + group),
                    gang * room * y->p->groups[group].units[type]);
    }
    for (size_t i = 0; i < n && cut[i].size <= gang; i++)
        lp_add_cell(&y->lp, y->cut_row + (int)cut[i].nth, room);
}

static void add_slot_columns(struct layout *y, size_t slot)
{
    const struct grid *g = y->ask->grid;
    const struct grid_slot *s = &g->slots[slot];
    bool scaled = is_scaled(y->ask, s->window) && isfinite(s->hours);

    for (size_t q = s->first; q < s[1].first; q++) {
        double unit = y->unit[q];
        /* A column that is all of the job's work is never more than 1, whatever the scale. */
        lp_add_column(&y->lp, y->ask->cost ? y->ask->cost[q] * unit / y->cost_unit : 0,
                      scaled && unit == 1);
        if (y->work_row[s->job] >= 0)
            lp_add_cell(&y->lp, y->work_row[s->job], g->work[q] * unit);
        if (y->time_row[slot] >= 0) {
            lp_add_cell(&y->lp, y->time_row[slot], unit);
            add_capacity_cells(y, s, g->type[q], unit);
        }
        if (y->budget_row >= 0)
            lp_add_cell(&y->lp, y->budget_row, g->usd[q] * unit / budget_unit(y->ask));
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
            lp_add_cell(&y->lp, y->cut_row + (int)y->cuts->list[i].nth, -y->cuts->list[i].most);
}

/* Columns are parts of their slot; where a job needs only a small part of it, of that: else its
 * share would be below what a solver takes for 0. No job does more work than there is, except where
 * working is what is wanted. */
static double column_unit(const struct model_ask *ask, size_t job, size_t column)
{
    bool gains = ask->cost && ask->cost[column] < 0;

    return model_must_finish(ask, job) && !gains ? 1 / fmax(1, ask->grid->work[column]) : 1;
}

static void set_units(struct layout *y)
{
    const struct grid *g = y->ask->grid;

    for (const struct grid_slot *s = g->slots; s < g->slots + g->n_slots; s++)
        for (size_t q = s->first; q < s[1].first; q++)
            y->unit[q] = column_unit(y->ask, s->job, q);
}

/* The mean of the costs there are. */
static double cost_unit(const struct model_ask *ask, const double *unit)
{
    double sum = 0;
    size_t n = 0;

    for (size_t q = 0; ask->cost && q < ask->grid->n_columns; q++) {
        sum += fabs(ask->cost[q] * unit[q]);
        n += ask->cost[q] != 0;
    }
    return sum > 0 ? sum / (double)n : 1;
}

static void layout_init(struct layout *y, const struct model_ask *ask, const struct cuts *cuts)
{
    const struct grid *g = ask->grid;
    const struct policy_problem *p = g->scope->p;
    size_t rows = p->n_jobs + g->n_slots + g->n_windows * (p->n_types + p->n_groups) + cuts->n + 1;

    *y = (struct layout){.ask = ask, .p = p, .cuts = cuts, .arena = arena_new(SIZE_MAX)};
    y->unit = arena_zero(y->arena, g->n_columns + 1, sizeof *y->unit);
    y->work_row = arena_zero(y->arena, p->n_jobs + 1, sizeof *y->work_row);
    y->time_row = arena_zero(y->arena, g->n_slots + 1, sizeof *y->time_row);
    set_units(y);
    y->cost_unit = cost_unit(ask, y->unit);
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
    arena_free(y->arena);
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

/* What the limits of a window are multiplied by. */
static double scale_of(const struct layout *y, const struct lp_point *at, size_t window)
{
    return is_scaled(y->ask, window) ? at->x[y->lp.scale_column] : 1;
}

/* The decrease of the objective per further instance of the type, by the multipliers. */
static double worth_of(const struct layout *y,
                       const struct lp_point *at,
                       const double *multiplier,
                       size_t type)
{
    double worth = 0;

    for (size_t k = 0; k < finite_windows(y->ask->grid); k++)
        worth -= multiplier[quota_row(y, k, type)] * scale_of(y, at, k);
    return worth;
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
    for (size_t q = 0; q < g->n_columns; q++)
        a->x[q] = at->x[q] * y->unit[q];
    take_shortfalls(y, at, a);
    for (size_t j = 0; j < y->p->n_types; j++)
        a->shadow_price[j] = worth_of(y, at, at->y, j) * y->cost_unit;
}

void model_answer_clear(struct model_answer *a)
{
    free(a->x);
    free(a->shortfall);
    free(a->shadow_price);
    *a = (struct model_answer){0};
}

void model_start_clear(struct model_start *s)
{
    cuts_clear(&s->cuts);
    clp_basis_clear(&s->basis);
}

/* A question with some rows for gangs, and the solver that has answered it. */
struct attempt {
    struct layout layout;
    struct lp_point at;
    struct clp *solver;
};

static void attempt_clear(struct attempt *a)
{
    clp_free(a->solver);
    lp_point_clear(&a->at);
    layout_clear(&a->layout);
}

/* The last answer's, if it was to such a program. */
static const struct clp_basis *basis_for(const struct layout *y, const struct model_start *start)
{
    bool fits = start->basis.status && start->basis.n_columns == y->lp.n_columns &&
                start->cut_row == y->cut_row;

    return fits ? &start->basis : NULL;
}

static int solve_with(const struct model_ask *ask,
                      struct model_start *start,
                      struct attempt *a,
                      struct model_answer *out,
                      struct err *e)
{
    layout_init(&a->layout, ask, &start->cuts);
    lp_point_init(&a->at, &a->layout.lp);
    a->solver = clp_open(&a->layout.lp, basis_for(&a->layout, start), SIZE_LEAST, &a->at, e);
    if (!a->solver)
        return -1;
    clp_keep(a->solver, &start->basis);
    start->cut_row = a->layout.cut_row;
    take(&a->layout, &a->at, out);
    return 0;
}

/* ---- slopes: shadow prices that hold for a small increase of a quota ---- */

/* Multipliers with a little more of the type, if they prove the answer as well. */
static bool look_beside(const struct attempt *a, size_t type, struct lp_point *near)
{
    const struct layout *y = &a->layout;
    size_t n = finite_windows(y->ask->grid);
    AUTO_MEM int *rows = mem_zero(n + 1, sizeof *rows);
    AUTO_MEM double *by = mem_zero(n + 1, sizeof *by);

    for (size_t k = 0; k < n; k++) {
        rows[k] = quota_row(y, k, type);
        by[k] = LITTLE * fmax(1, y->p->types[type].quota) * scale_of(y, &a->at, k);
    }
    clp_beside(a->solver, rows, by, n, near->y);
    memcpy(near->x, a->at.x, (size_t)y->lp.n_columns * sizeof *near->x);
    lp_prove(&y->lp, near);
    return near->objective - near->bound <= POLICY_GAP * fmax(1, fabs(near->objective));
}

/* In a degenerate answer multipliers are some of many, and promise too much as a rule: so the
 * program is solved again with slightly more quota. */
static void take_slopes(const struct attempt *a, struct model_answer *out)
{
    const struct layout *y = &a->layout;
    AUTO_CLEAR(lp_point) struct lp_point near;

    lp_point_init(&near, &y->lp);
    for (size_t j = 0; j < y->p->n_types; j++) {
        double worth = worth_of(y, &a->at, a->at.y, j);
        if (worth > WORTH_LEAST * fabs(a->at.objective) && look_beside(a, j, &near))
            worth = fmin(worth, fmax(0, worth_of(y, &a->at, near.y, j)));
        out->shadow_price[j] = worth * y->cost_unit;
    }
    out->is_slope = true;
}

/* Adds rows for gangs until none is violated. */
static int solve_rounds(const struct model_ask *ask,
                        struct model_start *start,
                        struct model_answer *out,
                        struct err *e)
{
    struct cuts *cuts = &start->cuts;
    bool has_tight = false;

    if (!cuts->start)
        cuts_init(cuts, ask->grid);
    start->basis.has_new_costs = true;
    for (int round = 0; round < CUT_ROUNDS_MAX; round++) {
        AUTO_CLEAR(attempt) struct attempt a = {0};
        model_answer_clear(out);
        if (solve_with(ask, start, &a, out, e) < 0)
            return -1;
        if (cuts_find(cuts, ask, out, false) > 0)
            continue;
        if (!ask->wants_slopes)
            return 0;
        /* Once: what an optimal answer does not just keep is worth nothing in any. */
        if (has_tight || cuts_find(cuts, ask, out, true) == 0) {
            take_slopes(&a, out);
            return 0;
        }
        has_tight = true;
    }
    model_answer_clear(out);
    return err_set(e, ERR_IO, "gangs: more than %d rounds of cuts", CUT_ROUNDS_MAX);
}

int model_solve(const struct model_ask *ask, struct model_answer *out, struct err *e)
{
    AUTO_CLEAR(model_start) struct model_start own = {0};

    if (model_solve_large(ask, out) == 1)
        return 0;
    return solve_rounds(ask, ask->start ? ask->start : &own, out, e);
}

int model_solve_large(const struct model_ask *ask, struct model_answer *out)
{
    AUTO_CLEAR(cuts) struct cuts cuts;

    cuts_init(&cuts, ask->grid);
    *out = (struct model_answer){0};
    if (!structured_fits(ask, &cuts))
        return -1;
    for (int round = 0; round < CUT_ROUNDS_MAX; round++) {
        model_answer_clear(out);
        if (!structured_fits(ask, &cuts) || !structured_solve(ask, &cuts, out))
            return 0;
        if (cuts_find(&cuts, ask, out, false) == 0)
            return 1;
    }
    model_answer_clear(out);
    return 0;
}
