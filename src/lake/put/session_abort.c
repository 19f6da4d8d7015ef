/* Ends an upload session without its files. `session abort` and clean-up call it. */
#include "lake/core/bits.h"
#include "lake/put/internal.h"
#include "lake/put/session.h"

struct abort {
    struct lake *l;
    int64_t id;
    struct lake_names *blobs; /* that hold nothing any more */
};

/* A blob without contents: its row goes, and its name is kept for the store. */
static int release_blob(struct abort *a, int64_t blob, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(a->l->db, e,
                 "DELETE FROM blob WHERE id = $1 AND NOT EXISTS"
                 " (SELECT 1 FROM object WHERE object.blob = blob.id) RETURNING name",
                 DB_INT(blob));
    int row = db_step(q, e);

    if (row > 0)
        lake_names_add(a->blobs, db_text(q, 0));
    return row < 0 ? -1 : 0;
}

/* The session's list, and the contents that came with it and that nothing else has use for. */
static int release(struct abort *a, struct err *e)
{
    AUTO_CLEAR(bits) struct bits blobs = {0};
    AUTO_RESET struct db_query *q =
        db_query(a->l->db, e,
                 "DELETE FROM object WHERE id IN (SELECT object FROM session_file"
                 " WHERE session = $1) AND NOT EXISTS (SELECT 1 FROM version"
                 " WHERE version.object = object.id) AND NOT EXISTS (SELECT 1 FROM session_file f"
                 " WHERE f.object = object.id AND f.session <> $1) RETURNING blob",
                 DB_INT(a->id));

    if (bits_add_rows(&blobs, q, e) < 0 ||
        db_run(a->l->db, e, "DELETE FROM session_file WHERE session = $1", DB_INT(a->id)) < 0)
        return -1;
    for (int64_t blob = 1; blob < 64 * (int64_t)blobs.n_words; blob++)
        if (bits_has(&blobs, blob) && release_blob(a, blob, e) < 0)
            return -1;
    return 0;
}

static int forget(struct abort *a, struct err *e)
{
    AUTO_CLEAR(session_row) struct session_row row = {0};

    if (session_row_get(a->l, a->id, &row, e) < 0 || session_row_may(a->l, &row, e) < 0)
        return -1;
    if (row.state == LAKE_SESSION_COMMITTED)
        return err_set(e, ERR_USAGE, "session %lld is committed: there is nothing to abort",
                       (long long)a->id);
    if (release(a, e) < 0)
        return -1;
    return db_run(a->l->db, e, "UPDATE session SET state = $2 WHERE id = $1", DB_INT(a->id),
                  DB_INT(LAKE_SESSION_ABORTED));
}

static int note_blob(void *context, const struct store_blob *blob, struct err *e)
{
    struct abort *a = context;
    struct err ignored;

    (void)e;
    /* What another put still writes to is left to gc. */
    if (blob->session == a->id)
        (void)store_delete(a->l->store, a->l->area, blob, object_blob_unused, a->l, &ignored);
    return 0;
}

static int remove_content(struct abort *a, struct err *e)
{
    struct store *store = lake_store(a->l, e);

    if (!store)
        return -1;
    for (size_t i = 0; i < a->blobs->n; i++) {
        const struct store_blob blob = {.name = a->blobs->items[i]};
        struct err why = {0};
        /* Under the blob's lock: another put may have stored content there meanwhile. */
        if (store_delete(store, a->l->area, &blob, object_blob_unused, a->l, &why) < 0 &&
            why.kind != ERR_RETRY)
            return err_set(e, why.kind, "%s", why.text);
    }
    /* What arrived by URL and was never looked at, and what a killed put left half written. */
    return store_list(store, a->l->area, note_blob, a, e);
}

int lake_session_abort(struct lake *l, int64_t id, struct err *e)
{
    AUTO_CLEAR(lake_names) struct lake_names blobs = {0};
    struct abort a = {.l = l, .id = id, .blobs = &blobs};

    if (db_begin(l->db, e) < 0 || db_end(l->db, forget(&a, e), e) < 0)
        return -1;
    return remove_content(&a, e);
}
