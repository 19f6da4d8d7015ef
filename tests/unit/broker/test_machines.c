/* The record of machines: its states, what it makes of a cloud's answers, and what cleanup finds.
 */
#include "broker/machine/machines.h"

#include "base/file.h"
#include "broker/machine/internal.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_MS ((int64_t)1000)
#define MINUTE_MS (60 * SECOND_MS)
#define BEGIN_MS ((int64_t)1700000000000)

static char home[300];
static int64_t now_ms;
static struct machines *records;
static struct machine_provisioner provisioner;
static struct cloud_error error;
static bool run_is_over;

static int64_t clock_ms(void *context)
{
    (void)context;
    return now_ms;
}

static void open_cloud(const char *troubles)
{
    cloud_free(provisioner.cloud);
    provisioner.cloud = cloud_open(&(struct cloud_options){.name = "sim",
                                                           .home = home,
                                                           .owner = machines_owner(records),
                                                           .troubles = troubles,
                                                           .boot_s = 60,
                                                           .now_ms = clock_ms},
                                   &error.err);
}

static void begin(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(home, sizeof home, "%s/tradewind-machines-XXXXXX", tmp ? tmp : "/tmp");
    now_ms = BEGIN_MS;
    if (!mkdtemp(home) || !(records = machines_open(home, &error.err))) {
        printf("Bail out! %s\n", error.err.text);
        exit(EXIT_FAILURE);
    }
    machines_relax(records);
    provisioner = (struct machine_provisioner){.records = records, .now_ms = clock_ms};
    run_is_over = false;
    open_cloud(NULL);
}

static void end(void)
{
    cloud_free(provisioner.cloud);
    provisioner.cloud = NULL;
    machines_free(records);
    file_remove_tree(home);
}

static struct machine_order order(const char *token)
{
    return (struct machine_order){.stage = 2,
                                  .attempt = 1,
                                  .request = {.token = token,
                                              .run = 9,
                                              .provider = "aws",
                                              .region = "us-east-1",
                                              .instance_type = "m5.large",
                                              .max_price_usd_per_hour = (double)INFINITY,
                                              .price_usd_per_hour = 0.36,
                                              .cpus = 2}};
}

static enum cloud_failure launch(const char *token, struct machine *out)
{
    struct machine_order o = order(token);

    error.err = (struct err){0};
    return machine_launch(&provisioner, &o, out, &error) < 0 ? error.failure : CLOUD_FINE;
}

static enum cloud_failure look(struct machine *m)
{
    error.err = (struct err){0};
    return machine_look(&provisioner, m, &error) < 0 ? error.failure : CLOUD_FINE;
}

static enum cloud_failure terminate(struct machine *m)
{
    error.err = (struct err){0};
    return machine_release(&provisioner, m, "enough", &error) < 0 ? error.failure : CLOUD_FINE;
}

static enum machine_state stored(const char *token)
{
    struct machine m = {0};

    error.err = (struct err){0};
    return machines_get(records, 0, token, &m, &error.err) < 0 ? 0 : m.state;
}

/* ---- a life ---- */

static void life(void)
{
    struct machine m, same;

    begin();
    CHECK(launch("a", &m) == CLOUD_FINE && m.state == MACHINE_REQUESTED && m.since_ms == BEGIN_MS,
          "a machine is requested");
    CHECK(launch("a", &same) == CLOUD_FINE && !strcmp(m.facts.id, same.facts.id),
          "the same token is the same machine");
    CHECK(m.facts.expires_ms == BEGIN_MS + MACHINE_LEASE_MS && m.stage == 2 && m.facts.run == 9,
          "it has a lease, a run and a stage");
    now_ms += 80 * SECOND_MS;
    CHECK(look(&m) == CLOUD_FINE && m.state == MACHINE_RUNNING && stored("a") == MACHINE_RUNNING,
          "it runs");
    now_ms += 20 * SECOND_MS;
    CHECK(terminate(&m) == CLOUD_FINE && m.state == MACHINE_DELETING, "it is being deleted");
    CHECK(machine_cost_microusd(&m, now_ms) == 100 * 100, "and has cost 100 s");
    now_ms += 5 * SECOND_MS;
    CHECK(terminate(&m) == CLOUD_FINE && stored("a") == MACHINE_DELETING, "twice is fine");
    now_ms += 10 * SECOND_MS;
    CHECK(look(&m) == CLOUD_FINE && stored("a") == MACHINE_GONE, "it is gone");
    CHECK(machine_cost_microusd(&m, now_ms) == 100 * 100 &&
              machine_cost_microusd(&m, BEGIN_MS) == 100 * 100,
          "for the same price at any time");
    CHECK(terminate(&m) == CLOUD_FINE && launch("a", &m) == CLOUD_INVALID &&
              strstr(error.err.text, "needs a new token"),
          "its token is used up");
    end();
}

