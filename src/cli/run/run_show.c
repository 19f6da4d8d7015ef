#include "app/core/lake_open.h"
#include "app/job/job.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/number.h"
#include "base/time.h"
#include "broker/machine/bill.h"
#include "cli/core/commands.h"
#include "cli/run/run_parts.h"
#include "lake/job/job.h"
#include "spec/config.h"
#include "view/json_list.h"
#include "view/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the reason of a stage's end, whose further lines are of its log. */
#define REASON_COLUMNS 2000
#define REASON_INDENT 4

/* The jobs of a stage: its own, the other nodes of a gang, and those that were lost before. */
struct seeing {
    const struct config *config; /* NULL = only what is in the lake counts */
    const struct open_bills *open;
    const struct run_stage *stage;
    struct run_job *out;
};

static double runtime_of(const struct seeing *see, const struct lake_job *job)
{
    return see->config ? fmax(app_job_runtime_s(job), 0) : job->runtime_s;
}

static int64_t cost_of(const struct seeing *see, const struct lake_job *job)
{
    return see->config ? bill_microusd(see->config, see->open, job, time_epoch_ms())
                       : job->cost_microusd;
}

static int add_other(void *context, const struct lake_job *job, struct err *e)
{
    const struct seeing *see = context;

    (void)e;
    if (job->id != see->stage->job && !strcmp(job->asked.name, see->stage->plan.name)) {
        see->out->cost_microusd += cost_of(see, job);
        see->out->busy_s += runtime_of(see, job);
    }
    return 0;
}

int run_job_so_far(const struct config *c,
                   struct lake *l,
                   int64_t run,
                   const struct run_stage *s,
                   struct run_job *out,
                   struct err *e)
{
    const struct lake_job_filter filter = {.run = run};
    AUTO_CLEAR(open_bills) struct open_bills open = {0};
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct seeing see = {c, &open, s, out};
    struct lake_job job;

    *out = (struct run_job){0};
    if (!s->job)
        return 0;
    if (c && open_bills_read(c->home, time_epoch_ms(), &open, e) < 0)
        return -1;
    if (lake_job_load(l, s->job, arena, &job, e) < 0)
        return -1;
    out->runtime_s = out->busy_s = runtime_of(&see, &job);
    out->cost_microusd = cost_of(&see, &job);
    snprintf(out->state, sizeof out->state, "%s", lake_job_state_text(job.state));
    snprintf(out->output_set, sizeof out->output_set, "%s", job.output_set);
    bool alone = s->attempts <= 1 && s->plan.nodes <= 1;
    return alone || s->state == STAGE_REUSED ? 0 : lake_job_list(l, &filter, add_other, &see, e);
}

int run_job_get(
    struct lake *l, int64_t run, const struct run_stage *s, struct run_job *out, struct err *e)
{
    return run_job_so_far(NULL, l, run, s, out, e);
}

/* ---- one run, for people ---- */

static void put_money(struct table *t, int64_t microusd)
{
    char text[32];

    table_put(t, money_text(microusd, text));
}

static void put_time(struct table *t, double seconds)
{
    char text[32];

    table_put(t, time_text(seconds, text));
}

/* The sum of what the rows say, as of the same moment; on paper, of the machines. */
struct bill {
    const struct config *config;
    double run_s;
    int64_t microusd;
};

/* What a run on paper has no figure for stays empty. */
static int put_row(
    struct table *t, const struct run *r, size_t i, struct lake *l, struct bill *sum, struct err *e)
{
    const struct run_stage *s = &r->stages[i];
    struct run_job job;
    bool paid = s->state != STAGE_REUSED;

