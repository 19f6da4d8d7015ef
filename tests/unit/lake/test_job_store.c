/* Outputs of jobs: stored whole, with tags and provenance, or not at all. */
#include "base/arena.h"
#include "lake/clean/clean.h"
#include "lake/job/job.h"
#include "lake/meta/meta.h"
#include "lake/set/graph.h"
#include "lake/set/set.h"
#include "local.h"
#include "tap.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const command[] = {"train", "--epoch", "5"};

static int64_t submit(struct lake *l, const char *input, const char *code, const char *output)
{
    const struct lake_job_request r = {.command = command,
                                       .n_command = 3,
                                       .input = input,
                                       .code = code,
                                       .output = output,
                                       .cpus = 1};
    struct err e = {0};
    int64_t id = 0;

    CHECK(lake_job_submit(l, &r, 1, &id, &e) == 0, "job %lld %s", (long long)id, e.text);
    return id;
}

static struct lake_job_change finish(int64_t id)
{
    return (struct lake_job_change){.id = id,
                                    .to = LAKE_JOB_FINISHED,
                                    .exited = true,
                                    .runtime_s = 2,
                                    .cost_microusd = 500000,
                                    .cost_basis = "list price"};
}

static int store(struct lake *l, int64_t id, const char *directory, bool *applied, struct err *e)
{
    struct lake_job_change c = finish(id);
    int result = lake_job_store(l, &c, directory, NULL, e);

    *applied = c.applied;
    return result;
}

static const char *output_of(struct lake *l, int64_t id, char out[static 100])
{
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct lake_job j;
    struct err e = {0};

    if (lake_job_load(l, id, arena, &j, &e) < 0)
        snprintf(out, 100, "%.90s", e.text);
    else
        snprintf(out, 100, "%s %s", lake_job_state_text(j.state), j.output_set);
    return out;
}

/* "key=value " for each key that is no built-in. */
static int note_tags(void *context, const struct lake_found *f, struct err *e)
{
    char *out = context;

    (void)e;
    out[0] = 0;
    for (size_t i = 0; i < f->n_values; i++)
        if (!strstr("create_time creator kind name size version state cpus memory_mb runtime_s "
                    "cost_usd exit_code input output",
                    f->values[i].key))
            snprintf(out + strlen(out), 200 - strlen(out), "%s=%s ", f->values[i].key,
                     f->values[i].text ? f->values[i].text : "");
    return 0;
}

static const char *tags_of(struct lake *l, const char *ref, char out[static 200])
{
    AUTO_CLEAR(lake_ref) struct lake_ref r = {0};
    struct err e = {0};

    if (lake_resolve(l, ref, LAKE_READ, &r, &e) < 0 || lake_describe(l, &r, note_tags, out, &e) < 0)
        snprintf(out, 200, "%.150s", e.text);
    return out;
}

static const char *edges_of(struct lake *l, const char *ref, char out[static 200])
{
    AUTO_CLEAR(lake_ref) struct lake_ref r = {0};
    AUTO_CLEAR(lake_graph) struct lake_graph g = {0};
    struct err e = {0};

    out[0] = 0;
    if (lake_resolve(l, ref, LAKE_READ, &r, &e) < 0 ||
        lake_trace(l, &r, LAKE_BACK, 1, &g, &e) < 0) {
        snprintf(out, 200, "%.150s", e.text);
        return out;
    }
    for (size_t i = 0; i < g.n_edges; i++)
        snprintf(out + strlen(out), 200 - strlen(out), "%s:%lld by %lld ",
                 g.nodes[g.edges[i].to].set_name, (long long)g.nodes[g.edges[i].to].number,
                 (long long)g.edges[i].job);
    return out;
}

static int64_t versions(struct lake *l, const char *set)
{
    AUTO_MEM char *sql = mem_printf("SELECT count(*) FROM set_version v JOIN fileset f"
                                    " ON f.id = v.fileset WHERE f.name = '%s'",
                                    set);

    return scratch_number(l, sql);
}

static bool was_reproduced(struct lake *l, int64_t id)
{
    struct lake_job j = {0};
    struct err e = {0};

    return lake_job_load(l, id, NULL, &j, &e) == 0 && j.reproduced;
}

static void inputs(struct scratch *s, struct lake *l)
{
    const char *data[] = {"/data/a"}, *code[] = {"/code/main"};
    struct err e = {0};

    scratch_put(l, "/data/a", "a", &e);
    scratch_put(l, "/code/main", "main", &e);
    scratch_set(l, "Data", data, 1);
    scratch_set(l, "Code", code, 1);
    local_text(s, "out/model", "weights");
    local_text(s, "out/log/1", "line");
    mkdir(local_path(s, "none"), 0777);
}

