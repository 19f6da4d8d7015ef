/* Removes the records of jobs that are over and that nothing needs; what they cost stays. `job rm`
 * calls it. */
#include "lake/job/internal.h"

/* ERR_USAGE unless the record may go. */
static int check_over(struct lake *l, const struct job_row *row, struct err *e)
{
    struct lake_job job;

    if (lake_job_load(l, row->id, NULL, &job, e) < 0)
        return -1;
    if (lake_job_is_over(&job) || job.state == LAKE_JOB_UNSAVED)
        return 0;
    return err_set(e, ERR_USAGE,
                   "job %lld is %s: wait for its end, or end it with tradewind job kill %lld",
                   (long long)row->id, lake_job_state_text(job.state), (long long)row->id);
}

static int check_unneeded(struct lake *l, int64_t id, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT f.name, v.number FROM set_version v JOIN fileset f ON f.id = v.fileset"
                 " WHERE v.removed = 0 AND (v.id = (SELECT output_version FROM job WHERE id = $1"
                 " AND reproduced = 0)"
                 " OR v.id IN (SELECT child FROM edge WHERE job = $1)) ORDER BY v.id LIMIT 1",
                 DB_INT(id));
    int found = db_step(q, e);

    if (found <= 0)
        return found;
    return err_set(e, ERR_USAGE,
                   "job %lld made @%s:%lld, and its record says how; remove that first, with "
                   "tradewind rm @%s:%lld",
                   (long long)id, db_text(q, 0), (long long)db_int(q, 1), db_text(q, 0),
                   (long long)db_int(q, 1));
}

static int remove_rows(struct lake *l, int64_t id, const char *cloud, struct err *e)
{
    static const char *const rows[] = {
        "DELETE FROM edge WHERE job = $1",       "DELETE FROM job_text WHERE job = $1",
        "DELETE FROM job_state WHERE job = $1",  "DELETE FROM job_tag WHERE job = $1",
        "DELETE FROM job_series WHERE job = $1", "DELETE FROM job_metric WHERE job = $1",
        "DELETE FROM job_code WHERE job = $1",   "DELETE FROM job WHERE id = $1",
    };

    if (db_run(l->db, e,
               "INSERT INTO job_removed (job, project, creator, run, cloud, finished,"
               " cost_microusd, cost_basis) SELECT id, project, creator, run, $2,"
               " COALESCE(finished, changed), COALESCE(cost_microusd, 0),"
               " COALESCE(cost_basis, '') FROM job WHERE id = $1",
               DB_INT(id), DB_TEXT(cloud)) < 0 ||
        db_run(l->db, e, "DELETE FROM meta WHERE kind = $1 AND item = $2", DB_INT(LAKE_ITEM_JOB),
               DB_INT(id)) < 0)
        return -1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (db_run(l->db, e, rows[i], DB_INT(id)) < 0)
            return -1;
    return 0;
}

static int remove_all(struct lake *l, const struct lake_job_removal *jobs, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        struct job_row row;
        if (lake_job_row_own(l, jobs[i].id, &row, e) < 0 || check_over(l, &row, e) < 0 ||
            check_unneeded(l, row.id, e) < 0 || lake_job_end_upload(l, row.id, e) < 0 ||
            remove_rows(l, row.id, jobs[i].cloud, e) < 0)
            return -1;
    }
    return 0;
}

int lake_job_remove(struct lake *l, const struct lake_job_removal *jobs, size_t n, struct err *e)
{
    return db_begin(l->db, e) < 0 ? -1 : db_end(l->db, remove_all(l, jobs, n, e), e);
}

int lake_job_each_removed(struct lake *l,
                          int64_t since_ms,
                          int (*visit)(void *context,
                                       const struct lake_job_removed *r,
                                       struct err *e),
                          void *context,
                          struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT job, creator, run, cloud, finished, cost_microusd, cost_basis"
                 " FROM job_removed WHERE project = $1 AND finished >= $2 ORDER BY job",
                 DB_INT(l->project), DB_INT(since_ms));
    int more;

    while ((more = db_step(q, e)) == 1) {
        const struct lake_job_removed removed = {.id = db_int(q, 0),
                                                 .project = l->project_name,
                                                 .user = db_text(q, 1),
                                                 .run = db_int(q, 2),
                                                 .cloud = db_text(q, 3),
                                                 .finished_ms = db_int(q, 4),
                                                 .cost_microusd = db_int(q, 5),
                                                 .cost_basis = db_text(q, 6)};
        if (visit(context, &removed, e) < 0)
            return -1;
    }
    return more;
}

int lake_job_was_removed(struct lake *l, int64_t id, bool *out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, "SELECT 1 FROM job_removed WHERE job = $1", DB_INT(id));
    int found = db_step(q, e);

    *out = found > 0;
    return found < 0 ? -1 : 0;
}