    if (run_job_so_far(sum->config, l, r->id, s, &job, e) < 0)
        return -1;
    table_put(t, s->plan.name);
    table_put(t, run_stage_state_text(s->state));
    if (s->job)
        table_printf(t, "%" PRId64, s->job);
    else
        table_put(t, "");
    table_put(t, s->plan.instance_type);
    put_time(t, s->plan.planned_s);
    if (run_is_on_paper(r))
        table_put(t, "");
    else
        put_time(t, job.runtime_s);
    put_money(t, s->plan.planned_microusd);
    if (run_is_on_paper(r))
        table_put(t, "");
    else
        put_money(t, paid ? job.cost_microusd : 0);
    table_put(t, job.output_set);
    if (paid) {
        sum->run_s += job.busy_s;
        sum->microusd += job.cost_microusd;
    }
    return 0;
}

static void print_notes(const struct run *r, FILE *out)
{
    for (size_t i = 0; i < r->n_stages; i++) {
        const struct run_stage *s = &r->stages[i];
        if (s->plan.note[0])
            fprintf(out, "  %s: %s\n", s->plan.name, s->plan.note);
        if (s->attempts > 1)
            fprintf(out, "  %s: %u attempts, since machines were lost\n", s->plan.name,
                    s->attempts);
        if (s->plan.continues)
            fprintf(out, "  %s: went on from the checkpoint of job %" PRId64 "\n", s->plan.name,
                    s->plan.continues);
        if (s->state == STAGE_FINISHED && s->reason[0] && s->plan.elastic) {
            fprintf(out, "  %s: ", s->plan.name);
            text_print_lines(out, app_job_reason_text(s->reason), REASON_COLUMNS, REASON_INDENT);
        }
        if (s->state >= STAGE_FAILED && s->reason[0]) {
            fprintf(out, "  %s %s: ", s->plan.name, run_stage_state_text(s->state));
            text_print_lines(out, app_job_reason_text(s->reason), REASON_COLUMNS, REASON_INDENT);
        }
    }
}

static void print_sum(const struct run *r, const struct bill *sum, FILE *out)
{
    char cost[32], planned[32], took[32];

    time_text(sum->run_s, took);
    money_text(sum->microusd, cost);
    money_text(r->planned_microusd, planned);
    if (r->n_stages && r->stages[0].plan.repeats)
        fprintf(out, "\nIts work took %s and cost %s; the first time it cost %s.\n", took, cost,
                planned);
    else if (r->n_stages && r->stages[0].plan.servers)
        fprintf(out, "\nIts %u nodes took %s in all, and cost %s.\n", r->stages[0].plan.nodes, took,
                cost);
    else if (run_is_on_paper(r))
        fprintf(out, "\nIts machines cost %s on paper. The plan: %s.\n", cost, planned);
    else if (!strcmp(r->on, "local"))
        fprintf(out,
                "\nIts work took %s here, worth %s at the prices of the planned machines.\n"
                "The plan: %s, with boots, transfers and storage.\n",
                took, cost, planned);
    else
        fprintf(out,
                "\nIts work took %s on the hosts of %s, and cost %s there.\n"
                "The plan: %s, with boots, transfers and storage.\n",
                took, r->on, cost, planned);
}

int run_print(const struct run *r, struct lake *l, FILE *out, struct err *e)
{
    static const struct table_column columns[] = {
        {.title = "stage", .cut_rank = 2, .least = 8},
        {.title = "state"},
        {.title = "job", .right = true},
        {.title = "planned on", .cut_rank = 1, .least = 8},
        {.title = "planned", .right = true},
        {.title = "took", .right = true},
        {.title = "planned", .right = true},
        {.title = "cost", .right = true},
        {.title = "output", .cut_rank = 3, .least = 8},
    };
    struct text_look look = text_look_for(out);
    AUTO(config) struct config *c = config_load(NULL, e);
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);
    struct bill sum = {.config = c};

    if (!c)
        return -1;
    for (size_t i = 0; i < r->n_stages; i++)
        if (put_row(t, r, i, l, &sum, e) < 0)
            return -1;
    if (run_is_on_paper(r) && run_cost(c, l, r, &sum.microusd, e) < 0)
        return -1;
    fprintf(out, "\nRun %" PRId64 " of %s: %s%s%s\n\n", r->id, r->name, run_state_text(r->state),
            r->reason[0] ? ", " : "", r->reason);
    table_print(t, out, 2, TEXT_COLUMNS, &look);
    print_notes(r, out);
    if (run_is_on_paper(r) && run_machines_print(c, r, out, e) < 0)
        return -1;
    print_sum(r, &sum, out);
    return 0;
}

