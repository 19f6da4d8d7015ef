/* start: the operation sweep.start: makes the trials of a sweep, starts them as slots become free,
 * and ranks them. `tradewind sweep` calls it. All state is in the records of jobs and runs, so that
 * the same request continues what a killed one began. */
#include "app/job/cloud.h"
#include "app/job/gpus.h"
#include "app/job/resources.h"
#include "app/sweep/trials.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/core/runs.h"
#include "broker/daemon/checkpoint.h"
#include "broker/learn/profile.h"
#include "broker/learn/template.h"
#include "lake/core/path.h"
#include "spec/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Between looks at the records. */
#define LOOK_S 0.5
#define LOOK_SLOTS_S 0.1
/* How often hosts save $TRADEWIND_CHECKPOINT of a trial that halving may stop. */
#define CHECKPOINT_S 60

enum search { SEARCH_GRID = 1, SEARCH_RANDOM, SEARCH_HALVING };
static const char *const search_choices[] = {NULL, "grid", "random", "halving"};
static const char *const goal_choices[] = {NULL, "min", "max"};

struct sweep_request {
    const char *name;
    struct field_list command, param, env;
    unsigned search;
    int64_t trials, seed;
    const char *metric;
    unsigned goal;
    double min_steps;
    int64_t max_microusd;
    int64_t parallel;
    const char *output, *input, *code;
    double cpus;
    const char *memory, *gpus, *metrics;
    const char *on;
    bool spot;
    const char *region;
    double max_hourly_usd;
    bool without_gpus, wait;
};

/* clang-format off */
#define SWEEP(TYPE, member) FIELD(TYPE, struct sweep_request, member)
static const struct field sweep_fields[] = {
    {"name", SWEEP(TEXT, name), .required = true, .operand = true, .help = "Name of the sweep."},
    {"command", SWEEP(LIST, command), .required = true, .operand = true,
     .help = "Words of the command, with parameters as in --rate={0.1,0.2} or {lr=log:1e-5..1e-1}; "
             "with params, the path of a pipeline file."},
    {"params", SWEEP(LIST, param), .option = "--param", .value = "NAME=VALUES",
     .help = "Parameter of a pipeline: 0.1,0.2 or 2..8 or log:1e-5..1e-1; stages get it as the "
             "variable NAME."},
    {"search", SWEEP(ENUM, search), FIELD_CHOICES(search_choices), .preset = "grid",
     .help = "Try every combination (grid, the default), some at random, or many at random and stop "
             "poor ones early (halving)."},
    {"trials", SWEEP(INT, trials), .value = "N", .least = 1, .most = SPACE_TRIALS_MAX,
     .help = "Trials of a random search or of halving (default: all combinations, or 20 where a "
             "range has no end of values)."},
    {"seed", SWEEP(INT, seed), .value = "N", .preset = "0", .least = 0, .most = 9e15,
     .help = "Seed of the random search (default 0): the same seed makes the same trials."},
    {"metric", SWEEP(TEXT, metric), .value = "NAME", .least = 1, .most = 200,
     .help = "Metric by which trials rank (default: the only one, or loss)."},
    {"goal", SWEEP(ENUM, goal), FIELD_CHOICES(goal_choices),
     .help = "Whether less or more of the metric is better (default: min for loss, error and the "
             "like, else max)."},
    {"min_steps", SWEEP(REAL, min_steps), .value = "N", .preset = "1", .least = 1, .most = 1e12,
     .help = "Step of the metric at which halving first compares trials (default 1); then at 3 "
             "times, 9 times ... that step."},
    {"max_cost_usd", SWEEP(MONEY, max_microusd), .option = "--max-cost", .value = "USD",
     .unit = "USD", .most = MONEY_MAX_USD,
     .help = "Stop the trials when all together have cost more."},
    {"parallel", SWEEP(INT, parallel), .value = "N", .least = 1, .most = 10000,
     .help = "Trials at once (default: as many as limits.jobs_per_user lets run)."},
    {"env", SWEEP(LIST, env), .value = "NAME=VALUE",
     .help = "Environment variable of all trials; of a pipeline as run --env."},
    {"output", SWEEP(TEXT, output), .value = "SET",
     .help = "Set for the outputs of the trials; @SET:best is that of the best one. Of a pipeline, "
             "the set of the stage that gets the alias (default: of every stage)."},
    {"input", SWEEP(TEXT, input), .value = "REF",
     .help = "Set, or file or directory of the lake: its files are in $TRADEWIND_INPUT."},
    {"code", SWEEP(TEXT, code), .value = "DIR", .is_local = true,
     .help = "Directory or archive to run in, as it is now."},
    {"cpus", SWEEP(REAL, cpus), .value = "N", .preset = "1",
     .help = "CPUs per job, in halves (default 1)."},
    {"memory", SWEEP(TEXT, memory), .value = "SIZE", .preset = "1GB",
     .help = "Memory per job, as in 512 or 2GB (default 1GB)."},
    {"gpus", SWEEP(TEXT, gpus), .value = "N|TYPE:N",
     .help = "GPUs for each job alone, as in 1 or A100:2 (default: none)."},
    {"metrics", SWEEP(TEXT, metrics), .value = "json",
     .help = "json: lines such as {\"loss\": 0.4, \"step\": 10} that trials print are metrics, "
             "besides lines [TRADEWIND_METRIC] NAME STEP VALUE."},
    {"on", SWEEP(TEXT, on), .value = "local|cloud|aws|azure|gcp", .preset = "local",
     .help = "This machine (the default), or machines that are launched in any cloud (cloud) or in "
             "one (aws), and terminated after their trial."},
    APP_JOB_MARKET_FIELDS(struct sweep_request, ),
    {"without_gpus", SWEEP(BOOL, without_gpus),
     .help = "Run stages of a pipeline without the accelerators that this machine does not have."},
    {"wait", SWEEP(BOOL, wait), .is_remote_only = true,
     .help = "Answer when all trials are over, instead of at once."},
};
/* clang-format on */

