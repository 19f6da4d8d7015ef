/* Checks a lake: the database against itself and against the store. `fsck` calls it. */
#include "lake/clean/clean.h"

#include "base/mem.h"
#include "lake/clean/internal.h"
#include "lake/set/internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int fsck_problem(struct fsck *f, struct err *e, const char *fmt, ...)
{
    char text[sizeof e->text];

    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    f->summary->problems++;
    return f->problem ? f->problem(f->context, text, e) : 0;
}

struct database_report {
    struct fsck *f;
    struct err *e;
    int result;
};

static void database_problem(void *context, const char *text)
{
    struct database_report *r = context;

    if (r->result == 0)
        r->result = fsck_problem(r->f, r->e, "database: %s", text);
}

static int check_database(struct fsck *f, struct err *e)
{
    struct database_report r = {f, e, 0};

    return db_check(f->l->db, database_problem, &r, e) < 0 ? -1 : r.result;
}

/* Runs a query whose every row is a problem: `say` puts it into words. */
static int each_row(struct fsck *f,
                    const char *sql,
                    int (*say)(struct fsck *f, struct db_query *q, struct err *e),
                    struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(f->l->db, e, sql, DB_INT(f->l->project));
    int row;

    while ((row = db_step(q, e)) == 1) {
        if (say(f, q, e) < 0)
            break;
    }
    return row == 0 ? 0 : -1;
}

static int say_lost_object(struct fsck *f, struct db_query *q, struct err *e)
{
    AUTO_MEM char *ref = lake_file_ref(db_text(q, 0), db_int(q, 1));

    return fsck_problem(f, e, "%s: no record of its content", ref);
}

/* The row has the problem in words. */
static int say(struct fsck *f, struct db_query *q, struct err *e)
{
    return fsck_problem(f, e, "%s", db_text(q, 0));
}

/* Versions of a file or set, whose table has that letter, that are not numbered 1, 2, ... */
#define GAP(letter)                                                                                \
    "': ' || COUNT(v.id) || ' versions, numbered ' || COALESCE(MIN(v.number), 0) || ' to '"        \
    " || COALESCE(MAX(v.number), 0) || ', the latest said to be ' || " letter ".latest"

/* Jobs whose reference of that name leads to no set version of the project. */
#define JOB_SETS(name)                                                                             \
    "SELECT 'job:' || j.id || ': its " name ", set version ' || j." name "_version"                \
    " || ', is not there' FROM job j LEFT JOIN set_version s"                                      \
    " ON s.id = j." name "_version AND s.project = j.project"                                      \
    " WHERE j.project = $1 AND j." name "_version IS NOT NULL AND s.id IS NULL"

static const struct rule {
    const char *sql; /* $1 = project; gives a row for each thing that is wrong */
    int (*say)(struct fsck *f, struct db_query *q, struct err *e);
} rules[] = {
    {"SELECT f.path || " GAP(
         "f") " FROM file f"
              " LEFT JOIN version v ON v.file = f.id WHERE f.project = $1"
              " GROUP BY f.id, f.path, f.latest, f.latest_version"
              " HAVING COUNT(v.id) <> f.latest OR MIN(v.number) <> 1 OR MAX(v.number) <> f.latest"
              " OR COALESCE(MAX(CASE WHEN v.removed = 0 THEN v.id END), MAX(v.id)) <> "
              "f.latest_version",
     say},
    {"SELECT f.path, v.number FROM version v JOIN file f ON f.id = v.file"
     " LEFT JOIN object o ON o.id = v.object WHERE v.project = $1 AND o.id IS NULL",
     say_lost_object},
    {"SELECT '@' || s.name || " GAP(
         "s") " FROM fileset s"
              " LEFT JOIN set_version v ON v.fileset = s.id WHERE s.project = $1"
              " GROUP BY s.id, s.name, s.latest, s.latest_version"
              " HAVING COUNT(v.id) <> s.latest OR MIN(v.number) <> 1 OR MAX(v.number) <> s.latest"
              " OR COALESCE(MAX(CASE WHEN v.removed = 0 THEN v.id END), MAX(v.id)) <> "
              "s.latest_version",
     say},
    {"SELECT '@' || s.name || ':' || v.number || ': lists ' || COALESCE(SUM(c.files), 0)"
     " || ' files (' || COALESCE(SUM(c.bytes), 0) || ' bytes) where ' || v.files || ' (' || v.bytes"
     " || ') were recorded' FROM set_version v JOIN fileset s ON s.id = v.fileset"
     " LEFT JOIN set_part p ON p.set_version = v.id LEFT JOIN set_chunk c ON c.id = p.chunk"
     " WHERE v.project = $1 GROUP BY v.id, s.name, v.number, v.files, v.bytes"
     " HAVING COALESCE(SUM(c.files), 0) <> v.files OR COALESCE(SUM(c.bytes), 0) <> v.bytes",
     say},
    /* Each chunk begins behind the one before it. */
    {"SELECT '@' || s.name || ':' || v.number || ': its list of files is out of order'"
     " FROM set_version v JOIN fileset s ON s.id = v.fileset"
     " WHERE v.project = $1 AND EXISTS (SELECT 1 FROM set_part p JOIN set_chunk c ON c.id = p.chunk"
     " JOIN set_part q ON q.set_version = p.set_version AND q.seq = p.seq + 1"
     " JOIN set_chunk d ON d.id = q.chunk WHERE p.set_version = v.id AND c.last >= d.first)",
     say},
    /* What is made has a higher id than what it was made from: no cycle without such an edge. */
    {"SELECT 'provenance: the edge from set version ' || e.child || ' to ' || e.parent"
     " || ' has no such ends' FROM edge e LEFT JOIN set_version c ON c.id = e.child"
     " LEFT JOIN set_version p ON p.id = e.parent WHERE (c.project = $1 OR p.project = $1)"
     " AND (c.id IS NULL OR p.id IS NULL OR c.project <> p.project OR e.child <= e.parent)",
     say},
    {JOB_SETS("input"), say},
    {JOB_SETS("code"), say},
    {JOB_SETS("output"), say},
    {"SELECT 'job:' || j.id || ': its command, or the log of its states, is not there'"
     " FROM job j LEFT JOIN job_text t ON t.job = j.id WHERE j.project = $1"
     " AND (t.job IS NULL OR j.state <> COALESCE((SELECT c.state FROM job_state c"
     " WHERE c.job = j.id ORDER BY c.seq DESC LIMIT 1), 0))",
     say},
    {"SELECT 'provenance: set version ' || e.child || ' is said to come from job:' || e.job"
     " || ', which did not make it' FROM edge e JOIN set_version s ON s.id = e.child"
     " LEFT JOIN job j ON j.id = e.job AND j.output_version = e.child"
     " WHERE s.project = $1 AND e.kind = 2 AND j.id IS NULL",
     say},
};

