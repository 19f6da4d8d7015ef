#include "lake/job/job.h"
#include "lake/meta/meta.h"
#include "scratch.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static int64_t submit(struct lake *l)
{
    static const char *const command[] = {"true"};
    const struct lake_job_request r = {.command = command, .n_command = 1};
    struct err e = {0};
    int64_t id = 0;

    CHECK(lake_job_submit(l, &r, 1, &id, &e) == 0, "job %lld %s", (long long)id, e.text);
    return id;
}

static int note(void *context, const struct lake_job_metric *m, struct err *e)
{
    char *out = context;
    size_t n = strlen(out);

    (void)e;
    snprintf(out + n, 300 - n, "%s@%g=%g ", m->name, m->step, m->value);
    return 0;
}

static const char *series(struct lake *l, int64_t id, const char *name, char out[static 300])
{
    struct err e = {0};

    out[0] = 0;
    if (lake_job_metrics(l, id, name, note, out, &e) < 0)
        snprintf(out, 300, "%.200s", e.text);
    return out;
}

/* The first value at the step or beyond, "none", or the error. */
static const char *from(
    struct lake *l, int64_t id, const char *name, double step, char out[static 300])
{
    struct err e = {0};
    double value = 0;
    int there = lake_job_metric_from(l, id, name, step, &value, &e);

    snprintf(out, 300, there == 1 ? "%g" : there == 0 ? "none" : "error", value);
    return out;
}

static void points(struct scratch *s, struct lake *l)
{
    AUTO(lake) struct lake *bob = scratch_open_as(s, "default", "bob", false);
    AUTO(lake) struct lake *eve = scratch_open_as(s, "other", "eve", true);
    int64_t id = submit(l), other = submit(l);
    const struct lake_job_metric some[] = {
        {"loss", 10, 0.5},        {"loss", 2, 0.75},
        {"accuracy", 1, 0.25},    {"loss", 2, 0.625},
        {"loss", 3, (double)NAN}, {"loss", 4, (double)INFINITY},
        {"loss", -0.0, -1e300},   {"loss", 0, (double)-INFINITY},
    };
    struct lake_job_metric bad[] = {
        {"fine", 1, 1}, {"loss", (double)NAN, 1}, {"", 1, 1}, {"bad\xff", 1, 1}};
    struct err e = {0};
    char out[300];

    CHECK(lake_job_add_metrics(l, id, some, 8, &e) == 0, "added %s", e.text);
    CHECK(strcmp(series(l, id, NULL, out),
                 "accuracy@1=0.25 loss@0=-inf loss@2=0.625 loss@3=nan loss@4=inf loss@10=0.5 ") ==
              0,
          "by name, then step; the last value of a step counts: %s", out);
    CHECK(strcmp(series(l, id, "accuracy", out), "accuracy@1=0.25 ") == 0, "one name: %s", out);
    CHECK(strcmp(series(l, id, "nosuch", out), "") == 0, "a name without points: %s", out);
    CHECK(strcmp(series(l, other, NULL, out), "") == 0, "of another job: %s", out);
    static const struct {
        const char *name;
        double step;
        const char *value;
    } firsts[] = {{"loss", -5, "-inf"}, {"loss", 0.5, "0.625"}, {"loss", 2, "0.625"},
                  {"loss", 3, "nan"},   {"loss", 5, "0.5"},     {"loss", 10, "0.5"},
                  {"loss", 11, "none"}, {"nosuch", 0, "none"},  {"accuracy", 1, "0.25"}};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
        CHECK(strcmp(from(l, id, firsts[i].name, firsts[i].step, out), firsts[i].value) == 0,
              "%s from step %g: %s", firsts[i].name, firsts[i].step, out);
    CHECK(strcmp(from(eve, id, "loss", 0, out), "error") == 0, "of another project: %s", out);
    for (int i = 1; i < 4; i++) {
        const struct lake_job_metric both[] = {bad[0], bad[i]};
        CHECK(lake_job_add_metrics(l, id, both, 2, &e) < 0 && e.kind == ERR_USAGE, "refused: %s",
              e.text);
    }
    CHECK(strcmp(series(l, id, "fine", out), "") == 0, "and nothing of the same call stays");
    CHECK(lake_job_add_metrics(bob, id, some, 1, &e) < 0 && e.kind == ERR_DENIED, "%s", e.text);
    CHECK(strncmp(series(bob, id, "loss", out), "loss@0=", 7) == 0, "members may read");
    CHECK(lake_job_add_metrics(eve, id, some, 1, &e) < 0 && e.kind == ERR_NOTFOUND &&
              strstr(series(eve, id, NULL, out), "there is no job"),
          "%s", e.text);
}

/* 1,000 names and 1,000,000 points a job. */
static void limits(struct lake *l)
{
    static struct lake_job_metric many[1000];
    static char names[1001][16];
    int64_t id = submit(l);
    struct err e = {0};

    for (int i = 0; i < 1001; i++)
        snprintf(names[i], sizeof names[i], "m%d", i);
    for (int i = 0; i < 1000; i++)
        many[i] = (struct lake_job_metric){names[i], 0, i};
    CHECK(lake_job_add_metrics(l, id, many, 1000, &e) == 0, "1,000 names %s", e.text);
    const struct lake_job_metric more = {names[1000], 0, 0}, again = {names[999], 0, 5},
                                 next = {names[999], 1, 0};
    CHECK(lake_job_add_metrics(l, id, &more, 1, &e) < 0 && e.kind == ERR_USAGE,
          "one more is refused: %s", e.text);
    CHECK(db_exec(l->db, "UPDATE job_series SET points = 999001 WHERE name = 'm0'", &e) == 0,
          "as if there were 1,000,000 points");
    CHECK(lake_job_add_metrics(l, id, &next, 1, &e) < 0 && e.kind == ERR_USAGE,
          "one more is refused: %s", e.text);
    CHECK(lake_job_add_metrics(l, id, &again, 1, &e) == 0, "a step that is there may change %s",
          e.text);
    CHECK(scratch_number(
              l, "SELECT SUM(points) FROM job_series WHERE points < 2 AND name LIKE 'm%'") == 999 &&
              scratch_number(l, "SELECT count(*) FROM job_metric WHERE value = 5") == 2,
          "the earlier ones stay");
}

static void faults(struct scratch *s, struct lake *l)
{
    const struct lake_job_metric two[] = {{"a", 1, 1}, {"b", 1, 1}};
    int64_t n, id = submit(l);
    int torn = 0;
    struct err e = {0};
    char out[300];

    for (n = 0; n < 100; n++) {
        s->calls_left = n;
        int result = lake_job_add_metrics(l, id, two, 2, &e);
        s->calls_left = -1;
        if (result == 0)
            break;
        torn += strcmp(series(l, id, NULL, out), "") != 0;
    }
    CHECK(n > 3 && n < 100 && torn == 0 && strcmp(series(l, id, NULL, out), "a@1=1 b@1=1 ") == 0,
          "%lld calls: all or nothing", (long long)n);
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    points(&s, l);
    limits(l);
    faults(&s, l);
    scratch_clear(&s);
    return TAP_DONE();
}
