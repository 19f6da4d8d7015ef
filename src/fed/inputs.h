/* inputs: objects in a store as sources for an average. Each is fetched by one request, from its
 * beginning to its end, while it is averaged; of each only a window is in memory. When tensors lie
 * in another order than in the first input, what is not in the window costs a request of its own.
 */
#ifndef FED_INPUTS_H
#define FED_INPUTS_H

#include "base/auto.h"
#include "fed/tensor_file.h"
#include "store/keyed.h"

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
