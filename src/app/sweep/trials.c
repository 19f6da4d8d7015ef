#include "app/sweep/trials.h"

#include "app/core/lake_open.h"
#include "app/run/run.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/learn/template.h"
#include "broker/machine/bill.h"
#include "broker/machine/cap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

void sweep_trials_init(struct sweep_trials *t)
{
    *t = (struct sweep_trials){.arena = arena_new(SIZE_MAX), .map = map_new()};
}

void sweep_trials_clear(struct sweep_trials *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->items[i].ids);
        free(t->items[i].jobs);
        template_words_free(t->items[i].command);
    }
    free(t->items);
    map_free(t->map);
    arena_free(t->arena);
    *t = (struct sweep_trials){0};
}

static bool same_key(const void *things, uint32_t number, const void *key)
{
    const struct sweep_trials *t = things;

    return strcmp(t->items[number].key, key) == 0;
}

static struct sweep_trial *find(const struct sweep_trials *t, const char *key)
{
    uint32_t i = map_find(t->map, hash_text(key), same_key, t, key);

    return i == MAP_NONE ? NULL : &t->items[i];
}

struct sweep_trial *sweep_trials_add(struct sweep_trials *t, const char *key)
{
    if (find(t, key))
        return NULL;
    t->items = mem_room(t->items, t->n, &t->cap, sizeof *t->items);
    struct sweep_trial *trial = &t->items[t->n];
    *trial = (struct sweep_trial){
        .key = arena_dup(t->arena, key), .value = (double)NAN, .step = (double)NAN};
    map_add(t->map, hash_text(key), (uint32_t)t->n++);
    return trial;
}

/* A separator stands before each word; one within a word is doubled. */
static void add_word(struct buf *b, char kind, const char *word)
{
    buf_printf(b, "\x1f%c", kind);
    for (const char *p = word; *p; p++)
        buf_add(b, *p == '\x1f' ? "\x1f\x1f" : p, *p == '\x1f' ? 2 : 1);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct spec_pair *)a)->key, ((const struct spec_pair *)b)->key);
}

char *sweep_job_key(const struct lake_job_request *r, const struct job_details *d)
{
    AUTO_CLEAR(buf) struct buf b;
    AUTO_MEM struct spec_pair *envs = mem_zero(d->n_envs + 1, sizeof *envs);

    buf_init(&b, 4 * LAKE_JOB_TEXT_MAX);
    buf_printf(&b, "%g %llu", r->cpus, (unsigned long long)r->memory_mb);
    for (size_t i = 0; i < r->n_command; i++)
        add_word(&b, ' ', r->command[i]);
    if (d->n_envs)
        memcpy(envs, d->envs, d->n_envs * sizeof *envs);
    qsort(envs, d->n_envs, sizeof *envs, by_name);
    for (size_t i = 0; i < d->n_envs; i++) {
        add_word(&b, '$', envs[i].key);
        add_word(&b, '=', envs[i].value);
    }
    return mem_dup(buf_str(&b));
}

static void push(int64_t **ids, size_t *n, size_t *cap, int64_t id)
{
    *ids = mem_room(*ids, *n, cap, sizeof **ids);
    (*ids)[(*n)++] = id;
}

/* ---- jobs ---- */

struct looking {
    struct sweep_trials *t;
    const struct config *config;
    const struct open_bills *open;
    int64_t now_ms;
};

/* A trial that finished once has finished; else its last job counts. */
static void note_state(struct sweep_trials *t,
                       struct sweep_trial *trial,
                       const struct lake_job *job)
{
    if (trial->state == HALVING_ENDED)
        return;
    trial->id = job->id;
    trial->is_stopping = job->stop_asked;
    trial->state_text = lake_job_state_text(job->state);
    if (job->state == LAKE_JOB_FINISHED) {
        trial->state = HALVING_ENDED;
        trial->output = *job->output_set ? arena_dup(t->arena, job->output_set) : NULL;
    } else if (!lake_job_is_over(job)) {
        trial->state = HALVING_RUNNING;
    } else if (job->state == LAKE_JOB_KILLED &&
               strncmp(job->stop_reason, SWEEP_HALVING, strlen(SWEEP_HALVING)) == 0) {
        trial->state = HALVING_PAUSED;
        trial->state_text = "stopped";
    } else {
        trial->state = HALVING_FAILED;
    }
}

