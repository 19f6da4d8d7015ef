/* Parameters and metrics as metadata of jobs and of their outputs. */
#include "lake/job/job.h"
#include "lake/meta/meta.h"
#include "lake/meta/meta_value.h"
#include "lake/set/set.h"
#include "local.h"
#include "scratch.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static int64_t submit(struct lake *l, struct lake_job_request r)
{
    static const char *const command[] = {"train"};
    struct err e = {0};
    int64_t id = 0;

    if (!r.n_command) {
        r.command = command;
        r.n_command = 1;
    }
    CHECK(lake_job_submit(l, &r, 1, &id, &e) == 0, "job %lld %s", (long long)id, e.text);
    return id;
}

static int note_ref(void *context, const struct lake_found *f, struct err *e)
{
    char *out = context;
    size_t n = strlen(out);

    (void)e;
    snprintf(out + n, 300 - n, "%s ", f->ref);
    return 0;
}

static void found(struct lake *l,
                  const char *expression,
                  const struct lake_find_options *o,
                  const char *expected)
{
    const struct lake_find_options none = {0};
    struct err e = {0};
    char out[300] = "";

    CHECK(lake_find(l, expression, o ? o : &none, note_ref, out, &e) == 0 &&
              strcmp(out, expected) == 0,
          "%s: %s%s", expression, out, e.text);
}

/* Users' keys, "k=v ". */
static int note_keys(void *context, const struct lake_found *f, struct err *e)
{
    char *out = context;

    (void)e;
    for (size_t i = 0; i < f->n_values; i++) {
        size_t n = strlen(out);
        if (meta_job_builtin(f->values[i].key) == META_NONE)
            snprintf(out + n, 500 - n, "%s=%s ", f->values[i].key,
                     f->values[i].text ? f->values[i].text : "");
    }
    return 0;
}

static void keys_are(struct lake *l, const char *name, const char *expected)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct err e = {0};
    char out[500] = "";

    CHECK(lake_resolve(l, name, LAKE_READ, &ref, &e) == 0 &&
              lake_describe(l, &ref, note_keys, out, &e) == 0 && strcmp(out, expected) == 0,
          "%s: %s%s", name, out, e.text);
}

static int note_param(void *context, const struct lake_value *v, struct err *e)
{
    char *out = context;
    size_t n = strlen(out);

    (void)e;
    snprintf(out + n, 300 - n, "%s=%s ", v->key, v->text ? v->text : "");
    return 0;
}

static void params_are(struct lake *l, int64_t id, const char *expected)
{
    struct err e = {0};
    char out[300] = "";

    CHECK(lake_job_params(l, id, note_param, out, &e) == 0 && strcmp(out, expected) == 0,
          "parameters of job %lld: %s%s", (long long)id, out, e.text);
}

static void parameters(struct lake *l)
{
    static const char *const command[] = {"python", "t.py",    "--epoch",     "5",   "--LR",
                                          "0.5",    "--fast",  "--api-token", "abc", "--max-token",
                                          "512",    "--state", "on",          "-c",  "5"};
    static const char *const swept[] = {"layers=3", "name=x"};
    int64_t id = submit(
        l, (struct lake_job_request){
               .command = command,
               .n_command = 15,
               .params = swept,
               .n_params = 2,
               .details = "{\"env\": {\"LR\": \"0.1\", \"OPT\": \"adam\", \"HF_TOKEN\": \"hf_x\","
                          " \"PATH\": \"/bin\", \"SKYPILOT_NODE_RANK\": \"0\", \"S3\": \"x\","
                          " \"AWS_SECRET_ACCESS_KEY\": \"y\", \"TRADEWIND_X\": \"1\"},"
                          " \"secrets\": [\"S3\"]}"});

    params_are(l, id, "LR=0.5 OPT=adam epoch=5 fast= layers=3 max-token=512 name=x state=on ");
    keys_are(l, "job:1",
             "LR=0.5 OPT=adam arg.state=on arg1=t.py c=5 epoch=5 fast= layers=3 max-token=512 "
             "param.name=x param.state=on ");
    found(l, "LR=0.5 OPT=adam layers>2", NULL, "job:1 ");
    found(l, "param.LR=0.5 param.name=x param.fast", NULL, "job:1 ");
    found(l, "param.LR=0.1", NULL, "");
}

