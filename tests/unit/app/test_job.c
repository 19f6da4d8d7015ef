/* Operations on jobs and profiles, called in a scratch home without a command line and without a
 * broker: jobs are made in the lake, and stay queued until they are killed. */
#include "app/job/batch.h"
#include "app/job/job.h"
#include "app/job/profile.h"
#include "app/job/resources.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "tap.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static struct app *app;
static char home[] = "/tmp/tradewind-test-job-XXXXXX";

/* ---- calling ---- */

/* The answer as a front door for programs has it. */
struct heard {
    const struct operation *op;
    json_t *head, *items;
};

static int hear_head(void *context, const void *record, struct err *e)
{
    struct heard *h = context;

    (void)e;
    h->head = record_encode(h->op->answer, record);
    return 0;
}

static int hear_item(void *context, const void *record, struct err *e)
{
    struct heard *h = context;

    (void)e;
    json_array_append_new(h->items, record_encode(h->op->item, record));
    return 0;
}

static void heard_clear(struct heard *h)
{
    json_decref(h->head);
    json_decref(h->items);
}

static int call_as(struct app *caller,
                   const char *name,
                   const char *request,
                   enum field_spelling spelling,
                   struct heard *out,
                   struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new((size_t)256 << 20);
    AUTO_JSON json_t *json = json_loads(request, 0, NULL);
    struct answer answer = {.arena = arena, .head = hear_head, .item = hear_item, .context = out};

    *e = (struct err){0};
    *out = (struct heard){.op = operation_find(name), .items = json_array()};
    return operation_call(caller, out->op, json, spelling, &answer, e);
}

static int call(const char *name, const char *request, struct heard *out, struct err *e)
{
    return call_as(app, name, request, FIELD_AS_NAME, out, e);
}

