#include "lake/put/session.h"

#include "base/mem.h"
#include "lake/core/path.h"
#include "lake/put/internal.h"
#include "lake/put/upload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LASTS_MAX_S (366.0 * 86400)

/* ---- begin ---- */

static int compare_targets(const void *a, const void *b)
{
    const struct lake_target *const *x = a, *const *y = b;

    return strcmp((*x)->path, (*y)->path);
}

/* Refuses a target that lies below another. */
static int check_above(const struct lake_target *const *sorted, size_t n, size_t i, struct err *e)
{
    char above[LAKE_PATH_MAX + 1];
    const char *path = sorted[i]->path;
    const struct lake_target key = {.path = above}, *wanted = &key;

    for (size_t at = 1 + strcspn(path + 1, "/"); path[at]; at += 1 + strcspn(path + at + 1, "/")) {
        memcpy(above, path, at);
        above[at] = 0;
        if (bsearch(&wanted, sorted, n, sizeof(const struct lake_target *), compare_targets))
            return err_set(e, ERR_USAGE,
                           "%s cannot be put beside %s, which is a file, not a directory", path,
                           above);
    }
    return 0;
}

static int check_targets(const struct lake_target *targets, size_t n, struct err *e)
{
    AUTO_MEM const struct lake_target **sorted = mem_zero(n + 1, sizeof *sorted);

    if (n == 0)
        return err_set(e, ERR_USAGE, "a session needs at least one path");
    for (size_t i = 0; i < n; i++) {
        if (lake_path_check(targets[i].path, e) < 0)
            return -1;
        if (targets[i].size_known && targets[i].size > INT64_MAX)
            return err_set(e, ERR_USAGE, "%s: no file is that long", targets[i].path);
        sorted[i] = &targets[i];
    }
    qsort(sorted, n, sizeof(const struct lake_target *), compare_targets);
    for (size_t i = 1; i < n; i++)
        if (strcmp(sorted[i - 1]->path, sorted[i]->path) == 0)
            return err_set(e, ERR_USAGE, "%s is named twice", sorted[i]->path);
    for (size_t i = 1; i < n; i++)
        if (check_above(sorted, n, i, e) < 0)
            return -1;
    return 0;
}

static int add_target(
    struct lake *l, int64_t session, uint64_t seq, const struct lake_target *t, struct err *e)
{
    char target[STORE_BLOB_NAME];

    store_target_name(session, seq, target);
    return db_run(l->db, e,
                  "INSERT INTO session_file (session, seq, path, want_size, want_sha256, target,"
                  " executable, unchanged) VALUES ($1, $2, $3, $4, $5, $6, 0, 0)",
                  DB_INT(session), DB_INT((int64_t)seq), DB_TEXT(t->path),
                  t->size_known ? DB_INT((int64_t)t->size) : DB_NULL,
                  t->digest ? DB_BYTES(t->digest->bytes, sizeof t->digest->bytes) : DB_NULL,
                  DB_TEXT(target));
}

/* Sessions that ended long ago. */
static int forget_old(struct lake *l, struct err *e)
{
    static const char *const sql[] = {
        "DELETE FROM session_file WHERE session IN (SELECT id FROM session WHERE project = $1"
        " AND state IN ($2, $3) AND expires < $4)",
        "DELETE FROM session WHERE project = $1 AND state IN ($2, $3) AND expires < $4",
    };

    for (size_t i = 0; i < sizeof sql / sizeof sql[0]; i++) {
        if (db_run(l->db, e, sql[i], DB_INT(l->project), DB_INT(LAKE_SESSION_COMMITTED),
                   DB_INT(LAKE_SESSION_ABORTED), DB_INT(lake_now_ms(l))) < 0)
            return -1;
    }
    return 0;
}

static int begin(struct lake *l,
                 const struct lake_target *targets,
                 size_t n,
                 const char *request,
                 int64_t lasts_ms,
                 int64_t *id_out,
                 struct err *e)
{
    const struct session_put by_hand = {l->user, NULL, request};

    if (forget_old(l, e) < 0 || session_row_new(l, &by_hand, lasts_ms, id_out, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        /* What can never be finished shall not begin. */
        if (version_check(l, targets[i].path, i ? targets[i - 1].path : NULL, e) < 0 ||
            add_target(l, *id_out, i, &targets[i], e) < 0)
            return -1;
    }
    return 0;
}

int lake_session_begin(struct lake *l,
                       const struct lake_target *targets,
                       size_t n,
                       const struct lake_put_options *like,
                       double expires_s,
                       int64_t *id_out,
                       struct err *e)
{
    AUTO_MEM char *request = session_request_text(like);

