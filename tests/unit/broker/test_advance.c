#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/details.h"
#include "broker/pipeline/advance.h"
#include "lake/core/files.h"
#include "lake/job/job.h"
#include "lake/set/graph.h"
#include "tap.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Stages a -> b, c -> d; e stands alone. The jobs' ends are played. */
enum { A, B, C, D, E, N };

struct world {
    char home[32];
    char url[64];
    struct lake *lake;
    struct runs *runs;
    int64_t run;
};

static void must(int result, const struct err *e)
{
    if (result < 0) {
        printf("Bail out! %s\n", e->text);
        exit(1);
    }
}

static void world_open(struct world *w)
{
    struct err e = {0};

    snprintf(w->home, sizeof w->home, "/tmp/advance-XXXXXX");
    if (!mkdtemp(w->home))
        exit(1);
    snprintf(w->url, sizeof w->url, "dir:%s/objects", w->home);
    w->lake = lake_open(
        &(struct lake_options){.home = w->home,
                               .store = {.url = w->url, .path_style = -1, .seed = 1},
                               .caller = {.project = "default", .user = "ann", .admin = true}},
        &e);
    must(w->lake ? 0 : -1, &e);
    w->runs = runs_open(w->home, &e);
    must(w->runs ? 0 : -1, &e);
}

static void world_close(struct world *w)
{
    runs_free(w->runs);
    lake_free(w->lake);
    file_remove_tree(w->home);
}

static const char *const command[] = {"bash", "-c", "work"};
static const char *const outputs[] = {"out"};

static struct run_stage stage(const char *name,
                              const size_t *needs,
                              size_t n_needs,
                              const struct run_input *inputs,
                              size_t n_inputs)
{
    return (struct run_stage){.plan = {.name = name,
                                       .needs = needs,
                                       .n_needs = n_needs,
                                       .command = command,
                                       .n_command = 3,
                                       .inputs = inputs,
                                       .n_inputs = n_inputs,
                                       .outputs = outputs,
                                       .n_outputs = 1,
                                       .cpus = 1,
                                       .memory_mb = 256,
                                       .note = "",
                                       .place = "aws/us-east-1",
                                       .instance_type = "m5.large",
                                       .nodes = 1,
                                       .price_usd_per_hour = 0.096,
                                       .planned_s = 60,
                                       .planned_microusd = 1600}};
}

static int64_t begin(struct world *w, bool no_cache)
{
    static const size_t from_a[] = {A}, from_bc[] = {B, C};
    static const struct run_input of_a[] = {{.stage = A, .output = "out"}};
    static const struct run_input of_bc[] = {{.stage = B, .output = "out"},
                                             {.stage = C, .output = ""}};
    struct run_stage stages[N] = {
        [A] = stage("a", NULL, 0, NULL, 0),   [B] = stage("b", from_a, 1, of_a, 1),
        [C] = stage("c", from_a, 1, of_a, 1), [D] = stage("d", from_bc, 2, of_bc, 2),
        [E] = stage("e", NULL, 0, NULL, 0),
    };
    static const char *const sets[] = {"p.a", "p.b", "p.c", "p.d", "p.e"};
    struct run run = {.name = "p",
                      .file = "p.yaml",
                      .user = "ann",
                      .on = "local",
                      .no_cache = no_cache,
                      .planned_s = 180,
                      .planned_microusd = 8000,
                      .stages = stages,
                      .n_stages = N};
    struct err e = {0};

    for (size_t i = 0; i < N; i++)
        stages[i].plan.output = sets[i];
    must(runs_add(w->runs, &run, &e), &e);
    w->run = run.id;
    return run.id;
}

static bool advance(struct world *w)
{
    struct err e = {0};
    bool jobs = false;

    must(advance_runs(w->runs, w->lake, &jobs, &e), &e);
    return jobs;
}

/* By enum run_state: going, finished, failed, stopped. */
static const char run_letters[] = {0, 'g', 'f', 'f', 's'};

