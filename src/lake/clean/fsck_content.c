/* Verification of all content for fsck: reads every object and names the file versions of damaged
 * ones. fsck.c calls it. */

#include "base/mem.h"
#include "lake/clean/internal.h"
#include "lake/put/session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Small contents read together: bounds memory. */
#define GROUP 4096

struct group {
    struct fsck *f;
    struct object objects[GROUP];
    const struct store_content *contents[GROUP];
    struct err why[GROUP]; /* kind ERR_NONE = good */
    size_t n;
};

static int arrived(void *context, size_t i, const void *bytes, size_t n, struct err *e)
{
    (void)context;
    (void)i;
    (void)bytes;
    (void)n;
    (void)e;
    return 0;
}

/* Each i has a place of its own: no lock is needed. */
static int damaged(void *context, size_t i, const struct err *why, struct err *e)
{
    struct group *g = context;

    (void)e;
    g->why[i] = *why;
    return 0;
}

/* Every version with this content is named, or counted as good when why is NULL. */
static int judge(struct fsck *f, const struct object *o, const struct err *why, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(f->l->db, e,
                                             "SELECT f.path, v.number FROM version v"
                                             " JOIN file f ON f.id = v.file WHERE v.object = $1"
                                             " ORDER BY f.path, v.number",
                                             DB_INT(o->id));
    int row;

    while ((row = db_step(q, e)) == 1) {
        if (!why) {
            f->summary->files++;
            continue;
        }
        AUTO_MEM char *ref = lake_file_ref(db_text(q, 0), db_int(q, 1));
        if (fsck_problem(f, e, "%s: %s", ref, why->text) < 0)
            break;
    }
    if (row != 0)
        return -1;
    if (!why)
        f->summary->bytes += o->content.place.size;
    return 0;
}

static int tell_progress(struct fsck *f, uint64_t more, struct err *e)
{
    f->read_bytes += more;
    if (f->progress && f->progress->tell &&
        !f->progress->tell(f->progress->context, f->summary->files, f->read_bytes, f->all_files,
                           f->all_bytes))
        return err_set(e, ERR_RETRY, "interrupted");
    return 0;
}

/* 1: gc has moved it since it was looked up, to be read again; 0: done with. */
static int settle(struct group *g, size_t i, struct err *e)
{
    struct object *o = &g->objects[i];

    if (g->why[i].kind == ERR_NONE)
        return judge(g->f, o, NULL, e);
    int moved = object_moved(g->f->l, o, e);
    if (moved != 0)
        return moved < 0 ? -1 : o->present;
    return judge(g->f, o, &g->why[i], e);
}

/* Leaves those of the group that must be read again. In one view of the database, which is much
 * faster than thousands. */
static int settle_all(struct group *g, struct err *e)
{
    size_t kept = 0;

    if (db_begin_read(g->f->l->db, e) < 0)
        return -1;
    for (size_t i = 0; i < g->n; i++) {
        int again = settle(g, i, e);
        if (again < 0) {
            db_rollback(g->f->l->db);
            return -1;
        }
        struct object o = g->objects[i];
        g->objects[i] = (struct object){0};
        if (again)
            g->objects[kept++] = o;
        else
            object_clear(&o);
    }
    db_rollback(g->f->l->db);
    g->n = kept;
    return 0;
}

static int read_group(struct group *g, struct store *s, struct err *e)
{
    const struct store_reader reader = {arrived, damaged, g};
    uint64_t bytes = 0;

    for (size_t i = 0; i < g->n; i++)
        bytes += g->objects[i].content.place.size;
    while (g->n) {
        for (size_t i = 0; i < g->n; i++) {
            g->contents[i] = &g->objects[i].content;
            g->why[i] = (struct err){0};
        }
        if (store_read_many(s, g->f->l->area, g->contents, g->n, &reader, e) < 0 ||
            settle_all(g, e) < 0)
            return -1;
    }
    return tell_progress(g->f, bytes, e);
}

struct large {
    struct fsck *f;
};

static int swallow(void *context, const void *bytes, size_t n, struct err *e)
{
    const struct large *large = context;

    (void)bytes;
    return tell_progress(large->f, n, e);
}

