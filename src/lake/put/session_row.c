/* Upload sessions as rows of the database, and the locks of running puts. put, sessions and gc call
 * it. */
#include "lake/put/internal.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PENDING_MAX 1000

/* ---- the request ---- */

void session_request_clear(struct session_request *r)
{
    free(r->set);
    for (size_t i = 0; i < r->n_tags; i++)
        free(r->tags[i]);
    free(r->tags);
    *r = (struct session_request){0};
}

char *session_request_text(const struct lake_put_options *o)
{
    AUTO_JSON json_t *root = json_object();
    AUTO_JSON json_t *tags = json_array();

    for (size_t i = 0; o && i < o->n_tags; i++)
        json_array_append_new(tags, json_string(o->tags[i]));
    json_object_set(root, "tags", tags);
    json_object_set_new(root, "set", o && o->set ? json_string(o->set) : json_null());
    json_object_set_new(root, "force", json_boolean(o && o->force));
    AUTO_MEM char *text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
    return mem_dup(text ? text : "{}");
}

int session_request_read(const char *text, struct session_request *out, struct err *e)
{
    AUTO_JSON json_t *root = json_loads(text, 0, NULL);
    const char *set = json_string_value(json_object_get(root, "set"));
    const json_t *tags = json_object_get(root, "tags");

    *out = (struct session_request){0};
    if (!root)
        return err_set(e, ERR_IO, "the lake's record of the session is damaged");
    out->set = set ? mem_dup(set) : NULL;
    out->force = json_is_true(json_object_get(root, "force"));
    out->tags = mem_zero(json_array_size(tags) + 1, sizeof *out->tags);
    for (size_t i = 0; i < json_array_size(tags); i++) {
        const char *tag = json_string_value(json_array_get(tags, i));
        if (tag)
            out->tags[out->n_tags++] = mem_dup(tag);
    }
    return 0;
}

/* ---- rows ---- */

void session_row_clear(struct session_row *r)
{
    free(r->creator);
    free(r->put);
    free(r->request);
    *r = (struct session_row){0};
}

int session_row_get(struct lake *l, int64_t id, struct session_row *out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT state, creator, create_time, expires, put, request,"
                 " set_version FROM session WHERE id = $1 AND project = $2",
                 DB_INT(id), DB_INT(l->project));

    *out = (struct session_row){.id = id};
    int found = db_step(q, e);
    if (found == 0)
        return err_set(e, ERR_NOTFOUND,
                       "there is no session %lld; it was finished, aborted or cleaned up",
                       (long long)id);
    if (found < 0)
        return -1;
    out->state = (enum lake_session_state)db_int(q, 0);
    out->creator = mem_dup(db_text(q, 1));
    out->create_time_ms = db_int(q, 2);
    out->expires_ms = db_int(q, 3);
    out->put = db_is_null(q, 4) ? NULL : mem_dup(db_text(q, 4));
    out->request = mem_dup(db_text(q, 5));
    out->set_version = db_int(q, 6);
    if (out->state == LAKE_SESSION_PENDING && out->expires_ms < lake_now_ms(l))
        out->state = LAKE_SESSION_EXPIRED;
    return 0;
}

int session_row_may(struct lake *l, const struct session_row *r, struct err *e)
{
    if (l->admin || strcmp(r->creator, l->user) == 0)
        return 0;
    AUTO_MEM char *what = mem_printf("session %lld", (long long)r->id);
    return lake_denied(l, what, r->creator, LAKE_WRITE, e);
}

int session_row_pending(const struct session_row *r, struct err *e)
{
    char when[32];

    switch (r->state) {
    case LAKE_SESSION_PENDING:
        return 0;
    case LAKE_SESSION_COMMITTED:
        return err_set(e, ERR_USAGE, "session %lld is committed", (long long)r->id);
    case LAKE_SESSION_EXPIRED:
        return err_set(e, ERR_USAGE, "session %lld expired at %s; begin a new one",
                       (long long)r->id, time_iso(r->expires_ms, when));
    case LAKE_SESSION_ABORTED:
        break;
    }
    return err_set(e, ERR_USAGE, "session %lld was aborted; begin a new one", (long long)r->id);
}

