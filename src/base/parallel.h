/* parallel: independent pieces of work on several threads. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include "base/err.h"

#include <stdbool.h>
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

/* The same by that many processes, which do not share memory's page tables as threads do: for work
 * that maps and unmaps much. What work() changes in memory is lost, unless the memory is shared.
 * The caller, which has no other threads, waits and asks watch(context) ten times a second; once
 * that is false all are ended: ERR_RETRY "interrupted". 1: not all of it is done, as no process can
 * be started, or one was ended from outside. */
int parallel_each_forked(size_t n,
                         unsigned processes,
                         int (*work)(void *context, size_t i, struct err *e),
                         bool (*watch)(void *context),
                         void *context,
                         struct err *e);

#endif
