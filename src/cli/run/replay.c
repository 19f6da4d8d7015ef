#include "broker/pipeline/replay.h"

#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/machine/cap.h"
#include "cli/core/commands.h"
#include "app/core/lake_open.h"
#include "cli/run/replay_parts.h"
#include "cli/run/run_parts.h"
#include "lake/set/set.h"
#include "spec/config.h"
#include "view/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BYTES ((size_t)256 << 20)

/* ---- what will run ---- */

static void put_stage(struct table *t, const struct run_stage_plan *p)
{
    char took[32], cost[32];
    AUTO_MEM char *next = mem_printf("@%s", p->output);

    table_put(t, p->name);
    table_printf(t, "%" PRId64, p->repeats);
    table_put(t, p->input ? p->input : "");
    table_put(t, p->restores ? p->restores : next);
    table_put(t, time_text(p->planned_s, took));
    table_put(t, money_text(p->planned_microusd, cost));
}

static void show(const struct run *run, bool onwards)
{
    const struct table_column columns[] = {
        {.title = "stage", .cut_rank = 1, .least = 8},
        {.title = "as job", .right = true},
        {.title = onwards ? "worked on" : "input", .cut_rank = 2, .least = 8},
        {.title = onwards ? "next version of" : "makes", .cut_rank = 3, .least = 8},
        {.title = "took", .right = true},
        {.title = "cost", .right = true},
    };
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);
    struct text_look look = text_look_for(stdout);
    char took[32], cost[32];

    for (size_t i = 0; i < run->n_stages; i++)
        put_stage(t, &run->stages[i].plan);
    printf("%zu %s to run:\n\n", run->n_stages, run->n_stages == 1 ? "job" : "jobs");
    table_print(t, stdout, 2, TEXT_COLUMNS, &look);
    printf("\nLast time: %s of work, %s.\n", time_text(run->planned_s, took),
           money_text(run->planned_microusd, cost));
    fflush(stdout);
}

/* ---- what came of it ---- */

static json_t *outcome_json(const struct run_stage_plan *p, const char *output, bool same)
{
    return json_pack("{s:s, s:I, s:s, s:o, s:b}", "stage", p->name, "job", (json_int_t)p->repeats,
                     "recorded", p->restores, "output",
                     output[0] ? json_string(output) : json_null(), "same", (int)same);
}

static void print_outcome(const struct run_stage_plan *p, const char *output, bool same)
{
    if (same)
        printf("%s is there as it was: the same files with the same content.\n", p->restores);
    else if (output[0])
        printf("%s differs from %s: job %" PRId64
               " is not deterministic. The new version says so (" LAKE_TAG_NON_DETERMINISTIC ").\n",
               output, p->restores, p->repeats);
    else
        printf("Job %" PRId64 " left nothing this time: %s is not there again.\n", p->repeats,
               p->restores);
}

static int compare(struct runs *runs, struct lake *l, int64_t id, bool json, struct err *e)
{
    AUTO_CLEAR(run) struct run run = {0};
    AUTO_JSON json_t *list = json_array();

    if (runs_get(runs, id, &run, e) < 0)
        return -1;
    for (size_t i = 0; i < run.n_stages; i++) {
        const struct run_stage *s = &run.stages[i];
        struct run_job job;
        if (run_job_get(l, run.id, s, &job, e) < 0)
            return -1;
        if (s->state != STAGE_FINISHED || !s->plan.restores)
            continue;
        bool same = strcmp(job.output_set, s->plan.restores) == 0;
        if (json)
            json_array_append_new(list, outcome_json(&s->plan, job.output_set, same));
        else
            print_outcome(&s->plan, job.output_set, same);
    }
    if (!json)
        return 0;
    AUTO_JSON json_t *root =
        json_pack("{s:s, s:I, s:O}", "event", "replay", "run", (json_int_t)id, "sets", list);
    AUTO_MEM char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(15));
    printf("%s\n", text ? text : "{}");
    return 0;
}

/* ---- all of it ---- */

static int start_and_watch(struct lake *l,
                           const struct replay_order *order,
                           struct run *run,
                           struct err *e)
{
    AUTO(config) struct config *config = config_load(NULL, e);
    AUTO(runs) struct runs *runs = config ? runs_open(config->home, e) : NULL;
    const char *user = getenv("USER");

    run->user = user ? user : "";
    if (!runs || cap_check_month(config, l, e) < 0 || run_start(runs, run, config->home, e) < 0)
        return -1;
    int code = run_watch(runs, l, config->home, run->id, order->json, e);
    if (code < 0 || order->onwards)
        return code;
    return compare(runs, l, run->id, order->json, e) < 0 ? -1 : code;
}