static void refusals(void)
{
    struct machine m;

    begin();
    open_cloud("capacity 1x");
    CHECK(launch("a", &m) == CLOUD_CAPACITY && stored("a") == MACHINE_GONE, "refused is over");
    open_cloud("timeout-after-launch 1x");
    CHECK(launch("b", &m) == CLOUD_UNKNOWN && stored("b") == MACHINE_INTENDED,
          "a lost answer leaves the intent");
    open_cloud("auth 1x");
    CHECK(launch("b", &m) == CLOUD_AUTH && stored("b") == MACHINE_INTENDED,
          "and so does a refusal after it");
    CHECK(launch("b", &m) == CLOUD_FINE && m.facts.launched_ms == BEGIN_MS,
          "the same token finds the machine");
    CHECK(terminate(&m) == CLOUD_FINE, "which is terminated");
    end();
}

static void absence(void)
{
    struct machine m;

    begin();
    open_cloud("timeout-before-launch 1x");
    CHECK(launch("a", &m) == CLOUD_UNKNOWN, "a request that was lost");
    CHECK(terminate(&m) == CLOUD_FINE && m.state == MACHINE_DELETING,
          "one look does not prove that nothing is there");
    now_ms += 40 * SECOND_MS;
    CHECK(look(&m) == CLOUD_NOT_FOUND && stored("a") == MACHINE_DELETING, "nor do two so soon");
    now_ms += 90 * SECOND_MS;
    CHECK(look(&m) == CLOUD_FINE && stored("a") == MACHINE_GONE &&
              machine_cost_microusd(&m, now_ms) == 0,
          "two minutes later it is believed");
    open_cloud("throttle 1x");
    CHECK(launch("b", &m) == CLOUD_THROTTLE && launch("b", &m) == CLOUD_FINE,
          "throttled, then fine");
    end();
}

/* Another process brought the record further than this copy knows. */
static void open_pool(void)
{
    static const struct cloud_host hosts[] = {{.group = "lab", .address = "a.lab", .cpus = 2}};

    cloud_free(provisioner.cloud);
    provisioner.cloud = cloud_open(&(struct cloud_options){.name = "pool",
                                                           .home = home,
                                                           .owner = machines_owner(records),
                                                           .hosts = hosts,
                                                           .n_hosts = 1,
                                                           .now_ms = clock_ms},
                                   &error.err);
}

static enum cloud_failure launch_host(const char *token, struct machine *out)
{
    struct machine_order o = order(token);

    error.err = (struct err){0};
    o.request.region = "lab";
    return machine_launch(&provisioner, &o, out, &error) < 0 ? error.failure : CLOUD_FINE;
}

/* Hosts of one's own: the pool's memory is ours. */
static void hosts(void)
{
    struct machine first, second;

    begin();
    open_pool();
    CHECK(launch_host("t1", &first) == CLOUD_FINE, "a host is reserved: %s", error.err.text);
    CHECK(launch_host("t2", &second) == CLOUD_CAPACITY && stored("t2") == MACHINE_GONE,
          "and taken then: %s", error.err.text);
    CHECK(machine_forget(records, 0, "t1", &error.err) == 0 && stored("t1") == MACHINE_RUNNING,
          "what is there is not forgotten");
    CHECK(machine_forget(records, 0, "t2", &error.err) == 0 && !stored("t2"),
          "what was refused is");
    int64_t until_ms = now_ms + 7 * MINUTE_MS;
    CHECK(machine_renew_one(records, 0, "t1", until_ms, &error.err) == 0 &&
              machines_get(records, 0, "t1", &first, &error.err) == 0 &&
              first.facts.expires_ms == until_ms,
          "a lease of one is renewed");
    CHECK(terminate(&first) == CLOUD_FINE && first.state == MACHINE_GONE, "released");
    CHECK(launch_host("t2", &second) == CLOUD_FINE, "the refused one may ask again: %s",
          error.err.text);
    char memory[320];
    snprintf(memory, sizeof memory, "%s/clouds", home);
    file_remove_tree(memory);
    open_pool();
    CHECK(look(&second) == CLOUD_FINE && second.state == MACHINE_GONE,
          "what the pool does not know is gone at the first look");
    end();
}

