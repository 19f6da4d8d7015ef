/* Metrics of jobs: series of points, added and read. The broker adds them; `job metrics` reads
 * them. */
#include "base/utf8.h"
#include "lake/job/internal.h"
#include "lake/meta/meta.h"

#include <math.h>
#include <string.h>

#define POINTS_MAX 1000000
#define NAMES_MAX 1000

/* One job's series, while points are added. */
struct adding {
    struct lake *l;
    int64_t job;
    int64_t points, names; /* of the job */
};

bool lake_job_metric_name(const char *name, size_t len)
{
    size_t line;

    return len > 0 && len <= LAKE_KEY_MAX && !memchr(name, 0, len) && !memchr(name, '\t', len) &&
           !memchr(name, '\r', len) && utf8_first_bad(name, len, &line) == len && line == 1;
}

static int check_metric(const struct lake_job_metric *m, struct err *e)
{
    if (!lake_job_metric_name(m->name, strlen(m->name)))
        return err_set(e, ERR_USAGE, "the name of a metric is text of 1 to %d bytes", LAKE_KEY_MAX);
    if (!isfinite(m->step))
        return err_set(e, ERR_USAGE, "metric %s: a step is a number", m->name);
    return 0;
}

static int count_points(struct adding *a, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        a->l->db, e, "SELECT COALESCE(SUM(points), 0), COUNT(*) FROM job_series WHERE job = $1",
        DB_INT(a->job));
    int row = db_step(q, e);

    if (row == 1) {
        a->points = db_int(q, 0);
        a->names = db_int(q, 1);
    }
    return row < 0 ? -1 : 0;
}

/* The number of the series of that name, made when it is new. */
static int find_series(struct adding *a, const char *name, int64_t *out, struct err *e)
{
    int found =
        db_get_int(a->l->db, e, out, "SELECT series FROM job_series WHERE job = $1 AND name = $2",
                   DB_INT(a->job), DB_TEXT(name));

    if (found != 0)
        return found < 0 ? -1 : 0;
    if (a->names >= NAMES_MAX)
        return err_set(e, ERR_USAGE, "job %lld has %d metrics already, no room for %s",
                       (long long)a->job, NAMES_MAX, name);
    *out = ++a->names;
    return db_run(a->l->db, e,
                  "INSERT INTO job_series (job, name, series, points) VALUES ($1, $2, $3, 0)",
                  DB_INT(a->job), DB_TEXT(name), DB_INT(*out));
}

static int run_point(struct adding *a,
                     const char *sql,
                     int64_t series,
                     const struct lake_job_metric *m,
                     struct err *e)
{
    return db_run(a->l->db, e, sql, DB_INT(a->job), DB_INT(series),
                  DB_REAL(m->step + 0.0), /* -0 is 0 */
                  isnan(m->value) ? DB_NULL : DB_REAL(m->value));
}

/* A point at a new step: the series as a whole follows. */
static int count_one(struct adding *a, const struct lake_job_metric *m, struct err *e)
{
    if (a->points >= POINTS_MAX)
        return err_set(e, ERR_USAGE, "job %lld has %d points of metrics, no room for more of %s",
                       (long long)a->job, POINTS_MAX, m->name);
    a->points++;
    return db_run(a->l->db, e,
                  "UPDATE job_series SET points = points + 1, untold = MAX(untold, 1),"
                  " last = CASE WHEN $3 < last_step THEN last ELSE $4 END,"
                  " last_step = CASE WHEN $3 < last_step THEN last_step ELSE $3 END,"
                  " least = CASE WHEN least <= $4 OR $4 IS NULL THEN least ELSE $4 END,"
                  " most = CASE WHEN most >= $4 OR $4 IS NULL THEN most ELSE $4 END"
                  " WHERE job = $1 AND name = $2",
                  DB_INT(a->job), DB_TEXT(m->name), DB_REAL(m->step + 0.0),
                  isnan(m->value) ? DB_NULL : DB_REAL(m->value));
}

