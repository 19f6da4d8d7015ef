/* Content that is let go because jobs make it again, and comes back under its old version. */
#include "base/arena.h"
#include "lake/clean/clean.h"
#include "lake/job/job.h"
#include "lake/set/set.h"
#include "local.h"
#include "tap.h"

#include <string.h>

static const char *const command[] = {"train"};

static int64_t submit(struct lake *l, const char *input, const char *output)
{
    const struct lake_job_request r = {
        .command = command, .n_command = 1, .input = input, .output = output, .cpus = 1};
    struct err e = {0};
    int64_t id = 0;

    CHECK(lake_job_submit(l, &r, 1, &id, &e) == 0, "job %lld %s", (long long)id, e.text);
    return id;
}

/* set NULL: a first time. */
static int64_t run_job(struct scratch *s,
                       struct lake *l,
                       const char *input,
                       const char *output,
                       const char *directory,
                       const char *set)
{
    int64_t id = submit(l, input, output);
    struct lake_job_change c = {.id = id,
                                .to = LAKE_JOB_FINISHED,
                                .runtime_s = 1,
                                .cost_microusd = 5,
                                .cost_basis = "unit prices"};
    struct err e = {0};
    int result = set ? lake_job_restore(l, &c, local_path(s, directory), set, NULL, &e)
                     : lake_job_store(l, &c, local_path(s, directory), NULL, &e);

    CHECK(result == 0 && c.applied, "stored %s", e.text);
    return id;
}

static const char *output_of(struct lake *l, int64_t id, char out[static 100])
{
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct lake_job j;
    struct err e = {0};

    if (lake_job_load(l, id, arena, &j, &e) < 0)
        snprintf(out, 100, "%.90s", e.text);
    else
        snprintf(out, 100, "%s", j.output_set);
    return out;
}

static struct lake_ref resolve(struct lake *l, const char *text)
{
    struct lake_ref ref = {0};
    struct err e = {0};

    if (lake_resolve(l, text, LAKE_READ, &ref, &e) < 0)
        CHECK(false, "%s: %s", text, e.text);
    return ref;
}

static uint64_t gone(struct lake *l, const char *text)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = resolve(l, text);
    struct lake_gone out;
    struct err e = {0};

    return lake_set_gone(l, &ref, &out, &e) < 0 ? UINT64_MAX : out.files;
}

static int note_spare(void *context, const struct lake_spare *spare, struct err *e)
{
    char *out = context;

    (void)e;
    snprintf(out + strlen(out), 200 - strlen(out), "%s %llu ", spare->ref,
             (unsigned long long)spare->only_bytes);
    return 0;
}

static const char *spares(struct lake *l, char out[static 200])
{
    struct err e = {0};

    out[0] = 0;
    if (lake_spare_list(l, note_spare, out, &e) < 0)
        snprintf(out, 200, "%.150s", e.text);
    return out;
}

static struct lake_gc_summary release(struct lake *l, const char *text)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = resolve(l, text);
    struct lake_gc_options o = {.remove = true, .release = &ref.set_version, .n_release = 1};
    struct lake_gc_summary s = {0};
    struct err e = {0};

    CHECK(lake_gc(l, &o, NULL, NULL, &s, &e) == 0, "let go of %s %s", text, e.text);
    return s;
}

static int ignore(void *context, const char *text, struct err *e)
{
    (void)context;
    (void)e;
    printf("# %s\n", text);
    return 0;
}

static uint64_t problems(struct lake *l)
{
    struct lake_fsck_summary s = {0};
    struct err e = {0};

    return lake_fsck(l, NULL, ignore, NULL, &s, &e) < 0 ? UINT64_MAX : s.problems;
}

/* In: /data/a, loose /alone. A (5 + 4 bytes) -> a set by hand of A's "x" and /alone -> B. */
static void fill(struct scratch *s, struct lake *l)
{
    static const char *const data[] = {"/data/a"};
    const char *refs[] = {"/A/x/@A:1", "/alone"};
    const struct lake_set_request mixed = {.name = "Mixed", .refs = refs, .n_refs = 2};
    struct err e = {0};

    scratch_put(l, "/data/a", "a", &e);
    scratch_put(l, "/alone", "only copy", &e);
    scratch_set(l, "Data", data, 1);
    local_text(s, "a/x/1", "x one");
    local_text(s, "a/y/1", "why?");
    local_text(s, "b/1", "b");
    run_job(s, l, "@Data", "A", "a", NULL);
    CHECK(lake_set_create(l, &mixed, NULL, &e) == 0, "a set by hand %s", e.text);
    run_job(s, l, "@Mixed", "B", "b", NULL);
}