static int check_held(void *context, const struct lake_entry *entry, struct err *e)
{
    struct fsck *f = context;

    bits_add(&f->need.versions, entry->version);
    AUTO_RESET struct db_query *q =
        db_query(f->l->db, e,
                 "SELECT f.path, v.number, o.size FROM version v"
                 " JOIN file f ON f.id = v.file JOIN object o ON o.id = v.object"
                 " WHERE v.id = $1 AND v.project = $2",
                 DB_INT(entry->version), DB_INT(f->l->project));
    int row = db_step(q, e);
    bool good = row == 1 && strcmp(db_text(q, 0), entry->path) == 0 &&
                db_int(q, 1) == entry->number && (uint64_t)db_int(q, 2) == entry->size;
    if (row < 0 || good)
        return row < 0 ? -1 : 0;
    return fsck_problem(f, e, "%s#%lld: a set holds it, but there is no such version", entry->path,
                        (long long)entry->number);
}

static int say_damaged(void *context, const char *why, struct err *e)
{
    return fsck_problem(context, e, "%s", why);
}

static int say_missing(struct fsck *f, struct db_query *q, struct err *e)
{
    if (!bits_has(&f->need.versions, db_int(q, 2)))
        return 0;
    AUTO_MEM char *ref = lake_file_ref(db_text(q, 0), db_int(q, 1));
    return fsck_problem(f, e, "%s: its content is gone, but a set or pin needs it", ref);
}

static int check_records(struct fsck *f, struct err *e)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (each_row(f, rules[i].sql, rules[i].say, e) < 0)
            return -1;
    }
    if (entries_each_held(f->l, NULL, check_held, say_damaged, f, e) < 0 ||
        need_pinned(f->l, &f->need, e) < 0)
        return -1;
    return each_row(f,
                    "SELECT f.path, v.number, v.id FROM version v JOIN file f ON f.id = v.file"
                    " JOIN object o ON o.id = v.object WHERE v.project = $1 AND o.blob IS NULL"
                    " AND NOT EXISTS (SELECT 1 FROM released r WHERE r.object = o.id)",
                    say_missing, e);
}

/* In one view, so that a gc beside it cannot take away what the first half saw. */
static int check_view(struct fsck *f, struct err *e)
{
    if (db_begin_read(f->l->db, e) < 0)
        return -1;
    int result = check_records(f, e);
    db_rollback(f->l->db);
    return result;
}

static int check_all(struct fsck *f, struct err *e)
{
    if (check_database(f, e) < 0 || check_view(f, e) < 0)
        return -1;
    return fsck_contents(f, e) < 0 ? -1 : fsck_leftovers(f, e);
}

int lake_fsck(struct lake *l,
              const struct lake_progress *progress,
              int (*problem)(void *context, const char *text, struct err *e),
              void *context,
              struct lake_fsck_summary *summary,
              struct err *e)
{
    struct fsck f = {
        .l = l, .progress = progress, .problem = problem, .context = context, .summary = summary};

    *summary = (struct lake_fsck_summary){0};
    if (!l->admin)
        return err_set(e, ERR_DENIED, "fsck is for the project's admin");
    int result = check_all(&f, e);
    need_clear(&f.need);
    return result;
}
