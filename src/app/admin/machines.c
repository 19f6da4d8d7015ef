/* machines: operations that list machines and terminate orphaned ones, for `tradewind machines`. */
#include "broker/machine/machines.h"
#include "app/admin/admin.h"
#include "app/core/lake_open.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/core/runs.h"
#include "broker/daemon/client.h"
#include "broker/daemon/host.h"
#include "broker/machine/bill.h"
#include "broker/machine/clouds.h"
#include "broker/sim/simulate.h"
#include "exec/exec.h"
#include "lake/job/job.h"
#include "spec/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a machine ---- */

static void type_cell(const void *record, struct buf *out)
{
    const struct admin_machine *m = record;

    buf_printf(out, "%s%s", m->type, m->spot ? " (spot)" : "");
}

static void cost_cell(const void *record, struct buf *out)
{
    const struct admin_machine *m = record;
    char text[32];

    buf_puts(out, money_text(m->cost_microusd + m->data_microusd, text));
}

static void put_number(struct buf *out, int64_t number)
{
    if (number)
        buf_printf(out, "%" PRId64, number);
}

static void run_cell(const void *record, struct buf *out)
{
    put_number(out, ((const struct admin_machine *)record)->run);
}

static void job_cell(const void *record, struct buf *out)
{
    put_number(out, ((const struct admin_machine *)record)->job);
}

/* What every answer tells of a machine; `at` leads to the struct admin_machine. */
/* clang-format off */
#define MACHINE_FIELDS(type_, at)                                                                  \
    {"cloud", FIELD(TEXT, type_, at cloud), .help = "Driver that launched it.", .heading = "cloud"}, \
    {"provider", FIELD(TEXT, type_, at provider), .help = "Cloud provider."},                      \
    {"machine", FIELD(TEXT, type_, at type), .help = "Instance type or host.",                     \
     .heading = "machine", .cell = type_cell, .cut_rank = 2,               \
     .least_width = 8},                                                                            \
    {"region", FIELD(TEXT, type_, at region), .help = "Region."},                                  \
    {"zone", FIELD(TEXT, type_, at zone), .help = "Zone."},                                        \
    {"location", FIELD(TEXT, type_, at location), .help = "Region, zone or pool.",                 \
     .heading = "location", .cut_rank = 1, .least_width = 8},              \
    {"instance_type", FIELD(TEXT, type_, at instance_type), .help = "Instance type."},             \
    {"spot", FIELD(BOOL, type_, at spot), .help = "Whether it is a spot instance."},               \
    {"state", FIELD(TEXT, type_, at state), .help = "State by the records.", .heading = "state"},  \
    {"since", FIELD(TEXT, type_, at since), .help = "Time of the last change of state."},          \
    {"age", FIELD(DURATION, type_, at age_s), .help = "Time since then.", .is_column_only = true,  \
     .heading = "since"},                                                                          \
    {"cost", FIELD(MONEY, type_, at cost_microusd), .help = "Cost so far.",                        \
     .is_column_only = true, .heading = "cost", .cell = cost_cell},                                \
    {"run", FIELD(INT, type_, at run), .help = "Run that owns it; 0 = none.", .heading = "run",    \
     .cell = run_cell},                                                                            \
    {"job", FIELD(INT, type_, at job), .help = "Job that owns it; 0 = none.", .heading = "job",    \
     .cell = job_cell},                                                                            \
    {"stage", FIELD(INT, type_, at stage), .help = "Index of the stage that it runs."},            \
    {"token", FIELD(TEXT, type_, at token), .help = "Idempotency token of its launch."},           \
    {"id", FIELD(TEXT, type_, at id), .help = "Identifier at its cloud."},                         \
    {"reason", FIELD(TEXT, type_, at reason), .help = "Reason of the last change of state."},      \
    {"expires_at", FIELD(TEXT, type_, at expires_at), .help = "End of its lease."},                \
    {"price_usd_per_hour", FIELD(REAL, type_, at price_usd_per_hour), .unit = "USD/h",             \
     .help = "Price per hour."},                                                                   \
    {"cost_usd", FIELD(MONEY, type_, at cost_microusd), .unit = "USD", .help = "Cost so far."},    \
    {"data_usd", FIELD(MONEY, type_, at data_microusd), .unit = "USD",                             \
     .help = "Cost of data moved for it."}

static const struct field machine_fields[] = {MACHINE_FIELDS(struct admin_machine, )};
static const struct field orphan_fields[] = {
    MACHINE_FIELDS(struct admin_orphan, machine.),
    {"found", FIELD(TEXT, struct admin_orphan, found), .help = "Why it is orphaned."},
    {"error", FIELD(TEXT, struct admin_orphan, error), .help = "Why it is not terminated yet."},
    {"forgotten", FIELD(BOOL, struct admin_orphan, forgotten),
     .help = "Whether its host was released without an answer."},
};
/* clang-format on */

