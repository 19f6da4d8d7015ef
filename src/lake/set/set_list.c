/* Lists sets, their versions, the sets and jobs that made them, and their missing content. `set
 * ls`, `set show`, `replay` and `gc --economic` call it. */
#include "base/mem.h"
#include "lake/core/entries.h"
#include "lake/set/set.h"

#define COLUMNS                                                                                    \
    "SELECT s.name, v.number, v.id, v.files, v.bytes, m.creator, m.create_time, v.removed,"        \
    " s.owner, s.team, s.mode FROM fileset s"                                                      \
    " JOIN set_version v ON v.fileset = s.id JOIN made m ON m.id = v.made"
#define LISTED COLUMNS " WHERE s.project = $1 AND v.removed = 0"
#define LATEST                                                                                     \
    " AND v.number = (SELECT MAX(w.number) FROM set_version w"                                     \
    " WHERE w.fileset = s.id AND w.removed = 0)"
#define IN_ORDER " ORDER BY s.name, v.number"

static struct lake_set read_set(struct db_query *q)
{
    return (struct lake_set){
        .name = db_text(q, 0),
        .number = db_int(q, 1),
        .version = db_int(q, 2),
        .files = (uint64_t)db_int(q, 3),
        .bytes = (uint64_t)db_int(q, 4),
        .origin = {.creator = db_text(q, 5), .create_time_ms = db_int(q, 6)},
        .removed = db_int(q, 7) != 0,
        .owner = db_text(q, 8),
        .group = db_text(q, 9),
        .mode = (unsigned)db_int(q, 10),
    };
}

static int visit_rows(
    struct lake *l, struct db_query *query, lake_visit_set *visit, void *context, struct err *e)
{
    AUTO_RESET struct db_query *q = query;
    int got;

    while ((got = db_step(q, e)) == 1) {
        const struct lake_set set = read_set(q);
        if (lake_row_may(l, q, 8, LAKE_READ) && visit(context, &set, e) < 0)
            return -1;
    }
    return got;
}

static const char *list_sql(bool of_name, bool all_versions)
{
    if (of_name)
        return all_versions ? LISTED " AND s.name = $2" IN_ORDER
                            : LISTED " AND s.name = $2" LATEST IN_ORDER;
    return all_versions ? LISTED IN_ORDER : LISTED LATEST IN_ORDER;
}

int lake_set_list(struct lake *l,
                  const char *name,
                  bool all_versions,
                  lake_visit_set *visit,
                  void *context,
                  struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO_MEM char *text = mem_printf("@%s", name ? name : "");

    /* ERR_NOTFOUND with the nearest name, or ERR_DENIED when it is there but not for the caller. */
    if (name && lake_resolve(l, text, LAKE_READ, &ref, e) < 0)
        return -1;
    struct db_query *q =
        db_query(l->db, e, list_sql(name, all_versions), DB_INT(l->project), DB_TEXT(name));
    return visit_rows(l, q, visit, context, e);
}

int lake_set_get(
    struct lake *l, const struct lake_ref *ref, lake_visit_set *visit, void *context, struct err *e)
{
    if (ref->kind != LAKE_REF_SET)
        return ref_refuse(ref, REF_NOT_A_SET, e);
    if (ref_ask(l, ref, LAKE_READ, e) < 0)
        return -1;
    struct db_query *q = db_query(l->db, e, COLUMNS " WHERE v.id = $1 AND s.project = $2",
                                  DB_INT(ref->set_version), DB_INT(l->project));
    return visit_rows(l, q, visit, context, e);
}

/* Whether the caller may read the set of this version. */
static int check_readable(struct lake *l, int64_t set_version, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT s.name, v.number, s.owner, s.team, s.mode"
                 " FROM set_version v JOIN fileset s ON s.id = v.fileset"
                 " WHERE v.id = $1 AND v.project = $2",
                 DB_INT(set_version), DB_INT(l->project));
    int got = db_step(q, e);

    if (got != 1)
        return got < 0 ? -1
                       : err_set(e, ERR_NOTFOUND, "set version %lld is not in this project",
                                 (long long)set_version);
    AUTO_MEM char *ref = lake_ref_of_set(db_text(q, 0), db_int(q, 1));
    return lake_row_ask(l, q, 2, ref, LAKE_READ, e);
}

int lake_set_parents(
    struct lake *l, int64_t set_version, lake_visit_text *visit, void *context, struct err *e)
{
    if (check_readable(l, set_version, e) < 0)
        return -1;
    /* A parent by creation and by a job counts once. */
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT s.name, v.number FROM edge d"
                 " JOIN set_version v ON v.id = d.parent"
                 " JOIN fileset s ON s.id = v.fileset WHERE d.child = $1"
                 " AND v.project = $2"
                 " GROUP BY v.id, s.name, v.number ORDER BY MIN(d.seq), v.id",
                 DB_INT(set_version), DB_INT(l->project));
    int got;

    while ((got = db_step(q, e)) == 1) {
        AUTO_MEM char *ref = lake_ref_of_set(db_text(q, 0), db_int(q, 1));
        if (visit(context, ref, e) < 0)
            return -1;
    }
    return got;
}

/* ---- the job that made a set version, and content that gc removed ---- */

int lake_set_maker(struct lake *l, int64_t set_version, int64_t *job_out, struct err *e)
{
    *job_out = 0;
    /* The first: of earlier versions of the program, later ones made the same again. */
    int found = db_get_int(l->db, e, job_out,
                           "SELECT id FROM job WHERE output_version = $1 AND project = $2"
                           " AND reproduced = 0 ORDER BY id LIMIT 1",
                           DB_INT(set_version), DB_INT(l->project));
    return found < 0 ? -1 : 0;
}

struct counting {
    struct lake *l;
    struct lake_gone *sum;
};

static int count_gone(void *context, const struct lake_entry *entry, struct err *e)
{
    struct counting *c = context;
    int64_t blob;
    int there = db_get_int(c->l->db, e, &blob,
                           "SELECT o.blob FROM version v JOIN object o ON o.id = v.object"
                           " WHERE v.id = $1",
                           DB_INT(entry->version));

    if (there < 0)
        return -1;
    c->sum->files += !there;
    c->sum->bytes += there ? 0 : entry->size;
    return 0;
}

int lake_set_gone(struct lake *l, const struct lake_ref *ref, struct lake_gone *out, struct err *e)
{
    struct counting c = {l, out};

    *out = (struct lake_gone){0};
    if (ref->kind != LAKE_REF_SET && ref->kind != LAKE_REF_FILE)
        return err_set(e, ERR_USAGE, "only the content of set versions and their parts is counted");
    if (ref_ask(l, ref, LAKE_READ, e) < 0)
        return -1;
    if (ref->kind == LAKE_REF_SET)
        return entries_each(l, ref->set_version, ref->path, count_gone, &c, e);
    return count_gone(&c, &(struct lake_entry){.version = ref->version}, e);
}
