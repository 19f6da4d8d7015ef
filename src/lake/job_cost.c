/* What a set cost: all the jobs upstream of it; and what all jobs of a while did. */
#include "lake/graph.h"
#include "lake/internal.h"
#include "lake/job.h"

/* A job makes one set version, so that no job is met twice. One without an input has no edge. Of
 * several the first made it; the others made the same again. */
static int add_maker(struct lake *l, int64_t version, struct lake_lineage_cost *sum, struct err *e)
{
    struct db_query *q =
        db_query(l->db,
                 "SELECT cost_microusd, runtime_s FROM job WHERE output_version = $1"
                 " ORDER BY id LIMIT 1",
                 e);
    int more;

    if (!q)
        return -1;
    db_bind_int(q, 1, version);
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

int lake_job_spent(struct lake *l, int64_t since_ms, int64_t *microusd_out, struct err *e)
{
    struct db_query *q = db_query(l->db,
                                  "SELECT coalesce(sum(cost_microusd), 0) FROM job"
                                  " WHERE project = $1 AND finished >= $2 AND finished IS NOT NULL",
                                  e);

    if (!q)
        return -1;
    db_bind_int(q, 1, l->project);
    db_bind_int(q, 2, since_ms);
    int found = db_step(q, e);
    *microusd_out = found > 0 ? db_int(q, 0) : 0;
    db_reset(q);
    return found < 0 ? -1 : 0;
}