    if (!isfinite(expires_s) || expires_s < 0 || expires_s > LASTS_MAX_S)
        return err_set(e, ERR_USAGE, "a session lasts at most a year");
    if (like && put_check_options(like, e) < 0)
        return -1;
    int64_t lasts_ms = expires_s > 0 ? (int64_t)(expires_s * 1000) : SESSION_LASTS_MS;
    if (check_targets(targets, n, e) < 0 || db_begin(l->db, e) < 0)
        return -1;
    return db_end(l->db, begin(l, targets, n, request, lasts_ms, id_out, e), e);
}

/* ---- one file ---- */

/* What a pending file was announced as. */
struct announced {
    char *target;
    bool arrived, has_size, has_digest;
    uint64_t size;
    struct sha256_digest digest;
};

static void announced_clear(struct announced *a)
{
    free(a->target);
    *a = (struct announced){0};
}

static int find_file(
    struct lake *l, int64_t id, const char *path, struct announced *out, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(l->db, e,
                                             "SELECT target, object, want_size, want_sha256"
                                             " FROM session_file WHERE session = $1 AND path = $2",
                                             DB_INT(id), DB_TEXT(path));

    *out = (struct announced){0};
    int row = db_step(q, e);
    if (row < 0)
        return -1;
    if (row == 0)
        return err_set(e, ERR_NOTFOUND, "session %lld has no file %s", (long long)id, path);
    out->target = mem_dup(db_is_null(q, 0) ? "" : db_text(q, 0));
    out->arrived = !db_is_null(q, 1);
    out->has_size = !db_is_null(q, 2);
    out->size = (uint64_t)db_int(q, 2);
    out->has_digest = object_read_digest(q, 3, &out->digest);
    return 0;
}

/* A session that takes files in: begun by hand, pending, and the caller's. */
static int open_session(struct lake *l, int64_t id, struct session_row *row, struct err *e)
{
    if (session_row_get(l, id, row, e) < 0 || session_row_may(l, row, e) < 0 ||
        session_row_pending(row, e) < 0)
        return -1;
    return session_row_by_hand(row, e);
}

int lake_session_url(struct lake *l,
                     int64_t id,
                     const char *path,
                     unsigned expires_s,
                     struct store_url *out,
                     struct err *e)
{
    AUTO_CLEAR(session_row) struct session_row row = {0};
    AUTO_CLEAR(announced) struct announced a = {0};
    struct store *store = lake_store(l, e);

    if (!store || open_session(l, id, &row, e) < 0 || find_file(l, id, path, &a, e) < 0)
        return -1;
    if (a.arrived)
        return err_set(e, ERR_USAGE, "%s has arrived already", path);
    /* No longer than the session: later content would belong to no session. */
    int64_t left_s = (row.expires_ms - lake_now_ms(l)) / 1000;
    if (left_s < expires_s)
        expires_s = left_s > 0 ? (unsigned)left_s : 1;
    struct store_grant grant = {.project = l->area, .writes = true, .expires_s = expires_s};
    snprintf(grant.place.blob, sizeof grant.place.blob, "%s", a.target);
    return store_presign(store, &grant, out, e);
}

static int check_announced(const struct announced *a,
                           const struct source_file *f,
                           const char *local,
                           struct err *e)
{
    char wanted[SHA256_HEX], got[SHA256_HEX];

    if (a->has_size && f->stamp.size != a->size)
        return err_set(e, ERR_USAGE, "%s has %llu bytes, %llu were announced", local,
                       (unsigned long long)f->stamp.size, (unsigned long long)a->size);
    if (f->known && a->has_digest && !sha256_equal(&f->digest, &a->digest))
        return err_set(e, ERR_USAGE, "%s has SHA-256 %s, %s was announced", local,
                       sha256_text(&f->digest, got), sha256_text(&a->digest, wanted));
    return 0;
}

static int record_arrival(struct upload *u, const char *path, struct err *e)
{
    const struct source_file *f = &u->list->files[0];

    if (session_row_renew(u->l, u->session.id, e) < 0 || upload_record(u, false, e) < 0)
        return -1;
    return db_run(u->l->db, e,
                  "UPDATE session_file SET object = $3, executable = $4"
                  " WHERE session = $1 AND path = $2",
                  DB_INT(u->session.id), DB_TEXT(path), DB_INT(f->object), DB_INT(f->executable));
}

static int store_arrival(
    struct upload *u, const struct announced *a, const char *path, const char *local, struct err *e)
{
    struct lake *l = u->l;

    if (upload_all(u, e) < 0)
        return -1;
    if (check_announced(a, &u->list->files[0], local, e) < 0) {
        upload_discard(u);
        return -1;
    }
    if (upload_flush(u, e) < 0 || db_begin(l->db, e) < 0)
        return -1;
    if (db_end(l->db, record_arrival(u, path, e), e) < 0)
        return -1;
    upload_drop_spares(u);
    return 0;
}

int lake_session_put(struct lake *l,
                     int64_t id,
                     const char *path,
                     const char *local_file,
                     const struct lake_progress *progress,
                     struct err *e)
{
    AUTO_CLEAR(session_row) struct session_row row = {0};
    AUTO_CLEAR(announced) struct announced a = {0};
    struct stat st;

