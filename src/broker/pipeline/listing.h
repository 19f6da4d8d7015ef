/* listing: which files of a working directory are its code. Reading the list executes nothing that
 * the directory configures. */
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
    bool dirty;                    /* files differ from the commit, or may differ */
};

struct listing_options {
    const char *directory; /* absolute, without links in it */
    const char *scratch;   /* a directory of ours where git may compare; NULL = commit and dirty are
                            * not wanted */
    bool is_alone;         /* a repository above the directory does not count */
};

/* All files and links but
 * - .git,
 * - those that .tradewindignore files name, or that are named .venv, venv, node_modules,
 * __pycache__ or .mypy_cache unless .tradewindignore takes them in ("!venv"),
 * - those that .gitignore files name, unless the repository tracks them.
 * Of every directory the rules in it and above it count, up to the directory, for .gitignore up to
 * the repository; those of repositories within count there instead. The paths are in the arena,
 * which has no cap. */
int listing_read(const struct listing_options *options,
                 struct arena *arena,
                 struct listing *out,
                 struct err *e);

#endif
