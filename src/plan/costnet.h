/* costnet: the cheapest assignment of a network of variables with unary and pairwise costs, by
 * eliminating one variable after the other.
 *
 * Eliminating a variable leaves a message: a table over the neighbours it had, with the best it
 * can do for each of their states. Where a table would grow past a limit, the variable's factors
 * are split into several messages that may disagree about it: the result is then a lower bound. */
#ifndef PLAN_COSTNET_H
#define PLAN_COSTNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

struct costnet_pair {
    size_t a, b;
    double *cost; /* [state of a][state of b]; INFINITY = impossible. NULL: linked, but free */
};

struct costnet {
    size_t n_vars;
    const uint32_t *n_states;
    double *const *unary; /* per variable, or NULL */
    const struct costnet_pair *pairs;
    size_t n_pairs;
};

/* One message: `var` is eliminated from some of its factors. */
struct costnet_group {
    size_t var;
    size_t *scope; /* the variables the message speaks about */
    size_t n_scope;
    size_t *pairs; /* factors taken in: pairs of the net ... */
    size_t n_pairs;
    size_t *children; /* ... and messages of earlier groups */
    size_t n_children;
    bool has_unary; /* ... and the variable's own costs */
    size_t cells;   /* of the message: product of the scope's states */
};

struct costnet_schedule {
    struct costnet_group *groups; /* in order of elimination */
    size_t n_groups;
    bool exact;  /* no variable was split */
    size_t work; /* cells times states, summed: what one pass costs */
};

/* Elimination order over the graph: smallest table first, later variables first among equals.
 * order[i] = variable eliminated i-th. */
void costnet_order(const struct costnet *net, size_t *order);

/* NULL when the arena is full. max_work bounds cells x states of each group. */
struct costnet_schedule *costnet_schedule_new(const struct costnet *net,
                                              const size_t *order,
                                              size_t max_work,
                                              struct arena *arena);

/* Messages of one pass over a net. */
struct costnet_tables {
    struct costnet net; /* what the pass goes over, with its arrays borrowed */
    const struct costnet_schedule *schedule;
    struct arena *arena;
    double **up;       /* per group: best of what it has taken in */
    double **out;      /* per group: best of everything else; after costnet_down */
    double **marginal; /* per variable and state: best of all with that state; after costnet_down */
    double best;       /* of the whole net; a lower bound unless the schedule is exact */
};

/* -1 when the arena is full. */
int costnet_up(const struct costnet *net,
               const struct costnet_schedule *s,
               struct costnet_tables *t,
               struct arena *arena);
int costnet_down(struct costnet_tables *t);
/* States of an assignment that reaches `best` when the schedule is exact, and of a good one
 * otherwise. False when no assignment is possible along the way. */
bool costnet_decode(const struct costnet_tables *t, uint32_t *states);

#endif
