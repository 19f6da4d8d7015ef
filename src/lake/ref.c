#include "lake/ref.h"

#include "base/mem.h"
#include "lake/internal.h"

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

char *lake_set_ref(const char *name, int64_t number)
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

typedef int visit_entry(void *context, const struct lake_entry *entry, struct err *e);

/* Columns of a file version as an entry, and what its permissions are asked of. */
#define ENTRY_COLUMNS "SELECT f.path, v.number, v.id, o.size, f.owner, f.team, f.mode"
#define ENTRY_TABLES " JOIN object o ON o.id = v.object "

static struct lake_entry read_entry(struct db_query *q)
{
    return (struct lake_entry){
        .path = db_text(q, 0),
        .number = db_int(q, 1),
        .version = db_int(q, 2),
        .size = (uint64_t)db_int(q, 3),
    };
}

/* The one file version of a reference. */
static int visit_one(
    struct lake *l, const struct lake_ref *r, visit_entry *visit, void *context, struct err *e)
{
    bool latest = r->kind == LAKE_REF_PATH;
    struct db_query *q =
        latest ? db_query(l->db,
                          ENTRY_COLUMNS
                          " FROM file f JOIN version v ON v.id = f.latest_version" ENTRY_TABLES
                          "WHERE f.id = $1 AND f.project = $2 AND f.removed = 0",
                          e)
               : db_query(l->db,
                          ENTRY_COLUMNS " FROM version v JOIN file f ON f.id = v.file" ENTRY_TABLES
                                        "WHERE v.id = $1 AND v.project = $2",
                          e);
    char shown[PATH_SHOWN];

    if (!q)
        return -1;
    db_bind_int(q, 1, latest ? r->file : r->version);
    db_bind_int(q, 2, l->project);
    int found = db_step(q, e);
    if (found == 0)
        return err_set(e, ERR_NOTFOUND, "%s was removed", path_shown(r->path, shown));
    if (found < 0)
        return -1;
    struct lake_entry entry = read_entry(q);
    int result = visit(context, &entry, e);
    db_reset(q);
    return result;
}

static int visit_tree(
    struct lake *l, const char *directory, visit_entry *visit, void *context, struct err *e)
{
    AUTO_MEM char *after = path_after(directory);
    struct db_query *q =
        db_query(l->db,
                 ENTRY_COLUMNS " FROM file f JOIN version v ON v.id = f.latest_version" ENTRY_TABLES
                               "WHERE f.project = $1 AND f.path > $2 AND f.path < $3"
                               " AND f.removed = 0 ORDER BY f.path",
                 e);
    int more;

    if (!q)
        return -1;
    db_bind_int(q, 1, l->project);
    db_bind_text(q, 2, directory);
    db_bind_text(q, 3, after);
    while ((more = db_step(q, e)) == 1) {
        struct lake_entry entry = read_entry(q);
        if (!lake_may(l, db_text(q, 4), db_text(q, 5), (unsigned)db_int(q, 6), LAKE_READ))
            continue;
        if (visit(context, &entry, e) < 0) {
            db_reset(q);
            return -1;
        }
    }
    return more;
}

/* Entries of a set whose files the caller may read. */
struct readable {
    struct lake *l;
    visit_entry *visit;
    void *context;
};

static int visit_readable(void *context, const struct lake_entry *entry, struct err *e)
{
    struct readable *r = context;
    struct item_row row;
    int found = r->l->admin ? 1 : file_find(r->l, entry->path, &row, e);

    if (found < 0)
        return -1;
    if (found == 0 || (!r->l->admin && !(row.may & LAKE_READ)))
        return 0;
    return r->visit(r->context, entry, e);
}

int lake_each_file(struct lake *l,
                   const struct lake_ref *r,
                   int (*visit)(void *context, const struct lake_entry *entry, struct err *e),
                   void *context,
                   struct err *e)
{
    struct readable readable = {l, visit, context};

    switch (r->kind) {
    case LAKE_REF_FILE:
    case LAKE_REF_PATH:
        return visit_one(l, r, visit, context, e);
    case LAKE_REF_TREE:
        return visit_tree(l, r->path, visit, context, e);
    case LAKE_REF_SET:
        return set_each(l, r->set_version, r->path, visit_readable, &readable, e);
    case LAKE_REF_JOB:
        break;
    }
    return err_set(e, ERR_USAGE, "job:%lld is a job: it has no files of its own",
                   (long long)r->number);
}
