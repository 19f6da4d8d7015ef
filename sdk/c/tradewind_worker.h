/* tradewind_worker: the worker's side of training across places. In every round a worker pushes its
 * gradients (or its model), and pulls the mean of what all workers pushed:
 *
 *     struct tradewind_worker *w = tradewind_worker_open(NULL, why);
 *     for (unsigned round = first; round < rounds; round++) {
 *         ... one mini-batch: fill the gradients; save the model and `round` ...
 *         tradewind_push(w, round, tensors, n, samples, why);
 *         tradewind_pull(w, round, tensors, n, 600, why);
 *         ... apply the mean, which is in the tensors now ...
 *     }
 *     tradewind_worker_close(w);
 *
 * A worker saves its own state before it pushes: the push of round r tells that the mean of round
 * r - 1 is needed no more. One that was killed goes on with the round it had saved; if the mean of
 * that round is there already, its push is left out.
 *
 * Link with libtradewind-worker.a and -lexpat -ljansson -lcrypto -lz -lpthread -lm -ldl; libcurl is
 * loaded for s3:// alone. */
#ifndef TRADEWIND_WORKER_H
#define TRADEWIND_WORKER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRADEWIND_WHY 400

struct tradewind_worker;

/* What is NULL or 0 comes from the environment. Keys for s3 are found where AWS's tools find them
 * (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, ...). */
struct tradewind_worker_settings {
    const char *store;    /* TRADEWIND_STORE: "s3://BUCKET/PREFIX" or "dir:/PATH" */
    const char *endpoint; /* TRADEWIND_STORE_ENDPOINT: of s3, if not at Amazon */
    const char *region;   /* TRADEWIND_STORE_REGION, else as AWS's tools */
    /* Where the mean is, if not there: TRADEWIND_MEAN_STORE, _ENDPOINT, _REGION. */
    const char *mean_store, *mean_endpoint, *mean_region;
    /* TRADEWIND_EVENT_URL: gets the event of each push, in the form of S3; for stores that send
     * none themselves. */
    const char *event_url;
    int worker;        /* TRADEWIND_WORKER: from 0; -1 here = from the environment */
    unsigned workers;  /* TRADEWIND_WORKERS */
    double poll_s;     /* TRADEWIND_POLL_S, else 0.1: between two looks for the mean */
    double patience_s; /* TRADEWIND_PATIENCE_S, else 60: how long requests that fail are retried */
    /* TRADEWIND_EVENT_LOG: a file that gets a line of JSON for each thing done:
     * {"kind": "put", "who": "worker-0003", "round": 7, "bytes": 4096, "start": 1763305200.125,
     *  "end": 1763305200.25}; kinds are put, get, poll (which found nothing) and event; requests,
     * if more than one, are beside the bytes. */
    const char *event_log;
    /* TRADEWIND_COMPRESSION, else "none": "int8" sends a byte for each number, "topk:0.01" the
     * largest hundredth of each tensor. What a push leaves out is added to the next. For gradients;
     * of a whole model topk would leave little. */
    const char *compression;
    /* TRADEWIND_CHECKPOINT: a directory that keeps what pushes left out
     * (tradewind-rest-000007.f32), for a worker that is started again; without it, that begins with
     * nothing left out. */
    const char *checkpoint;
    /* TRADEWIND_CONNECTIONS, else 1: of one upload to s3 or download, of at least 5 MiB each. */
    unsigned connections;
};

/* Numbers are 32 bits wide. */
struct tradewind_tensor {
    const char *name;
    const size_t *dims; /* NULL: one dimension, `count` */
    size_t rank;
    float *values;
    size_t count;
};

/* What was asked of the store so far. */
struct tradewind_counts {
    uint64_t writes, reads, polls; /* reads: that found the mean; polls: that found nothing */
    uint64_t sent_bytes, got_bytes;
};

/* All functions return 0 or a pointer; else -1 or NULL, and why (at least TRADEWIND_WHY bytes, or
 * NULL) says why. */
struct tradewind_worker *tradewind_worker_open(const struct tradewind_worker_settings *settings,
                                               char *why);
/* Events of rounds that are over and that no aggregator took yet are sent until one does, for
 * patience_s and a lease at most: one that died may have left something to be deleted. */
void tradewind_worker_close(struct tradewind_worker *w);

/* samples: how many the gradients come from, for weighted rounds; 0 = not told. */
int tradewind_push(struct tradewind_worker *w,
                   unsigned round,
                   const struct tradewind_tensor *tensors,
                   size_t n,
                   uint64_t samples,
                   char *why);
/* Waits until the mean is there, at most timeout_s (0 = for ever); the tensors have the names and
 * sizes of what was pushed. 1: the time is over. */
int tradewind_pull(struct tradewind_worker *w,
                   unsigned round,
                   const struct tradewind_tensor *tensors,
                   size_t n,
                   double timeout_s,
                   char *why);
struct tradewind_counts tradewind_worker_counts(const struct tradewind_worker *w);

#ifdef __cplusplus
}
#endif

#endif
