/* tree: a local directory that files are written below, without ever leaving it: links to
 * directories inside are not followed. */
#ifndef LAKE_PUT_TREE_H
#define LAKE_PUT_TREE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Directories that can be open at once. */
#define TREE_DIRS_MAX 200

struct tree {
    char *path;
    int root;     /* -1 = it is not there */
    bool unnamed; /* files may be written without a name first */
    struct tree_dir {
        char *path; /* as in the lake, with '/' at the end */
        int fd;     /* -1: not there */
    } dirs[TREE_DIRS_MAX];
    size_t n_dirs;
};

/* create: makes it and those above it. */
int tree_open(struct tree *t, const char *path, bool create, struct err *e);
void tree_clear(struct tree *t);
/* Closes the directories opened so far. */
void tree_forget(struct tree *t);
bool tree_full(const struct tree *t);

/* The directory that the lake's file `path` lies in; *fd_out is -1 when it is missing and create is
 * false. Borrowed until tree_forget; call that when tree_full says so. ERR_USAGE when something in
 * the way is a link or a file. */
int tree_dir(struct tree *t, const char *path, bool create, int *fd_out, struct err *e);

/* A file that gets its name when it is complete: where the file system can, it has none before, so
 * that a kill leaves nothing behind. */
struct tree_file {
    int dir, fd;
    char name[40]; /* a temporary one; "" = none */
};
int tree_file_create(
    struct tree_file *f, const struct tree *t, int dir, bool executable, struct err *e);
/* Puts it under its name. replace: over a file that is there, else that is ERR_USAGE. */
int tree_file_place(struct tree_file *f, const char *name, bool replace, struct err *e);
/* Removes it, unless it was placed. */
void tree_file_clear(struct tree_file *f);
/* Only a name that no file has. */
void tree_file_name(struct tree_file *f, int dir);
/* Whether a name is one of those above: a file that a killed process left. */
bool tree_is_leftover(const char *name);

#endif
