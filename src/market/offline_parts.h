/* offline_parts: declarations shared by the files of the offline optimum. offline_reduce.c reduces
 * the market to the offers that matter, for all questions about a job; offline_frame.c sets the
 * steps of one question; offline_relax.c prices every (event, offer) by a Lagrangian relaxation,
 * for which offline_bound.c finds the best worth of work; offline.c searches under these bounds. */
#ifndef MARKET_OFFLINE_PARTS_H
#define MARKET_OFFLINE_PARTS_H

#include "market/offline.h"

#include <stdint.h>

/* Choices of the relaxation. */
#define OFFLINE_STAY UINT32_MAX
#define OFFLINE_LEAVE (UINT32_MAX - 1)

/* The price of an impossible choice: no infinity, so that loops over offers take minima by vectors.
 */
#define OFFLINE_NEVER 1e30

/* Offers of a location fill whole lanes; offers that cannot be launched fill up the last one. */
#define OFFLINE_LANES 4

/* Offers at some events: list[first[event]] until first[event + 1]. */
struct offline_list {
    uint32_t *list;
    size_t *first;
    size_t n, cap;
};

/* The scene reduced to the offers that no other offer dominates, by location. */
struct market_reduced {
    const struct market_job *job;
    size_t n_offers, n_places; /* the last place is nowhere, where jobs begin */
    size_t *offers;            /* of the scene; MARKET_NO_OFFER fills up */
    size_t *first;             /* of each place, and after the last */
    uint32_t *place;
    double *speed;
    double *move_usd; /* [from * n_places + to] */
    double *step_usd; /* [event * n_offers + offer]: until the next; OFFLINE_NEVER = not for sale */
    struct offline_list taken;   /* back at the event */
    struct offline_list refused; /* for sale, but none to be had */
};

/* Lower bounds of the remaining cost - worth * work, by the relaxation. */
struct offline_values {
    double *on;    /* [step * n_offers + offer], n_steps + 1 rows: on a machine */
    double *off;   /* [step * n_places + place], the same: without one */
    double *go;    /* [step * n_places + place]: leaving a machine there */
    double *begin; /* [step * n_places + place]: beginning there now, without start-up */
};

/* A question over the events from start to horizon. Events count from 0 = start; offers and places
 * are those of the reduced scene. */
struct offline_frame {
    const struct market_offline_question *q;
    const struct market_job *job;
    const struct market_scene *scene;
    const struct market_reduced *reduced;
    size_t n_steps, n_offers, n_places; /* the last two as in the reduced scene */
    bool may_pause;
    double *class_speed; /* of the scene's classes */
    double *length_s;    /* [step] */
    double *cut_usd;     /* what the last of all steps costs, which the deadline may cut */
    bool *may_wait;      /* [step] */
    bool *can_end;       /* [step]: a way within the cost may be done in it */
    bool *may_end;       /* the same of the part that is looked at; the last of n_steps is one */
    size_t all_steps;
    size_t n_passes; /* of the last bound */

    double worth;        /* USD per unit of work */
    double *worth_per_s; /* [offer] */
    struct offline_values v;
    size_t cells_on, cells_off; /* room */
    /* Of the step being relaxed. */
    double *later; /* [offer]: staying, without what its work is worth */
    double *best;  /* [way * n_places + place]: the least of beginning there */
};

/* How a job comes to a machine: from none, from another one of the place, from elsewhere. */
enum offline_way { OFFLINE_FROM_NONE, OFFLINE_FROM_HERE, OFFLINE_FROM_ELSEWHERE, OFFLINE_N_WAYS };

/* Sets everything above the relaxation, up to the last event at which a way that costs no more than
 * upper_usd may be under way. */
void offline_frame_set(struct offline_frame *f,
                       const struct market_offline_question *q,
                       const struct market_reduced *reduced,
                       double upper_usd);
void offline_frame_clear(struct offline_frame *f);

/* Of the ends, only those from step `from` to step `to` are looked at. */
void offline_frame_part(struct offline_frame *f, size_t from, size_t to);

/* What a step costs on each offer. */
static inline const double *offline_step_usd(const struct offline_frame *f, size_t step)
{
    return step + 1 == f->all_steps ? f->cut_usd
                                    : f->reduced->step_usd + (f->q->start + step) * f->n_offers;
}

static inline bool offline_can_start(const struct offline_frame *f, size_t step, size_t offer)
{
    size_t i = f->reduced->offers[offer];

    return i != MARKET_NO_OFFER &&
           f->scene->can_start[(f->q->start + step) * f->scene->n_offers + i];
}

static inline bool offline_taken_back(const struct offline_frame *f, size_t step, size_t offer)
{
    size_t i = f->reduced->offers[offer];

    return i != MARKET_NO_OFFER &&
           f->scene->taken_back[(f->q->start + step) * f->scene->n_offers + i];
}

/* The best bound over all worths, starting near first_worth, or the first bound above enough. */
double offline_bound(struct offline_frame *f, double first_worth, double enough);

/* One relaxation: its bound, and the work of its way. */
double offline_relax(struct offline_frame *f, double worth, double *work_out);

/* By the last relaxation: beginning with a machine, without start-up. */
double offline_begin_usd(const struct offline_frame *f, size_t step, size_t offer);
/* The relaxation's choice with an instance, or without one: the offer to launch, OFFLINE_STAY or
 * OFFLINE_LEAVE. */
uint32_t offline_act_on(const struct offline_frame *f, size_t step, size_t offer);
uint32_t offline_act_off(const struct offline_frame *f, size_t step, size_t place);

#endif