static int note_series(void *context, const struct lake_job_series *s, struct err *e)
{
    char *out = context;
    size_t n = strlen(out);

    (void)e;
    snprintf(out + n, 300 - n, "%s %g@%g %g..%g %lld; ", s->name, s->last, s->last_step, s->min,
             s->max, (long long)s->steps);
    return 0;
}

static void series_are(struct lake *l, int64_t id, const char *expected)
{
    struct err e = {0};
    char out[300] = "";

    CHECK(lake_job_summaries(l, id, note_series, out, &e) == 0 && strcmp(out, expected) == 0,
          "series of job %lld: %s%s", (long long)id, out, e.text);
}

static void add(struct lake *l, int64_t id, const struct lake_job_metric *m, size_t n)
{
    struct err e = {0};

    CHECK(lake_job_add_metrics(l, id, m, n, &e) == 0, "metrics of job %lld %s", (long long)id,
          e.text);
}

static void tell(struct lake *l, int64_t id)
{
    struct err e = {0};

    CHECK(lake_job_tell_metrics(l, id, &e) == 0, "told of job %lld %s", (long long)id, e.text);
}

static void metrics(struct lake *l)
{
    int64_t id = submit(l, (struct lake_job_request){0}); /* 2 */
    const struct lake_job_metric first[] = {
        {"loss", 1, 0.9}, {"loss", 3, 0.42},       {"loss", 2, 0.3},        {"val acc", 1, 0.5},
        {"size", 1, 7},   {"nan", 1, (double)NAN}, {"loss", 0, (double)NAN}};
    const struct lake_job_metric again[] = {{"loss", 2, 0.8}, {"loss", 3, 0.5}};
    const struct lake_job_metric same[] = {{"loss", 2, 0.8}, {"val acc", 1, 0.5}};

    add(l, id, first, 7);
    series_are(l, id,
               "loss 0.42@3 0.3..0.9 4; nan nan@1 nan..nan 1; size 7@1 7..7 1; "
               "val acc 0.5@1 0.5..0.5 1; ");
    keys_are(l, "job:2", "");
    tell(l, id);
    keys_are(l, "job:2",
             "loss=0.42 loss.max=0.9 loss.min=0.3 loss.steps=4 metric.size=7 nan=nan nan.steps=1 "
             "size.max=7 size.min=7 size.steps=1 "
             "val_acc=0.5 val_acc.max=0.5 val_acc.min=0.5 val_acc.steps=1 ");
    found(l, "kind=job loss<0.5 loss.min<=0.3 loss.max>0.8", NULL, "job:2 ");
    found(l, "metric.loss=0.42 metric.loss.min=0.3 metric.size=7", NULL, "job:2 ");
    found(l, "nan<1", NULL, "");
    add(l, id, again, 2);
    series_are(l, id,
               "loss 0.5@3 0.5..0.9 4; nan nan@1 nan..nan 1; size 7@1 7..7 1; "
               "val acc 0.5@1 0.5..0.5 1; ");
    tell(l, id);
    found(l, "loss=0.5 loss.min=0.5", NULL, "job:2 ");
    add(l, id, same, 2);
    CHECK(scratch_number(l, "SELECT MAX(untold) FROM job_series") == 0,
          "a log that is read again changes nothing");
}

/* A million points cost as many writes of metadata as one. */
static void cheaply(struct scratch *s, struct lake *l)
{
    int64_t id = submit(l, (struct lake_job_request){0}); /* 3 */
    struct lake_job_metric point = {"loss", 0, 1};

    add(l, id, &point, 1);
    tell(l, id);
    for (int i = 1; i < 200; i++) {
        point.step = i;
        point.value = 1.0 / i;
        add(l, id, &point, 1);
    }
    s->calls_left = 1000;
    tell(l, id);
    CHECK(s->calls_left > 940, "%lld statements tell of 199 points", 1000LL - s->calls_left);
    s->calls_left = -1;
    found(l, "loss.steps=200", NULL, "job:3 ");
    s->calls_left = 1000;
    tell(l, id);
    CHECK(s->calls_left > 992, "%lld statements tell of none", 1000LL - s->calls_left);
    s->calls_left = -1;
}