/* "FGWWW": the states of all stages by their first letters, and then the run's. */
static const char *states(struct world *w, char out[static N + 2])
{
    AUTO_CLEAR(run) struct run r = {0};
    struct err e = {0};

    must(runs_get(w->runs, w->run, &r, &e), &e);
    for (size_t i = 0; i < N; i++) {
        static const char letters[] = {0, 'w', 'g', 'f', 'r', 'x', 's', 'k'};
        out[i] = letters[r.stages[i].state];
    }
    out[N] = run_letters[r.state];
    out[N + 1] = '\0';
    return out;
}

static int64_t job_of(struct world *w, size_t i)
{
    AUTO_CLEAR(run) struct run r = {0};
    struct err e = {0};

    must(runs_get(w->runs, w->run, &r, &e), &e);
    return r.stages[i].job;
}

/* As the broker would, with one file of that text in its output. */
static void play_job(struct world *w, int64_t job, enum lake_job_state end, const char *text)
{
    struct lake_job_change changes[] = {
        {.to = LAKE_JOB_LAUNCHING, .reason = "", .runtime_s = -1},
        {.to = LAKE_JOB_FETCHING, .reason = "", .runtime_s = -1},
        {.to = LAKE_JOB_RUNNING, .reason = "", .runtime_s = -1},
        {.to = end == LAKE_JOB_FINISHED ? LAKE_JOB_STORING : end,
         .reason = "it broke",
         .runtime_s = 2},
    };
    struct lake_job_change last = {.to = LAKE_JOB_FINISHED, .reason = "", .runtime_s = -1};
    AUTO_MEM char *directory = mem_printf("%s/made", w->home);
    AUTO_MEM char *file = mem_printf("%s/out/x", directory);
    AUTO_MEM char *inner = mem_printf("%s/out", directory);
    struct err e = {0};

    for (size_t k = 0; k < 4; k++)
        changes[k].id = job;
    last.id = changes[0].id;
    must(lake_job_step(w->lake, changes, 4, &e), &e);
    if (end != LAKE_JOB_FINISHED)
        return;
    if (!text) { /* it has no output */
        must(lake_job_step(w->lake, &last, 1, &e), &e);
        return;
    }
    must(file_make_dirs(inner, 0755, &e), &e);
    must(file_replace(file, text, strlen(text), 0644, &e), &e);
    must(lake_job_store(w->lake, &last, directory, NULL, &e), &e);
    file_remove_tree(directory);
}

static void play(struct world *w, size_t i, enum lake_job_state end, const char *text)
{
    play_job(w, job_of(w, i), end, text);
}

static void test_diamond(struct world *w)
{
    char now[N + 2];

    begin(w, false);
    CHECK(advance(w), "stages without needs become jobs");
    CHECK(!strcmp(states(w, now), "gwwwgg"), "and the others wait: %s", now);
    CHECK(!advance(w) && !strcmp(states(w, now), "gwwwgg"), "looking again does nothing");
    play(w, A, LAKE_JOB_FINISHED, "of a");
    CHECK(advance(w) && !strcmp(states(w, now), "fggwgg"), "both that need it follow: %s", now);
    play(w, B, LAKE_JOB_FINISHED, "of b");
    CHECK(!advance(w) && !strcmp(states(w, now), "ffgwgg"), "one of two needs is not enough: %s",
          now);
    play(w, C, LAKE_JOB_FINISHED, "of c");
    play(w, E, LAKE_JOB_FINISHED, "of e");
    CHECK(advance(w) && !strcmp(states(w, now), "fffgfg"), "both are: %s", now);
    play(w, D, LAKE_JOB_FINISHED, "of d");
    advance(w);
    CHECK(!strcmp(states(w, now), "ffffff"), "all finished, and so is the run: %s", now);
}

static int count_back(struct world *w, const char *ref)
{
    AUTO_CLEAR(lake_ref) struct lake_ref r = {0};
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    struct err e = {0};

    must(lake_resolve(w->lake, ref, LAKE_READ, &r, &e), &e);
    must(lake_trace(w->lake, &r, LAKE_BACK, 0, &g, &e), &e);
    return (int)g.n_nodes;
}