static void who_is_spare(struct lake *l)
{
    const char *pins[] = {"@A:1"}, *alone[] = {"@Mixed:1"};
    AUTO_CLEAR(lake_ref) struct lake_ref b = resolve(l, "@B:1");
    struct err e = {0};
    char text[200];

    CHECK(strcmp(spares(l, text), "@A:1 9 @B:1 1 ") == 0, "A holds 5 + 4 bytes, B one: %s", text);
    lake_pin(l, pins, 1, &e);
    CHECK(strcmp(spares(l, text), "@B:1 1 ") == 0, "not what is pinned: %s", text);
    lake_unpin(l, pins, 1, &e);
    lake_pin(l, alone, 1, &e);
    CHECK(strcmp(spares(l, text), "@A:1 4 @B:1 1 ") == 0,
          "what a pinned set made of it holds is not its alone: %s", text);
    lake_unpin(l, alone, 1, &e);
    lake_alias_set(l, &b, "best", &e);
    CHECK(strcmp(spares(l, text), "@A:1 9 ") == 0, "not what has an alias: %s", text);
    lake_alias_remove(l, "@B:best", &e);
    int64_t waiting = submit(l, "@A", "C");
    CHECK(strcmp(spares(l, text), "@B:1 1 ") == 0, "not what a job waits for: %s", text);
    bool over;
    lake_job_ask_stop(l, waiting, "", &over, &e);
    CHECK(strcmp(spares(l, text), "@A:1 9 @B:1 1 ") == 0, "until it is over: %s", text);
}

static void away_and_back(struct scratch *s, struct lake *l)
{
    char text[200];
    struct lake_gc_summary sum = release(l, "@A:1");

    CHECK(sum.objects == 2 && sum.bytes == 9, "A's 9 bytes go, and nothing else");
    CHECK(gone(l, "@A:1") == 2 && gone(l, "/A/x/@A:1") == 1 && gone(l, "@Mixed:1") == 1 &&
              gone(l, "@B:1") == 0,
          "what is gone is told of a set and of its parts");
    AUTO_MEM char *kept = local_cat(l, "/alone");
    CHECK(kept && strcmp(kept, "only copy") == 0, "what no job makes stays");
    CHECK(problems(l) == 0, "fsck knows why it is gone");
    int64_t again = run_job(s, l, "@Data", "A", "a", "@A:1");
    CHECK(strcmp(output_of(l, again, text), "@A:1") == 0, "the same again: %s", text);
    CHECK(scratch_number(l, "SELECT COUNT(*) FROM set_version") == 4, "no new version");
    CHECK(gone(l, "@A:1") == 0 && gone(l, "@Mixed:1") == 0 && problems(l) == 0, "all is back");
    AUTO_CLEAR(lake_ref) struct lake_ref a = resolve(l, "@A:1");
    struct lake_lineage_cost cost;
    struct err e = {0};
    int64_t maker = 0;
    CHECK(lake_lineage_cost(l, &a, NULL, &cost, &e) == 0 && cost.jobs == 1 &&
              cost.cost_microusd == 5,
          "it cost what the first job cost");
    CHECK(lake_set_maker(l, a.set_version, &maker, &e) == 0 && maker == again - 3,
          "which is the one that made it");
}

static void another_one(struct scratch *s, struct lake *l)
{
    static const struct lake_swap swaps[] = {{"@A:1", "@A:2"}};
    AUTO_CLEAR(lake_ref) struct lake_ref mixed = resolve(l, "@Mixed:1");
    struct lake_set made;
    struct err e = {0};
    char text[200];

    local_text(s, "other/x/1", "x two");
    local_text(s, "other/x/2", "more");
    local_text(s, "other/y/1", "why?");
    int64_t id = run_job(s, l, "@Data", "A", "other", "@A:1");
    CHECK(strcmp(output_of(l, id, text), "@A:2") == 0, "other content is a new version: %s", text);
    CHECK(scratch_number(l, "SELECT COUNT(*) FROM meta m JOIN meta_key k ON k.id = m.key WHERE"
                            " k.name = 'non_deterministic' AND m.value = '@A:1'") == 1,
          "that says of which");
    CHECK(strcmp(spares(l, text), "@B:1 1 ") == 0, "neither of the two is let go then: %s", text);

    CHECK(lake_set_swap(l, &mixed, swaps, 1, &made, &e) == 0 && made.number == 2 && made.files == 3,
          "made anew with the other: %s", e.text);
    AUTO_MEM char *one = local_cat(l, "/A/x/1@Mixed:2"), *more = local_cat(l, "/A/x/2@Mixed:2"),
                  *alone = local_cat(l, "/alone@Mixed:2"), *why = local_cat(l, "/A/y/1@Mixed:2");
    CHECK(one && !strcmp(one, "x two") && more && !strcmp(more, "more"),
          "it has all of the directory that it held");
    CHECK(alone && !strcmp(alone, "only copy") && !why,
          "what else it held, and no other directory");
    CHECK(scratch_number(l, "SELECT COUNT(*) FROM edge e JOIN set_version c ON c.id = e.child"
                            " JOIN set_version p ON p.id = e.parent WHERE c.number = 2 AND"
                            " p.number = 2 AND e.kind = 1") == 1,
          "and comes from the other");
    CHECK(problems(l) == 0, "fsck");
}

static void denied(struct scratch *s)
{
    AUTO(lake) struct lake *l = scratch_open_as(s, "default", "bob", false);
    struct err e = {0};

    CHECK(lake_spare_list(l, note_spare, NULL, &e) < 0 && e.kind == ERR_DENIED,
          "only for the admin: %s", e.text);
}

int main(void)
{
    struct scratch s;

    scratch_init_fast(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    fill(&s, l);
    who_is_spare(l);
    away_and_back(&s, l);
    another_one(&s, l);
    denied(&s);
    scratch_clear(&s);
    return TAP_DONE();
}
