/* internal: what average.c and round.c use of the other files of src/fed, by file. */
#ifndef FED_INTERNAL_H
#define FED_INTERNAL_H

#include "base/auto.h"
#include "fed/round.h"
#include "fed/tensor_file.h"
#include "store/keyed.h"

/* ---- pieces.c ---- */

struct fed_pieces {
    struct arena *arena;
    const struct fed_file *first;
    /* Tensors of first, as they lie in it; sorted when there are pieces. */
    const struct fed_tensor **tensors;
    size_t n_inputs;
    uint64_t **at; /* at[input][i]: where first->tensors[i] is in that input */
    struct fed_run *runs;
    size_t n_runs;
    size_t n; /* pieces */
};

struct fed_piece {
    enum fed_dtype dtype;
    size_t count;    /* numbers */
    uint64_t offset; /* in first, and in the result */
    const struct fed_run *run;
};

/* Room for the places of n_inputs inputs; `first` is borrowed. ERR_USAGE when that is too much. */
struct fed_pieces *fed_pieces_new(const struct fed_file *first, size_t n_inputs, struct err *e);
void fed_pieces_free(struct fed_pieces *p);
AUTO_DEFINE(fed_pieces)

/* Once `at` is filled: pieces of at most max_bytes (a multiple of 8) in each input. */
int fed_pieces_cut(struct fed_pieces *p, size_t max_bytes, struct err *e);

struct fed_piece fed_piece_get(const struct fed_pieces *p, size_t i);
/* Where the piece begins in an input. */
uint64_t fed_piece_at(const struct fed_pieces *p, const struct fed_piece *piece, size_t input);
/* The tensor that holds number i of the piece; *within_out is its index there. */
const struct fed_tensor *fed_piece_tensor(const struct fed_pieces *p,
                                          const struct fed_piece *piece,
                                          size_t i,
                                          uint64_t *within_out);

/* ---- claim.c ---- */

struct fed_claim {
    struct store *store;
    struct store_tally *tally;
    unsigned worker; /* whose event asks */
    char key[FED_ROUND_KEY];
    double lease_s;
    int64_t now_ms; /* by the store's clock, when it was listed */
    bool there;     /* seen in the list, or written by us */
    bool taken_over;
    /* of the one that is there */
    char etag[STORE_ETAG];
    int64_t modified_ms;
    /* ours */
    char *body;
    double since_s; /* by our clock; when it was written last */
};
void fed_claim_clear(struct fed_claim *c);

/* The list showed it. */
void fed_claim_seen(struct fed_claim *c, const struct store_keyed *o);

/* It is there, and was not renewed for longer than the lease. */
bool fed_claim_is_stale(const struct fed_claim *c);

/* Looks whose a fresh one is; else writes it. 1: ours. 0: another worker's event has it. ERR_RETRY:
 * an event of this worker has it already. */
int fed_claim_take(struct fed_claim *c, struct err *e);
/* Looks whose a fresh one is, as above: 0 or ERR_RETRY. */
int fed_claim_meet(struct fed_claim *c, struct err *e);
/* When half of the lease is over. 0: it is still ours, or nothing was to be done. 1: another's. */
int fed_claim_renew(struct fed_claim *c, struct err *e);
/* Releases it after a failure, unless another can have taken it over by now. */
void fed_claim_drop(struct fed_claim *c);

/* ---- inputs.c ---- */

struct fed_object {
    const char *key;
    uint64_t size;
    const char *etag;
};

struct fed_inputs;

/* Begins to fetch; keys and etags are borrowed until the end. ERR_IO when no thread can be started.
 */
struct fed_inputs *fed_inputs_open(struct store *s,
                                   const struct fed_object *objects,
                                   size_t n,
                                   struct err *e);
/* Ends requests that are under way. */
void fed_inputs_free(struct fed_inputs *in);
AUTO_DEFINE(fed_inputs)

/* One for each object. Their errors: ERR_NOTFOUND when it is gone, ERR_RETRY when it was written
 * again or the store fails for now. */
const struct fed_source *fed_inputs_sources(const struct fed_inputs *in);
/* Stops fetching and adds up what was asked of the store. */
void fed_inputs_stop(struct fed_inputs *in, struct store_tally *tally);

#endif
