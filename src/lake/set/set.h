/* set: file sets: named, versioned lists of file versions. */
#ifndef LAKE_SET_SET_H
#define LAKE_SET_SET_H

#include "lake/core/ref.h"

struct lake_set {
    const char *name;
    int64_t number;
    int64_t version; /* id in table set_version */
    uint64_t files, bytes;
    struct lake_origin origin;
    bool removed;
    /* Of the set, all versions alike; told by lake_set_list and lake_set_get alone. */
    const char *owner, *group; /* group "" = none */
    unsigned mode;             /* 0666 style */
};

/* A path of which two references have different versions: the later reference wins. */
struct lake_set_conflict {
    const char *path;
    int64_t kept, dropped;
    const char *kept_of, *dropped_of; /* the references, as given */
};

struct lake_set_request {
    const char *name;
    const char *const *refs; /* of any kind but jobs */
    size_t n_refs;
    void (*conflict)(void *context, const struct lake_set_conflict *c); /* NULL = not told */
    void *context;
    struct lake_progress progress;
};

/* Creates the next version of a set, in one transaction. Errors: a reference that does not resolve;
 * a file that the caller may not read (ERR_DENIED) or whose content gc removed (ERR_NOTFOUND); no
 * file at all, or one file below another (ERR_USAGE). Every set version among the references
 * becomes a parent. Strings of *out (may be NULL) are borrowed from the request and the lake. */
int lake_set_create(struct lake *l,
                    const struct lake_set_request *request,
                    struct lake_set *out,
                    struct err *e);

typedef int lake_visit_set(void *context, const struct lake_set *set, struct err *e);

/* all_versions: every version of every set, else the latest of each that is left; by name, then
 * number. name NULL = all sets; a name that no set has is ERR_NOTFOUND. Removed ones, and sets the
 * caller may not read, are left out. */
int lake_set_list(struct lake *l,
                  const char *name,
                  bool all_versions,
                  lake_visit_set *visit,
                  void *context,
                  struct err *e);
/* The set version a SET reference names, removed or not, in one call of visit. */
int lake_set_get(struct lake *l,
                 const struct lake_ref *ref,
                 lake_visit_set *visit,
                 void *context,
                 struct err *e);
/* Set versions this one was made from, as "@A:1", in the order of the request. Needs LAKE_READ on
 * the set itself; parents the caller may not read are named all the same, as lake_trace does. */
int lake_set_parents(
    struct lake *l, int64_t set_version, lake_visit_text *visit, void *context, struct err *e);

enum lake_set_change { LAKE_SET_ADDED, LAKE_SET_REMOVED, LAKE_SET_CHANGED };
typedef int lake_visit_change(void *context,
                              enum lake_set_change change,
                              const struct lake_entry *before,
                              const struct lake_entry *after,
                              struct err *e);
/* The changes from a to b (SET references), in order of the paths; before is NULL for an added
 * file, after for a removed one. Files that the caller may not read are left out. */
int lake_set_diff(struct lake *l,
                  const struct lake_ref *a,
                  const struct lake_ref *b,
                  lake_visit_change *visit,
                  void *context,
                  struct err *e);

/* `alias` of the set now stands for ref's version (SET, whole). Needs LAKE_WRITE. */
int lake_alias_set(struct lake *l, const struct lake_ref *ref, const char *alias, struct err *e);
/* "@S:prod". ERR_NOTFOUND when there is none. Needs LAKE_WRITE. */
int lake_alias_remove(struct lake *l, const char *text, struct err *e);
/* By set, then alias; of sets the caller may read. */
int lake_alias_list(
    struct lake *l,
    int (*visit)(void *context, const char *set, const char *alias, int64_t number, struct err *e),
    void *context,
    struct err *e);

/* ---- set versions whose content gc removed, and replays that restore it ---- */

/* On a set version that a replay made because it differs from what was recorded; its value is the
 * recorded one: "@S:3". */
#define LAKE_TAG_NON_DETERMINISTIC "non_deterministic"

/* The job that made the set version; 0 = none did. */
int lake_set_maker(struct lake *l, int64_t set_version, int64_t *job_out, struct err *e);

struct lake_gone {
    uint64_t files, bytes;
};
/* The missing content of a set version, or of the part that ref names. */
int lake_set_gone(struct lake *l, const struct lake_ref *ref, struct lake_gone *out, struct err *e);

/* Creates the next version of base's set from base: files that base has from old_set are replaced
 * by the files that new_set has in the same directories. Where base has a whole directory of
 * old_set, the new version has the whole directory of new_set; where base has a single file, that
 * file. */
struct lake_swap {
    const char *old_set, *new_set; /* "@S:1", "@S:2" */
};
int lake_set_swap(struct lake *l,
                  const struct lake_ref *base,
                  const struct lake_swap *swaps,
                  size_t n,
                  struct lake_set *out, /* its name is borrowed from base */
                  struct err *e);

#endif
