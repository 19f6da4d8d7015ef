/* Garbage collection: removes objects that no version and no set needs, and rewrites packs that
 * are mostly unused. `gc` calls it. */
#include "lake/clean/clean.h"

#include "base/log.h"
#include "base/mem.h"
#include "lake/clean/internal.h"
#include "lake/put/internal.h"

#include <stdlib.h>
#include <string.h>

/* A pack is written anew when less than half of it is needed, unless it is small. */
#define REPACK_FROM_BYTES ((uint64_t)1 << 20)

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool names_has(const struct lake_names *n, const char *name)
{
    return n->n && bsearch(&name, n->items, n->n, sizeof *n->items, by_name);
}

struct removable {
    struct store_blob blob; /* its name is the one below */
    char *name;
};

struct gc {
    struct lake *l;
    const struct lake_gc_options *options;
    int (*visit)(void *context, const char *ref, uint64_t size, struct err *e);
    void *context;
    struct lake_gc_summary *summary;
    struct need need;
    struct bits among;           /* ids of contents that may go, when only some may */
    struct bits going;           /* ids of contents that go */
    struct lake_names emptied;   /* blobs that held nothing else, sorted */
    struct removable *removable; /* blobs without content that anyone knows of */
    size_t n_removable, cap_removable;
    struct lake_names sparse; /* packs to be written anew */
};

static void gc_clear(struct gc *g)
{
    need_clear(&g->need);
    bits_clear(&g->among);
    bits_clear(&g->going);
    lake_names_clear(&g->emptied);
    lake_names_clear(&g->sparse);
    for (size_t i = 0; i < g->n_removable; i++)
        free(g->removable[i].name);
    free(g->removable);
}

/* ---- the database's side: one transaction ---- */

static bool goes(const struct gc *g, int64_t object)
{
    return !bits_has(&g->need.objects, object) &&
           (g->options->n_release == 0 || bits_has(&g->among, object));
}

static int tell_version(struct gc *g, struct db_query *q, struct err *e)
{
    g->summary->versions++;
    if (db_int(q, 4) == db_int(q, 5) && !db_int(q, 6))
        g->summary->latest_versions++;
    if (!g->visit)
        return 0;
    AUTO_MEM char *ref = lake_file_ref(db_text(q, 1), db_int(q, 2));
    return g->visit(g->context, ref, (uint64_t)db_int(q, 3), e);
}

/* Versions whose content is there and no longer needed. */
static int tell_versions(struct gc *g, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(g->l->db, e,
                 "SELECT v.object, f.path, v.number, o.size, v.id, f.latest_version, f.removed"
                 " FROM version v JOIN object o ON o.id = v.object JOIN file f ON f.id = v.file"
                 " WHERE v.project = $1 AND o.blob IS NOT NULL",
                 DB_INT(g->l->project));
    int row;

    while ((row = db_step(q, e)) == 1) {
        if (goes(g, db_int(q, 0)) && tell_version(g, q, e) < 0)
            break;
    }
    return row == 0 ? 0 : -1;
}

static int choose_contents(struct gc *g, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(g->l->db, e, "SELECT id, size FROM object WHERE project = $1 AND blob IS NOT NULL",
                 DB_INT(g->l->project));
    int row;

    while ((row = db_step(q, e)) == 1) {
        if (!goes(g, db_int(q, 0)))
            continue;
        bits_add(&g->going, db_int(q, 0));
        g->summary->objects++;
        g->summary->bytes += (uint64_t)db_int(q, 1);
    }
    return row;
}

static int drop_content(struct gc *g, int64_t id, struct err *e)
{
    /* Sets still hold what is released, and fsck is to know why it is gone. */
    if (g->options->n_release &&
        db_run(g->l->db, e, "INSERT INTO released (object) VALUES ($1) ON CONFLICT DO NOTHING",
               DB_INT(id)) < 0)
        return -1;
    return db_run(g->l->db, e, "UPDATE object SET blob = NULL, at = NULL WHERE id = $1",
                  DB_INT(id));
}

static int drop_contents(struct gc *g, struct err *e)
{
    for (size_t i = 0; i < g->going.n_words * 64; i++) {
        if (bits_has(&g->going, (int64_t)i) && drop_content(g, (int64_t)i, e) < 0)
            return -1;
    }
    return 0;
}

static int drop_empty_blobs(struct gc *g, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(g->l->db, e,
                                             "DELETE FROM blob WHERE project = $1 AND NOT EXISTS"
                                             " (SELECT 1 FROM object WHERE object.blob = blob.id)"
                                             " RETURNING name",
                                             DB_INT(g->l->project));
    int row;

    while ((row = db_step(q, e)) == 1)
        lake_names_add(&g->emptied, db_text(q, 0));
    if (g->emptied.n)
        qsort(g->emptied.items, g->emptied.n, sizeof *g->emptied.items, by_name);
    return row;
}

/* Rows that nothing mentions any more. */
static int drop_rows(struct gc *g, struct err *e)
{
    if (db_run(g->l->db, e,
               "DELETE FROM object WHERE project = $1 AND blob IS NULL AND NOT EXISTS"
               " (SELECT 1 FROM version WHERE version.object = object.id)",
               DB_INT(g->l->project)) < 0)
        return -1;
    return db_run(g->l->db, e,
                  "DELETE FROM source WHERE NOT EXISTS (SELECT 1 FROM object WHERE"
                  " object.project = $1 AND object.sha256 = source.sha256"
                  " AND object.blob IS NOT NULL)",
                  DB_INT(g->l->project));
}

