#include "lake/clean.h"

#include "base/mem.h"
#include "lake/internal.h"

#include <string.h>

struct pinned {
    enum lake_item kind;
    int64_t item;
};

static int pinned_item(const struct lake_ref *ref, struct pinned *out, struct err *e)
{
    if (ref->kind == LAKE_REF_FILE) {
        *out = (struct pinned){LAKE_ITEM_FILE, ref->version};
        return 0;
    }
    if (ref->kind == LAKE_REF_SET && strcmp(ref->path, "/") == 0) {
        *out = (struct pinned){LAKE_ITEM_SET, ref->set_version};
        return 0;
    }
    AUTO_MEM char *text = lake_ref_text(ref);
    return err_set(e, ERR_USAGE,
                   "%s: pins hold a file version (/p#2) or a whole set version (@S:1)", text);
}

/* One statement on ($1 project, $2 kind, $3 item). */
static int change(struct lake *l, const char *sql, const struct pinned *p, struct err *e)
{
    struct db_query *q = db_query(l->db, sql, e);

    if (!q)
        return -1;
    db_bind_int(q, 1, l->project);
    db_bind_int(q, 2, p->kind);
    db_bind_int(q, 3, p->item);
    return db_run(q, e);
}

static int pin_one(struct lake *l,
                   const struct lake_ref *ref,
                   const struct pinned *p,
                   struct err *e)
{
    (void)ref;
    return change(l,
                  "INSERT INTO pin (project, kind, item) VALUES ($1, $2, $3)"
                  " ON CONFLICT DO NOTHING",
                  p, e);
}

static int unpin_one(struct lake *l,
                     const struct lake_ref *ref,
                     const struct pinned *p,
                     struct err *e)
{
    if (change(l, "DELETE FROM pin WHERE project = $1 AND kind = $2 AND item = $3", p, e) < 0)
        return -1;
    if (db_changes(l->db) > 0)
        return 0;
    AUTO_MEM char *text = lake_ref_text(ref);
    return err_set(e, ERR_NOTFOUND, "%s is not pinned; `tradewind pin` lists what is", text);
}

typedef int pin_act(struct lake *l,
                    const struct lake_ref *ref,
                    const struct pinned *p,
                    struct err *e);

static int act_on(struct lake *l, const char *text, pin_act *act, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct pinned p = {0};

    if (lake_resolve(l, text, LAKE_WRITE, &ref, e) < 0 || pinned_item(&ref, &p, e) < 0)
        return -1;
    return act(l, &ref, &p, e);
}

static int act_on_all(
    struct lake *l, const char *const *refs, size_t n, pin_act *act, struct err *e)
{
    int result = db_begin(l->db, e);

    if (result < 0)
        return -1;
    for (size_t i = 0; i < n && result == 0; i++)
        result = act_on(l, refs[i], act, e);
    if (result == 0)
        result = db_commit(l->db, e);
    if (result < 0)
        db_rollback(l->db);
    return result;
}

int lake_pin(struct lake *l, const char *const *refs, size_t n, struct err *e)
{
    return act_on_all(l, refs, n, pin_one, e);
}

int lake_unpin(struct lake *l, const char *const *refs, size_t n, struct err *e)
{
    return act_on_all(l, refs, n, unpin_one, e);
}

static int visit_pins(struct db_query *q,
                      char *(*text_of)(const char *name, int64_t number),
                      int (*visit)(void *context, const char *ref, struct err *e),
                      void *context,
                      struct err *e)
{
    int row;

    while ((row = db_step(q, e)) == 1) {
        AUTO_MEM char *text = text_of(db_text(q, 0), db_int(q, 1));
        if (visit(context, text, e) < 0)
            break;
    }
    db_reset(q);
    return row == 0 ? 0 : -1;
}

int lake_pin_list(struct lake *l,
                  int (*visit)(void *context, const char *ref, struct err *e),
                  void *context,
                  struct err *e)
{
    struct db_query *q =
        db_query(l->db,
                 "SELECT f.path, v.number FROM pin p JOIN version v ON v.id = p.item"
                 " JOIN file f ON f.id = v.file WHERE p.project = $1 AND p.kind = $2"
                 " ORDER BY f.path, v.number",
                 e);
    if (!q)
        return -1;
    db_bind_int(q, 1, l->project);
    db_bind_int(q, 2, LAKE_ITEM_FILE);
    if (visit_pins(q, lake_file_ref, visit, context, e) < 0)
        return -1;
    q = db_query(l->db,
                 "SELECT s.name, v.number FROM pin p JOIN set_version v ON v.id = p.item"
                 " JOIN fileset s ON s.id = v.fileset WHERE p.project = $1 AND p.kind = $2"
                 " ORDER BY s.name, v.number",
                 e);
    if (!q)
        return -1;
    db_bind_int(q, 1, l->project);
    db_bind_int(q, 2, LAKE_ITEM_SET);
    return visit_pins(q, lake_set_ref, visit, context, e);
}
