/* live: strategies replayed through a historical market, second by second, without hindsight,
 * beside the best instance and the best schedule in hindsight. Start days that a cloud's history
 * does not cover, at the start or until the job would end, are named and left out of the means. */
#ifndef MARKET_LIVE_H
#define MARKET_LIVE_H

#include "base/auto.h"
#include "base/err.h"
#include "market/offline.h"
#include "market/paper.h"
#include "market/tables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct market_live_wish {
    const struct market *market;
    const char *cloud, *region; /* of the strategies that stay in one place */
    const char *const
        *clouds; /* of the others; NULL = all that cover at least half of the starts */
    size_t n_clouds;
    const double *starts_s; /* ascending */
    size_t n_starts;
    /* Preemptions per hour: of every machine; NaN = as measured; or asked of every offer (below 0
     * or NaN = as measured) when the function is set. */
    double preemptions_per_h;
    double (*preemptions_of)(const void *context, const struct market_offer *o);
    const void *context;
    enum market_gpu_use use;
    bool looks; /* jobs have deadlines: policies are asked every hour, too */
    uint64_t seed;
};

struct market_names {
    const char **names;
    size_t n, cap;
};

/* To be read alone, except by the functions below. */
struct market_live {
    struct arena *arena; /* of all arrays but the names */
    struct market_scene *scene;
    struct market_offline *offline;
    struct market_names clouds, left_out; /* that take part, and that do not */
    /* Clouds that take part without a life on record, though preemptions were to be as measured. */
    struct market_names unmeasured;
    bool *may_use[MARKET_N_STRATEGIES]; /* an entry an offer of the scene */
    struct market_live_start *starts;   /* state and time alone */
    size_t n_starts;
    double *lowest_usd_per_s; /* [start * n_offers + offer]: from then on */
};
/* ERR_NOFIT when the region sells no reference GPU or no cloud covers any start. */
struct market_live *market_live_new(const struct market_live_wish *wish, struct err *e);
void market_live_free(struct market_live *l);
AUTO_DEFINE(market_live)

/* What one checkpoint costs on the way between the places of the scene, by the tier of the move;
 * new array, [from * n_places + to]. Within a month of ten thousand moves, as published. */
double *market_live_moves(const struct market_live *l,
                          const struct market_tables *t,
                          double checkpoint_gb);

struct market_live_question {
    const struct market_job *job;
    const struct market_reduced *reduced; /* of the job; NULL = made where it is needed */
    double work;                          /* reference GPU seconds */
    double deadline_after_s;              /* of the start; INFINITY = none */
    size_t effort;                        /* for each optimum; 0 = all it takes */
    double gap;                           /* of the optimum, in parts; 0 = exact */
    struct market_policy
        policy; /* of dynamic; usd_per_work NaN = what was usual in the week before */
};

/* The policy of dynamic for a job begun then, with all that the question leaves open. may_use is
 * borrowed. */
struct market_policy market_live_policy(const struct market_live *l,
                                        const struct market_live_question *q,
                                        double start_s);

/* Rows of an answer: the strategies, then these. */
enum { MARKET_ROW_BEST_STATIC = MARKET_N_STRATEGIES, MARKET_ROW_OFFLINE, MARKET_N_ROWS };

enum market_start_state {
    MARKET_START_COVERED,
    MARKET_START_TOO_EARLY, /* some cloud has no prices yet, or the region none of the reference */
    MARKET_START_TOO_LATE,  /* the same, any more */
    MARKET_START_CUT,       /* some strategy would not be done when the first history ends */
    MARKET_START_IMPOSSIBLE /* the deadline cannot be kept by anybody */
};
extern const char *const market_start_texts[MARKET_START_IMPOSSIBLE + 1];

struct market_live_start {
    double at_s;
    enum market_start_state state;
    struct market_bill bills[MARKET_N_ROWS];
    size_t static_offer; /* of the scene: the best in hindsight */
    bool proved;         /* the optimum is one, within the gap */
    double bound_usd;    /* nothing could have been cheaper */
    size_t offline_row;  /* whose way it is; its own row where it has one */
};

struct market_live_mean {
    double cost_usd, hours, switches, preemptions;
    size_t switches_max, late; /* late: after the deadline */
};

struct market_live_answer {
    struct market_live_start *starts;
    size_t n_starts, n_covered, n_proved;
    double bound_usd; /* mean of what nothing could have been cheaper than */
    struct market_live_mean means[MARKET_N_ROWS]; /* over covered starts; NaN when there is none */
};
void market_live_answer_clear(struct market_live_answer *a);

void market_live_replay(struct market_live *l,
                        const struct market_live_question *q,
                        struct market_live_answer *out);

/* One start again, with every lease: a row, and the optimum. */
void market_live_follow(struct market_live *l,
                        const struct market_live_question *q,
                        const struct market_live_start *start,
                        size_t row,
                        struct market_log *log);

#endif
