/* clean: removal, garbage collection, pins, and checks of a lake's integrity. */
#ifndef LAKE_CLEAN_CLEAN_H
#define LAKE_CLEAN_CLEAN_H

#include "lake/core/ref.h"

#include <sys/types.h>

/* References of file versions and whole set versions; all or none. */
int lake_pin(struct lake *l, const char *const *refs, size_t n, struct err *e);
int lake_unpin(struct lake *l, const char *const *refs, size_t n, struct err *e);
/* Of what the caller may read. */
int lake_pin_list(struct lake *l, lake_visit_text *visit, void *context, struct err *e);

struct lake_gc_options {
    bool remove;      /* else only look */
    bool keep_latest; /* the newest version of every listed file counts as needed */
    /* Ids of set versions from lake_spare_list: only their content is removed, unless something
     * else needs it; set versions that are no longer spare keep theirs. n 0: all content that
     * nothing needs is removed. */
    const int64_t *release;
    size_t n_release;
    struct lake_progress progress;
};

struct lake_gc_summary {
    uint64_t versions;                  /* file versions whose content goes */
    uint64_t latest_versions;           /* of these: the newest of a listed file */
    uint64_t objects, bytes;            /* contents that go */
    uint64_t blobs, blob_bytes;         /* whole blobs removed: space that comes back at once */
    uint64_t rewritten_bytes;           /* packs with little left in them are written anew */
    uint64_t leftovers, leftover_bytes; /* of interrupted writers */
    uint64_t sessions_expired;
    uint64_t busy; /* packs left alone: a writer appends to them */
};

/* Removes content that no set, job, pin or pending session needs. visit (may be NULL) gets every
 * file version whose content goes, "/p#2", and its size. Safe beside any other command and after
 * any kill. */
int lake_gc(struct lake *l,
            const struct lake_gc_options *options,
            int (*visit)(void *context, const char *ref, uint64_t size, struct err *e),
            void *context,
            struct lake_gc_summary *summary,
            struct err *e);

struct lake_fsck_summary {
    uint64_t files, bytes; /* file versions whose content was read and verified, and its size */
    uint64_t problems;
    uint64_t leftovers,
        leftover_bytes;   /* unfinished or unreferenced: gc removes them; no problem */
    uint64_t modes_fixed; /* files and directories that others could read; by the caller */
};

/* Reads everything. problem gets each fault in words that name the file or set version. */
int lake_fsck(struct lake *l,
              const struct lake_progress *progress,
              int (*problem)(void *context, const char *text, struct err *e),
              void *context,
              struct lake_fsck_summary *summary,
              struct err *e);

/* Who may read what lies in a home and its store: its owner alone, or a group that shares it
 * (base/file.h). The jobs of a shared home stay private. */
#define LAKE_MODES_ANY_GROUP ((gid_t)-1)
struct lake_modes {
    const char *home;
    const char *store; /* its directory; NULL = it is none */
    bool fix;          /* takes away what others may */
    bool share;        /* gives the home to the group, besides fix */
    gid_t group;       /* of a shared home; LAKE_MODES_ANY_GROUP: whichever it is */
    uint64_t most;     /* entries to look at; 0 = all */
};
struct lake_modes_report {
    bool is_shared;
    uint64_t seen, wrong, failed; /* failed: of the wrong, those that could not be fixed */
    char first[512];              /* of the wrong */
    char first_failed[512];       /* with the reason */
};
int lake_modes(const struct lake_modes *modes, struct lake_modes_report *out, struct err *e);

/* A set version whose content gc may remove: a job made it, it has no pin and no alias, no job
 * that is not over works on it, and no replay of it gave something else. */
struct lake_spare {
    int64_t version; /* id in table set_version */
    const char *ref; /* "@S:3" */
    int64_t job;
    uint64_t only_bytes; /* of content that is there and that nothing else holds: sets made from it
                          * by hand do not count, they come back with it */
};
typedef int lake_visit_spare(void *context, const struct lake_spare *spare, struct err *e);
/* In order of age. For the project's admin. */
int lake_spare_list(struct lake *l, lake_visit_spare *visit, void *context, struct err *e);

#endif
