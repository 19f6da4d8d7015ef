/* machines_sweep: gives back what nobody owns. */
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/runs.h"
#include "broker/daemon/client.h"
#include "broker/daemon/host.h"
#include "broker/machine/bill.h"
#include "broker/sim/simulate.h"
#include "cli/admin/machines_parts.h"
#include "cli/core/commands.h"
#include "app/core/lake_open.h"
#include "cli/core/progress.h"
#include "exec/exec.h"
#include "view/json_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So long a broker that runs may take to give back what a job had. */
#define BROKER_MS ((int64_t)120 * 1000)

struct sweeping {
    const struct command_args *args;
    bool json, dry_run;
    bool has_broker; /* one runs for this home */
    struct json_list list;
    struct progress progress;
    struct machines *records;
    struct runs *runs;
    struct lake *lake; /* opened when it is needed first */
    char *agent;       /* looked for when it is needed first */
    size_t n, open;
    size_t unclear;    /* hosts that are kept */
    bool is_forgotten; /* the machine at hand goes back as it is */
};

/* ---- telling ---- */

static void print_found(const struct sweeping *s,
                        const struct machine *m,
                        enum machine_finding finding,
                        const char *trouble)
{
    AUTO_MEM char *place = machines_place(&m->facts);
    bool is_job = m->facts.job && !m->facts.run;

    printf("%s %s in %s, %s %" PRId64 ": %s", m->cloud, machines_kind(&m->facts), place,
           is_job ? "job" : "run", is_job ? m->facts.job : m->facts.run,
           machine_finding_text(finding));
    if (trouble)
        printf("; not given back yet: %s", trouble);
    else if (s->is_forgotten)
        printf("; given back as it is: it does not answer");
    else if (!s->dry_run)
        printf("; given back");
    putchar('\n');
}

static int tell(void *context,
                const struct machine *m,
                enum machine_finding finding,
                const char *trouble,
                struct err *e)
{
    struct sweeping *s = context;
    bool is_forgotten = s->is_forgotten;

    s->n++;
    progress_clear(&s->progress);
    if (!s->json)
        print_found(s, m, finding, trouble);
    s->is_forgotten = false;
    if (!s->json)
        return 0;
    json_t *o = machines_json(m, time_epoch_ms());
    json_object_set_new(o, "found", json_string(machine_finding_text(finding)));
    json_object_set_new(o, "trouble", trouble ? json_text(trouble) : json_null());
    json_object_set_new(o, "forgotten", json_boolean(is_forgotten));
    return json_list_add(&s->list, o, e);
}

/* ---- whether it is needed ---- */

static bool broker_runs(const char *home)
{
    struct err none = {0};
    AUTO(broker_client) struct broker_client *c = broker_client_open(home, false, &none);

    return c != NULL;
}

static struct lake *lake_of(struct sweeping *s, struct err *e)
{
    if (!s->lake)
        s->lake = lake_open_here(e);
    return s->lake;
}

/* The broker, if one runs, terminates the machine of a job that ended just now; without one the
 * next broker takes up a running job. A job that no project has is over. */
static int is_job_over(struct sweeping *s, int64_t job, struct err *e)
{
    struct err why = {0};
    struct lake *l = lake_of(s, e);
    struct lake_job record;
    bool is_known;

    if (!l)
        return -1;
    if (lake_job_load(l, job, NULL, &record, &why) == 0) {
        bool leaving = s->has_broker && time_epoch_ms() - record.finished_ms < BROKER_MS;
        return lake_job_state_final(record.state) && !leaving ? 1 : MACHINE_NEEDED;
    }
    if (why.kind != ERR_NOTFOUND)
        return err_set(e, why.kind, "%s", why.text);
    if (lake_job_exists(l, job, &is_known, e) < 0)
        return -1;
    return is_known ? MACHINE_NEEDED : 1;
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

/* ---- hosts ---- */

/* The next one that is named with --forget, from *at on; NULL = no more. */
static const char *next_forgotten(const struct command_args *args, size_t *at)
{
    while (*at < args->n_given) {
        const struct command_given *g = &args->given[(*at)++];
        if (!strcmp(g->option->name, "--forget"))
            return g->value;
    }
    return NULL;
}

static bool is_to_forget(const struct sweeping *s, const struct machine *m)
{
    size_t at = 0;

    for (const char *host; (host = next_forgotten(s->args, &at));)
        if (!strcmp(host, m->facts.address))
            return true;
    return false;
}

/* What its job left there goes first: the next one is not to run beside it. */
static int clear(void *context, struct machine *m, const char *reason, struct err *e)
{
    struct sweeping *s = context;
    struct err why = {0};
    int64_t over_ms = bill_over_ms(lake_of(s, NULL), m->facts.job, time_epoch_ms());

    if (machine_start_release(s->records, m, reason, over_ms, e) < 0)
        return -1;
    if (m->state == MACHINE_GONE)
        return 0;
    progress_show(&s->progress, "asking %s", m->facts.address);
    if (!s->agent)
        s->agent = exec_find_agent(&why);
    if (s->agent && host_empty(s->agent, m, reason, &why) == 0)
        return 0;
    s->is_forgotten = is_to_forget(s, m);
    if (s->is_forgotten)
        return 0;
    s->unclear++;
    return err_set(e, why.kind, "%s", why.text);
}

struct having {
    const char *host;
    int64_t job; /* that has it; 0 = none */
    bool found;
};

static int see_host(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct having *h = context;

    (void)now_ms;
    (void)e;
    if (strcmp(m->facts.address, h->host) != 0)
        return 0;
    h->found = true;
    h->job = m->facts.job;
    return 0;
}

/* Before the sweep each must be rented, after it none may be. */
static int check_forgotten(const struct sweeping *s, bool is_swept, struct err *e)
{
    struct machine_filter open = {.world = 0};
    size_t at = 0;

    for (const char *host; (host = next_forgotten(s->args, &at));) {
        struct having h = {.host = host};
        if (machines_each(s->records, &open, see_host, &h, e) < 0)
            return -1;
        if (!is_swept && !h.found)
            return err_set(e, ERR_USAGE,
                           "--forget %s: no such host is rented; tradewind machines ls lists them",
                           host);
        if (is_swept && h.found)
            return err_set(e, ERR_USAGE,
                           "--forget %s: job %" PRId64 " needs it, or did until a moment ago; "
                           "tradewind job kill %" PRId64 " ends it",
                           host, h.job, h.job);
    }
    return 0;
}

static int64_t real_ms(void *context)
{
    (void)context;
    return time_epoch_ms();
}

/* What was given back goes on the bills of the jobs that had it. */
static int close_bills(struct sweeping *s, const char *home, struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};

    if (s->dry_run)
        return 0;
    if (open_bills_read(home, 0, &open, e) < 0)
        return -1;
    return open.n == 0 || (lake_of(s, e) && bill_close_all(home, s->lake, e) == 0) ? 0 : -1;
}

