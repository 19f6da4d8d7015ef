/* secrets: the values of a run's secrets, in home/secrets/RUN (mode 600), from when the run is
 * written down until it is over. They are nowhere else but in the files of jobs for their agents,
 * which go when the job is over. */
#ifndef BROKER_CORE_SECRETS_H
#define BROKER_CORE_SECRETS_H

#include "base/err.h"
#include "broker/core/runs.h"

#include <stddef.h>
#include <stdint.h>

/* All values of a run together. */
#define SECRETS_BYTES_MAX ((size_t)1 << 20)

struct secrets {
    char *bytes; /* with three NULs behind them, which n does not count */
    size_t n;
};
/* The bytes of a file with them. ERR_USAGE when they are too long. */
int secrets_pack(const struct run_secret *all, size_t n, struct secrets *out, struct err *e);
/* Replaces what the run had; none: there is no file then. ERR_USAGE when they are too long; no
 * error shows a value. */
int secrets_write(
    const char *home, int64_t run, const struct run_secret *all, size_t n, struct err *e);
/* Repeatable. */
void secrets_remove(const char *home, int64_t run);

/* ERR_NOTFOUND when the run has none any more. */
int secrets_read(const char *home, int64_t run, struct secrets *out, struct err *e);
/* Overwrites them. */
void secrets_clear(struct secrets *s);
/* NULL = there is none of that name. */
const char *secrets_get(const struct secrets *s, const char *stage, const char *name);

#endif