static void whole(struct scratch *s, struct lake *l)
{
    const char *early[] = {"precision=0.5", "golden"}, *late[] = {"precision=0.9"};
    struct err e = {0};
    bool applied;
    char text[200];
    int64_t id = submit(l, "@Data", "@Code", "Model");

    CHECK(lake_job_tag(l, id, early, 2, &e) == 0, "tags while it runs %s", e.text);
    CHECK(store(l, id, local_path(s, "out"), &applied, &e) == 0 && applied, "stored %s", e.text);
    CHECK(strcmp(output_of(l, id, text), "finished @Model:1") == 0, "%s", text);
    AUTO_MEM char *content = local_cat(l, "/Model/log/1@Model:1");
    CHECK(content && strcmp(content, "line") == 0, "its files lie below /Model/");
    AUTO_MEM char *edges =
        mem_printf("Data:1 by %lld Code:1 by %lld ", (long long)id, (long long)id);
    CHECK(strcmp(edges_of(l, "@Model:1", text), edges) == 0, "came from input and code: %s", text);
    AUTO_MEM char *tags = mem_printf("epoch=5 golden= job=%lld precision=0.5 ", (long long)id);
    CHECK(strcmp(tags_of(l, "@Model:1", text), tags) == 0, "has the job's tags and parameters: %s",
          text);
    CHECK(lake_job_tag(l, id, late, 1, &e) == 0, "a tag after the end %s", e.text);
    AUTO_MEM char *later = mem_printf("epoch=5 golden= job=%lld precision=0.9 ", (long long)id);
    CHECK(strcmp(tags_of(l, "@Model:1", text), later) == 0, "reaches the set: %s", text);
    AUTO_MEM char *job = mem_printf("job:%lld", (long long)id);
    CHECK(strcmp(tags_of(l, job, text), "epoch=5 golden= precision=0.9 ") == 0, "of the job: %s",
          text);
    CHECK(store(l, id, local_path(s, "out"), &applied, &e) == 0 && applied &&
              strcmp(output_of(l, id, text), "finished @Model:1") == 0 &&
              scratch_number(l, "SELECT count(*) FROM set_version v JOIN fileset f"
                                " ON f.id = v.fileset WHERE f.name = 'Model'") == 1,
          "once more: the same answer, nothing new");
}

/* A job whose output is the latest version of its set makes none; what that version is known by
 * stays that of its maker. */
static void reproduced(struct scratch *s, struct lake *l)
{
    static const char *const tag[] = {"late=1"};
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake_lineage_cost cost = {0};
    struct err e = {0};
    bool applied;
    char text[200], before[200];
    int64_t first = submit(l, "@Data", "@Code", "Same"), second = submit(l, "@Code", NULL, "Same"),
            third = submit(l, "@Data", NULL, "Same"), fourth = submit(l, NULL, NULL, "Same"),
            maker = 0;

    local_text(s, "same/a", "one");
    CHECK(store(l, second, local_path(s, "same"), &applied, &e) == 0 && !was_reproduced(l, second),
          "the first version is made %s", e.text);
    tags_of(l, "@Same:1", before);
    CHECK(store(l, first, local_path(s, "same"), &applied, &e) == 0 && applied &&
              strcmp(output_of(l, first, text), "finished @Same:1") == 0 &&
              was_reproduced(l, first) && versions(l, "Same") == 1,
          "the same bytes make no version: %s %s", text, e.text);
    AUTO_MEM char *edges = mem_printf("Code:1 by %lld ", (long long)second);
    CHECK(strcmp(edges_of(l, "@Same:1", text), edges) == 0, "the edges are the maker's: %s", text);
    CHECK(lake_job_tag(l, first, tag, 1, &e) == 0 && lake_job_made_with(l, first, third, &e) == 0 &&
              strcmp(edges_of(l, "@Same:1", text), edges) == 0 &&
              strcmp(tags_of(l, "@Same:1", text), before) == 0,
          "tags and edges of the other job do not reach the version: %s", text);
    CHECK(lake_resolve(l, "@Same:1", LAKE_READ, &ref, &e) == 0 &&
              lake_set_maker(l, ref.set_version, &maker, &e) == 0 && maker == second &&
              lake_lineage_cost(l, &ref, NULL, &cost, &e) == 0 && cost.jobs == 1,
          "its maker is the job that made it, though the other is older: %lld", (long long)maker);
    local_text(s, "same/a", "two");
    CHECK(store(l, third, local_path(s, "same"), &applied, &e) == 0 && !was_reproduced(l, third) &&
              versions(l, "Same") == 2,
          "other bytes are another version");
    local_text(s, "same/a", "one");
    CHECK(store(l, fourth, local_path(s, "same"), &applied, &e) == 0 &&
              !was_reproduced(l, fourth) && versions(l, "Same") == 3,
          "what an older version holds is a new one");
}

