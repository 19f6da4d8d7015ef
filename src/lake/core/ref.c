#include "lake/core/ref.h"

#include "base/mem.h"
#include "lake/core/entries.h"
#include "lake/core/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void lake_ref_clear(struct lake_ref *r)
{
    free(r->path);
    free(r->set_name);
    *r = (struct lake_ref){0};
}

char *lake_file_ref(const char *path, int64_t number)
{
    AUTO_MEM char *safe = lake_path_escape(path);

    return mem_printf("%s#%lld", safe, (long long)number);
}

char *lake_ref_of_set(const char *name, int64_t number)
{
    return mem_printf("@%s:%lld", name, (long long)number);
}

char *lake_path_ref(const char *path)
{
    AUTO_MEM char *safe = lake_path_escape(path);

    return mem_printf("%s#*", safe);
}

char *lake_ref_text(const struct lake_ref *r)
{
    switch (r->kind) {
    case LAKE_REF_FILE:
        return lake_file_ref(r->path, r->number);
    case LAKE_REF_PATH:
        return lake_path_ref(r->path);
    case LAKE_REF_TREE:
        return lake_path_escape(r->path);
    case LAKE_REF_SET: {
        AUTO_MEM char *directory = lake_path_escape(r->path);
        return mem_printf("%s@%s:%lld", strcmp(directory, "/") == 0 ? "" : directory, r->set_name,
                          (long long)r->number);
    }
    case LAKE_REF_JOB:
        return mem_printf("job:%lld", (long long)r->number);
    }
    return mem_dup("");
}

int ref_ask(struct lake *l, const struct lake_ref *r, unsigned access, struct err *e)
{
    unsigned missing = access & ~r->may;

    if (r->project == l->project && !missing)
        return 0;
    AUTO_MEM char *text = lake_ref_text(r);
    if (r->project != l->project)
        return err_set(e, ERR_NOTFOUND, "%.200s is not in project %s", text, l->project_name);
    return err_set(e, ERR_DENIED, "%s may not %s %.200s", l->user,
                   missing & LAKE_WRITE ? "write" : "read", text);
}

int ref_refuse(const struct lake_ref *r, const char *why, struct err *e)
{
    AUTO_MEM char *text = lake_ref_text(r);

    return err_set(e, ERR_USAGE, "%.200s %s", text, why);
}

bool ref_item(const struct lake_ref *r, enum lake_item *kind_out, int64_t *item_out)
{
    switch (r->kind) {
    case LAKE_REF_FILE:
        *kind_out = LAKE_ITEM_FILE;
        *item_out = r->version;
        return true;
    case LAKE_REF_PATH:
        *kind_out = LAKE_ITEM_PATH;
        *item_out = r->file;
        return true;
    case LAKE_REF_SET:
        *kind_out = LAKE_ITEM_SET;
        *item_out = r->set_version;
        return strcmp(r->path, "/") == 0;
    case LAKE_REF_JOB:
        *kind_out = LAKE_ITEM_JOB;
        *item_out = r->number;
        return true;
    case LAKE_REF_TREE:
        break;
    }
    return false;
}

/* Columns of a file version as an entry, and what its permissions are asked of. */
#define ENTRY_COLUMNS "SELECT f.path, v.number, v.id, o.size, f.owner, f.team, f.mode, o.blob"
#define ENTRY_TABLES " JOIN object o ON o.id = v.object "

static struct lake_entry read_entry(struct db_query *q)
{
    return (struct lake_entry){
        .path = db_text(q, 0),
        .number = db_int(q, 1),
        .version = db_int(q, 2),
        .size = (uint64_t)db_int(q, 3),
        .gone = db_is_null(q, 7),
    };
}

/* The one file version of a reference. */
static int visit_one(
    struct lake *l, const struct lake_ref *r, lake_visit_entry *visit, void *context, struct err *e)
{
    bool latest = r->kind == LAKE_REF_PATH;
    AUTO_RESET struct db_query *q =
        latest ? db_query(l->db, e,
                          ENTRY_COLUMNS
                          " FROM file f JOIN version v ON v.id = f.latest_version" ENTRY_TABLES
                          "WHERE f.id = $1 AND f.project = $2 AND f.removed = 0",
                          DB_INT(r->file), DB_INT(l->project))
               : db_query(l->db, e,
                          ENTRY_COLUMNS " FROM version v JOIN file f ON f.id = v.file" ENTRY_TABLES
                                        "WHERE v.id = $1 AND v.project = $2",
                          DB_INT(r->version), DB_INT(l->project));
    char shown[PATH_SHOWN];