/* ---- as JSON ---- */

static json_t *stage_cost_json(const struct run *r, size_t i, const struct run_job *job)
{
    if (run_is_on_paper(r))
        return json_null();
    return json_usd(r->stages[i].state == STAGE_REUSED ? 0 : job->cost_microusd);
}

static json_t *stage_json(const struct run *r, size_t i, const struct run_job *job)
{
    const struct run_stage *s = &r->stages[i];

    return json_pack(
        "{s:s, s:s, s:o, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:I, s:I}", "stage",
        s->plan.name, "state", run_stage_state_text(s->state), "job",
        s->job ? json_integer(s->job) : json_null(), "reason", s->reason, "place", s->plan.place,
        "instance_type", s->plan.instance_type, "spot", (int)s->plan.spot, "planned_s",
        json_number(s->plan.planned_s), "planned_usd", json_usd(s->plan.planned_microusd),
        "runtime_s", json_number(job->runtime_s), "cost_usd", stage_cost_json(r, i, job), "cpus",
        json_number(s->plan.cpus), "output",
        job->output_set[0] ? json_string(job->output_set) : json_null(), "note", s->plan.note,
        "nodes", (json_int_t)s->plan.nodes, "attempts", (json_int_t)s->attempts);
}

static json_t *head_json(const struct run *r)
{
    char created[32], ended[32];

    return json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "event", "run",
                     "run", (json_int_t)r->id, "name", r->name, "file", r->file, "on", r->on,
                     "state", run_state_text(r->state), "reason", r->reason, "created_at",
                     time_iso_ms(r->created_ms, created), "ended_at",
                     r->ended_ms ? json_string(time_iso_ms(r->ended_ms, ended)) : json_null(),
                     "planned_s", json_number(r->planned_s), "planned_usd",
                     json_usd(r->planned_microusd), "max_usd",
                     r->max_microusd ? json_usd(r->max_microusd) : json_null());
}

json_t *run_json(const struct run *r, struct lake *l, struct err *e)
{
    AUTO(config) struct config *c = config_load(NULL, e);
    AUTO_JSON json_t *root = head_json(r);
    json_t *stages = json_array();
    int64_t sum = 0;

    json_object_set_new(root, "stages", stages);
    if (!c)
        return NULL;
    for (size_t i = 0; i < r->n_stages; i++) {
        struct run_job job;
        if (run_job_so_far(c, l, r->id, &r->stages[i], &job, e) < 0)
            return NULL;
        json_array_append_new(stages, stage_json(r, i, &job));
        sum += r->stages[i].state == STAGE_REUSED ? 0 : job.cost_microusd;
    }
    if (run_is_on_paper(r) && run_cost(c, l, r, &sum, e) < 0)
        return NULL;
    json_object_set_new(root, "cost_usd", json_usd(sum));
    if (run_is_on_paper(r)) {
        json_t *machines = run_machines_json(c, r, e);
        if (!machines)
            return NULL;
        json_object_set_new(root, "machines", machines);
    }
    return TAKE(root);
}

/* ---- run show ---- */

int run_id_parse(const char *text, int64_t *out, struct err *e)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    if (errno || end == text || *end || *out <= 0)
        return err_set(e, ERR_USAGE, "\"%s\" is no run: a number, as `tradewind run ls` shows them",
                       text);
    return 0;
}