static int read_large(struct fsck *f, struct store *s, struct object *o, struct err *e)
{
    struct large large = {f};
    struct err why = {0};
    int moved = 1;

    while (moved > 0 && o->present) {
        if (store_stream(s, f->l->area, &o->content, 0, UINT64_MAX, swallow, &large, &why) == 0)
            return judge(f, o, NULL, e);
        if (why.kind != ERR_IO && why.kind != ERR_NOTFOUND)
            return err_set(e, why.kind, "%s", why.text);
        moved = object_moved(f->l, o, e);
    }
    return moved == 0 ? judge(f, o, &why, e) : moved < 0 ? -1 : 0;
}

static void clear_group(struct group *g)
{
    for (size_t i = 0; i < g->n; i++)
        object_clear(&g->objects[i]);
    g->n = 0;
}

/* The next contents in the order they lie in the store; large ones alone. */
static int next_ids(
    struct fsck *f, int64_t after[2], int64_t ids[static GROUP], size_t *n, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(f->l->db, e,
                 "SELECT o.id, o.blob, o.at FROM object o WHERE o.project = $1"
                 " AND (o.blob, o.at) > ($2, $3)"
                 " ORDER BY o.blob, o.at LIMIT $4",
                 DB_INT(f->l->project), DB_INT(after[0]), DB_INT(after[1]), DB_INT(GROUP));
    int row;

    *n = 0;
    while ((row = db_step(q, e)) == 1) {
        ids[(*n)++] = db_int(q, 0);
        after[0] = db_int(q, 1);
        after[1] = db_int(q, 2);
    }
    return row;
}

/* Those of the ids that name small contents into the group, those that name large ones to the front
 * of ids. */
static int look_up(struct group *g, int64_t *ids, size_t n, size_t *n_large, struct err *e)
{
    *n_large = 0;
    for (size_t i = 0; i < n; i++) {
        struct object *o = &g->objects[g->n];
        /* Looked for as one that was elsewhere: gc may have removed it since it was listed. */
        *o = (struct object){.id = ids[i]};
        if (object_moved(g->f->l, o, e) < 0)
            return -1;
        if (o->present && o->content.part_bytes == 0) {
            g->n++;
            continue;
        }
        if (o->present)
            ids[(*n_large)++] = ids[i];
        object_clear(o);
    }
    return 0;
}

static int check_large(struct fsck *f, struct store *s, int64_t id, struct err *e)
{
    AUTO_CLEAR(object) struct object o = {.id = id};

    return object_moved(f->l, &o, e) < 0 ? -1 : read_large(f, s, &o, e);
}

static int check_groups(struct group *g, struct store *s, struct err *e)
{
    int64_t after[2] = {0, -1};
    AUTO_MEM int64_t *ids = mem_zero(GROUP, sizeof *ids);
    struct db *d = g->f->l->db;
    size_t n, n_large;

    for (;;) {
        if (db_begin_read(d, e) < 0)
            return -1;
        int found = next_ids(g->f, after, ids, &n, e) < 0 ? -1 : look_up(g, ids, n, &n_large, e);
        db_rollback(d);
        if (found < 0)
            return -1;
        if (n == 0)
            return 0;
        if (read_group(g, s, e) < 0)
            return -1;
        for (size_t i = 0; i < n_large; i++) {
            if (check_large(g->f, s, ids[i], e) < 0)
                return -1;
        }
        clear_group(g);
    }
}

static int count_work(struct fsck *f, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(f->l->db, e,
                                             "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM object"
                                             " WHERE project = $1 AND blob IS NOT NULL",
                                             DB_INT(f->l->project));

    if (db_step(q, e) != 1)
        return -1;
    f->all_files = (uint64_t)db_int(q, 0);
    f->all_bytes = (uint64_t)db_int(q, 1);
    return 0;
}

int fsck_contents(struct fsck *f, struct err *e)
{
    struct store *s = lake_store(f->l, e);

    if (!s || count_work(f, e) < 0)
        return -1;
    struct group *g = mem_zero(1, sizeof *g);
    g->f = f;
    int result = check_groups(g, s, e);
    clear_group(g);
    free(g);
    return result;
}

static int count_leftover(void *context, const struct store_blob *blob, struct err *e)
{
    struct fsck *f = context;
    struct repack_state state;

    if (repack_state(f->l, blob->name, &state, e) < 0)
        return -1;
    if (!state.known) {
        f->summary->leftovers++;
        f->summary->leftover_bytes += blob->size;
    }
    return 0;
}

int fsck_leftovers(struct fsck *f, struct err *e)
{
    struct store *s = lake_store(f->l, e);

    return s ? store_list(s, f->l->area, count_leftover, f, e) : -1;
}
