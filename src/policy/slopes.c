/* Shadow prices that hold for a small increase of a quota. model.c calls it. */
#include "policy/internal.h"

#include "base/auto.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* A little: well above the solver's tolerances, well below what changes the answer's shape. */
#define LITTLE 1e-5
/* Worth less, as part of the objective: rounding. */
#define WORTH_LEAST 1e-12

static int row_of(const struct slopes_ask *ask, size_t window, size_t type)
{
    return ask->quota_row + (int)window * ask->stride + (int)type;
}

/* What windows hold is multiplied by it. */
static double scale_of(const struct slopes_ask *ask, size_t window)
{
    return window >= ask->first_scaled ? ask->at->x[ask->lp->scale_column] : 1;
}

static double worth_of(const struct slopes_ask *ask, const double *y, size_t type)
{
    double worth = 0;

    for (size_t k = 0; k < ask->n_windows; k++)
        worth -= y[row_of(ask, k, type)] * scale_of(ask, k);
    return worth;
}

void slopes_of(const struct slopes_ask *ask, const double *y, double *worth_out)
{
    for (size_t j = 0; j < ask->n_types; j++)
        worth_out[j] = worth_of(ask, y, j);
}

/* Multipliers with a little more of the type, if they prove the answer as well. */
static bool look_beside(const struct slopes_ask *ask, size_t type, struct lp_point *near)
{
    AUTO_MEM int *rows = mem_zero(ask->n_windows + 1, sizeof *rows);
    AUTO_MEM double *by = mem_zero(ask->n_windows + 1, sizeof *by);

    for (size_t k = 0; k < ask->n_windows; k++) {
        rows[k] = row_of(ask, k, type);
        by[k] = LITTLE * fmax(1, ask->types[type].quota) * scale_of(ask, k);
    }
    clp_beside(ask->solver, rows, by, ask->n_windows, near->y);
    memcpy(near->x, ask->at->x, (size_t)ask->lp->n_columns * sizeof *near->x);
    lp_prove(ask->lp, near);
    return near->objective - near->bound <= POLICY_GAP * fmax(1, fabs(near->objective));
}

void slopes_find(const struct slopes_ask *ask, double *worth_out)
{
    AUTO_CLEAR(lp_point) struct lp_point near;

    lp_point_init(&near, ask->lp);
    slopes_of(ask, ask->at->y, worth_out);
    for (size_t j = 0; j < ask->n_types; j++)
        if (worth_out[j] > WORTH_LEAST * fabs(ask->at->objective) && look_beside(ask, j, &near))
            worth_out[j] = fmin(worth_out[j], fmax(0, worth_of(ask, near.y, j)));
}
