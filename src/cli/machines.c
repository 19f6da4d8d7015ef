#include "broker/machines.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/client.h"
#include "broker/host.h"
#include "broker/runs.h"
#include "broker/simulate.h"
#include "cli/commands.h"
#include "cli/json_list.h"
#include "cli/lake_open.h"
#include "cli/table.h"
#include "lake/job.h"
#include "spec/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_records(struct config **config_out, struct machines **out, struct err *e)
{
    *config_out = config_load(NULL, e);
    if (!*config_out || file_make_dirs((*config_out)->home, 0700, e) < 0)
        return -1;
    *out = machines_open((*config_out)->home, e);
    return *out ? 0 : -1;
}

/* "aws/us-east-1a" where the zone's name begins with the region's, "lab" for a pool. New string. */
static char *place_of(const struct cloud_machine *f)
{
    bool zoned = *f->zone && strncmp(f->zone, f->region, strlen(f->region)) == 0;
    const char *slash = *f->provider && *f->region ? "/" : "";

    if (*f->zone && !zoned)
        return mem_printf("%s%s%s/%s", f->provider, slash, f->region, f->zone);
    return mem_printf("%s%s%s", f->provider, slash, zoned ? f->zone : f->region);
}

/* Hosts of one's own have a name instead of a type. */
static const char *kind_of(const struct cloud_machine *f)
{
    return *f->instance_type ? f->instance_type : f->address;
}

static json_t *machine_json(const struct machine *m, int64_t now_ms)
{
    const struct cloud_machine *f = &m->facts;
    char since[32], expires[32];
    json_t *o = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:b, s:s, s:s, s:I, s:I, s:o, s:s, s:s, s:o, s:s}", "cloud",
        m->cloud, "provider", json_text(f->provider), "region", json_text(f->region), "zone",
        json_text(f->zone), "instance_type", json_text(f->instance_type), "spot", f->spot, "state",
        machine_state_text(m->state), "since", time_iso(m->since_ms, since), "run",
        (json_int_t)f->run, "job", (json_int_t)f->job, "stage",
        m->stage < 0 ? json_null() : json_integer((json_int_t)m->stage), "token", f->token, "id",
        f->id, "reason", json_text(m->reason), "expires_at", time_iso(f->expires_ms, expires));

    json_object_set_new(o, "price_usd_per_hour", json_number(f->price_usd_per_hour));
    json_object_set_new(o, "cost_usd", json_usd(machine_cost_microusd(m, now_ms)));
    json_object_set_new(o, "data_usd", json_usd(m->data_microusd));
    return o;
}

/* ---- machines ls ---- */

static const struct command_option ls_options[] = {
    {.name = "--all", .help = "Also those that are gone.", .letter = 'a'},
    {.name = "--json", .help = "Print a JSON array."},
    {0},
};

static const struct table_column ls_columns[] = {
    {"cloud", false, 0, 0}, {"machine", false, 2, 8}, {"where", false, 1, 8},
    {"state", false, 0, 0}, {"since", true, 0, 0},    {"cost", true, 0, 0},
    {"run", true, 0, 0},    {"job", true, 0, 0},
};

struct listing {
    bool json;
    struct json_list list;
    struct table *table;
    size_t n;
};

static void put_number(struct table *t, int64_t number)
{
    if (number)
        table_printf(t, "%" PRId64, number);
    else
        table_put(t, "");
}

static int list_one(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct listing *l = context;
    AUTO_MEM char *place = place_of(&m->facts);
    char text[32];

    l->n++;
    if (l->json)
        return json_list_add(&l->list, machine_json(m, now_ms), e);
    table_put(l->table, m->cloud);
    table_printf(l->table, "%s%s", kind_of(&m->facts), m->facts.spot ? " (spot)" : "");
    table_put(l->table, place);
    table_put(l->table, machine_state_text(m->state));
    double age_s = (double)(now_ms - m->since_ms) / 1000;
    /* Rehearsals that are over have left the present behind. */
    table_put(l->table, age_s < 0 ? "" : time_text(age_s, text));
    table_put(l->table, money_text(machine_cost_microusd(m, now_ms) + m->data_microusd, text));
    put_number(l->table, m->facts.run);
    put_number(l->table, m->facts.job);
    return 0;
}

