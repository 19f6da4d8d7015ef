/* offline_parts: what the two halves of the offline optimum share: offline_bound.c prices every
 * (event, offer) by a Lagrangian relaxation, offline.c searches under these bounds. */
#ifndef MARKET_OFFLINE_PARTS_H
#define MARKET_OFFLINE_PARTS_H

#include "market/offline.h"

#include <stdint.h>

/* Choices of the relaxation. */
#define OFFLINE_STAY UINT32_MAX
#define OFFLINE_LEAVE (UINT32_MAX - 1)

/* A question over the events from start to horizon and the offers that can matter. Events count
 * from 0 = start; offers are indices of `offers`; the last place is nowhere, where jobs begin. */
struct offline_frame {
    const struct market_offline_question *q;
    const struct market_job *job;
    const struct market_scene *scene;
    size_t n_steps, n_offers, n_places;
    bool may_pause;
    size_t *offers;
    uint32_t *place;
    double *speed;
    double *length_s; /* of each step */
    /* [step * n_offers + offer] */
    double *step_usd;
    unsigned char *can_start, *taken_back;
    bool *may_wait; /* [step] */
    bool *can_end;  /* [step]: a way within the cost may be done in it */
    bool *may_end;  /* the same of the part that is looked at; the last of n_steps is one */
    size_t all_steps;
    size_t n_passes;  /* of the last bound */
    double *move_usd; /* [from * n_places + to] */

    /* By the relaxation: least (cost - worth * work) of what is still to come. */
    double worth;    /* USD per unit of work */
    double *on;      /* [step * n_offers + offer], n_steps + 1 rows */
    double *off;     /* [step * n_places + place], the same */
    double *on_work; /* work of that continuation */
    double *off_work;
    uint32_t *on_act, *off_act;
    double *begin;       /* [step * n_offers + offer]: beginning there now, without start-up */
    double *begin_place; /* [step * n_places + place]: the least of these there */
    size_t cells_on, cells_off; /* room */
    /* Of the step being relaxed: the best to begin with at each place, [way * n_places + place]. */
    struct offline_best *best;
};

/* How a job comes to a machine: from none, from another one of the place, from elsewhere. */
enum offline_way { OFFLINE_FROM_NONE, OFFLINE_FROM_HERE, OFFLINE_FROM_ELSEWHERE, OFFLINE_N_WAYS };
struct offline_best {
    double value, work;
    uint32_t offer;
};

/* Sets everything above the relaxation, up to the last event at which a way that costs no more than
 * upper_usd may be under way. */
void offline_frame_set(struct offline_frame *f,
                       const struct market_offline_question *q,
                       double upper_usd);
void offline_frame_clear(struct offline_frame *f);

/* Of the ends, only those from step `from` to step `to` are looked at. */
void offline_frame_part(struct offline_frame *f, size_t from, size_t to);

/* Relaxes at the worth that gives the best bound, starting near first_worth; the bound, or one that
 * is above enough. */
double offline_bound(struct offline_frame *f, double first_worth, double enough);

#endif
