/* source: the local files a put names, and the path each gets in the lake. Kept small: a million
 * files must fit in a quarter of a gigabyte with everything else. */
#ifndef LAKE_PUT_SOURCE_H
#define LAKE_PUT_SOURCE_H

#include "base/auto.h"
#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Room for any path below. */
#define SOURCE_PATH_MAX 8192

/* What tells that a file is still the one that was read. */
struct source_stamp {
    uint64_t device, inode, size;
    int64_t mtime_ns, ctime_ns;
};
struct source_stamp source_stamp_of(const struct stat *st);
bool source_stamp_equal(const struct source_stamp *a, const struct source_stamp *b);

struct source_file {
    struct source_stamp stamp;
    struct sha256_digest digest; /* when known is true */
    int64_t object;              /* content in the lake; 0 = not (yet) */
    /* Of the path's newest version, 0 = none; after the commit, of the one made: */
    int64_t version; /* id */
    int64_t number;
    uint32_t dir; /* private to source.c, like name */
    uint32_t name;
    bool executable;
    bool known;     /* the digest */
    bool same;      /* object is that of the newest version */
    bool quiet;     /* had not changed for a while when it was read: its stamp can be trusted */
    bool pending;   /* stored, but not recorded yet */
    bool vacant;    /* neither its path nor anything below is in the lake, in the commit */
    bool unchanged; /* after the commit: no new version was made */
};

struct source_list {
    struct source_file *files; /* in the order of the request; within a directory by name */
    size_t n_files, files_bytes;
    uint32_t *by_path; /* indices of files in byte order of their lake paths; NULL = as they are */
    uint64_t bytes;
    uint64_t skipped; /* links to directories, sockets and such */
    int spool;        /* standard input, copied; -1 = none */
    struct source_root *roots;
    size_t n_roots, cap_roots;
    struct source_dir *dirs;
    size_t n_dirs, cap_dirs;
    char *names;
    size_t names_len, names_bytes;
};
void source_list_free(struct source_list *s);
AUTO_DEFINE(source_list)

/* Asked now and then while standard input is read; false = stop (ERR_RETRY "interrupted"). */
struct source_watch {
    bool (*go_on)(void *context, uint64_t bytes);
    void *context;
};

/* Looks at everything the sources name, as cp -r does: a destination that ends in '/' receives each
 * under its own name, "x/." and ".." stand for what they hold; else the one source becomes exactly
 * that path. Links to files are followed, links to directories and special files left out with a
 * warning. ERR_USAGE names the local file that cannot have a path in the lake, or shares it with
 * another; a source that is missing or may not be read is an error. Nothing is written. */
struct source_list *source_scan(const char *const *sources,
                                size_t n,
                                const char *destination,
                                const struct source_watch *watch,
                                struct err *e);

/* Index of the nth file in byte order of the lake paths. */
size_t source_nth(const struct source_list *s, size_t n);
/* SOURCE_REAL is absolute, for remembering. */
enum source_side { SOURCE_LAKE, SOURCE_LOCAL, SOURCE_REAL };
/* The path of file i on that side, built at the end of out; the result points into out. NULL for
 * the real path of what has none (standard input, names that are not UTF-8). */
const char *source_path(const struct source_list *s,
                        size_t i,
                        enum source_side side,
                        char out[static SOURCE_PATH_MAX]);
/* A local name as it may be printed: what could steer a terminal becomes '?'. New string. */
char *source_printable(const char *path);

#endif
