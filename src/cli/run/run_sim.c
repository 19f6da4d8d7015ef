#include "cli/run/run_sim.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/command.h"
#include "cli/core/interrupt.h"
#include "cli/run/run_market.h"
#include "cloud/faults.h"
#include "view/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)64 << 20)
#define NOISE 0.03
#define NOISE_MAX 1.0
#define NAME_COLUMNS 20

/* What is told of a stage at the end. */
struct outcome {
    enum run_stage_state state;
    double took_s;
    int64_t cost_microusd;
};

struct rehearsal {
    struct app_plan *plan;
    const struct command_args *args;
    bool json;
    struct text_look look;
    struct arena *arena;
    struct runs *runs;
    struct machines *machines;
    struct run run;
    struct run stored; /* --resume: what run is borrowed from */
    struct simulate_stage *stages;
    struct outcome *outcomes;
    char *troubles;
    const struct run_market *market; /* NULL = none */
    struct simulate_options options;
    struct simulate_result result;
};

/* ---- options ---- */

static bool declares(const struct command_args *args, const char *name)
{
    for (const struct command_option *o = args->options; o->name; o++)
        if (!strcmp(o->name, name))
            return true;
    return false;
}

static const char *value_of(const struct command_args *args, const char *name)
{
    return declares(args, name) ? command_value(args, name) : NULL;
}

static int read_number(
    const struct rehearsal *r, const char *name, double most, double *out, struct err *e)
{
    if (!value_of(r->args, name))
        return 0;
    if (command_number(r->args, name, out, e) < 0)
        return -1;
    if (!(*out >= 0 && *out <= most))
        return err_set(e, ERR_USAGE, "%s %s: must be from 0 to %g", name, value_of(r->args, name),
                       most);
    return 0;
}

static int read_seed(struct rehearsal *r, struct err *e)
{
    const char *text = value_of(r->args, "--seed");
    char *end;

    r->options.seed = 1;
    if (!text)
        return 0;
    errno = 0;
    r->options.seed = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-')
        return err_set(e, ERR_USAGE, "--seed %s: must be a whole number from 0 on", text);
    return 0;
}

static int read_troubles(struct rehearsal *r, struct err *e)
{
    const char *path = value_of(r->args, "--troubles");
    FILE *in = path ? fopen(path, "re") : NULL;

    if (!path)
        return 0;
    if (!in)
        return err_set(e, errno == ENOENT ? ERR_USAGE : ERR_IO, "--troubles %s: %s", path,
                       strerror(errno));
    r->troubles = mem_zero(CLOUD_FAULTS_BYTES_MAX + 2, 1);
    size_t n = fread(r->troubles, 1, CLOUD_FAULTS_BYTES_MAX + 1, in);
    bool failed = ferror(in) != 0;
    fclose(in);
    if (failed)
        return err_set(e, ERR_IO, "--troubles %s: cannot be read", path);
    if (n > CLOUD_FAULTS_BYTES_MAX || strlen(r->troubles) != n)
        return err_set(e, ERR_USAGE, "--troubles %s: more than %zu bytes, or no text", path,
                       CLOUD_FAULTS_BYTES_MAX);
    AUTO(cloud_faults) struct cloud_faults *t = cloud_faults_new(r->troubles, e);
    if (!t)
        return err_wrap(e, "--troubles %s", path);
    r->options.troubles = r->troubles;
    return 0;
}

static int read_options(struct rehearsal *r, struct err *e)
{
    double most_usd = -1;

    r->options.noise = NOISE;
    if (read_seed(r, e) < 0 || read_number(r, "--noise", NOISE_MAX, &r->options.noise, e) < 0 ||
        read_number(r, "--max-cost", MONEY_MAX_USD, &most_usd, e) < 0 || read_troubles(r, e) < 0)
        return -1;
    r->options.max_microusd = most_usd < 0 ? -1 : money_from_usd(most_usd);
    return 0;
}

/* ---- the plan as a run ---- */

static int too_large(const struct rehearsal *r, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s is too large a pipeline", r->plan->spec->file);
}