static int note_job(void *context, const struct lake_job *job, struct err *e)
{
    struct looking *k = context;
    AUTO_CLEAR(job_details) struct job_details d = {0};

    (void)e;
    /* Most jobs have no variables of their own, and are not parsed for that. */
    if (job->asked.details && strstr(job->asked.details, "\"env\":"))
        app_job_read_details(job, &d);
    AUTO_MEM char *key = sweep_job_key(&job->asked, &d);
    struct sweep_trial *trial = find(k->t, key);
    if (!trial && k->t->adds)
        trial = sweep_trials_add(k->t, key);
    if (!trial)
        return 0;
    note_state(k->t, trial, job);
    push(&trial->ids, &trial->n, &trial->cap, job->id);
    push(&trial->jobs, &trial->n_jobs, &trial->cap_jobs, job->id);
    double runtime_s = app_job_runtime_s(job);
    trial->runtime_s += runtime_s > 0 ? runtime_s : 0;
    int64_t cost = bill_microusd(k->config, k->open, job, k->now_ms);
    trial->cost_microusd += cost;
    k->t->cost_microusd += cost;
    return 0;
}

/* ---- runs ---- */

struct run_ids {
    int64_t *ids;
    size_t n, cap;
};

static int note_id(void *context, const struct run *r, struct err *e)
{
    struct run_ids *all = context;

    (void)e;
    push(&all->ids, &all->n, &all->cap, r->id);
    return 0;
}

static void note_run_state(struct sweep_trial *trial, const struct run *r)
{
    static const char *const texts[] = {"", "running", "finished", "failed", "stopped"};

    if (trial->state == HALVING_ENDED)
        return;
    bool by_halving = strncmp(r->stop_reason, SWEEP_HALVING, strlen(SWEEP_HALVING)) == 0;
    trial->id = r->id;
    trial->is_stopping = r->stop_asked > 0;
    trial->state_text = r->state == RUN_STOPPED && !by_halving ? "killed" : texts[r->state];
    trial->state = r->state == RUN_GOING      ? HALVING_RUNNING
                   : r->state == RUN_FINISHED ? HALVING_ENDED
                   : by_halving               ? HALVING_PAUSED
                                              : HALVING_FAILED;
}

/* The output of a run is that of its last stage which has one. */
static int note_run(struct looking *k, struct app *app, int64_t id, struct err *e)
{
    AUTO_CLEAR(run) struct run r = {0};
    int64_t cost = 0;

    if (app_run_load(app, id, &r, e) < 0)
        return -1;
    struct sweep_trial *trial = find(k->t, r.params);
    if (!trial && k->t->adds) {
        trial = sweep_trials_add(k->t, r.params);
        trial->params = trial->key;
    }
    if (!trial)
        return 0;
    note_run_state(trial, &r);
    push(&trial->ids, &trial->n, &trial->cap, id);
    for (size_t i = 0; i < r.n_stages; i++) {
        struct app_run_job job;
        if (r.stages[i].job)
            push(&trial->jobs, &trial->n_jobs, &trial->cap_jobs, r.stages[i].job);
        if (r.state != RUN_FINISHED)
            continue;
        if (app_run_job_recorded(app_lake(app, e), id, &r.stages[i], &job, e) < 0)
            return -1;
        if (job.output_set[0])
            trial->output = arena_dup(k->t->arena, job.output_set);
    }
    if (app_run_cost(app, k->open, &r, &cost, e) < 0)
        return -1;
    int64_t end_ms = r.ended_ms ? r.ended_ms : k->now_ms;
    trial->runtime_s += (double)(end_ms - r.created_ms) / 1000;
    trial->cost_microusd += cost;
    k->t->cost_microusd += cost;
    return 0;
}

static int look_at_runs(struct looking *k, struct app *app, const char *name, struct err *e)
{
    struct runs *runs = app_runs(app, e);
    struct run_ids all = {0};

    if (!runs)
        return -1;
    int result = runs_of_sweep(runs, name, note_id, &all, e);
    for (size_t i = 0; result == 0 && i < all.n; i++)
        result = note_run(k, app, all.ids[i], e);
    free(all.ids);
    return result;
}

static void forget(struct sweep_trials *t)
{
    t->cost_microusd = 0;
    for (size_t i = 0; i < t->n; i++) {
        struct sweep_trial *trial = &t->items[i];
        trial->state = HALVING_NEW;
        trial->n = trial->n_jobs = 0;
        trial->id = 0;
        trial->is_stopping = false;
        trial->runtime_s = 0;
        trial->cost_microusd = 0;
    }
}

