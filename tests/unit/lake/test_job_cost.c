/* Lineage cost: every job upstream of a set, once. */
#include "lake/clean/clean.h"
#include "lake/job/job.h"
#include "lake/set/set.h"
#include "local.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static const char *const command[] = {"true"};

/* A job that reads input and code (NULL = none) and leaves a version of output. */
static void ran(struct scratch *s,
                struct lake *l,
                const char *input,
                const char *code,
                const char *output,
                int64_t cost_microusd,
                double runtime_s)
{
    const struct lake_job_request r = {
        .command = command, .n_command = 1, .input = input, .code = code, .output = output};
    struct lake_job_change c = {.to = LAKE_JOB_FINISHED,
                                .runtime_s = runtime_s,
                                .cost_microusd = cost_microusd,
                                .cost_basis = "x"};
    struct err e = {0};

    CHECK(lake_job_submit(l, &r, 1, &c.id, &e) == 0 &&
              lake_job_store(l, &c, local_path(s, "out"), NULL, &e) == 0 && c.applied,
          "a job makes @%s %s", output, e.text);
}

static void costs(struct lake *l, const char *text, uint64_t jobs, int64_t microusd, double runtime)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake_lineage_cost c = {0};
    struct err e = {0};

    CHECK(lake_resolve(l, text, LAKE_READ, &ref, &e) == 0 &&
              lake_lineage_cost(l, &ref, NULL, &c, &e) == 0 && c.jobs == jobs &&
              c.cost_microusd == microusd && fabs(c.runtime_s - runtime) < 1e-9,
          "%s: %llu jobs, %lld, %g s %s", text, (unsigned long long)c.jobs,
          (long long)c.cost_microusd, c.runtime_s, e.text);
}

/* Raw is generated ($1, 10 s); Left ($2, 20 s) and Right ($4, 40 s) read it; Both is made of them
 * by hand; Model ($8, 80 s) reads Both, with Raw as its code. */
static void diamond(struct scratch *s, struct lake *l)
{
    const char *refs[] = {"@Left", "@Right"};
    const struct lake_set_request both = {.name = "Both", .refs = refs, .n_refs = 2};
    struct err e = {0};

    local_text(s, "out/x", "x");
    ran(s, l, NULL, NULL, "Raw", 1000000, 10);
    ran(s, l, "@Raw", NULL, "Left", 2000000, 20);
    ran(s, l, "@Raw", NULL, "Right", 4000000, 40);
    CHECK(lake_set_create(l, &both, NULL, &e) == 0, "by hand %s", e.text);
    ran(s, l, "@Both", "@Raw", "Model", 8000000, 80);
    ran(s, l, "@Model", NULL, "After", 16000000, 160);
    costs(l, "@Raw", 1, 1000000, 10);
    costs(l, "@Left", 2, 3000000, 30);
    costs(l, "@Right", 2, 5000000, 50);
    costs(l, "@Both", 3, 7000000, 70);
    costs(l, "@Model", 4, 15000000, 150);
    costs(l, "@After", 5, 31000000, 310);
    costs(l, "/Left/x", 3, 7000000, 70); /* in Left and Both */
}

static void none(struct scratch *s, struct lake *l)
{
    const char *paths[] = {"/alone"};
    AUTO(lake) struct lake *eve = scratch_open_as(s, "other", "eve", true);
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake_lineage_cost c;
    struct err e = {0};

    scratch_put(l, "/alone", "alone", &e);
    scratch_put(l, "/nowhere", "nowhere", &e);
    scratch_set(l, "Alone", paths, 1);
    costs(l, "@Alone", 0, 0, 0);
    CHECK(lake_resolve(l, "/nowhere", LAKE_READ, &ref, &e) == 0 &&
              lake_lineage_cost(l, &ref, NULL, &c, &e) < 0 && e.kind == ERR_NOTFOUND,
          "no set holds it: %s", e.text);
    lake_ref_clear(&ref);
    CHECK(lake_resolve(l, "@Model", LAKE_READ, &ref, &e) == 0 &&
              lake_lineage_cost(eve, &ref, NULL, &c, &e) < 0 && e.kind == ERR_NOTFOUND,
          "of another project: %s", e.text);
}

/* ---- fsck ---- */

static int note(void *context, const char *text, struct err *e)
{
    (void)e;
    size_t n = strlen(context);
    snprintf((char *)context + n, 2000 - n, "%s\n", text);
    return 0;
}

static void damage(struct lake *l)
{
    static const struct {
        const char *sql, *said;
    } cases[] = {
        {"UPDATE job SET input_version = 999 WHERE id = 2", "job:2: its input, set version 999"},
        {"UPDATE job SET code_version = 998 WHERE id = 2", "job:2: its code, set version 998"},
        {"UPDATE job SET output_version = 997 WHERE id = 5", "job:5: its output, set version 997"},
        {"UPDATE job SET output_version = NULL WHERE id = 5", "to come from job:5, which did not"},
        {"DELETE FROM job_text WHERE job = 3", "job:3: its command"},
        {"DELETE FROM job_state WHERE job = 4", "job:4: its command, or the log"},
    };
    struct lake_fsck_summary sum;
    struct err e = {0};
    char said[2000] = "";

    CHECK(lake_fsck(l, NULL, note, said, &sum, &e) == 0 && sum.problems == 0, "all is well %s%s",
          said, e.text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(db_begin(l->db, &e) == 0 && db_exec(l->db, cases[i].sql, &e) == 0 &&
                  db_commit(l->db, &e) == 0,
              "damage %s", e.text);
        CHECK(lake_fsck(l, NULL, note, said, &sum, &e) == 0 && strstr(said, cases[i].said),
              "%s is found %s", cases[i].said, e.text);
    }
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    diamond(&s, l);
    none(&s, l);
    damage(l);
    scratch_clear(&s);
    return TAP_DONE();
}
