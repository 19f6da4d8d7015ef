/* mean: a mean on its way from the average, which writes it in any order, to a store, which wants
 * it in order and with its digest. It lies in a file without a name meanwhile. */
#ifndef FED_MEAN_H
#define FED_MEAN_H

#include "base/hash.h"
#include "fed/average.h"
#include "store/keyed.h"

struct fed_mean {
    int fd; /* -1: none yet */
    uint64_t size;
    struct sha256_digest digest; /* of what fed_mean_finish found */
};
void fed_mean_clear(struct fed_mean *m);

/* Where fed_average is to write it. */
struct fed_sink fed_mean_sink(struct fed_mean *m);
/* What was written there, to be read. */
struct fed_source fed_mean_source(struct fed_mean *m);
/* When it is written. */
int fed_mean_finish(struct fed_mean *m, struct err *e);
/* It as content of an object, without condition. */
struct store_keyed_put fed_mean_put(struct fed_mean *m);

#endif