/* Texts of one machine, alive as long as the record that points to them. */
struct machine_texts {
    char since[32], expires[32], location[200];
};

static void put_location(const struct cloud_machine *f, char *out, size_t size)
{
    bool zoned = *f->zone && strncmp(f->zone, f->region, strlen(f->region)) == 0;
    const char *slash = *f->provider && *f->region ? "/" : "";

    if (*f->zone && !zoned)
        snprintf(out, size, "%s%s%s/%s", f->provider, slash, f->region, f->zone);
    else
        snprintf(out, size, "%s%s%s", f->provider, slash, zoned ? f->zone : f->region);
}

static struct admin_machine machine_of(const struct machine *m,
                                       int64_t now_ms,
                                       struct machine_texts *texts)
{
    const struct cloud_machine *f = &m->facts;

    put_location(f, texts->location, sizeof texts->location);
    return (struct admin_machine){
        .cloud = m->cloud,
        .provider = f->provider,
        .region = f->region,
        .zone = f->zone,
        .instance_type = f->instance_type,
        .spot = f->spot,
        .state = m->kept_until_ms > now_ms ? "kept" : machine_state_text(m->state),
        .since = time_iso(m->since_ms, texts->since),
        .run = f->run,
        .job = f->job,
        .stage = m->stage < 0 ? FIELD_NONE : m->stage,
        .token = f->token,
        .id = f->id,
        .reason = m->reason,
        .expires_at = time_iso(f->expires_ms, texts->expires),
        .price_usd_per_hour = f->price_usd_per_hour,
        .cost_microusd = machine_cost_microusd(m, now_ms),
        .data_microusd = m->data_microusd,
        .age_s = now_ms < m->since_ms ? (double)NAN : (double)(now_ms - m->since_ms) / 1000,
        .type = *f->instance_type ? f->instance_type : f->address,
        .location = texts->location,
    };
}

/* ---- machine.list ---- */

struct list_request {
    bool all;
};
static const struct field list_fields[] = {
    {"all", FIELD(BOOL, struct list_request, all), .letter = 'a',
     .help = "Also list machines that are gone."},
};

static int list_one(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct machine_texts texts;
    const struct admin_machine item = machine_of(m, now_ms, &texts);

    return answer_item(context, &item, e);
}

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct list_request *q = request;
    const struct machine_filter which = {.world = -1, .with_gone = q->all};
    struct machines *records = app_machines(app, e);

    return records ? machines_each(records, &which, list_one, out, e) : -1;
}

const struct operation machine_list_operation = {
    .name = "machine.list",
    .summary = "List machines, their cost so far, and the jobs they run.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct list_request, list_fields),
    .item = RECORD_AT("machine", struct admin_machine, machine_fields),
    .run = run_list,
};

/* ---- machine.cleanup ---- */

struct cleanup_request {
    bool yes;
    struct field_list forget;
};
static const struct field cleanup_fields[] = {
    {"yes", FIELD(BOOL, struct cleanup_request, yes), .letter = 'y',
     .help = "Terminate them; without it they are only listed."},
    {"forget", FIELD(LIST, struct cleanup_request, forget), .value = "HOST",
     .help = "Release this host although it does not answer and never will."},
};

struct cleanup {
    struct app *app;
    const struct cleanup_request *request;
    struct answer *out;
    const char *home;
    bool has_broker; /* one runs for this home */
    struct machines *records;
    struct runs *runs;
    char *agent; /* looked for when it is needed first */
    size_t open;
    size_t unclear;                /* hosts that stay leased */
    size_t unseen;                 /* clouds and regions that could not be looked at */
    const char *provider, *region; /* of the leftovers at hand */
    char location[100];
    bool is_forgotten; /* the machine at hand is released without an answer */
};

static int tell(void *context,
                const struct machine *m,
                enum machine_finding finding,
                const char *error,
                struct err *e)
{
    struct cleanup *s = context;
    struct machine_texts texts;
    const struct admin_orphan item = {
        .machine = machine_of(m, time_epoch_ms(), &texts),
        .found = machine_finding_text(finding),
        .error = error,
        .forgotten = s->is_forgotten,
    };

    s->is_forgotten = false;
    return answer_item(s->out, &item, e);
}

static bool broker_runs(const char *home)
{
    struct err none = {0};
    AUTO(broker_client) struct broker_client *c = broker_client_open(home, NULL, &none);

    return c != NULL;
}

