/* cluster measure: what one worker beside one server does, so that `cluster recommend` knows. */
#include "base/mem.h"
#include "base/time.h"
#include "broker/learn/cluster_learn.h"
#include "broker/learn/usage.h"
#include "broker/machine/cap.h"
#include "cli/cluster/cluster_parts.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/core/operate.h"
#include "cli/core/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BYTES ((size_t)256 << 20)
#define SECONDS 20.0
#define SECONDS_MIN 3.0
#define SECONDS_MAX 3600.0
/* What may pass before the first iteration: compiling, reading data. */
#define WARM_UP_S 120.0
/* Past that its nodes end by themselves: whoever measures may be gone. */
#define MARGIN_S 60.0
#define LOOK_US 200000
#define INTERRUPTED 130

static const struct command_option options[] = {
    {.name = "--on",
     .value = "ssh|GROUP",
     .help = "The hosts to measure on: all of the configuration, or those of a group of it."},
    {.name = "--server-on",
     .value = "GROUP",
     .help = "The server is on a host of this group, the worker on one of --on."},
    {.name = "--type",
     .value = "TYPE",
     .help = "What the worker's host counts as; unless said, the file's only type of worker, else "
             "the name of its group."},
    {.name = "--seconds",
     .value = "S",
     .help = "From the first iteration on, look at it for so long; 20 unless said."},
    {.name = "--again", .help = "Measure also what was measured before."},
    CLI_CLUSTER_ROOM_OPTIONS,
    {.name = "--env",
     .value = "KEY=VALUE",
     .help = "A variable for both nodes, also instead of one of the file.",
     .repeatable = true},
    CLI_RUN_SECRET_OPTION,
    CLI_RUN_YES_OPTION,
    {.name = "--json", .help = "Print {command, batch, type, mbps, per_s, seconds, run, again}."},
    {0},
};

struct measuring {
    struct cluster_desk desk;
    struct cluster_order *order;
    struct operate_door *door; /* whose app lake and runs are of */
    struct lake *lake;
    struct runs *runs;
    double seconds; /* to look at it */
    int64_t run;
    bool stopped; /* by us */
};

static void measuring_clear(struct measuring *m)
{
    operate_door_free(m->door);
    free(m->order);
    cluster_desk_clear(&m->desk);
}

/* ---- what is known ---- */

static int show(const struct measuring *m,
                const struct command_args *args,
                const struct cluster_measured_row *row,
                double seconds,
                struct err *e)
{
    const struct spec_cluster *s = m->desk.spec;

    if (command_has(args, "--json")) {
        AUTO_JSON json_t *root = json_pack(
            "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "command", json_text(s->run), "batch",
            s->batch > 0 ? json_number(s->batch) : json_null(), "type", json_text(row->type),
            "mbps", json_number(row->mbps), "per_s", json_number(row->per_s), "seconds",
            m->run ? json_number(seconds) : json_null(), "run",
            m->run ? json_integer(m->run) : json_null(), "again", m->run != 0);
        return json_write(stdout, root, e);
    }
    printf("%s on %s: one worker sends and receives %.4g Mbit/s and does %.4g iterations per "
           "second\n",
           s->name, row->type, row->mbps, row->per_s);
    if (m->run)
        printf("Seen for %.1f s in run %" PRId64 "; kept in %s/%s\n", seconds, m->run,
               m->desk.config->home, CLUSTER_MEASURED_FILE);
    else
        printf("Measured before; --again measures it once more.\n");
    return 0;
}

static const struct cluster_measured_row *known(const struct measuring *m)
{
    const struct cluster_measured_row *row =
        cluster_measured_of(m->desk.measured, m->order->worker_type);

    return row && row->workers <= 1 ? row : NULL;
}

/* ---- a run that is looked at ---- */

static int start(struct measuring *m, const struct command_args *args, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct app *app = operate_app(m->door = operate_door_new(false));
    struct run run = {.no_cache = true, .user = app_run_user(app)};

    m->lake = app_lake(app, e);
    m->runs = m->lake ? app_runs(app, e) : NULL;
    if (!m->runs || cap_check_month(m->desk.config, m->lake, e) < 0 ||
        cluster_order_compose(&m->desk, args, m->order, app, arena, &run, e) < 0 ||
        app_run_begin(app, &run, e) < 0)
        return -1;
    m->run = run.id;
    return 0;
}

/* Whether the worker has been seen for long enough, or will never be. */
static bool is_enough(const struct measuring *m, const struct run_stage *s, double *seen_s)
{
    struct usage_rates rates = {0};
    int64_t worker = s->job + s->plan.servers;
    struct lake_job job;

    *seen_s = 0;
    if (!s->job || lake_job_load(m->lake, worker, NULL, &job, NULL) < 0 || !job.started_ms)
        return false;
    if (usage_rates(m->desk.config->home, worker, &rates, NULL) == 0)
        *seen_s = rates.seconds;
    return *seen_s >= m->seconds ||
           (double)(time_epoch_ms() - job.started_ms) / 1000 >= m->seconds + WARM_UP_S;
}