/* A sweep while its command lasts. */
struct sweep {
    struct app *app;
    const struct sweep_request *q;
    struct answer *out;
    struct sweep_plan plan;
    struct space *space;
    struct space_trials rows;
    struct sweep_trials trials;
    struct lake_job_request size;
    struct job_details envs; /* the variables of all trials */
    struct app_job_gpus gpus;
    bool is_cloud;
    struct app_job_planned planned; /* on a cloud: of the jobs */
    bool json_metrics;
    struct app_job_source source;
    struct sweep_pipeline *pipeline;
    size_t slots;
    size_t before; /* trials that had finished */
    size_t started;
    bool is_over_cap;
    const struct sweep_trial *best;
};

static void sweep_clear(struct sweep *s)
{
    sweep_pipeline_free(s->pipeline);
    app_job_planned_clear(&s->planned);
    app_job_source_clear(&s->source);
    sweep_trials_clear(&s->trials);
    space_trials_clear(&s->rows);
    space_free(s->space);
    sweep_plan_clear(&s->plan);
}

/* ---- the request ---- */

static int check_options(const struct sweep_request *q, const struct answer *out, struct err *e)
{
    char option[64], other[64];

    if (q->search == SEARCH_GRID && q->trials != FIELD_NONE)
        return err_set(e, ERR_USAGE, "%s: a grid tries every combination; add %s random",
                       answer_spell(out, "trials", option), answer_spell(out, "search", other));
    if (q->search == SEARCH_HALVING && !q->metric)
        return err_set(e, ERR_USAGE, "%s halving compares trials: add %s NAME",
                       answer_spell(out, "search", option), answer_spell(out, "metric", other));
    if (q->goal && !q->metric)
        return err_set(e, ERR_USAGE, "%s needs %s NAME", answer_spell(out, "goal", option),
                       answer_spell(out, "metric", other));
    if (q->max_microusd == 0)
        return err_set(e, ERR_USAGE, "%s 0: must be above 0 and at most %g",
                       answer_spell(out, "max_cost_usd", option), MONEY_MAX_USD);
    if (q->param.n && q->command.n != 1)
        return err_set(e, ERR_USAGE,
                       "%s goes with the path of one pipeline file; write the parameters of a "
                       "command in braces, as in --lr '{0.1,0.2}'",
                       answer_spell(out, "params", option));
    if (q->param.n && (q->input || q->code || q->gpus || q->metrics))
        return err_set(e, ERR_USAGE, "the pipeline file says what %s is",
                       answer_spell(out,
                                    q->input  ? "input"
                                    : q->code ? "code"
                                    : q->gpus ? "gpus"
                                              : "metrics",
                                    option));
    if (!q->param.n && q->without_gpus)
        return err_set(e, ERR_USAGE, "%s is for pipelines (%s)",
                       answer_spell(out, "without_gpus", option),
                       answer_spell(out, "params", other));
    return 0;
}