struct counting {
    size_t n;
    bool b, c;
};

static int count_file(void *context, const struct lake_entry *entry, struct err *e)
{
    struct counting *counted = context;

    (void)e;
    counted->n++;
    counted->b = counted->b || !strcmp(entry->path, "/p.b/out/x");
    counted->c = counted->c || !strcmp(entry->path, "/p.c/out/x");
    return 0;
}

static void test_provenance(struct world *w)
{
    AUTO_CLEAR(lake_ref) struct lake_ref r = {0};
    struct counting counted = {0};
    struct err e = {0};

    /* d, its input; b, c, their inputs; a. */
    CHECK(count_back(w, "@p.d") == 7, "the last output is traced to the first");
    must(lake_resolve(w->lake, "@p.d.input", LAKE_READ, &r, &e), &e);
    must(lake_every_file(w->lake, &r, count_file, &counted, &e), &e);
    CHECK(counted.n == 2 && counted.b && counted.c, "its input was what b and c made");
}

static void test_reuse(struct world *w)
{
    char now[N + 2];

    begin(w, false);
    CHECK(!advance(w), "nothing changed: no job is needed");
    CHECK(!strcmp(states(w, now), "rrrrrf"), "every stage is taken over: %s", now);
    begin(w, true);
    CHECK(advance(w) && !strcmp(states(w, now), "gwwwgg"), "without the cache they run: %s", now);
    play(w, A, LAKE_JOB_FINISHED, "another a");
    CHECK(advance(w) && !strcmp(states(w, now), "fggwgg"), "all of them: %s", now);
    play(w, B, LAKE_JOB_FAILED, NULL);
    play(w, C, LAKE_JOB_FINISHED, "of c");
    play(w, E, LAKE_JOB_FINISHED, "of e");
    advance(w);
    CHECK(!strcmp(states(w, now), "fxfsff"),
          "a failed stage takes with it what needs it, nothing else: %s", now);
}

static void test_resume(struct world *w)
{
    char now[N + 2];

    begin(w, false);
    CHECK(advance(w), "the failed stage is run again");
    CHECK(!strcmp(states(w, now), "rgrwrg"), "and what finished before is not: %s", now);
    play(w, B, LAKE_JOB_FINISHED, "of b at last");
    advance(w);
    CHECK(!strcmp(states(w, now), "rfrgrg"), "the rest goes on: %s", now);
    play(w, D, LAKE_JOB_FINISHED, "of d");
    advance(w);
    CHECK(!strcmp(states(w, now), "rfrfrf"), "to the end: %s", now);
}

static void test_stop(struct world *w)
{
    char now[N + 2];
    struct err e = {0};
    unsigned how;

    begin(w, true);
    advance(w);
    play(w, E, LAKE_JOB_FINISHED, "of e");
    must(runs_ask_stop(w->runs, w->run, 1, &e), &e);
    advance(w);
    CHECK(!strcmp(states(w, now), "kkkkfs"),
          "what is finished stays, a job that waits is killed, nothing else starts: %s", now);
    must(runs_ask_stop(w->runs, w->run, 2, &e), &e);
    must(runs_stop_asked(w->runs, w->run, &how, &e), &e);
    CHECK(how == 1, "a run that is over takes no more orders");
}

/* Killed between the job and the note of it: the job is found, not submitted twice. */
static void test_lost_note(struct world *w)
{
    char now[N + 2];
    struct err e = {0};

    begin(w, true);
    advance(w);
    int64_t job = job_of(w, A);
    must(runs_set_stage(w->runs, w->run, A, STAGE_WAITING, 0, "", &e), &e);
    CHECK(!advance(w), "no second job is made");
    CHECK(job_of(w, A) == job, "the first one is found");
    CHECK(!strcmp(states(w, now), "gwwwgg"), "and the run goes on: %s", now);
}

