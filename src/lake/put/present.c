#include "lake/put/present.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void present_init(struct present *p, struct lake *l)
{
    *p = (struct present){.l = l, .by_id = map_new()};
}

void present_clear(struct present *p)
{
    free(p->blobs);
    map_free(p->by_id);
    *p = (struct present){0};
}

/* Ids are given in a row: their low bits are hash enough. */
static bool same_id(const void *blobs, uint32_t i, const void *id)
{
    return ((const struct present_blob *)blobs)[i].id == *(const int64_t *)id;
}

/* Where the database has it: *blob_out 0: nowhere. */
static int look_up(
    struct present *p, int64_t object, int64_t *blob_out, uint64_t *end_out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(p->l->db, e, "SELECT blob, at + size FROM object WHERE id = $1 AND project = $2",
                 DB_INT(object), DB_INT(p->l->project));

    *blob_out = 0;
    int row = db_step(q, e);
    if (row > 0 && !db_is_null(q, 0)) {
        *blob_out = db_int(q, 0);
        *end_out = (uint64_t)db_int(q, 1);
    }
    return row < 0 ? -1 : 0;
}

/* 1: asked, 0: there is no such blob, -1 */
static int ask_store(struct present *p, int64_t blob, uint64_t *size_out, struct err *e)
{
    char name[STORE_BLOB_NAME] = "";
    struct err why = {0};
    struct store *store = lake_store(p->l, e);

    if (!store)
        return -1;
    AUTO_RESET struct db_query *q =
        db_query(p->l->db, e, "SELECT name FROM blob WHERE id = $1", DB_INT(blob));
    int row = db_step(q, e);
    if (row > 0)
        snprintf(name, sizeof name, "%s", db_text(q, 0));
    db_reset(q); /* before the network is asked */
    if (row <= 0)
        return row;
    if (store_size(store, p->l->area, name, size_out, &why) == 0)
        return 1;
    return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

int present_object(struct present *p, int64_t object, struct err *e)
{
    int64_t blob, asked = 0;
    uint64_t end = 0, size = 0;

    for (;;) {
        if (look_up(p, object, &blob, &end, e) < 0)
            return -1;
        /* Not even gc has moved it since it was asked for. */
        if (!blob || blob == asked)
            return 0;
        uint32_t known = map_find(p->by_id, (uint64_t)blob, same_id, p->blobs, &blob);
        if (known != MAP_NONE)
            return end <= p->blobs[known].size;
        int there = ask_store(p, blob, &size, e);
        if (there < 0)
            return -1;
        if (there > 0) {
            p->blobs = mem_room(p->blobs, p->n, &p->cap, sizeof *p->blobs);
            map_add(p->by_id, (uint64_t)blob, (uint32_t)p->n);
            p->blobs[p->n++] = (struct present_blob){blob, size};
            return end <= size;
        }
        asked = blob;
    }
}