/* Where trials run. */
static int check_location(struct sweep *s, struct err *e)
{
    const struct sweep_request *q = s->q;
    const struct config *c = app_config(s->app, e);
    const char *field = app_job_market_field(q->spot, q->region, q->max_hourly_usd);
    char option[64];

    if (!c)
        return -1;
    s->is_cloud = app_job_is_cloud(c, q->on);
    if (!s->is_cloud && strcmp(q->on, "local") != 0)
        return err_set(e, ERR_USAGE, "%s %.60s: trials run locally or on clouds",
                       answer_spell(s->out, "on", option), q->on);
    if (field && q->param.n)
        return err_set(e, ERR_USAGE, "the pipeline file says what %s is",
                       answer_spell(s->out, field, option));
    return s->is_cloud ? 0 : app_job_check_market(field, s->out, e);
}

/* All trials of a command are planned alike. */
static int plan_machine(struct sweep *s, struct err *e)
{
    const struct app_job_wish wish = {.on = s->q->on,
                                      .cpus = s->size.cpus,
                                      .memory_mb = s->size.memory_mb,
                                      .gpus = s->q->gpus,
                                      .nodes = 1,
                                      .spot = s->q->spot,
                                      .region = s->q->region,
                                      .max_hourly_usd = s->q->max_hourly_usd};

    return app_job_plan_cloud(s->app, &wish, s->out, &s->planned, e);
}

static int read_space(struct sweep *s, struct err *e)
{
    const struct sweep_request *q = s->q;
    char option[64];

    s->space = q->param.n ? space_of_params(q->param.items, q->param.n, e)
                          : space_of_command(q->command.items, q->command.n, e);
    if (!s->space)
        return q->param.n ? err_wrap(e, "%s", answer_spell(s->out, "params", option)) : -1;
    if (s->space->n == 0)
        return err_set(e, ERR_USAGE,
                       "the command has no list of values: write one in quotes, as in --lr "
                       "'{0.1,0.2}', or a range with its name, as in '{lr=log:1e-4..1e-1}'");
    size_t wanted = q->trials == FIELD_NONE ? 0 : (size_t)q->trials;
    return q->search == SEARCH_GRID
               ? space_grid(s->space, &s->rows, e)
               : space_random(s->space, wanted, (uint64_t)q->seed, &s->rows, e);
}

static void fill_plan(struct sweep *s)
{
    const struct sweep_request *q = s->q;
    const char *output = q->output && *q->output == '@' ? q->output + 1 : q->output;

    s->plan = (struct sweep_plan){
        .name = mem_dup(q->name),
        .search = mem_dup(search_choices[q->search]),
        .metric = q->metric ? mem_dup(q->metric) : NULL,
        .output = output ? mem_dup(output) : NULL,
        .is_pipeline = q->param.n > 0,
        .less_is_better = q->goal ? q->goal == 1 : !q->metric || app_metric_falls(q->metric),
        .first_step = q->min_steps,
    };
}

/* A name that is a parameter, too, or stands twice, would have two values. */
static int read_envs(struct sweep *s, struct err *e)
{
    const struct spec_pair *envs;
    char option[64];

    if (app_job_read_envs(&s->q->env, s->out, &s->envs, e) < 0)
        return -1;
    envs = s->envs.envs;
    for (size_t i = 0; i < s->envs.n_envs; i++) {
        bool twice = false;
        for (size_t k = 0; k < i; k++)
            twice = twice || !strcmp(envs[k].key, envs[i].key);
        for (size_t k = 0; k < s->space->n && s->plan.is_pipeline; k++)
            twice = twice || !strcmp(s->space->params[k].name, envs[i].key);
        if (twice)
            return err_set(e, ERR_USAGE, "%s %s: it has another value already",
                           answer_spell(s->out, "env", option), envs[i].key);
    }
    return 0;
}

