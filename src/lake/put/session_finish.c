/* Commits the files of an upload session. `session finish` calls it. */
#include "base/mem.h"
#include "lake/put/internal.h"
#include "lake/put/session.h"

#include <stdlib.h>
#include <string.h>

/* A file of the session, as the commit needs it. */
struct row {
    char *path;
    char *target;
    int64_t seq, object;
    struct version_done done;
    uint64_t size;
    struct sha256_digest digest; /* of the object */
    bool executable;
    bool has_size, has_digest; /* announced: */
    uint64_t want_size;
    struct sha256_digest want_digest;
};

struct finish {
    struct lake *l;
    int64_t id;
    struct lake_put_summary *summary;
    struct row *rows; /* in the order of the request */
    size_t n_rows, cap_rows;
    uint32_t *by_path;
    struct target_copies copies;
    /* Files that stand in the way, for people. */
    struct get_names wrong;
};

static void finish_clear(struct finish *f)
{
    for (size_t i = 0; i < f->n_rows; i++) {
        free(f->rows[i].path);
        free(f->rows[i].target);
    }
    free(f->rows);
    free(f->by_path);
    target_copies_clear(&f->copies);
}

static void wrong(struct finish *f, const char *path, const char *what)
{
    AUTO_MEM char *shown = mem_printf("%s (%s)", path, what);

    get_names_add(&f->wrong, shown);
}

static int load(struct finish *f, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(f->l->db, e,
                 "SELECT f.seq, f.path, f.target, f.object, f.executable, f.want_size,"
                 " f.want_sha256, f.version, f.unchanged, o.size, o.sha256, v.number"
                 " FROM session_file f LEFT JOIN object o ON o.id = f.object"
                 " LEFT JOIN version v ON v.id = f.version WHERE f.session = $1 ORDER BY f.seq",
                 DB_INT(f->id));
    int step;

    while ((step = db_step(q, e)) > 0) {
        f->rows = mem_room(f->rows, f->n_rows, &f->cap_rows, sizeof *f->rows);
        struct row *r = &f->rows[f->n_rows++];
        *r = (struct row){
            .seq = db_int(q, 0),
            .path = mem_dup(db_text(q, 1)),
            .target = db_is_null(q, 2) ? NULL : mem_dup(db_text(q, 2)),
            .object = db_int(q, 3),
            .executable = db_int(q, 4) != 0,
            .has_size = !db_is_null(q, 5),
            .want_size = (uint64_t)db_int(q, 5),
            .done = {db_int(q, 7), db_int(q, 11), db_int(q, 8) != 0},
            .size = (uint64_t)db_int(q, 9),
        };
        r->has_digest = object_read_digest(q, 6, &r->want_digest);
        (void)object_read_digest(q, 10, &r->digest);
    }
    return step;
}

/* ---- what came by URL ---- */

static void check(struct finish *f, const struct row *r)
{
    if (r->has_size && r->size != r->want_size)
        wrong(f, r->path, "another length than announced");
    else if (r->has_digest && !sha256_equal(&r->digest, &r->want_digest))
        wrong(f, r->path, "another SHA-256 than announced");
}

/* Reads one target, if it is there. Large content stays where it was sent. */
static int fetch_one(struct finish *f, struct row *r, struct err *e)
{
    AUTO_CLEAR(store_content) struct store_content c = {0};
    int found = target_read(&f->copies, r->target, r->has_size ? &r->want_size : NULL, &c, e);

    if (found < 0)
        return err_wrap(e, "%s", r->path);
    if (found == 0) {
        wrong(f, r->path, "has not arrived");
        return 0;
    }
    uint64_t before = f->wrong.n;
    r->size = c.place.size;
    r->digest = c.digest;
    check(f, r);
    if (f->wrong.n > before)
        return target_refuse(&f->copies, r->target, e) < 0 ? err_wrap(e, "%s", r->path) : 0;
    return target_keep(&f->copies, &c, (size_t)(r - f->rows));
}

