#include "broker/machine/resources.h"

#include "base/mem.h"
#include "base/time.h"
#include "broker/machine/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int deployed_note(struct machines *m, const struct deploy_resource *r, struct err *e)
{
    return machine_change(
        m,
        "INSERT INTO resource (cloud, region, kind, name, parent, deployment, state, asked, since)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)"
        " ON CONFLICT (cloud, region, kind, name, parent) DO UPDATE SET state = excluded.state,"
        " deployment = excluded.deployment, since = excluded.since",
        DB_VALUES(DB_TEXT(r->cloud), DB_TEXT(r->region), DB_TEXT(r->kind), DB_TEXT(r->name),
                  DB_TEXT(r->parent), DB_TEXT(r->deployment), DB_INT(r->state),
                  DB_INT(time_epoch_ms())),
        e);
}

static void read_row(struct db_query *q, struct deploy_resource *out)
{
    *out = (struct deploy_resource){.state = (enum deploy_state)db_int(q, 6)};
    snprintf(out->cloud, sizeof out->cloud, "%s", db_text(q, 0));
    snprintf(out->region, sizeof out->region, "%s", db_text(q, 1));
    snprintf(out->kind, sizeof out->kind, "%s", db_text(q, 2));
    snprintf(out->name, sizeof out->name, "%s", db_text(q, 3));
    snprintf(out->parent, sizeof out->parent, "%s", db_text(q, 4));
    snprintf(out->deployment, sizeof out->deployment, "%s", db_text(q, 5));
}

int deployed_get(struct machines *m,
                 const struct deploy_resource *r,
                 struct deploy_resource *out,
                 struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(m->db, e,
                 "SELECT cloud, region, kind, name, parent, deployment, state FROM resource"
                 " WHERE cloud = $1 AND region = $2 AND kind = $3 AND name = $4 AND parent = $5",
                 DB_TEXT(r->cloud), DB_TEXT(r->region), DB_TEXT(r->kind), DB_TEXT(r->name),
                 DB_TEXT(r->parent));
    int found = db_step(q, e);

    if (found > 0)
        read_row(q, out);
    return found;
}

/* ---- lists: read whole, so that a visit may write ---- */

struct list {
    struct deploy_resource *items;
    size_t n, cap;
};

static int read_all(struct db_query *q, struct list *l, struct err *e)
{
    int found;

    while ((found = db_step(q, e)) > 0) {
        l->items = mem_room(l->items, l->n, &l->cap, sizeof *l->items);
        read_row(q, &l->items[l->n++]);
    }
    return found;
}

static int visit_all(struct list *l, resource_visit *visit, void *context, struct err *e)
{
    int result = 0;

    for (size_t i = 0; i < l->n && result == 0; i++)
        result = visit(context, &l->items[i], e) < 0 ? -1 : 0;
    return result;
}

/* Functions of one region by their names; in each, what was made last goes first. */
static int compare(const void *a, const void *b)
{
    const struct deploy_resource *x = a, *y = b;
    int by;

    if ((by = strcmp(x->cloud, y->cloud)) || (by = strcmp(x->region, y->region)))
        return by;
    by = deploy_rank(y->cloud, y->kind) - deploy_rank(x->cloud, x->kind);
    return by ? by : strcmp(x->name, y->name);
}

int deployed_each(
    struct machines *m, const char *deployment, resource_visit *visit, void *context, struct err *e)
{
    struct list l = {0};
    /* 4: DEPLOY_GONE. */
    AUTO_RESET struct db_query *q =
        db_query(m->db, e,
                 "SELECT cloud, region, kind, name, parent, deployment, state FROM resource"
                 " WHERE state < 4 AND (deployment = $1 OR $2 = 1)",
                 DB_TEXT(deployment ? deployment : ""), DB_INT(!deployment));
    int result = read_all(q, &l, e);

    if (l.n)
        qsort(l.items, l.n, sizeof *l.items, compare);
    if (result == 0)
        result = visit_all(&l, visit, context, e);
    free(l.items);
    return result;
}

int deployed_each_region(struct machines *m, resource_visit *visit, void *context, struct err *e)
{
    struct list l = {0};
    AUTO_RESET struct db_query *q =
        db_query(m->db, e,
                 "SELECT DISTINCT cloud, region, '', '', '', '', 4 FROM resource"
                 " ORDER BY cloud, region",
                 DB_NONE);
    int result = read_all(q, &l, e);

    if (result == 0)
        result = visit_all(&l, visit, context, e);
    free(l.items);
    return result;
}
