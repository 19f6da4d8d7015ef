/* internal: sessions, commits and gets as the files of lake/put and lake/clean share them. */
#ifndef LAKE_PUT_INTERNAL_H
#define LAKE_PUT_INTERNAL_H

#include "lake/core/internal.h"
#include "lake/put/put.h"
#include "lake/put/session.h"
#include "lake/put/source.h"
#include "lake/put/tree.h"

#include <pthread.h>

/* ---- session_row.c: sessions as rows, and the locks of puts at work ---- */

#define SESSION_LASTS_MS ((int64_t)24 * 3600 * 1000)
/* How long gc keeps the row of an ended session. */
#define SESSION_REMEMBERED_MS (30 * SESSION_LASTS_MS)

/* The set, tags and options of a session's commit. */
struct session_request {
    char *set; /* NULL = none */
    char **tags;
    size_t n_tags;
    bool force;
};
void session_request_clear(struct session_request *r);
char *session_request_text(const struct lake_put_options *o);
int session_request_read(const char *text, struct session_request *out, struct err *e);

struct session_row {
    int64_t id;
    enum lake_session_state state; /* pending past its time is EXPIRED */
    char *creator;
    int64_t create_time_ms, expires_ms;
    char *put;
    char *request;
    int64_t set_version;
};
void session_row_clear(struct session_row *r);
/* ERR_NOTFOUND when the project has none with that number. */
int session_row_get(struct lake *l, int64_t id, struct session_row *out, struct err *e);
/* ERR_DENIED for the session of another, unless the caller is an admin. */
int session_row_may(struct lake *l, const struct session_row *r, struct err *e);
/* ERR_USAGE with the session's end, when the session is not pending. */
int session_row_pending(const struct session_row *r, struct err *e);
/* ERR_USAGE for the session of an interrupted put: only the same put resumes it. */
int session_row_by_hand(const struct session_row *r, struct err *e);

/* What a session is begun for. */
struct session_put {
    const char *owner;
    const char *text; /* the put's command line; NULL = begun by hand */
    const char *request;
};
/* In a transaction, as all below. */
int session_row_new(struct lake *l,
                    const struct session_put *put,
                    int64_t lasts_ms,
                    int64_t *id_out,
                    struct err *e);
/* A sign of life: the time to expiry begins anew. ERR_USAGE when it is pending no more. */
int session_row_renew(struct lake *l, int64_t id, struct err *e);
/* Expires every session past its time, and drops the file lists of all ended sessions. A session
 * that a running put holds is renewed instead: the put takes days, or the clock has jumped. */
int session_row_expire(struct lake *l, uint64_t *expired_out, struct err *e);
/* Removes the session and its list of files. */
int session_row_remove(struct lake *l, int64_t id, struct err *e);
/* The same for the pending sessions of this put: no later put continues it. */
int session_row_remove_put(struct lake *l, const char *put, struct err *e);

/* A running put holds a lock that ends with its process, so that another run of the same put can
 * tell an interrupted session from a running one. */
struct session_hold {
    int64_t id; /* 0 = none */
    int lock;
    bool resumed;
};
/* The session an interrupted run of the owner's same put left, or a new one. Commits. */
int session_hold_take(struct lake *l,
                      const struct session_put *put,
                      struct session_hold *out,
                      struct err *e);
/* Whether a run of the same put has a pending session: 1, 0, -1. */
int session_hold_left(struct lake *l, const struct session_put *put, struct err *e);
void session_hold_clear(struct session_hold *h);

/* ---- commit.c: the transaction that numbers the versions of a put or a session ---- */

struct commit_file {
    const char *path; /* borrowed until the next one is asked for */
    int64_t object;   /* present */
    uint64_t size;
    bool executable;
    bool vacant;              /* as in version_new */
    struct version_done done; /* once added */
};

/* The files, wherever the caller keeps them. */
struct commit_list {
    const char *owner; /* of files and of a set that are new */
    size_t n;
    void (*get)(void *context, size_t i, struct commit_file *out);
    void (*done)(void *context, size_t i, const struct version_done *done);
    /* Index of the nth in byte order of the paths. */
    size_t (*by_path)(void *context, size_t n);
    void *context;
};

/* Versions in the order of the list, tags on the new ones, the set version. In a transaction, whose
 * commit is the caller's. set_version_out: id, 0 without a set. */
int commit_versions(struct lake *l,
                    const struct commit_list *list,
                    const struct lake_put_options *o, /* set, tags, force */
                    struct lake_put_summary *summary,
                    int64_t *set_version_out,
                    struct err *e);

