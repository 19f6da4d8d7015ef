#include "base/arena.h"
#include "lake/core/internal.h"
#include "lake/job/job.h"
#include "lake/meta/meta.h"
#include "scratch.h"
#include "tap.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const plain_command[] = {"true"};
static const struct lake_job_request plain = {
    .command = plain_command, .n_command = 1, .cpus = 1, .memory_mb = 512};

static int64_t submit(struct lake *l, const struct lake_job_request *r, struct err *e)
{
    int64_t id;

    return lake_job_submit(l, r, 1, &id, e) < 0 ? -1 : id;
}

static int64_t submit_plain(struct lake *l)
{
    struct err e = {0};
    int64_t id = submit(l, &plain, &e);

    CHECK(id > 0, "job %lld submitted %s", (long long)id, e.text);
    return id;
}

/* The job's record in one line, in the arena. */
static const char *describe(struct arena *a, const struct lake_job *j)
{
    return arena_printf(
        a, "%lld %s %s %s %s in=%s code=%s out=%s %g/%llu/%g run=%lld of=%lld pri=%lld %s %s%s",
        (long long)j->id, j->project, j->user, j->asked.name, lake_job_state_text(j->state),
        j->asked.input ? j->asked.input : "-", j->asked.code ? j->asked.code : "-",
        j->asked.output ? j->asked.output : "-", j->asked.cpus,
        (unsigned long long)j->asked.memory_mb, j->asked.time_limit_s, (long long)j->asked.run,
        (long long)j->asked.rerun_of, (long long)j->asked.priority, j->asked.details, j->reason,
        j->stop_asked ? " stop" : "");
}

static const char *command_of(const struct lake_job *j, char out[static 200])
{
    out[0] = 0;
    for (size_t i = 0; i < j->asked.n_command; i++)
        snprintf(out + strlen(out), 200 - strlen(out), "[%s]", j->asked.command[i]);
    return out;
}

/* Without texts. */
static struct lake_job look(struct lake *l, int64_t id)
{
    struct lake_job j = {0};
    struct err e = {0};

    CHECK(lake_job_load(l, id, NULL, &j, &e) == 0, "look at job %lld %s", (long long)id, e.text);
    return j;
}

static int note_id(void *context, const struct lake_job *j, struct err *e)
{
    char *out = context;

    (void)e;
    snprintf(out + strlen(out), 200 - strlen(out), "%lld ", (long long)j->id);
    return 0;
}

static const char *ids(struct lake *l, struct lake_job_filter f, char out[static 200])
{
    struct err e = {0};

    out[0] = 0;
    if (lake_job_list(l, &f, note_id, out, &e) < 0)
        snprintf(out, 200, "%.150s", e.text);
    return out;
}

static int note_transition(void *context, const struct lake_job_transition *t, struct err *e)
{
    char *out = context;

    (void)e;
    snprintf(out + strlen(out), 400 - strlen(out), "%s%s%s ", lake_job_state_text(t->state),
             *t->reason ? ":" : "", t->reason);
    return 0;
}

static const char *transitions(struct lake *l, int64_t id, char out[static 400])
{
    struct err e = {0};

    out[0] = 0;
    if (lake_job_transitions(l, id, note_transition, out, &e) < 0)
        snprintf(out, 400, "%s", e.text);
    return out;
}

static bool step(struct lake *l, int64_t id, enum lake_job_state to, const char *reason)
{
    struct lake_job_change c = {.id = id, .to = to, .reason = reason, .runtime_s = -1};
    struct err e = {0};

    if (lake_job_step(l, &c, 1, &e) < 0)
        CHECK(false, "job %lld to %s: %s", (long long)id, lake_job_state_text(to), e.text);
    return c.applied;
}

/* ---- states ---- */

