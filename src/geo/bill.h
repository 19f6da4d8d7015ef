/* bill: the cost of a finished training, event by event, beside the model's cost of the same
 * training with the measured times. */
#ifndef GEO_BILL_H
#define GEO_BILL_H

#include "geo/events.h"
#include "geo/model.h"

/* Of the whole training, by its events. */
struct geo_account {
    double rounds;            /* in which every worker read the result */
    double round_s;           /* mean over workers, from result to result */
    double time_s;            /* from the first event to the last */
    struct geo_phases phases; /* means over rounds and workers: they add up to round_s */
    struct geo_bill usd;
    struct geo_counts counts;
    double aggregates; /* invocations that averaged */
};

/* Machines bill from their first event to their last, by the second and a minute at least; every
 * invocation its steps and its fee; requests as they were made; moves by bytes and pair; storage
 * from write to delete, the rest until the last event. ERR_USAGE when no round was
 * finished by all workers. */
int geo_account(const struct geo_problem *p,
                const struct geo_events *events,
                struct geo_account *out,
                struct err *e);

/* Times and sizes that were measured, as means: what the model then computes with, instead
 * of links and rates. What it does not take from there is how many requests, invocations, moves and
 * objects a round has, and where. */
struct geo_pace *geo_pace_new(const struct geo_problem *p,
                              const struct geo_events *events,
                              const struct geo_account *account);
void geo_pace_free(struct geo_pace *pace);
AUTO_DEFINE(geo_pace)

/* The model for that placement and as many rounds, at this pace. False: it cannot be. */
bool geo_forecast(const struct geo_problem *p,
                  const struct geo_placement *at,
                  const struct geo_pace *pace,
                  const struct geo_account *account,
                  struct geo_bill *usd_out,
                  struct geo_counts *counts_out);

#endif
