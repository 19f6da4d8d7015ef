/* Objects: contents by digest, and where each is in the store. put, get and gc call it. */
#include "base/mem.h"
#include "lake/core/internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

bool object_read_digest(struct db_query *q, int column, struct sha256_digest *out)
{
    size_t n;
    const void *bytes = db_bytes(q, column, &n);

    if (!bytes || n != sizeof out->bytes)
        return false;
    memcpy(out->bytes, bytes, n);
    return true;
}

bool object_blob_unused(void *context, const char *name)
{
    struct lake *l = context;
    struct err ignored;
    AUTO_RESET struct db_query *q = db_query(l->db, &ignored,
                                             "SELECT 1 FROM blob b JOIN object o ON o.blob = b.id"
                                             " WHERE b.project = $1 AND b.name = $2 LIMIT 1",
                                             DB_INT(l->project), DB_TEXT(name));

    return db_step(q, &ignored) == 0;
}

void object_clear(struct object *o)
{
    store_content_clear(&o->content);
    *o = (struct object){0};
}

static int damaged(int64_t id, struct err *e)
{
    return err_set(e, ERR_IO, "the lake's database is damaged at object %lld", (long long)id);
}

/* The row of find_by_id. */
static int read_row(struct db_query *q, struct object *out, struct err *e)
{
    struct store_content *c = &out->content;
    size_t n_parts;
    const void *parts = db_bytes(q, 5, &n_parts);
    const char *blob = db_text(q, 6);

    *out = (struct object){.id = db_int(q, 0), .present = blob != NULL};
    if (!object_read_digest(q, 1, &c->digest) || n_parts % SHA256_BYTES != 0 || db_int(q, 2) < 0 ||
        (blob && strlen(blob) >= sizeof c->place.blob))
        return damaged(out->id, e);
    c->place.size = (uint64_t)db_int(q, 2);
    c->place.offset = (uint64_t)db_int(q, 3);
    if (blob)
        snprintf(c->place.blob, sizeof c->place.blob, "%s", blob);
    c->part_bytes = (uint64_t)db_int(q, 4);
    c->n_parts = parts ? n_parts / SHA256_BYTES : 0;
    if (c->n_parts) {
        c->parts = mem_zero(c->n_parts, sizeof *c->parts);
        memcpy(c->parts, parts, n_parts);
    }
    return 1;
}

static int find_by_id(struct lake *l, int64_t id, struct object *out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT o.id, o.sha256, o.size, o.at, o.part_bytes, o.parts, b.name FROM object o"
                 " LEFT JOIN blob b ON b.id = o.blob WHERE o.id = $1 AND o.project = $2",
                 DB_INT(id), DB_INT(l->project));
    int found = db_step(q, e);

    *out = (struct object){0};
    return found == 1 ? read_row(q, out, e) : found;
}

int object_get(struct lake *l, int64_t id, struct object *out, struct err *e)
{
    int found = find_by_id(l, id, out, e);

    return found == 0 ? damaged(id, e) : found < 0 ? -1 : 0;
}

int object_moved(struct lake *l, struct object *o, struct err *e)
{
    AUTO_CLEAR(object) struct object now = {0};
    int found = find_by_id(l, o->id, &now, e);

    if (found < 0)
        return -1;
    if (now.present && now.content.place.offset == o->content.place.offset &&
        strcmp(now.content.place.blob, o->content.place.blob) == 0)
        return 0;
    struct object before = *o;
    *o = now;
    o->id = before.id;
    now = before;
    return 1;
}

int object_blob(struct lake *l, const char *name, int64_t *id_out, struct err *e)
{
    int found = db_get_int(l->db, e, id_out, "SELECT id FROM blob WHERE project = $1 AND name = $2",
                           DB_INT(l->project), DB_TEXT(name));

    if (found != 0)
        return found < 0 ? -1 : 0;
    if (lake_remember_store(l, e) < 0 || db_ids(l->db, "blob", 1, id_out, e) < 0)
        return -1;
    return db_run(l->db, e, "INSERT INTO blob (id, project, name) VALUES ($1, $2, $3)",
                  DB_INT(*id_out), DB_INT(l->project), DB_TEXT(name));
}

/* 1: that content has a row, 0: none, -1 */
static int find_row(struct lake *l,
                    const struct sha256_digest *digest,
                    int64_t *id_out,
                    bool *present_out,
                    struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, "SELECT id, blob FROM object WHERE project = $1 AND sha256 = $2",
                 DB_INT(l->project), DB_BYTES(digest->bytes, sizeof digest->bytes));
    int found = db_step(q, e);

    *id_out = found == 1 ? db_int(q, 0) : 0;
    *present_out = found == 1 && !db_is_null(q, 1);
    return found;
}

static struct db_value parts_value(const struct store_content *c)
{
    return c->n_parts ? DB_BYTES(c->parts, c->n_parts * sizeof *c->parts) : DB_NULL;
}

/* A store that had the content already was not sent it again. */
static bool is_stored(const struct store_content *c)
{
    return c->place.blob[0] != 0;
}

