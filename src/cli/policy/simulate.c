/* simulate: the command `policy simulate`, with its trace of events. */
#include "base/file.h"
#include "cli/core/commands.h"
#include "cli/policy/policy.h"

#include <stdio.h>
#include <unistd.h>

/* Where the answer goes: events to a file, the head to standard output. */
struct simulation {
    const struct command_args *args;
    struct operate_terminal *door;
    struct file_draft draft; /* of --trace */
    FILE *trace;             /* NULL = none */
    int exit_code;
};

static void simulation_clear(struct simulation *s)
{
    if (s->trace)
        fclose(s->trace);
    file_draft_clear(&s->draft);
}

/* ---- the trace ---- */

static int open_trace(struct simulation *s, const char *path, struct err *e)
{
    if (file_draft_open(&s->draft, path, 0666, e) < 0)
        return -1;
    int fd = dup(s->draft.fd);
    s->trace = fd < 0 ? NULL : fdopen(fd, "w");
    return s->trace ? 0 : file_error(e, "write", path);
}

/* Every digit: readers compute with the same numbers. */
static int write_event(void *context, const void *record, struct err *e)
{
    const struct app_policy_event *event = record;
    struct simulation *s = context;

    (void)e; /* errors show when the file is closed */
    json_dumpf(event->event, s->trace, JSON_COMPACT | JSON_REAL_PRECISION(17));
    fputc('\n', s->trace);
    return 0;
}

static int keep_trace(struct simulation *s, struct err *e)
{
    bool failed = ferror(s->trace);

    failed = fclose(TAKE(s->trace)) != 0 || failed;
    return failed ? file_error(e, "write", s->draft.path) : file_draft_keep(&s->draft, e);
}

/* ---- the answer ---- */

static int print_json(const struct app_policy_simulated *simulated, struct err *e)
{
    struct writer w;

    writer_init(&w, WRITER_JSON, policy_simulate_operation.answer, NULL, NULL, false, stdout);
    int result = writer_head(&w, simulated, e) < 0 || writer_end(&w, e) < 0 ? -1 : 0;
    writer_clear(&w);
    return result;
}

static int print_head(void *context, const void *record, struct err *e)
{
    const struct app_policy_simulated *simulated = record;
    struct simulation *s = context;
    const char *svg = command_value(s->args, "--svg");

    operate_terminal_quiet(s->door);
    if ((s->trace && keep_trace(s, e) < 0) || (svg && cli_policy_save_svg(svg, simulated, e) < 0))
        return -1;
    s->exit_code = simulated->unfinished ? err_exit_code(ERR_NOFIT) : 0;
    if (command_has(s->args, "--json"))
        return print_json(simulated, e);
    cli_policy_print_simulated(
        &(struct operate_text){.out = stdout, .look = text_look_for(stdout), .args = s->args},
        simulated);
    return simulated->unfinished ? err_set(e, ERR_NOFIT, "%s", simulated->unfinished) : 0;
}

/* The bytes of an answer that are not events: the jobs. */
#define ANSWER_MAX_BYTES ((size_t)1 << 30)

static int run_simulate(const struct command_args *args, struct err *e)
{
    AUTO_JSON json_t *request = operate_request(args, &policy_simulate_operation, e);
    AUTO(operate_terminal) struct operate_terminal *door = NULL;
    AUTO(arena) struct arena *arena = arena_new(ANSWER_MAX_BYTES);
    AUTO_CLEAR(simulation) struct simulation s = {.args = args};
    const char *trace = command_value(args, "--trace");

    if (!request)
        return -1;
    s.door = door = operate_terminal_new(true);
    if (trace && open_trace(&s, trace, e) < 0)
        return -1;
    struct answer answer = {.arena = arena, .head = print_head, .item = write_event, .context = &s};
    if (operation_call(operate_app(door), &policy_simulate_operation, request, FIELD_AS_OPTION,
                       &answer, e) < 0)
        return -1;
    return s.exit_code;
}

static const struct command_option options[] = {
    {.name = "--svg",
     .value = "FILE",
     .sets = "story",
     .help = "Draw the jobs by type, the queue and the cost."},
    {.name = "--trace",
     .value = "FILE",
     .sets = "events",
     .help = "Write every solve and every round, one JSON object per line."},
    {0},
};

const struct command command_policy_simulate = {
    .name = "policy simulate",
    .operands = "TRACE",
    .summary = "Simulate a policy round by round while jobs arrive and prices change",
    .details =
        "TRACE is JSON like that of `policy solve`, with arrival_h of jobs and optionally "
        "preemptions {at_h, until_h, type, instances}; slo_h counts from the arrival. Or it is "
        "JSON lines: {\"types\": [...]} first, then jobs as {\"at_h\": 0.5, \"name\": ...} and "
        "prices as {\"at_h\": 8, \"prices\": {\"V100\": 0.9}}. - reads standard input.\n\n"
        "The policy solves its shares again whenever a job arrives or ends, a price changes, "
        "instances are preempted or a deadline passes, at the prices of that time. Each round "
        "runs the jobs that have received the least of their shares; a gang runs as a whole, on "
        "one type per round, within all quotas. A job that misses its deadline keeps running, and "
        "the answer says when the miss was known. The answer compares the cost with a lower bound "
        "for schedules that know the future. docs/policies.md has the rules.",
    .example = "tradewind policy simulate examples/policy-trace.json --policy min-cost-slo",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .operation = &policy_simulate_operation,
    .run = run_simulate,
};
