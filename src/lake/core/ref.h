/* ref: references as users type them, and the files they stand for.
 *     /p  /p#2  /p:2  /p#*  /dir/  /p@S:1  /dir/@S  /@S  @S  @S:3  @S:prod  job:7 */
#ifndef LAKE_CORE_REF_H
#define LAKE_CORE_REF_H

#include "lake/core/lake.h"

enum lake_ref_kind {
    LAKE_REF_FILE, /* one version of one file, by number, as latest, or as a set holds it */
    LAKE_REF_PATH, /* a file as a whole, all its versions: /p#* */
    LAKE_REF_TREE, /* latest versions of the files below a directory */
    LAKE_REF_SET,  /* a set version, or the part of it below a directory */
    LAKE_REF_JOB,
};

enum lake_access { LAKE_READ = 1, LAKE_WRITE = 2 };

/* Resolved: everything named exists. Who takes one checks project and may. */
struct lake_ref {
    enum lake_ref_kind kind;
    int64_t project; /* id */
    unsigned may; /* what the caller may: LAKE_READ, LAKE_WRITE; each file of a TREE has its own */
    char *path;   /* FILE, PATH: the file's; TREE, SET: directory with '/' at the end */
    int64_t file; /* FILE, PATH: id in table file */
    int64_t version;     /* FILE: id in table version */
    int64_t number;      /* FILE: version number; SET: the set's version number; JOB: its number */
    char *set_name;      /* when it came by a set, else NULL */
    int64_t set;         /* by a set: id in table fileset */
    int64_t set_version; /* by a set: id in table set_version */
    bool whole;          /* no version was named, be it by number or by a set */
};
void lake_ref_clear(struct lake_ref *r);

/* Resolves text. A path that exists literally wins over a suffix; %23 %3A %40 %25 are escapes;
 * a directory may be written without its '/' when no file has that name. A missing thing is
 * ERR_NOTFOUND with the nearest that exists; what cannot be read as a reference ERR_USAGE; without
 * the permissions asked for ERR_DENIED. */
int lake_resolve(
    struct lake *l, const char *text, unsigned access, struct lake_ref *out, struct err *e);

/* References that lake_resolve reads back to the same thing: "/p#2", "/a%23b#1", "@S:1". */
char *lake_file_ref(const char *path, int64_t number);
char *lake_ref_of_set(const char *name, int64_t number);
char *lake_path_ref(const char *path); /* "/p#*" */
/* The reference as resolved: "/p#2", "/p#*", "/dir/", "@S:1", "/dir/@S:1", "job:7". */
char *lake_ref_text(const struct lake_ref *r);

/* A file version among those a reference stands for; borrowed for the call. */
struct lake_entry {
    const char *path;
    int64_t number;
    int64_t version; /* id */
    uint64_t size;
    bool gone; /* its content was removed by gc; never told of what a set holds */
};

/* A reference, a key or another text; borrowed for the call. */
typedef int lake_visit_text(void *context, const char *text, struct err *e);
typedef int lake_visit_entry(void *context, const struct lake_entry *entry, struct err *e);

/* For listings: calls visit for each file of the reference, in byte order of the paths. TREE leaves
 * out files that were removed or may not be read, SET those that may not. PATH: its latest version.
 * JOB: ERR_USAGE. visit does not walk itself, nor begin a transaction: it stands in the middle of a
 * query. */
int lake_each_file(struct lake *l,
                   const struct lake_ref *r,
                   lake_visit_entry *visit,
                   void *context,
                   struct err *e);
/* The same for those who need all of them: the first file that may not be read ends it with
 * ERR_DENIED that names it. */
int lake_every_file(struct lake *l,
                    const struct lake_ref *r,
                    lake_visit_entry *visit,
                    void *context,
                    struct err *e);

#endif