    if (open_session(l, id, &row, e) < 0 || find_file(l, id, path, &a, e) < 0)
        return -1;
    if (stat(local_file, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(e, ERR_USAGE, "%s is a directory; one file goes to one path", local_file);
    AUTO(source_list) struct source_list *list = source_scan(&local_file, 1, path, NULL, e);
    if (!list || check_announced(&a, &list->files[0], local_file, e) < 0)
        return -1;
    AUTO_CLEAR(upload) struct upload u;
    upload_init(&u, l, list);
    u.session = (struct session_hold){.id = id, .lock = -1};
    if (progress)
        u.progress.to = *progress;
    return store_arrival(&u, &a, path, local_file, e);
}

/* ---- looking ---- */

static int visit_session(
    struct lake *l, struct db_query *q, lake_visit_session *visit, void *context, struct err *e)
{
    AUTO_CLEAR(session_request) struct session_request request = {0};
    struct lake_session s = {
        .id = db_int(q, 0),
        .state = (enum lake_session_state)db_int(q, 1),
        .origin = {db_text(q, 2), db_int(q, 3)},
        .expires_ms = db_int(q, 4),
        .put = db_text(q, 5),
        .files = (uint64_t)db_int(q, 7),
        .arrived = (uint64_t)db_int(q, 8),
        .bytes_arrived = (uint64_t)db_int(q, 9),
    };

    if (session_request_read(db_text(q, 6), &request, e) < 0)
        return -1;
    s.set = request.set;
    if (s.state == LAKE_SESSION_PENDING && s.expires_ms < lake_now_ms(l))
        s.state = LAKE_SESSION_EXPIRED;
    return visit(context, &s, e);
}

int lake_session_list(
    struct lake *l, int64_t id, lake_visit_session *visit, void *context, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        l->db, e,
        "SELECT s.id, s.state, s.creator, s.create_time, s.expires, s.put, s.request,"
        " COUNT(f.session), COUNT(f.object), COALESCE(SUM(o.size), 0) FROM session s"
        " LEFT JOIN session_file f ON f.session = s.id LEFT JOIN object o ON o.id = f.object"
        " WHERE s.project = $1 AND (s.id = $2 OR ($2 = 0 AND s.state = $3))"
        " AND (s.creator = $4 OR $5 = 1)"
        " GROUP BY s.id, s.state, s.creator, s.create_time, s.expires, s.put, s.request"
        " ORDER BY s.id",
        DB_INT(l->project), DB_INT(id), DB_INT(LAKE_SESSION_PENDING), DB_TEXT(l->user),
        DB_INT(l->admin));
    bool found = false;
    int row;

    while ((row = db_step(q, e)) > 0) {
        found = true;
        if (visit_session(l, q, visit, context, e) < 0)
            return -1;
    }
    if (row == 0 && id && !found) {
        AUTO_CLEAR(session_row) struct session_row other = {0};
        /* One of them says why. */
        return session_row_get(l, id, &other, e) < 0 ? -1 : session_row_may(l, &other, e);
    }
    return row;
}

static void read_file(struct db_query *q, struct lake_session_file *out)
{
    bool arrived = !db_is_null(q, 4);

    *out = (struct lake_session_file){
        .seq = (uint64_t)db_int(q, 0),
        .path = db_text(q, 1),
        .arrived = arrived,
        .committed = !db_is_null(q, 7),
        .number = db_int(q, 7),
        .size_known = !db_is_null(q, arrived ? 5 : 2),
        .size = (uint64_t)db_int(q, arrived ? 5 : 2),
        .object = db_text(q, 8),
        .unchanged = db_int(q, 9) != 0,
    };
    out->digest_known = object_read_digest(q, arrived ? 6 : 3, &out->digest);
}

int lake_session_files(
    struct lake *l, int64_t id, lake_visit_session_file *visit, void *context, struct err *e)
{
    AUTO_CLEAR(session_row) struct session_row session = {0};

    if (session_row_get(l, id, &session, e) < 0 || session_row_may(l, &session, e) < 0)
        return -1;
    AUTO_RESET struct db_query *q = db_query(
        l->db, e,
        "SELECT f.seq, f.path, f.want_size, f.want_sha256, f.object, o.size, o.sha256,"
        " v.number, f.target, f.unchanged FROM session_file f LEFT JOIN object o ON o.id = f.object"
        " LEFT JOIN version v ON v.id = f.version WHERE f.session = $1 ORDER BY f.seq",
        DB_INT(id));
    int row;

    while ((row = db_step(q, e)) > 0) {
        struct lake_session_file file;
        read_file(q, &file);
        if (visit(context, &file, e) < 0)
            return -1;
    }
    return row;
}
