/* kept: the output of an unsaved job in jobs/ID/output of the home, where it stays until it is
 * stored or its job is removed. */
#ifndef BROKER_CORE_KEPT_H
#define BROKER_CORE_KEPT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In a job's directory: the output came from a host, and is on disk. */
#define KEPT_COLLECTED "collected"
/* In a job's directory: the job's record is being removed, and the directory goes with it. */
#define KEPT_REMOVED "removed"
/* A directory of such a name is being removed. */
#define KEPT_REMOVED_SUFFIX ".removed"

/* Broker and commands store an output one at a time: a descriptor that the holder closes. ERR_RETRY
 * when another process has it; ERR_NOTFOUND: there is no such directory. */
int kept_lock(const char *home, int64_t job, struct err *e);

/* The output that the job's host had is here. */
bool kept_is_collected(const char *home, int64_t job);

/* Gives names that the lake cannot hold another one, with _ for the characters that it refuses.
 * visit gets both paths, below directory. Repeatable after a kill. */
int kept_rename(const char *directory,
                int (*visit)(void *context, const char *from, const char *to, struct err *e),
                void *context,
                struct err *e);

/* What the directories of jobs hold besides what gc of the lake sees. */
struct kept_usage {
    uint64_t logs, log_bytes;       /* of jobs: logs, states, warnings */
    uint64_t outputs, output_bytes; /* that are not in the lake: unsaved ones, and of failed jobs */
    uint64_t removed, removed_bytes; /* directories that `job rm` left when it was killed */
};
struct lake;
/* remove: those of the last kind go. */
int kept_measure(
    const char *home, struct lake *l, bool remove, struct kept_usage *out, struct err *e);

/* Bytes of the files below path, as far as they can be read. */
uint64_t kept_bytes(const char *path);

#endif