static void state_names(void)
{
    enum lake_job_state state = LAKE_JOB_QUEUED;
    struct err e = {0};
    int good = 0;

    for (int i = LAKE_JOB_QUEUED; i < LAKE_JOB_STATES; i++)
        good +=
            lake_job_state_parse(lake_job_state_text((enum lake_job_state)i), &state, &e) == 0 &&
            (int)state == i &&
            lake_job_state_final(state) == (i >= LAKE_JOB_FINISHED && i != LAKE_JOB_UNSAVED);
    CHECK(good == 10, "ten states read back as they are written");
    CHECK(lake_job_state_parse("runing", &state, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "running"),
          "%s", e.text);
    CHECK(lake_job_state_parse("zzzzzz", &state, &e) < 0 && strstr(e.text, "queued"), "%s", e.text);
}

static void machine(struct lake *l)
{
    static const struct {
        enum lake_job_state from, to;
        bool applied;
    } steps[] = {
        {LAKE_JOB_QUEUED, LAKE_JOB_LAUNCHING, true},  {LAKE_JOB_QUEUED, LAKE_JOB_QUEUED, false},
        {LAKE_JOB_QUEUED, LAKE_JOB_KILLED, true},     {LAKE_JOB_LAUNCHING, LAKE_JOB_FETCHING, true},
        {LAKE_JOB_LAUNCHING, LAKE_JOB_QUEUED, true}, /* capacity refused */
        {LAKE_JOB_RUNNING, LAKE_JOB_FETCHING, false}, {LAKE_JOB_RUNNING, LAKE_JOB_RUNNING, false},
        {LAKE_JOB_RUNNING, LAKE_JOB_LAUNCHING, true}, /* preempted */
        {LAKE_JOB_RUNNING, LAKE_JOB_LOST, true},      {LAKE_JOB_STORING, LAKE_JOB_RUNNING, false},
        {LAKE_JOB_STORING, LAKE_JOB_FAILED, true},    {LAKE_JOB_RUNNING, LAKE_JOB_UNSAVED, false},
        {LAKE_JOB_STORING, LAKE_JOB_UNSAVED, true},   {LAKE_JOB_UNSAVED, LAKE_JOB_UNSAVED, true},
        {LAKE_JOB_UNSAVED, LAKE_JOB_FINISHED, true},  {LAKE_JOB_UNSAVED, LAKE_JOB_KILLED, false},
        {LAKE_JOB_UNSAVED, LAKE_JOB_FAILED, false},   {LAKE_JOB_UNSAVED, LAKE_JOB_LOST, true},
    };

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int64_t id = submit_plain(l);
        if (steps[i].from == LAKE_JOB_UNSAVED)
            step(l, id, LAKE_JOB_STORING, NULL);
        if (steps[i].from != LAKE_JOB_QUEUED)
            step(l, id, steps[i].from, NULL);
        CHECK(step(l, id, steps[i].to, "x") == steps[i].applied, "%s to %s is %sapplied",
              lake_job_state_text(steps[i].from), lake_job_state_text(steps[i].to),
              steps[i].applied ? "" : "not ");
        CHECK(look(l, id).state == (steps[i].applied ? steps[i].to : steps[i].from),
              "and that is where it is");
    }
}

static void final_stays(struct lake *l)
{
    for (int end = LAKE_JOB_FINISHED; end <= LAKE_JOB_LOST; end++) {
        int64_t id = submit_plain(l);
        char log[400];
        int applied = 0;
        CHECK(step(l, id, (enum lake_job_state)end, "over"), "an end");
        for (int to = LAKE_JOB_QUEUED; to <= LAKE_JOB_LOST; to++)
            applied += step(l, id, (enum lake_job_state)to, "more");
        AUTO_MEM char *expected =
            mem_printf("queued %s:over ", lake_job_state_text((enum lake_job_state)end));
        CHECK(applied == 0 && (int)look(l, id).state == end, "nothing is applied to %s",
              lake_job_state_text((enum lake_job_state)end));
        CHECK(strcmp(transitions(l, id, log), expected) == 0, "its log: %s", log);
    }
}

