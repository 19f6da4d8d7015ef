#include "broker/advance.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "broker/details.h"
#include "lake/job.h"
#include "lake/meta.h"
#include "lake/path.h"
#include "lake/restore.h"
#include "lake/set.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_KEY "cache_key"

struct advance {
    struct runs *runs;
    struct lake *lake;
    struct run *run;
    bool changed; /* something was done: another look is worth it */
    bool new_jobs;
};

char *run_set_name(const char *pipeline, const char *stage, const char *suffix)
{
    char *name = mem_printf("%.50s.%.50s%s", pipeline, stage, suffix);

    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '.' && *c != '_' && *c != '-')
            *c = '-';
    if (!isalnum((unsigned char)name[0]))
        name[0] = 'x';
    return name;
}

static int set_stage(struct advance *a,
                     size_t i,
                     enum run_stage_state state,
                     int64_t job,
                     const char *why,
                     struct err *e)
{
    struct run_stage *s = &a->run->stages[i];

    if (runs_set_stage(a->runs, a->run->id, i, state, job, why, e) < 0)
        return -1;
    s->state = state;
    s->job = job;
    a->changed = true;
    return 0;
}

/* ---- what became of a job ---- */

struct seen_job {
    enum lake_job_state state;
    char reason[2048];
    char output_set[2 * LAKE_NAME_MAX];
    bool found;
};

static int see_job(void *context, const struct lake_job *job, struct err *e)
{
    struct seen_job *seen = context;

    (void)e;
    seen->found = true;
    seen->state = job->state;
    snprintf(seen->reason, sizeof seen->reason, "%s", job->reason);
    snprintf(seen->output_set, sizeof seen->output_set, "%s", job->output_set);
    return 0;
}

static int look_at_job(struct advance *a, size_t i, struct err *e)
{
    struct seen_job seen = {0};
    int64_t job = a->run->stages[i].job;

    if (lake_job_get(a->lake, job, see_job, &seen, e) < 0)
        return -1;
    if (!lake_job_state_final(seen.state))
        return 0;
    enum run_stage_state state = seen.state == LAKE_JOB_FINISHED ? STAGE_FINISHED
                                 : seen.state == LAKE_JOB_KILLED ? STAGE_STOPPED
                                                                 : STAGE_FAILED;
    return set_stage(a, i, state, job, seen.reason, e);
}

/* ---- its input ---- */

struct refs {
    const char **texts; /* owned */
    size_t n, cap;
};

static void refs_clear(struct refs *r)
{
    for (size_t i = 0; i < r->n; i++)
        free((void *)(uintptr_t)r->texts[i]);
    free(r->texts);
}

static void add_ref(struct refs *r, char *text)
{
    r->texts = mem_room(r->texts, r->n, &r->cap, sizeof *r->texts);
    r->texts[r->n++] = text;
}

/* An output is a directory of the set that its stage's job made. */
static int ref_of_output(struct advance *a,
                         const struct run_input *in,
                         struct refs *out,
                         struct err *e)
{
    const struct run_stage *from = &a->run->stages[in->stage];
    struct seen_job seen = {0};

    if (lake_job_get(a->lake, from->job, see_job, &seen, e) < 0)
        return -1;
    if (!seen.output_set[0])
        return err_set(e, ERR_NOTFOUND, "stage %s left nothing in $TRADEWIND_OUTPUT",
                       from->plan.name);
    add_ref(out, in->output[0]
                     ? mem_printf("/%s/%s/%s", from->plan.output, in->output, seen.output_set)
                     : mem_dup(seen.output_set));
    return 0;
}

