/* Jobs among the things that have metadata: built-in keys, arguments, tags by hand. */
#include "lake/job/job.h"
#include "lake/job/job_args.h"
#include "lake/meta/meta.h"
#include "scratch.h"
#include "tap.h"

#include <string.h>

/* ---- arguments ---- */

static int note_pair(void *context, const struct meta_pair *pair, struct err *e)
{
    char *out = context;
    size_t n = strlen(out);

    (void)e;
    snprintf(out + n, 300 - n, "%s%s%s ", pair->key, pair->value ? "=" : "",
             pair->value ? pair->value : "");
    return 0;
}

static void arguments(void)
{
    static char long_key[LAKE_KEY_MAX + 4] = "--", long_value[LAKE_VALUE_MAX + 2];
    static const struct {
        const char *words[8];
        const char *expected;
    } cases[] = {
        {{"p"}, ""},
        {{"p", "--epoch", "5"}, "epoch=5 "},
        {{"p", "--epoch=5"}, "epoch=5 "},
        {{"p", "--fast"}, "fast "},
        {{"p", "--fast", "--epoch", "5"}, "fast epoch=5 "},
        {{"p", "-x", "5", "-v"}, "x=5 v "},
        {{"p", "train.py", "data"}, "arg1=train.py arg2=data "},
        {{"p", "--lr", "-0.5", "-3"}, "lr=-0.5 arg1=-3 "},
        {{"p", "--in", "-"}, "in=- "},
        {{"p", "--empty=", "--eq=a=b"}, "empty= eq=a=b "},
        {{"p", "a", "--", "--not", "-x"}, "arg1=a arg2=--not arg3=-x "},
        {{"p", "--state", "on", "--creator=me", "--size=3"},
         "arg.state=on arg.creator=me arg.size=3 "},
        {{"p", "--2fast", "--k:y", "v"}, "arg.2fast k_y=v "},
        {{"p", "--", "--"}, "arg1=-- "},
        {{"p", "--bad", "\xff", "\xff", "good"}, "arg2=good "},
        {{"p", "--=x", "good"}, "arg1=good "},
        {{"p", long_key, "--v", long_value, "good"}, "arg1=good "},
    };

    memset(long_key + 2, 'k', LAKE_KEY_MAX + 1);
    memset(long_value, 'v', LAKE_VALUE_MAX + 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[300] = "";
        size_t n = 0;
        struct err e = {0};
        while (n < 8 && cases[i].words[n])
            n++;
        CHECK(lake_job_args_each(cases[i].words, n, note_pair, out, &e) == 0 &&
                  strcmp(out, cases[i].expected) == 0,
              "%zu: %s", i, out);
    }
}

/* ---- find ---- */

static int64_t submit(struct lake *l, const struct lake_job_request *r)
{
    struct err e = {0};
    int64_t id = 0;

    CHECK(lake_job_submit(l, r, 1, &id, &e) == 0, "job %lld %s", (long long)id, e.text);
    return id;
}

static void change(struct lake *l, struct lake_job_change c)
{
    struct err e = {0};

    CHECK(lake_job_step(l, &c, 1, &e) == 0 && c.applied, "job %lld to %s %s", (long long)c.id,
          lake_job_state_text(c.to), e.text);
}

static int note_ref(void *context, const struct lake_found *f, struct err *e)
{
    char *out = context;
    size_t n = strlen(out);

    (void)e;
    snprintf(out + n, 200 - n, "%s ", f->ref);
    return 0;
}

static void found(struct lake *l,
                  const char *expression,
                  const struct lake_find_options *o,
                  const char *expected)
{
    const struct lake_find_options none = {0};
    struct err e = {0};
    char out[200] = "";

    CHECK(lake_find(l, expression, o ? o : &none, note_ref, out, &e) == 0 &&
              strcmp(out, expected) == 0,
          "%s: %s%s", expression, out, e.text);
}