static int find_need(struct gc *g, struct err *e)
{
    AUTO_CLEAR(spares) struct spares s = {0};

    if (g->options->n_release == 0)
        return need_find(g->l, g->options->keep_latest, NULL, &g->need, e);
    if (spares_find(g->l, g->options->release, g->options->n_release, &s, e) < 0 ||
        spares_contents(g->l, &s, &g->among, e) < 0)
        return -1;
    return need_find(g->l, g->options->keep_latest, &s.without, &g->need, e);
}

static int look(struct gc *g, struct err *e)
{
    if (find_need(g, e) < 0)
        return -1;
    return tell_versions(g, e) < 0 ? -1 : choose_contents(g, e);
}

static int look_and_drop(struct gc *g, struct err *e)
{
    if (session_row_expire(g->l, &g->summary->sessions_expired, e) < 0 || look(g, e) < 0 ||
        drop_contents(g, e) < 0)
        return -1;
    return drop_empty_blobs(g, e) < 0 ? -1 : drop_rows(g, e);
}

/* A look sees what the removal would: sessions that are over end for it, too, and are then left as
 * they were. Where nothing can be written, they count as live. */
static int look_only(struct gc *g, struct err *e)
{
    struct db *db = g->l->db;
    struct err why = {0};
    bool may_write = db_begin(db, &why) == 0;

    if (!may_write && (why.kind == ERR_RETRY || db_begin_read(db, e) < 0))
        return why.kind == ERR_RETRY ? err_set(e, why.kind, "%s", why.text) : -1;
    int result = may_write ? session_row_expire(g->l, &g->summary->sessions_expired, e) : 0;
    if (result == 0)
        result = look(g, e);
    db_rollback(db);
    return result;
}

static int in_database(struct gc *g, struct err *e)
{
    if (!g->options->remove)
        return look_only(g, e);
    return db_begin(g->l->db, e) < 0 ? -1 : db_end(g->l->db, look_and_drop(g, e), e);
}

/* ---- the store's side ---- */

static int session_is_pending(struct lake *l, int64_t session, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, "SELECT 1 FROM session WHERE id = $1 AND state = $2 AND expires >= $3",
                 DB_INT(session), DB_INT(LAKE_SESSION_PENDING), DB_INT(lake_now_ms(l)));

    return db_step(q, e);
}

static int consider(void *context, const struct store_blob *blob, struct err *e)
{
    struct gc *g = context;
    struct repack_state state;

    if (repack_state(g->l, blob->name, &state, e) < 0)
        return -1;
    if (state.known) {
        if (state.is_pack && blob->size >= REPACK_FROM_BYTES && state.live_bytes < blob->size / 2)
            lake_names_add(&g->sparse, blob->name);
        return 0;
    }
    int pending = blob->session ? session_is_pending(g->l, blob->session, e) : 0;
    if (pending != 0)
        return pending < 0 ? -1 : 0;
    g->removable = mem_room(g->removable, g->n_removable, &g->cap_removable, sizeof *g->removable);
    struct removable *r = &g->removable[g->n_removable++];
    *r = (struct removable){*blob, mem_dup(blob->name)};
    r->blob.name = r->name;
    return 0;
}

static void count(struct gc *g, const struct store_blob *blob)
{
    if (names_has(&g->emptied, blob->name)) {
        g->summary->blobs++;
        g->summary->blob_bytes += blob->size;
    } else {
        g->summary->leftovers++;
        g->summary->leftover_bytes += blob->size;
    }
}

static bool tell_progress(const struct gc *g, uint64_t done, uint64_t all)
{
    const struct lake_progress *p = &g->options->progress;

    return !p->tell || p->tell(p->context, done, 0, all, 0);
}

static int remove_blobs(struct gc *g, struct store *s, struct err *e)
{
    struct err why = {0};

    for (size_t i = 0; i < g->n_removable; i++) {
        const struct store_blob *blob = &g->removable[i].blob;
        if (!tell_progress(g, i, g->n_removable))
            return err_set(e, ERR_RETRY, "interrupted; repeat `gc --yes` to continue");
        if (!g->options->remove ||
            store_delete(s, g->l->area, blob, object_blob_unused, g->l, &why) == 0)
            count(g, blob);
        else if (why.kind == ERR_RETRY)
            g->summary->busy++;
        else
            return err_set(e, why.kind, "%s", why.text);
    }
    return 0;
}

static int repack_all(struct gc *g, struct err *e)
{
    for (size_t i = 0; i < g->sparse.n; i++) {
        if (!tell_progress(g, i, g->sparse.n))
            return err_set(e, ERR_RETRY, "interrupted; repeat `gc --yes` to continue");
        if (repack(g->l, g->sparse.items[i], &g->summary->rewritten_bytes, e) < 0)
            return err_wrap(e, "pack %s", g->sparse.items[i]);
    }
    return 0;
}

static int collect(struct gc *g, struct err *e)
{
    struct store *s = lake_store(g->l, e);

    if (!s || in_database(g, e) < 0 || store_list(s, g->l->area, consider, g, e) < 0)
        return -1;
    if (remove_blobs(g, s, e) < 0)
        return -1;
    return g->options->remove ? repack_all(g, e) : 0;
}

int lake_gc(struct lake *l,
            const struct lake_gc_options *options,
            int (*visit)(void *context, const char *ref, uint64_t size, struct err *e),
            void *context,
            struct lake_gc_summary *summary,
            struct err *e)
{
    AUTO_CLEAR(gc)
    struct gc g = {
        .l = l, .options = options, .visit = visit, .context = context, .summary = summary};

    *summary = (struct lake_gc_summary){0};
    if (!l->admin)
        return err_set(e, ERR_DENIED, "gc is for the project's admin");
    return collect(&g, e);
}
