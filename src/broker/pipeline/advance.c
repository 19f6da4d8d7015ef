#include "broker/pipeline/advance.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/ids.h"
#include "broker/core/secrets.h"
#include "broker/machine/cap.h"
#include "broker/pipeline/internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char *advance_set_name(const char *pipeline, const char *stage, const char *suffix)
{
    char *name = mem_printf("%.50s.%.50s%s", pipeline, stage, suffix);

    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '.' && *c != '_' && *c != '-')
            *c = '-';
    if (!isalnum((unsigned char)name[0]))
        name[0] = 'x';
    return name;
}

int advance_set_stage(struct advance *a,
                      size_t i,
                      enum run_stage_state state,
                      int64_t job,
                      const char *why,
                      struct err *e)
{
    struct run_stage *s = &a->run->stages[i];

    if (runs_set_stage(a->runs, a->run->id, i, state, job, why, e) < 0)
        return -1;
    const char *kept = arena_dup(a->run->priv, why);
    s->reason = kept ? kept : "";
    s->attempts += state == STAGE_GOING && job != s->job;
    s->state = state;
    s->job = job;
    a->changed = true;
    return 0;
}

int advance_read_job(struct advance *a, int64_t job, struct job_outcome *out, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct lake_job record;

    *out = (struct job_outcome){0};
    if (lake_job_load(a->lake, job, arena, &record, e) < 0)
        return -1;
    out->state = record.state;
    out->ran = record.started_ms != 0;
    out->is_over = lake_job_is_over(&record);
    if (record.state == LAKE_JOB_UNSAVED)
        snprintf(out->reason, sizeof out->reason,
                 "its output is unsaved: %s; `tradewind job save %" PRId64 "` stores it, and `run "
                 "--resume` then continues",
                 record.reason, job);
    else
        snprintf(out->reason, sizeof out->reason, "%s", record.reason);
    snprintf(out->output_set, sizeof out->output_set, "%s", record.output_set);
    return 0;
}

/* A missing or unreadable input fails the stage; the caller retries passing errors. */
static int try_stage(struct advance *a, size_t i, struct err *e)
{
    struct err why = {0};

    if (advance_start(a, i, &why) == 0)
        return 0;
    if (why.kind == ERR_RETRY || why.kind == ERR_IO) {
        *e = why;
        return -1;
    }
    return advance_set_stage(a, i, STAGE_FAILED, a->run->stages[i].job, why.text, e);
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
        return advance_set_stage(a, i, STAGE_STOPPED, a->run->stages[i].job, a->run->stop_reason,
                                 e);
    switch (needs_of(a->run, i, &lost)) {
    case NEEDS_OPEN:
        return 0;
    case NEEDS_MET:
        return try_stage(a, i, e);
    case NEEDS_LOST:
        break;
    }
    AUTO_MEM char *why = mem_printf("needs %s", lost);
    return advance_set_stage(a, i, STAGE_SKIPPED, 0, why, e);
}

static int step_stage(struct advance *a, size_t i, struct err *e)
{
    const struct run_stage *s = &a->run->stages[i];

    if (s->state == STAGE_WAITING)
        return step_waiting(a, i, e);
    if (s->state != STAGE_GOING)
        return 0;
    const char *why = a->run->stop_reason[0] ? a->run->stop_reason : "the run was stopped";
    if (a->run->stop_asked && advance_stop(a, i, why, e) < 0)
        return -1;
    return advance_look(a, i, e);
}

/* Stages that were served have made what one of them stored together. */
static int join_provenance(struct advance *a, struct err *e)
{
    const struct run *r = a->run;
    bool served = false;

    for (size_t i = 0; i < r->n_stages; i++)
        served = served || r->stages[i].plan.serves;
    for (size_t i = 0; served && i < r->n_stages; i++)
        for (size_t k = 0; r->stages[i].plan.output && k < r->n_stages; k++)
            if (k != i && !r->stages[k].plan.serves &&
                lake_job_made_with(a->lake, r->stages[i].job, r->stages[k].job, e) < 0)
                return -1;
    return 0;
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
    AUTO_MEM char *why = failed    ? mem_printf("stage %s failed", failed->plan.name)
                         : stopped ? mem_dup(a->run->stop_reason)
                                   : mem_dup("");
    if (!failed && !stopped && join_provenance(a, e) < 0)
        return -1;
    secrets_remove(runs_home(a->runs), a->run->id);
    return runs_end(a->runs, a->run->id,
                    failed    ? RUN_FAILED
                    : stopped ? RUN_STOPPED
                              : RUN_FINISHED,
                    why, e);
}

