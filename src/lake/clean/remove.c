/* Removes files, sets and versions of them. `rm` calls it. */
#include "base/mem.h"
#include "lake/core/files.h"
#include "lake/core/internal.h"
#include "lake/job/job.h"
#include "lake/set/graph.h"
#include "lake/set/internal.h"

#include <stdlib.h>
#include <string.h>

/* One call of lake_remove. */
struct removal {
    struct lake *l;
    const struct lake_remove_options *options;
    struct lake_ref *refs; /* whole: all versions of the file */
    size_t n;
    uint64_t removed;
};

static void removal_clear(struct removal *r)
{
    for (size_t i = 0; i < r->n; i++)
        lake_ref_clear(&r->refs[i]);
    free(r->refs);
}

/* ---- what jobs used ---- */

/* A version that a job's set holds, of a path that goes: is it among those that are still there? */
static int check_held(void *context, size_t i, const struct lake_entry *entry, struct err *e)
{
    struct removal *r = context;
    const struct lake_ref *ref = &r->refs[i];

    if (!ref->whole && entry->version != ref->version)
        return 0;
    int64_t removed = 1;
    if (db_get_int(r->l->db, e, &removed,
                   "SELECT removed FROM version WHERE id = $1 AND project = $2",
                   DB_INT(entry->version), DB_INT(r->l->project)) < 0)
        return -1;
    if (removed)
        return 0;
    AUTO_MEM char *used = lake_file_ref(entry->path, entry->number);
    return err_set(e, ERR_USAGE,
                   "%.200s was used by a job, which could not be repeated without it: --replayable "
                   "removes it all the same",
                   used);
}

/* Nothing goes that a job needs; asked once for all. */
static int check_unneeded(struct removal *r, struct err *e)
{
    AUTO_MEM const char **paths = mem_zero(r->n + 1, sizeof *paths);

    if (r->options->replayable)
        return 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct lake_ref *ref = &r->refs[i];
        paths[i] = ref->kind == LAKE_REF_SET || ref->kind == LAKE_REF_JOB ? NULL : ref->path;
    }
    return entries_each_used(r->l, paths, r->n, check_held, r, e);
}

/* ---- files ---- */

/* Runs an update whose parameters are the project and two ids; counts what it touched. */
static int run_counted(struct removal *r, const char *sql, int64_t a, int64_t b, struct err *e)
{
    if (db_run(r->l->db, e, sql, DB_INT(r->l->project), DB_INT(a), DB_INT(b)) < 0)
        return -1;
    r->removed += (uint64_t)db_changes(r->l->db);
    return 0;
}

/* Id of the newest version, removed or not: what latest_version is when all were. */
#define NEWEST_OF_FILE                                                                             \
    "(SELECT v.id FROM version v WHERE v.file = file.id AND v.number = file.latest)"

static int remove_file(struct removal *r, const struct lake_ref *ref, struct err *e)
{
    char shown[PATH_SHOWN];

    if (run_counted(r,
                    "UPDATE version SET removed = 1 WHERE project = $1 AND file = $2"
                    " AND ($3 = 0 OR id = $3) AND removed = 0",
                    ref->file, ref->whole ? 0 : ref->version, e) < 0)
        return -1;
    if (db_changes(r->l->db) == 0)
        return err_set(e, ERR_NOTFOUND, "%s was removed already", path_shown(ref->path, shown));
    /* What it shows now, or that it is gone. */
    return db_run(r->l->db, e,
                  "UPDATE file SET latest_version = coalesce((SELECT v.id FROM version v"
                  " WHERE v.file = file.id AND v.removed = 0 ORDER BY v.number DESC LIMIT 1),"
                  " " NEWEST_OF_FILE "), removed = CASE WHEN EXISTS (SELECT 1 FROM version v"
                  " WHERE v.file = file.id AND v.removed = 0) THEN 0 ELSE 1 END"
                  " WHERE project = $1 AND id = $2",
                  DB_INT(r->l->project), DB_INT(ref->file));
}

static int check_tree_writable(struct removal *r,
                               const char *directory,
                               const char *after,
                               struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(r->l->db, e,
                 "SELECT path, owner, team, mode FROM file WHERE project = $1"
                 " AND path > $2 AND path < $3 AND removed = 0",
                 DB_INT(r->l->project), DB_TEXT(directory), DB_TEXT(after));
    char shown[PATH_SHOWN];
    int more;

    while ((more = db_step(q, e)) == 1)
        if (lake_row_ask(r->l, q, 1, path_shown(db_text(q, 0), shown), LAKE_WRITE, e) < 0)
            return -1;
    return more;
}

static int remove_tree(struct removal *r, const char *directory, struct err *e)
{
    static const char *const updates[] = {
        "UPDATE version SET removed = 1 WHERE removed = 0 AND file IN (SELECT id FROM file"
        " WHERE project = $1 AND path > $2 AND path < $3 AND removed = 0)",
        "UPDATE file SET removed = 1, latest_version = " NEWEST_OF_FILE
        " WHERE project = $1 AND path > $2 AND path < $3 AND removed = 0",
    };
    AUTO_MEM char *after = path_after(directory);

    if (!r->l->admin && check_tree_writable(r, directory, after, e) < 0)
        return -1;
    for (size_t i = 0; i < 2; i++) {
        if (db_run(r->l->db, e, updates[i], DB_INT(r->l->project), DB_TEXT(directory),
                   DB_TEXT(after)) < 0)
            return -1;
        if (i == 0)
            r->removed += (uint64_t)db_changes(r->l->db);
    }
    return 0;
}

