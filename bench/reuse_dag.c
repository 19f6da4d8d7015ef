/* reuse_dag HOME: a chain of 50 stages over a tree of 20,000 files, of which each used 400. After a
 * first run one file that no stage used is edited; prints the seconds that each of 5 further runs
 * takes to decide that every stage is reused. */
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/details.h"
#include "broker/pipeline/advance.h"
#include "broker/pipeline/code.h"
#include "broker/pipeline/stagecache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGES 50
#define USED 400
#define RUNS 5

static const char *const command[] = {"sh", "-c", "train"};
static const char *const outputs[] = {"o"};
static char names[STAGES][16], sets[STAGES][16], paths[STAGES * USED][32];
static size_t needs[STAGES];
static struct run_input inputs[STAGES];
static struct run_stage stages[STAGES];

struct world {
    const char *home;
    struct lake *lake;
    struct runs *runs;
    struct codefiles_cache cache;
};

static void must(int result, const struct err *e)
{
    if (result >= 0)
        return;
    fprintf(stderr, "reuse_dag: %s\n", e->text);
    exit(1);
}

static void write_file(const struct world *w, const char *name, const char *text)
{
    AUTO_MEM char *path = mem_printf("%s/tree/%s", w->home, name);
    FILE *f = fopen(path, "we");

    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        exit(1);
}

static void make_tree(const struct world *w)
{
    char text[64];
    struct err e = {0};

    for (size_t i = 0; i < STAGES * USED; i++) {
        snprintf(paths[i], sizeof paths[i], "s%zu/f%zu.py", i / USED, i % USED);
        AUTO_MEM char *directory = mem_printf("%s/tree/s%zu", w->home, i / USED);
        if (i % USED == 0)
            must(file_make_dirs(directory, 0755, &e), &e);
        snprintf(text, sizeof text, "x = %zu\n", i);
        write_file(w, paths[i], text);
    }
    write_file(w, "README.md", "one");
}

static void world_open(struct world *w)
{
    AUTO_MEM char *url = mem_printf("dir:%s/objects", w->home);
    struct err e = {0};

    w->lake = lake_open(
        &(struct lake_options){.home = w->home,
                               .store = {.url = url, .path_style = -1, .seed = 1},
                               .caller = {.project = "default", .user = "bench", .admin = true}},
        &e);
    must(w->lake ? 0 : -1, &e);
    w->runs = runs_open(w->home, &e);
    must(w->runs ? 0 : -1, &e);
}

/* The reference of the tree as it is now. */
static char *store(struct world *w)
{
    AUTO_MEM char *tree = mem_printf("%s/tree", w->home);
    struct code code = {0};
    struct err e = {0};

    must(code_store(w->lake, w->home, tree, &code, &e), &e);
    char *ref = mem_dup(code.ref);
    code_clear(&code);
    return ref;
}

static int64_t begin(struct world *w, const char *code)
{
    struct run run = {.name = "fifty",
                      .file = "fifty.yaml",
                      .user = "bench",
                      .on = "local",
                      .stages = stages,
                      .n_stages = STAGES};
    struct err e = {0};

    for (size_t i = 0; i < STAGES; i++) {
        snprintf(names[i], sizeof names[i], "s%zu", i);
        snprintf(sets[i], sizeof sets[i], "fifty.s%zu", i);
        needs[i] = i - 1;
        inputs[i] = (struct run_input){.stage = i - 1, .output = "o"};
        stages[i].plan = (struct run_stage_plan){.name = names[i],
                                                 .needs = &needs[i],
                                                 .n_needs = i > 0,
                                                 .command = command,
                                                 .n_command = 3,
                                                 .inputs = &inputs[i],
                                                 .n_inputs = i > 0,
                                                 .code = code,
                                                 .output = sets[i],
                                                 .outputs = outputs,
                                                 .n_outputs = 1,
                                                 .commit = "",
                                                 .cpus = 1,
                                                 .memory_mb = 256,
                                                 .note = "",
                                                 .place = "local",
                                                 .instance_type = "local",
                                                 .nodes = 1};
    }
    must(runs_add(w->runs, &run, &e), &e);
    return run.id;
}

/* As the broker ends the job of a stage. */
static void play(struct world *w, size_t i, int64_t id)
{
    static const enum lake_job_state states[] = {LAKE_JOB_LAUNCHING, LAKE_JOB_FETCHING,
                                                 LAKE_JOB_RUNNING, LAKE_JOB_STORING};
    struct lake_job_change last = {
        .id = id, .to = LAKE_JOB_FINISHED, .reason = "", .runtime_s = -1};
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    AUTO_CLEAR(job_details) struct job_details details = {0};
    AUTO_MEM char *directory = mem_printf("%s/made", w->home);
    AUTO_MEM char *inner = mem_printf("%s/o", directory);
    AUTO_MEM char *file = mem_printf("%s/x", inner);
    AUTO_MEM char *doubt = NULL;
    const char *used[USED];
    struct lake_job job;
    struct err e = {0};

    for (size_t k = 0; k < 4; k++) {
        struct lake_job_change c = {.id = id, .to = states[k], .reason = "", .runtime_s = -1};
        must(lake_job_step(w->lake, &c, 1, &e), &e);
    }
    for (size_t k = 0; k < USED; k++)
        used[k] = paths[i * USED + k];
    must(lake_job_load(w->lake, id, arena, &job, &e), &e);
    must(job_details_parse(job.asked.details, &details, &e), &e);
    const struct stagecache_told told = {used, USED, ""};
    must(stagecache_note(w->lake, &w->cache, &job, &details, &told, &doubt, &e), &e);
    must(file_make_dirs(inner, 0755, &e), &e);
    must(file_replace(file, names[i], strlen(names[i]), 0644, &e), &e);
    must(lake_job_store(w->lake, &last, directory, NULL, &e), &e);
}

static void look(struct world *w, int64_t id, struct run *out)
{
    struct err e = {0};
    bool jobs;

    must(advance_runs(w->runs, w->lake, &jobs, &e), &e);
    must(runs_get(w->runs, id, out, &e), &e);
}

static double decide(struct world *w, int64_t id)
{
    AUTO_CLEAR(run) struct run run = {0};
    double began_s = time_monotonic_s();

    look(w, id, &run);
    double took_s = time_monotonic_s() - began_s;
    for (size_t i = 0; i < STAGES; i++)
        if (run.stages[i].state != STAGE_REUSED) {
            fprintf(stderr, "reuse_dag: stage %zu is run again\n", i);
            exit(1);
        }
    return took_s;
}

int main(int argc, char **argv)
{
    struct world w = {.home = argc > 1 ? argv[1] : NULL};

    if (!w.home) {
        fprintf(stderr, "usage: reuse_dag HOME\n");
        return 2;
    }
    make_tree(&w);
    world_open(&w);
    AUTO_MEM char *before = store(&w);
    int64_t first = begin(&w, before);
    for (size_t i = 0; i < STAGES; i++) {
        AUTO_CLEAR(run) struct run run = {0};
        look(&w, first, &run);
        play(&w, i, run.stages[i].job);
    }
    AUTO_CLEAR(run) struct run run = {0};
    look(&w, first, &run);
    write_file(&w, "README.md", "two");
    AUTO_MEM char *after = store(&w);
    for (int i = 0; i < RUNS; i++)
        printf("%.6f\n", decide(&w, begin(&w, after)));
    codefiles_cache_clear(&w.cache);
    runs_free(w.runs);
    lake_free(w.lake);
    return 0;
}