/* Jobs 1 to 4, and a file and a set that have keys of the same names. */
static void fill(struct scratch *s, struct lake *l)
{
    static const char *const one[] = {"python", "train.py", "--epoch", "5", "--fast"};
    static const char *const two[] = {"python", "train.py", "--epoch=10", "--state", "on"};
    static const char *const three[] = {"true"};
    AUTO(lake) struct lake *bob = scratch_open_as(s, "default", "bob", false);
    const char *paths[] = {"/f"}, *tags[] = {"run=3", "state=queued", "machine=m1", "input=x"};
    AUTO_CLEAR(lake_ref) struct lake_ref set = {0};
    struct err e = {0};

    scratch_fake(l, "/f", "f", &e);
    scratch_set(l, "S", paths, 1);
    CHECK(lake_resolve(l, "@S", LAKE_READ, &set, &e) == 0 && lake_tag(l, &set, tags, 4, &e) == 0,
          "users' keys on other things %s", e.text);
    s->now_ms = INT64_C(1794873600000); /* 2026-11-17 */
    submit(l, &(struct lake_job_request){.command = one,
                                         .n_command = 5,
                                         .input = "@S",
                                         .output = "M",
                                         .cpus = 0.5,
                                         .memory_mb = 256,
                                         .time_limit_s = 60,
                                         .run = 3});
    submit(l, &(struct lake_job_request){
                  .command = two, .n_command = 5, .cpus = 2, .memory_mb = 1024});
    s->now_ms = INT64_C(1794960000000); /* 2026-11-18 */
    submit(bob, &(struct lake_job_request){
                    .name = "nap", .command = three, .n_command = 1, .cpus = 1, .run = 4});
    submit(bob, &(struct lake_job_request){.command = three, .n_command = 1, .cpus = 1});
    change(l, (struct lake_job_change){.id = 1,
                                       .to = LAKE_JOB_FINISHED,
                                       .exited = true,
                                       .runtime_s = 10,
                                       .cost_microusd = 1500000,
                                       .cost_basis = "x",
                                       .machine = "m1"});
    change(l, (struct lake_job_change){.id = 2,
                                       .to = LAKE_JOB_FAILED,
                                       .exited = true,
                                       .exit_code = 137,
                                       .runtime_s = 0.25,
                                       .cost_microusd = 1,
                                       .cost_basis = "x",
                                       .machine = "m2"});
    change(l, (struct lake_job_change){.id = 3, .to = LAKE_JOB_RUNNING, .runtime_s = -1});
}

static void questions(struct lake *l)
{
    const struct lake_find_options by_cost = {.sort = "cost_usd"}, cheapest = {.min = "cost_usd"},
                                   dearest = {.max = "runtime_s"},
                                   by_run = {.sort = "run", .reverse = true},
                                   by_epoch = {.max = "epoch"}, by_state = {.sort = "state"};

    found(l, "kind=job", NULL, "job:1 job:2 job:3 job:4 ");
    found(l, "kind=job creator=bob", NULL, "job:3 job:4 ");
    found(l, "kind=job create_time=2026-11-17", NULL, "job:1 job:2 ");
    found(l, "kind=job create_time>=2026-11-18", NULL, "job:3 job:4 ");
    found(l, "name=python", NULL, "job:1 job:2 ");
    found(l, "name=nap", NULL, "job:3 ");
    found(l, "cpus>=1", NULL, "job:2 job:3 job:4 ");
    found(l, "memory_mb=256", NULL, "job:1 ");
    found(l, "time_limit_s<=60", NULL, "job:1 ");
    found(l, "exit_code!=0", NULL, "job:2 ");
    found(l, "runtime_s=0.2..10", NULL, "job:1 job:2 ");
    found(l, "cost_usd=1.5", NULL, "job:1 ");
    found(l, "cost_usd=0.000001", NULL, "job:2 ");
    found(l, "cost_usd>0 cost_usd<1", NULL, "job:2 ");
    found(l, "state=running", NULL, "job:3 ");
    found(l, "kind=job state!=running", NULL, "job:1 job:2 job:4 ");
    found(l, "kind=job state~^f", NULL, "job:1 job:2 ");
    found(l, "input=@S:1", NULL, "job:1 ");
    found(l, "output=@M", NULL, "job:1 ");
    found(l, "output~^@M", NULL, "job:1 ");
    found(l, "kind=job run", NULL, "job:1 job:3 ");
    found(l, "kind=job !run", NULL, "job:2 job:4 ");
    found(l, "kind=job !machine", NULL, "job:3 job:4 ");
    found(l, "kind=job run~3", NULL, "job:1 ");
    found(l, "kind=job run=text", NULL, "");
    found(l, "kind=job run!=text", NULL, "job:1 job:3 ");
    found(l, "kind=job path", NULL, "");
    found(l, "kind=job !path", NULL, "job:1 job:2 job:3 job:4 ");
    found(l, "epoch>5", NULL, "job:2 ");
    found(l, "fast", NULL, "job:1 ");
    found(l, "arg1=train.py state=failed", NULL, "job:2 ");
    found(l, "arg.state=on", NULL, "job:2 ");
    /* On other things these keys are the users'. */
    found(l, "run=3", NULL, "@S:1 job:1 ");
    found(l, "machine=m1", NULL, "@S:1 job:1 ");
    found(l, "state=queued", NULL, "@S:1 job:4 ");
    found(l, "kind=set run=3", NULL, "@S:1 ");
    found(l, "kind=set !cpus", NULL, "@S:1 ");
    found(l, "kind=job", &by_cost, "job:2 job:1 job:3 job:4 ");
    found(l, "", &cheapest, "job:2 ");
    found(l, "", &dearest, "job:1 ");
    found(l, "run", &by_run, "job:3 @S:1 job:1 ");
    found(l, "", &by_epoch, "job:2 ");
    found(l, "kind=job", &by_state, "job:2 job:1 job:4 job:3 ");
}