static int compose_stage(struct rehearsal *r, size_t i, struct err *e)
{
    const struct spec_stage *stage = &r->plan->spec->stages[i];
    const struct plan_stage *s = &r->plan->answer.plan.stages[i];
    AUTO_MEM char *place = app_plan_place_text(r->plan->catalog, s->place, s->offer);
    struct run_stage_plan *out = &r->run.stages[i].plan;

    r->stages[i] = run_sim_stage(r->plan, i, s);
    *out = (struct run_stage_plan){
        .name = stage->name,
        .needs = stage->needs,
        .n_needs = stage->n_needs,
        .cpus = isfinite(s->kind->vcpus) ? s->kind->vcpus : 0,
        .memory_mb = isfinite(s->kind->memory_gib) ? (uint64_t)(s->kind->memory_gib * 1024) : 0,
        .checkpoint_s = stage->checkpoint_s,
        .note = "",
        .place = arena_dup(r->arena, place),
        .instance_type = r->stages[i].instance_type,
        .spot = s->spot,
        .nodes = s->nodes,
        .price_usd_per_hour = s->price_usd_per_hour * s->nodes,
        .planned_s = s->finish_s - s->start_s,
        .planned_microusd = s->compute_microusd + s->transfer_microusd + s->storage_microusd};
    return out->place ? 0 : too_large(r, e);
}

static int compose(struct rehearsal *r, struct err *e)
{
    const struct app_plan *p = r->plan;
    size_t n = p->spec->n_stages;
    const char *user = getenv("USER");

    r->run = (struct run){.name = p->spec->name,
                          .file = p->spec->file,
                          .user = user ? user : "",
                          .on = "sim",
                          .planned_s = p->answer.plan.time_s,
                          .planned_microusd = p->answer.plan.cost_microusd,
                          .stages = arena_alloc(r->arena, n + 1, sizeof *r->run.stages),
                          .n_stages = n};
    r->stages = arena_alloc(r->arena, n + 1, sizeof *r->stages);
    r->outcomes = arena_alloc(r->arena, n + 1, sizeof *r->outcomes);
    if (!r->run.stages || !r->stages || !r->outcomes)
        return too_large(r, e);
    for (size_t i = 0; i < n; i++)
        if (compose_stage(r, i, e) < 0)
            return -1;
    return 0;
}

/* The market's clock, and where each stage stands to it. */
static void follow_market(struct rehearsal *r)
{
    r->options.market = &r->market->market;
    r->options.begin_ms = llround(r->market->start_s * 1000);
    for (size_t i = 0; i < r->run.n_stages; i++)
        r->run.stages[i].plan.note = r->market->notes[i];
}

static bool follows(const struct rehearsal *r, size_t stage)
{
    return r->market && r->market->trades[stage].job;
}

/* Means over the planned stages: the cloud on paper has one boot time and one rate of losses. */
static void set_cloud(struct rehearsal *r)
{
    const struct config *c = r->plan->config;
    size_t n = r->run.n_stages, n_spot = 0;
    double boot_s = 0, rate = 0;

    for (size_t i = 0; i < n; i++) {
        const struct plan_stage *s = &r->plan->answer.plan.stages[i];
        boot_s += s->boot_s;
        n_spot += s->spot;
        if (s->spot)
            rate += isnan(s->offer->preemptions) ? config_preemptions(c, r->stages[i].provider)
                                                 : s->offer->preemptions;
    }
    r->options.boot_s = n ? boot_s / (double)n : 0;
    r->options.preemptions_per_hour = n_spot ? rate / (double)n_spot : c->preemptions_other;
}

/* ---- going on with an earlier one ---- */

static int check_same(const struct rehearsal *r, struct err *e)
{
    bool same = r->stored.n_stages == r->run.n_stages && !strcmp(r->stored.on, "sim");

    for (size_t i = 0; same && i < r->run.n_stages; i++)
        same = !strcmp(r->stored.stages[i].plan.name, r->run.stages[i].plan.name);
    for (size_t i = 0; same && i < r->run.n_stages; i++)
        if (strcmp(r->stored.stages[i].plan.note, r->run.stages[i].plan.note) != 0)
            return err_set(e, ERR_USAGE,
                           "the last run of %s, number %" PRId64
                           ", had another --start or --policy: take those, or leave out --resume",
                           r->run.name, r->stored.id);
    if (same)
        return 0;
    return err_set(e, ERR_USAGE,
                   "the last run of %s, number %" PRId64
                   ", was not of these stages on sim: leave out --resume",
                   r->run.name, r->stored.id);
}

static int take_up(struct rehearsal *r, struct err *e)
{
    int64_t id;

    if (runs_latest(r->runs, r->run.name, &id, e) < 0)
        return -1;
    if (!id)
        return err_set(e, ERR_NOTFOUND, "pipeline %s has not been run yet: leave out --resume",
                       r->run.name);
    if (runs_get(r->runs, id, &r->stored, e) < 0 || check_same(r, e) < 0 ||
        runs_reopen(r->runs, id, e) < 0)
        return -1;
    r->run.id = id;
    r->run.created_ms = r->stored.created_ms;
    for (size_t i = 0; i < r->run.n_stages; i++) {
        enum run_stage_state state = r->stored.stages[i].state;
        bool stays = state == STAGE_FINISHED || state == STAGE_REUSED;
        r->run.stages[i].state = stays ? state : STAGE_WAITING;
        r->outcomes[i].state = r->run.stages[i].state;
    }
    return 0;
}