static int is_over(void *context, int64_t run, int64_t job, struct err *e)
{
    struct cleanup *s = context;
    AUTO_CLEAR(run) struct run r = {0};
    struct err why = {0};

    if (job) {
        struct lake *l = app_lake(s->app, e);
        return l ? clouds_job_over(l, job, s->has_broker, e) : -1;
    }
    if (runs_get(s->runs, run, &r, &why) == 0)
        return r.state != RUN_GOING;
    return why.kind == ERR_NOTFOUND ? 1 : err_set(e, why.kind, "%s", why.text);
}

static bool is_to_forget(const struct cleanup *s, const struct machine *m)
{
    for (size_t i = 0; i < s->request->forget.n; i++)
        if (!strcmp(s->request->forget.items[i], m->facts.address))
            return true;
    return false;
}

/* Empties the host first: the next job must not run beside what the last one left. */
static int clear(void *context, struct machine *m, const char *reason, struct err *e)
{
    struct cleanup *s = context;
    struct err why = {0};
    int64_t over_ms = bill_over_ms(app_lake(s->app, NULL), m->facts.job, time_epoch_ms());

    if (machine_start_release(s->records, m, reason, over_ms, e) < 0)
        return -1;
    if (m->state == MACHINE_GONE)
        return 0;
    app_status(s->app, "asking %s", m->facts.address);
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

struct lease {
    const char *host;
    int64_t job; /* that has the host; 0 = none */
    bool found;
};

static int find_lease(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct lease *l = context;

    (void)now_ms;
    (void)e;
    if (strcmp(m->facts.address, l->host) != 0)
        return 0;
    l->found = true;
    l->job = m->facts.job;
    return 0;
}

/* Each host to forget must be leased before the cleanup, and none may be after it. */
static int check_forgotten(const struct cleanup *s, bool is_after, struct err *e)
{
    const struct machine_filter open = {.world = 0};
    char option[64];

    for (size_t i = 0; i < s->request->forget.n; i++) {
        struct lease l = {.host = s->request->forget.items[i]};
        if (machines_each(s->records, &open, find_lease, &l, e) < 0)
            return -1;
        if (!is_after && !l.found)
            return err_set(e, ERR_USAGE,
                           "%s %s: no such host is in use; tradewind machines ls lists them",
                           answer_spell(s->out, "forget", option), l.host);
        if (is_after && l.found)
            return err_set(e, ERR_USAGE,
                           "%s %s: job %" PRId64 " needs it, or did until a moment ago; "
                           "tradewind job kill %" PRId64 " ends it",
                           answer_spell(s->out, "forget", option), l.host, l.job, l.job);
    }
    return 0;
}

static int64_t real_ms(void *context)
{
    (void)context;
    return time_epoch_ms();
}

/* The cost of released machines goes on the bills of their jobs. */
static int close_bills(struct cleanup *s, struct err *e)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};

    if (!s->request->yes)
        return 0;
    if (open_bills_read(s->home, 0, &open, e) < 0)
        return -1;
    if (open.n == 0)
        return 0;
    struct lake *l = app_lake(s->app, e);
    return l ? bill_close_all(s->home, l, e) : -1;
}

static int clean_pool(struct cleanup *s, const struct config *c, struct err *e)
{
    struct machine_cleanup how = {.dry_run = !s->request->yes,
                                  .leave_ms = s->has_broker ? CLOUDS_BROKER_MS : 0,
                                  .is_over = is_over,
                                  .clear = clear,
                                  .tell = tell,
                                  .context = s};
    AUTO(cloud) struct cloud *cloud = host_pool_open(c, machines_owner(s->records), e);
    struct machine_provisioner provisioner = {
        .records = s->records, .cloud = cloud, .now_ms = real_ms};

    if (!cloud || machine_reconcile(&provisioner, &how, e) < 0 || close_bills(s, e) < 0)
        return err_wrap(e, "clean up the pool");
    s->open += how.open;
    return s->request->yes ? check_forgotten(s, true, e) : 0;
}

/* ---- clouds ---- */

static int tell_leftover(
    void *context, const char *kind, const char *id, const char *why, struct err *e)
{
    struct cleanup *s = context;
    char found[200];
    const struct admin_orphan item = {
        .machine = {.cloud = s->provider,
                    .provider = s->provider,
                    .region = s->region,
                    .location = s->location,
                    .type = id,
                    .instance_type = "",
                    .zone = "",
                    .id = id,
                    .state = "",
                    .since = "",
                    .token = "",
                    .reason = "",
                    .expires_at = "",
                    .stage = FIELD_NONE,
                    .age_s = (double)NAN},
        .found = found,
        .error = why,
    };

    snprintf(found, sizeof found, "%.100s that no machine needs", kind);
    s->open += s->request->yes && why;
    return answer_item(s->out, &item, e);
}