static int record_fetched(struct finish *f, struct err *e)
{
    if (session_row_renew(f->l, f->id, e) < 0)
        return -1;
    for (size_t i = 0; i < f->copies.n; i++) {
        struct row *r = &f->rows[f->copies.kept[i].row];
        if (object_keep(f->l, &f->copies.kept[i].content, &r->object, e) < 0 ||
            db_run(f->l->db, e,
                   "UPDATE session_file SET object = $3 WHERE session = $1 AND seq = $2",
                   DB_INT(f->id), DB_INT(r->seq), DB_INT(r->object)) < 0)
            return -1;
    }
    return 0;
}

static int fetch(struct finish *f, struct err *e)
{
    for (size_t i = 0; i < f->n_rows; i++) {
        struct row *r = &f->rows[i];
        if (r->object)
            check(f, r);
        else if (!r->target)
            wrong(f, r->path, "has not arrived");
        else if (fetch_one(f, r, e) < 0)
            return -1;
    }
    if (f->copies.n) {
        if (target_flush(&f->copies, e) < 0 || db_begin(f->l->db, e) < 0 ||
            db_end(f->l->db, record_fetched(f, e), e) < 0)
            return -1;
        target_drop_copied(&f->copies);
    }
    if (!f->wrong.n)
        return 0;
    return err_set(e, ERR_USAGE, "session %lld cannot be finished yet, %llu file%s: %s%s",
                   (long long)f->id, (unsigned long long)f->wrong.n, f->wrong.n == 1 ? "" : "s",
                   f->wrong.text, f->wrong.n > GET_NAMED_MAX ? " ..." : "");
}

/* ---- the commit ---- */

static void get_row(void *context, size_t i, struct commit_file *out)
{
    const struct finish *f = context;
    const struct row *r = &f->rows[i];

    *out = (struct commit_file){
        .path = r->path,
        .object = r->object,
        .size = r->size,
        .executable = r->executable,
        .done = r->done,
    };
}

static void row_done(void *context, size_t i, const struct version_done *done)
{
    struct finish *f = context;

    f->rows[i].done = *done;
}

static size_t nth_row(void *context, size_t n)
{
    const struct finish *f = context;

    return f->by_path[n];
}

static int compare_rows(const void *a, const void *b, void *rows)
{
    const struct row *all = rows;

    return strcmp(all[*(const uint32_t *)a].path, all[*(const uint32_t *)b].path);
}

static void sort_rows(struct finish *f)
{
    f->by_path = mem_zero(f->n_rows + 1, sizeof *f->by_path);
    for (uint32_t i = 0; i < f->n_rows; i++)
        f->by_path[i] = i;
    qsort_r(f->by_path, f->n_rows, sizeof *f->by_path, compare_rows, f->rows);
}

/* While the session is pending its list keeps the objects, so none can be missing. */
static int check_present(struct finish *f, struct err *e)
{
    for (size_t i = 0; i < f->n_rows; i++) {
        int there = f->rows[i].object ? commit_present(f->l, f->rows[i].object, e) : 0;
        if (there < 0)
            return -1;
        if (!there)
            return err_set(e, ERR_RETRY, "%s is not there any more: put it again", f->rows[i].path);
    }
    return 0;
}

static int note_versions(struct finish *f, struct err *e)
{
    for (size_t i = 0; i < f->n_rows; i++) {
        if (db_run(f->l->db, e,
                   "UPDATE session_file SET version = $3, unchanged = $4"
                   " WHERE session = $1 AND seq = $2",
                   DB_INT(f->id), DB_INT(f->rows[i].seq), DB_INT(f->rows[i].done.version),
                   DB_INT(f->rows[i].done.unchanged)) < 0)
            return -1;
    }
    return 0;
}

static int commit_rows(struct finish *f, const struct session_request *request, struct err *e)
{
    const struct commit_list list = {f->l->user, f->n_rows, get_row, row_done, nth_row, f};
    AUTO_MEM const char **tags = mem_zero(request->n_tags + 1, sizeof *tags);
    const struct lake_put_options like = {
        .set = request->set, .tags = tags, .n_tags = request->n_tags, .force = request->force};
    int64_t set_version;

    for (size_t i = 0; i < request->n_tags; i++)
        tags[i] = request->tags[i];
    if (check_present(f, e) < 0 ||
        commit_versions(f->l, &list, &like, f->summary, &set_version, e) < 0 ||
        note_versions(f, e) < 0)
        return -1;
    return db_run(f->l->db, e, "UPDATE session SET state = $2, set_version = $3 WHERE id = $1",
                  DB_INT(f->id), DB_INT(LAKE_SESSION_COMMITTED),
                  set_version ? DB_INT(set_version) : DB_NULL);
}

