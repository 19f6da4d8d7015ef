/* File versions and objects that sets, pins and pending sessions need. gc and fsck call it. */
#include "lake/clean/internal.h"

#include "lake/put/session.h"
#include "lake/set/internal.h"

void need_clear(struct need *n)
{
    bits_clear(&n->versions);
    bits_clear(&n->objects);
}

static int hold(void *context, const struct lake_entry *entry, struct err *e)
{
    struct need *n = context;

    (void)e;
    bits_add(&n->versions, entry->version);
    return 0;
}

int need_pinned(struct lake *l, struct need *n, struct err *e)
{
    return bits_add_rows(&n->versions,
                         db_query(l->db, e, "SELECT item FROM pin WHERE project = $1 AND kind = $2",
                                  DB_INT(l->project), DB_INT(LAKE_ITEM_FILE)),
                         e);
}

static int contents_of_versions(struct lake *l, struct need *n, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, "SELECT id, object FROM version WHERE project = $1", DB_INT(l->project));
    int row;

    while ((row = db_step(q, e)) == 1) {
        if (bits_has(&n->versions, db_int(q, 0)))
            bits_add(&n->objects, db_int(q, 1));
    }
    return row;
}

static int contents_of_sessions(struct lake *l, struct need *n, struct err *e)
{
    return bits_add_rows(&n->objects,
                         db_query(l->db, e,
                                  "SELECT f.object FROM session s JOIN session_file f"
                                  " ON f.session = s.id WHERE s.project = $1 AND s.state = $2"
                                  " AND f.object IS NOT NULL",
                                  DB_INT(l->project), DB_INT(LAKE_SESSION_PENDING)),
                         e);
}

int need_find(
    struct lake *l, bool keep_latest, const struct bits *except, struct need *out, struct err *e)
{
    static const char latest[] = "SELECT latest_version FROM file WHERE project = $1"
                                 " AND removed = 0";

    *out = (struct need){0};
    /* A list that cannot be read may need anything: nothing is known to be free then. */
    if (entries_each_held(l, except, hold, NULL, out, e) < 0 || need_pinned(l, out, e) < 0 ||
        (keep_latest &&
         bits_add_rows(&out->versions, db_query(l->db, e, latest, DB_INT(l->project)), e) < 0) ||
        contents_of_versions(l, out, e) < 0 || contents_of_sessions(l, out, e) < 0) {
        need_clear(out);
        return -1;
    }
    return 0;
}