/* One of several stores what all of them made. */
static void together(struct scratch *s, struct lake *l)
{
    struct err e = {0};
    bool applied;
    char text[200];
    int64_t first = submit(l, "@Data", "@Code", "Shared"),
            other = submit(l, "@Code", "@Code", NULL);

    CHECK(lake_job_made_with(l, first, other, &e) == 0, "before anything is stored: fine %s",
          e.text);
    CHECK(store(l, first, local_path(s, "out"), &applied, &e) == 0 && applied, "stored %s", e.text);
    CHECK(lake_job_made_with(l, first, other, &e) == 0 &&
              lake_job_made_with(l, first, other, &e) == 0,
          "made with another, told twice %s", e.text);
    AUTO_MEM char *edges = mem_printf("Data:1 by %lld Code:1 by %lld Code:1 by %lld ",
                                      (long long)first, (long long)first, (long long)other);
    CHECK(strcmp(edges_of(l, "@Shared:1", text), edges) == 0,
          "it came from that one's input, too: %s", text);
    CHECK(lake_job_made_with(l, first, 99999, &e) < 0 && e.kind == ERR_NOTFOUND, "no such job: %s",
          e.text);
}

static void without(struct scratch *s, struct lake *l)
{
    struct err e = {0};
    bool applied;
    char text[200], own[64];
    int64_t empty = submit(l, "@Data", NULL, "Empty"), none = submit(l, NULL, NULL, NULL),
            source = submit(l, NULL, NULL, "Source"), gone = submit(l, NULL, NULL, "Gone");
    struct lake_job_change failed = finish(gone);

    CHECK(store(l, empty, local_path(s, "none"), &applied, &e) == 0 && applied &&
              strcmp(output_of(l, empty, text), "finished ") == 0,
          "an empty directory: finished, no set %s%s", text, e.text);
    CHECK(store(l, empty, local_path(s, "none"), &applied, &e) == 0 && applied, "and again");
    snprintf(own, sizeof own, "finished @job-%lld:1", (long long)none);
    CHECK(store(l, none, local_path(s, "out"), &applied, &e) == 0 && applied &&
              strcmp(output_of(l, none, text), own) == 0,
          "no output asked for: a set of the job's own");
    CHECK(store(l, source, local_path(s, "out"), &applied, &e) == 0 &&
              strcmp(output_of(l, source, text), "finished @Source:1") == 0 &&
              strcmp(edges_of(l, "@Source", text), "") == 0,
          "no input: no edge");
    CHECK(store(l, gone, local_path(s, "nosuch"), &applied, &e) < 0 && !applied &&
              strcmp(output_of(l, gone, text), "queued ") == 0,
          "no directory: %s", e.text);
    failed.to = LAKE_JOB_FAILED;
    CHECK(lake_job_store(l, &failed, local_path(s, "out"), NULL, &e) < 0 && e.kind == ERR_USAGE,
          "what failed has no output: %s", e.text);
    failed = finish(999999);
    CHECK(lake_job_store(l, &failed, local_path(s, "out"), NULL, &e) < 0 && e.kind == ERR_NOTFOUND,
          "%s", e.text);
}

/* Kills the job at the first sign of progress. */
struct killer {
    struct lake *l;
    int64_t id;
};

static bool kill_meanwhile(void *context, uint64_t f, uint64_t b, uint64_t af, uint64_t ab)
{
    struct killer *k = context;
    struct lake_job_change c = {.id = k->id, .to = LAKE_JOB_KILLED, .runtime_s = -1};
    struct err e = {0};

    (void)f, (void)b, (void)af, (void)ab;
    return lake_job_step(k->l, &c, 1, &e) == 0;
}