static struct job_details details_of(struct world *w, int64_t job)
{
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct job_details d = {0};
    struct lake_job record;
    struct err e = {0};

    must(lake_job_load(w->lake, job, arena, &record, &e), &e);
    must(job_details_parse(record.asked.details, &d, &e), &e);
    return d;
}

static const char *reason_of(struct world *w, size_t i, char out[static 200])
{
    AUTO_CLEAR(run) struct run r = {0};
    struct err e = {0};

    must(runs_get(w->runs, w->run, &r, &e), &e);
    snprintf(out, 200, "%u: %s", r.stages[i].attempts, r.stages[i].reason);
    return out;
}

/* A machine is gone, three times; what fails by itself is not tried again. */
static void test_retry(struct world *w)
{
    char now[N + 2], why[200];
    struct err e = {0};

    begin(w, true);
    advance(w);
    int64_t first = job_of(w, A);
    play(w, A, LAKE_JOB_LOST, NULL);
    CHECK(advance(w) && !strcmp(states(w, now), "gwwwgg"), "a lost job is followed by another: %s",
          now);
    int64_t second = job_of(w, A);
    AUTO_CLEAR(job_details) struct job_details d = details_of(w, second);
    CHECK(second > first && d.continues == first, "which begins with its checkpoint");
    AUTO_MEM char *said =
        mem_printf("2: attempt 2 of 3: job %lld was lost: it broke", (long long)first);
    CHECK(!strcmp(reason_of(w, A, why), said), "and says so: %s", why);
    must(runs_set_stage(w->runs, w->run, A, STAGE_WAITING, first, "lost", &e), &e);
    CHECK(!advance(w) && job_of(w, A) == second, "killed before the note of it, it is found");

    begin(w, true);
    advance(w);
    for (int i = 0; i < 3; i++) {
        CHECK(!strcmp(states(w, now), "gwwwgg"), "attempt %d", i + 1);
        play(w, A, LAKE_JOB_LOST, NULL);
        advance(w);
    }
    CHECK(!strcmp(states(w, now), "xsssgg"), "three are enough: %s", now);
    CHECK(!strcmp(reason_of(w, A, why), "3: lost 3 times, the last time: it broke"), "%s", why);
    play(w, E, LAKE_JOB_FAILED, NULL);
    advance(w);
    CHECK(!strcmp(states(w, now), "xsssxf"), "what failed by itself has failed: %s", now);
}

/* ---- gangs ---- */

static int64_t begin_gang_on(struct world *w, const char *on, unsigned nodes, bool no_cache)
{
    struct run_stage one = stage("g", NULL, 0, NULL, 0);
    struct run run = {.name = "q",
                      .file = "q.yaml",
                      .user = "ann",
                      .on = on,
                      .no_cache = no_cache,
                      .stages = &one,
                      .n_stages = 1};
    struct err e = {0};

    one.plan.output = "q.g";
    one.plan.nodes = nodes;
    must(runs_add(w->runs, &run, &e), &e);
    w->run = run.id;
    advance(w);
    return job_of(w, 0);
}

static int64_t begin_gang(struct world *w, unsigned nodes, bool no_cache)
{
    return begin_gang_on(w, "local", nodes, no_cache);
}

static enum run_stage_state gang_state(struct world *w, char why[static 200])
{
    AUTO_CLEAR(run) struct run r = {0};
    struct err e = {0};

    must(runs_get(w->runs, w->run, &r, &e), &e);
    reason_of(w, 0, why);
    return r.stages[0].state;
}

static const char *job_state(struct world *w, int64_t job)
{
    struct lake_job record;
    struct err e = {0};

    must(lake_job_load(w->lake, job, NULL, &record, &e), &e);
    return lake_job_state_text(record.state);
}

static const char *env_of(const struct job_details *d, const char *key)
{
    for (size_t i = 0; i < d->n_envs; i++)
        if (!strcmp(d->envs[i].key, key))
            return d->envs[i].value;
    return "";
}