static int end_at_cloud(void *context, struct machine *m, const char *reason, struct err *e)
{
    struct cleanup *s = context;
    int64_t over_ms = bill_over_ms(app_lake(s->app, NULL), m->facts.job, time_epoch_ms());

    return machine_start_release(s->records, m, reason, over_ms, e);
}

/* A region that cannot be asked leaves the others to be cleaned. */
static int clean_region(void *context,
                        const char *provider,
                        const char *region,
                        const struct err *unlisted,
                        struct err *e)
{
    struct cleanup *s = context;
    AUTO_CLEAR(clouds_handle) struct clouds_handle h = {0};
    struct machine_cleanup how = {.dry_run = !s->request->yes,
                                  .region = region,
                                  .leave_ms = s->has_broker ? CLOUDS_BROKER_MS : 0,
                                  .is_over = is_over,
                                  .clear = end_at_cloud,
                                  .tell = tell,
                                  .context = s};
    struct cloud_error failure = {0};
    struct err why = {0};

    if (unlisted) {
        app_notice(s->app, "%s: not looked at: %s", provider, unlisted->text);
        s->unseen++;
        return 0;
    }
    snprintf(s->location, sizeof s->location, "%s/%s", provider, region);
    app_status(s->app, "asking %s", s->location);
    if (clouds_open(&h, s->home, s->records, provider, region, false, &why) < 0 ||
        machine_reconcile(&h.provisioner, &how, &why) < 0) {
        app_notice(s->app, "%s: not looked at: %s", s->location, why.text);
        s->unseen++;
        return 0;
    }
    s->open += how.open;
    s->provider = provider;
    s->region = region;
    /* What launches share is needed as long as there are machines. */
    if (how.open || s->has_broker)
        return 0;
    if (cloud_clean(h.provisioner.cloud, !s->request->yes, tell_leftover, s, &failure) < 0) {
        app_notice(s->app, "%s: not cleaned up: %s", s->location, failure.err.text);
        s->unseen++;
    }
    return app_check_cancelled(s->app, e);
}

static int clean_clouds(struct cleanup *s, struct err *e)
{
    if (clouds_each_region(s->home, s->records, true, clean_region, s, e) < 0)
        return err_wrap(e, "clean up clouds");
    return close_bills(s, e);
}

static int clean_all(struct cleanup *s, const struct config *c, struct err *e)
{
    struct machine_cleanup how = {.dry_run = !s->request->yes, .tell = tell, .context = s};

    if (check_forgotten(s, false, e) < 0)
        return -1;
    if (simulate_cleanup(c->home, s->runs, s->records, &how, e) < 0)
        return err_wrap(e, "clean up simulations");
    s->open = how.open;
    return clean_pool(s, c, e) < 0 ? -1 : clean_clouds(s, e);
}

static int run_cleanup(struct app *app, const void *request, struct answer *out, struct err *e)
{
    struct cleanup s = {.app = app, .request = request, .out = out};
    char option[64];
    const struct config *c = app_config(app, e);

    s.records = c ? app_machines(app, e) : NULL;
    s.runs = s.records ? app_runs(app, e) : NULL;
    if (!s.runs)
        return -1;
    s.home = c->home;
    s.has_broker = broker_runs(c->home);
    int done = clean_all(&s, c, e);
    free(s.agent);
    if (done == 0)
        done = admin_clean_functions(app, s.request->yes, out, &s.open, e);
    if (done < 0 || (!s.unseen && (!s.request->yes || !s.open)))
        return done;
    if (!s.open || !s.request->yes) {
        err_set(&out->late, ERR_RETRY, "%zu %s not looked at: machines there may still cost money",
                s.unseen, s.unseen == 1 ? "cloud or region was" : "clouds or regions were");
        return done;
    }
    err_set(&out->late, ERR_RETRY, "%zu %s not confirmed to be gone; retry in a minute%s%s%s",
            s.open, s.open == 1 ? "machine is" : "machines are", s.unclear ? ", or add " : "",
            s.unclear ? answer_spell(out, "forget", option) : "",
            s.unclear ? " HOST for a host that never answers again" : "");
    return 0;
}

const struct operation machine_cleanup_operation = {
    .name = "machine.cleanup",
    .summary = "Find orphaned machines and functions and delete them.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    REQUEST(struct cleanup_request, cleanup_fields),
    .item = RECORD_AT("orphan", struct admin_orphan, orphan_fields),
    .run = run_cleanup,
};