int sweep_trials_look(struct sweep_trials *t,
                      struct app *app,
                      const struct sweep_plan *plan,
                      struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};
    AUTO_MEM char *name = mem_printf("sweep %s", plan->name);
    const struct lake_job_filter mine = {.name = name};
    struct lake *l = app_lake(app, e);
    const char *home = app_home(app, e);
    struct looking k = {
        .t = t, .config = app_config(app, e), .open = &open, .now_ms = time_epoch_ms()};

    if (!l || !home || !k.config || open_bills_read(home, k.now_ms, &open, e) < 0)
        return -1;
    forget(t);
    return plan->is_pipeline ? look_at_runs(&k, app, plan->name, e)
                             : lake_job_list(l, &mine, note_job, &k, e);
}

/* ---- metrics ---- */

struct measuring {
    struct sweep_trial *trial;
    const struct sweep_plan *plan;
    char *found; /* a metric, where the plan names none */
    size_t n_found;
};

static int note_series(void *context, const struct lake_job_series *s, struct err *e)
{
    struct measuring *g = context;
    struct sweep_trial *t = g->trial;

    (void)e;
    if (strcmp(s->name, g->plan->metric) == 0 && (isnan(t->step) || s->last_step >= t->step)) {
        t->step = s->last_step;
        t->value = s->last;
    }
    return 0;
}

/* Rungs that the job reached. The value of a rung is the first at its step or beyond. */
static int measure_rungs(struct lake *l,
                         const struct sweep_plan *plan,
                         size_t n_rungs,
                         int64_t job,
                         struct sweep_trial *trial,
                         struct err *e)
{
    int there = 1;

    while (there == 1 && trial->reached < n_rungs) {
        there = lake_job_metric_from(l, job, plan->metric,
                                     halving_step(plan->first_step, trial->reached),
                                     &trial->rungs[trial->reached], e);
        trial->reached += there == 1;
    }
    return there < 0 ? -1 : 0;
}

static int measure(struct sweep_trials *t,
                   struct app *app,
                   const struct sweep_plan *plan,
                   struct sweep_trial *trial,
                   struct err *e)
{
    struct measuring g = {.trial = trial, .plan = plan};
    struct lake *l = app_lake(app, e);

    trial->value = trial->step = (double)NAN;
    trial->reached = 0;
    for (size_t i = 0; i < trial->n_jobs; i++) {
        struct err why = {0};
        int result = measure_rungs(l, plan, t->n_rungs, trial->jobs[i], trial, &why);
        if (result == 0)
            result = lake_job_summaries(l, trial->jobs[i], note_series, &g, &why);
        /* A job that was removed has none any more. */
        if (result < 0 && why.kind != ERR_NOTFOUND)
            return err_set(e, why.kind, "%s", why.text);
    }
    /* A trial that ended before a rung counts there with its last value. */
    while (trial->state == HALVING_ENDED && trial->reached < t->n_rungs)
        trial->rungs[trial->reached++] = trial->value;
    return 0;
}

int sweep_trials_measure(struct sweep_trials *t,
                         struct app *app,
                         const struct sweep_plan *plan,
                         struct err *e)
{
    for (size_t i = 0; plan->metric && i < t->n; i++) {
        struct sweep_trial *trial = &t->items[i];
        bool is_over = trial->state != HALVING_RUNNING;
        if (!trial->n || (is_over && trial->n_read == trial->n))
            continue;
        if (measure(t, app, plan, trial, e) < 0)
            return -1;
        trial->n_read = is_over ? trial->n : 0;
    }
    return 0;
}

static int find_series(void *context, const struct lake_job_series *s, struct err *e)
{
    struct measuring *g = context;

    (void)e;
    bool is_loss = strcmp(s->name, "loss") == 0;
    if (!g->found || is_loss) {
        free(g->found);
        g->found = mem_dup(s->name);
    }
    g->n_found += is_loss ? 0 : 1;
    return 0;
}

int sweep_trials_find_metric(const struct sweep_trials *t,
                             struct app *app,
                             struct sweep_plan *plan,
                             struct err *e)
{
    struct measuring g = {0};
    size_t i = 0;

    while (i < t->n && t->items[i].state != HALVING_ENDED)
        i++;
    for (size_t k = 0; !plan->metric && i < t->n && k < t->items[i].n_jobs; k++) {
        struct lake *l = app_lake(app, e);
        struct err why = {0};
        if (!l || (lake_job_summaries(l, t->items[i].jobs[k], find_series, &g, &why) < 0 &&
                   why.kind != ERR_NOTFOUND)) {
            free(g.found);
            return l ? err_set(e, why.kind, "%s", why.text) : -1;
        }
    }
    if (!g.found)
        return 0;
    if (strcmp(g.found, "loss") != 0 && g.n_found > 1) {
        free(g.found);
        return 0;
    }
    plan->metric = g.found;
    plan->less_is_better = app_metric_falls(g.found);
    return 0;
}