static void whole_life(struct scratch *s, struct lake *l)
{
    int64_t id = submit_plain(l);
    char log[400];
    struct err e = {0};
    struct lake_job_change c = {.id = id,
                                .to = LAKE_JOB_FINISHED,
                                .reason = "two\nlines\x01",
                                .exited = true,
                                .exit_code = 3,
                                .runtime_s = -1,
                                .cost_microusd = 1500000,
                                .cost_basis = "list price",
                                .machine = "local",
                                .limits = "cgroup v2"};
    struct lake_job_change held = {
        .id = id, .to = LAKE_JOB_LAUNCHING, .runtime_s = -1, .devices = "nvidia:0,nvidia:1"};
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct lake_job whole;

    CHECK(lake_job_step(l, &held, 1, &e) == 0 && held.applied, "launching with GPUs %s", e.text);
    step(l, id, LAKE_JOB_FETCHING, NULL);
    CHECK(lake_job_load(l, id, arena, &whole, &e) == 0 &&
              strcmp(whole.devices, "nvidia:0,nvidia:1") == 0,
          "which its record keeps %s", e.text);
    s->now_ms = INT64_C(1794782200000);
    step(l, id, LAKE_JOB_RUNNING, NULL);
    CHECK(look(l, id).started_ms == INT64_C(1794782200000), "when it started");
    s->now_ms = INT64_C(1794782210500);
    step(l, id, LAKE_JOB_STORING, NULL);
    CHECK(fabs(look(l, id).runtime_s - 10.5) < 1e-9, "it ran for 10.5 s by the clock");
    CHECK(lake_job_step(l, &c, 1, &e) == 0 && c.applied, "finished %s", e.text);
    struct lake_job j = look(l, id);
    CHECK(j.exited && j.exit_code == 3 && j.cost_microusd == 1500000 &&
              fabs(j.runtime_s - 10.5) < 1e-9 && j.finished_ms > j.started_ms,
          "what was told is kept, what was not stays");
    CHECK(strcmp(transitions(l, id, log),
                 "queued launching fetching running storing finished:two\nlines? ") == 0,
          "its log, reasons clean, with their lines");

    id = submit_plain(l);
    s->now_ms = INT64_C(1794782300000);
    step(l, id, LAKE_JOB_RUNNING, NULL);
    s->now_ms = INT64_C(1794782304000);
    step(l, id, LAKE_JOB_LAUNCHING, "preempted");
    s->now_ms = INT64_C(1794782400000);
    step(l, id, LAKE_JOB_RUNNING, NULL);
    s->now_ms = INT64_C(1794782402000);
    step(l, id, LAKE_JOB_FAILED, NULL);
    CHECK(fabs(look(l, id).runtime_s - 6) < 1e-9 &&
              look(l, id).started_ms == INT64_C(1794782300000),
          "runtimes of a resumed job add up");

    id = submit_plain(l);
    step(l, id, LAKE_JOB_RUNNING, NULL);
    int64_t before = look(l, id).started_ms;
    s->now_ms -= 3600000;
    step(l, id, LAKE_JOB_FAILED, NULL);
    CHECK(look(l, id).runtime_s >= 0 && look(l, id).finished_ms >= before,
          "a clock put back makes no time negative");
    s->now_ms += 3600000;
}

static void bad_changes(struct lake *l)
{
    int64_t id = submit_plain(l);
    AUTO_MEM char *longer = mem_zero(1002, 1);
    struct err e = {0};
    struct lake_job_change c[] = {
        {.id = id, .to = LAKE_JOB_RUNNING, .runtime_s = -1},
        {.id = 999999, .to = LAKE_JOB_RUNNING, .runtime_s = -1},
    };
    struct lake_job_change wrong[] = {
        {.id = id, .to = (enum lake_job_state)0, .runtime_s = -1},
        {.id = id, .to = (enum lake_job_state)LAKE_JOB_STATES, .runtime_s = -1},
        {.id = id, .to = LAKE_JOB_RUNNING, .runtime_s = (double)NAN},
        {.id = id, .to = LAKE_JOB_RUNNING, .runtime_s = -1, .cost_microusd = -1, .cost_basis = "x"},
        {.id = id, .to = LAKE_JOB_RUNNING, .runtime_s = -1, .machine = longer},
    };

    memset(longer, 'm', 1001);
    CHECK(lake_job_step(l, c, 2, &e) < 0 && e.kind == ERR_NOTFOUND && !c[0].applied &&
              look(l, id).state == LAKE_JOB_QUEUED,
          "all or nothing: %s", e.text);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(lake_job_step(l, &wrong[i], 1, &e) < 0 && e.kind == ERR_USAGE &&
                  look(l, id).state == LAKE_JOB_QUEUED,
              "refused: %s", e.text);
    CHECK(lake_job_step(l, NULL, 0, &e) == 0, "no change is none");
}

