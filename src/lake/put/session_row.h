/* session_row: sessions as the database has them, and the locks of those that work on one. */
#ifndef LAKE_PUT_SESSION_ROW_H
#define LAKE_PUT_SESSION_ROW_H

#include "lake/core/internal.h"
#include "lake/put/session.h"

#define SESSION_LASTS_MS ((int64_t)24 * 3600 * 1000)
/* How long after its end gc leaves its row. */
#define SESSION_REMEMBERED_MS (30 * SESSION_LASTS_MS)

/* What the commit of a session needs to know besides its files. */
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
/* ERR_USAGE that says what became of it, when it is not pending. */
int session_row_pending(const struct session_row *r, struct err *e);
/* ERR_USAGE for what an interrupted put left: it is gone on with by the same put alone. */
int session_row_by_hand(const struct session_row *r, struct err *e);

/* In a transaction, as all below. */
int session_row_new(struct lake *l,
                    const char *owner,
                    const char *put,
                    const char *request,
                    int64_t lasts_ms,
                    int64_t *id_out,
                    struct err *e);
/* A sign of life: the time to expiry begins anew. ERR_USAGE when it is pending no more. */
int session_row_renew(struct lake *l, int64_t id, struct err *e);
/* Every session past its time ends, and the lists of files of all that ended are dropped. One that
 * a put at work still holds is renewed instead, be it that the put takes days or that the clock has
 * jumped. */
int session_row_expire(struct lake *l, uint64_t *expired_out, struct err *e);
/* The session and its list of files vanish. */
int session_row_remove(struct lake *l, int64_t id, struct err *e);

/* A put at work holds a lock that ends with its process, so that another run of the same put can
 * tell a session left behind from a live one. */
struct session_hold {
    int64_t id; /* 0 = none */
    int lock;
    bool resumed;
};
/* The session an interrupted run of the owner's same put left, or a new one. Commits. */
int session_hold_take(struct lake *l,
                      const char *owner,
                      const char *put,
                      const char *request,
                      struct session_hold *out,
                      struct err *e);
/* Whether a run of the same put began one that is not over: 1, 0, -1. */
int session_hold_left(struct lake *l, const char *owner, const char *put, struct err *e);
void session_hold_clear(struct session_hold *h);

#endif