static void stale_copies(void)
{
    struct machine m, other;

    begin();
    launch("a", &m);
    other = m;
    terminate(&other);
    now_ms += MINUTE_MS;
    CHECK(look(&other) == CLOUD_FINE && stored("a") == MACHINE_GONE, "one gives it back");
    CHECK(look(&m) == CLOUD_FINE && m.state == MACHINE_GONE && stored("a") == MACHINE_GONE,
          "the other learns of it and changes nothing");

    /* Between the two: written down, and gone from the cloud, which is not confirmed yet. */
    launch("b", &m);
    other = m;
    now_ms += 2 * MINUTE_MS;
    other.state = MACHINE_DELETING;
    snprintf(other.reason, sizeof other.reason, "enough");
    CHECK(machine_row_update(records, &other, &error.err) == 0 &&
              cloud_terminate(provisioner.cloud, "b", &error) == 0,
          "one is giving it back: %s", error.err.text);
    now_ms += MINUTE_MS;
    CHECK(look(&m) == CLOUD_FINE && m.state == MACHINE_DELETING && !strcmp(m.reason, "enough") &&
              stored("b") == MACHINE_DELETING,
          "which the other leaves to it");
    CHECK(look(&m) == CLOUD_FINE && m.state == MACHINE_GONE && !strcmp(m.reason, "enough"),
          "unless it looks again");
    end();
}

/* ---- sweeps ---- */

struct found {
    size_t n;
    enum machine_finding last;
    char tokens[200];
};

static int tell(void *context,
                const struct machine *m,
                enum machine_finding finding,
                const char *why,
                struct err *e)
{
    struct found *f = context;
    size_t used = strlen(f->tokens);

    (void)why;
    (void)e;
    f->n++;
    f->last = finding;
    snprintf(f->tokens + used, sizeof f->tokens - used, "%s ", m->facts.token);
    return 0;
}

static int is_over(void *context, int64_t run, int64_t job, struct err *e)
{
    (void)context;
    (void)run;
    (void)job;
    (void)e;
    return run_is_over;
}

static struct found sweep(bool dry, size_t *open_out)
{
    struct found f = {0};
    struct machine_cleanup s = {.dry_run = dry, .is_over = is_over, .tell = tell, .context = &f};

    error.err = (struct err){0};
    if (machine_reconcile(&provisioner, &s, &error.err) < 0)
        printf("# %s\n", error.err.text);
    *open_out = s.open;
    return f;
}

static void swept_records(void)
{
    struct machine m;
    size_t open;

    begin();
    launch("a", &m);
    now_ms += 2 * MINUTE_MS;
    CHECK(sweep(false, &open).n == 0 && open == 0 && stored("a") != MACHINE_DELETING,
          "what is leased and needed stays");
    now_ms += MACHINE_LEASE_MS;
    struct found f = sweep(true, &open);
    CHECK(f.n == 1 && f.last == MACHINE_EXPIRED && open == 1 && stored("a") == MACHINE_RUNNING,
          "a lease that ran out is found");
    CHECK(machine_renew(records, 9, now_ms + 1, &error.err) == 0 && sweep(false, &open).n == 0,
          "unless it is renewed");
    run_is_over = true;
    f = sweep(false, &open);
    CHECK(f.n == 1 && f.last == MACHINE_RUN_OVER && stored("a") == MACHINE_DELETING,
          "a run that is over gives its machines back");
    now_ms += MINUTE_MS;
    f = sweep(false, &open);
    CHECK(f.n == 1 && f.last == MACHINE_LEAVING && open == 0 && stored("a") == MACHINE_GONE,
          "and the next look confirms it");
    CHECK(sweep(false, &open).n == 0, "once");
    end();
}

static void swept_orphans(void)
{
    struct cloud_request alone = order("o").request, foreign = order("f").request;
    struct cloud_machine told;
    size_t open;

    begin();
    alone.expires_ms = foreign.expires_ms = BEGIN_MS + MINUTE_MS;
    foreign.owner = "somebody-else";
    cloud_launch(provisioner.cloud, &alone, &told, &error);
    cloud_launch(provisioner.cloud, &foreign, &told, &error);
    CHECK(sweep(false, &open).n == 0, "an orphan whose run may go on is left alone");
    now_ms += 2 * MINUTE_MS;
    struct found f = sweep(true, &open);
    CHECK(f.n == 1 && !strcmp(f.tokens, "o ") && open == 1 && !stored("o"),
          "expired it is found, and only ours");
    f = sweep(false, &open);
    CHECK(f.n == 1 && f.last == MACHINE_ORPHAN && stored("o") == MACHINE_DELETING,
          "and given back, with a record");
    now_ms += MINUTE_MS;
    sweep(false, &open);
    CHECK(open == 0 && stored("o") == MACHINE_GONE, "for good");
    CHECK(cloud_look(provisioner.cloud, "f", &told, &error) == 0 && told.state == CLOUD_RUNNING,
          "what is not ours runs on");
    end();
}

