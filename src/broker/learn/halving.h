/* halving: asynchronous successive halving, which compares trials at rungs and lets the best third
 * of each rung continue. Pure.
 *
 * Rung k is at step first * 3^k. Of the n trials that reached a rung so far, the best floor(n / 3)
 * may go on to the next one; a trial that is not among them stops, and continues once it is. There
 * are floor(log3(trials)) rungs: a trial that passes the last one runs to its end. Where failures
 * leave a rung with fewer than three, its best trial goes on alone. */
#ifndef BROKER_LEARN_HALVING_H
#define BROKER_LEARN_HALVING_H

#include <stdbool.h>
#include <stddef.h>

#define HALVING_FACTOR 3
/* 3^9 > SPACE_TRIALS_MAX: */
#define HALVING_RUNGS_MAX 9

enum halving_state {
    HALVING_NEW,     /* not started */
    HALVING_RUNNING, /* or queued, or stopping */
    HALVING_PAUSED,  /* stopped at a rung */
    HALVING_ENDED,   /* finished: it counts at every rung that it reached */
    HALVING_FAILED,  /* counts nowhere */
};
enum halving_action {
    HALVING_NOTHING,
    HALVING_START,
    HALVING_CONTINUE,
    HALVING_STOP,
};

struct halving_trial {
    enum halving_state state;
    bool is_stopping;                 /* it was told to stop, and has not ended yet */
    size_t reached;                   /* rungs that it reached */
    double values[HALVING_RUNGS_MAX]; /* of the metric there; NAN = worst */
    enum halving_action action;       /* out */
};

/* floor(log3(trials)). */
size_t halving_rungs(size_t trials);
double halving_step(double first, size_t rung);

/* Decides on every trial: stops running ones that are not among the best of the highest rung they
 * reached, and fills the free ones of `slots` with paused trials that are, the highest rung first,
 * then with new ones in order. */
void halving_decide(
    struct halving_trial *trials, size_t n, size_t rungs, bool less_is_better, size_t slots);

#endif