/* Whether the files are just those that a set version holds: paths, content, executable or not: 1,
 * 0, -1. In a transaction. */
int commit_same(struct lake *l, const struct commit_list *list, int64_t set_version, struct err *e);

/* Further work in the transaction of a put. */
struct commit_also {
    const char *name;  /* instead of the put's command line: what an interrupted one is found by */
    const char *owner; /* of what is put, instead of the caller */
    /* Id of a set version that may be what is put: then nothing is made, and run gets this one; 0 =
     * none. unless_latest: the same of the latest version of the set. */
    int64_t unless;
    bool unless_latest;
    int (*run)(void *context, int64_t set_version, bool is_new, struct err *e);
    void *context;
};
/* lake_put with a set; without any files nothing happens, run is not called either. */
int put_also(struct lake *l,
             const struct lake_put_options *options,
             const struct commit_also *also,
             struct lake_put_summary *summary,
             struct err *e);

/* The names of the set and the tags. */
int put_check_options(const struct lake_put_options *o, struct err *e);

/* Whether the content of an object is there: 1, 0, -1. */
int commit_present(struct lake *l, int64_t object, struct err *e);

/* ---- target.c ---- */

struct target_kept {
    struct store_content content;
    size_t row; /* the caller's */
};

struct target_copies {
    struct lake *l;
    struct store *store;
    int64_t session;
    struct store_writer *writer; /* once a small content is copied */
    struct target_kept *kept;
    size_t n, cap;
    char (*copied)[STORE_BLOB_NAME]; /* targets that are not needed any more */
    size_t n_copied, cap_copied;
};

int target_copies_begin(struct target_copies *t, struct lake *l, int64_t session, struct err *e);
void target_copies_clear(struct target_copies *t);

/* What was sent to the target: 1, 0 when nothing was, -1. Small content is copied into packs, where
 * its sender cannot reach it any more; large content stays. wanted_size: another length is not read
 * at all, only told. */
int target_read(struct target_copies *t,
                const char *target,
                const uint64_t *wanted_size,
                struct store_content *out,
                struct err *e);
/* Takes the content over. */
int target_keep(struct target_copies *t, struct store_content *c, size_t row);
int target_flush(struct target_copies *t, struct err *e);
/* Removes a target whose content is not what was announced: URLs write only where nothing is, so
 * the right content could not be sent to it any more. */
int target_refuse(struct target_copies *t, const char *target, struct err *e);
/* Once the copies are recorded: removes the targets they were made of. */
void target_drop_copied(struct target_copies *t);

/* ---- put.c: the progress of puts and gets ---- */

struct put_progress {
    struct lake_progress to;
    uint64_t all_files, all_bytes;
    pthread_mutex_t lock; /* guards what follows */
    uint64_t files_done, bytes_done;
    bool stopped;
};
/* From any thread; ERR_RETRY "interrupted" when the progress says so. */
int put_tell(struct put_progress *p, uint64_t more_files, uint64_t more_bytes, struct err *e);

/* ---- get.c, get_look.c, get_write.c ---- */

/* A group of files is looked at or written together. */
#define GET_GROUP_FILES 1024
#define GET_GROUP_BYTES ((uint64_t)16 << 20)
#define GET_NAMED_MAX 5

enum get_state { GET_NEW, GET_REPLACE, GET_UNCHANGED };

struct get_entry {
    size_t path; /* where in paths */
    int64_t version;
    uint64_t size;
    enum get_state state;
};

/* Some names of many. */
struct get_names {
    uint64_t n;
    char text[300];
};
void get_names_add(struct get_names *names, const char *name);

struct get {
    struct lake *l;
    const struct lake_get_options *o;
    struct lake_get_summary *summary;
    struct get_entry *entries; /* in byte order of the paths */
    size_t n_entries, cap_entries;
    char *paths;
    size_t paths_len, paths_cap;
    struct tree tree;
    struct put_progress progress; /* its lock guards what follows, and the summary */
    struct get_names damaged, gone;
    struct err first; /* the first damage, in its own words */
};

const char *get_path(const struct get *g, size_t i);
/* What a file version holds. *executable_out may be NULL. */
int get_object(
    struct lake *l, int64_t version, struct object *out, bool *executable_out, struct err *e);
/* The digest of what an open file holds. */
int get_hash(int fd, const char *name, struct sha256_digest *out, struct err *e);

/* Fills in the states. ERR_USAGE names differing files, unless force. */
int get_look(struct get *g, struct err *e);
/* Writes what is not unchanged. */
int get_write(struct get *g, struct err *e);

#endif
