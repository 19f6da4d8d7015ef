/* The one transaction that numbers the versions of a put or a session. put.c and session_finish.c
 * call it. */
#include "lake/meta/internal.h"
#include "lake/put/internal.h"
#include "lake/set/internal.h"
#include "lake/set/set.h"

#include <string.h>

int commit_present(struct lake *l, int64_t object, struct err *e)
{
    int64_t blob;

    return db_get_int(l->db, e, &blob, "SELECT blob FROM object WHERE id = $1 AND project = $2",
                      DB_INT(object), DB_INT(l->project));
}

static int tag(struct lake *l,
               enum lake_item kind,
               int64_t item,
               const struct lake_put_options *o,
               struct err *e)
{
    for (size_t i = 0; i < o->n_tags; i++)
        if (meta_put(l, kind, item, o->tags[i], e) < 0)
            return -1;
    return 0;
}

static int add_versions(struct lake *l,
                        const struct lake_made *made,
                        const struct commit_list *list,
                        const struct lake_put_options *o,
                        struct lake_put_summary *summary,
                        struct err *e)
{
    AUTO(version_rows) struct version_rows *rows = version_rows_new(l, made);

    summary->files = summary->unchanged = summary->bytes = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct commit_file f = {0};
        struct version_done done = {0};
        list->get(list->context, i, &f);
        const struct version_new v = {
            .path = f.path,
            .object = f.object,
            .executable = f.executable,
            .force = o->force,
            .vacant = f.vacant,
        };
        if (version_rows_add(rows, &v, &done, e) < 0)
            return -1;
        if (!done.unchanged && tag(l, LAKE_ITEM_FILE, done.version, o, e) < 0)
            return -1;
        list->done(list->context, i, &done);
        summary->files++;
        summary->unchanged += done.unchanged;
        summary->bytes += f.size;
    }
    return version_rows_flush(rows, e);
}

static int make_set(struct lake *l,
                    const struct lake_made *made,
                    const struct commit_list *list,
                    const char *name,
                    struct lake_set *out,
                    struct err *e)
{
    AUTO(set_builder) struct set_builder *b = set_builder_new(l, name, made, e);

    if (!b)
        return -1;
    for (size_t n = 0; n < list->n; n++) {
        struct commit_file f = {0};
        list->get(list->context, list->by_path(list->context, n), &f);
        const struct lake_entry entry = {
            .path = f.path, .number = f.done.number, .version = f.done.version, .size = f.size};
        if (set_builder_add(b, &entry, e) < 0)
            return -1;
    }
    return set_builder_finish(b, NULL, 0, out, e);
}

int commit_versions(struct lake *l,
                    const struct commit_list *list,
                    const struct lake_put_options *o,
                    struct lake_put_summary *summary,
                    int64_t *set_version_out,
                    struct err *e)
{
    struct lake_made made;

    *set_version_out = 0;
    if (lake_made_new(l, list->owner, &made, e) < 0 ||
        add_versions(l, &made, list, o, summary, e) < 0)
        return -1;
    if (!o->set)
        return 0;
    struct lake_set set = {0};
    if (make_set(l, &made, list, o->set, &set, e) < 0 ||
        tag(l, LAKE_ITEM_SET, set.version, o, e) < 0)
        return -1;
    summary->set_number = set.number;
    *set_version_out = set.version;
    return 0;
}

/* ---- the same again ---- */

struct comparison {
    struct lake *l;
    const struct commit_list *list;
    size_t n; /* compared so far */
    bool differs;
};

static int compare(void *context, const struct lake_entry *entry, struct err *e)
{
    struct comparison *c = context;
    struct commit_file f = {0};

    if (c->differs || c->n >= c->list->n) {
        c->differs = true;
        return 0;
    }
    c->list->get(c->list->context, c->list->by_path(c->list->context, c->n++), &f);
    AUTO_RESET struct db_query *q =
        db_query(c->l->db, e, "SELECT object, executable FROM version WHERE id = $1",
                 DB_INT(entry->version));
    int row = db_step(q, e);
    c->differs = row <= 0 || db_int(q, 0) != f.object || (db_int(q, 1) != 0) != f.executable ||
                 strcmp(entry->path, f.path) != 0;
    return row < 0 ? -1 : 0;
}

int commit_same(struct lake *l, const struct commit_list *list, int64_t set_version, struct err *e)
{
    struct comparison c = {.l = l, .list = list};

    if (entries_each(l, set_version, "/", compare, &c, e) < 0)
        return -1;
    return !c.differs && c.n == list->n;
}