static void killed(struct scratch *s, struct lake *l)
{
    AUTO(lake) struct lake *other = scratch_open(s);
    int64_t id = submit(l, "@Data", NULL, "Killed");
    struct killer k = {other, id};
    const struct lake_progress progress = {kill_meanwhile, &k};
    struct lake_job_change c = finish(id);
    struct err e = {0};
    char text[200];

    local_text(s, "fresh/one", "fresh content, which must be stored");
    CHECK(lake_job_store(l, &c, local_path(s, "fresh"), &progress, &e) == 0 && !c.applied,
          "killed while it stored %s", e.text);
    CHECK(strcmp(output_of(l, id, text), "killed ") == 0 && versions(l, "Killed") == 0 &&
              scratch_number(l, "SELECT count(*) FROM file WHERE path = '/Killed/one'") == 0 &&
              scratch_number(l, "SELECT count(*) FROM session") == 0,
          "it leaves no version behind: %s", text);
    c = finish(id);
    CHECK(lake_job_store(l, &c, local_path(s, "fresh"), NULL, &e) == 0 && !c.applied,
          "and never will");
}

/* A job that prints tags without end does not fill the lake. */
static void many_tags(struct lake *l)
{
    static char texts[1001][16];
    static const char *pairs[1001];
    int64_t id = submit(l, "@Data", "@Code", "Tagged");
    struct err e = {0};

    for (int i = 0; i < 1001; i++) {
        snprintf(texts[i], sizeof texts[i], "t%d=1", i);
        pairs[i] = texts[i];
    }
    const char *again[] = {"t0=2"};
    CHECK(lake_job_tag(l, id, pairs, 1001, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "t1000"),
          "1,001 keys are too many: %s", e.text);
    CHECK(lake_job_tag(l, id, pairs, 1000, &e) == 0, "1,000 are not");
    CHECK(lake_job_tag(l, id, pairs + 1000, 1, &e) < 0 && e.kind == ERR_USAGE,
          "one more is refused: %s", e.text);
    CHECK(lake_job_tag(l, id, again, 1, &e) == 0, "a key that is there may change");
}

/* Whatever database call fails: all or nothing, and the next try succeeds. */
static void faults(struct scratch *s, struct lake *l)
{
    const char *tag[] = {"k=v"};
    int whole_ones = 0, torn = 0;

    for (int64_t n = 0; n < 1000; n++) {
        int64_t id = submit(l, "@Data", "@Code", "Fault");
        int64_t before = versions(l, "Fault");
        struct err e = {0};
        bool applied;
        AUTO_MEM char *file = mem_printf("fault/%lld/x", (long long)n);
        AUTO_MEM char *directory = mem_printf("fault/%lld", (long long)n);
        local_noise(s, file, 50, (unsigned)n);
        if (lake_job_tag(l, id, tag, 1, &e) < 0)
            break;
        s->calls_left = n;
        int result = store(l, id, local_path(s, directory), &applied, &e);
        bool failed = s->calls_left == 0;
        s->calls_left = -1;
        AUTO_MEM char *sql = mem_printf(
            "SELECT (state = 6) + (output_version IS NOT NULL) + (SELECT count(*) FROM edge"
            " WHERE job = %lld) + (SELECT count(*) FROM meta WHERE kind = 3 AND item ="
            " job.output_version AND value = 'v') FROM job WHERE id = %lld",
            (long long)id, (long long)id);
        int64_t done = scratch_number(l, sql);
        torn += done != (versions(l, "Fault") > before ? 5 : 0) || (result == 0 && done != 5);
        if (!failed && result == 0)
            break;
        if (store(l, id, local_path(s, directory), &applied, &e) < 0 || !applied ||
            versions(l, "Fault") != before + 1 || scratch_number(l, sql) != 5)
            torn++;
        whole_ones++;
    }
    CHECK(whole_ones > 20 && whole_ones < 1000 && torn == 0,
          "%d broken calls: nothing half done (%d), all stored at the second try", whole_ones,
          torn);
    CHECK(scratch_number(l, "SELECT count(*) FROM session") == 0, "no session is left over");
}

/* ---- kill -9 ---- */

struct fuse {
    int64_t left;
};

static bool burn(void *context, const char *sql)
{
    struct fuse *f = context;

    (void)sql;
    if (f->left-- == 0)
        _exit(9);
    return true;
}