/* ---- sets ---- */

/* Refuses when something was made from this set version, when a job that is not over needs it, or
 * when it has an alias. */
static int check_unneeded_set(struct removal *r, const struct lake_ref *ref, struct err *e)
{
    AUTO_MEM char *text = lake_ref_text(ref);
    AUTO_RESET struct db_query *q = db_query(
        r->l->db, e,
        "SELECT why FROM (SELECT 1 AS rank, v.id AS id, '@' || s.name || ':' || v.number"
        " || ' was made from ' || $5 || ', which therefore stays' AS why FROM edge e"
        " JOIN set_version v ON v.id = e.child JOIN fileset s ON s.id = v.fileset"
        " WHERE e.parent = $1 AND v.removed = 0 UNION ALL"
        " SELECT 2, id, 'job:' || id || ' needs ' || $5 || ' and is not over' FROM job"
        " WHERE input_version = $1 AND " LAKE_JOB_IS_OPEN(
            "state",
            "$2") " UNION ALL"
                  " SELECT 2, id, 'job:' || id || ' needs ' || $5 || ' and is not over' FROM job"
                  " WHERE code_version = $1 AND " LAKE_JOB_IS_OPEN(
                      "state",
                      "$2") " UNION ALL"
                            " SELECT 3, 0, $5 || ' is also named @' || s.name || ':' || a.name ||"
                            " ': move or remove that name first' FROM set_alias a JOIN fileset s"
                            " ON s.id = a.fileset WHERE a.fileset = $3 AND a.number = $4)"
                            " ORDER BY rank, id LIMIT 1",
        DB_INT(ref->set_version), DB_INT(LAKE_JOB_FINISHED), DB_INT(ref->set), DB_INT(ref->number),
        DB_TEXT(text));
    int found = db_step(q, e);

    return found == 1 ? err_set(e, ERR_USAGE, "%s", db_text(q, 0)) : found;
}

static int remove_set(struct removal *r, const struct lake_ref *ref, struct err *e)
{
    if (strcmp(ref->path, "/") != 0)
        return err_set(e, ERR_USAGE,
                       "%.100s is a part of @%s: versions of sets stay as they are; `tradewind set "
                       "create` makes the next one",
                       ref->path, ref->set_name);
    if (check_unneeded_set(r, ref, e) < 0 ||
        run_counted(r,
                    "UPDATE set_version SET removed = 1 WHERE project = $1 AND fileset = $2"
                    " AND id = $3 AND removed = 0",
                    ref->set, ref->set_version, e) < 0)
        return -1;
    return db_run(r->l->db, e,
                  "UPDATE fileset SET latest_version = coalesce((SELECT v.id FROM set_version v"
                  " WHERE v.fileset = fileset.id AND v.removed = 0 ORDER BY v.number DESC LIMIT 1),"
                  " (SELECT v.id FROM set_version v WHERE v.fileset = fileset.id"
                  " AND v.number = fileset.latest)) WHERE project = $1 AND id = $2",
                  DB_INT(r->l->project), DB_INT(ref->set));
}

/* ---- all of it ---- */

static int remove_one(struct removal *r, const struct lake_ref *ref, struct err *e)
{
    switch (ref->kind) {
    case LAKE_REF_FILE:
    case LAKE_REF_PATH:
        return remove_file(r, ref, e);
    case LAKE_REF_TREE:
        return remove_tree(r, ref->path, e);
    case LAKE_REF_SET:
        return remove_set(r, ref, e);
    case LAKE_REF_JOB:
        break;
    }
    return ref_refuse(ref, "is a job: jobs are not removed", e);
}

static int remove_all(struct removal *r, const char *const *refs, size_t n, struct err *e)
{
    r->refs = mem_zero(n + 1, sizeof *r->refs);
    for (; r->n < n; r->n++) {
        struct lake_ref *ref = &r->refs[r->n];
        if (lake_resolve(r->l, refs[r->n], LAKE_WRITE, ref, e) < 0)
            return -1;
        if (ref->kind == LAKE_REF_TREE && !r->options->recursive) {
            ref_refuse(ref, "is a directory: -r removes everything below it", e);
            lake_ref_clear(ref);
            return -1;
        }
    }
    if (check_unneeded(r, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (remove_one(r, &r->refs[i], e) < 0)
            return -1;
    return 0;
}

int lake_remove(struct lake *l,
                const char *const *refs,
                size_t n,
                const struct lake_remove_options *options,
                uint64_t *removed_out,
                struct err *e)
{
    AUTO_CLEAR(removal) struct removal r = {.l = l, .options = options};

    *removed_out = 0;
    if (db_begin(l->db, e) < 0 || db_end(l->db, remove_all(&r, refs, n, e), e) < 0)
        return -1;
    *removed_out = r.removed;
    return 0;
}