static int read_request(struct sweep *s, struct err *e)
{
    const struct sweep_request *q = s->q;
    char option[64];

    if (broker_profile_name_check(q->name, e) < 0 || check_options(q, s->out, e) < 0 ||
        check_location(s, e) < 0 ||
        app_job_read_metrics(q->metrics, s->out, &s->json_metrics, e) < 0 || read_space(s, e) < 0)
        return -1;
    fill_plan(s);
    if (s->plan.output && lake_path_check_set(s->plan.output, e) < 0)
        return err_wrap(e, "%s", answer_spell(s->out, "output", option));
    if (read_envs(s, e) < 0)
        return -1;
    if (s->plan.is_pipeline)
        return 0;
    if (s->is_cloud)
        return app_job_read_size(q->cpus, q->memory, s->out, &s->size, e) < 0 ? -1
                                                                              : plan_machine(s, e);
    return app_job_read_size(q->cpus, q->memory, s->out, &s->size, e) < 0 ||
                   app_job_check_local(&s->size, e) < 0
               ? -1
               : app_job_gpus_read(s->app, q->gpus, 1, s->out, &s->gpus, e);
}

/* ---- trials ---- */

static char *row_json(const struct sweep *s, const char *const *row)
{
    AUTO_JSON json_t *params = json_object();

    for (size_t i = 0; i < s->space->n; i++)
        json_object_set_new(params, s->space->params[i].name, json_text(row[i]));
    for (size_t i = 0; i < s->envs.n_envs; i++)
        json_object_set_new(params, s->envs.envs[i].key, json_text(s->envs.envs[i].value));
    char *text = json_dumps(params, JSON_COMPACT | JSON_SORT_KEYS);
    return text ? text : mem_dup("{}");
}

static void add_trial(struct sweep *s, const char *const *row)
{
    char **command = s->plan.is_pipeline ? NULL : space_command(s->space, row);
    struct lake_job_request request = s->size;

    request.command = (const char *const *)command;
    request.n_command = s->space->n_words;
    AUTO_MEM char *key = command ? sweep_job_key(&request, &s->envs) : row_json(s, row);
    struct sweep_trial *trial = sweep_trials_add(&s->trials, key);

    if (!trial) { /* '{1,11}{1,11}' makes 111 twice */
        template_words_free(command);
        return;
    }
    trial->values = row;
    trial->command = command;
    trial->n_command = s->space->n_words;
    trial->params = command ? NULL : trial->key;
}

static size_t slots_of(const struct sweep *s, const struct config *c)
{
    bool is_limited =
        s->q->search == SEARCH_HALVING || s->q->max_microusd != FIELD_NONE || s->plan.is_pipeline;

    if (s->q->parallel != FIELD_NONE)
        return (size_t)s->q->parallel;
    return is_limited ? c->limits.jobs_per_user : SIZE_MAX;
}

static int make_trials(struct sweep *s, struct err *e)
{
    const struct config *c = app_config(s->app, e);

    if (!c)
        return -1;
    sweep_trials_init(&s->trials);
    for (size_t i = 0; i < s->rows.n; i++)
        add_trial(s, s->rows.rows[i]);
    s->trials.n_rungs = s->q->search == SEARCH_HALVING ? halving_rungs(s->trials.n) : 0;
    s->slots = slots_of(s, c);
    return 0;
}

/* ---- starting trials ---- */

/* The last job of the trial that left a checkpoint; 0 = none. A job that was stopped in the queue
 * left none. */
static int64_t job_to_continue(const struct sweep_trial *trial, const char *home)
{
    for (size_t i = trial->n; i-- > 0;)
        if (checkpoint_is_there(home, trial->ids[i]))
            return trial->ids[i];
    return 0;
}