int session_row_by_hand(const struct session_row *r, struct err *e)
{
    if (!r->put)
        return 0;
    if (strncmp(r->put, "job:", 4) == 0)
        return err_set(e, ERR_USAGE, "session %lld is of %s, which ends it itself",
                       (long long)r->id, r->put);
    return err_set(e, ERR_USAGE,
                   "session %lld is an interrupted put: run it again (tradewind %s) or "
                   "`tradewind session abort %lld`",
                   (long long)r->id, r->put, (long long)r->id);
}

int session_row_new(
    struct lake *l, const struct session_put *put, int64_t lasts_ms, int64_t *id_out, struct err *e)
{
    int64_t now = lake_now_ms(l);

    if (db_ids(l->db, "session", 1, id_out, e) < 0)
        return -1;
    return db_run(l->db, e,
                  "INSERT INTO session (id, project, creator, create_time, expires, lasts_ms,"
                  " state, put, request) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                  DB_INT(*id_out), DB_INT(l->project), DB_TEXT(put->owner), DB_INT(now),
                  DB_INT(now + lasts_ms), DB_INT(lasts_ms), DB_INT(LAKE_SESSION_PENDING),
                  DB_TEXT(put->text), DB_TEXT(put->request));
}

int session_row_renew(struct lake *l, int64_t id, struct err *e)
{
    int64_t same;
    int found = db_get_int(l->db, e, &same,
                           "UPDATE session SET expires = $1 + lasts_ms"
                           " WHERE id = $2 AND state = $3 RETURNING id",
                           DB_INT(lake_now_ms(l)), DB_INT(id), DB_INT(LAKE_SESSION_PENDING));

    if (found == 0)
        return err_set(e, ERR_USAGE,
                       "session %lld was ended by another process, and its stored content is gone: "
                       "run the put again, or begin another session",
                       (long long)id);
    return found < 0 ? -1 : 0;
}

int session_row_remove(struct lake *l, int64_t id, struct err *e)
{
    if (db_run(l->db, e, "DELETE FROM session_file WHERE session = $1", DB_INT(id)) < 0)
        return -1;
    return db_run(l->db, e, "DELETE FROM session WHERE id = $1", DB_INT(id));
}

int session_row_remove_put(struct lake *l, const char *put, struct err *e)
{
    return db_run(l->db, e,
                  "DELETE FROM session_file WHERE session IN (SELECT id FROM session"
                  " WHERE project = $1 AND state = $2 AND put = $3)",
                  DB_INT(l->project), DB_INT(LAKE_SESSION_PENDING), DB_TEXT(put)) < 0
               ? -1
               : db_run(l->db, e,
                        "DELETE FROM session WHERE project = $1 AND state = $2 AND put = $3",
                        DB_INT(l->project), DB_INT(LAKE_SESSION_PENDING), DB_TEXT(put));
}

/* ---- holding ---- */

static int open_locks(const struct lake *l)
{
    if (!l->home)
        return -1;
    AUTO_MEM char *path = mem_printf("%s/session.lock", l->home);
    return file_open_own(path, O_RDWR, FILE_OWN);
}

/* One byte of the file stands for one session. */
static bool try_lock(int fd, int64_t id)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = id, .l_len = 1};

    return fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

void session_hold_clear(struct session_hold *h)
{
    if (h->id && h->lock >= 0)
        close(h->lock);
    *h = (struct session_hold){0};
}

/* Sessions that runs of the same put began. */
static struct db_query *query_left(struct lake *l, const struct session_put *put, struct err *e)
{
    return db_query(l->db, e,
                    "SELECT id FROM session WHERE project = $1 AND state = $2"
                    " AND creator = $3 AND put = $4 AND expires >= $5"
                    " ORDER BY id DESC LIMIT $6",
                    DB_INT(l->project), DB_INT(LAKE_SESSION_PENDING), DB_TEXT(put->owner),
                    DB_TEXT(put->text), DB_INT(lake_now_ms(l)), DB_INT(PENDING_MAX));
}

