/* Moves content out of packs that are mostly unused, into new packs. gc calls it. */
#include "lake/clean/internal.h"

#include "base/log.h"
#include "base/mem.h"
#include "lake/put/internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Contents moved in one go: bounds memory. */
#define GROUP 4096

int repack_state(struct lake *l, const char *blob, struct repack_state *out, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(l->db, e,
                                             "SELECT COUNT(o.id), COALESCE(SUM(o.size), 0),"
                                             " COALESCE(MAX(o.part_bytes), 0) FROM blob b"
                                             " JOIN object o ON o.blob = b.id"
                                             " WHERE b.project = $1 AND b.name = $2",
                                             DB_INT(l->project), DB_TEXT(blob));

    if (db_step(q, e) != 1)
        return -1;
    *out = (struct repack_state){.known = db_int(q, 0) > 0,
                                 .live_bytes = (uint64_t)db_int(q, 1),
                                 .is_pack = db_int(q, 2) == 0};
    return 0;
}

struct move {
    struct lake *l;
    struct store_writer *writer;
    int64_t session;
    int64_t from;  /* id of the old blob */
    int64_t after; /* offset of the last content looked at; -1 at first */
    struct store_content contents[GROUP];
    const struct store_content *pointers[GROUP];
    int64_t ids[GROUP];
    struct store_place places[GROUP]; /* blob "" = could not be read */
    size_t n;
};

/* Intent first: what is written belongs to a session until the new places are recorded. */
static int begin_session(struct move *m, struct err *e)
{
    struct lake *l = m->l;
    const struct session_put put = {l->user, "gc", "{}"};

    if (db_begin(l->db, e) < 0)
        return -1;
    return db_end(l->db, session_row_new(l, &put, SESSION_LASTS_MS, &m->session, e), e);
}

static void read_row(struct move *m, struct db_query *q, const char *blob)
{
    struct store_content *c = &m->contents[m->n];

    *c = (struct store_content){0};
    (void)object_read_digest(q, 1,
                             &c->digest); /* damaged otherwise, and found so when it is read */
    c->place.size = (uint64_t)db_int(q, 2);
    c->place.offset = (uint64_t)db_int(q, 3);
    snprintf(c->place.blob, sizeof c->place.blob, "%s", blob);
    m->ids[m->n] = db_int(q, 0);
    m->places[m->n].blob[0] = '\0';
    m->pointers[m->n++] = c;
    m->after = (int64_t)c->place.offset;
}

/* The next group of contents, in order of their offsets, which are all different: every content of
 * a pack has a header. */
static int next_group(struct move *m, const char *blob, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(m->l->db, e,
                 "SELECT id, sha256, size, at FROM object WHERE blob = $1"
                 " AND at > $2 ORDER BY at LIMIT $3",
                 DB_INT(m->from), DB_INT(m->after), DB_INT(GROUP));
    int row;

    m->n = 0;
    while ((row = db_step(q, e)) == 1)
        read_row(m, q, blob);
    return row;
}

static int arrived(void *context, size_t i, const void *bytes, size_t n, struct err *e)
{
    struct move *m = context;

    return store_write_small(m->writer, bytes, n, &m->contents[i].digest, &m->places[i], e);
}

static int damaged(void *context, size_t i, const struct err *why, struct err *e)
{
    (void)context;
    (void)i;
    (void)e;
    log_warn("lake", "gc leaves damaged content alone: %s; fsck names its files", why->text);
    return 0;
}

/* A content that meanwhile went, or moved, is left as it is. */
static int record(struct move *m, size_t i, uint64_t *moved, struct err *e)
{
    struct lake *l = m->l;
    int64_t blob = 0;

    if (object_blob(l, m->places[i].blob, &blob, e) < 0)
        return -1;
    if (db_run(l->db, e,
               "UPDATE object SET blob = $1, at = $2 WHERE id = $3 AND blob = $4 AND at = $5",
               DB_INT(blob), DB_INT((int64_t)m->places[i].offset), DB_INT(m->ids[i]),
               DB_INT(m->from), DB_INT((int64_t)m->contents[i].place.offset)) < 0)
        return -1;
    *moved += m->contents[i].place.size;
    return 0;
}

static int record_all(struct move *m, uint64_t *moved, struct err *e)
{
    int result = 0;

    if (db_begin(m->l->db, e) < 0)
        return -1;
    for (size_t i = 0; i < m->n && result == 0; i++)
        if (m->places[i].blob[0])
            result = record(m, i, moved, e);
    return db_end(m->l->db, result, e);
}

static int move_groups(
    struct move *m, struct store *s, const char *blob, uint64_t *moved, struct err *e)
{
    const struct store_reader reader = {arrived, damaged, m};

    for (;;) {
        if (next_group(m, blob, e) < 0)
            return -1;
        if (m->n == 0)
            return 0;
        if (store_read_many(s, m->l->area, m->pointers, m->n, &reader, e) < 0 ||
            store_flush(m->writer, e) < 0 || record_all(m, moved, e) < 0)
            return -1;
    }
}

static int drop_old(struct move *m, struct store *s, const char *blob, struct err *e)
{
    struct store_blob old = {.name = blob};
    struct err why = {0};

    if (db_run(m->l->db, e,
               "DELETE FROM blob WHERE id = $1 AND NOT EXISTS"
               " (SELECT 1 FROM object WHERE object.blob = blob.id)",
               DB_INT(m->from)) < 0)
        return -1;
    if (store_delete(s, m->l->area, &old, object_blob_unused, m->l, &why) == 0 ||
        why.kind == ERR_RETRY)
        return 0; /* someone appends to it: the next gc finds it */
    return err_set(e, why.kind, "%s", why.text);
}

static int run(struct move *m, const char *blob, uint64_t *moved, struct err *e)
{
    struct store *s = lake_store(m->l, e);

    int found = !s ? -1
                   : db_get_int(m->l->db, e, &m->from,
                                "SELECT id FROM blob WHERE project = $1 AND name = $2",
                                DB_INT(m->l->project), DB_TEXT(blob));
    if (found <= 0)
        return found;
    if (begin_session(m, e) < 0)
        return -1;
    m->writer = store_writer_new(s, m->l->area, m->session, e);
    if (!m->writer)
        return -1;
    store_writer_fresh(m->writer);
    if (move_groups(m, s, blob, moved, e) < 0 || session_row_remove(m->l, m->session, e) < 0)
        return -1;
    return drop_old(m, s, blob, e);
}

int repack(struct lake *l, const char *blob, uint64_t *moved_bytes, struct err *e)
{
    AUTO_MEM struct move *m = mem_zero(1, sizeof *m);

    m->l = l;
    m->after = -1;
    int result = run(m, blob, moved_bytes, e);
    store_writer_free(m->writer);
    return result;
}