int replay_carry_out(struct lake *l, const struct replay_order *order, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct run run;

    if ((order->onwards ? rerun_compose(l, order->ref, arena, &run, e)
                        : replay_compose(l, order->ref, arena, &run, e)) < 0)
        return -1;
    if (run.n_stages == 0) {
        puts(order->json ? "{\"event\": \"nothing\"}"
                         : "Nothing to run: no job worked on older versions alone.");
        return 0;
    }
    if (!order->json)
        show(&run, order->onwards);
    int agreed = run_confirm(order->yes, "Run it?", e);
    return agreed > 0 ? start_and_watch(l, order, &run, e) : agreed;
}

/* ---- offered by get ---- */

/* 1: it lost content, and jobs can make it again. */
static int can_offer(struct lake *l, const char *text, char **ref_out)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake_gone gone;
    struct run run;

    if (lake_resolve(l, text, LAKE_READ, &ref, NULL) < 0 || ref.kind != LAKE_REF_SET ||
        lake_set_gone(l, &ref, &gone, NULL) < 0 || gone.files == 0)
        return 0;
    char *whole = lake_set_ref(ref.set_name, ref.number);
    if (replay_compose(l, whole, arena, &run, NULL) == 0) {
        *ref_out = whole;
        return 1;
    }
    free(whole);
    return 0;
}

int replay_offer(struct lake *l, const char *const *refs, size_t n, bool json, struct err *e)
{
    AUTO_MEM char *ref = NULL;

    for (size_t i = 0; i < n && !ref; i++)
        can_offer(l, refs[i], &ref);
    if (!ref)
        return -1;
    if (json || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        const struct err why = *e;
        return err_set(e, why.kind, "%.280s; `tradewind replay %s` makes it again", why.text, ref);
    }
    fprintf(stderr, "The content of %s was let go by gc --economic. Its jobs can make it again.\n",
            ref);
    int code = replay_carry_out(l, &(struct replay_order){.ref = ref}, e);
    return code == 0 ? 1 : code < 0 ? -1 : err_set(e, ERR_RETRY, "%s was not made again", ref);
}

/* ---- the commands ---- */

static int carry_out(const struct command_args *args, const char *ref, bool onwards, struct err *e)
{
    AUTO(lake) struct lake *l = lake_open_here(e);
    const struct replay_order order = {.ref = ref,
                                       .onwards = onwards,
                                       .yes = command_has(args, "--yes"),
                                       .json = command_has(args, "--json")};

    return l ? replay_carry_out(l, &order, e) : -1;
}

static int run_replay(const struct command_args *args, struct err *e)
{
    return carry_out(args, args->operands[0], false, e);
}

static const struct command_option replay_options[] = {
    CLI_RUN_YES_OPTION,
    {.name = "--json",
     .help = "Print one JSON object a line: every change, the bill, and at last event replay with "
             "sets: stage, job, recorded, output and same."},
    {0},
};

const struct command command_replay = {
    .name = "replay",
    .operands = "SET",
    .summary = "Run again whatever jobs it takes to make a set version again",
    .details =
        "Runs the job that made the set version, with the recorded code, arguments and input. Jobs "
        "before it run, too, where their output is needed and no longer there (gc --economic). "
        "Says first what will run and what it cost the last time, and asks.\n\n"
        "What has the same content as recorded is restored under its old version, and nothing new "
        "is made. What differs becomes a new version with the tag non_deterministic=@S:3, which "
        "names the recorded one.",
    .example = "tradewind replay @model:3 --yes",
    .options = replay_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_replay,
};

static int run_rerun(const struct command_args *args, struct err *e)
{
    const char *from = command_value(args, "--from");

    if (!from)
        return err_set(e, ERR_USAGE,
                       "rerun: --from @SET names the newer version to work on; `tradewind job "
                       "rerun` repeats one job");
    return carry_out(args, from, true, e);
}

static const struct command_option rerun_options[] = {
    {.name = "--from", .value = "SET", .help = "The newer version: @S:2, or @S for the latest."},
    CLI_RUN_YES_OPTION,
    {.name = "--json", .help = "Print one JSON object a line: every change, the bill at last."},
    {0},
};

const struct command command_rerun = {
    .name = "rerun",
    .summary = "Run the jobs that worked on older versions of a set on a newer one",
    .details =
        "Finds the jobs that older versions of the set led to, directly or over the output of "
        "others, and runs them once more as one pipeline, in order, with the newer version in the "
        "place of the older. Of every set they made, the newest is made anew, and becomes its next "
        "version. Sets made by hand on the way are made anew, too. Says first what will run and "
        "what it cost the last time, and asks. A new version of code works the same way.",
    .example = "tradewind rerun --from @train:2 --yes",
    .options = rerun_options,
    .run = run_rerun,
};
