/* Aliases of set versions: set, removed, listed. `set alias` calls it. */
#include "base/mem.h"
#include "lake/core/internal.h"
#include "lake/core/path.h"
#include "lake/set/set.h"

#include <string.h>

static int find_writable(struct lake *l, const char *name, struct item_row *out, struct err *e)
{
    AUTO_MEM char *shown = mem_printf("@%s", name);
    int found = fileset_find(l, name, out, e);

    if (found == 0)
        return err_set(e, ERR_NOTFOUND, "%s: no such set", shown);
    return found < 0 ? -1 : item_ask(l, out, shown, LAKE_WRITE, e);
}

static int write_alias(struct lake *l, const struct lake_ref *ref, const char *alias, struct err *e)
{
    struct item_row set;

    if (find_writable(l, ref->set_name, &set, e) < 0)
        return -1;
    return db_run(l->db, e,
                  "INSERT INTO set_alias (fileset, name, number)"
                  " VALUES ($1, $2, $3) ON CONFLICT (fileset, name)"
                  " DO UPDATE SET number = excluded.number",
                  DB_INT(ref->set), DB_TEXT(alias), DB_INT(ref->number));
}

int lake_alias_set(struct lake *l, const struct lake_ref *ref, const char *alias, struct err *e)
{
    if (ref_ask(l, ref, LAKE_READ, e) < 0)
        return -1;
    if (ref->kind != LAKE_REF_SET || strcmp(ref->path, "/") != 0)
        return ref_refuse(ref, "is not a set version; an alias names one, as @NAME:3", e);
    if (lake_path_check_alias(alias, e) < 0 || db_begin(l->db, e) < 0)
        return -1;
    return db_end(l->db, write_alias(l, ref, alias, e), e);
}

static int delete_alias(struct lake *l, const char *name, const char *alias, struct err *e)
{
    struct item_row set;

    if (find_writable(l, name, &set, e) < 0 ||
        db_run(l->db, e, "DELETE FROM set_alias WHERE fileset = $1 AND name = $2", DB_INT(set.id),
               DB_TEXT(alias)) < 0)
        return -1;
    if (db_changes(l->db) == 0)
        return err_set(e, ERR_NOTFOUND, "@%s has no alias \"%s\"; tradewind alias lists them", name,
                       alias);
    return 0;
}

/* Not resolved as a reference: a name whose set version was removed must be removable too. */
int lake_alias_remove(struct lake *l, const char *text, struct err *e)
{
    const char *colon = strchr(text, ':');

    if (text[0] != '@' || !colon || lake_path_check_alias(colon + 1, e) < 0)
        return err_set(e, ERR_USAGE, "\"%s\" is not an alias; write @SET:NAME", text);
    AUTO_MEM char *name = mem_printf("%.*s", (int)(colon - text - 1), text + 1);
    return db_begin(l->db, e) < 0 ? -1 : db_end(l->db, delete_alias(l, name, colon + 1, e), e);
}

int lake_alias_list(
    struct lake *l,
    int (*visit)(void *context, const char *set, const char *alias, int64_t number, struct err *e),
    void *context,
    struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT s.name, a.name, a.number, s.owner, s.team, s.mode"
                 " FROM set_alias a JOIN fileset s ON s.id = a.fileset"
                 " WHERE s.project = $1 ORDER BY s.name, a.name",
                 DB_INT(l->project));
    int got;

    while ((got = db_step(q, e)) == 1)
        if (lake_row_may(l, q, 3, LAKE_READ) &&
            visit(context, db_text(q, 0), db_text(q, 1), db_int(q, 2), e) < 0)
            return -1;
    return got;
}