/* The details of the trial's next job. */
static char *details_of(const struct sweep *s, const struct sweep_trial *trial, struct err *e)
{
    struct app_job_submitter submitter;
    const char *home = app_home(s->app, e);

    if (!home)
        return NULL;
    app_job_submitter_read(s->app, &submitter);
    struct job_details details = {
        .git_commit = s->source.commit,
        .git_dirty = s->source.dirty,
        .submitter = submitter.pairs,
        .n_submitter = submitter.n,
        .checkpoint_s = s->trials.n_rungs ? CHECKPOINT_S : 0,
        .continues = s->trials.n_rungs ? job_to_continue(trial, home) : 0,
        .json_metrics = s->json_metrics,
        .envs = s->envs.envs,
        .n_envs = s->envs.n_envs,
    };
    app_job_gpus_set(&s->gpus, &details);
    if (s->is_cloud) {
        /* The size stays as it was asked for: it tells trials apart when the sweep goes on. */
        struct lake_job_request ignored = {0};
        app_job_take_planned(&s->planned, &ignored, &details);
        details.on = s->q->on;
        details.n_submitter = 0;
    }
    return job_details_text(&details, e);
}

/* The named parameters, as "lr=0.1". The lake finds those of options in the command. */
static const char **params_of(struct sweep *s, const struct sweep_trial *trial, size_t *n_out)
{
    const char **params = arena_zero(s->trials.arena, s->space->n + 1, sizeof *params);

    *n_out = 0;
    for (size_t i = 0; i < s->space->n; i++)
        if (s->space->params[i].is_named)
            params[(*n_out)++] =
                arena_printf(s->trials.arena, "%s=%s", s->space->params[i].name, trial->values[i]);
    return params;
}

static int submit_jobs(struct sweep *s,
                       const struct halving_trial *decided,
                       size_t n,
                       struct err *e)
{
    AUTO_MEM char *name = mem_printf("sweep %s", s->plan.name);
    AUTO_MEM char *tag = mem_printf("sweep=%s", s->plan.name);
    AUTO_MEM struct lake_job_request *requests = mem_zero(n + 1, sizeof *requests);
    AUTO_MEM char **details = mem_zero(n + 1, sizeof *details);
    const char *const tags[] = {tag};
    int64_t id;
    size_t k = 0;
    int result = app_job_check_month(s->app, e);

    for (size_t i = 0; result == 0 && i < s->trials.n; i++) {
        const struct sweep_trial *trial = &s->trials.items[i];
        if (decided[i].action != HALVING_START && decided[i].action != HALVING_CONTINUE)
            continue;
        struct lake_job_request *r = &requests[k];
        *r = s->size;
        r->name = name;
        r->command = (const char *const *)trial->command;
        r->n_command = trial->n_command;
        r->input = s->source.input;
        r->code = s->source.code;
        r->output = s->plan.output;
        r->params = params_of(s, trial, &r->n_params);
        r->tags = tags;
        r->n_tags = 1;
        r->details = details[k] = details_of(s, trial, e);
        result = details[k++] ? 0 : -1;
    }
    if (result == 0)
        result = lake_job_submit(app_lake(s->app, e), requests, k, &id, e);
    for (size_t i = 0; i < k; i++)
        free(details[i]);
    return result == 0 ? app_wake_broker(s->app, e) : -1;
}

static int start_runs(struct sweep *s, const struct halving_trial *decided, struct err *e)
{
    for (size_t i = 0; i < s->trials.n; i++) {
        const struct sweep_trial *trial = &s->trials.items[i];
        bool goes_on = decided[i].action == HALVING_CONTINUE;
        if (!goes_on && decided[i].action != HALVING_START)
            continue;
        if (app_check_cancelled(s->app, e) < 0)
            return -1;
        size_t n = s->space->n;
        AUTO_MEM const char **env = mem_zero(n + s->q->env.n + 1, sizeof *env);
        for (size_t k = 0; k < n; k++)
            env[k] =
                arena_printf(s->trials.arena, "%s=%s", s->space->params[k].name, trial->values[k]);
        for (size_t k = 0; k < s->q->env.n; k++)
            env[n++] = s->q->env.items[k];
        if (sweep_pipeline_start(s->pipeline, &s->plan, trial->params, &(struct field_list){env, n},
                                 goes_on ? trial->id : 0, e) < 0)
            return -1;
    }
    return 0;
}