static void swept_strays(void)
{
    struct machine m;
    size_t open;

    begin();
    open_cloud("slow-visible 10m 1x");
    launch("a", &m);
    now_ms += 3 * MINUTE_MS;
    look(&m);
    now_ms += MINUTE_MS;
    CHECK(look(&m) == CLOUD_FINE && stored("a") == MACHINE_GONE, "not seen for so long is lost");
    now_ms += 10 * MINUTE_MS;
    struct found f = sweep(false, &open);
    CHECK(f.n == 1 && f.last == MACHINE_ORPHAN && stored("a") == MACHINE_DELETING,
          "when the cloud shows it after all it is given back");
    now_ms += MINUTE_MS;
    sweep(false, &open);
    struct machine late;
    CHECK(machines_get(records, 0, "a", &late, &error.err) == 0 && late.state == MACHINE_GONE &&
              machine_cost_microusd(&late, now_ms) == 100 * 14 * 60,
          "and all of it is on the bill");

    open_cloud("timeout-before-launch 1x");
    launch("b", &m);
    f = sweep(false, &open);
    CHECK(f.n == 1 && f.last == MACHINE_UNASKED && stored("b") == MACHINE_INTENDED,
          "an intent without a machine can be asked for again");
    open_cloud("list-empty");
    launch("c", &m);
    run_is_over = true;
    sweep(false, &open);
    CHECK(stored("c") == MACHINE_DELETING, "an empty list hides nothing that has a record");
    open_cloud("list-fails");
    struct machine_cleanup s = {0};
    error.err = (struct err){0};
    CHECK(machine_reconcile(&provisioner, &s, &error.err) < 0 && error.err.kind == ERR_RETRY,
          "without a list nothing is done: %s", error.err.text);
    end();
}

/* A broker lives beside the sweep: it has written an intent, and not asked the pool yet. */
static void swept_beside_asking(void)
{
    struct machine m;
    size_t open;

    begin();
    open_pool();
    launch_host("a", &m);
    struct machine intent = m;
    intent.state = MACHINE_INTENDED;
    intent.facts.launched_ms = intent.facts.ready_ms = 0;
    intent.facts.id[0] = '\0';
    snprintf(intent.facts.token, sizeof intent.facts.token, "b");
    CHECK(machine_row_insert(records, &intent, 0, &error.err) == 0, "an intent: %s",
          error.err.text);
    CHECK(sweep(false, &open).n == 0 && open == 0 && stored("b") == MACHINE_INTENDED,
          "is left to whoever wrote it");
    now_ms += 5 * MINUTE_MS;
    CHECK(sweep(false, &open).n == 1 && stored("b") == MACHINE_GONE && stored("a") != MACHINE_GONE,
          "unless that was long ago");
    end();
}

/* ---- sweeps of hosts ---- */

static int over_answer;
static bool is_away;
static size_t cleared;

static int is_host_over(void *context, int64_t run, int64_t job, struct err *e)
{
    (void)context;
    (void)run;
    (void)job;
    (void)e;
    return over_answer;
}

static int clear_host(void *context, struct machine *m, const char *reason, struct err *e)
{
    (void)context;
    if (machine_start_release(records, m, reason, now_ms, e) < 0)
        return -1;
    cleared++;
    return is_away ? err_set(e, ERR_RETRY, "it does not answer") : 0;
}

static size_t sweep_hosts(int64_t leave_ms, size_t *open_out)
{
    struct found f = {0};
    struct machine_cleanup s = {.leave_ms = leave_ms,
                                .is_over = is_host_over,
                                .clear = clear_host,
                                .tell = tell,
                                .context = &f};

    error.err = (struct err){0};
    if (machine_reconcile(&provisioner, &s, &error.err) < 0)
        printf("# %s\n", error.err.text);
    *open_out = s.open;
    return f.n;
}