static void test_gang_on_hosts(struct world *w)
{
    AUTO_CLEAR(job_details) struct job_details d = details_of(w, begin_gang_on(w, "lab", 2, true));

    CHECK(!strcmp(env_of(&d, "SKYPILOT_NUM_NODES"), "2") && !*env_of(&d, "SKYPILOT_NODE_IPS"),
          "addresses of hosts are not known before the start");
    CHECK(advance_env_is_own("SKYPILOT_NODE_IPS") && advance_env_is_own("TRADEWIND_X") &&
              !advance_env_is_own("SKYPILOT_OTHER") && !advance_env_is_own("PATH"),
          "variables that we set are known as ours");
}

static void test_gang(struct world *w)
{
    char why[200];
    int64_t first = begin_gang(w, 3, true);
    AUTO_CLEAR(job_details) struct job_details d = details_of(w, first + 2);
    AUTO_MEM char *name = mem_printf("%lld.g.1", (long long)w->run);

    CHECK(!strcmp(d.gang, name) && d.rank == 2 && d.nodes == 3, "three nodes are three jobs: %s",
          d.gang);
    CHECK(!strcmp(env_of(&d, "SKYPILOT_NODE_RANK"), "2") &&
              !strcmp(env_of(&d, "SKYPILOT_NUM_NODES"), "3") &&
              !strcmp(env_of(&d, "SKYPILOT_NODE_IPS"), "127.0.0.1\n127.0.0.1\n127.0.0.1"),
          "each knows its place");
    CHECK(d.price_usd_per_hour == 0.032, "and pays its share: a third of 0.096");
    play_job(w, first, LAKE_JOB_FINISHED, "of rank 0");
    play_job(w, first + 1, LAKE_JOB_FINISHED, NULL);
    advance(w);
    CHECK(gang_state(w, why) == STAGE_GOING, "it goes on until the last node has finished");
    play_job(w, first + 2, LAKE_JOB_FAILED, NULL);
    advance(w);
    CHECK(gang_state(w, why) == STAGE_FAILED && !strcmp(why, "1: rank 2 failed: it broke"),
          "one that fails fails it: %s", why);
    int64_t next = begin_gang(w, 3, false);
    CHECK(next > first + 2, "what part of a gang made is taken over by nobody");
    for (int i = 0; i < 3; i++)
        play_job(w, next + i, LAKE_JOB_FINISHED, i ? NULL : "of rank 0");
    advance(w);
    CHECK(gang_state(w, why) == STAGE_FINISHED, "all finished: %s", why);
    begin_gang(w, 3, false);
    CHECK(gang_state(w, why) == STAGE_REUSED, "what a whole gang made is");
}

/* A server and workers. */
static int64_t begin_cluster(struct world *w, unsigned workers, bool elastic)
{
    struct run_stage one = stage("g", NULL, 0, NULL, 0);
    struct run run = {.name = "q",
                      .file = "q.yaml",
                      .user = "ann",
                      .on = "local",
                      .no_cache = true,
                      .stages = &one,
                      .n_stages = 1};
    struct err e = {0};

    one.plan.output = "q.g";
    one.plan.nodes = 1 + workers;
    one.plan.servers = 1;
    one.plan.price_usd_per_hour = 0.7;
    one.plan.server_usd_per_hour = 0.1;
    one.plan.elastic = elastic;
    must(runs_add(w->runs, &run, &e), &e);
    w->run = run.id;
    advance(w);
    return job_of(w, 0);
}

