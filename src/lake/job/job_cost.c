/* Costs: of one job, of all jobs upstream of a set version, of all jobs since a time. The broker,
 * `job` and `lineage` call it. */
#include "lake/core/internal.h"
#include "lake/job/internal.h"
#include "lake/job/job.h"
#include "lake/set/graph.h"

/* A job makes one set version, so that no job is met twice. One without an input has no edge. Of
 * several the first made it; the others made the same again. */
static int add_maker(struct lake *l, int64_t version, struct lake_lineage_cost *sum, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT cost_microusd, runtime_s FROM job WHERE output_version = $1"
                 " AND reproduced = 0 ORDER BY id LIMIT 1",
                 DB_INT(version));
    int more;

    while ((more = db_step(q, e)) == 1) {
        sum->jobs++;
        sum->runtime_s += db_real(q, 1);
        if (__builtin_add_overflow(sum->cost_microusd, db_int(q, 0), &sum->cost_microusd))
            sum->cost_microusd = INT64_MAX;
    }
    return more;
}

int lake_lineage_cost(struct lake *l,
                      const struct lake_ref *ref,
                      struct lake_lineage_cost *out,
                      struct err *e)
{
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};

    *out = (struct lake_lineage_cost){0};
    if (lake_trace(l, ref, LAKE_BACK, 0, &g, e) < 0)
        return -1;
    /* One view for all: beginning one for each question takes most of the time. */
    if (db_begin_read(l->db, e) < 0)
        return -1;
    int result = 0;
    for (size_t i = 0; i < g.n_nodes && result == 0; i++)
        result = add_maker(l, g.nodes[i].version, out, e);
    db_rollback(l->db);
    return result;
}

static int write_bill(
    struct lake *l, int64_t id, int64_t microusd, const char *basis, struct err *e)
{
    struct job_row row;

    if (lake_job_row_own(l, id, &row, e) < 0)
        return -1;
    return db_run(l->db, e, "UPDATE job SET cost_microusd = $2, cost_basis = $3 WHERE id = $1",
                  DB_INT(id), DB_INT(microusd), DB_TEXT(basis));
}

int lake_job_bill(struct lake *l, int64_t id, int64_t microusd, const char *basis, struct err *e)
{
    if (microusd < 0)
        return err_set(e, ERR_USAGE, "job %lld: its cost is negative", (long long)id);
    return db_begin(l->db, e) < 0 ? -1 : db_end(l->db, write_bill(l, id, microusd, basis, e), e);
}

int lake_job_spent(struct lake *l, int64_t since_ms, int64_t *microusd_out, struct err *e)
{
    *microusd_out = 0;
    int found = db_get_int(l->db, e, microusd_out,
                           "SELECT sum(cost) FROM (SELECT sum(cost_microusd) AS cost FROM job"
                           " WHERE project = $1 AND finished >= $2 AND finished IS NOT NULL"
                           " UNION ALL SELECT sum(cost_microusd) FROM job_removed"
                           " WHERE project = $1 AND finished >= $2)",
                           DB_INT(l->project), DB_INT(since_ms));
    return found < 0 ? -1 : 0;
}
