/* parallel: independent pieces of work on several threads. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include "base/err.h"

#include <stddef.h>

/* Processors this process may use, at least 1. */
unsigned parallel_cores(void);

/* Calls work(context, i, e) for every i below n, from up to `threads` threads at once (the caller's
 * among them), in about rising order. After the first failure no further i is begun; its error is
 * the result. Returns when no thread runs any more. With threads 1, or where none can be started,
 * the caller does it all. */
int parallel_each(size_t n,
                  unsigned threads,
                  int (*work)(void *context, size_t i, struct err *e),
                  void *context,
                  struct err *e);

#endif