static void refused(const char *name, const char *request, enum err_kind kind, const char *text)
{
    AUTO_CLEAR(heard) struct heard h = {0};
    struct err e;

    CHECK(call(name, request, &h, &e) < 0 && e.kind == kind && strstr(e.text, text), "%s %s: %s",
          name, request, e.text);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static int64_t id_of(const json_t *items, size_t i)
{
    return json_integer_value(json_object_get(json_array_get(items, i), "id"));
}

/* ---- jobs ---- */

/* 1: "small" with 0.5 CPUs; 2: "large", whose command and name hold what JSON must escape. */
static void make_jobs(void)
{
    const char *const small[] = {"train.py", "--rate", "0.5"}, *const large[] = {"echo", "a \"b\""};
    const struct job_details details = {.on = "local",
                                        .stage = "fit",
                                        .git_commit = "abc",
                                        .git_dirty = true,
                                        .envs = &(struct spec_pair){.key = "K", .value = "V"},
                                        .n_envs = 1};
    struct err e = {0};
    AUTO_MEM char *text = job_details_text(&details, &e);
    const struct lake_job_request requests[] = {
        {.name = "small",
         .command = small,
         .n_command = 3,
         .cpus = 0.5,
         .memory_mb = 512,
         .run = 7,
         .details = text},
        {.name = "large",
         .command = large,
         .n_command = 2,
         .cpus = 2,
         .memory_mb = 2048,
         .time_limit_s = 60},
    };
    int64_t first = 0;

    CHECK(text && lake_job_submit(app_lake(app, &e), requests, 2, &first, &e) == 0 && first == 1,
          "two jobs are queued: %s", e.text);
    const struct lake_job_metric metrics[] = {{"loss", 1, 0.5}, {"loss", 2, 0.25}};
    CHECK(lake_job_add_metrics(app_lake(app, &e), 1, metrics, 2, &e) == 0, "with metrics: %s",
          e.text);
}

static void test_list(void)
{
    AUTO_CLEAR(heard) struct heard all = {0};
    AUTO_CLEAR(heard) struct heard one = {0};
    AUTO_CLEAR(heard) struct heard sorted = {0};
    struct err e;

    CHECK(call("job.list", "{}", &all, &e) == 0 && json_array_size(all.items) == 2 &&
              id_of(all.items, 0) == 2 && id_of(all.items, 1) == 1,
          "job.list: the newest first");
    CHECK(call("job.list", "{\"name\": \"small\", \"state\": \"queued,running\"}", &one, &e) == 0 &&
              json_array_size(one.items) == 1 && id_of(one.items, 0) == 1,
          "job.list: by name and state");
    CHECK(call("job.list", "{\"sort\": \"queued\", \"limit\": 1}", &sorted, &e) == 0 &&
              json_array_size(sorted.items) == 1,
          "job.list: a limit in another order");
    refused("job.list", "{\"all\": true, \"limit\": 3}", ERR_USAGE, "all and limit exclude");
    refused("job.list", "{\"state\": \"runing\"}", ERR_USAGE, "did you mean running?");
    refused("job.list", "{\"limit\": 0}", ERR_USAGE, "limit");
}

static void test_get(void)
{
    AUTO_CLEAR(heard) struct heard first = {0};
    AUTO_CLEAR(heard) struct heard second = {0};
    struct err e;

    CHECK(call("job.get", "{\"id\": 1}", &first, &e) == 0, "job.get: %s", e.text);
    const json_t *job = first.head;
    CHECK(json_integer_value(json_object_get(job, "id")) == 1 &&
              !strcmp(text_of(job, "state"), "queued") && !strcmp(text_of(job, "stage"), "fit") &&
              json_integer_value(json_object_get(job, "run")) == 7 &&
              json_integer_value(json_object_get(job, "memory_mb")) == 512,
          "job.get: the request");
    CHECK(json_is_null(json_object_get(job, "exit_code")) &&
              json_is_null(json_object_get(job, "started_at")) &&
              json_is_null(json_object_get(job, "time_limit_s")) &&
              json_is_null(json_object_get(job, "usage")) &&
              json_array_size(json_object_get(job, "warnings")) == 0,
          "job.get: what a queued job has not is null");
    CHECK(json_is_true(json_object_get(job, "dirty")) &&
              !strcmp(text_of(json_object_get(job, "env"), "K"), "V") &&
              json_real_value(json_object_get(json_object_get(job, "tags"), "rate")) == 0.5,
          "job.get: commit, environment and options of the command");
    CHECK(json_array_size(json_object_get(job, "transitions")) == 1 &&
              !strcmp(text_of(json_array_get(json_object_get(job, "transitions"), 0), "state"),
                      "queued"),
          "job.get: its states");
    CHECK(call("job.get", "{\"id\": 2}", &second, &e) == 0 &&
              json_number_value(json_object_get(second.head, "time_limit_s")) == 60 &&
              json_is_null(json_object_get(second.head, "dirty")) &&
              json_array_size(json_object_get(second.head, "command")) == 2,
          "job.get: another job");
    refused("job.get", "{\"id\": 9}", ERR_NOTFOUND, "the last one is job 2");
    refused("job.get", "{\"id\": \"seven\"}", ERR_USAGE,
            "id \"seven\": must be a number, as in 7 or job:7");
}

static void test_metrics_and_compare(void)
{
    AUTO_CLEAR(heard) struct heard points = {0};
    AUTO_CLEAR(heard) struct heard both = {0};
    AUTO_CLEAR(heard) struct heard none = {0};
    struct err e;

    CHECK(call("job.metrics", "{\"id\": 1, \"name\": \"loss\"}", &points, &e) == 0 &&
              json_array_size(points.items) == 2 &&
              json_number_value(json_object_get(json_array_get(points.items, 1), "value")) == 0.25,
          "job.metrics: step by step");
    CHECK(call("job.metrics", "{\"id\": 2, \"node\": true}", &none, &e) == 0 &&
              json_array_size(none.items) == 0,
          "job.metrics: a machine without samples");
    CHECK(call("job.compare", "{\"ids\": [2, 1]}", &both, &e) == 0 && id_of(both.items, 0) == 2 &&
              id_of(both.items, 1) == 1,
          "job.compare: in the order of the request");
    const json_t *first = json_array_get(both.items, 1);
    CHECK(json_number_value(json_object_get(json_object_get(first, "metrics"), "loss")) == 0.25 &&
              !json_object_get(first, "transitions"),
          "job.compare: with the last value of a metric");
    refused("job.compare", "{\"ids\": [1, 9]}", ERR_NOTFOUND, "no job 9");
}

static void test_kill(void)
{
    AUTO_CLEAR(heard) struct heard first = {0};
    AUTO_CLEAR(heard) struct heard again = {0};
    AUTO_CLEAR(heard) struct heard denied = {0};
    AUTO(app)
    struct app *viewer = app_new(&(struct app_options){.home = home, .role = APP_VIEWER});
    struct err e;

    CHECK(call_as(viewer, "job.kill", "{\"ids\": [1]}", FIELD_AS_NAME, &denied, &e) < 0 &&
              e.kind == ERR_DENIED,
          "job.kill: a viewer may not: %s", e.text);
    refused("job.kill", "{\"ids\": [1, 9]}", ERR_NOTFOUND, "no job 9");
    CHECK(call("job.kill", "{\"ids\": [1], \"reason\": \"wrong input\"}", &first, &e) == 0 &&
              !strcmp(text_of(json_array_get(first.items, 0), "state"), "killed") &&
              json_is_false(json_object_get(json_array_get(first.items, 0), "was_over")),
          "job.kill: a queued job is killed at once: %s", e.text);
    CHECK(call("job.kill", "{\"ids\": [1]}", &again, &e) == 0 &&
              json_is_true(json_object_get(json_array_get(again.items, 0), "was_over")),
          "job.kill: repeatable");
}

static int take_bytes(void *context, const char *bytes, size_t n, struct err *e)
{
    (void)e;
    buf_add(context, bytes, n);
    return 0;
}

static void test_logs(void)
{
    AUTO_CLEAR(buf) struct buf heard;
    AUTO_MEM char *dir = mem_printf("%s/jobs/1", home);
    AUTO_MEM char *path = mem_printf("%s/log", dir);
    struct err e = {0};
    struct app_job_logs request = {.id = 1, .take = take_bytes, .context = &heard, .tail = 2};

    buf_init(&heard, 1000);
    CHECK(app_job_logs(app, &request, &e) == 1 && heard.len == 0,
          "logs: a job that never ran has none");
    FILE *log = file_make_dirs(dir, 0700, &e) == 0 ? fopen(path, "we") : NULL;
    CHECK(log && fputs("one\ntwo\nthree\n", log) >= 0 && fclose(log) == 0, "a log");
    CHECK(app_job_logs(app, &request, &e) == 1 && !strcmp(buf_str(&heard), "two\nthree\n"),
          "logs: the last two lines");
    request.follow = true;
    request.tail = 0;
    CHECK(app_job_logs(app, &request, &e) == 1 && !strcmp(buf_str(&heard), "two\nthree\n"),
          "logs: following a job that is over ends");
}

/* ---- submitting ---- */

static void test_submit(void)
{
    AUTO_CLEAR(heard) struct heard h = {0};
    struct err e;

    refused("job.submit", "{}", ERR_USAGE, "command: is missing");
    refused("job.submit", "{\"command\": [\"true\"], \"cpus\": 0.3}", ERR_USAGE,
            "cpus 0.3: CPUs come in halves");
    refused("job.submit", "{\"command\": [\"true\"], \"memory\": \"300\"}", ERR_USAGE,
            "steps of 256 MB");
    refused("job.submit", "{\"command\": [\"true\"], \"env\": [\"A\"]}", ERR_USAGE,
            "env: \"A\" is not NAME=VALUE");
    refused("job.submit", "{\"command\": [\"true\"], \"on\": \"loca\"}", ERR_USAGE,
            "did you mean local?");
    refused("job.submit", "{\"command\": [\"true\"], \"input\": \"@none\"}", ERR_NOTFOUND,
            "input: there is no set @none");
    refused("job.submit", "{\"command\": [\"true\"], \"continue\": 2}", ERR_USAGE,
            "is not over yet");
    refused("job.submit", "{\"command\": [\"true\"], \"continue\": 1}", ERR_USAGE,
            "never had a checkpoint");
    CHECK(call_as(app, "job.submit", "{\"command\": [\"true\"], \"time_limit_s\": 0}",
                  FIELD_AS_OPTION, &h, &e) < 0 &&
              strstr(e.text, "--time-limit: must be more than 0"),
          "job.submit: a caller that typed options reads options: %s", e.text);
    refused("sweep.start", "{\"name\": \"s\", \"command\": [\"true\"]}", ERR_USAGE, "no list");
}

/* ---- profiles ---- */

static void test_profiles(void)
{
    AUTO_CLEAR(heard) struct heard none = {0};
    AUTO_CLEAR(heard) struct heard one = {0};
    const char *const words[] = {"train.py", "--epoch", "{1,2}"};
    double cpus = 1, memory_mb = 512;
    const struct profile_sizes all_cpus = {&cpus, 1}, all_memory = {&memory_mb, 1};
    struct err e;

    CHECK(call("profile.list", "{}", &none, &e) == 0 && json_array_size(none.items) == 0,
          "profile.list: none");
    refused("profile.get", "{\"name\": \"mnist\"}", ERR_NOTFOUND, "mnist");
    AUTO(template) struct template *template = template_new(words, 3, &e);
    int lock = broker_profile_lock(home, &e);
    CHECK(lock >= 0 &&
              broker_profile_extend(home, "mnist", template, &all_cpus, &all_memory, &e) == 0,
          "a profile");
    close(lock);
    CHECK(call("profile.get", "{\"name\": \"mnist\"}", &one, &e) == 0 &&
              !strcmp(text_of(one.head, "template"), "train.py --epoch '{1,2}'") &&
              json_is_null(json_object_get(one.head, "model")) &&
              json_integer_value(json_object_get(one.head, "runs")) == 0,
          "profile.get: nothing learned yet: %s", e.text);
    refused("profile.fit", "{\"name\": \"mnist\"}", ERR_NOFIT, "");
    refused("profile.predict", "{\"name\": \"mnist\", \"values\": [\"7\"]}", ERR_USAGE,
            "values: \"7\" is not KEY=VALUE");
    refused("profile.run", "{\"name\": \"mnist\", \"cpus\": \"1,x\"}", ERR_USAGE,
            "cpus: \"1,x\" is not a list of numbers");
    refused("autoprovision.plan", "{\"name\": \"mnist\"}", ERR_USAGE, "either max_cost");
}

static void test_settings(void)
{
    AUTO(arena) struct arena *arena = arena_new(1 << 20);
    const char *const texts[] = {"epoch=20,rate=1,2", "mode=a=b"};
    struct app_profile_settings s = {0};
    struct err e = {0};

    CHECK(app_profile_settings_read(&s, &(struct field_list){texts, 1},
                                    &(struct field_list){texts + 1, 1},
                                    &(struct answer){.arena = arena}, &e) == 0 &&
              s.n == 3 && !strcmp(s.items[0].value, "20") && !strcmp(s.items[1].key, "rate") &&
              !strcmp(s.items[1].value, "1,2") && !strcmp(s.items[2].value, "a=b"),
          "a comma separates settings where KEY= follows");
}

static void test_resources(void)
{
    static const struct {
        const char *text;
        uint64_t mb; /* 0 = refused */
    } sizes[] = {{"512", 512}, {"512MB", 512}, {"2GB", 2048}, {"1.5 gb", 1536}, {"1T", 1048576},
                 {"300", 0},   {"0", 0},       {"lots", 0},   {"1e12GB", 0}};
    struct err e = {0};
    char text[32];

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t mb = 0;
        CHECK(app_job_read_memory(sizes[i].text, &mb, &e) == (sizes[i].mb ? 0 : -1) &&
                  mb == sizes[i].mb,
              "memory %s", sizes[i].text);
    }
    CHECK(app_job_check_cpus(1.5, &e) == 0 && app_job_check_cpus(0.3, &e) < 0 &&
              app_job_check_cpus((double)NAN, &e) < 0 && app_job_check_cpus(1e9, &e) < 0,
          "CPUs come in halves");
    CHECK(!strcmp(app_job_memory_text(1536, text), "1.5 GB") &&
              !strcmp(app_job_memory_text(512, text), "512 MB"),
          "memory for people");
    CHECK(app_job_check_local(&(struct lake_job_request){.cpus = 4096}, &e) < 0 &&
              e.kind == ERR_NOFIT,
          "more than this machine has");
}