static int collect_refs(struct advance *a, size_t i, struct refs *out, struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;

    for (size_t k = 0; k < p->n_inputs; k++) {
        if (p->inputs[k].ref)
            add_ref(out, mem_dup(p->inputs[k].ref));
        else if (ref_of_output(a, &p->inputs[k], out, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- whether it was done before ---- */

static void hash_words(struct sha256 *h, const char *what, const char *const *words, size_t n)
{
    sha256_add(h, what, strlen(what) + 1);
    for (size_t i = 0; i < n; i++)
        sha256_add(h, words[i], strlen(words[i]) + 1);
}

static int hash_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    char number[24];
    int n = snprintf(number, sizeof number, "#%" PRId64, entry->number);

    (void)e;
    sha256_add(context, entry->path, strlen(entry->path));
    sha256_add(context, number, (size_t)n + 1);
    return 0;
}

static int hash_input(struct advance *a, const struct refs *refs, struct sha256 *h, struct err *e)
{
    for (size_t i = 0; i < refs->n; i++) {
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        if (lake_resolve(a->lake, refs->texts[i], LAKE_READ, &ref, e) < 0 ||
            lake_every_file(a->lake, &ref, hash_entry, h, e) < 0)
            return -1;
    }
    return 0;
}

/* Of everything that decides what a stage makes: input by its versions, code, command, variables.
 */
static int cache_key(struct advance *a,
                     size_t i,
                     const struct refs *refs,
                     char out[static SHA256_HEX],
                     struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO(sha256) struct sha256 *h = sha256_new();

    hash_words(h, "command", p->command, p->n_command);
    hash_words(h, "outputs", p->outputs, p->n_outputs);
    hash_words(h, "code", &p->code, p->code ? 1 : 0);
    hash_words(h, "output", &p->output, p->output ? 1 : 0);
    for (size_t k = 0; k < p->n_envs; k++) {
        const char *const pair[] = {p->envs[k].key, p->envs[k].value};
        hash_words(h, "env", pair, 2);
    }
    if (hash_input(a, refs, h, e) < 0)
        return -1;
    struct sha256_digest digest = sha256_take(h);
    sha256_text(&digest, out);
    return 0;
}

static int note_found(void *context, const struct lake_found *found, struct err *e)
{
    (void)e;
    if (!strncmp(found->ref, "job:", 4))
        *(int64_t *)context = strtoll(found->ref + 4, NULL, 10);
    return 0;
}

/* Whether a set version (or a part of it) is there with all its content: 1, 0, -1. */
static int is_there(struct lake *l, const char *text, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake_gone gone;

    if (lake_resolve(l, text, LAKE_READ, &ref, NULL) < 0)
        return 0;
    return lake_set_gone(l, &ref, &gone, e) < 0 ? -1 : gone.files == 0;
}

/* A finished job with this key, whose output is still there; 0 = none. */
static int find_done(
    struct advance *a, const char *key, bool has_output, int64_t *job_out, struct err *e)
{
    AUTO_MEM char *expression = mem_printf("kind=job state=finished " CACHE_KEY "=%s", key);
    struct lake_find_options options = {.sort = "create_time", .reverse = true, .limit = 1};
    struct seen_job seen = {0};

    *job_out = 0;
    if (lake_find(a->lake, expression, &options, note_found, job_out, e) < 0)
        return -1;
    if (*job_out == 0 || !has_output)
        return 0;
    if (lake_job_get(a->lake, *job_out, see_job, &seen, e) < 0)
        return -1;
    int there = seen.output_set[0] ? is_there(a->lake, seen.output_set, e) : 0;
    if (there == 0)
        *job_out = 0;
    return there < 0 ? -1 : 0;
}

/* ---- starting a stage ---- */

/* The job that was submitted before a crash, and not written down. */
struct lost_job {
    const char *stage;
    int64_t id;
};

static int see_lost(void *context, const struct lake_job *job, struct err *e)
{
    struct lost_job *lost = context;

    (void)e;
    if (!strcmp(job->asked.name, lost->stage))
        lost->id = job->id;
    return 0;
}

static int find_lost(struct advance *a, size_t i, int64_t *job_out, struct err *e)
{
    struct lost_job lost = {.stage = a->run->stages[i].plan.name};
    struct lake_job_filter filter = {.run = a->run->id};

    if (lake_job_list(a->lake, &filter, see_lost, &lost, e) < 0)
        return -1;
    *job_out = lost.id;
    return 0;
}

static int make_input(
    struct advance *a, size_t i, const struct refs *refs, char **ref_out, struct err *e)
{
    AUTO_MEM char *name = run_set_name(a->run->name, a->run->stages[i].plan.name, ".input");
    struct lake_set set;

    *ref_out = NULL;
    if (refs->n == 0)
        return 0;
    if (lake_set_create(
            a->lake,
            &(struct lake_set_request){.name = name, .refs = refs->texts, .n_refs = refs->n}, &set,
            e) < 0)
        return -1;
    *ref_out = lake_set_ref(name, set.number);
    return 0;
}

static char *details_of(const struct advance *a, size_t i, struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO_MEM struct spec_pair *envs = mem_zero(p->n_envs + 1, sizeof *envs);

    for (size_t k = 0; k < p->n_envs; k++)
        envs[k] = (struct spec_pair){.key = p->envs[k].key, .value = p->envs[k].value};
    AUTO_MEM const char **outputs = mem_zero(p->n_outputs + 1, sizeof *outputs);
    for (size_t k = 0; k < p->n_outputs; k++)
        outputs[k] = p->outputs[k];
    return job_details_text(&(struct job_details){.envs = envs,
                                                  .n_envs = p->n_envs,
                                                  .on = a->run->on,
                                                  .stage = p->name,
                                                  .outputs = outputs,
                                                  .n_outputs = p->n_outputs,
                                                  .checkpoint_s = p->checkpoint_s,
                                                  .price_usd_per_hour = p->price_usd_per_hour},
                            e);
}

/* Its job is submitted, by us or by who was killed behind it. */
static int take_on(struct advance *a, size_t i, int64_t job, const char *key, struct err *e)
{
    AUTO_MEM char *pair = mem_printf(CACHE_KEY "=%s", key);
    const char *const pairs[] = {pair};

    if (lake_job_tag(a->lake, job, pairs, 1, e) < 0)
        return -1;
    return set_stage(a, i, STAGE_GOING, job, "", e);
}

static int submit(
    struct advance *a, size_t i, const struct refs *refs, const char *key, struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO_MEM char *input = NULL;
    int64_t job;

    if (make_input(a, i, refs, &input, e) < 0)
        return -1;
    AUTO_MEM char *details = details_of(a, i, e);
    if (!details)
        return -1;
    struct lake_job_request request = {.name = p->name,
                                       .command = p->command,
                                       .n_command = p->n_command,
                                       .input = input,
                                       .code = p->code,
                                       .output = p->output,
                                       .cpus = p->cpus,
                                       .memory_mb = p->memory_mb,
                                       .time_limit_s = p->time_limit_s,
                                       .run = a->run->id,
                                       .details = details};
    if (lake_job_submit(a->lake, &request, 1, &job, e) < 0)
        return -1;
    a->new_jobs = true;
    return take_on(a, i, job, key, e);
}

/* ---- repeating a job ---- */

/* What stands in place of a set version that the recorded input held. New string. */
static char *swapped_in(struct advance *a, const struct run_input *now, struct err *e)
{
    AUTO_CLEAR(refs) struct refs refs = {0};

    if (now->ref)
        return mem_dup(now->ref);
    if (ref_of_output(a, now, &refs, e) < 0)
        return NULL;
    return mem_dup(refs.texts[0]);
}

static int swap_input(struct advance *a,
                      const struct lake_ref *base,
                      const struct lake_swap *swaps,
                      size_t n,
                      char **input_out,
                      struct err *e)
{
    AUTO_MEM char *old = lake_set_ref(base->set_name, base->number);
    struct lake_set set;

    /* The input is itself one of those that are replaced. */
    for (size_t k = 0; k < n; k++) {
        if (strcmp(swaps[k].old_set, old) == 0) {
            *input_out = mem_printf("%s%s", base->path[1] ? base->path : "", swaps[k].new_set);
            return 0;
        }
    }
    if (lake_set_swap(a->lake, base, swaps, n, &set, e) < 0)
        return -1;
    AUTO_MEM char *ref = lake_set_ref(base->set_name, set.number);
    *input_out = mem_printf("%s%s", base->path[1] ? base->path : "", ref);
    return 0;
}

/* The recorded input where that is right, else the same with what was made since. */
static int repeat_input(struct advance *a, size_t i, char **input_out, struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO_CLEAR(lake_ref) struct lake_ref base = {0};
    AUTO_CLEAR(refs) struct refs now = {0};
    int there = 0;

    if (!p->input)
        return 0;
    if (p->restores && (there = is_there(a->lake, p->input, e)) < 0)
        return -1;
    if (there || p->n_swaps == 0) {
        *input_out = mem_dup(p->input);
        return 0;
    }
    if (lake_resolve(a->lake, p->input, LAKE_READ, &base, e) < 0)
        return -1;
    AUTO_MEM struct lake_swap *swaps = mem_zero(p->n_swaps, sizeof *swaps);
    for (size_t k = 0; k < p->n_swaps; k++) {
        char *ref = swapped_in(a, &p->swaps[k].now, e);
        if (!ref)
            return -1;
        add_ref(&now, ref);
        swaps[k] = (struct lake_swap){p->swaps[k].set, ref};
    }
    return swap_input(a, &base, swaps, p->n_swaps, input_out, e);
}

static int see_details(void *context, const struct lake_job *job, struct err *e)
{
    (void)e;
    *(char **)context = mem_dup(job->asked.details);
    return 0;
}

/* As recorded; what it is to make again is new. */
static char *repeat_details(struct advance *a, size_t i, struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO_CLEAR(job_details) struct job_details details = {0};
    AUTO_MEM char *recorded = NULL;

    if (lake_job_get(a->lake, p->repeats, see_details, &recorded, e) < 0 ||
        job_details_parse(recorded, &details, e) < 0)
        return NULL;
    details.restores = p->restores ? p->restores : "";
    return job_details_text(&details, e);
}

static int repeat_stage(struct advance *a, size_t i, struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO_MEM char *input = NULL;
    AUTO_MEM char *details = repeat_details(a, i, e);
    int64_t job;

    if (!details || find_lost(a, i, &job, e) < 0)
        return -1;
    if (job)
        return set_stage(a, i, STAGE_GOING, job, "", e);
    if (repeat_input(a, i, &input, e) < 0)
        return -1;
    struct lake_job_request request = {.name = p->name,
                                       .command = p->command,
                                       .n_command = p->n_command,
                                       .input = input,
                                       .code = p->code,
                                       .output = p->output,
                                       .cpus = p->cpus,
                                       .memory_mb = p->memory_mb,
                                       .time_limit_s = p->time_limit_s,
                                       .run = a->run->id,
                                       .rerun_of = p->repeats,
                                       .details = details};
    if (lake_job_submit(a->lake, &request, 1, &job, e) < 0)
        return -1;
    a->new_jobs = true;
    return set_stage(a, i, STAGE_GOING, job, "", e);
}

static int start_stage(struct advance *a, size_t i, struct err *e)
{
    AUTO_CLEAR(refs) struct refs refs = {0};
    char key[SHA256_HEX];
    int64_t job;

    if (a->run->stages[i].plan.repeats)
        return repeat_stage(a, i, e);
    if (collect_refs(a, i, &refs, e) < 0 || cache_key(a, i, &refs, key, e) < 0 ||
        find_lost(a, i, &job, e) < 0)
        return -1;
    if (job)
        return take_on(a, i, job, key, e);
    if (!a->run->no_cache) {
        if (find_done(a, key, a->run->stages[i].plan.output != NULL, &job, e) < 0)
            return -1;
        if (job)
            return set_stage(a, i, STAGE_REUSED, job, "", e);
    }
    return submit(a, i, &refs, key, e);
}

/* What cannot be had or may not be read fails the stage; trouble that passes is for the caller. */
static int try_stage(struct advance *a, size_t i, struct err *e)
{
    struct err why = {0};

    if (start_stage(a, i, &why) == 0)
        return 0;
    if (why.kind == ERR_RETRY || why.kind == ERR_IO) {
        *e = why;
        return -1;
    }
    return set_stage(a, i, STAGE_FAILED, 0, why.text, e);
}

/* ---- one look at all stages ---- */

enum needs { NEEDS_MET, NEEDS_OPEN, NEEDS_LOST };

static enum needs needs_of(const struct run *run, size_t i, const char **lost_out)
{
    const struct run_stage_plan *p = &run->stages[i].plan;
    enum needs needs = NEEDS_MET;

    for (size_t k = 0; k < p->n_needs; k++) {
        const struct run_stage *n = &run->stages[p->needs[k]];
        if (n->state == STAGE_FINISHED || n->state == STAGE_REUSED)
            continue;
        if (run_stage_state_final(n->state)) {
            *lost_out = n->plan.name;
            return NEEDS_LOST;
        }
        needs = NEEDS_OPEN;
    }
    return needs;
}

static int step_waiting(struct advance *a, size_t i, struct err *e)
{
    const char *lost = NULL;

    if (a->run->stop_asked)
        return set_stage(a, i, STAGE_STOPPED, 0, "", e);
    switch (needs_of(a->run, i, &lost)) {
    case NEEDS_OPEN:
        return 0;
    case NEEDS_MET:
        return try_stage(a, i, e);
    case NEEDS_LOST:
        break;
    }
    AUTO_MEM char *why = mem_printf("needs %s", lost);
    return set_stage(a, i, STAGE_SKIPPED, 0, why, e);
}

static int step_stage(struct advance *a, size_t i, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];
    bool over;

    if (s->state == STAGE_WAITING)
        return step_waiting(a, i, e);
    if (s->state != STAGE_GOING)
        return 0;
    if (a->run->stop_asked &&
        lake_job_ask_stop(a->lake, s->job, "the run was stopped", &over, e) < 0)
        return -1;
    return look_at_job(a, i, e);
}

static int end_if_over(struct advance *a, struct err *e)
{
    const struct run_stage *failed = NULL;
    bool stopped = false;

    for (size_t i = 0; i < a->run->n_stages; i++) {
        const struct run_stage *s = &a->run->stages[i];
        if (!run_stage_state_final(s->state))
            return 0;
        if (s->state == STAGE_FAILED && !failed)
            failed = s;
        stopped = stopped || s->state == STAGE_STOPPED;
    }
    AUTO_MEM char *why = failed ? mem_printf("stage %s failed", failed->plan.name) : mem_dup("");
    return runs_end(a->runs, a->run->id,
                    failed    ? RUN_FAILED
                    : stopped ? RUN_STOPPED
                              : RUN_FINISHED,
                    why, e);
}

int run_advance(struct runs *runs, struct lake *l, int64_t id, bool *jobs_out, struct err *e)
{
    AUTO_CLEAR(run) struct run run;
    struct advance a = {.runs = runs, .lake = l, .run = &run, .changed = true};

    if (runs_get(runs, id, &run, e) < 0) {
        run = (struct run){0};
        return -1;
    }
    while (a.changed) {
        a.changed = false;
        for (size_t i = 0; i < run.n_stages; i++)
            if (step_stage(&a, i, e) < 0)
                return -1;
    }
    *jobs_out = *jobs_out || a.new_jobs;
    return end_if_over(&a, e);
}

struct ids {
    int64_t *ids;
    size_t n, cap;
};

static int note_id(void *context, const struct run *run, struct err *e)
{
    struct ids *list = context;

    (void)e;
    /* A simulated run is moved by the command that simulates it. */
    if (!strcmp(run->on, "sim"))
        return 0;
    list->ids = mem_room(list->ids, list->n, &list->cap, sizeof *list->ids);
    list->ids[list->n++] = run->id;
    return 0;
}

int runs_advance_all(struct runs *runs, struct lake *l, bool *jobs_out, struct err *e)
{
    struct ids found = {0};
    int result = runs_list(runs, true, 0, note_id, &found, e);
    AUTO_MEM int64_t *ids = found.ids;

    for (size_t i = 0; result == 0 && i < found.n; i++)
        result = run_advance(runs, l, ids[i], jobs_out, e);
    return result;
}
