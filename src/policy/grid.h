/* grid: the decision variables of a policy: work and cost of each job in each window of time on
 * each type. For files of policy/ alone. */
#ifndef POLICY_GRID_H
#define POLICY_GRID_H

#include "policy/policy.h"

/* A problem with figures derived from it. */
struct scope {
    const struct policy_problem *p;
    enum policy_form form; /* of min-cost-slo; POLICY_WINDOWS for the others */
    double *deadline_h;    /* per job, as the policy sees it; INFINITY = none */
    double *gang_max;      /* per type: the largest gang its quota and those of its groups hold */
};

void scope_init(struct scope *s, const struct policy_problem *p);
void scope_clear(struct scope *s);
/* True when the job has a throughput on the type and the quotas hold its gang. */
bool scope_is_usable(const struct scope *s, size_t job, size_t type);
/* Dollars of a whole job on its cheapest usable type at the prices after all intervals, and that
 * type; INFINITY when no type is usable. */
double scope_cheapest(const struct scope *s, size_t job, size_t *type_out);

/* True when the job's release and deadline let it work between the two times. */
bool scope_is_present(const struct scope *s, size_t job, double from_h, double to_h);

/* The price in an interval, 0 being the first; after the last one, that of the type. */
double scope_price(const struct policy_problem *p, size_t interval, size_t type);

/* Edges of windows: 0, ..., the last; INFINITY at the end when some job has no deadline. */
struct edges {
    double *at; /* n_windows + 1 */
    size_t n_windows;
    size_t exact; /* windows there would be without merging */
};

/* All releases, deadlines and price steps for POLICY_WINDOWS, merged above the problem's
 * columns_max; the first and the last edge alone for POLICY_RATE. */
void edges_init(struct edges *out, const struct scope *s);
void edges_clear(struct edges *edges);

/* In a window that ends after a job's deadline, begins before its release or has several prices,
 * the job works at one rate while it may and pays the mean price: that can be carried out. Relaxed,
 * it draws on quotas as if the whole window were its own and pays the least price: no schedule is
 * cheaper. Where windows end at every release, deadline and price step both are the same. */
enum grid_side { GRID_ATTAINED, GRID_RELAXED };

/* A job in a window: its columns, one a usable type, say which part of the slot it spends there. */
struct grid_slot {
    uint32_t job, window;
    double hours; /* INFINITY: a column is a part of the job's work, on the cheapest type alone */
    double room;  /* instances of the window that one instance of the slot takes */
    size_t first; /* column; the slot after it begins where this one ends */
};

struct grid {
    const struct scope *scope;
    const double *edge; /* borrowed */
    size_t n_windows;
    struct grid_slot *slots; /* n_slots and one more for the end; by window, then job */
    size_t n_slots;
    size_t n_columns;
    uint32_t *type; /* of each column */
    double *usd;    /* of the whole slot there, with its gang */
    double *work;   /* done by the whole slot there, as part of the job's iterations */
};

struct grid_ask {
    const double *edge;
    size_t n_windows;
    enum grid_side side;
    bool price_at_start; /* in the last window, whose length is open, the price of its beginning */
};

void grid_init(struct grid *g, const struct scope *scope, const struct grid_ask *ask);
void grid_clear(struct grid *g);
/* Trims x, columns of the grid, where rounding exceeds the time of jobs or the quotas of types and
 * groups. The limits of windows from first_scaled on are multiplied by the scale. */
void grid_trim(const struct grid *g, size_t first_scaled, double scale, double *x);

#endif