/* A tag has its name before a metric, a metric before a parameter. */
static void precedence(struct lake *l)
{
    AUTO_CLEAR(lake_ref) struct lake_ref job = {0};
    int64_t id =
        submit(l, (struct lake_job_request){
                      .details = "{\"env\": {\"loss\": \"mse\", \"top\": \"5\"}}"}); /* 4 */
    const struct lake_job_metric points[] = {
        {"loss", 1, 0.25}, {"acc", 1, 0.5}, {"f1", 1, 0.1}, {"f1.min", 1, 3}};
    const struct lake_job_metric more[] = {{"acc", 2, 0.75}, {"f1", 2, 0.2}, {"loss", 2, 0.125}};
    const char *tag[] = {"acc=0.99"}, *by_hand[] = {"f1=best"};
    struct err e = {0};

    keys_are(l, "job:4", "loss=mse top=5 ");
    CHECK(lake_job_tag(l, id, tag, 1, &e) == 0, "a printed tag %s", e.text);
    add(l, id, points, 4);
    tell(l, id);
    CHECK(lake_resolve(l, "job:4", LAKE_WRITE, &job, &e) == 0 &&
              lake_tag(l, &job, by_hand, 1, &e) == 0,
          "a tag by hand %s", e.text);
    add(l, id, more, 3);
    tell(l, id);
    keys_are(l, "job:4",
             "acc=0.99 acc.max=0.75 acc.min=0.5 acc.steps=2 f1=best f1.max=0.2 f1.min=3 "
             "f1.min.max=3 f1.min.min=3 f1.min.steps=1 f1.steps=2 loss=0.125 loss.max=0.25 "
             "loss.min=0.125 loss.steps=2 metric.acc=0.75 metric.f1=0.2 param.loss=mse top=5 ");
    found(l, "param.loss=mse metric.loss=0.125 loss<0.2 acc=0.99 metric.acc=0.75", NULL, "job:4 ");
}

/* The output has them when it is stored, and what is told later. */
static void outputs(struct scratch *s, struct lake *l)
{
    int64_t id = submit(l, (struct lake_job_request){.details = "{\"env\": {\"LR\": \"0.5\"}}",
                                                     .output = "Model"}); /* 5 */
    const struct lake_job_metric early = {"loss", 1, 0.5}, late = {"loss", 2, 0.25};
    struct lake_job_change end = {.id = id, .to = LAKE_JOB_FINISHED, .runtime_s = 1};
    const struct lake_find_options least = {.min = "loss"};
    struct err e = {0};

    local_text(s, "out/model", "weights");
    add(l, id, &early, 1);
    CHECK(lake_job_store(l, &end, local_path(s, "out"), NULL, &e) == 0 && end.applied, "stored %s",
          e.text);
    keys_are(l, "@Model:1", "LR=0.5 job=5 loss=0.5 loss.max=0.5 loss.min=0.5 loss.steps=1 ");
    found(l, "LR=0.5 loss=0.5 param.LR metric.loss", NULL, "@Model:1 job:5 ");
    add(l, id, &late, 1);
    tell(l, id);
    found(l, "kind=set LR=0.5 loss<0.4", NULL, "@Model:1 ");
    found(l, "kind=job LR=0.5 loss<0.4", &least, "job:5 ");
}