static int ls(const struct command_args *args, struct err *e)
{
    AUTO(config) struct config *c = NULL;
    AUTO(machines) struct machines *records = NULL;
    AUTO(table) struct table *t = table_new(ls_columns, sizeof ls_columns / sizeof *ls_columns);
    struct listing l = {.json = command_has(args, "--json"), .table = t};
    struct machine_filter which = {.world = -1, .with_gone = command_has(args, "--all")};
    const struct text_look look = text_look_for(stdout);

    if (open_records(&c, &records, e) < 0)
        return -1;
    if (l.json)
        json_list_begin(&l.list, stdout);
    if (machines_each(records, &which, list_one, &l, e) < 0)
        return -1;
    if (l.json)
        return json_list_end(&l.list, e);
    if (l.n)
        table_print(t, stdout, 0, TEXT_COLUMNS, &look);
    else
        puts(which.with_gone ? "No machine was ever rented." : "No machine is rented.");
    return 0;
}

const struct command command_machines_ls = {
    .name = "machines ls",
    .summary = "Machines that are rented, what they cost so far, and what for",
    .details = "A machine is listed from the moment before it is asked for until its cloud has "
               "confirmed that it is gone; with --all, also after that. Those of a rehearsal on "
               "sim live by a clock of their own.",
    .example = "tradewind machines ls --all",
    .options = ls_options,
    .run = ls,
};

/* ---- machines sweep ---- */

static const struct command_option sweep_options[] = {
    {.name = "--yes", .help = "Give them back; without it they are only listed.", .letter = 'y'},
    {.name = "--json", .help = "Print a JSON array of what was found."},
    {0},
};

/* So long a broker that runs may take to give back what a job had. */
#define BROKER_MS ((int64_t)120 * 1000)

struct sweeping {
    bool json, dry_run;
    bool has_broker; /* one runs for this home */
    struct json_list list;
    struct machines *records;
    struct runs *runs;
    struct lake *lake; /* opened when a job is asked for */
    size_t n, open;
};

static int tell(void *context,
                const struct machine *m,
                enum machine_finding finding,
                const char *trouble,
                struct err *e)
{
    struct sweeping *s = context;
    AUTO_MEM char *place = place_of(&m->facts);
    int64_t now_ms = time_epoch_ms();

    s->n++;
    if (s->json) {
        json_t *o = machine_json(m, now_ms);
        json_object_set_new(o, "found", json_string(machine_finding_text(finding)));
        json_object_set_new(o, "trouble", trouble ? json_text(trouble) : json_null());
        return json_list_add(&s->list, o, e);
    }
    bool is_job = m->facts.job && !m->facts.run;
    printf("%s %s in %s, %s %" PRId64 ": %s", m->cloud, kind_of(&m->facts), place,
           is_job ? "job" : "run", is_job ? m->facts.job : m->facts.run,
           machine_finding_text(finding));
    if (trouble)
        printf("; not given back yet: %s", trouble);
    else if (!s->dry_run)
        printf("; given back");
    putchar('\n');
    return 0;
}

struct seen {
    bool has_broker;
    int over;
};

/* What ended just now is on its way back, if there is a broker. */
static int see_over(void *context, const struct lake_job *job, struct err *e)
{
    struct seen *seen = context;
    bool leaving = seen->has_broker && time_epoch_ms() - job->finished_ms < BROKER_MS;

    (void)e;
    seen->over = lake_job_state_final(job->state) && !leaving;
    return 0;
}

static bool broker_runs(const char *home)
{
    struct err none = {0};
    AUTO(broker_client) struct broker_client *c = broker_client_open(home, false, &none);

    return c != NULL;
}