/* ---- one job ---- */

static int note_all(void *context, const struct lake_found *f, struct err *e)
{
    char *out = context;

    (void)e;
    snprintf(out, 500, "%s %s:", f->ref, f->kind);
    for (size_t i = 0; i < f->n_values; i++) {
        size_t n = strlen(out);
        snprintf(out + n, 500 - n, " %s=%s", f->values[i].key,
                 f->values[i].text ? f->values[i].text : "");
    }
    return 0;
}

static void references(struct scratch *s, struct lake *l)
{
    AUTO(lake) struct lake *bob = scratch_open_as(s, "default", "bob", false);
    AUTO(lake) struct lake *eve = scratch_open_as(s, "other", "eve", true);
    AUTO_CLEAR(lake_ref) struct lake_ref job = {0}, bobs = {0}, of_bob = {0};
    const char *good[] = {"golden", "epoch=7"}, *bad[] = {"good=1", "state=done"},
               *keys[] = {"golden"};
    struct err e = {0};
    char out[500] = "";

    CHECK(lake_resolve(l, "job:1", LAKE_WRITE, &job, &e) == 0 && job.kind == LAKE_REF_JOB &&
              job.number == 1,
          "job:1 %s", e.text);
    CHECK(lake_describe(l, &job, note_all, out, &e) == 0 &&
              strcmp(out, "job:1 job: create_time=2026-11-17T00:00:00.000Z creator=ann kind=job "
                          "name=python state=finished cpus=0.5 memory_mb=256 time_limit_s=60 "
                          "runtime_s=10 cost_usd=1.5 exit_code=0 run=3 machine=m1 input=@S:1 "
                          "output=@M arg1=train.py epoch=5 fast=") == 0,
          "all that is known: %s", out);
    CHECK(lake_tag(l, &job, good, 2, &e) == 0, "tagged by hand %s", e.text);
    found(l, "golden epoch=7", NULL, "job:1 ");
    CHECK(lake_tag(l, &job, bad, 2, &e) < 0 && e.kind == ERR_USAGE, "a built-in key: %s", e.text);
    found(l, "good", NULL, "");
    CHECK(lake_untag(l, &job, keys, 1, &e) == 0, "untagged %s", e.text);
    found(l, "golden", NULL, "");
    CHECK(lake_resolve(bob, "job:1", LAKE_READ, &of_bob, &e) == 0 &&
              lake_tag(bob, &of_bob, good, 1, &e) < 0 && e.kind == ERR_DENIED,
          "not by another: %s", e.text);
    CHECK(lake_resolve(bob, "job:1", LAKE_WRITE, &bobs, &e) < 0 && e.kind == ERR_DENIED, "%s",
          e.text);
    lake_ref_clear(&bobs);
    CHECK(lake_resolve(bob, "job:3", LAKE_WRITE, &bobs, &e) == 0 &&
              lake_tag(bob, &bobs, good, 1, &e) == 0,
          "one's own %s", e.text);
    found(bob, "kind=job golden", NULL, "job:3 ");
    found(eve, "kind=job", NULL, "");
    AUTO_MEM char *elsewhere = scratch_resolve(eve, "job:1", LAKE_READ);
    CHECK(strstr(elsewhere, "there is no job 1"), "elsewhere: %s", elsewhere);
    CHECK(lake_describe(eve, &job, note_all, out, &e) < 0 && e.kind == ERR_NOTFOUND, "%s", e.text);
    AUTO_MEM char *none = scratch_resolve(l, "job:99", LAKE_READ);
    CHECK(strstr(none, "there is no job 99"), "%s", none);
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    arguments();
    fill(&s, l);
    questions(l);
    references(&s, l);
    scratch_clear(&s);
    return TAP_DONE();
}
