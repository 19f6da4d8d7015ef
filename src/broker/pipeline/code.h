/* code: a private, versioned copy of a working directory in the lake. */
#ifndef BROKER_PIPELINE_CODE_H
#define BROKER_PIPELINE_CODE_H

#include "base/err.h"
#include "lake/core/lake.h"

#define CODE_COMMIT 65
#define CODE_LARGEST 3

struct code_large {
    char *path;
    uint64_t bytes;
};

struct code {
    char *ref;                /* "@code-NAME:3": the set version; the same as before when nothing
                               * changed */
    char commit[CODE_COMMIT]; /* of git, "" = no repository */
    bool dirty;
    uint64_t files, bytes;
    struct code_large largest[CODE_LARGEST]; /* the largest first; path NULL = no more */
};
void code_clear(struct code *c);

/* Files of directory that neither .gitignore nor .tradewindignore leave out (in every directory, by
 * git's rules; .git never), below "/code/NAME/", where NAME is the directory's own name made fit
 * for a set; "NAME-2" and so on where the lake has a file in the place of a directory of ours, or
 * the other way round. Links to files within are files, as in every put; those that lead out of
 * the directory are ERR_USAGE. ERR_USAGE when nothing is left, or when it is larger than 4 GiB (say
 * so: data belongs in the lake). An archive (.tar, .tar.gz, .tgz, .zip) is unpacked first. The copy
 * is staged in home/staging, which is cleaned of what was left there by a kill. */
int code_store(
    struct lake *l, const char *home, const char *directory, struct code *out, struct err *e);

/* *unmatched_out: the first of patterns (codefiles_picks) that names none of the files that
 * code_store would take of the directory; NULL = each names some. Stores nothing. */
int code_check(const char *directory,
               const char *const *patterns,
               size_t n,
               const char **unmatched_out,
               struct err *e);

/* Where the files of a set version that code_store made lie in the lake: "/code/NAME/" of
 * "@code-NAME:3". New string; NULL when it is none of those. */
char *code_root(const char *ref);

#endif
