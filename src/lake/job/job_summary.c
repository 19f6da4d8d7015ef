/* Metrics as a whole: the last, least and greatest value of each series and its number of steps, as
 * metadata of the job and its output, and as a list. The broker calls it from time to time, and
 * every step that ends a job. */
#include "base/mem.h"
#include "base/number.h"
#include "lake/job/internal.h"
#include "lake/meta/meta.h"
#include "lake/meta/meta_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "metric."

/* ---- metadata ---- */

/* Characters that a key cannot have become '_'. False: with prefix and suffix it is too long. */
static bool make_key(const char *prefix, const char *name, const char *suffix, char *out)
{
    int n = snprintf(out, LAKE_KEY_MAX + 1, "%s%s%s", prefix, name, suffix);

    for (char *at = out; *at; at++)
        if (!meta_key_char(*at))
            *at = '_';
    return n > 0 && n <= LAKE_KEY_MAX && meta_key_begins(out[0]);
}

static int put_number(struct lake *l,
                      const struct job_row *row,
                      const char *name,
                      const char *suffix,
                      double value,
                      struct err *e)
{
    enum job_key_kind kind = *suffix ? JOB_KEY_EXTREME : JOB_KEY_METRIC;
    struct meta_pair pair = {.kind = LAKE_VALUE_NUMBER, .number = value};
    char text[32];

    /* NaN and infinities compare with nothing: they are kept as text. */
    if (isnan(value) || isinf(value)) {
        pair.kind = LAKE_VALUE_TEXT;
        pair.number = 0;
    }
    snprintf(text, sizeof text, "%.*g", isfinite(value) ? number_digits(value) : 6, value);
    pair.value = text;
    if (make_key(PREFIX, name, suffix, pair.key) && lake_job_key_put(l, row, kind, &pair, e) < 0)
        return -1;
    return make_key("", name, suffix, pair.key) && meta_job_builtin(pair.key) == META_NONE
               ? lake_job_key_put(l, row, kind, &pair, e)
               : 0;
}

static int tell_series(struct lake *l,
                       const struct job_row *row,
                       const struct lake_job_series *s,
                       struct err *e)
{
    if (put_number(l, row, s->name, "", s->last, e) < 0 ||
        put_number(l, row, s->name, ".steps", (double)s->steps, e) < 0)
        return -1;
    return isnan(s->min) ? 0
           : put_number(l, row, s->name, ".min", s->min, e) < 0
               ? -1
               : put_number(l, row, s->name, ".max", s->max, e);
}

/* After values of steps were replaced, the extremes are read from the steps again. */
static int compute_extremes(struct lake *l, int64_t job, struct err *e)
{
    return db_run(l->db, e,
                  "UPDATE job_series SET least = (SELECT MIN(m.value) FROM job_metric m"
                  " WHERE m.job = $1 AND m.series = job_series.series),"
                  " most = (SELECT MAX(m.value) FROM job_metric m"
                  " WHERE m.job = $1 AND m.series = job_series.series), untold = 1"
                  " WHERE job = $1 AND untold = 2",
                  DB_INT(job));
}

static double real_or_nan(struct db_query *q, int column)
{
    return db_is_null(q, column) ? (double)NAN : db_real(q, column);
}

/* The columns name, last, last_step, least, most, points. */
static struct lake_job_series series_of(struct db_query *q)
{
    return (struct lake_job_series){.name = db_text(q, 0),
                                    .last = real_or_nan(q, 1),
                                    .last_step = real_or_nan(q, 2),
                                    .min = real_or_nan(q, 3),
                                    .max = real_or_nan(q, 4),
                                    .steps = db_int(q, 5)};
}

int lake_job_tell(struct lake *l, const struct job_row *row, struct err *e)
{
    int64_t untold = 0;
    int more;

    if (db_get_int(l->db, e, &untold, "SELECT MAX(untold) FROM job_series WHERE job = $1",
                   DB_INT(row->id)) < 0 ||
        (untold == 2 && compute_extremes(l, row->id, e) < 0))
        return -1;
    if (!untold)
        return 0;
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT name, last, last_step, least, most, points FROM job_series"
                 " WHERE job = $1 AND untold = 1",
                 DB_INT(row->id));
    while ((more = db_step(q, e)) == 1) {
        const struct lake_job_series s = series_of(q);
        if (tell_series(l, row, &s, e) < 0)
            return -1;
    }
    return more < 0
               ? -1
               : db_run(l->db, e, "UPDATE job_series SET untold = 0 WHERE job = $1 AND untold <> 0",
                        DB_INT(row->id));
}

static int tell_own(struct lake *l, int64_t id, struct err *e)
{
    struct job_row row;

    return lake_job_row_own(l, id, &row, e) < 0 ? -1 : lake_job_tell(l, &row, e);
}

int lake_job_tell_metrics(struct lake *l, int64_t id, struct err *e)
{
    if (db_begin(l->db, e) < 0)
        return -1;
    return db_end(l->db, tell_own(l, id, e), e) < 0
               ? err_wrap(e, "metrics of job %lld", (long long)id)
               : 0;
}

/* ---- the list ---- */

int lake_job_summaries(struct lake *l,
                       int64_t id,
                       int (*visit)(void *context, const struct lake_job_series *s, struct err *e),
                       void *context,
                       struct err *e)
{
    struct job_row row;
    int more;

    if (lake_job_row_get(l, id, &row, e) < 0)
        return -1;
    /* Extremes of series whose values were replaced since are computed here. */
    AUTO_RESET struct db_query *q = db_query(
        l->db, e,
        "SELECT name, last, last_step,"
        " CASE WHEN untold = 2 THEN (SELECT MIN(m.value) FROM job_metric m WHERE m.job = $1"
        " AND m.series = job_series.series) ELSE least END,"
        " CASE WHEN untold = 2 THEN (SELECT MAX(m.value) FROM job_metric m WHERE m.job = $1"
        " AND m.series = job_series.series) ELSE most END,"
        " points FROM job_series WHERE job = $1 ORDER BY name",
        DB_INT(id));
    while ((more = db_step(q, e)) == 1) {
        const struct lake_job_series s = series_of(q);
        if (visit(context, &s, e) < 0)
            return -1;
    }
    return more;
}
