#include "policy/lp.h"

#include "base/auto.h"
#include "base/mem.h"
#include "policy/policy.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

void lp_init(struct lp *l, size_t rows, size_t columns)
{
    assert(rows < INT_MAX && columns < INT_MAX);
    *l = (struct lp){
        .cost = mem_zero(columns + 1, sizeof(double)),
        .lower = mem_zero(rows + 1, sizeof(double)),
        .upper = mem_zero(rows + 1, sizeof(double)),
        .start = mem_zero(columns + 1, sizeof(int)),
        .scaled = mem_zero(columns + 1, sizeof(bool)),
        .scale_column = -1,
        .cap_rows = (int)rows,
        .cap_columns = (int)columns,
    };
}

void lp_clear(struct lp *l)
{
    free(l->cost);
    free(l->lower);
    free(l->upper);
    free(l->start);
    free(l->scaled);
    free(l->row);
    free(l->value);
    *l = (struct lp){0};
}

int lp_add_row(struct lp *l, double lower, double upper)
{
    assert(l->n_rows < l->cap_rows);
    l->lower[l->n_rows] = lower;
    l->upper[l->n_rows] = upper;
    return l->n_rows++;
}

int lp_add_column(struct lp *l, double cost, bool scaled)
{
    assert(l->n_columns < l->cap_columns);
    l->cost[l->n_columns] = cost;
    l->scaled[l->n_columns] = scaled;
    l->n_columns++;
    l->start[l->n_columns] = l->n_cells;
    return l->n_columns - 1;
}

void lp_add_cell(struct lp *l, int row, double value)
{
    assert(row >= 0 && row < l->n_rows && l->n_columns > 0);
    if (value == 0)
        return;
    if (l->n_cells == l->cap_cells) {
        assert(l->cap_cells < INT_MAX / 2);
        l->cap_cells = l->cap_cells ? 2 * l->cap_cells : 1024;
        l->row = mem_grow(l->row, (size_t)l->cap_cells, sizeof *l->row);
        l->value = mem_grow(l->value, (size_t)l->cap_cells, sizeof *l->value);
    }
    l->row[l->n_cells] = row;
    l->value[l->n_cells] = value;
    l->start[l->n_columns] = ++l->n_cells;
}

void lp_point_init(struct lp_point *at, const struct lp *l)
{
    *at = (struct lp_point){
        .x = mem_zero((size_t)l->n_columns + 1, sizeof(double)),
        .y = mem_zero((size_t)l->n_rows + 1, sizeof(double)),
        .objective = (double)NAN,
        .bound = (double)NAN,
    };
}

void lp_point_clear(struct lp_point *at)
{
    free(at->x);
    free(at->y);
    *at = (struct lp_point){0};
}

/* Fills in objective and violation. A row's size is the sum of what it adds up. */
static void look_at_x(const struct lp *l, struct lp_point *at)
{
    AUTO_MEM double *sum = mem_zero((size_t)l->n_rows + 1, sizeof *sum);
    AUTO_MEM double *size = mem_zero((size_t)l->n_rows + 1, sizeof *size);

    at->objective = 0;
    at->violation = 0;
    for (int j = 0; j < l->n_columns; j++) {
        at->x[j] = at->x[j] > 0 ? at->x[j] : 0;
        at->objective += l->cost[j] * at->x[j];
        for (int c = l->start[j]; c < l->start[j + 1]; c++) {
            sum[l->row[c]] += l->value[c] * at->x[j];
            size[l->row[c]] += fabs(l->value[c] * at->x[j]);
        }
    }
    for (int i = 0; i < l->n_rows; i++) {
        double bound = isfinite(l->lower[i]) ? l->lower[i] : l->upper[i];
        double beyond = fmax(l->lower[i] - sum[i], sum[i] - l->upper[i]);
        double part = beyond / fmax(1, fmax(size[i], fabs(bound)));
        at->violation = fmax(at->violation, part);
    }
}

/* For y of the right sign, y'b plus what the columns whose reduced cost is below 0 can take away at
 * most bounds the objective from below, whatever y is. */
static void look_at_y(const struct lp *l, struct lp_point *at)
{
    double reach = l->scale_column < 0 ? 1 : fmax(at->x[l->scale_column], 0);

    at->bound = 0;
    for (int i = 0; i < l->n_rows; i++) {
        double *y = &at->y[i];
        if ((*y > 0 && !isfinite(l->lower[i])) || (*y < 0 && !isfinite(l->upper[i])))
            *y = 0;
        if (*y != 0)
            at->bound += *y * (*y > 0 ? l->lower[i] : l->upper[i]);
    }
    for (int j = 0; j < l->n_columns; j++) {
        double reduced = l->cost[j];
        for (int c = l->start[j]; c < l->start[j + 1]; c++)
            reduced -= l->value[c] * at->y[l->row[c]];
        if (reduced < 0)
            at->bound += reduced * (l->scaled[j] ? reach : 1);
    }
}

void lp_prove(const struct lp *l, struct lp_point *at)
{
    look_at_x(l, at);
    look_at_y(l, at);
}

bool lp_is_proved(const struct lp_point *at, double size)
{
    return at->violation <= LP_TOLERANCE &&
           fabs(at->objective - at->bound) <= POLICY_GAP * fmax(fabs(at->objective), size);
}