static int add_row(struct lake *l,
                   struct db_rows *rows,
                   int64_t blob,
                   const struct store_content *c,
                   int64_t *id_out,
                   struct err *e)
{
    if (db_ids(l->db, "object", 1, id_out, e) < 0)
        return -1;
    return db_rows_add(rows, e, DB_INT(*id_out), DB_INT(l->project),
                       DB_BYTES(c->digest.bytes, sizeof c->digest.bytes),
                       DB_INT((int64_t)c->place.size), DB_INT(blob),
                       DB_INT((int64_t)c->place.offset), DB_INT((int64_t)c->part_bytes),
                       parts_value(c));
}

/* Rows for all stored contents of which there is none; ids_out has those they were given. */
static int insert_new(
    struct lake *l, const struct store_content *c, size_t n, int64_t *ids_out, struct err *e)
{
    AUTO(db_rows)
    struct db_rows *rows = db_rows_new(
        l->db, "INSERT INTO object (id, project, sha256, size, blob, at, part_bytes, parts)", 8,
        "ON CONFLICT (project, sha256) DO NOTHING");
    const char *last = "";
    int64_t blob = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is_stored(&c[i]))
            continue;
        /* Most lie in the pack of the one before. */
        if (strcmp(c[i].place.blob, last) != 0 && object_blob(l, c[i].place.blob, &blob, e) < 0)
            return -1;
        last = c[i].place.blob;
        if (add_row(l, rows, blob, &c[i], &ids_out[i], e) < 0)
            return -1;
    }
    if (db_rows_flush(rows, e) < 0)
        return -1;
    return db_rows_all_changed(rows);
}

/* Content whose row may have been there, or which was not stored. */
static int settle(
    struct lake *l, const struct store_content *c, bool replace, int64_t *id, struct err *e)
{
    bool present = false;
    int64_t blob = 0, found_id;
    char text[SHA256_HEX];
    int found = find_row(l, &c->digest, &found_id, &present, e);

    if (found < 0)
        return -1;
    bool is_new = is_stored(c) && found_id == *id;
    *id = found_id;
    if (is_new || (present && !(replace && is_stored(c))))
        return 0;
    /* It was there when the store was told not to send it, and gc has taken it since. */
    if (!is_stored(c))
        return err_set(e, ERR_RETRY, "content %s was removed meanwhile: try again",
                       sha256_text(&c->digest, text));
    if (object_blob(l, c->place.blob, &blob, e) < 0)
        return -1;
    /* gc took the content away, now it is back; or it was damaged. */
    return db_run(l->db, e,
                  "UPDATE object SET size = $3, blob = $4, at = $5, part_bytes = $6, parts = $7"
                  " WHERE id = $1 AND project = $2",
                  DB_INT(*id), DB_INT(l->project), DB_INT((int64_t)c->place.size), DB_INT(blob),
                  DB_INT((int64_t)c->place.offset), DB_INT((int64_t)c->part_bytes), parts_value(c));
}

/* Of contents whose rows were there all along. */
static int drop_unused_blobs(struct lake *l,
                             const struct store_content *contents,
                             size_t n,
                             struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        if (db_run(l->db, e,
                   "DELETE FROM blob WHERE project = $1 AND name = $2 AND NOT"
                   " EXISTS (SELECT 1 FROM object WHERE object.blob = blob.id)",
                   DB_INT(l->project), DB_TEXT(contents[i].place.blob)) < 0)
            return -1;
    }
    return 0;
}

int object_keep_all(struct lake *l,
                    const struct store_content *contents,
                    size_t n,
                    bool replace,
                    int64_t *ids_out,
                    struct err *e)
{
    int all_new = insert_new(l, contents, n, ids_out, e);

    if (all_new < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if ((!all_new || !is_stored(&contents[i])) &&
            settle(l, &contents[i], replace, &ids_out[i], e) < 0)
            return -1;
    return all_new ? 0 : drop_unused_blobs(l, contents, n, e);
}

int object_keep(struct lake *l, const struct store_content *c, int64_t *id_out, struct err *e)
{
    return object_keep_all(l, c, 1, false, id_out, e);
}

static int swallow(void *context, const void *bytes, size_t n, struct err *e)
{
    (void)context;
    (void)bytes;
    (void)n;
    (void)e;
    return 0;
}

int object_readable(struct lake *l, int64_t id, struct err *e)
{
    AUTO_CLEAR(object) struct object o = {0};
    struct store *store = lake_store(l, e);
    int moved = 1;

    if (!store || object_get(l, id, &o, e) < 0)
        return -1;
    while (moved > 0 && o.present) {
        struct err why = {0};
        if (store_stream(store, l->area, &o.content, 0, UINT64_MAX, swallow, NULL, &why) == 0)
            return 1;
        if (why.kind != ERR_IO && why.kind != ERR_NOTFOUND)
            return err_set(e, why.kind, "%s", why.text);
        moved = object_moved(l, &o, e);
    }
    return moved < 0 ? -1 : 0;
}