static void test_cluster(struct world *w)
{
    char why[200];
    int64_t first = begin_cluster(w, 3, true);
    AUTO_CLEAR(job_details) struct job_details server = details_of(w, first);
    AUTO_CLEAR(job_details) struct job_details worker = details_of(w, first + 3);

    CHECK(server.servers == 1 && server.elastic && worker.servers == 1 && worker.rank == 3,
          "each job of a cluster knows who serves");
    CHECK(fabs(server.price_usd_per_hour - 0.1) < 1e-12 &&
              fabs(worker.price_usd_per_hour - 0.2) < 1e-12,
          "the server has its price, the workers share the rest");
    play_job(w, first + 2, LAKE_JOB_FAILED, NULL);
    advance(w);
    CHECK(gang_state(w, why) == STAGE_GOING && strcmp(job_state(w, first + 1), "killed") != 0,
          "elastic: a worker that fails leaves the others going");
    play_job(w, first + 1, LAKE_JOB_FINISHED, NULL);
    play_job(w, first + 3, LAKE_JOB_LOST, NULL);
    play_job(w, first, LAKE_JOB_FINISHED, "of the server");
    advance(w);
    CHECK(gang_state(w, why) == STAGE_FINISHED &&
              !strcmp(why, "1: continued without 2 of its workers; rank 2: it broke"),
          "and it finishes: %s", why);

    first = begin_cluster(w, 2, true);
    play_job(w, first + 1, LAKE_JOB_FAILED, NULL);
    play_job(w, first + 2, LAKE_JOB_FAILED, NULL);
    advance(w);
    CHECK(gang_state(w, why) == STAGE_FAILED && !strcmp(why, "1: rank 1 failed: it broke"),
          "with no worker left it has failed: %s", why);

    first = begin_cluster(w, 2, true);
    play_job(w, first, LAKE_JOB_FAILED, NULL);
    advance(w);
    CHECK(gang_state(w, why) == STAGE_FAILED && !strcmp(why, "1: rank 0 failed: it broke"),
          "nothing goes on without the server: %s", why);

    first = begin_cluster(w, 2, false);
    play_job(w, first + 2, LAKE_JOB_FAILED, NULL);
    advance(w);
    CHECK(gang_state(w, why) == STAGE_FAILED && !strcmp(why, "1: rank 2 failed: it broke"),
          "not elastic: one that fails fails all: %s", why);
}

/* Stopped, a worker goes first, and the server fails for want of it. */
static void test_cluster_stopped(struct world *w)
{
    char why[200];
    int64_t first = begin_cluster(w, 1, false);
    struct err e = {0};

    must(runs_ask_stop_for(w->runs, w->run, "enough", &e), &e);
    play_job(w, first + 1, LAKE_JOB_KILLED, NULL);
    play_job(w, first, LAKE_JOB_FAILED, NULL);
    advance(w);
    CHECK(gang_state(w, why) == STAGE_STOPPED && !strcmp(why, "1: enough"),
          "a cluster that is stopped has not failed: %s", why);
}

/* One that never ran has kept the others from beginning. */
static void test_cluster_stuck(struct world *w)
{
    char why[200];
    int64_t first = begin_cluster(w, 2, true);
    struct lake_job_change refused = {
        .id = first + 1, .to = LAKE_JOB_FAILED, .reason = "no input", .runtime_s = -1};
    struct err e = {0};

    must(lake_job_step(w->lake, &refused, 1, &e), &e);
    advance(w);
    CHECK(gang_state(w, why) == STAGE_FAILED && !strcmp(why, "1: rank 1 failed: no input"),
          "elastic: a worker that could not begin ends all: %s", why);
}

/* The jobs that are not over are asked to end, and a lost node begins all of them again. */
static void test_gang_lost(struct world *w)
{
    char why[200];
    int64_t first = begin_gang(w, 2, true);

    play_job(w, first + 1, LAKE_JOB_LOST, NULL);
    advance(w); /* the other still stood in the queue: it is killed at once */
    int64_t next = job_of(w, 0);
    CHECK(gang_state(w, why) == STAGE_GOING && next == first + 2, "a lost node: all begin again");
    AUTO_CLEAR(job_details) struct job_details d = details_of(w, next + 1);
    AUTO_MEM char *name = mem_printf("%lld.g.2", (long long)w->run);
    CHECK(d.continues == first + 1 && !strcmp(d.gang, name), "each from its own checkpoint");
    CHECK(strstr(why, "rank 1 was lost: it broke"), "and it is said why: %s", why);
}