/* A job that nobody knows is over, too. */
static int is_job_over(struct sweeping *s, int64_t job, struct err *e)
{
    struct err why = {0};
    struct seen seen = {.has_broker = s->has_broker, .over = 1};

    if (!s->lake)
        s->lake = lake_open_here(e);
    if (!s->lake)
        return -1;
    if (lake_job_get(s->lake, job, see_over, &seen, &why) == 0 || why.kind == ERR_NOTFOUND)
        return seen.over;
    return err_set(e, why.kind, "%s", why.text);
}

/* The same with runs. */
static int is_over(void *context, int64_t run, int64_t job, struct err *e)
{
    struct sweeping *s = context;
    AUTO_CLEAR(run) struct run r = {0};
    struct err why = {0};

    if (job)
        return is_job_over(s, job, e);
    if (runs_get(s->runs, run, &r, &why) == 0)
        return r.state != RUN_GOING;
    return why.kind == ERR_NOTFOUND ? 1 : err_set(e, why.kind, "%s", why.text);
}

static int64_t real_ms(void *context)
{
    (void)context;
    return time_epoch_ms();
}

static int sweep_pool(struct sweeping *s, const struct config *c, struct err *e)
{
    struct machine_sweep how = {
        .dry_run = s->dry_run, .is_over = is_over, .tell = tell, .context = s};
    AUTO(cloud) struct cloud *cloud = host_pool_open(c, machines_owner(s->records), e);
    struct machine_desk desk = {.records = s->records, .cloud = cloud, .now_ms = real_ms};

    if (!cloud || machine_reconcile(&desk, &how, e) < 0)
        return err_wrap(e, "sweep the pool");
    s->open += how.open;
    return 0;
}

static int sweep_all(struct sweeping *s, const struct config *c, struct err *e)
{
    struct machine_sweep how = {.dry_run = s->dry_run, .tell = tell, .context = s};

    if (simulate_sweep(c->home, s->runs, s->records, &how, e) < 0)
        return err_wrap(e, "sweep the rehearsals");
    s->open = how.open;
    return sweep_pool(s, c, e);
}

static int report(const struct sweeping *s, struct err *e)
{
    if (s->json || s->n == 0) {
        if (!s->json)
            puts("Nothing is left over.");
    } else if (s->dry_run) {
        puts("Nothing was done: --yes gives them back.");
    }
    if (!s->dry_run && s->open)
        return err_set(e, ERR_RETRY,
                       "%zu machines are not confirmed to be gone: sweep again in a minute",
                       s->open);
    return 0;
}

static int sweep(const struct command_args *args, struct err *e)
{
    AUTO(config) struct config *c = NULL;
    AUTO(machines) struct machines *records = NULL;

    if (open_records(&c, &records, e) < 0)
        return -1;
    AUTO(runs) struct runs *runs = runs_open(c->home, e);
    struct sweeping s = {.json = command_has(args, "--json"),
                         .dry_run = !command_has(args, "--yes"),
                         .has_broker = broker_runs(c->home),
                         .records = records,
                         .runs = runs};
    if (!runs)
        return -1;
    if (s.json)
        json_list_begin(&s.list, stdout);
    int swept = sweep_all(&s, c, e);
    lake_free(s.lake);
    if (swept < 0 || (s.json && json_list_end(&s.list, e) < 0))
        return -1;
    return report(&s, e);
}

const struct command command_machines_sweep = {
    .name = "machines sweep",
    .summary = "Finds machines that nobody owns and gives them back",
    .details =
        "Compares the records with what each cloud lists, both ways. Nobody owns a machine whose "
        "run or job is over or whose lease ran out, and one that is tagged as this home's and has "
        "no "
        "record. Without --yes they are only listed. Sweeping can be repeated at any time; the "
        "exit code is 6 while a cloud has not confirmed that all of them are gone.\n\n"
        "Swept are the hosts of the configuration and the rehearsals whose process was "
        "killed.",
    .example = "tradewind machines sweep --yes",
    .options = sweep_options,
    .run = sweep,
};
