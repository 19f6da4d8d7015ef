/* scene: a market for one kind of job: the offers the job may use and their events in order. An
 * event is a time at which a price changes, an offer comes or goes, an instance is preempted, a job
 * begins, or a check is due. Between two events nothing changes.
 *
 * Preemptions are drawn once per offer, by the seed and the offer's name alone: every strategy that
 * uses the offer then is preempted, so that strategies are compared under the same conditions. */
#ifndef MARKET_SCENE_H
#define MARKET_SCENE_H

#include "base/auto.h"
#include "base/err.h"
#include "market/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum market_gpu_use {
    MARKET_GPU_SHARE, /* a job takes one GPU of a machine and pays its share; others have the rest
                       */
    MARKET_GPU_WHOLE, /* it takes all, pays all, and is so many times as fast */
    MARKET_GPU_ALONE  /* it takes one and pays for all */
};

struct market_scene_wish {
    const struct market_offer *const *offers;
    const double *preemptions_per_h; /* an entry an offer */
    size_t n_offers;
    const double *starts_s; /* ascending */
    size_t n_starts;
    double begin_s, end_s; /* the events to have; ends where the history of some cloud ends */
    double look_s;         /* a look every so many seconds of the clock; 0 = none */
    enum market_gpu_use use;
    uint64_t seed;
};

struct market_scene {
    struct arena *arena;       /* of all arrays but at_s */
    size_t n_offers, n_events; /* the last event is the end */
    const struct market_offer **offers;
    uint32_t *place, *gpu; /* index of its region, of its kind of GPU */
    uint32_t *speed_class; /* offers with the same GPUs for the job */
    double *gpus_used, *preemptions_per_s;
    double *lease_max_s; /* INFINITY, or after how long the cloud takes a machine back */
    size_t n_places, n_gpus, n_classes;
    size_t *class_offer;                /* one offer of each class */
    const struct market_offer **places; /* one offer of each */
    const char **gpus;
    double *at_s;
    /* [event * n_offers + offer] */
    double *usd_per_s;         /* for the job, until the next event; NaN = not for sale */
    double *paid_usd;          /* what it costs from the first event until this one */
    unsigned char *can_start;  /* 1 = there are machines to be had */
    unsigned char *taken_back; /* 1 = who is on it loses it at this event */
    /* Events at which each offer is taken back: taken[first_taken[i]] until first_taken[i + 1]. */
    size_t *taken, *first_taken;
    double *class_usd_per_s; /* [event * n_classes + class]: the lowest price; INFINITY = none */
    bool *scarce;            /* [event]: some offer cannot be had */
};

/* ERR_NOFIT when the scene would be too large or the window has no time in it. */
struct market_scene *market_scene_new(const struct market_scene_wish *wish, struct err *e);
void market_scene_free(struct market_scene *s);
AUTO_DEFINE(market_scene)

/* The last event that is not later; the first one before it. */
size_t market_scene_event(const struct market_scene *s, double at_s);

static inline double market_scene_usd(const struct market_scene *s, size_t event, size_t offer)
{
    return s->usd_per_s[event * s->n_offers + offer];
}

/* What the offer costs from the first event until then; event: the last one not later. */
static inline double market_scene_paid_from(const struct market_scene *s,
                                            size_t event,
                                            size_t offer,
                                            double at_s)
{
    size_t cell = event * s->n_offers + offer;
    double rest_s = at_s - s->at_s[event];

    return rest_s > 0 ? s->paid_usd[cell] + rest_s * s->usd_per_s[cell] : s->paid_usd[cell];
}
double market_scene_paid(const struct market_scene *s, size_t offer, double at_s);
/* The first event after this one at which the offer is taken back; SIZE_MAX = none. */
size_t market_scene_next_taken(const struct market_scene *s, size_t offer, size_t event);
/* The nearest millisecond, which is what clocks count in. */
double market_to_ms(double at_s);

/* Preemptions per hour of machines like this one, by the lives on record: those of the same cloud
 * and GPU, else of the cloud. NaN when there are none. */
double market_preemptions_measured(const struct market *m, const struct market_offer *o);

/* How long to work between checkpoints that take write_s, by Daly's estimate; INFINITY when nothing
 * is ever preempted. */
double market_checkpoint_s(double preemptions_per_s, double write_s);

#endif