static int sweep_pool(struct sweeping *s, const struct config *c, struct err *e)
{
    struct machine_cleanup how = {.dry_run = s->dry_run,
                                  .leave_ms = s->has_broker ? BROKER_MS : 0,
                                  .is_over = is_over,
                                  .clear = clear,
                                  .tell = tell,
                                  .context = s};
    AUTO(cloud) struct cloud *cloud = host_pool_open(c, machines_owner(s->records), e);
    struct machine_provisioner provisioner = {
        .records = s->records, .cloud = cloud, .now_ms = real_ms};

    if (!cloud || machine_reconcile(&provisioner, &how, e) < 0 || close_bills(s, c->home, e) < 0)
        return err_wrap(e, "sweep the pool");
    s->open += how.open;
    return s->dry_run ? 0 : check_forgotten(s, true, e);
}

/* ---- the command ---- */

static int sweep_all(struct sweeping *s, const struct config *c, struct err *e)
{
    struct machine_cleanup how = {.dry_run = s->dry_run, .tell = tell, .context = s};

    if (check_forgotten(s, false, e) < 0)
        return -1;
    if (simulate_cleanup(c->home, s->runs, s->records, &how, e) < 0)
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
        return err_set(e, ERR_RETRY, "%zu %s not confirmed to be gone: sweep again in a minute%s",
                       s->open, s->open == 1 ? "machine is" : "machines are",
                       s->unclear ? ", or with --forget HOST for a host that never answers again"
                                  : "");
    return 0;
}

static int sweep(const struct command_args *args, struct err *e)
{
    AUTO(config) struct config *c = NULL;
    AUTO(machines) struct machines *records = NULL;

    if (machines_records_open(&c, &records, e) < 0)
        return -1;
    AUTO(runs) struct runs *runs = runs_open(c->home, e);
    struct sweeping s = {.args = args,
                         .json = command_has(args, "--json"),
                         .dry_run = !command_has(args, "--yes"),
                         .has_broker = broker_runs(c->home),
                         .records = records,
                         .runs = runs};
    if (!runs)
        return -1;
    progress_init(&s.progress, stderr);
    s.progress.began_s = 0; /* a host that is away keeps us waiting: told at once */
    if (s.json)
        json_list_begin(&s.list, stdout);
    int swept = sweep_all(&s, c, e);
    progress_clear(&s.progress);
    lake_free(s.lake);
    free(s.agent);
    if (swept < 0 || (s.json && json_list_end(&s.list, e) < 0))
        return -1;
    return report(&s, e);
}

static const struct command_option options[] = {
    {.name = "--yes", .help = "Give them back; without it they are only listed.", .letter = 'y'},
    {.name = "--forget",
     .value = "HOST",
     .help = "Give this host back although it does not answer: it never will again.",
     .repeatable = true},
    {.name = "--json", .help = "Print a JSON array of what was found."},
    {0},
};

const struct command command_machines_sweep = {
    .name = "machines sweep",
    .summary = "Finds machines that nobody owns and gives them back",
    .details =
        "Compares the records with what each cloud lists, both ways. Nobody owns a machine whose "
        "run or job is over or whose lease ran out, and one that is tagged as this home's and has "
        "no record; the host of a job that is under way is that job's, whatever its lease says. "
        "Without --yes they are only listed. Sweeping can be repeated at any time; the exit code "
        "is 6 while a cloud has not confirmed that all of them are gone.\n\n"
        "Swept are the hosts of the configuration and the rehearsals whose process was killed. "
        "What a job left on a host is ended and removed before the host goes back. One that does "
        "not answer is kept, so that no other job is sent there, and its job pays for it no longer "
        "than its lease lasts; --forget HOST gives it back as it is, and what may run there runs "
        "on. Take it out of the configuration then, or the next job tries it.",
    .example = "tradewind machines sweep --yes",
    .options = options,
    .run = sweep,
};