static int record(struct rehearsal *r, struct err *e)
{
    const char *home = r->plan->config->home;

    if (file_make_dirs(home, 0700, e) < 0 || !(r->runs = runs_open(home, e)) ||
        !(r->machines = machines_open(home, e)))
        return -1;
    runs_relax(r->runs);
    machines_relax(r->machines);
    if (declares(r->args, "--resume") && command_has(r->args, "--resume"))
        return take_up(r, e);
    return runs_add(r->runs, &r->run, e);
}

/* ---- showing ---- */

static void print_line(const json_t *event)
{
    AUTO_MEM char *text = json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(15));

    printf("%s\n", text ? text : "{}");
}

static void put_event(const struct rehearsal *r, const struct simulate_event *x)
{
    bool is_note = x->kind == SIMULATE_NOTE;
    AUTO_JSON json_t *event = json_pack(
        "{s:s, s:I, s:o, s:o, s:o}", "event", is_note ? "note" : "stage", "run",
        (json_int_t)r->run.id, "at_s", json_number(x->at_s), "stage",
        x->stage < r->run.n_stages ? json_text(r->run.stages[x->stage].plan.name) : json_null(),
        is_note ? "text" : "state", json_text(is_note ? x->text : run_stage_state_text(x->state)));

    if (!is_note) {
        json_object_set_new(event, "reason", json_text(x->text));
        json_object_set_new(event, "runtime_s", json_number(x->took_s));
        json_object_set_new(event, "cost_usd", json_usd(x->cost_microusd));
    }
    print_line(event);
}

static void put_stage(const struct rehearsal *r, const struct simulate_event *x)
{
    const struct run_stage_plan *plan = &r->run.stages[x->stage].plan;
    const struct simulate_stage *s = &r->stages[x->stage];
    char took[32], planned[32], cost[32], planned_cost[32];

    printf(" %-9s", run_stage_state_text(x->state));
    if (x->state == STAGE_GOING && follows(r, x->stage))
        printf(" where prices lead it");
    else if (x->state == STAGE_GOING)
        printf(" on %s%s in %s/%s", s->instance_type, s->spot ? " (spot)" : "", s->provider,
               s->region);
    else if (x->state == STAGE_FINISHED)
        printf(" %s of %s, %s of %s", time_text(x->took_s, took),
               time_text(plan->planned_s, planned), money_text(x->cost_microusd, cost),
               money_text(plan->planned_microusd, planned_cost));
    else
        printf(" %s", x->text);
}

static int tell(void *context, const struct simulate_event *x, struct err *e)
{
    struct rehearsal *r = context;
    const char *name = x->stage < r->run.n_stages ? r->run.stages[x->stage].plan.name : "";
    char clock[32];
    AUTO_CLEAR(buf) struct buf shown;

    (void)e;
    buf_init(&shown, 4096);
    if (x->kind == SIMULATE_STAGE)
        r->outcomes[x->stage] = (struct outcome){x->state, x->took_s, x->cost_microusd};
    if (r->json) {
        put_event(r, x);
        return 0;
    }
    text_put(&shown, name, NAME_COLUMNS, r->look.utf8);
    printf("  %9s  %-*s", cli_plan_clock_text(x->at_s, clock), NAME_COLUMNS, buf_str(&shown));
    if (x->kind == SIMULATE_STAGE)
        put_stage(r, x);
    else
        printf(" %s", x->text);
    putchar('\n');
    return 0;
}

static const struct table_column bill_columns[] = {
    {"stage", false, 1, 8},  {"state", false, 0, 0}, {"machine", false, 2, 8},
    {"planned", true, 0, 0}, {"took", true, 0, 0},   {"planned", true, 0, 0},
    {"cost", true, 0, 0},
};

static void put_row(struct table *t, const struct rehearsal *r, size_t i)
{
    const struct run_stage_plan *plan = &r->run.stages[i].plan;
    const struct outcome *o = &r->outcomes[i];
    char text[32];

    table_put(t, plan->name);
    table_put(t, run_stage_state_text(o->state ? o->state : STAGE_WAITING));
    table_put(t, r->stages[i].instance_type);
    table_put(t, time_text(plan->planned_s, text));
    table_put(t, o->took_s > 0 ? time_text(o->took_s, text) : "");
    table_put(t, money_text(plan->planned_microusd, text));
    table_put(t, o->took_s > 0 ? money_text(o->cost_microusd, text) : "");
}