static int stop_run(struct advance *a, const char *why, struct err *e)
{
    a->run->stop_asked = 1;
    a->run->stop_reason = arena_dup(a->run->priv, why);
    return runs_ask_stop_for(a->runs, a->run->id, why, e);
}

/* Asks a run that spent too much to stop, with a reason for its stages. */
static int hold_to_cap(struct advance *a, struct err *e)
{
    char why[CAP_REASON];

    if (!a->config || a->run->stop_asked)
        return 0;
    int over = cap_run_over(a->config, a->lake, a->run, time_epoch_ms(), why, e);
    return over <= 0 ? over : stop_run(a, why, e);
}

bool advance_is_served(const struct advance *a)
{
    for (size_t i = 0; i < a->run->n_stages; i++)
        if (!a->run->stages[i].plan.serves && !run_stage_state_final(a->run->stages[i].state))
            return false;
    return true;
}

/* Stages that are served need each other: without the one that failed the others would wait for
 * ever. */
static int stop_for_failed(struct advance *a, struct err *e)
{
    const struct run_stage *failed = NULL;
    bool served = false;

    for (size_t i = 0; i < a->run->n_stages; i++) {
        const struct run_stage *s = &a->run->stages[i];
        served = served || s->plan.serves;
        failed = s->state == STAGE_FAILED && !failed ? s : failed;
    }
    if (!served || !failed || a->run->stop_asked)
        return 0;
    AUTO_MEM char *why = mem_printf("stage %s failed", failed->plan.name);
    a->changed = true;
    return stop_run(a, why, e);
}

static int end_services(struct advance *a, struct err *e)
{
    if (!advance_is_served(a))
        return 0;
    for (size_t i = 0; i < a->run->n_stages; i++) {
        const struct run_stage *s = &a->run->stages[i];
        if (s->plan.serves && s->state == STAGE_GOING &&
            advance_stop(a, i, "the stages it served are over", e) < 0)
            return -1;
    }
    return 0;
}

/* A stage that ended may have used up what the next one was to cost. */
static int step_all(struct advance *a, struct err *e)
{
    while (a->changed) {
        a->changed = false;
        if (hold_to_cap(a, e) < 0)
            return -1;
        for (size_t i = 0; i < a->run->n_stages; i++)
            if (step_stage(a, i, e) < 0)
                return -1;
        if (stop_for_failed(a, e) < 0 || end_services(a, e) < 0)
            return -1;
    }
    return end_if_over(a, e);
}

static int advance_one(struct runs *runs,
                       struct lake *l,
                       const struct config *c,
                       int64_t id,
                       bool *jobs_out,
                       struct err *e)
{
    AUTO_CLEAR(run) struct run run;
    struct advance a = {.runs = runs, .lake = l, .config = c, .run = &run, .changed = true};

    if (runs_get(runs, id, &run, e) < 0) {
        run = (struct run){0};
        return -1;
    }
    int result = step_all(&a, e);
    codefiles_cache_clear(&a.code);
    *jobs_out = *jobs_out || a.new_jobs;
    return result;
}

static int note_id(void *context, const struct run *run, struct err *e)
{
    struct ids *list = context;

    (void)e;
    /* A simulated run is moved by the command that simulates it. */
    if (!strcmp(run->on, "sim"))
        return 0;
    ids_add(list, run->id);
    return 0;
}

/* The project's month is used up: everything stops. */
static int hold_to_month(struct runs *runs,
                         struct lake *l,
                         const struct config *c,
                         const struct ids *running,
                         struct err *e)
{
    char why[CAP_REASON];
    int over = c ? cap_month_over(c, l, time_epoch_ms(), why, e) : 0;

    if (over <= 0)
        return over;
    for (size_t i = 0; i < running->n; i++)
        if (runs_ask_stop_for(runs, running->list[i], why, e) < 0)
            return -1;
    return cap_stop_all(l, why, e);
}

int advance_runs(struct runs *runs, struct lake *l, bool *jobs_out, struct err *e)
{
    /* Commands report a configuration that cannot be read. */
    AUTO(config) struct config *c = config_load(runs_home(runs), NULL);
    AUTO_CLEAR(ids) struct ids found = {0};
    int result = runs_list(runs, true, 0, note_id, &found, e);

    if (result == 0)
        result = hold_to_month(runs, l, c, &found, e);
    for (size_t i = 0; result == 0 && i < found.n; i++)
        result = advance_one(runs, l, c, found.list[i], jobs_out, e);
    return result;
}