static int stop(struct measuring *m, const char *why, struct err *e)
{
    m->stopped = true;
    return runs_ask_stop_for(m->runs, m->run, why, e) < 0
               ? -1
               : app_wake_broker(operate_app(m->door), e);
}

/* Until it is over: by itself, by us when enough was seen, or by Ctrl-C. */
static int look(struct measuring *m, struct run *r, struct err *e)
{
    struct progress progress;

    progress_init(&progress, stderr);
    for (unsigned looks = 1;; looks++) {
        double seen_s;
        run_clear(r);
        if (runs_get(m->runs, m->run, r, e) < 0)
            return -1;
        if (r->state != RUN_GOING)
            break;
        bool enough = is_enough(m, &r->stages[0], &seen_s);
        progress_show(&progress, "measuring: %.0f of %.0f s", seen_s, m->seconds);
        if (!m->stopped && (enough || interrupt_seen()) &&
            stop(m, enough ? "it was measured" : "interrupted", e) < 0)
            return -1;
        /* A broker that went away is started again. */
        if (looks % 5 == 0 && app_wake_broker(operate_app(m->door), e) < 0)
            return -1;
        usleep(LOOK_US);
    }
    progress_clear(&progress);
    return 0;
}

static int measure(struct measuring *m, const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(run) struct run r = {0};
    const char *home = m->desk.config->home;
    struct cluster_measured_row row = {.type = m->order->worker_type, .workers = 1};
    struct usage_rates rates;
    struct err why = {0};

    interrupt_watch();
    if (start(m, args, e) < 0 || look(m, &r, e) < 0)
        return -1;
    if (interrupt_seen())
        return INTERRUPTED;
    const struct run_stage *s = &r.stages[0];
    /* Stopped by us, a server may find that its worker is gone first, and fail. */
    if (r.state == RUN_FAILED && !m->stopped)
        return err_set(e, ERR_IO, "run %" PRId64 " failed: %.300s", m->run, s->reason);
    if (usage_rates(home, s->job + s->plan.servers, &rates, &why) < 0)
        return err_set(e, ERR_USAGE, "run %" PRId64 ", its worker: %s", m->run, why.text);
    row.mbps = rates.mbps;
    row.per_s = rates.per_s;
    if (row.mbps <= 0)
        return err_set(e, ERR_USAGE, "run %" PRId64 ": its worker sent and received nothing",
                       m->run);
    const struct cluster_measurement whole = {m->desk.spec->run, m->desk.spec->batch, row};
    /* One that came to its end by itself is written down already. */
    if (r.state != RUN_FINISHED && cluster_learn_add(home, &whole, e) < 0)
        return -1;
    return show(m, args, &row, rates.seconds, e);
}

/* ---- the command ---- */

static int read_seconds(const struct command_args *args, double *out, struct err *e)
{
    *out = SECONDS;
    if (command_number(args, "--seconds", out, e) < 0)
        return -1;
    if (*out >= SECONDS_MIN && *out <= SECONDS_MAX)
        return 0;
    return err_set(e, ERR_USAGE, "--seconds %s: from %g to %g are wanted",
                   command_value(args, "--seconds"), SECONDS_MIN, SECONDS_MAX);
}

static int run_measure(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(measuring) struct measuring m = {.order = mem_zero(1, sizeof *m.order)};
    const char *on = command_value(args, "--on");

    if (!on || !strcmp(on, "local"))
        return err_set(e, ERR_USAGE,
                       "a worker is measured on a machine of its own, by what passes its network "
                       "interface: --on GROUP names hosts of the configuration");
    if (read_seconds(args, &m.seconds, e) < 0 || cluster_desk_open(&m.desk, args, e) < 0 ||
        cluster_order_find(&m.desk, args, 1, m.order, e) < 0)
        return -1;
    m.order->measures = true;
    m.order->limit_s = m.seconds + WARM_UP_S + MARGIN_S;
    if (known(&m) && !command_has(args, "--again"))
        return show(&m, args, known(&m), 0, e);
    AUTO_MEM char *question = mem_printf("Measure %s on a server and a worker of %s?",
                                         m.desk.spec->name, m.order->place.on);
    int agreed = cli_run_confirm(command_has(args, "--yes"), question, e);
    if (agreed <= 0)
        return agreed;
    return measure(&m, args, e);
}

const struct command command_cluster_measure = {
    .name = "cluster measure",
    .operands = "FILE",
    .summary = "Measure what one worker of a training cluster sends, receives and does",
    .details =
        "Runs the file's command on one server and one worker for a short while, and keeps nothing "
        "of it but two figures: the Mbit/s through all network interfaces of the worker's machine, "
        "both ways together and without the loopback, and its iterations per second, which are "
        "the steps of the [TRADEWIND_METRIC] NAME STEP VALUE lines that the worker prints. They "
        "are kept for the command, the batch size and the type, in measured.csv of the home "
        "directory, and are not measured twice unless --again is given.",
    .example = "tradewind cluster measure examples/cluster/digits.yaml --on lab",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_measure,
};
