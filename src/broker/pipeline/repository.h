/* repository: what the listing needs of a git repository, read from its files as data. Nothing
 * that the repository configures is executed: no setting of it is ever read. */
#ifndef BROKER_PIPELINE_REPOSITORY_H
#define BROKER_PIPELINE_REPOSITORY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define REPOSITORY_COMMIT 65

struct arena;

struct repository_file {
    const char *path;   /* relative to the repository */
    const char *commit; /* of a submodule, in hexadecimal; NULL = a file */
};

struct repository {
    const char *root;      /* the directory that has .git in it */
    const char *directory; /* .git, or where it leads */
    const char *common;    /* has objects and refs; another one for further working trees */
    char commit[REPOSITORY_COMMIT]; /* of HEAD; "" = nothing committed, or a form not known here */
    struct repository_file *files;  /* tracked ones, by path */
    size_t n_files;
    bool index_unknown; /* the index is of a form not known here, or damaged: no files */
};

/* 1: root has a repository; 0: it has none, or no valid one. All texts are in the arena, which has
 * no cap. Never fails for what is in the files. */
int repository_read(const char *root, struct arena *arena, struct repository *out);

/* The tracked file of this path, NULL = none. */
const struct repository_file *repository_find(const struct repository *r, const char *path);
/* Whether a tracked file is below this directory. */
bool repository_has_below(const struct repository *r, const char *directory);

/* The entries of an index in r->files. oid_bytes: 20 or 32. False: it is not valid, or split, or
 * its paths take more than 16 times its bytes. */
bool repository_parse_index(struct repository *r,
                            struct arena *arena,
                            const unsigned char *bytes,
                            size_t len,
                            size_t oid_bytes);

/* Whether tracked files below directory, which is in the repository, differ from the commit: 1, 0,
 * or -1: not known (no git, a damaged repository, it took longer than a minute). git itself
 * compares, but on a repository of ours in the directory scratch: it has HEAD, objects and index of
 * the other one, and none of its configuration, hooks and attributes. */
int repository_differs(const struct repository *r, const char *directory, const char *scratch);

#endif