/* A job that ends tells by itself; whichever call fails, all or nothing. */
static void ends(struct scratch *s, struct lake *l)
{
    int64_t n, id = submit(l, (struct lake_job_request){0}); /* 6 */
    const struct lake_job_metric point = {"end", 1, 0.5};
    struct lake_job_change failed = {.id = id, .to = LAKE_JOB_FAILED, .runtime_s = 1};
    int torn = 0;
    struct err e = {0};

    add(l, id, &point, 1);
    for (n = 0; n < 200; n++) {
        s->calls_left = n;
        int result = lake_job_step(l, &failed, 1, &e);
        s->calls_left = -1;
        if (result == 0)
            break;
        torn += scratch_number(l, "SELECT count(*) FROM meta m JOIN meta_key k ON k.id = m.key"
                                  " WHERE k.name LIKE '%end%'") != 0;
    }
    CHECK(n > 3 && n < 200 && torn == 0 && failed.applied, "%lld calls, %s", (long long)n, e.text);
    found(l, "kind=job state=failed end=0.5", NULL, "job:6 ");
}

/* A tag that names a set is of the version that the job reads or makes. */
static void sets(struct scratch *s, struct lake *l)
{
    const char *a[] = {"/a"}, *b[] = {"/b"}, *mixed[] = {"@Data", "/b"}, *c[] = {"/c"};
    AUTO(lake) struct lake *bob = scratch_open_as(s, "default", "bob", false);
    struct lake_set set;
    struct err e = {0};

    scratch_fake(l, "/a", "a", &e);
    scratch_fake(l, "/b", "b", &e);
    scratch_fake(l, "/c", "c", &e);
    scratch_set(l, "Data", a, 1);
    CHECK(lake_set_create(l,
                          &(struct lake_set_request){.name = "Mixed", .refs = mixed, .n_refs = 2},
                          &set, &e) == 0,
          "a set of another one %s", e.text);
    scratch_set(l, "Code", c, 1);
    scratch_set(l, "Other", b, 1);
    int64_t id = submit(
        l, (struct lake_job_request){.input = "@Mixed", .code = "@Code", .output = "Made"}); /* 7 */
    scratch_set(l, "Data", b, 1); /* a newer version, which the job does not read */
    CHECK(lake_job_tag_set(l, id, "Made", "k=made", &e) == 0, "the output %s", e.text);
    CHECK(lake_job_tag_set(l, id, "Mixed", "k=mixed", &e) == 0, "the input %s", e.text);
    CHECK(lake_job_tag_set(l, id, "Data", "k=data", &e) == 0, "a part of the input %s", e.text);
    CHECK(lake_job_tag_set(l, id, "Code", "k=code", &e) == 0, "the code %s", e.text);
    CHECK(lake_job_tag_set(l, id, "Other", "k=other", &e) < 0 && e.kind == ERR_NOTFOUND, "%s",
          e.text);
    CHECK(lake_job_tag_set(l, id, "Nowhere", "k=other", &e) < 0 && e.kind == ERR_NOTFOUND, "%s",
          e.text);
    CHECK(lake_job_tag_set(bob, id, "Data", "k=bob", &e) < 0 && e.kind == ERR_DENIED, "%s", e.text);
    found(l, "k=made", NULL, "job:7 ");
    found(l, "k=mixed", NULL, "@Mixed:1 ");
    found(l, "k=data", NULL, "@Data:1 ");
    found(l, "k=code", NULL, "@Code:1 ");
    found(l, "k=other", NULL, "");

    /* With k, a set version that a job reads gets 1,000 tags and no further one. */
    char pair[32];
    bool fits = true;
    for (int i = 0; i < 999; i++) {
        snprintf(pair, sizeof pair, "t%d=x", i);
        fits = fits && lake_job_tag_set(l, id, "Code", pair, &e) == 0;
    }
    CHECK(fits, "1,000 tags of a set %s", e.text);
    CHECK(lake_job_tag_set(l, id, "Code", "t999=x", &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(lake_job_tag_set(l, id, "Code", "t5=again", &e) == 0, "a tag is replaced %s", e.text);
    found(l, "t999=x", NULL, "");
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    parameters(l);
    metrics(l);
    cheaply(&s, l);
    precedence(l);
    outputs(&s, l);
    ends(&s, l);
    sets(&s, l);
    scratch_clear(&s);
    return TAP_DONE();
}
