/* listing: which files of a working directory are its code: those that neither .gitignore nor
 * .tradewindignore leave out, as git itself reads them. */
#ifndef BROKER_PIPELINE_LISTING_H
#define BROKER_PIPELINE_LISTING_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define TREE_LIST_COMMIT 65

struct arena;

struct listing {
    const char **paths; /* relative to the directory, in byte order, each once */
    size_t n, cap;
    char commit[TREE_LIST_COMMIT]; /* "" = no repository, or nothing committed */
    bool dirty;                    /* what is there differs from the commit */
};

/* Of every directory the rules in it and above it count, .git never; repositories within are read
 * by their own rules. scratch: a directory of ours where an empty repository is made for those that
 * are none. Without git installed everything but .git is listed, with a warning. Paths of things
 * that are neither files nor links are left out. The paths are in the arena, which has no cap. */
int listing_read(const char *directory,
                 const char *scratch,
                 struct arena *arena,
                 struct listing *out,
                 struct err *e);

#endif