/* The value of a step is another one now; it may have been the least or the greatest. */
static int change_one(struct adding *a, const struct lake_job_metric *m, struct err *e)
{
    return db_run(a->l->db, e,
                  "UPDATE job_series SET untold = 2,"
                  " last = CASE WHEN $3 = last_step THEN $4 ELSE last END"
                  " WHERE job = $1 AND name = $2",
                  DB_INT(a->job), DB_TEXT(m->name), DB_REAL(m->step + 0.0),
                  isnan(m->value) ? DB_NULL : DB_REAL(m->value));
}

static int add_point(struct adding *a, const struct lake_job_metric *m, struct err *e)
{
    int64_t series = 0;

    if (check_metric(m, e) < 0 || find_series(a, m->name, &series, e) < 0 ||
        run_point(a,
                  "INSERT INTO job_metric (job, series, step, value) VALUES ($1, $2, $3, $4)"
                  " ON CONFLICT DO NOTHING",
                  series, m, e) < 0)
        return -1;
    if (db_changes(a->l->db) > 0)
        return count_one(a, m, e);
    /* A log that is read again tells nothing new. */
    if (run_point(a,
                  "UPDATE job_metric SET value = $4 WHERE job = $1 AND series = $2 AND step = $3"
                  " AND value IS DISTINCT FROM $4",
                  series, m, e) < 0)
        return -1;
    return db_changes(a->l->db) > 0 ? change_one(a, m, e) : 0;
}

static int add_points(struct adding *a,
                      const struct lake_job_metric *metrics,
                      size_t n,
                      struct err *e)
{
    struct job_row row;

    if (lake_job_row_own(a->l, a->job, &row, e) < 0 || count_points(a, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (add_point(a, &metrics[i], e) < 0)
            return -1;
    return 0;
}

int lake_job_add_metrics(
    struct lake *l, int64_t id, const struct lake_job_metric *metrics, size_t n, struct err *e)
{
    struct adding a = {.l = l, .job = id};

    return db_begin(l->db, e) < 0 ? -1 : db_end(l->db, add_points(&a, metrics, n, e), e);
}

int lake_job_metrics(struct lake *l,
                     int64_t id,
                     const char *name,
                     int (*visit)(void *context, const struct lake_job_metric *m, struct err *e),
                     void *context,
                     struct err *e)
{
    struct job_row row;
    int more;

    if (lake_job_row_get(l, id, &row, e) < 0)
        return -1;
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT s.name, m.step, m.value FROM job_series s CROSS JOIN job_metric m"
                 " WHERE s.job = $1 AND ($2 IS NULL OR s.name = $2) AND m.job = $1"
                 " AND m.series = s.series ORDER BY s.name, m.step",
                 DB_INT(id), DB_TEXT(name));
    while ((more = db_step(q, e)) == 1) {
        const struct lake_job_metric m = {db_text(q, 0), db_real(q, 1),
                                          db_is_null(q, 2) ? (double)NAN : db_real(q, 2)};
        if (visit(context, &m, e) < 0)
            return -1;
    }
    return more;
}

int lake_job_metric_from(
    struct lake *l, int64_t id, const char *name, double step, double *value_out, struct err *e)
{
    struct job_row row;

    if (lake_job_row_get(l, id, &row, e) < 0)
        return -1;
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT m.value FROM job_series s CROSS JOIN job_metric m WHERE s.job = $1"
                 " AND s.name = $2 AND m.job = $1 AND m.series = s.series AND m.step >= $3"
                 " ORDER BY m.step LIMIT 1",
                 DB_INT(id), DB_TEXT(name), DB_REAL(step));
    int more = db_step(q, e);
    if (more == 1)
        *value_out = db_is_null(q, 0) ? (double)NAN : db_real(q, 0);
    return more;
}