/* In a transaction. 1: another finish was faster; 0: all is written; -1 */
static int commit(struct finish *f, const struct session_request *request, struct err *e)
{
    AUTO_CLEAR(session_row) struct session_row row = {0};

    if (session_row_get(f->l, f->id, &row, e) < 0)
        return -1;
    if (row.state == LAKE_SESSION_COMMITTED)
        return 1;
    if (session_row_pending(&row, e) < 0 || session_row_renew(f->l, f->id, e) < 0)
        return -1;
    return commit_rows(f, request, e);
}

/* ---- the answer ---- */

static int visit_rows(const struct finish *f, lake_visit_put *visit, void *context, struct err *e)
{
    for (size_t i = 0; visit && i < f->n_rows; i++) {
        const struct row *r = &f->rows[i];
        const struct lake_put_file file = {r->path, r->done.number, r->size, r->digest,
                                           r->done.unchanged};
        if (visit(context, &file, e) < 0)
            return -1;
    }
    return 0;
}

/* The answer of a finish that was there before. */
static int answer_again(struct finish *f, struct err *e)
{
    AUTO_CLEAR(session_row) struct session_row row = {0};

    if (session_row_get(f->l, f->id, &row, e) < 0)
        return -1;
    finish_clear(f);
    *f = (struct finish){.l = f->l, .id = f->id, .summary = f->summary};
    if (load(f, e) < 0)
        return -1;
    f->summary->session = f->id;
    for (size_t i = 0; i < f->n_rows; i++) {
        f->summary->files++;
        f->summary->unchanged += f->rows[i].done.unchanged;
        f->summary->bytes += f->rows[i].size;
    }
    int found = db_get_int(f->l->db, e, &f->summary->set_number,
                           "SELECT number FROM set_version WHERE id = $1", DB_INT(row.set_version));
    return found < 0 ? -1 : 0;
}

static int finish_pending(struct finish *f, const struct session_row *row, struct err *e)
{
    AUTO_CLEAR(session_request) struct session_request request = {0};

    if (session_row_by_hand(row, e) < 0 || session_row_pending(row, e) < 0 ||
        session_request_read(row->request, &request, e) < 0 || load(f, e) < 0 ||
        target_copies_begin(&f->copies, f->l, f->id, e) < 0)
        return -1;
    f->summary->session = f->id;
    /* Another finish may commit while this one reads: its answer is ours then. */
    int fetched = fetch(f, e);
    if (fetched < 0) {
        AUTO_CLEAR(session_row) struct session_row now = {0};
        struct err ignored;
        bool faster = session_row_get(f->l, f->id, &now, &ignored) == 0 &&
                      now.state == LAKE_SESSION_COMMITTED;
        return faster ? answer_again(f, e) : -1;
    }
    sort_rows(f);
    int result = db_begin(f->l->db, e) < 0 ? -1 : commit(f, &request, e);
    if (db_end(f->l->db, result, e) < 0)
        return -1;
    return result > 0 ? answer_again(f, e) : 0;
}

int lake_session_finish(struct lake *l,
                        int64_t id,
                        lake_visit_put *visit,
                        void *context,
                        struct lake_put_summary *summary,
                        struct err *e)
{
    AUTO_CLEAR(finish) struct finish f = {.l = l, .id = id, .summary = summary};
    AUTO_CLEAR(session_row) struct session_row row = {0};

    *summary = (struct lake_put_summary){0};
    if (session_row_get(l, id, &row, e) < 0 || session_row_may(l, &row, e) < 0)
        return -1;
    int result =
        row.state == LAKE_SESSION_COMMITTED ? answer_again(&f, e) : finish_pending(&f, &row, e);
    return result < 0 ? -1 : visit_rows(&f, visit, context, e);
}