    int found = db_step(q, e);
    if (found == 0)
        return err_set(e, ERR_NOTFOUND, "%s was removed", path_shown(r->path, shown));
    if (found < 0)
        return -1;
    struct lake_entry entry = read_entry(q);
    return visit(context, &entry, e);
}

/* A walk over the files of a reference: whom it tells, and what a file does that may not be read.
 */
struct walk {
    struct lake *l;
    lake_visit_entry *visit;
    void *context;
    bool all; /* it ends the walk, else it is passed over */
};

/* 1: the file may be told, 0: it is passed over. The row has its permissions from the column on. */
static int ask_to_read(
    const struct walk *w, const char *path, struct db_query *q, int column, struct err *e)
{
    char shown[PATH_SHOWN];

    if (lake_row_may(w->l, q, column, LAKE_READ))
        return 1;
    return w->all ? lake_denied(w->l, path_shown(path, shown), db_text(q, column), LAKE_READ, e)
                  : 0;
}

static int tell_row(const struct walk *w, struct db_query *q, struct err *e)
{
    struct lake_entry entry = read_entry(q);
    int told = ask_to_read(w, entry.path, q, 4, e);

    return told == 1 ? w->visit(w->context, &entry, e) : told;
}

static int walk_tree(const struct walk *w, const char *directory, struct err *e)
{
    AUTO_MEM char *after = path_after(directory);
    AUTO_RESET struct db_query *q =
        db_query(w->l->db, e,
                 ENTRY_COLUMNS " FROM file f JOIN version v ON v.id = f.latest_version" ENTRY_TABLES
                               "WHERE f.project = $1 AND f.path > $2 AND f.path < $3"
                               " AND f.removed = 0 ORDER BY f.path",
                 DB_INT(w->l->project), DB_TEXT(directory), DB_TEXT(after));
    int more;

    while ((more = db_step(q, e)) == 1)
        if (tell_row(w, q, e) < 0)
            return -1;
    return more;
}

/* Whether the file of a set's entry may be told; nothing is asked of admins. */
static int ask_of_entry(const struct walk *w, const struct lake_entry *entry, struct err *e)
{
    struct db_query *q;

    if (w->l->admin)
        return 1;
    q = db_query(w->l->db, e, "SELECT owner, team, mode FROM file WHERE project = $1 AND path = $2",
                 DB_INT(w->l->project), DB_TEXT(entry->path));

    int found = db_step(q, e);
    if (found == 1) {
        found = ask_to_read(w, entry->path, q, 0, e);
        db_reset(q);
    } else if (found == 0 && w->all) {
        return err_set(e, ERR_IO,
                       "the lake's database is damaged: %.200s is in a set, but nowhere else; see "
                       "tradewind fsck",
                       entry->path);
    }
    return found;
}

static int tell_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    const struct walk *w = context;
    int told = ask_of_entry(w, entry, e);

    return told == 1 ? w->visit(w->context, entry, e) : told;
}

static int walk(struct walk w, const struct lake_ref *r, struct err *e)
{
    if (ref_ask(w.l, r, LAKE_READ, e) < 0)
        return -1;
    switch (r->kind) {
    case LAKE_REF_FILE:
    case LAKE_REF_PATH:
        return visit_one(w.l, r, w.visit, w.context, e);
    case LAKE_REF_TREE:
        return walk_tree(&w, r->path, e);
    case LAKE_REF_SET:
        return entries_each(w.l, r->set_version, r->path, tell_entry, &w, e);
    case LAKE_REF_JOB:
        break;
    }
    return ref_refuse(r, "is a job: it has no files of its own", e);
}

int lake_each_file(
    struct lake *l, const struct lake_ref *r, lake_visit_entry *visit, void *context, struct err *e)
{
    return walk((struct walk){l, visit, context, false}, r, e);
}

int lake_every_file(
    struct lake *l, const struct lake_ref *r, lake_visit_entry *visit, void *context, struct err *e)
{
    return walk((struct walk){l, visit, context, true}, r, e);
}
