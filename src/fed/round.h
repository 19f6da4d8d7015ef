/* round: one round of a geo-distributed training: every worker writes its gradients (or its model)
 * into an object store, the creation of each starts an invocation of the aggregator, and the one
 * that finds them all writes their mean, which the workers wait for. Nothing but the store
 * remembers.
 *
 * Below a prefix P of a store:
 *
 *     P/round-000007/in/worker-0003.w128.safetensors   of worker 3; its creation is the event
 *     P/round-000007/claim                             who averages, a JSON object
 *     P/round-000007/mean                              the result, in the format of the inputs
 *     P/round-000007/done                              empty: with a quorum, where no mean is left
 *
 * Rounds and workers count from 0. ".w128" (the samples, a whole number from 1 up) may be left out:
 * it counts in weighted rounds, where a worker without it counts 1. Only inputs end with a suffix
 * of fed_format_suffix, so that stores can be told to send events for these alone.
 *
 * An invocation lists P/round-000007/ (one request for each 1,000 objects) and then
 *   - finds the mean, or "done": removes what is left of the round;          FED_ROUND_OVER
 *   - finds fewer inputs than it needs: is done;                             FED_ROUND_WAITING
 *     beside a claim that is too old they are what its holder could not delete any more: OVER
 *   - else writes the claim if there is none (If-None-Match: *), or, if the one there is older than
 *     the lease by the store's own clock, takes it over (If-Match);
 *   - averages, each input read once and in order, in bounded memory, and writes the mean if there
 *     is none; then deletes the inputs, the mean of the round before, and the claim.
 * Who finds another's claim that is still fresh is done (FED_ROUND_CLAIMED): the event of who holds
 * it will be delivered again if it dies. An event that finds a fresh claim of its own input is such
 * a delivery, or comes twice: ERR_RETRY, to be delivered again after the lease. Inputs that
 * are gone after the claim mean that another was faster. So a round is averaged once whatever
 * events come twice, at once or out of order, and an invocation that dies anywhere is made up for
 * by the next delivery of its event.
 *
 * Requests of a round without faults: n writes of workers, 2 of the aggregator (claim and mean), n
 * lists, n reads of the aggregator, n + l of workers, who poll for the mean and find nothing l
 * times: equation (5) and one write for the claim. After it the store holds the mean alone.
 *
 * A worker that writes its input of round r says that it needs the mean of r - 1 no more: it saves
 * its own state first.
 *
 * With a quorum below n the others may come late. Means are kept, since a worker may still need
 * them. The invocation that averaged lists once more, and deletes what came meanwhile; what comes
 * after that finds the mean, or "done", which whose mean goes elsewhere writes for that: a late
 * input is deleted, and nothing is averaged twice. */
#ifndef FED_ROUND_H
#define FED_ROUND_H

#include "base/err.h"
#include "fed/tensor_file.h"
#include "store/keyed.h"

#define FED_WORKERS_MAX 10000
#define FED_ROUNDS_MAX 1000000
#define FED_ROUND_KEY 700
#define FED_PREFIX_MAX 512
#define FED_LEASE_S 60.0

/* A prefix of a store: "" = the store itself. */
struct fed_place {
    struct store *store;
    const char *prefix;
};

struct fed_aggregator {
    struct store *store;
    unsigned workers; /* n */
    unsigned quorum;  /* inputs that are enough; 0 = all */
    bool keep_means;  /* with all inputs, too: those of regions have a quorum */
    bool weighted; /* by samples; unweighted, what lies before a mean of means still counts n_r */
    bool only_finite; /* NaN and infinite numbers are refused */
    double lease_s;   /* after which who claimed is taken for dead; 0 = FED_LEASE_S */
    unsigned threads; /* 0 = all cores */
    /* A region's aggregator: the mean becomes the input of worker `up_index` (the region's number)
     * in the same round of `up`, with the sum of the weights (without weights: of the workers), and
     * no mean is written here. NULL = this one has the last word. */
    const struct fed_place *up;
    unsigned up_index;
    /* Called when that input is written, with its key, and before anything is deleted: the event of
     * stores that send none. NULL = no. */
    int (*sent_up)(void *context, const char *key, struct err *e);
    void *context;
    /* Fan-out: the mean is written to these instead, one after the other. */
    const struct fed_place *fanout;
    size_t n_fanout;
};

enum fed_round_outcome {
    FED_ROUND_IGNORED, /* the key is no input: no request was made */
    FED_ROUND_WAITING,
    FED_ROUND_CLAIMED,
    FED_ROUND_OVER,
    FED_ROUND_AVERAGED,
};
/* "averaged" */
const char *fed_round_outcome_text(enum fed_round_outcome o);

struct fed_round_report {
    enum fed_round_outcome outcome;
    unsigned round, worker; /* of the event */
    unsigned inputs;        /* that were there */
    uint64_t bytes;         /* of the mean */
    struct store_tally tally;
};

/* One event: `key` (below the store) was written. ERR_USAGE: an input that does not fit the others
 * or is no good, a worker beyond n; the same event would fail again. ERR_RETRY and ERR_IO: deliver
 * it again later. ERR_DENIED: the store refuses us. *out is filled as far as it got. */
int fed_round_event(const struct fed_aggregator *a,
                    const char *key,
                    struct fed_round_report *out,
                    struct err *e);

/* ---- keys ---- */

struct fed_input_key {
    char prefix[FED_PREFIX_MAX + 1];
    unsigned round, worker;
    uint64_t samples; /* 0 = not told */
    enum fed_format format;
};
/* False when this is no input's key. */
bool fed_round_parse(const char *key, struct fed_input_key *out);
/* "P/round-000007/in/worker-0003.w128.f32"; ERR_USAGE when something is out of range. */
int fed_round_input_key(const struct fed_input_key *k,
                        char out[static FED_ROUND_KEY],
                        struct err *e);
/* "P/round-000007/" + name ("", "mean", "claim") */
void fed_round_key(const char *prefix,
                   unsigned round,
                   const char *name,
                   char out[static FED_ROUND_KEY]);

#endif