static int show(const struct command_args *args, struct err *e)
{
    AUTO(config) struct config *c = config_load(NULL, e);
    AUTO(lake) struct lake *l = c ? lake_open_here(e) : NULL;
    AUTO(runs) struct runs *runs = l ? runs_open(c->home, e) : NULL;
    AUTO_CLEAR(run) struct run r = {0};
    int64_t id;

    if (!runs || run_id_parse(args->operands[0], &id, e) < 0 || runs_get(runs, id, &r, e) < 0)
        return -1;
    if (command_has(args, "--follow"))
        return run_follow(runs, l, c->home, id, command_has(args, "--json"), e);
    if (!command_has(args, "--json"))
        return run_print(&r, l, stdout, e);
    AUTO_JSON json_t *root = run_json(&r, l, e);
    return root ? json_write(stdout, root, e) : -1;
}

static const struct command_option show_options[] = {
    {.name = "--follow",
     .help = "Show how far it is until it is over. Ctrl-C ends the showing; `tradewind run stop` "
             "stops the run.",
     .letter = 'f'},
    {.name = "--json", .help = "Print one JSON object."},
    {0},
};

const struct command command_run_show = {
    .name = "run show",
    .operands = "RUN",
    .summary = "The stages of a run, their jobs, times and costs beside the plan",
    .example = "tradewind run show 1",
    .options = show_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = show,
};

/* ---- run ls ---- */

struct listing {
    const struct config *config;
    struct lake *lake;
    struct table *table;
    struct json_list *json;
};

static int list_one(void *context, const struct run *r, struct err *e)
{
    struct listing *list = context;
    char when[32];
    int64_t cost;

    if (run_cost(list->config, list->lake, r, &cost, e) < 0)
        return -1;
    if (list->json) {
        json_t *head = head_json(r);
        json_object_set_new(head, "cost_usd", json_usd(cost));
        return json_list_add(list->json, head, e);
    }
    table_printf(list->table, "%" PRId64, r->id);
    table_put(list->table, r->name);
    table_put(list->table, run_state_text(r->state));
    table_put(list->table, time_iso(r->created_ms, when));
    put_money(list->table, r->planned_microusd);
    put_money(list->table, cost);
    table_put(list->table, r->reason);
    return 0;
}

static int ls(const struct command_args *args, struct err *e)
{
    static const struct table_column columns[] = {
        {.title = "run", .right = true},
        {.title = "pipeline", .cut_rank = 2, .least = 8},
        {.title = "state"},
        {.title = "started"},
        {.title = "planned", .right = true},
        {.title = "cost", .right = true},
        {.title = "reason", .cut_rank = 1, .least = 8},
    };
    AUTO(config) struct config *c = config_load(NULL, e);
    AUTO(lake) struct lake *l = c ? lake_open_here(e) : NULL;
    AUTO(runs) struct runs *runs = l ? runs_open(c->home, e) : NULL;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);
    struct json_list json;
    struct listing list = {
        .config = c, .lake = l, .table = t, .json = command_has(args, "--json") ? &json : NULL};
    double limit = 50;

    if (!runs || command_number(args, "--limit", &limit, e) < 0)
        return -1;
    if (list.json)
        json_list_begin(&json, stdout);
    if (runs_list(runs, false, limit >= 1 ? (uint64_t)limit : 1, list_one, &list, e) < 0)
        return -1;
    if (list.json)
        return json_list_end(&json, e);
    struct text_look look = text_look_for(stdout);
    table_print(t, stdout, 0, TEXT_COLUMNS, &look);
    return 0;
}

static const struct command_option ls_options[] = {
    {.name = "--limit", .value = "N", .help = "At most so many, the newest (50)."},
    {.name = "--json", .help = "Print a JSON array."},
    {0},
};

const struct command command_run_ls = {
    .name = "run ls",
    .summary = "Runs of pipelines, newest first",
    .example = "tradewind run ls",
    .options = ls_options,
    .run = ls,
};