static int stop_trial(struct sweep *s,
                      const struct sweep_trial *trial,
                      const char *why,
                      struct err *e)
{
    bool final;

    return s->plan.is_pipeline ? runs_ask_stop_for(app_runs(s->app, e), trial->id, why, e)
                               : lake_job_ask_stop(app_lake(s->app, e), trial->id, why, &final, e);
}

/* ---- one look ---- */

static void read_decided(const struct sweep *s, struct halving_trial *decided)
{
    for (size_t i = 0; i < s->trials.n; i++) {
        const struct sweep_trial *trial = &s->trials.items[i];
        bool again = trial->state == HALVING_FAILED && trial->n == trial->n_failed;
        decided[i] = (struct halving_trial){.state = again ? HALVING_NEW : trial->state,
                                            .is_stopping = trial->is_stopping,
                                            .reached = trial->reached};
        memcpy(decided[i].values, trial->rungs, sizeof trial->rungs);
    }
}

/* Past the cap no trial starts, and running ones are told to stop. */
static void apply_cap(struct sweep *s, struct halving_trial *decided)
{
    s->is_over_cap =
        s->q->max_microusd != FIELD_NONE && s->trials.cost_microusd >= s->q->max_microusd;
    for (size_t i = 0; s->is_over_cap && i < s->trials.n; i++)
        decided[i].action = decided[i].state == HALVING_RUNNING && !decided[i].is_stopping
                                ? HALVING_STOP
                                : HALVING_NOTHING;
}

static int act(struct sweep *s, const struct halving_trial *decided, struct err *e)
{
    size_t starts = 0, stops = 0;
    char cap[100];

    snprintf(cap, sizeof cap, "spending cap --max-cost of the sweep");
    for (size_t i = 0; i < s->trials.n; i++) {
        starts += decided[i].action == HALVING_START || decided[i].action == HALVING_CONTINUE;
        if (decided[i].action != HALVING_STOP)
            continue;
        AUTO_MEM char *why = mem_printf(SWEEP_HALVING "not among the best at step %g",
                                        halving_step(s->plan.first_step, decided[i].reached - 1));
        if (stop_trial(s, &s->trials.items[i], s->is_over_cap ? cap : why, e) < 0)
            return -1;
        stops++;
    }
    s->started += starts;
    if (starts &&
        (s->plan.is_pipeline ? start_runs(s, decided, e) : submit_jobs(s, decided, starts, e)) < 0)
        return -1;
    return stops ? app_wake_broker(s->app, e) : 0;
}

/* A better trial finished: its output is the best. */
static int update_best(struct sweep *s, struct err *e)
{
    const struct sweep_trial *best = sweep_trials_best(&s->trials, &s->plan);

    if (best == s->best)
        return 0;
    s->best = best;
    return sweep_trials_alias(s->app, &s->plan, best, e);
}

/* 1: all trials are over; 0: some are not. */
static int look(struct sweep *s, bool is_first, struct err *e)
{
    AUTO_MEM struct halving_trial *decided = mem_zero(s->trials.n + 1, sizeof *decided);
    size_t pending = 0;

    if (sweep_trials_look(&s->trials, s->app, &s->plan, e) < 0 ||
        (s->trials.n_rungs && sweep_trials_measure(&s->trials, s->app, &s->plan, e) < 0))
        return -1;
    for (size_t i = 0; i < s->trials.n; i++) {
        struct sweep_trial *trial = &s->trials.items[i];
        s->before += is_first && trial->state == HALVING_ENDED;
        if (is_first && trial->state == HALVING_FAILED)
            trial->n_failed = trial->n;
    }
    read_decided(s, decided);
    halving_decide(decided, s->trials.n, s->trials.n_rungs, s->plan.less_is_better, s->slots);
    apply_cap(s, decided);
    if (act(s, decided, e) < 0)
        return -1;
    for (size_t i = 0; i < s->trials.n; i++)
        pending += decided[i].state == HALVING_RUNNING || decided[i].action != HALVING_NOTHING;
    return pending == 0;
}

static int locked_look(struct sweep *s, bool is_first, struct err *e)
{
    int lock = broker_profile_lock(app_home(s->app, e), e);

    if (lock < 0)
        return -1;
    int over = look(s, is_first, e);
    close(lock);
    return over;
}

