/* Says what changed since the last finished job of a stage: its command, variables, inputs, code.
 * advance_job.c and stagecache.c call it. */
#include "base/mem.h"
#include "broker/core/details.h"
#include "broker/pipeline/advance.h"
#include "broker/pipeline/internal.h"
#include "lake/job/job_code.h"
#include "lake/put/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Lines of one answer; the others are counted. */
#define LINES_MAX 100
/* Jobs of the stage's name that are looked at for one of the same pipeline. */
#define JOBS_MAX 50
#define VALUE_SHOWN 60
#define ARENA_BYTES ((size_t)64 << 20)

void why_clear(struct why *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->lines[i]);
    free(w->lines);
    free(w->doubt);
}

void why_add(struct why *w, char *line)
{
    w->lines = mem_room(w->lines, w->n, &w->cap, sizeof *w->lines);
    w->lines[w->n++] = line;
}

char *why_line(const struct why *w)
{
    if (w->n == 0)
        return mem_dup("");
    size_t more = w->n - 1 + w->left_out;
    AUTO_MEM char *others = more ? mem_printf(", and %zu more", more) : mem_dup("");
    AUTO_MEM char *doubt =
        w->doubt ? mem_printf(" (all of the code counts: %s)", w->doubt) : mem_dup("");
    return mem_printf("%s%s%s", w->lines[0], others, doubt);
}

/* ---- the last job ---- */

struct finding {
    const struct run_stage_plan *plan;
    int64_t jobs[JOBS_MAX], runs[JOBS_MAX];
    size_t n;
};

static int see_job(void *context, const struct lake_job *job, struct err *e)
{
    struct finding *f = context;
    const char *output = f->plan->output;
    bool same = output ? job->asked.output && !strcmp(job->asked.output, output)
                       : !job->asked.output && job->asked.run;

    (void)e;
    if (same && f->n < JOBS_MAX) {
        f->runs[f->n] = job->asked.run;
        f->jobs[f->n++] = job->id;
    }
    return 0;
}

/* Whether the run was of the same pipeline, and the job that of its stage. */
static bool is_of_pipeline(const struct advance *a, int64_t id, int64_t job)
{
    AUTO_CLEAR(run) struct run run = {0};

    if (!a->runs || runs_get(a->runs, id, &run, NULL) < 0 || strcmp(run.name, a->run->name) != 0)
        return false;
    for (size_t i = 0; i < run.n_stages; i++)
        if (run.stages[i].job == job)
            return true;
    return false;
}

/* The output names pipeline and stage; without one the run does. */
static int find_last(struct advance *a, size_t i, int64_t *job_out, struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO_MEM struct finding *f = mem_zero(1, sizeof *f);
    const struct lake_job_filter filter = {.states = 1U << LAKE_JOB_FINISHED,
                                           .name = p->name,
                                           .newest_first = true,
                                           .limit = JOBS_MAX};

    f->plan = p;
    *job_out = 0;
    if (lake_job_list(a->lake, &filter, see_job, f, e) < 0)
        return -1;
    for (size_t k = 0; k < f->n && !*job_out; k++)
        if (p->output || is_of_pipeline(a, f->runs[k], f->jobs[k]))
            *job_out = f->jobs[k];
    return 0;
}

/* ---- command and variables ---- */

static bool same_words(const char *const *one, size_t n, const char *const *other, size_t n_other)
{
    if (n != n_other)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(one[i], other[i]) != 0)
            return false;
    return true;
}

static const char *env_of(const struct job_details *d, const char *key)
{
    for (size_t i = 0; i < d->n_envs; i++)
        if (!strcmp(d->envs[i].key, key))
            return d->envs[i].value;
    return NULL;
}

static bool declares(const struct run_stage_plan *p, const char *key)
{
    for (size_t i = 0; i < p->n_envs; i++)
        if (!strcmp(p->envs[i].key, key))
            return true;
    return false;
}

static char *shown(const char *value)
{
    AUTO_MEM char *printable = source_printable(value);

    return mem_printf("%.*s%s", VALUE_SHOWN, printable,
                      strlen(printable) > VALUE_SHOWN ? "..." : "");
}

static void compare_envs(const struct run_stage_plan *p,
                         const struct job_details *d,
                         struct why *out)
{
    for (size_t i = 0; i < p->n_envs; i++) {
        const char *key = p->envs[i].key, *old = env_of(d, key);
        AUTO_MEM char *now = shown(p->envs[i].value ? p->envs[i].value : "");
        AUTO_MEM char *before = shown(old ? old : "");
        if (!old)
            why_add(out, mem_printf("env %s is new: %s", key, now));
        else if (strcmp(old, p->envs[i].value ? p->envs[i].value : "") != 0)
            why_add(out, mem_printf("env %s: %s -> %s", key, before, now));
    }
    for (size_t i = 0; i < d->n_envs; i++)
        if (!advance_env_is_own(d->envs[i].key) && !declares(p, d->envs[i].key))
            why_add(out, mem_printf("env %s is gone", d->envs[i].key));
}

