/* Lookups of files and sets by name. All of the lake's rooms call it. */
#include "lake/core/internal.h"

#include <stdio.h>

/* Columns: id, owner, team, mode, latest, latest_version, number of it, removed, object. */
static int find_item(
    struct lake *l, const char *sql, const char *key, struct item_row *out, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(l->db, e, sql, DB_INT(l->project), DB_TEXT(key));

    *out = (struct item_row){0};
    int found = db_step(q, e);
    if (found == 1) {
        out->id = db_int(q, 0);
        snprintf(out->owner, sizeof out->owner, "%s", db_text(q, 1));
        out->may = (lake_row_may(l, q, 1, LAKE_READ) ? LAKE_READ : 0U) |
                   (lake_row_may(l, q, 1, LAKE_WRITE) ? LAKE_WRITE : 0U);
        out->last = db_int(q, 4);
        out->latest_version = db_int(q, 5);
        out->latest = db_int(q, 6);
        out->removed = db_int(q, 7) != 0;
        out->object = db_int(q, 8);
    }
    return found;
}

int lake_file_find(struct lake *l, const char *path, struct item_row *out, struct err *e)
{
    return find_item(l,
                     "SELECT f.id, f.owner, f.team, f.mode, f.latest, f.latest_version, v.number,"
                     " f.removed, v.object FROM file f JOIN version v ON v.id = f.latest_version"
                     " WHERE f.project = $1 AND f.path = $2",
                     path, out, e);
}

int fileset_find(struct lake *l, const char *name, struct item_row *out, struct err *e)
{
    return find_item(l,
                     "SELECT s.id, s.owner, s.team, s.mode, s.latest, s.latest_version, v.number,"
                     " v.removed, 0 FROM fileset s JOIN set_version v ON v.id = s.latest_version"
                     " WHERE s.project = $1 AND s.name = $2",
                     name, out, e);
}

int item_ask(
    struct lake *l, const struct item_row *row, const char *shown, unsigned access, struct err *e)
{
    unsigned missing = access & ~row->may;

    return missing ? lake_denied(l, shown, row->owner, missing, e) : 0;
}

int directory_exists(struct lake *l, const char *directory, struct err *e)
{
    AUTO_MEM char *after = path_after(directory);
    int64_t id;

    return db_get_int(l->db, e, &id,
                      "SELECT id FROM file WHERE project = $1 AND path > $2 AND path < $3"
                      " AND removed = 0 LIMIT 1",
                      DB_INT(l->project), DB_TEXT(directory), DB_TEXT(after));
}
