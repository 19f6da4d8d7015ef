/* What a job used of its code becomes its record, and decides whether a stage is run again. */
#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/details.h"
#include "broker/pipeline/advance.h"
#include "broker/pipeline/code.h"
#include "broker/pipeline/stagecache.h"
#include "lake/job/job_code.h"
#include "tap.h"

#include <string.h>

struct world {
    char home[40];
    struct lake *lake;
    struct runs *runs;
    struct codefiles_cache cache;
    char *code; /* the reference of the tree as it was stored last */
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

    snprintf(w->home, sizeof w->home, "/tmp/stagecache-XXXXXX");
    if (!mkdtemp(w->home))
        exit(1);
    AUTO_MEM char *url = mem_printf("dir:%s/objects", w->home);
    w->lake = lake_open(
        &(struct lake_options){.home = w->home,
                               .store = {.url = url, .path_style = -1, .seed = 1},
                               .caller = {.project = "default", .user = "ann", .admin = true}},
        &e);
    must(w->lake ? 0 : -1, &e);
    w->runs = runs_open(w->home, &e);
    must(w->runs ? 0 : -1, &e);
}

static void world_close(struct world *w)
{
    codefiles_cache_clear(&w->cache);
    free(w->code);
    runs_free(w->runs);
    lake_free(w->lake);
    file_remove_tree(w->home);
}

static void write_code(struct world *w, const char *name, const char *text)
{
    AUTO_MEM char *path = mem_printf("%s/tree/%s", w->home, name);
    AUTO_MEM char *directory = mem_dup(path);
    struct err e = {0};

    *strrchr(directory, '/') = 0;
    must(file_make_dirs(directory, 0755, &e), &e);
    must(file_replace(path, text, strlen(text), 0644, &e), &e);
}

static void store_code(struct world *w)
{
    AUTO_MEM char *tree = mem_printf("%s/tree", w->home);
    struct code code = {0};
    struct err e = {0};

    must(code_store(w->lake, w->home, tree, &code, &e), &e);
    free(w->code);
    w->code = mem_dup(code.ref);
    code_clear(&code);
}

/* ---- one stage ---- */

static const char *const command[] = {"sh", "-c", "work"};
static const char *const picks[] = {"lib", "*.cfg"};

enum kind { LEARNS, ALL, PICKS };

/* A run of a stage without output; its job, or that which it reuses. */
static int64_t start(struct world *w, enum kind kind, const struct run_pair *env)
{
    AUTO_CLEAR(run) struct run now = {0};
    struct run_stage stage = {.plan = {.name = "s",
                                       .command = command,
                                       .n_command = 3,
                                       .code = w->code,
                                       .all_code = kind == ALL,
                                       .picks = picks,
                                       .n_picks = kind == PICKS ? 2 : 0,
                                       .envs = env,
                                       .n_envs = env ? 1 : 0,
                                       .commit = "",
                                       .cpus = 1,
                                       .memory_mb = 256,
                                       .note = "",
                                       .place = "local",
                                       .instance_type = "local",
                                       .nodes = 1}};
    struct run run = {.name = "p",
                      .file = "p.yaml",
                      .user = "ann",
                      .on = "local",
                      .stages = &stage,
                      .n_stages = 1};
    struct err e = {0};
    bool jobs;

    must(runs_add(w->runs, &run, &e), &e);
    w->run = run.id;
    must(advance_runs(w->runs, w->lake, &jobs, &e), &e);
    must(runs_get(w->runs, run.id, &now, &e), &e);
    return now.stages[0].state == STAGE_REUSED ? -now.stages[0].job : now.stages[0].job;
}

/* Its reason, as the stage's job has it. */
static const char *because(struct world *w, char out[static 300])
{
    AUTO_CLEAR(run) struct run now = {0};
    struct err e = {0};

    must(runs_get(w->runs, w->run, &now, &e), &e);
    snprintf(out, 300, "%s", now.stages[0].reason);
    return out;
}

/* As the broker ends a job, after its agent told this. Returns why all counts; "" = it does not. */
static const char *end(struct world *w,
                       int64_t id,
                       int64_t continues,
                       const struct stagecache_told *told,
                       char out[static 300])
{
    static const enum lake_job_state states[] = {LAKE_JOB_LAUNCHING, LAKE_JOB_FETCHING,
                                                 LAKE_JOB_RUNNING, LAKE_JOB_FINISHED};
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    AUTO_CLEAR(job_details) struct job_details details = {0};
    AUTO_MEM char *doubt = NULL;
    struct lake_job job;
    struct err e = {0};
    bool jobs;

    must(lake_job_load(w->lake, id, arena, &job, &e), &e);
    must(job_details_parse(job.asked.details, &details, &e), &e);
    details.continues = continues;
    must(stagecache_note(w->lake, &w->cache, &job, &details, told, &doubt, &e), &e);
    for (size_t k = 0; k < 4; k++) {
        struct lake_job_change c = {.id = id, .to = states[k], .reason = "", .runtime_s = -1};
        must(lake_job_step(w->lake, &c, 1, &e), &e);
    }
    must(advance_runs(w->runs, w->lake, &jobs, &e), &e);
    snprintf(out, 300, "%s", doubt ? doubt : "");
    return out;
}

