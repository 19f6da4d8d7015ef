/* Set versions whose content a replay can make again, and the content that only they need.
 * `gc --economic` calls it. */

#include "base/mem.h"
#include "lake/clean/internal.h"
#include "lake/core/entries.h"
#include "lake/set/graph.h"
#include "lake/set/set.h"

#include <stdlib.h>
#include <string.h>

void spares_clear(struct spares *s)
{
    for (size_t i = 0; i < s->n; i++)
        free((char *)(uintptr_t)s->items[i].ref);
    free(s->items);
    bits_clear(&s->without);
    *s = (struct spares){0};
}

/* ---- which set versions ---- */

/* What a replay gave differently: both would be lost. */
static int find_fickle(struct lake *l, struct bits *out, struct err *e)
{
    AUTO_CLEAR(lake_names) struct lake_names recorded = {0};
    AUTO_RESET struct db_query *q = db_query(
        l->db, e,
        "SELECT m.item, m.value FROM meta_key k JOIN set_version v ON v.project = k.project"
        " JOIN meta m ON m.kind = $2 AND m.item = v.id AND m.key = k.id"
        " WHERE k.project = $1 AND k.name = '" LAKE_TAG_NON_DETERMINISTIC "'",
        DB_INT(l->project), DB_INT(LAKE_ITEM_SET));
    int row;

    while ((row = db_step(q, e)) == 1) {
        bits_add(out, db_int(q, 0));
        lake_names_add(&recorded, db_text(q, 1) ? db_text(q, 1) : "");
    }
    for (size_t i = 0; row == 0 && i < recorded.n; i++) {
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        if (lake_resolve(l, recorded.items[i], LAKE_READ, &ref, NULL) == 0)
            bits_add(out, ref.set_version);
    }
    return row;
}

/* Whether the content is in use: a pin, an alias, or a job that is not over. */
#define COUNTED_ON                                                                                 \
    " EXISTS (SELECT 1 FROM pin WHERE pin.project = $1 AND pin.kind = $2 AND pin.item = v.id)"     \
    " OR EXISTS (SELECT 1 FROM set_alias a WHERE a.fileset = v.fileset AND a.number = v.number)"   \
    " OR EXISTS (SELECT 1 FROM job u WHERE u.input_version = v.id"                                 \
    " AND " LAKE_JOB_IS_OPEN("u.state",                                                            \
                             "$3") ")"                                                             \
                                   " OR EXISTS (SELECT 1 FROM job u WHERE u.code_version = v.id"   \
                                   " AND " LAKE_JOB_IS_OPEN("u.state", "$3") ")"

static void add_spare(struct spares *s, struct db_query *q)
{
    s->items = mem_room(s->items, s->n, &s->cap, sizeof *s->items);
    s->items[s->n++] = (struct lake_spare){.version = db_int(q, 0),
                                           .ref = lake_ref_of_set(db_text(q, 1), db_int(q, 2)),
                                           .job = db_int(q, 3)};
    bits_add(&s->without, db_int(q, 0));
}

/* hard: those that keep their content: counted on, made by a job and not spare. */
static int find_spare(struct lake *l,
                      const struct bits *only,
                      const struct bits *fickle,
                      struct spares *out,
                      struct bits *hard,
                      struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        l->db, e,
        "SELECT v.id, f.name, v.number,"
        " (SELECT MIN(j.id) FROM job j WHERE j.output_version = v.id AND"
        " j.reproduced = 0)," COUNTED_ON " FROM set_version v JOIN fileset f ON f.id = v.fileset"
        " WHERE v.project = $1 AND v.removed = 0 ORDER BY v.id",
        DB_INT(l->project), DB_INT(LAKE_ITEM_SET), DB_INT(LAKE_JOB_FINISHED));
    int row;

    while ((row = db_step(q, e)) == 1) {
        int64_t id = db_int(q, 0);
        bool made = !db_is_null(q, 3), free_to_go = !db_int(q, 4) && !bits_has(fickle, id);
        if (made && free_to_go && (!only || bits_has(only, id)))
            add_spare(out, q);
        else if (made || !free_to_go)
            bits_add(hard, id);
    }
    return row;
}

/* Sets made by hand of these; parents come before their children. */
static int add_made_of(struct lake *l, const struct bits *hard, struct bits *without, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, "SELECT child, parent FROM edge WHERE kind = $1 ORDER BY child",
                 DB_INT(LAKE_EDGE_CREATE));
    int row;

    while ((row = db_step(q, e)) == 1)
        if (bits_has(without, db_int(q, 1)) && !bits_has(hard, db_int(q, 0)))
            bits_add(without, db_int(q, 0));
    return row;
}