static void compare_image(const char *now, const char *before, struct why *out)
{
    if (strcmp(now, before) != 0)
        why_add(out,
                mem_printf("image: %s -> %s", before[0] ? before : "none", now[0] ? now : "none"));
}

static const char *mount_of(const struct job_details *d, const char *path)
{
    for (size_t i = 0; i < d->n_mounts; i++)
        if (!strcmp(d->mounts[i].key, path))
            return d->mounts[i].value;
    return NULL;
}

/* Their content is input. */
static void compare_mounts(const struct run_stage_plan *p,
                           const struct job_details *d,
                           struct why *out)
{
    size_t same = 0;

    for (size_t i = 0; i < p->n_mounts; i++) {
        const char *old = mount_of(d, p->mounts[i].key);
        same += old != NULL;
        if (!old)
            why_add(out, mem_printf("mount %s is new", p->mounts[i].key));
        else if (strcmp(old, p->mounts[i].value) != 0)
            why_add(out, mem_printf("mount %s is of other data", p->mounts[i].key));
    }
    if (same < d->n_mounts)
        why_add(out, mem_dup("a mount is gone"));
}

static void compare_plan(const struct run_stage_plan *p,
                         const struct lake_job *job,
                         const struct job_details *d,
                         struct why *out)
{
    unsigned nodes = p->nodes > 1 ? p->nodes : 1, before = d->nodes > 1 ? d->nodes : 1;

    if (!same_words(p->command, p->n_command, job->asked.command, job->asked.n_command))
        why_add(out, mem_dup("its command changed"));
    compare_envs(p, d, out);
    if (!same_words(p->secrets, p->n_secrets, d->secrets, d->n_secrets))
        why_add(out, mem_dup("the names of its secrets changed"));
    if (!same_words(p->outputs, p->n_outputs, d->outputs, d->n_outputs))
        why_add(out, mem_dup("its outputs changed"));
    compare_image(p->image ? p->image : "", d->image, out);
    compare_mounts(p, d, out);
    if (nodes != before)
        why_add(out, mem_printf("num_nodes: %u -> %u", before, nodes));
}

/* ---- inputs ---- */

/* Bytes of "@S" in "@S:3 DIGEST", of "/dir/@S" in "/dir/@S:3 DIGEST", of "/dir/" in "/dir/ DIGEST".
 */
static size_t input_name(const char *text)
{
    size_t n = strcspn(text, " ");
    const char *colon = memrchr(text, ':', n), *at = memrchr(text, '@', n);

    return colon && at && at < colon ? (size_t)(colon - text) : n;
}

static const char *same_input(const char *const *list, size_t n, const char *text)
{
    size_t name = input_name(text);

    for (size_t i = 0; i < n; i++)
        if (input_name(list[i]) == name && !memcmp(list[i], text, name))
            return list[i];
    return NULL;
}

static bool same_digest(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i] + strcspn(list[i], " "), text + strcspn(text, " ")))
            return true;
    return false;
}

/* "@S:3" of "/dir/@S:3 DIGEST". */
static char *input_shown(const char *text)
{
    AUTO_MEM char *ref = mem_printf("%.*s", (int)strcspn(text, " "), text);
    const char *at = strrchr(ref, '@');

    return mem_dup(at ? at : ref);
}

static void compare_input(const char *old, const char *now, struct why *out)
{
    AUTO_MEM char *before = input_shown(old);
    AUTO_MEM char *after = input_shown(now);
    const char *number = strrchr(after, ':');

    if (!strcmp(old + strcspn(old, " "), now + strcspn(now, " ")))
        return;
    if (number && strcmp(before, after) != 0)
        why_add(out, mem_printf("input %s -> %s", before, number));
    else
        why_add(out, mem_printf("input %s changed", after));
}

static void compare_inputs(const struct refs *inputs, const struct job_details *d, struct why *out)
{
    const char *const *now = (const char *const *)inputs->texts;

    if (!d->n_inputs && inputs->n)
        return; /* a job of an earlier version: it did not record them */
    for (size_t i = 0; i < inputs->n; i++) {
        const char *old = same_input(d->inputs, d->n_inputs, now[i]);
        AUTO_MEM char *text = input_shown(now[i]);
        if (old)
            compare_input(old, now[i], out);
        else if (!same_digest(d->inputs, d->n_inputs, now[i]))
            why_add(out, mem_printf("input %s is new", text));
    }
    for (size_t i = 0; i < d->n_inputs; i++) {
        AUTO_MEM char *text = input_shown(d->inputs[i]);
        if (!same_input(now, inputs->n, d->inputs[i]) && !same_digest(now, inputs->n, d->inputs[i]))
            why_add(out, mem_printf("input %s is gone", text));
    }
}

/* ---- code ---- */