/* A host goes back only once nothing of its job is left there. */
static void swept_hosts(void)
{
    struct machine m, other;
    size_t open;

    begin();
    open_pool();
    cleared = 0;
    launch_host("a", &m);
    now_ms += 2 * MACHINE_LEASE_MS;
    over_answer = MACHINE_NEEDED;
    CHECK(sweep_hosts(0, &open) == 0 && !cleared && stored("a") == MACHINE_RUNNING,
          "what is under way keeps its host, however old the lease is");
    over_answer = 1;
    is_away = true;
    CHECK(sweep_hosts(0, &open) == 1 && cleared == 1 && open == 1 &&
              stored("a") == MACHINE_DELETING,
          "a host that cannot be cleared is kept");
    CHECK(launch_host("b", &other) == CLOUD_CAPACITY, "and no other job gets it: %s",
          error.err.text);
    CHECK(sweep_hosts(MINUTE_MS, &open) == 0 && cleared == 1,
          "whoever is at it is left alone for a while");
    now_ms += MINUTE_MS;
    is_away = false;
    CHECK(sweep_hosts(MINUTE_MS, &open) == 1 && cleared == 2 && open == 0 &&
              stored("a") == MACHINE_GONE,
          "cleared, it goes back");
    CHECK(launch_host("c", &other) == CLOUD_FINE, "and is free: %s", error.err.text);
    end();
}

static int count_unbilled(void *context, const struct machine *m, struct err *e)
{
    (void)m;
    (void)e;
    ++*(int *)context;
    return 0;
}

static int unbilled(int64_t job)
{
    int n = 0;

    error.err = (struct err){0};
    return machines_each_unbilled(records, job, count_unbilled, &n, &error.err) < 0 ? -1 : n;
}

/* One that was on its job's bill, and turns out to be there still. */
static void swept_after_billing(void)
{
    struct machine_order o = order("a");
    struct machine m;
    size_t open;

    begin();
    o.request.job = 5;
    open_cloud("slow-visible 10m 1x");
    machine_launch(&provisioner, &o, &m, &error);
    now_ms += 3 * MINUTE_MS;
    look(&m);
    now_ms += MINUTE_MS;
    look(&m);
    CHECK(stored("a") == MACHINE_GONE && unbilled(5) == 1, "a machine that was lost");
    CHECK(machines_note_billed(records, 5, &error.err) == 0 && unbilled(5) == 0, "and billed");
    now_ms += 10 * MINUTE_MS;
    CHECK(sweep(false, &open).n == 1 && unbilled(5) == 1, "found again, it is to be billed anew");
    end();
}

static bool gives_back_meanwhile;

/* Called when the list is read already. */
static int is_over_meanwhile(void *context, int64_t run, int64_t job, struct err *e)
{
    struct machine m;

    if (gives_back_meanwhile && machines_get(records, 0, "b", &m, e) == 0)
        machine_release(&provisioner, &m, "enough", &error);
    now_ms += gives_back_meanwhile ? MINUTE_MS : 0;
    if (gives_back_meanwhile && machine_look(&provisioner, &m, &error) == 0)
        gives_back_meanwhile = false;
    return is_over(context, run, job, e);
}

static void swept_beside_returning(void)
{
    struct cloud_request orphan = order("a").request;
    struct cloud_machine told;
    struct machine m, before, after;
    struct found f = {0};
    struct machine_cleanup s = {.is_over = is_over_meanwhile, .tell = tell, .context = &f};

    begin();
    orphan.expires_ms = BEGIN_MS + 60 * MINUTE_MS;
    cloud_launch(provisioner.cloud, &orphan, &told, &error);
    launch("b", &m);
    now_ms += 2 * MINUTE_MS;
    gives_back_meanwhile = true;
    error.err = (struct err){0};
    CHECK(machine_reconcile(&provisioner, &s, &error.err) == 0 && !gives_back_meanwhile,
          "a machine is terminated while cleanup looks: %s", error.err.text);
    CHECK(f.n == 0 && stored("b") == MACHINE_GONE, "which is no stray: %s", f.tokens);
    machines_get(records, 0, "b", &before, &error.err);
    now_ms += MINUTE_MS;
    machine_reconcile(&provisioner, &s, &error.err);
    CHECK(machines_get(records, 0, "b", &after, &error.err) == 0 &&
              after.facts.ended_ms == before.facts.ended_ms && !strcmp(after.reason, "enough"),
          "its record stays as it is");
    end();
}

static void owners(void)
{
    struct err e = {0};

    begin();
    AUTO(machines) struct machines *again = machines_open(home, &e);
    CHECK(again && !strcmp(machines_owner(again), machines_owner(records)) &&
              strlen(machines_owner(records)) == 19,
          "a home has one owner: %s", machines_owner(records));
    end();
}

int main(void)
{
    life();
    hosts();
    refusals();
    absence();
    stale_copies();
    swept_records();
    swept_orphans();
    swept_strays();
    swept_hosts();
    swept_after_billing();
    swept_beside_asking();
    swept_beside_returning();
    owners();
    return TAP_DONE();
}
