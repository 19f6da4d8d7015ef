/* session: an upload in steps: begin with the paths, upload the content, finish. A session outlives
 * every process that takes part. */
#ifndef LAKE_PUT_SESSION_H
#define LAKE_PUT_SESSION_H

#include "lake/put/put.h"

enum lake_session_state {
    LAKE_SESSION_PENDING,
    LAKE_SESSION_COMMITTED,
    LAKE_SESSION_ABORTED,
    LAKE_SESSION_EXPIRED,
};

struct lake_target {
    const char *path;
    bool size_known;
    uint64_t size;                      /* what must arrive, when known beforehand */
    const struct sha256_digest *digest; /* the same; NULL = not known */
};

struct lake_session {
    int64_t id;
    enum lake_session_state state;
    struct lake_origin origin;
    int64_t expires_ms;
    const char *put; /* the put that was interrupted, as a command line; NULL = begun by hand */
    const char *set; /* NULL = none */
    uint64_t files, arrived, bytes_arrived;
};

struct lake_session_file {
    uint64_t seq; /* place in the request, from 0 */
    const char *path;
    bool arrived;
    bool committed;
    int64_t number; /* once committed */
    bool size_known;
    uint64_t size; /* asked for or arrived */
    bool digest_known;
    struct sha256_digest digest;
    const char *object; /* name of the upload target in the store */
    bool unchanged;     /* once committed: the latest version had this content already */
};

/* expires_s 0 = one day from the last sign of life. set and tags as in put; may be NULL. */
int lake_session_begin(struct lake *l,
                       const struct lake_target *targets,
                       size_t n,
                       const struct lake_put_options *like, /* set, tags, force; NULL = none */
                       double expires_s,
                       int64_t *id_out,
                       struct err *e);
/* A URL for one pending file, made now (renewable by asking again). ERR_NOFIT for dir. */
int lake_session_url(struct lake *l,
                     int64_t id,
                     const char *path,
                     unsigned expires_s,
                     struct store_url *out,
                     struct err *e);
/* Stores a local file as the content of one pending path; again replaces it. */
int lake_session_put(struct lake *l,
                     int64_t id,
                     const char *path,
                     const char *local_file,
                     const struct lake_progress *progress,
                     struct err *e);
/* Reads and checks content uploaded by URL, then commits. Missing content, or another length or
 * digest than announced: ERR_USAGE names the files, and the session stays pending; refused content
 * is removed, so that its URL takes the right content. Repeatable, with the same answer. */
int lake_session_finish(struct lake *l,
                        int64_t id,
                        lake_visit_put *visit,
                        void *context,
                        struct lake_put_summary *summary,
                        struct err *e);
/* Removes what arrived and the state; repeatable. A committed session: ERR_USAGE. */
int lake_session_abort(struct lake *l, int64_t id, struct err *e);

/* The caller's own sessions, or every user's for admins. id 0 = all that are pending; another
 * user's session is ERR_DENIED, here and in lake_session_files. */
typedef int lake_visit_session(void *context, const struct lake_session *s, struct err *e);
int lake_session_list(
    struct lake *l, int64_t id, lake_visit_session *visit, void *context, struct err *e);
typedef int lake_visit_session_file(void *context,
                                    const struct lake_session_file *f,
                                    struct err *e);
int lake_session_files(
    struct lake *l, int64_t id, lake_visit_session_file *visit, void *context, struct err *e);

#endif