static const char *end_with(struct world *w, int64_t id, const char *path, char out[static 300])
{
    return end(w, id, 0, &(struct stagecache_told){&path, 1, ""}, out);
}

static void fill_tree(struct world *w)
{
    static const char *const names[] = {"a.py",     "b.py",     "lib/m.py", "lib/m.pyc",
                                        "Makefile", "sub/x.mk", "run.cfg",  "README.md"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        write_code(w, names[i], "1\n");
    store_code(w);
}

static void learned(struct world *w)
{
    static const char *const more[] = {"a.py", "lib/m.pyc", "made/by/the/job", "../../etc/passwd"};
    char text[300];
    int64_t first = start(w, LEARNS, NULL);

    CHECK(first > 0 && !*end(w, first, 0, &(struct stagecache_told){more, 4, ""}, text),
          "files that are none of the code are ignored %s", text);
    CHECK(start(w, LEARNS, NULL) == -first, "the same code: reused");
    write_code(w, "README.md", "2\n");
    write_code(w, ".gitignore", "*.log\n");
    store_code(w);
    CHECK(start(w, LEARNS, NULL) == -first,
          "a file that it did not use, and one that no program reads");
    write_code(w, "lib/m.py", "2\n");
    store_code(w);
    int64_t second = start(w, LEARNS, NULL);
    CHECK(second > 0 && !strcmp(because(w, text), "lib/m.py changed"),
          "the source of bytecode that it used: %s", text);
    end_with(w, second, "a.py", text);
    write_code(w, "new.py", "1\n");
    store_code(w);
    int64_t third = start(w, LEARNS, NULL);
    CHECK(third > 0 && !strcmp(because(w, text), "new.py is new"), "a new name: %s", text);
    end_with(w, third, "a.py", text);
    const struct run_pair env = {"LR", "0.2"};
    int64_t fourth = start(w, LEARNS, &env);
    CHECK(fourth > 0 && !strcmp(because(w, text), "env LR is new: 0.2"), "a variable: %s", text);
    end_with(w, fourth, "b.py", text);
    write_code(w, "b.py", "2\n");
    store_code(w);
    CHECK(start(w, LEARNS, NULL) == -third,
          "what a job with other variables used says nothing of this one");
}

static void doubted(struct world *w)
{
    static const char *const of_make[] = {"a.py", "Makefile"}, *const included[] = {"sub/x.mk"};
    char text[300];
    int64_t job;

    write_code(w, "a.py", "3\n");
    store_code(w);
    job = start(w, LEARNS, NULL);
    CHECK(strstr(end(w, job, 0, &(struct stagecache_told){of_make, 2, ""}, text),
                 "Makefile was used: build tools"),
          "%s", text);
    CHECK(start(w, LEARNS, NULL) == -job, "all of the code is the same: reused");
    write_code(w, "README.md", "3\n");
    store_code(w);
    job = start(w, LEARNS, NULL);
    CHECK(job > 0 &&
              !strcmp(because(w, text), "README.md changed (all of the code counts: Makefile "
                                        "was used: build tools look at files without "
                                        "opening them)"),
          "%s", text);
    CHECK(strstr(end(w, job, 0, &(struct stagecache_told){included, 1, ""}, text),
                 "sub/x.mk was used"),
          "a file that make includes: %s", text);
    write_code(w, "README.md", "4\n");
    store_code(w);
    job = start(w, LEARNS, NULL);
    CHECK(job > 0 && !strcmp(end(w, job, 0, &(struct stagecache_told){NULL, 0, "the queue"}, text),
                             "the queue"),
          "a doubt of the agent");
    write_code(w, ".gitignore", "*.tmp\n");
    store_code(w);
    CHECK(start(w, LEARNS, NULL) > 0, "then even .gitignore counts");
}

/* One that went on from another's checkpoint used what that one had used, too. */
static void continued(struct world *w)
{
    static const char *const a[] = {"a.py"}, *const b[] = {"b.py"};
    char text[300];

    write_code(w, "c.py", "1\n");
    store_code(w);
    int64_t first = start(w, LEARNS, NULL);
    end(w, first, 0, &(struct stagecache_told){a, 1, ""}, text);
    const struct run_pair env = {"N", "1"};
    int64_t second = start(w, LEARNS, &env);
    CHECK(second > 0 && !*end(w, second, first, &(struct stagecache_told){b, 1, ""}, text),
          "continued: known %s", text);
    write_code(w, "a.py", "5\n");
    store_code(w);
    int64_t third = start(w, LEARNS, &env);
    CHECK(third > 0 && !strcmp(because(w, text), "a.py changed"),
          "what the first had used counts for the second: %s", text);
    CHECK(strstr(end(w, third, 999999, &(struct stagecache_told){b, 1, ""}, text),
                 "told nothing of its code"),
          "of one that told nothing all counts: %s", text);
}

static void by_hand(struct world *w)
{
    char text[300];
    int64_t picked = start(w, PICKS, NULL), all = 0;

    CHECK(picked > 0, "named by hand");
    end_with(w, picked, "a.py", text);
    write_code(w, "a.py", "6\n");
    write_code(w, "another.py", "1\n");
    store_code(w);
    CHECK(start(w, PICKS, NULL) == -picked, "files and names besides do not count");
    write_code(w, "more.cfg", "1\n");
    store_code(w);
    int64_t next = start(w, PICKS, NULL);
    CHECK(next > 0 && !strcmp(because(w, text), "more.cfg is new"), "a new file of a pattern: %s",
          text);
    end_with(w, next, "a.py", text);
    all = start(w, ALL, NULL);
    CHECK(all > 0, "code: all is another question");
    end_with(w, all, "a.py", text);
    write_code(w, ".gitignore", "*.o\n");
    store_code(w);
    CHECK(start(w, ALL, NULL) > 0, "and has all");
}

/* ---- patterns, names and lists alone ---- */

static void patterns(void)
{
    static const struct {
        const char *pattern, *path;
        bool picks;
    } cases[] = {
        {"train.py", "train.py", true},   {"train.py", "lib/train.py", false},
        {"lib", "lib/a/b.py", true},      {"lib/", "lib/a.py", true},
        {"lib", "library.py", false},     {"*.py", "train.py", true},
        {"*.py", "lib/a.py", false},      {"lib/*.py", "lib/a.py", true},
        {"conf[0-9]", "conf7", true},     {"*", "lib/a.py", true},
        {"lib/a.py/", "lib/a.py", false}, {"a", "", false},
    };
    static const struct {
        const char *path;
        bool unseen;
    } names[] = {
        {".gitignore", true},    {"lib/.gitignore", true}, {".github/workflows/x.yml", true},
        {".vscode/a", true},     {".Rprofile", false},     {".env", false},
        {".gitignore/x", false}, {".github", false},       {"a.gitignore", false},
        {"lib/.idea/x", true},   {".editorconfig", true},  {"lib/idea/x", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(codefiles_picks(cases[i].pattern, cases[i].path) == cases[i].picks, "code: %s %s %s",
              cases[i].pattern, cases[i].picks ? "names" : "does not name", cases[i].path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(codefiles_is_unseen(names[i].path) == names[i].unseen, "%s: %s", names[i].path,
              names[i].unseen ? "its name does not count" : "its name counts");
}

static void lists(void)
{
    AUTO_CLEAR(usedcode) struct usedcode one = {0};
    AUTO_CLEAR(usedcode) struct usedcode other = {0};
    AUTO_CLEAR(usedcode) struct usedcode cut = {0};
    struct sha256_digest x = sha256_of("x", 1), y = sha256_of("y", 1);
    struct err e = {0};
    size_t n;

    usedcode_add(&one, "b", &x);
    usedcode_add(&one, "a", &x);
    usedcode_add(&one, "b", &x);
    usedcode_add(&one, "b", &y);
    usedcode_sort(&one);
    CHECK(one.n == 3 && !strcmp(one.list[0].path, "a"), "sorted, each once, two contents are two");
    AUTO_MEM void *bytes = usedcode_bytes(&one, &n);
    CHECK(usedcode_read(&other, bytes, n, &e) == 0 && other.n == 3 &&
              sha256_equal(&other.list[2].digest, &one.list[2].digest),
          "read again");
    int refused = 0;
    for (size_t k = 1; k < n; k++) {
        usedcode_clear(&cut);
        refused += usedcode_read(&cut, bytes, k, &e) < 0;
    }
    CHECK(refused == (int)n - 3 && e.kind == ERR_IO, "cut anywhere but between two: damaged %d",
          refused);
}

int main(void)
{
    struct world w = {0};

    world_open(&w);
    fill_tree(&w);
    learned(&w);
    doubted(&w);
    continued(&w);
    by_hand(&w);
    world_close(&w);
    patterns();
    lists();
    return TAP_DONE();
}