/* '{1,11}{1,11}' makes 111 twice. */
static void test_batch(void)
{
    AUTO_CLEAR(app_job_batch) struct app_job_batch batch = {0};
    const char *const words[] = {"x", "{1,11}{1,11}"};
    double cpus[] = {0.5, 1}, memory_mb = 512;
    struct err e = {0};
    AUTO(template) struct template *template = template_new(words, 2, &e);

    CHECK(app_job_batch_init(&batch, "sweep", "s", template, &(struct profile_sizes){cpus, 2},
                             &(struct profile_sizes){&memory_mb, 1}, &e) == 0 &&
              batch.n == 6 && !strcmp(batch.tag, "sweep=s"),
          "a batch of 2 sizes and 3 different commands");
    CHECK(app_job_batch_look(&batch, app_lake(app, &e), &e) == 0 && app_job_batch_over(&batch) == 0,
          "none of whose jobs exists");
}

int main(void)
{
    struct err e = {0};

    if (!mkdtemp(home))
        return EXIT_FAILURE;
    /* An admin makes the project. */
    AUTO(app) struct app *admin = app_new(&(struct app_options){.home = home, .role = APP_ADMIN});
    if (!app_lake(admin, &e))
        printf("# %s\n", e.text);
    app = app_new(&(struct app_options){.home = home, .role = APP_MEMBER});
    if (!app_lake(app, &e)) {
        CHECK(false, "open the lake: %s", e.text);
        return TAP_DONE();
    }
    make_jobs();
    test_list();
    test_get();
    test_metrics_and_compare();
    test_kill();
    test_logs();
    test_submit();
    test_profiles();
    test_settings();
    test_resources();
    test_batch();
    app_free(app);
    file_remove_tree(home);
    return TAP_DONE();
}
