#include "base/file.h"
#include "base/mem.h"
#include "broker/advance.h"
#include "lake/files.h"
#include "lake/graph.h"
#include "lake/job.h"
#include "tap.h"

#include <inttypes.h>
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

    must(run_advance(w->runs, w->lake, w->run, &jobs, &e), &e);
    return jobs;
}

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
    out[N] = run_state_text(r.state)[0];
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
static void play(struct world *w, size_t i, enum lake_job_state end, const char *text)
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
        changes[k].id = job_of(w, i);
    last.id = changes[0].id;
    must(lake_job_step(w->lake, changes, 4, &e), &e);
    if (end != LAKE_JOB_FINISHED)
        return;
    must(file_make_dirs(inner, 0755, &e), &e);
    must(file_replace(file, text, strlen(text), 0644, &e), &e);
    must(lake_job_store(w->lake, &last, directory, NULL, &e), &e);
    file_remove_tree(directory);
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

static void test_names(void)
{
    AUTO_MEM char *plain = run_set_name("fashion", "train", "");
    AUTO_MEM char *odd = run_set_name("/my pipe", "stage#1", ".input");

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
    test_names();
    world_close(&w);
    return TAP_DONE();
}