/* ---- submission ---- */

static void asked(struct lake *l)
{
    const char *paths[] = {"/d/a", "/d/b"}, *command[] = {"python", "train.py", "", "x\ny\xff"};
    struct err e = {0};
    char words[400];
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX), *small = arena_new(64);
    const char *line = NULL;
    struct lake_job j;

    scratch_fake(l, "/d/a", "a", &e);
    scratch_fake(l, "/d/b", "b", &e);
    scratch_set(l, "S", paths, 2);
    scratch_set(l, "S", paths, 2);
    scratch_set(l, "C", paths, 1);
    int64_t old = submit_plain(l);
    struct lake_job_request r = {.name = "train",
                                 .command = command,
                                 .n_command = 4,
                                 .input = "/d/@S",
                                 .code = "@C",
                                 .output = "M",
                                 .cpus = 0.5,
                                 .memory_mb = 256,
                                 .time_limit_s = 60,
                                 .run = 3,
                                 .rerun_of = old,
                                 .priority = -2,
                                 .details = "{\"k\":1}"};
    int64_t id = submit(l, &r, &e);
    CHECK(id == old + 1 && lake_job_load(l, id, arena, &j, &e) == 0, "submitted %s", e.text);
    line = describe(arena, &j);
    AUTO_MEM char *expected =
        mem_printf("%lld default ann train queued in=/d/@S:2 code=@C:1 out=M 0.5/256/60 run=3 "
                   "of=%lld pri=-2 {\"k\":1} ",
                   (long long)id, (long long)old);
    CHECK(line && strcmp(line, expected) == 0, "as asked, references exact: %s", line);
    CHECK(strcmp(command_of(&j, words), "[python][train.py][][x\ny\xff]") == 0,
          "the command is kept to the byte");
    r.input = "/d/a@S:1";
    id = submit(l, &r, &e);
    CHECK(id > 0 && lake_job_load(l, id, arena, &j, &e) == 0, "submitted %s", e.text);
    line = describe(arena, &j);
    CHECK(strstr(line, "in=/d/a@S:1 "), "one file of a set: %s", line);
    CHECK(lake_job_load(l, id, NULL, &j, &e) == 0 && j.id == id && j.state == LAKE_JOB_QUEUED &&
              !j.reason && !j.asked.command && j.asked.n_command == 0,
          "without an arena there are numbers and no texts");
    CHECK(lake_job_load(l, id, small, &j, &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(lake_job_load(l, 999999, arena, &j, &e) < 0 && e.kind == ERR_NOTFOUND, "%s", e.text);
    CHECK(lake_job_transitions(l, 999999, note_transition, words, &e) < 0 && e.kind == ERR_NOTFOUND,
          "%s", e.text);
}

static int note_found(void *context, const struct lake_found *f, struct err *e)
{
    char *out = context;

    (void)e;
    snprintf(out + strlen(out), 200 - strlen(out), "%s ", f->ref);
    return 0;
}

static void tagged(struct lake *l)
{
    static const char *const command[] = {"train", "--epoch", "5", "--owner", "bob"};
    const struct lake_find_options plainly = {0};
    struct lake_job_request r = {
        .command = command,
        .n_command = 5,
        .cpus = 1,
        .memory_mb = 512,
        .tags = (const char *const[]){"profile=mnist", "owner=eve"},
        .n_tags = 2,
    };
    struct err e = {0};
    char out[200] = "";
    int64_t id = submit(l, &r, &e);
    AUTO_MEM char *expected = mem_printf("job:%lld ", (long long)id);

    CHECK(id > 0 &&
              lake_find(l, "profile=mnist owner=eve epoch=5", &plainly, note_found, out, &e) == 0 &&
              strcmp(out, expected) == 0,
          "tags beside the options, and before them: %s %s", out, e.text);
    r.tags = (const char *const[]){"creator=mine"};
    r.n_tags = 1;
    CHECK(submit(l, &r, &e) < 0 && e.kind == ERR_USAGE, "built-in keys are none: %s", e.text);
}

static void bad_requests(struct lake *l)
{
    static const char *const nothing[] = {""};
    AUTO_MEM char *big = mem_zero(LAKE_JOB_TEXT_MAX + 2, 1);
    memset(big, 'x', LAKE_JOB_TEXT_MAX + 1);
    const char *const big_command[] = {"x", big};
    const struct {
        const char *what;
        struct lake_job_request r;
        enum err_kind kind;
    } cases[] = {
        {"no command", {.command = nothing}, ERR_USAGE},
        {"an empty program", {.command = nothing, .n_command = 1}, ERR_USAGE},
        {"a command too long", {.command = big_command, .n_command = 2}, ERR_USAGE},
        {"details too long", {.command = plain_command, .n_command = 1, .details = big}, ERR_USAGE},
        {"a name of two lines",
         {.command = plain_command, .n_command = 1, .name = "a\nb"},
         ERR_USAGE},
        {"an empty name", {.command = plain_command, .n_command = 1, .name = ""}, ERR_USAGE},
        {"no number of CPUs",
         {.command = plain_command, .n_command = 1, .cpus = (double)NAN},
         ERR_USAGE},
        {"less than no CPU", {.command = plain_command, .n_command = 1, .cpus = -1}, ERR_USAGE},
        {"memory without end",
         {.command = plain_command, .n_command = 1, .memory_mb = UINT64_MAX},
         ERR_USAGE},
        {"a limit below 0",
         {.command = plain_command, .n_command = 1, .time_limit_s = -1},
         ERR_USAGE},
        {"an output that is no name",
         {.command = plain_command, .n_command = 1, .output = "@M"},
         ERR_USAGE},
        {"no such input",
         {.command = plain_command, .n_command = 1, .input = "@nosuch"},
         ERR_NOTFOUND},
        {"an input that is no set",
         {.command = plain_command, .n_command = 1, .input = "/d/a"},
         ERR_USAGE},
        {"no such code", {.command = plain_command, .n_command = 1, .code = "@S:99"}, ERR_NOTFOUND},
        {"a rerun of nothing",
         {.command = plain_command, .n_command = 1, .rerun_of = 999999},
         ERR_NOTFOUND},
        {"a run below 0", {.command = plain_command, .n_command = 1, .run = -1}, ERR_USAGE},
    };
    int64_t before = submit_plain(l), first = 1;
    struct err e = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lake_job_request both[] = {plain, cases[i].r};
        CHECK(lake_job_submit(l, both, 2, &first, &e) < 0 && e.kind == cases[i].kind &&
                  first == 0 && strstr(e.text, "job 2 of 2"),
              "%s: %s", cases[i].what, e.text);
    }
    CHECK(lake_job_submit(l, &plain, 0, &first, &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(submit_plain(l) == before + 1, "nothing refused took a number");
}

static void many(struct lake *l)
{
    static struct lake_job_request r[10000];
    struct lake_job_filter f = {.states = 1U << LAKE_JOB_QUEUED, .run = 77};
    struct err e = {0};
    int64_t before = submit_plain(l), first = 0;
    char out[200];

    for (size_t i = 0; i < 10000; i++) {
        r[i] = plain;
        r[i].run = 77;
        r[i].input = "@S";
    }
    CHECK(lake_job_submit(l, r, 10000, &first, &e) == 0 && first == before + 1, "10,000 at once %s",
          e.text);
    CHECK(submit_plain(l) == first + 10000, "numbers one after another");
    f.after = first + 9997;
    CHECK(strlen(ids(l, f, out)) > 0 && strtoll(out, NULL, 10) == first + 9998, "the last two: %s",
          out);
    CHECK(scratch_number(l, "SELECT count(*) FROM job WHERE run = 77 AND state = 1") == 10000,
          "all are there");
}

/* ---- lists ---- */

static void lists(struct scratch *s)
{
    AUTO(lake) struct lake *l = scratch_open_as(s, "lists", "ann", true);
    AUTO(lake) struct lake *bob = scratch_open_as(s, "lists", "bob", false);
    struct lake_job_request named = plain;
    struct err e = {0};
    int64_t id[6];
    char out[200], want[200];

    named.name = "named";
    named.run = 9;
    for (int i = 0; i < 6; i++)
        id[i] = submit(i % 2 ? bob : l, i < 3 ? &named : &plain, &e);
    step(l, id[0], LAKE_JOB_RUNNING, NULL);
    step(l, id[2], LAKE_JOB_FAILED, NULL);
    step(l, id[5], LAKE_JOB_RUNNING, NULL);
#define LISTED(what, n, ...)                                                                       \
    do {                                                                                           \
        const int places[] = {__VA_ARGS__};                                                        \
        want[0] = 0;                                                                               \
        for (int i = 0; i < (n); i++)                                                              \
            snprintf(want + strlen(want), sizeof want - strlen(want), "%lld ",                     \
                     (long long)id[places[i]]);                                                    \
        CHECK(strcmp(out, want) == 0, "%s: %s", what, out);                                        \
    } while (0)
    ids(l, (struct lake_job_filter){0}, out);
    LISTED("all, by number", 6, 0, 1, 2, 3, 4, 5);
    ids(l, (struct lake_job_filter){.newest_first = true, .limit = 4}, out);
    LISTED("the newest four", 4, 5, 4, 3, 2);
    ids(l, (struct lake_job_filter){.states = 1U << LAKE_JOB_RUNNING}, out);
    LISTED("those that run", 2, 0, 5);
    ids(l, (struct lake_job_filter){.states = 1U << LAKE_JOB_RUNNING | 1U << LAKE_JOB_FAILED}, out);
    LISTED("of two states", 3, 0, 2, 5);
    ids(l, (struct lake_job_filter){.user = "bob"}, out);
    LISTED("bob's", 3, 1, 3, 5);
    ids(l, (struct lake_job_filter){.user = "bob", .states = 1U << LAKE_JOB_QUEUED}, out);
    LISTED("bob's that wait", 2, 1, 3);
    ids(l, (struct lake_job_filter){.name = "named", .newest_first = true}, out);
    LISTED("by name", 3, 2, 1, 0);
    ids(l, (struct lake_job_filter){.run = 9, .after = id[0]}, out);
    LISTED("of a run, after the first", 2, 1, 2);
    ids(l, (struct lake_job_filter){.states = 1U << 20}, out);
    CHECK(strcmp(out, "") == 0, "no such state: none %s", out);
#undef LISTED
}

/* ---- rights ---- */

static void rights(struct scratch *s, struct lake *l)
{
    AUTO(lake) struct lake *bob = scratch_open_as(s, "default", "bob", false);
    AUTO(lake) struct lake *eve = scratch_open_as(s, "other", "eve", true);
    const char *paths[] = {"/d/a"};
    struct lake_job_request r = plain;
    struct err e = {0};
    bool final;
    char out[400];
    int64_t id = submit_plain(l), bobs = submit_plain(bob);
    struct lake_job_change c = {.id = id, .to = LAKE_JOB_FAILED, .runtime_s = -1};

    scratch_set(l, "Secret", paths, 1);
    CHECK(lake_chmod(l, "600", &(const char *){"@Secret"}, 1, &e) == 0, "a set of ann's own %s",
          e.text);
    CHECK(look(bob, id).state == LAKE_JOB_QUEUED, "members see each other's jobs");
    CHECK(lake_job_step(bob, &c, 1, &e) < 0 && e.kind == ERR_DENIED, "no step: %s", e.text);
    CHECK(lake_job_ask_stop(bob, id, "no", &final, &e) < 0 && e.kind == ERR_DENIED && !final,
          "no stop: %s", e.text);
    CHECK(look(l, id).state == LAKE_JOB_QUEUED && !look(l, id).stop_asked, "nothing happened");
    CHECK(lake_job_ask_stop(l, bobs, "ann said so", &final, &e) == 0 && final, "an admin may %s",
          e.text);
    CHECK(lake_job_load(eve, id, NULL, &(struct lake_job){0}, &e) < 0 && e.kind == ERR_NOTFOUND,
          "another project's job is none: %s", e.text);
    CHECK(lake_job_step(eve, &c, 1, &e) < 0 && e.kind == ERR_NOTFOUND &&
              lake_job_ask_stop(eve, id, "", &final, &e) < 0 && e.kind == ERR_NOTFOUND &&
              strcmp(ids(eve, (struct lake_job_filter){0}, out), "") == 0 &&
              strstr(transitions(eve, id, out), "there is no job"),
          "whatever is asked");
    r.input = "@Secret";
    CHECK(submit(bob, &r, &e) < 0 && e.kind == ERR_DENIED, "an input that may not be read: %s",
          e.text);
    r.input = NULL;
    r.output = "Secret";
    CHECK(submit(bob, &r, &e) < 0 && e.kind == ERR_DENIED, "an output that may not be written: %s",
          e.text);
    CHECK(submit(l, &r, &e) > 0, "by its owner it may %s", e.text);
    r.rerun_of = id;
    CHECK(submit(eve, &r, &e) < 0 && e.kind == ERR_NOTFOUND, "a rerun of another project's: %s",
          e.text);
}

/* ---- stopping ---- */

static void stops(struct lake *l)
{
    int64_t queued = submit_plain(l), running = submit_plain(l);
    struct err e = {0};
    bool final = false;
    char log[400];

    CHECK(lake_job_ask_stop(l, queued, "not needed", &final, &e) == 0 && final &&
              look(l, queued).state == LAKE_JOB_KILLED,
          "a queued job is killed at once %s", e.text);
    CHECK(strcmp(transitions(l, queued, log), "queued killed:not needed ") == 0, "%s", log);
    CHECK(lake_job_ask_stop(l, queued, "again", &final, &e) == 0 && final &&
              strcmp(transitions(l, queued, log), "queued killed:not needed ") == 0,
          "again: the same");
    step(l, running, LAKE_JOB_RUNNING, NULL);
    CHECK(lake_job_ask_stop(l, running, "first", &final, &e) == 0 && !final &&
              look(l, running).stop_asked && look(l, running).state == LAKE_JOB_RUNNING,
          "a running one waits for the broker");
    CHECK(lake_job_ask_stop(l, running, "second", &final, &e) == 0 && !final, "repeatable");
    CHECK(scratch_number(l, "SELECT count(*) FROM job WHERE stop_reason = 'first'") == 1,
          "the first reason stays");
    step(l, running, LAKE_JOB_KILLED, "SIGTERM");
    CHECK(lake_job_ask_stop(l, running, NULL, &final, &e) == 0 && final, "over now");
    CHECK(lake_job_ask_stop(l, 999999, NULL, &final, &e) < 0 && e.kind == ERR_NOTFOUND, "%s",
          e.text);
}

#define RACES 100

struct racer {
    struct scratch s; /* its own: the clock of one is not shared */
    struct lake *l;
    int64_t first;
    enum lake_job_state to;
    int won;
};

static void *run_race(void *context)
{
    struct racer *r = context;

    for (int i = 0; i < RACES; i++) {
        struct lake_job_change c = {.id = r->first + i, .to = r->to, .runtime_s = -1};
        struct err e = {0};
        if (lake_job_step(r->l, &c, 1, &e) == 0)
            r->won += c.applied;
    }
    return NULL;
}

/* Two connections, as two processes have them. */
static void race(struct scratch *s, struct lake *l)
{
    struct lake_job_request requests[RACES];
    struct racer racers[2] = {{.to = LAKE_JOB_KILLED}, {.to = LAKE_JOB_FINISHED}};
    pthread_t threads[2];
    struct err e = {0};
    int64_t first;

    for (int i = 0; i < RACES; i++)
        requests[i] = plain;
    CHECK(lake_job_submit(l, requests, RACES, &first, &e) == 0, "jobs to race for %s", e.text);
    for (int i = 0; i < 2; i++) {
        racers[i].s = *s;
        racers[i].first = first;
        racers[i].l = scratch_open(&racers[i].s);
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run_race, &racers[i]);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        lake_free(racers[i].l);
    }
    AUTO_MEM char *ends = mem_printf(
        "SELECT count(*) FROM job_state WHERE job >= %lld AND state >= 6", (long long)first);
    CHECK(racers[0].won + racers[1].won == RACES && scratch_number(l, ends) == RACES,
          "killed %d, finished %d: one end each", racers[0].won, racers[1].won);
}

/* ---- an older lake ---- */

/* As the program before jobs left it, with one file. */
static void make_older(struct scratch *s)
{
    static const char *const rows[] = {
        "INSERT INTO setting VALUES ('mark', '0123456789abcdef')",
        "INSERT INTO project VALUES (1, 'default')",
        "INSERT INTO made VALUES (1, 1, 1794782160000, 'ann')",
        "INSERT INTO blob VALUES (1, 1, 'pack')",
        "INSERT INTO object VALUES (1, 1, zeroblob(32), 1, 1, 0, 0, NULL)",
        "INSERT INTO file VALUES (1, 1, '/a', 'ann', '', 438, 1, 1, 0)",
        "INSERT INTO version VALUES (1, 1, 1, 1, 1, 1, 0, 0)",
        "INSERT INTO meta_key VALUES (1, 1, 'run')",
        "INSERT INTO meta VALUES (1, 1, 1, 37, 3, '3')", /* (1 * 8 + 1) * 4 + NUMBER */
        ("INSERT INTO counter VALUES ('project', 2), ('made', 2), ('blob', 2), ('object', 2),"
         " ('file', 2), ('version', 2), ('meta_key', 2)"),
    };
    const struct db_migration first[] = {lake_migrations[0], {0}};
    AUTO_MEM char *url = mem_printf("%s/lake.db", s->home);
    const struct db_options options = {.url = url, .name = "an older lake", .migrations = first};
    struct err e = {0};
    AUTO(db) struct db *d = db_open(&options, &e);
    int made = 0;

    for (size_t i = 0; d && i < sizeof rows / sizeof *rows; i++)
        made += db_exec(d, rows[i], &e) == 0;
    CHECK(made == 10, "a lake from before jobs %s", e.text);
}

static void older(void)
{
    const struct lake_find_options plainly = {0};
    struct scratch s;
    struct err e = {0};
    char out[200] = "";

    scratch_init_fast(&s);
    make_older(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    AUTO_MEM char *file = scratch_resolve(l, "/a", LAKE_READ);
    CHECK(strcmp(file, "/a#1") == 0 && submit_plain(l) == 1, "keeps its files, takes jobs: %s",
          file);
    CHECK(scratch_number(l, "SELECT max(number) FROM db_migration") == 9, "is up to date");
    CHECK(lake_find(l, "run=3", &plainly, note_found, out, &e) == 0 && strcmp(out, "/a#1 ") == 0,
          "a key that jobs have is the user's on a file still: %s", out);
    scratch_clear(&s);
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    state_names();
    CHECK(submit_plain(l) == 1 && submit_plain(l) == 2, "numbers begin at 1");
    machine(l);
    final_stays(l);
    whole_life(&s, l);
    bad_changes(l);
    asked(l);
    tagged(l);
    bad_requests(l);
    many(l);
    lists(&s);
    rights(&s, l);
    stops(l);
    race(&s, l);
    older();
    scratch_clear(&s);
    return TAP_DONE();
}