int spares_find(struct lake *l, const int64_t *only, size_t n, struct spares *out, struct err *e)
{
    AUTO_CLEAR(bits) struct bits fickle = {0};
    AUTO_CLEAR(bits) struct bits hard = {0};
    AUTO_CLEAR(bits) struct bits named = {0};

    *out = (struct spares){0};
    for (size_t i = 0; i < n; i++)
        bits_add(&named, only[i]);
    if (find_fickle(l, &fickle, e) < 0 ||
        find_spare(l, n ? &named : NULL, &fickle, out, &hard, e) < 0 ||
        add_made_of(l, &hard, &out->without, e) < 0) {
        spares_clear(out);
        return -1;
    }
    return 0;
}

/* ---- their content ---- */

struct holding {
    struct lake *l;
    struct bits *contents;
    /* By content: the id of the set version that holds it, -1 = several. */
    int64_t *holder;
    int64_t top; /* highest id of a content */
    int64_t version;
};

static int hold_content(void *context, const struct lake_entry *entry, struct err *e)
{
    struct holding *h = context;
    int64_t object;
    int row = db_get_int(h->l->db, e, &object, "SELECT object FROM version WHERE id = $1",
                         DB_INT(entry->version));

    if (row <= 0)
        return row;
    if (h->contents)
        bits_add(h->contents, object);
    if (h->holder && object <= h->top) {
        int64_t *holder = &h->holder[object];
        *holder = *holder == 0 || *holder == h->version ? h->version : -1;
    }
    return 0;
}

static int hold_all(struct holding *h, const struct spares *s, struct err *e)
{
    for (size_t i = 0; i < s->n; i++) {
        h->version = s->items[i].version;
        if (entries_each(h->l, h->version, "/", hold_content, h, e) < 0)
            return -1;
    }
    return 0;
}

int spares_contents(struct lake *l, const struct spares *s, struct bits *out, struct err *e)
{
    struct holding h = {.l = l, .contents = out};

    return hold_all(&h, s, e);
}

static int by_version(const void *a, const void *b)
{
    int64_t x = ((const struct lake_spare *)a)->version;
    int64_t y = ((const struct lake_spare *)b)->version;

    return (x > y) - (x < y);
}

static int add_bytes(struct lake *l,
                     const struct holding *h,
                     const struct need *need,
                     struct spares *s,
                     struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, "SELECT id, size FROM object WHERE project = $1 AND blob IS NOT NULL",
                 DB_INT(l->project));
    int row;

    while ((row = db_step(q, e)) == 1) {
        int64_t id = db_int(q, 0);
        struct lake_spare key = {.version = id <= h->top ? h->holder[id] : 0};
        if (key.version <= 0 || bits_has(&need->objects, id))
            continue;
        struct lake_spare *holder = bsearch(&key, s->items, s->n, sizeof key, by_version);
        if (holder)
            holder->only_bytes += (uint64_t)db_int(q, 1);
    }
    return row;
}

static int weigh(struct lake *l, struct spares *s, struct err *e)
{
    AUTO_CLEAR(need) struct need need = {0};
    struct holding h = {.l = l};

    if (spares_find(l, NULL, 0, s, e) < 0)
        return -1;
    if (need_find(l, false, &s->without, &need, e) < 0 ||
        db_get_int(l->db, e, &h.top, "SELECT MAX(id) FROM object", DB_NONE) < 0)
        return -1;
    AUTO_MEM int64_t *holder = mem_zero((size_t)h.top + 1, sizeof *holder);
    h.holder = holder;
    return hold_all(&h, s, e) < 0 ? -1 : add_bytes(l, &h, &need, s, e);
}

int lake_spare_list(struct lake *l, lake_visit_spare *visit, void *context, struct err *e)
{
    AUTO_CLEAR(spares) struct spares s = {0};

    if (!l->admin)
        return err_set(e, ERR_DENIED, "gc is for the project's admin");
    if (db_begin_read(l->db, e) < 0)
        return -1;
    int result = weigh(l, &s, e);
    db_rollback(l->db);
    for (size_t i = 0; result == 0 && i < s.n; i++)
        result = visit(context, &s.items[i], e);
    return result;
}