/* Two that work, and one that serves them, on hosts of its own. */
enum { SERVICE, WORK_1, WORK_2, SERVED };

static void begin_served(struct world *w)
{
    struct run_stage stages[SERVED] = {
        [SERVICE] = stage("service", NULL, 0, NULL, 0),
        [WORK_1] = stage("one", NULL, 0, NULL, 0),
        [WORK_2] = stage("two", NULL, 0, NULL, 0),
    };
    struct run run = {.name = "served",
                      .file = "s.yaml",
                      .user = "ann",
                      .on = "lab",
                      .no_cache = true,
                      .stages = stages,
                      .n_stages = SERVED};
    struct err e = {0};

    stages[SERVICE].plan.serves = true;
    stages[SERVICE].plan.on = "local";
    must(runs_add(w->runs, &run, &e), &e);
    w->run = run.id;
    advance(w);
}

static const char *served_states(struct world *w, char out[static SERVED + 2])
{
    static const char letters[] = {0, 'w', 'g', 'f', 'r', 'x', 's', 'k'};
    AUTO_CLEAR(run) struct run r = {0};
    struct err e = {0};

    must(runs_get(w->runs, w->run, &r, &e), &e);
    for (size_t i = 0; i < SERVED; i++)
        out[i] = letters[r.stages[i].state];
    out[SERVED] = run_letters[r.state];
    out[SERVED + 1] = '\0';
    return out;
}

static void test_service(struct world *w)
{
    char now[SERVED + 2], why[200];

    begin_served(w);
    CHECK(!strcmp(served_states(w, now), "gggg"), "all begin at once: %s", now);
    AUTO_CLEAR(job_details) struct job_details its = details_of(w, job_of(w, SERVICE));
    AUTO_CLEAR(job_details) struct job_details other = details_of(w, job_of(w, WORK_1));
    CHECK(!strcmp(its.on, "local") && !strcmp(other.on, "lab"), "each where it is to be");
    play(w, WORK_1, LAKE_JOB_FINISHED, NULL);
    advance(w);
    CHECK(!strcmp(served_states(w, now), "gfgg"), "it serves as long as one is not over: %s", now);
    play(w, WORK_2, LAKE_JOB_FINISHED, NULL);
    advance(w); /* asks it to end, which a queued job does at once */
    advance(w);
    CHECK(!strcmp(served_states(w, now), "ffff"), "then it is ended, and all is well: %s", now);

    begin_served(w);
    play(w, WORK_2, LAKE_JOB_FAILED, NULL);
    advance(w);
    advance(w);
    CHECK(!strcmp(served_states(w, now), "kkxf"), "one that fails ends the others: %s", now);
    reason_of(w, WORK_1, why);
    CHECK(strstr(why, "stage two failed"), "and they say why: %s", why);

    begin_served(w);
    play(w, SERVICE, LAKE_JOB_FINISHED, NULL);
    advance(w);
    advance(w);
    CHECK(!strcmp(served_states(w, now), "xkkf"), "a service may not leave: %s", now);
}

static void test_names(void)
{
    AUTO_MEM char *plain = advance_set_name("fashion", "train", "");
    AUTO_MEM char *odd = advance_set_name("/my pipe", "stage#1", ".input");

    CHECK(!strcmp(plain, "fashion.train"), "a set has the names of pipeline and stage");
    CHECK(!strcmp(odd, "xmy-pipe.stage-1.input"), "made fit where they are not: %s", odd);
}

int main(void)
{
    struct world w;

    world_open(&w);
    test_diamond(&w);
    test_provenance(&w);
    test_reuse(&w);
    test_resume(&w);
    test_stop(&w);
    test_lost_note(&w);
    test_retry(&w);
    test_gang(&w);
    test_cluster(&w);
    test_cluster_stuck(&w);
    test_cluster_stopped(&w);
    test_gang_on_hosts(&w);
    test_gang_lost(&w);
    test_service(&w);
    test_names();
    world_close(&w);
    return TAP_DONE();
}