/* What of the code counts. */
struct counted {
    const struct run_stage_plan *plan;
    const struct usedcode *used; /* NULL: contents of all files */
};

static bool is_used(const struct usedcode *u, const char *path)
{
    for (size_t low = 0, high = u->n; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(path, u->list[middle].path);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static bool name_counts(const struct counted *c, const char *path)
{
    const struct run_stage_plan *p = c->plan;

    for (size_t i = 0; i < p->n_picks; i++)
        if (codefiles_picks(p->picks[i], path))
            return true;
    return p->n_picks == 0 && (!c->used || !codefiles_is_unseen(path) || is_used(c->used, path));
}

static bool content_counts(const struct counted *c, const char *path)
{
    return !c->used || is_used(c->used, path);
}

static void add_file(struct why *out, const char *path, const char *what)
{
    AUTO_MEM char *printable = source_printable(path);

    if (out->n < LINES_MAX)
        why_add(out, mem_printf("%s %s", printable, what));
    else
        out->left_out++;
}

static void compare_file(const struct counted *c,
                         const struct codefile *old,
                         const struct codefile *now,
                         struct why *out)
{
    if (content_counts(c, now->path) && !sha256_equal(&old->digest, &now->digest))
        add_file(out, now->path, "changed");
    if (old->executable != now->executable)
        add_file(out, now->path, now->executable ? "is executable now" : "is not executable now");
}

/* Both lists are sorted. */
static void compare_files(const struct counted *c,
                          const struct codefiles *old,
                          const struct codefiles *now,
                          struct why *out)
{
    for (size_t i = 0, k = 0; i < old->n || k < now->n;) {
        int order = i == old->n   ? 1
                    : k == now->n ? -1
                                  : strcmp(old->list[i].path, now->list[k].path);
        const char *path = order < 0 ? old->list[i].path : now->list[k].path;
        if (name_counts(c, path)) {
            if (order == 0)
                compare_file(c, &old->list[i], &now->list[k], out);
            else
                add_file(out, path, order < 0 ? "is gone" : "is new");
        }
        i += order <= 0;
        k += order >= 0;
    }
}

/* The record says which files count; without one all do, for the reason it gives. */
static int compare_code(struct advance *a,
                        const struct run_stage_plan *p,
                        const struct lake_job *job,
                        struct why *out,
                        struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO_CLEAR(usedcode) struct usedcode used = {0};
    struct counted c = {.plan = p};
    struct lake_job_code record = {0};
    const void *bytes;
    size_t n, before = out->n;

    const struct codefiles *now = codefiles_of(a->lake, &a->code, p->code, e);
    const struct codefiles *old = now ? codefiles_of(a->lake, &a->code, job->asked.code, e) : NULL;
    int found = old ? lake_job_code_load(a->lake, job->id, arena, &record, e) : -1;
    if (found < 0)
        return -1;
    bool learned = stagecache_learns(p) && record.why && !record.why[0];
    if (learned) {
        if (lake_job_code_used(a->lake, record.used, arena, &bytes, &n, e) < 0 ||
            usedcode_read(&used, bytes, n, e) < 0)
            return -1;
        c.used = &used;
    }
    compare_files(&c, old, now, out);
    if (out->n > before && stagecache_learns(p) && !learned)
        out->doubt = mem_dup(record.why ? record.why : "what it used was not recorded");
    if (learned && record.code_version == 0)
        why_add(out, mem_printf("job %" PRId64 " began with a checkpoint that other code had made",
                                job->id));
    return 0;
}

/* ---- all ---- */

static int compare_all(
    struct advance *a, size_t i, const struct refs *inputs, struct why *out, struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    AUTO_CLEAR(job_details) struct job_details details = {0};
    struct err ignored = {0};
    struct lake_job job;

    if (lake_job_load(a->lake, out->job, arena, &job, e) < 0 ||
        job_details_parse(job.asked.details, &details, e) < 0)
        return -1;
    compare_plan(p, &job, &details, out);
    if (inputs)
        compare_inputs(inputs, &details, out);
    if (!p->code != !job.asked.code)
        why_add(out, mem_dup(p->code ? "workdir is new" : "workdir is gone"));
    else if (p->code && compare_code(a, p, &job, out, &ignored) < 0)
        why_add(out, mem_printf("its code changed (%s)", ignored.text));
    if (out->n || !inputs || !p->output)
        return 0;
    int there = job.output_set[0] ? advance_is_there(a->lake, job.output_set, e) : 0;
    if (there == 0)
        why_add(out, mem_printf("its output %s is gone from the lake", job.output_set));
    return there < 0 ? -1 : 0;
}

int why_find(struct advance *a, size_t i, const struct refs *inputs, struct why *out, struct err *e)
{
    if (find_last(a, i, &out->job, e) < 0)
        return -1;
    return out->job ? compare_all(a, i, inputs, out, e) : 0;
}