/* A process that stores and dies at its nth database call: its exit code. */
static int die_storing(struct scratch *s, int64_t id, const char *directory, int64_t n)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        struct fuse fuse = {.left = n};
        struct lake_options o = scratch_options(s);
        struct err e = {0};
        bool applied;
        o.now_ms = NULL;
        o.allow = burn;
        o.context = &fuse;
        struct lake *l = lake_open(&o, &e);
        _exit(!l || store(l, id, local_path(s, directory), &applied, &e) < 0 || !applied);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void crashes(struct scratch *s)
{
    AUTO(lake) struct lake *l = scratch_open(s);
    int died = 0, bad = 0;

    for (int64_t n = 0; n < 1000; n += 1 + n / 30) {
        int64_t id = submit(l, "@Data", "@Code", "Crash"), before = versions(l, "Crash");
        struct err e = {0};
        bool applied;
        AUTO_MEM char *file = mem_printf("crash/%lld/x", (long long)n);
        AUTO_MEM char *directory = mem_printf("crash/%lld", (long long)n);
        local_noise(s, file, 50, (unsigned)n + 5000);
        int code = die_storing(s, id, directory, n);
        AUTO_MEM char *sql =
            mem_printf("SELECT output_version IS NOT NULL FROM job WHERE id = %lld", (long long)id);
        bad += (scratch_number(l, sql) == 1) != (versions(l, "Crash") == before + 1);
        if (store(l, id, local_path(s, directory), &applied, &e) < 0 || !applied ||
            versions(l, "Crash") != before + 1)
            bad++;
        if (code == 0)
            break;
        died += code == 9;
    }
    CHECK(died > 10 && bad == 0, "killed at %d places: one version each in the end (%d bad)", died,
          bad);
}

/* ---- what others know of it ---- */

static void others(struct scratch *s, struct lake *l)
{
    AUTO(lake) struct lake *bob = scratch_open_as(s, "default", "bob", false);
    const char *pair[] = {"a=b"}, *builtin[] = {"state=x"}, *refs[1];
    const struct lake_remove_options options = {0}, replayable = {.replayable = true};
    struct lake_gc_summary gone = {0};
    struct err e = {0};
    bool applied, final;
    uint64_t removed;
    int64_t id = submit(l, "@Data", NULL, "Own"), bobs = submit(bob, NULL, NULL, "Bobs");

    CHECK(store(bob, id, local_path(s, "out"), &applied, &e) < 0 && e.kind == ERR_DENIED,
          "another's job: %s", e.text);
    CHECK(lake_job_tag(bob, id, pair, 1, &e) < 0 && e.kind == ERR_DENIED, "no tag: %s", e.text);
    CHECK(lake_job_tag(l, id, builtin, 1, &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(store(l, bobs, local_path(s, "out"), &applied, &e) == 0 && applied &&
              scratch_number(l, "SELECT owner = 'bob' FROM fileset WHERE name = 'Bobs'") == 1 &&
              scratch_number(l, "SELECT d.creator = 'bob' FROM set_version v JOIN made d"
                                " ON d.id = v.made JOIN fileset f ON f.id = v.fileset"
                                " WHERE f.name = 'Bobs'") == 1 &&
              strcmp(l->user, "ann") == 0,
          "what an admin stores for bob is bob's %s", e.text);
    refs[0] = "@Data:1";
    CHECK(lake_remove(l, refs, 1, &options, &removed, &e) < 0 && e.kind == ERR_USAGE,
          "the input of a job stays: %s", e.text);
    const char *paths[] = {"/code/main"};
    scratch_set(l, "Wanted", paths, 1);
    int64_t waiting = submit(l, "@Wanted", NULL, NULL);
    refs[0] = "@Wanted:1";
    CHECK(lake_remove(l, refs, 1, &options, &removed, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "is not over"),
          "that of one that waits, too: %s", e.text);
    refs[0] = "/code/main#1";
    CHECK(lake_remove(l, refs, 1, &options, &removed, &e) < 0 && e.kind == ERR_USAGE,
          "and its files: %s", e.text);
    CHECK(lake_job_ask_stop(l, waiting, "", &final, &e) == 0 && final, "it ends");
    refs[0] = "@Wanted:1";
    CHECK(lake_remove(l, refs, 1, &options, &removed, &e) == 0 && removed == 1, "then it may go %s",
          e.text);
    refs[0] = "/Model/model#1";
    CHECK(lake_remove(l, refs, 1, &options, &removed, &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    CHECK(lake_remove(l, refs, 1, &replayable, &removed, &e) == 0, "replayable %s", e.text);
    const struct lake_gc_options gc = {.remove = true};
    CHECK(lake_gc(l, &gc, NULL, NULL, &gone, &e) == 0, "gc %s", e.text);
    AUTO_MEM char *content = local_cat(l, "/Model/model@Model:1");
    CHECK(content && strcmp(content, "weights") == 0, "gc leaves what the set of a job holds");
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    {
        AUTO(lake) struct lake *l = scratch_open(&s);
        inputs(&s, l);
        whole(&s, l);
        reproduced(&s, l);
        together(&s, l);
        without(&s, l);
        killed(&s, l);
        many_tags(l);
        faults(&s, l);
        others(&s, l);
    }
    crashes(&s);
    scratch_clear(&s);
    return TAP_DONE();
}
