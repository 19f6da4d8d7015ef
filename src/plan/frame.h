/* frame: a problem cut down to a domain, with everything a solver asks for in tables.
 *
 * Variables are stages in topological order. The location of a stage and of the stages whose
 * outputs it reads decide how long its inputs take (a level); location and level decide what each
 * choice comes to (its options). A variable's states are its sites or, where a stage must know its
 * level before its producers are settled, (site, level) pairs.
 *
 * A coarse frame has sites for states throughout: a stage with several producers takes its level
 * from one of them alone, which bounds its cost and time from below. */
#ifndef PLAN_FRAME_H
#define PLAN_FRAME_H

#include "plan/costnet.h"
#include "plan/internal.h"

/* A choice at a known level: none of a list is worse than another in cost and time. */
struct option {
    const struct choice *choice;
    int64_t microusd; /* compute, storage, fixed inputs */
    int64_t ns[LAYERS];
};

struct level {
    double input_s;
    struct option *options; /* ascending cost, the faster first among equals */
    size_t n_options;
};

struct frame_site {
    const struct site *site;
    struct level *levels; /* ascending input_s */
    size_t n_levels;
};

struct frame_var {
    const struct pstage *stage;
    size_t index;      /* of the stage in the problem */
    size_t first_edge; /* its edges stand together: stage->n_parents of them */
    size_t deciding;   /* the edge that decides its level, unless by_level */
    struct frame_site *sites;
    size_t n_sites;
    bool by_level; /* states are (site, level) pairs, else sites */
    uint32_t n_states;
    uint32_t *state_site, *state_level;
};

/* Data flows from one variable to another. Tables are [site of from][site of to]. */
struct frame_edge {
    size_t from, to;   /* variables */
    int64_t *microusd; /* NEVER = impossible; a lower bound where datasets are shared */
    uint16_t *level;   /* of `to` as far as this edge decides it */
};

struct frame {
    struct arena *arena;
    const struct plan_problem *problem;
    struct frame_var *vars;
    size_t n_vars;
    size_t *var_of_stage;
    struct frame_edge *edges;
    size_t n_edges;
    /* The net over the variables' states: edges first, then links (needs without data). */
    struct costnet_pair *pairs;
    size_t n_pairs;
    uint32_t *n_states;
    struct costnet shape; /* the net without costs */
    size_t *order;
    size_t *rank; /* rank[var]: when it is eliminated */
    bool relaxed; /* not what labels need: coarse states, or only the cheapest options */
    bool shared;  /* some dataset has several readers that are not settled: costs are bounds */
};

struct frame_kind {
    bool coarse;
    bool cheapest_only; /* one option a level: enough to bound costs */
    int layer;          /* whose times matter: LAYER_HIGH for --risk */
};

/* NULL when some stage has no site left, or the frame would be too large (*too_large set). */
struct frame *frame_new(const struct plan_problem *p,
                        const struct domain *d,
                        struct frame_kind kind,
                        bool *too_large);
void frame_free(struct frame *f);
AUTO_DEFINE(frame)

/* The site and the level of a state; level 0 where the producers decide it. */
static inline const struct frame_site *frame_state_site(const struct frame_var *v, uint32_t state)
{
    return &v->sites[v->state_site[state]];
}

/* Cost of the edge between two states (NEVER = they do not go together) and, where `to` is not
 * by_level, its level. */
int64_t frame_edge_cost(const struct frame *f,
                        const struct frame_edge *edge,
                        uint32_t from_state,
                        uint32_t to_state,
                        uint32_t *level_out);

/* What counts for how much: cost x micro-dollars + time[v] x nanoseconds of the layer. */
struct weights {
    double cost;
    const double *time; /* per variable */
    int layer;
    bool cheapest_only; /* options that are not the cheapest of their level do not count */
};

/* Unary and pair tables of the net, with the best option of every state. Tables live in `arena`.
 * -1: full. */
int frame_weigh(const struct frame *f,
                const struct weights *w,
                struct arena *arena,
                struct costnet *net);

/* The picks (by stage) that the states stand for, options chosen by the same weights. */
void frame_picks(const struct frame *f,
                 const uint32_t *states,
                 const struct weights *w,
                 struct pick *picks);

#endif
