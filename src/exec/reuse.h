/* reuse: the large files of a directory that is to be sent, by content, so that those a machine has
 * already need not travel (exec/agent/jobfiles.c). */
#ifndef EXEC_REUSE_H
#define EXEC_REUSE_H

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Smaller ones are sent sooner than looked for. */
#define REUSE_BYTES_MIN ((uint64_t)64 << 10)
/* Of one directory; further ones travel. */
#define REUSE_FILES_MAX 65536

/* What the agent reads, a line a file (reuse_line.h), the path without control characters. `stage`
 * answers with a character a line, in order: */
#define REUSE_PLACED '1'
#define REUSE_MISSING '0'

struct reuse_file {
    char *path;
    uint64_t size;
    mode_t mode;
    int64_t mtime_s;
    struct sha256_digest digest;
    bool placed; /* is there already: need not travel */
};

struct reuse {
    struct reuse_file *files;
    size_t n, cap;
    uint64_t bytes; /* of all files */
};

/* The large files of dir with their digests, hashed on all cores. Odd names that tar may read in
 * another way are left out, and travel. */
int reuse_look(struct reuse *r, const char *dir, struct err *e);
void reuse_clear(struct reuse *r);
/* The list for the agent: a file in memory, at its beginning; the caller closes it. -1: none. */
int reuse_list(const struct reuse *r, struct err *e);
/* Takes the answer of `stage`. ERR_IO when it is none. */
int reuse_answer(struct reuse *r, const char *answer, size_t n, struct err *e);
/* Names of placed files as tar excludes them, in the same way; -1 with e untouched when there are
 * none. */
int reuse_excluded(const struct reuse *r, struct err *e);

#endif
