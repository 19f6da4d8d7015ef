/* lake: versioned files, file sets, their metadata and provenance. A lake has a database
 * (home/lake.db) and an object store. */
#ifndef LAKE_CORE_LAKE_H
#define LAKE_CORE_LAKE_H

#include "base/auto.h"
#include "base/err.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lake;

/* On whose behalf everything is done. Nothing of another project is ever seen. */
struct lake_caller {
    const char *project; /* made when it is new and admin is true */
    const char *user;
    const char *const *groups;
    size_t n_groups;
    bool admin; /* of the project: permissions do not bind */
};

struct lake_options {
    const char *home; /* directory of the database; made when missing */
    struct store_settings store;
    struct lake_caller caller;
    /* Tests: a clock of their own (epoch ms), and database calls that fail (see db_options). */
    int64_t (*now_ms)(void *context);
    bool (*allow)(void *context, const char *sql);
    void *context;
};

/* Everything in options is copied. A lake that was made with another store is ERR_USAGE that names
 * both; so is one without content whose store has content of another lake, unless lake_use_store
 * said that it begins anew: its database may have been lost. */
struct lake *lake_open(const struct lake_options *options, struct err *e);
void lake_free(struct lake *l);
AUTO_DEFINE(lake)

/* Room that a lake keeps for a full disk, the file lake.reserve of its home: lake_open makes it
 * when the disk has room to spare, as lake_reserve_make does. lake_reserve_use releases it on a
 * disk that is nearly full, and returns whether it did. */
void lake_reserve_make(const char *home);
bool lake_reserve_use(const char *home);

/* Points a lake without content to another store (tradewind init); ERR_USAGE when it has some, or
 * when another lake has some there. anew: never mind that. */
int lake_use_store(const char *home, const struct store_settings *store, bool anew, struct err *e);

/* "who made it, when", of versions of files and sets alike. */
struct lake_origin {
    const char *creator;
    int64_t create_time_ms;
};

/* Work that lasts: told from one thread at a time; false = stop as soon as nothing is left half
 * done (ERR_RETRY, "interrupted"). All of it may be NULL. */
struct lake_progress {
    bool (*tell)(void *context,
                 uint64_t files,
                 uint64_t bytes,
                 uint64_t all_files, /* 0 = not known yet */
                 uint64_t all_bytes);
    void *context;
};

/* States of a job (lake/job/job.h). Stored as numbers. The first five are on the way, in this
 * order; those from finished to lost are final. */
enum lake_job_state {
    LAKE_JOB_QUEUED = 1,
    LAKE_JOB_LAUNCHING,
    LAKE_JOB_FETCHING,
    LAKE_JOB_RUNNING,
    LAKE_JOB_STORING,
    LAKE_JOB_FINISHED,
    LAKE_JOB_FAILED,
    LAKE_JOB_KILLED,
    LAKE_JOB_LOST,
    LAKE_JOB_UNSAVED, /* it ended well, and its output is not stored: it stays in the job's
                         directory */
};
#define LAKE_JOB_STATES (LAKE_JOB_UNSAVED + 1)
/* SQL: whether a job still needs its input, by its state and LAKE_JOB_FINISHED. */
#define LAKE_JOB_IS_OPEN(state, finished) "(" state " < " finished " OR " state " = 10)"

/* How a set version came from another: by `set create`, or by a job. Stored as numbers. */
enum lake_edge_kind { LAKE_EDGE_CREATE = 1, LAKE_EDGE_JOB = 2 };

#endif