int session_hold_left(struct lake *l, const struct session_put *put, struct err *e)
{
    AUTO_RESET struct db_query *q = query_left(l, put, e);

    return db_step(q, e);
}

/* In a transaction, so that no two runs take the same one. */
static int find_left(struct lake *l,
                     const struct session_put *put,
                     struct session_hold *h,
                     struct err *e)
{
    AUTO_RESET struct db_query *q = query_left(l, put, e);
    int row;

    while ((row = db_step(q, e)) > 0) {
        int64_t id = db_int(q, 0);
        if (!try_lock(h->lock, id))
            continue;
        h->id = id;
        h->resumed = true;
        return 0;
    }
    return row;
}

static int take(struct lake *l,
                const struct session_put *put,
                struct session_hold *h,
                struct err *e)
{
    if (find_left(l, put, h, e) < 0)
        return -1;
    if (h->id)
        return session_row_renew(l, h->id, e);
    if (session_row_new(l, put, SESSION_LASTS_MS, &h->id, e) < 0)
        return -1;
    (void)try_lock(h->lock, h->id);
    return 0;
}

int session_hold_take(struct lake *l,
                      const struct session_put *put,
                      struct session_hold *out,
                      struct err *e)
{
    struct session_hold h = {.lock = open_locks(l)};

    if (db_begin(l->db, e) == 0 && db_end(l->db, take(l, put, &h, e), e) == 0) {
        *out = h;
        return 0;
    }
    if (h.lock >= 0)
        close(h.lock);
    return -1;
}

/* ---- expiry ---- */

static bool is_held(int fd, int64_t id)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = id, .l_len = 1};

    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* sql: $1 the project, $2 the state of pending ones, $3 now, $4 is given. */
static struct db_query *query_overdue(struct lake *l,
                                      const char *sql,
                                      struct db_value fourth,
                                      struct err *e)
{
    return db_query(l->db, e, sql, DB_INT(l->project), DB_INT(LAKE_SESSION_PENDING),
                    DB_INT(lake_now_ms(l)), fourth);
}

/* The oldest session past its time behind id `after`: 1, 0 or -1. */
static int next_overdue(struct lake *l, int64_t after, int64_t *id_out, struct err *e)
{
    return db_take_int(query_overdue(l,
                                     "SELECT id FROM session WHERE project = $1 AND state = $2"
                                     " AND expires < $3 AND id > $4 ORDER BY id LIMIT 1",
                                     DB_INT(after), e),
                       id_out, e);
}

static int renew_held(struct lake *l, struct err *e)
{
    int fd = open_locks(l);
    int64_t id = 0;
    int found;

    while ((found = next_overdue(l, id, &id, e)) > 0) {
        if (is_held(fd, id) && session_row_renew(l, id, e) < 0) {
            found = -1;
            break;
        }
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* Ended sessions stay for a while: clients ask what became of them. */
static int forget_old(struct lake *l, struct err *e)
{
    static const char *const statements[] = {
        "DELETE FROM session_file WHERE session IN (SELECT id FROM session"
        " WHERE project = $1 AND state <> $2 AND expires < $3 - $4)",
        "DELETE FROM session WHERE project = $1 AND state <> $2 AND expires < $3 - $4",
    };

    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (db_finish(query_overdue(l, statements[i], DB_INT(SESSION_REMEMBERED_MS), e), e) < 0)
            return -1;
    return 0;
}

int session_row_expire(struct lake *l, uint64_t *expired_out, struct err *e)
{
    if (renew_held(l, e) < 0 || forget_old(l, e) < 0)
        return -1;
    struct db_query *q = query_overdue(
        l, "UPDATE session SET state = $4 WHERE project = $1 AND state = $2 AND expires < $3",
        DB_INT(LAKE_SESSION_EXPIRED), e);
    if (db_finish(q, e) < 0)
        return -1;
    *expired_out = (uint64_t)db_changes(l->db);
    q = query_overdue(l,
                      "DELETE FROM session_file WHERE session IN (SELECT id FROM session"
                      " WHERE project = $1 AND state <> $2 AND expires < $3)",
                      DB_NULL, e);
    return db_finish(q, e);
}