static void print_bill(const struct rehearsal *r)
{
    const struct simulate_result *x = &r->result;
    AUTO(table)
    struct table *t = table_new(bill_columns, sizeof bill_columns / sizeof *bill_columns);
    char text[32];

    for (size_t i = 0; i < r->run.n_stages; i++)
        put_row(t, r, i);
    table_rule(t);
    table_put(t, "total");
    table_put(t, run_state_text(x->state));
    table_printf(t, "%zu rented", x->machines);
    table_put(t, time_text(r->run.planned_s, text));
    table_put(t, time_text(x->time_s, text));
    table_put(t, money_text(r->run.planned_microusd, text));
    table_put(t, money_text(x->compute_microusd + x->data_microusd, text));
    printf("\nrun %" PRId64 " on paper, seed %" PRIu64 "\n", r->run.id, r->options.seed);
    table_print(t, stdout, 0, TEXT_COLUMNS, &r->look);
    if (r->market)
        printf("switches: %zu, preemptions: %zu\n", x->switches, x->preemptions);
    if (*x->reason)
        printf("%s: %s\n", run_state_text(x->state), x->reason);
}

static void put_bill(const struct rehearsal *r)
{
    const struct simulate_result *x = &r->result;
    AUTO_JSON json_t *bill = json_pack(
        "{s:s, s:I, s:o, s:s, s:o, s:I, s:I, s:I}", "event", "bill", "run", (json_int_t)r->run.id,
        "pipeline", json_text(r->run.name), "state", run_state_text(x->state), "reason",
        json_text(x->reason), "seed", (json_int_t)r->options.seed, "machines",
        (json_int_t)x->machines, "machines_open", (json_int_t)x->open);

    json_object_set_new(bill, "time_s", json_number(x->time_s));
    json_object_set_new(bill, "planned_s", json_number(r->run.planned_s));
    json_object_set_new(bill, "cost_usd", json_usd(x->compute_microusd + x->data_microusd));
    json_object_set_new(bill, "compute_usd", json_usd(x->compute_microusd));
    json_object_set_new(bill, "data_usd", json_usd(x->data_microusd));
    json_object_set_new(bill, "planned_usd", json_usd(r->run.planned_microusd));
    if (r->market) {
        json_object_set_new(bill, "switches", json_integer((json_int_t)x->switches));
        json_object_set_new(bill, "preemptions", json_integer((json_int_t)x->preemptions));
    }
    print_line(bill);
}

/* ---- running ---- */

static int replan(void *context,
                  const struct simulate_question *q,
                  struct simulate_stage *stages,
                  struct err *e)
{
    const struct rehearsal *r = context;

    return run_sim_replan(r->plan, q, stages, e);
}

static bool stop(void *context)
{
    (void)context;
    return interrupt_seen();
}

static int rehearse(struct rehearsal *r, struct err *e)
{
    if (read_options(r, e) < 0 || compose(r, e) < 0)
        return -1;
    if (r->market)
        follow_market(r);
    if (record(r, e) < 0)
        return -1;
    set_cloud(r);
    r->options.home = r->plan->config->home;
    r->options.runs = r->runs;
    r->options.machines = r->machines;
    r->options.run = &r->run;
    r->options.stages = r->stages;
    r->options.replan = replan;
    r->options.tell = tell;
    r->options.stop = stop;
    r->options.context = r;
    interrupt_watch();
    double begin_s = time_monotonic_s();
    if (simulate_run(&r->options, &r->result, e) < 0)
        return -1;
    log_debug("cli", "simulated in %.3f ms", (time_monotonic_s() - begin_s) * 1e3);
    if (r->json)
        put_bill(r);
    else
        print_bill(r);
    if (r->result.open)
        return err_set(e, ERR_RETRY,
                       "%zu machines of run %" PRId64
                       " are not released yet: tradewind machines cleanup --yes",
                       r->result.open, r->run.id);
    return r->result.state == RUN_FINISHED ? 0 : r->result.state == RUN_STOPPED ? 130 : 1;
}

int run_sim_check(const struct command_args *args, struct err *e)
{
    struct rehearsal r = {.args = args};
    int result = read_options(&r, e);

    free(r.troubles);
    return result;
}

int run_on_sim(struct app_plan *p,
               const struct command_args *args,
               const struct run_market *market,
               bool json,
               struct err *e)
{
    struct rehearsal r = {.plan = p,
                          .args = args,
                          .market = market,
                          .json = json,
                          .look = text_look_for(stdout),
                          .arena = arena_new(ARENA_BYTES)};
    int result = rehearse(&r, e);

    run_clear(&r.stored);
    runs_free(r.runs);
    machines_free(r.machines);
    free(r.troubles);
    arena_free(r.arena);
    return result;
}
