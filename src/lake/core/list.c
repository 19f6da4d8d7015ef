/* Lists files of a directory, and versions of a file. `ls` and `log` call it. */
#include "base/mem.h"
#include "lake/core/files.h"
#include "lake/core/internal.h"

#include <stdlib.h>
#include <string.h>

/* A walk over files: whom it tells. */
struct listing {
    struct lake *l;
    lake_visit_file *visit;
    void *context;
};

#define FILE_COLUMNS                                                                               \
    "SELECT f.path, v.number, v.id, o.size, o.sha256, m.creator, m.create_time, f.owner, f.team,"  \
    " f.mode, v.executable, v.removed, o.blob"
#define VERSION_TABLES " JOIN object o ON o.id = v.object JOIN made m ON m.id = v.made "

/* Tells of the row unless it may not be read. */
static int tell_row(const struct listing *t, struct db_query *q, struct err *e)
{
    struct lake_file file = {
        .path = db_text(q, 0),
        .number = db_int(q, 1),
        .version = db_int(q, 2),
        .size = (uint64_t)db_int(q, 3),
        .origin = {db_text(q, 5), db_int(q, 6)},
        .owner = db_text(q, 7),
        .group = db_text(q, 8),
        .mode = (unsigned)db_int(q, 9),
        .executable = db_int(q, 10) != 0,
        .removed = db_int(q, 11) != 0,
        .gone = db_is_null(q, 12),
    };

    if (!object_read_digest(q, 4, &file.digest))
        return err_set(e, ERR_IO, "the lake's database is damaged at version %lld",
                       (long long)file.version);
    return lake_row_may(t->l, q, 7, LAKE_READ) ? t->visit(t->context, &file, e) : 0;
}

static int tell_rows(const struct listing *t, struct db_query *query, struct err *e)
{
    AUTO_RESET struct db_query *q = query;
    int more;

    while ((more = db_step(q, e)) == 1)
        if (tell_row(t, q, e) < 0)
            return -1;
    return more;
}

/* Listed files from path `from` on and before `until`. */
static struct db_query *files_between(struct lake *l,
                                      const char *from,
                                      const char *until,
                                      struct err *e)
{
    return db_query(l->db, e,
                    FILE_COLUMNS
                    " FROM file f JOIN version v ON v.id = f.latest_version" VERSION_TABLES
                    "WHERE f.project = $1 AND f.path >= $2 AND f.path < $3 AND f.removed = 0"
                    " ORDER BY f.path",
                    DB_INT(l->project), DB_TEXT(from), DB_TEXT(until));
}

/* What stands directly in directory from `*from` on, up to its next directory, which is told and
 * passed over by moving *from behind it: 1. 0: there is no more. */
static int list_run(
    const struct listing *t, const char *directory, const char *until, char **from, struct err *e)
{
    AUTO_RESET struct db_query *q = files_between(t->l, *from, until, e);
    size_t len = strlen(directory);
    int more;

    while ((more = db_step(q, e)) == 1) {
        const char *path = db_text(q, 0), *slash = strchr(path + len, '/');
        if (slash) {
            AUTO_MEM char *below = mem_printf("%.*s", (int)(slash + 1 - path), path);
            struct lake_file file = {.path = below};
            db_reset(q);
            free(*from);
            *from = path_after(below);
            return t->visit(t->context, &file, e) < 0 ? -1 : 1;
        }
        if (tell_row(t, q, e) < 0)
            return -1;
    }
    return more;
}

/* Files that lie deeper are never looked at, however many there are. */
static int list_directory(const struct listing *t, const char *directory, struct err *e)
{
    AUTO_MEM char *from = mem_dup(directory);
    AUTO_MEM char *until = path_after(directory);
    int more;

    while ((more = list_run(t, directory, until, &from, e)) == 1)
        ;
    return more;
}

static int list_tree(const struct listing *t, const char *directory, struct err *e)
{
    AUTO_MEM char *until = path_after(directory);

    return tell_rows(t, files_between(t->l, directory, until, e), e);
}

static int list_version(const struct listing *t, int64_t version, struct err *e)
{
    struct db_query *q =
        db_query(t->l->db, e,
                 FILE_COLUMNS " FROM version v JOIN file f ON f.id = v.file" VERSION_TABLES
                              "WHERE v.id = $1 AND v.project = $2",
                 DB_INT(version), DB_INT(t->l->project));

    return tell_rows(t, q, e);
}

static int list_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    return list_version(context, entry->version, e);
}

int lake_list(struct lake *l,
              const struct lake_ref *ref,
              bool recursive,
              lake_visit_file *visit,
              void *context,
              struct err *e)
{
    struct listing t = {l, visit, context};
    const char *directory = ref ? ref->path : "/";

    if (ref && ref_ask(l, ref, LAKE_READ, e) < 0)
        return -1;
    if (!ref || ref->kind == LAKE_REF_TREE)
        return recursive ? list_tree(&t, directory, e) : list_directory(&t, directory, e);
    if (ref->kind == LAKE_REF_FILE)
        return list_version(&t, ref->version, e);
    return lake_each_file(l, ref, list_entry, &t, e);
}

int lake_log(struct lake *l,
             const struct lake_ref *ref,
             lake_visit_file *visit,
             void *context,
             struct err *e)
{
    struct listing t = {l, visit, context};

    if (ref_ask(l, ref, LAKE_READ, e) < 0)
        return -1;
    if (ref->kind != LAKE_REF_FILE && ref->kind != LAKE_REF_PATH)
        return ref_refuse(ref, "is not a file; a log shows one file: name it as /path", e);
    struct db_query *q =
        db_query(l->db, e,
                 FILE_COLUMNS " FROM version v JOIN file f ON f.id = v.file" VERSION_TABLES
                              "WHERE v.file = $1 AND v.project = $2 ORDER BY v.number DESC",
                 DB_INT(ref->file), DB_INT(l->project));
    return tell_rows(&t, q, e);
}