/* ---- until all are over ---- */

/* The running trial that was submitted last. The command waits for its end, not for each: reading
 * the records of thousands of trials takes time. */
static int64_t last_pending(const struct sweep *s)
{
    for (size_t i = s->trials.n; i-- > 0;)
        if (s->trials.items[i].state == HALVING_RUNNING)
            return s->trials.items[i].id;
    return 0;
}

static void show_progress(const struct sweep *s)
{
    size_t over = 0;

    for (size_t i = 0; i < s->trials.n; i++)
        over += s->trials.items[i].state == HALVING_ENDED;
    app_status(s->app, "sweep %s: %zu of %zu finished", s->plan.name, over, s->trials.n);
}

/* For a moment, or until the last of the running trials is over. */
static int pause_a_moment(struct sweep *s, struct err *e)
{
    double wait_s = s->slots == SIZE_MAX ? LOOK_S : LOOK_SLOTS_S;
    int64_t id = s->plan.is_pipeline ? 0 : last_pending(s);

    show_progress(s);
    if (!id && !s->plan.is_pipeline) { /* its trials were submitted since the last look */
        if (sweep_trials_look(&s->trials, s->app, &s->plan, e) < 0)
            return -1;
        id = last_pending(s);
    }
    if (id)
        return app_job_wait(s->app, id, wait_s, e) < 0 ? -1 : 0;
    usleep((useconds_t)(s->plan.is_pipeline ? wait_s * 1e6 : 0));
    return 0;
}

/* 1: all are over; 0: the caller cancelled. */
static int drive(struct sweep *s, struct err *e)
{
    int over = locked_look(s, true, e);

    if (over < 0)
        return -1;
    app_notice(s->app, "sweep %s: %zu %s, %zu finished before, %zu submitted now", s->plan.name,
               s->trials.n, s->plan.is_pipeline ? "runs" : "jobs", s->before, s->started);
    while (over == 0 && s->q->wait) {
        if (app_cancelled(s->app))
            return 0;
        if (pause_a_moment(s, e) < 0)
            return -1;
        over = locked_look(s, false, e);
        if (over < 0 ||
            (s->plan.metric &&
             (sweep_trials_measure(&s->trials, s->app, &s->plan, e) < 0 || update_best(s, e) < 0)))
            return -1;
    }
    return 1;
}

/* ---- the answer ---- */

/* Trials that never print the metric run to their ends, and none of them is the best. */
static void warn_no_metric(const struct sweep *s)
{
    bool has_value = false, has_ended = false;

    for (size_t i = 0; i < s->trials.n; i++) {
        has_value = has_value || !isnan(s->trials.items[i].value);
        has_ended = has_ended || s->trials.items[i].state == HALVING_ENDED;
    }
    if (s->plan.metric && has_ended && !has_value)
        app_notice(
            s->app,
            "sweep %s: no trial has the metric %s: they have no ranks, and none is the best; "
            "a metric is a line [TRADEWIND_METRIC] %s STEP VALUE%s",
            s->plan.name, s->plan.metric, s->plan.metric,
            s->json_metrics || s->plan.is_pipeline ? "" : ", or of JSON with --metrics json");
}

/* The job of the trial that failed; 0 = none. */
static int find_failed(struct lake *l,
                       const struct sweep_trial *t,
                       struct arena *arena,
                       struct lake_job *out,
                       struct err *e)
{
    for (size_t i = t->n_jobs; i-- > 0;) {
        if (lake_job_load(l, t->jobs[i], arena, out, e) < 0)
            return -1;
        if (out->state == LAKE_JOB_FAILED || out->state == LAKE_JOB_LOST)
            return 1;
    }
    return 0;
}

/* Why the first of the trials that failed did. */
static int warn_failed(const struct sweep *s, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(SIZE_MAX);
    struct lake *l = app_lake(s->app, e);
    struct lake_job first, job;
    size_t n = 0;

    for (size_t i = 0; l && i < s->trials.n; i++) {
        if (s->trials.items[i].state != HALVING_FAILED)
            continue;
        int found = find_failed(l, &s->trials.items[i], arena, n ? &job : &first, e);
        if (found < 0)
            return -1;
        n += found > 0;
    }
    if (n)
        app_notice(s->app, "sweep %s: %zu of %zu trials failed; job %" PRId64 ": %s", s->plan.name,
                   n, s->trials.n, first.id, first.reason);
    return l ? 0 : -1;
}

