/* Pins files and sets, which then are neither removed nor collected. `pin` and `unpin` call it. */
#include "lake/clean/clean.h"

#include "base/mem.h"
#include "lake/core/internal.h"

#include <string.h>

struct pinned {
    enum lake_item kind;
    int64_t item;
};

static int pinned_item(const struct lake_ref *ref, struct pinned *out, struct err *e)
{
    if (ref_item(ref, &out->kind, &out->item) &&
        (out->kind == LAKE_ITEM_FILE || out->kind == LAKE_ITEM_SET))
        return 0;
    return ref_refuse(ref, "cannot be pinned; pin a file version (/p#2) or a set version (@S:1)",
                      e);
}

/* One statement on ($1 project, $2 kind, $3 item). */
static int change(struct lake *l, const char *sql, const struct pinned *p, struct err *e)
{
    return db_run(l->db, e, sql, DB_INT(l->project), DB_INT(p->kind), DB_INT(p->item));
}

/* Content that gc took cannot be kept any more. */
static int check_there(struct lake *l, const struct lake_ref *ref, struct err *e)
{
    int64_t blob;
    int there = db_get_int(l->db, e, &blob,
                           "SELECT o.blob FROM version v JOIN object o ON o.id = v.object"
                           " WHERE v.id = $1 AND v.project = $2",
                           DB_INT(ref->version), DB_INT(l->project));

    if (there != 0)
        return there < 0 ? -1 : 0;
    AUTO_MEM char *text = lake_ref_text(ref);
    return err_set(e, ERR_NOTFOUND, "the content of %s was removed by gc; put it again first",
                   text);
}

typedef int pin_act(struct lake *l, const char *text, struct err *e);

static int pin_text(struct lake *l, const char *text, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct pinned p = {0};

    if (lake_resolve(l, text, LAKE_WRITE, &ref, e) < 0 || pinned_item(&ref, &p, e) < 0)
        return -1;
    if (ref.kind == LAKE_REF_FILE && check_there(l, &ref, e) < 0)
        return -1;
    return change(l,
                  "INSERT INTO pin (project, kind, item) VALUES ($1, $2, $3)"
                  " ON CONFLICT DO NOTHING",
                  &p, e);
}

static int remove_pin(struct lake *l, const struct pinned *p, struct err *e)
{
    return change(l, "DELETE FROM pin WHERE project = $1 AND kind = $2 AND item = $3", p, e);
}

/* A walk over the pins of what the caller has these rights to. */
struct pin_walk {
    struct lake *l;
    unsigned access;
    lake_visit_text *visit;
    void *context;       /* of visit */
    const char *wanted;  /* NULL, or a reference that is looked for instead of visiting */
    struct pinned found; /* the pin of wanted; kind 0 = none */
};

static int visit_pins(struct pin_walk *w, struct db_query *q, enum lake_item kind, struct err *e)
{
    int row;

    while ((row = db_step(q, e)) == 1) {
        if (!lake_row_may(w->l, q, 3, w->access))
            continue;
        AUTO_MEM char *ref = kind == LAKE_ITEM_FILE ? lake_file_ref(db_text(q, 0), db_int(q, 1))
                                                    : lake_ref_of_set(db_text(q, 0), db_int(q, 1));
        if (w->wanted && strcmp(ref, w->wanted) == 0)
            w->found = (struct pinned){kind, db_int(q, 2)};
        else if (!w->wanted && w->visit(w->context, ref, e) < 0)
            break;
    }
    return row == 0 ? 0 : -1;
}

static int each_pin(struct pin_walk *w, struct err *e)
{
    static const struct {
        enum lake_item kind;
        const char *sql; /* name, number, item, owner, team, mode */
    } kinds[] = {
        {LAKE_ITEM_FILE, "SELECT f.path, v.number, p.item, f.owner, f.team, f.mode"
                         " FROM pin p JOIN version v ON v.id = p.item"
                         " JOIN file f ON f.id = v.file WHERE p.project = $1 AND p.kind = $2"
                         " ORDER BY f.path, v.number"},
        {LAKE_ITEM_SET, "SELECT s.name, v.number, p.item, s.owner, s.team, s.mode"
                        " FROM pin p JOIN set_version v ON v.id = p.item"
                        " JOIN fileset s ON s.id = v.fileset WHERE p.project = $1 AND p.kind = $2"
                        " ORDER BY s.name, v.number"},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        AUTO_RESET struct db_query *q =
            db_query(w->l->db, e, kinds[i].sql, DB_INT(w->l->project), DB_INT(kinds[i].kind));
        if (visit_pins(w, q, kinds[i].kind, e) < 0)
            return -1;
    }
    return 0;
}

/* What rm took out of the listings cannot be resolved any more, but its pin stands: it is found by
 * the reference that the list of pins shows. */
static int unpin_listed(struct lake *l, const char *text, struct err *e)
{
    struct pin_walk w = {.l = l, .access = LAKE_WRITE, .wanted = text};

    if (each_pin(&w, e) < 0)
        return -1;
    if (!w.found.kind)
        return err_set(e, ERR_NOTFOUND, "%s is not pinned; `tradewind pin` lists what is", text);
    return remove_pin(l, &w.found, e);
}

static int unpin_text(struct lake *l, const char *text, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct pinned p = {0};
    struct err why = {0};

    if (lake_resolve(l, text, LAKE_WRITE, &ref, &why) < 0)
        return why.kind == ERR_NOTFOUND ? unpin_listed(l, text, e)
                                        : err_set(e, why.kind, "%s", why.text);
    if (pinned_item(&ref, &p, e) < 0 || remove_pin(l, &p, e) < 0)
        return -1;
    return db_changes(l->db) > 0 ? 0 : unpin_listed(l, text, e);
}

static int act_on_all(
    struct lake *l, const char *const *refs, size_t n, pin_act *act, struct err *e)
{
    int result = 0;

    if (db_begin(l->db, e) < 0)
        return -1;
    for (size_t i = 0; i < n && result == 0; i++)
        result = act(l, refs[i], e);
    return db_end(l->db, result, e);
}

int lake_pin(struct lake *l, const char *const *refs, size_t n, struct err *e)
{
    return act_on_all(l, refs, n, pin_text, e);
}

int lake_unpin(struct lake *l, const char *const *refs, size_t n, struct err *e)
{
    return act_on_all(l, refs, n, unpin_text, e);
}

int lake_pin_list(struct lake *l, lake_visit_text *visit, void *context, struct err *e)
{
    struct pin_walk w = {.l = l, .access = LAKE_READ, .visit = visit, .context = context};

    return each_pin(&w, e);
}
