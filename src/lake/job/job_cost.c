/* Costs: of one job, of all jobs upstream of a set version, of all jobs since a time. The broker,
 * `job` and `lineage` call it. */
#include "base/mem.h"
#include "lake/core/internal.h"
#include "lake/job/internal.h"
#include "lake/job/job.h"
#include "lake/set/graph.h"

#include <stdlib.h>

struct summing {
    struct lake *l;
    lake_job_continued *continued;
    struct lake_lineage_cost *out;
    int64_t *earlier; /* jobs that were continued: several may have continued the same */
    size_t n, cap;
};

/* The job whose checkpoint one with these details continued; 0 = none, or it counts already. */
static int64_t earlier_of(struct summing *s, const char *details)
{
    int64_t id = details && s->continued ? s->continued(details) : 0;

    for (size_t i = 0; i < s->n && id; i++)
        id = s->earlier[i] == id ? 0 : id;
    return id;
}

/* Adds the job of the query's row. 1; 0: there is none; -1. */
static int add_row(struct summing *s, struct db_query *q, int64_t *earlier_out, struct err *e)
{
    int more = db_step(q, e);

    *earlier_out = 0;
    if (more != 1)
        return more;
    s->out->jobs++;
    s->out->runtime_s += db_real(q, 1);
    if (__builtin_add_overflow(s->out->cost_microusd, db_int(q, 0), &s->out->cost_microusd))
        s->out->cost_microusd = INT64_MAX;
    *earlier_out = earlier_of(s, db_text(q, 2));
    return 1;
}

/* Of few jobs the details are needed. */
#define ROW_OF_JOB                                                                                 \
    "SELECT j.cost_microusd, j.runtime_s,"                                                         \
    " (SELECT t.details FROM job_text t WHERE t.job = j.id"                                        \
    " AND instr(t.details, '\"continues\"') > 0) FROM job j"

static int add_earlier(struct summing *s, int64_t id, struct err *e)
{
    while (id) {
        AUTO_RESET struct db_query *q =
            db_query(s->l->db, e, ROW_OF_JOB " WHERE j.id = $1 AND j.project = $2", DB_INT(id),
                     DB_INT(s->l->project));
        s->earlier = mem_room(s->earlier, s->n, &s->cap, sizeof *s->earlier);
        s->earlier[s->n++] = id;
        if (add_row(s, q, &id, e) < 0)
            return -1;
    }
    return 0;
}

/* A job makes one set version, so that no job is met twice. One without an input has no edge. Of
 * several the first made it; the others made the same again. */
static int add_maker(struct summing *s, int64_t version, struct err *e)
{
    int64_t earlier;
    AUTO_RESET struct db_query *q = db_query(
        s->l->db, e,
        ROW_OF_JOB " WHERE j.output_version = $1 AND j.reproduced = 0 ORDER BY j.id LIMIT 1",
        DB_INT(version));

    return add_row(s, q, &earlier, e) < 0 ? -1 : add_earlier(s, earlier, e);
}

int lake_lineage_cost(struct lake *l,
                      const struct lake_ref *ref,
                      lake_job_continued *continued,
                      struct lake_lineage_cost *out,
                      struct err *e)
{
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    struct summing s = {.l = l, .continued = continued, .out = out};

    *out = (struct lake_lineage_cost){0};
    if (lake_trace(l, ref, LAKE_BACK, 0, &g, e) < 0)
        return -1;
    /* One view for all: beginning one for each question takes most of the time. */
    if (db_begin_read(l->db, e) < 0)
        return -1;
    int result = 0;
    for (size_t i = 0; i < g.n_nodes && result == 0; i++)
        result = add_maker(&s, g.nodes[i].version, e);
    db_rollback(l->db);
    free(s.earlier);
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