static int answer_all(struct sweep *s, struct err *e)
{
    struct app_sweep head = {0};
    AUTO_MEM int64_t *ids = mem_zero(s->trials.n + 1, sizeof *ids);
    size_t n = 0;

    if (sweep_trials_look(&s->trials, s->app, &s->plan, e) < 0 ||
        sweep_trials_find_metric(&s->trials, s->app, &s->plan, e) < 0 ||
        sweep_trials_measure(&s->trials, s->app, &s->plan, e) < 0 || update_best(s, e) < 0)
        return -1;
    warn_no_metric(s);
    if (warn_failed(s, e) < 0)
        return -1;
    int result = sweep_trials_report(&s->trials, s->app, &s->plan, s->out, &head, e);
    result = result < 0 ? -1 : answer_head(s->out, &head, e);
    app_sweep_clear(&head);
    for (size_t i = 0; i < s->trials.n; i++)
        if (s->trials.items[i].id && !s->plan.is_pipeline)
            ids[n++] = s->trials.items[i].id;
    return result < 0 ? -1 : app_job_compare(s->app, ids, n, s->out, e);
}

static int run_sweep(struct app *app, const void *request, struct answer *out, struct err *e)
{
    AUTO_CLEAR(sweep) struct sweep s = {.app = app, .q = request, .out = out};
    const char *home;
    char option[64];

    if (read_request(&s, e) < 0 || !(home = app_home(app, e)) || make_trials(&s, e) < 0)
        return -1;
    if (s.plan.is_pipeline)
        s.pipeline =
            sweep_pipeline_open(app, s.q->command.items[0], s.q->on, s.q->without_gpus, out, e);
    if (s.plan.is_pipeline ? !s.pipeline
                           : app_job_source_read(app, s.q->input, s.q->code, out, &s.source, e) < 0)
        return -1;
    if (s.pipeline && s.plan.output &&
        sweep_pipeline_check_output(s.pipeline, s.plan.output, e) < 0)
        return err_wrap(e, "%s", answer_spell(out, "output", option));
    if (sweep_plan_save(home, &s.plan, e) < 0)
        return -1;
    int over = drive(&s, e);
    if (over <= 0)
        return over < 0 ? -1 : app_check_cancelled(app, e);
    if (s.is_over_cap)
        app_notice(app,
                   "sweep %s: spending cap --max-cost reached: the same command with a higher "
                   "one continues",
                   s.plan.name);
    return answer_all(&s, e);
}

/* clang-format off */
#define HEAD(TYPE, member) FIELD(TYPE, struct app_sweep, member)
static const struct field started_fields[] = {
    {"name", HEAD(TEXT, name), .help = "Name of the sweep."},
    {"finished", HEAD(INT, finished), .help = "Trials that finished."},
    {"stopped", HEAD(INT, stopped), .help = "Trials that halving stopped."},
    {"jobs_count", HEAD(INT, jobs), .help = "All trials."},
    {"search", HEAD(TEXT, search), .help = "One of grid, random, halving."},
    {"metric", HEAD(TEXT, metric), .help = "Metric by which trials rank."},
    {"goal", HEAD(TEXT, goal), .help = "min or max."},
    {"best", HEAD(TEXT, best), .help = "Set version that the best trial made."},
    {"trials", HEAD(RECORDS, trials), .record = &app_sweep_trial_record,
     .help = "Trials, the best first."},
};
/* clang-format on */

const struct operation sweep_start_operation = {
    .name = "sweep.start",
    .summary = "Search hyper-parameters of a command or a pipeline, one job or run per trial.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct sweep_request, sweep_fields),
    .answer = RECORD_AT("sweep", struct app_sweep, started_fields),
    .item = &app_job_compared_record,
    .items_name = "jobs",
    .bills = true,
    .quote = &job_price_operation,
    .run = run_sweep,
};
