/* Ends an upload session without its files. `session abort` and clean-up call it. */
#include "base/mem.h"
#include "lake/put/internal.h"
#include "lake/put/session.h"

#include <stdlib.h>
#include <string.h>

struct abort {
    struct lake *l;
    int64_t id;
    int64_t *objects; /* of the session */
    size_t n_objects, cap_objects;
    char **blobs; /* that hold nothing any more */
    size_t n_blobs, cap_blobs;
};

static void abort_clear(struct abort *a)
{
    for (size_t i = 0; i < a->n_blobs; i++)
        free(a->blobs[i]);
    free(a->blobs);
    free(a->objects);
}

static int read_objects(struct abort *a, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(a->l->db, e,
                                             "SELECT DISTINCT object FROM session_file"
                                             " WHERE session = $1 AND object IS NOT NULL",
                                             DB_INT(a->id));
    int row;

    while ((row = db_step(q, e)) > 0) {
        a->objects = mem_room(a->objects, a->n_objects, &a->cap_objects, sizeof *a->objects);
        a->objects[a->n_objects++] = db_int(q, 0);
    }
    return row;
}

/* 1: a row, 0: none, -1 */
static int exists(struct lake *l, const char *sql, int64_t id, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(l->db, e, sql, DB_INT(id));

    return db_step(q, e);
}

static int run_with(struct lake *l, const char *sql, int64_t id, struct err *e)
{
    return db_run(l->db, e, sql, DB_INT(id));
}

/* A blob without contents: its row goes, and its name is kept for the store. */
static int release_blob(struct abort *a, int64_t blob, struct err *e)
{
    int used = exists(a->l, "SELECT 1 FROM object WHERE blob = $1 LIMIT 1", blob, e);

    if (used != 0)
        return used < 0 ? -1 : 0;
    AUTO_RESET struct db_query *q =
        db_query(a->l->db, e, "SELECT name FROM blob WHERE id = $1", DB_INT(blob));
    int row = db_step(q, e);
    if (row > 0) {
        a->blobs = mem_room(a->blobs, a->n_blobs, &a->cap_blobs, sizeof *a->blobs);
        a->blobs[a->n_blobs++] = mem_dup(db_text(q, 0));
        db_reset(q);
    }
    return row < 0 ? -1 : run_with(a->l, "DELETE FROM blob WHERE id = $1", blob, e);
}

/* Content that came with this session and that nothing else has use for. */
static int release_object(struct abort *a, int64_t object, struct err *e)
{
    /* What is left of the session's own list is gone by now. */
    int used = exists(a->l, "SELECT 1 FROM version WHERE object = $1 LIMIT 1", object, e);
    if (used == 0)
        used = exists(a->l, "SELECT 1 FROM session_file WHERE object = $1 LIMIT 1", object, e);
    if (used != 0)
        return used < 0 ? -1 : 0;
    int64_t blob = 0;
    if (db_get_int(a->l->db, e, &blob, "SELECT blob FROM object WHERE id = $1", DB_INT(object)) <
            0 ||
        run_with(a->l, "DELETE FROM object WHERE id = $1", object, e) < 0)
        return -1;
    return blob ? release_blob(a, blob, e) : 0;
}

static int mark_aborted(struct abort *a, struct err *e)
{
    return db_run(a->l->db, e, "UPDATE session SET state = $2 WHERE id = $1", DB_INT(a->id),
                  DB_INT(LAKE_SESSION_ABORTED));
}

static int forget(struct abort *a, struct err *e)
{
    AUTO_CLEAR(session_row) struct session_row row = {0};

    if (session_row_get(a->l, a->id, &row, e) < 0 || session_row_may(a->l, &row, e) < 0)
        return -1;
    if (row.state == LAKE_SESSION_COMMITTED)
        return err_set(e, ERR_USAGE, "session %lld is committed: there is nothing to abort",
                       (long long)a->id);
    if (read_objects(a, e) < 0 ||
        run_with(a->l, "DELETE FROM session_file WHERE session = $1", a->id, e) < 0)
        return -1;
    for (size_t i = 0; i < a->n_objects; i++)
        if (release_object(a, a->objects[i], e) < 0)
            return -1;
    return mark_aborted(a, e);
}

/* Under the blob's lock: another put may have stored content there meanwhile. */
static bool still_unused(void *context, const char *name)
{
    struct abort *a = context;
    struct err ignored;
    AUTO_RESET struct db_query *q =
        db_query(a->l->db, &ignored, "SELECT 1 FROM blob WHERE project = $1 AND name = $2",
                 DB_INT(a->l->project), DB_TEXT(name));

    return db_step(q, &ignored) == 0;
}

static int note_blob(void *context, const struct store_blob *blob, struct err *e)
{
    struct abort *a = context;
    struct err ignored;

    (void)e;
    /* What another put still writes to is left to gc. */
    if (blob->session == a->id)
        (void)store_delete(a->l->store, a->l->area, blob, still_unused, a, &ignored);
    return 0;
}

static int remove_content(struct abort *a, struct err *e)
{
    struct store *store = lake_store(a->l, e);

    if (!store)
        return -1;
    for (size_t i = 0; i < a->n_blobs; i++) {
        const struct store_blob blob = {.name = a->blobs[i]};
        struct err why = {0};
        if (store_delete(store, a->l->area, &blob, still_unused, a, &why) < 0 &&
            why.kind != ERR_RETRY) {
            if (e)
                *e = why;
            return -1;
        }
    }
    /* What arrived by URL and was never looked at, and what a killed put left half written. */
    return store_list(store, a->l->area, note_blob, a, e);
}

int lake_session_abort(struct lake *l, int64_t id, struct err *e)
{
    AUTO_CLEAR(abort) struct abort a = {.l = l, .id = id};

    if (db_begin(l->db, e) < 0)
        return -1;
    if (forget(&a, e) < 0 || db_commit(l->db, e) < 0) {
        db_rollback(l->db);
        return -1;
    }
    return remove_content(&a, e);
}
