/* What a job costs: one host, at a cent a second, from renting to giving back, told the same by the
 * record of machines, the open bill, the caps and, in the end, the job's own record. */
#include "broker/machine/bill.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/details.h"
#include "broker/daemon/host.h"
#include "broker/machine/cap.h"
#include "broker/pipeline/lineage.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 36 dollars an hour are 10000 micro-dollars a second. */
#define CONFIG "hosts: {lab: [{host: a, price: 36}, {host: b, price: 36}]}\n"

static char home[32];
static int64_t begin_ms, now_ms;
static struct lake *lake;
static struct arena *records; /* texts of the jobs looked at */
static struct config *config;
static struct machine_provisioner provisioner;

static void must(int result, const struct err *e)
{
    if (result < 0) {
        printf("Bail out! %s\n", e->text);
        exit(1);
    }
}

static int64_t clock_ms(void *context)
{
    (void)context;
    return now_ms;
}

static void begin(void)
{
    AUTO_MEM char *url = mem_printf("dir:%s/objects", home);
    AUTO_MEM char *path = mem_printf("%s/config.yaml", home);
    static const struct cloud_host hosts[] = {
        {.group = "lab", .address = "a", .price_usd_per_hour = 36},
        {.group = "lab", .address = "b", .price_usd_per_hour = 36}};
    struct err e = {0};

    records = arena_new(LAKE_JOB_ARENA_MAX);
    now_ms = begin_ms = time_epoch_ms();
    lake =
        lake_open(&(struct lake_options){.home = home,
                                         .store = {.url = url, .path_style = -1, .seed = 1},
                                         .caller = {.project = "p", .user = "ann", .admin = true}},
                  &e);
    must(lake ? 0 : -1, &e);
    must(file_replace(path, CONFIG, strlen(CONFIG), 0600, &e), &e);
    config = config_load(home, &e);
    must(config ? 0 : -1, &e);
    provisioner =
        (struct machine_provisioner){.records = machines_open(home, &e), .now_ms = clock_ms};
    must(provisioner.records ? 0 : -1, &e);
    provisioner.cloud =
        cloud_open(&(struct cloud_options){.name = "pool",
                                           .home = home,
                                           .owner = machines_owner(provisioner.records),
                                           .hosts = hosts,
                                           .n_hosts = 2,
                                           .now_ms = clock_ms},
                   &e);
    must(provisioner.cloud ? 0 : -1, &e);
}

static void end(void)
{
    cloud_free(provisioner.cloud);
    machines_free(provisioner.records);
    config_free(config);
    lake_free(lake);
    arena_free(records);
    file_remove_tree(home);
}

static int64_t submit_for(int64_t run, const char *on, const char *output)
{
    static const char *const command[] = {"true"};
    struct err e = {0};
    AUTO_MEM char *details = job_details_text(&(struct job_details){.on = on}, &e);
    const struct lake_job_request r = {.command = command,
                                       .n_command = 1,
                                       .cpus = 1,
                                       .memory_mb = 1024,
                                       .run = run,
                                       .output = output,
                                       .details = details};
    int64_t id;

    must(lake_job_submit(lake, &r, 1, &id, &e), &e);
    return id;
}

static int64_t submit(int64_t run, const char *on)
{
    return submit_for(run, on, NULL);
}

static void step(int64_t id, enum lake_job_state to, int64_t microusd)
{
    struct lake_job_change c = {.id = id,
                                .to = to,
                                .reason = "",
                                .runtime_s = -1,
                                .cost_microusd = microusd,
                                .cost_basis = microusd ? BILL_HOST : NULL};
    struct err e = {0};

    must(lake_job_step(lake, &c, 1, &e), &e);
}

static void rent(int64_t job, unsigned attempt, struct machine *out)
{
    AUTO_MEM char *token = mem_printf("job-%lld-%u", (long long)job, attempt);
    struct machine_order order = {.request = {.token = token,
                                              .job = job,
                                              .region = "lab",
                                              .max_price_usd_per_hour = (double)INFINITY},
                                  .attempt = attempt};
    struct cloud_error e;

    must(machine_launch(&provisioner, &order, out, &e), &e.err);
}

static void give_back(struct machine *m)
{
    struct cloud_error e;

    must(machine_release(&provisioner, m, "done", &e), &e.err);
}

static struct lake_job record(int64_t id)
{
    struct lake_job job;
    struct err e = {0};

    must(lake_job_load(lake, id, records, &job, &e), &e);
    return job;
}

/* What everybody says that the only job of a run has cost, or -1 when they differ. */
static int64_t told(int64_t run, int64_t job, const struct machine *hosts, size_t n_hosts)
{
    AUTO_CLEAR(open_bills) struct open_bills open;
    const struct lake_job now = record(job);
    int64_t by_run, by_hosts = 0;
    struct err e = {0};

    must(open_bills_read(home, now_ms, &open, &e), &e);
    must(cap_run_spent(config, NULL, lake, run, now_ms, &by_run, &e), &e);
    for (size_t i = 0; i < n_hosts; i++)
        by_hosts += machine_cost_microusd(&hosts[i], now_ms);
    int64_t by_job = bill_microusd(config, &open, &now, now_ms);
    if (by_job == by_run && by_run == by_hosts)
        return by_job;
    printf("# job %lld, run %lld, hosts %lld\n", (long long)by_job, (long long)by_run,
           (long long)by_hosts);
    return -1;
}

/* The month may be over before this test is: then anything is right. */
static bool month_is(int64_t microusd)
{
    int64_t spent;
    struct err e = {0};

    must(cap_month_spent(config, lake, now_ms, &spent, &e), &e);
    return spent == microusd || cap_month_begin_ms(begin_ms) != cap_month_begin_ms(now_ms);
}

static void test_one_host(void)
{
    int64_t job = submit(7, "lab");
    struct machine m;
    struct err e = {0};

    CHECK(told(7, job, NULL, 0) == 0, "a job that waits costs nothing");
    rent(job, 1, &m);
    step(job, LAKE_JOB_LAUNCHING, 0);
    now_ms = begin_ms + 10000;
    CHECK(told(7, job, &m, 1) == 100000, "ten seconds of its host, before anything runs there");
    CHECK(month_is(100000), "the month has them, too");
    step(job, LAKE_JOB_FINISHED, 100000);
    now_ms = begin_ms + 12300;
    CHECK(told(7, job, &m, 1) == 130000, "over, and not given back: every second begun counts");
    CHECK(month_is(130000), "for the month once");
    must(bill_close(home, lake, job, &e), &e);
    CHECK(record(job).cost_microusd == 100000, "as long as it is rented the bill stays open");
    give_back(&m);
    now_ms = begin_ms + 3600000;
    CHECK(told(7, job, &m, 1) == 130000 && month_is(130000), "given back, it costs no more");
    must(bill_close(home, lake, job, &e), &e);
    CHECK(record(job).cost_microusd == 130000, "its record gets the sum");
    CHECK(told(7, job, &m, 1) == 130000 && month_is(130000), "and all agree");
    must(bill_close(home, lake, job, &e), &e);
    CHECK(told(7, job, &m, 1) == 130000, "closing can be repeated");
    now_ms = begin_ms;
}

/* The first host was lost after 5 s, the second was there for 20 s. */
static void test_two_hosts(void)
{
    int64_t job = submit(8, "lab");
    struct machine hosts[2];
    struct err e = {0};

    rent(job, 1, &hosts[0]);
    step(job, LAKE_JOB_LAUNCHING, 0);
    now_ms = begin_ms + 5000;
    rent(job, 2, &hosts[1]);
    give_back(&hosts[0]);
    must(bill_close(home, lake, job, &e), &e);
    now_ms = begin_ms + 25000;
    CHECK(told(8, job, hosts, 2) == 250000, "both hosts of a job are on its bill");
    CHECK(month_is(130000 + 250000), "and on the month's");
    give_back(&hosts[1]);
    step(job, LAKE_JOB_LOST, 0);
    must(bill_close_all(home, lake, &e), &e);
    CHECK(record(job).cost_microusd == 250000 && record(job).cost_basis[0],
          "one that was lost costs what it used; who was killed in between loses no bill");
    must(bill_close_all(home, lake, &e), &e);
    CHECK(told(8, job, hosts, 2) == 250000 && month_is(130000 + 250000), "all agree");
}

/* What is left of the first two tests. */
#define BEFORE (130000 + 250000)
#define HOUR_MS ((int64_t)3600 * 1000)

/* Over after ten seconds, on a host that never answers again: it has a lease of an hour. */
static void test_dead_host(void)
{
    int64_t job = submit(9, "lab");
    struct bills_left left;
    struct machine m;
    struct err e = {0};

    now_ms = begin_ms;
    rent(job, 1, &m);
    step(job, LAKE_JOB_LAUNCHING, 0);
    step(job, LAKE_JOB_LOST, 100000);
    now_ms = begin_ms + 60000;
    AUTO_CLEAR(open_bills) struct open_bills open;
    must(open_bills_read(home, now_ms, &open, &e), &e);
    const struct lake_job lost = record(job);
    CHECK(bill_microusd(config, &open, &lost, now_ms) == 600000, "its host is rented for a minute");
    must(bill_left_over(&open, lake, begin_ms + 1000, &left, &e), &e);
    CHECK(left.jobs == 0, "a job that ended just now has nothing left over");
    must(bill_left_over(&open, lake, lost.finished_ms + 120000, &left, &e), &e);
    CHECK(left.jobs == 1 && left.first == job, "two minutes later it has");
    open_bills_clear(&open);

    now_ms = begin_ms + 72 * HOUR_MS;
    must(open_bills_read(home, now_ms, &open, &e), &e);
    CHECK(bill_microusd(config, &open, &lost, now_ms) == 36000000,
          "three days later nobody has marked it, and it costs the hour of its lease");
    CHECK(month_is(BEFORE + 36000000), "for the month, too");
    must(
        machine_start_release(provisioner.records, &m, "over", bill_over_ms(lake, job, now_ms), &e),
        &e);
    CHECK(m.state == MACHINE_DELETING && m.since_ms == lost.finished_ms,
          "it is let go, since then");
    CHECK(told(9, job, &m, 1) == 36000000 && month_is(BEFORE + 36000000), "for the same price");
    give_back(&m);
    CHECK(m.facts.ended_ms == m.facts.expires_ms && told(9, job, &m, 1) == 36000000,
          "given back after all, it was paid for as long");
    must(bill_close_all(home, lake, &e), &e);
    CHECK(record(job).cost_microusd == 36000000 && month_is(BEFORE + 36000000), "by its record");
    now_ms = begin_ms;
}

/* The broker was away for two hours, in which nobody renewed the lease of an hour; its job ran. */
static void test_old_lease(void)
{
    int64_t job = submit(10, "lab");
    struct machine m;
    struct err e = {0};

    rent(job, 1, &m);
    step(job, LAKE_JOB_LAUNCHING, 0);
    step(job, LAKE_JOB_RUNNING, 0);
    now_ms = begin_ms + 2 * HOUR_MS;
    CHECK(told(10, job, &m, 1) == 72000000, "what a job needs is paid for");
    step(job, LAKE_JOB_FINISHED, 72000000);
    AUTO_CLEAR(open_bills) struct open_bills open;
    must(open_bills_read(home, now_ms + HOUR_MS, &open, &e), &e);
    const struct lake_job over = record(job);
    CHECK(bill_microusd(config, &open, &over, now_ms + HOUR_MS) == 72000000,
          "until its end, and no longer");
    must(machine_start_release(provisioner.records, &m, "over", now_ms, &e), &e);
    now_ms += HOUR_MS;
    CHECK(told(10, job, &m, 1) == 72000000, "let go");
    give_back(&m);
    must(bill_close(home, lake, job, &e), &e);
    CHECK(told(10, job, &m, 1) == 72000000 && record(job).cost_microusd == 72000000, "and gone");
    now_ms = begin_ms;
}

/* A job that goes on elsewhere pays for the host that it left no longer than its lease. */
static void test_left_host(void)
{
    int64_t job = submit(11, "lab");
    struct machine hosts[2];
    struct err e = {0};

    rent(job, 1, &hosts[0]);
    step(job, LAKE_JOB_LAUNCHING, 0);
    now_ms = begin_ms + 10000;
    rent(job, 2, &hosts[1]);
    must(machine_start_release(provisioner.records, &hosts[0], "replaced by another host", now_ms,
                               &e),
         &e);
    now_ms += 3 * HOUR_MS;
    CHECK(told(11, job, hosts, 2) == 36000000 + 3 * 36000000, "an hour of one, three of the other");
    give_back(&hosts[0]);
    give_back(&hosts[1]);
    step(job, LAKE_JOB_FINISHED, 4 * 36000000);
    must(bill_close_all(home, lake, &e), &e);
    CHECK(record(job).cost_microusd == 4 * 36000000, "so says its record");
    now_ms = begin_ms;
}

static size_t count_open(void)
{
    AUTO_CLEAR(open_bills) struct open_bills open;
    struct err e = {0};

    must(open_bills_read(home, now_ms, &open, &e), &e);
    return open.n;
}

static void test_unknown_job(void)
{
    struct machine m;
    struct err e = {0};

    rent(999, 1, &m);
    CHECK(count_open() == 1, "a host of a job that the lake does not know");
    must(bill_close_all(home, lake, &e), &e);
    CHECK(count_open() == 1, "is not forgotten while it is rented");
    give_back(&m);
    must(bill_close_all(home, lake, &e), &e);
    CHECK(count_open() == 0, "released, its bill is not asked for again");
}

/* What made a set has a host still: 20 s by now, of which its record has 10. */
static void test_lineage(void)
{
    AUTO_MEM char *out = mem_printf("%s/out", home);
    AUTO_MEM char *file = mem_printf("%s/x", out);
    AUTO_CLEAR(open_bills) struct open_bills open = {0};
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake_lineage_cost cost;
    int64_t job = submit_for(12, "lab", "made");
    struct lake_job_change end_of_it = {.id = job,
                                        .to = LAKE_JOB_FINISHED,
                                        .reason = "",
                                        .runtime_s = 1,
                                        .cost_microusd = 100000,
                                        .cost_basis = BILL_HOST};
    struct machine m;
    struct err e = {0};

    rent(job, 1, &m);
    step(job, LAKE_JOB_LAUNCHING, 0);
    step(job, LAKE_JOB_RUNNING, 0);
    must(file_make_dirs(out, 0700, &e), &e);
    must(file_replace(file, "x", 1, 0600, &e), &e);
    must(lake_job_store(lake, &end_of_it, out, NULL, &e), &e);
    now_ms = begin_ms + 20000;
    must(lake_resolve(lake, "@made", LAKE_READ, &ref, &e), &e);
    must(open_bills_read(home, now_ms, &open, &e), &e);
    must(lake_lineage_cost(lake, &ref, NULL, &cost, &e), &e);
    CHECK(cost.cost_microusd == 100000, "its record has what it cost when it ended");
    must(lineage_add_open(lake, &ref, &open, &cost, &e), &e);
    CHECK(cost.jobs == 1 && cost.cost_microusd == 200000, "the open bill is told instead");
    struct lake_job shown = record(job);
    bill_show(&open, &shown);
    CHECK(shown.cost_microusd == 200000 && !strcmp(shown.cost_basis, BILL_HOST), "of the job, too");
    give_back(&m);
    must(bill_close(home, lake, job, &e), &e);
    open_bills_clear(&open);
    must(lineage_add_open(lake, &ref, &open, &cost, &e), &e);
    CHECK(cost.cost_microusd == 200000, "without an open bill nothing is added");
    now_ms = begin_ms;
}

/* A command on this machine costs as long as it runs. */
static void test_here(void)
{
    AUTO_MEM char *planned =
        job_details_text(&(struct job_details){.price_usd_per_hour = 36}, NULL);
    AUTO_MEM char *lab = job_details_text(&(struct job_details){.on = "lab"}, NULL);
    const struct open_bills none = {0};
    struct lake_job job = {.started_ms = 1000, .cost_basis = "", .asked = {.details = planned}};

    CHECK(bill_microusd(config, &none, &job, 11000) == 100000,
          "ten seconds of the planned machine");
    CHECK(bill_microusd(config, &none, &job, 500) == 0, "a clock that goes back costs nothing");
    job.started_ms = 0;
    CHECK(bill_microusd(config, &none, &job, 11000) == 0, "what has not begun costs nothing");
    job = (struct lake_job){.started_ms = 1000, .cost_basis = "", .asked = {.details = lab}};
    CHECK(bill_microusd(config, &none, &job, 11000) == 0, "nor what has no host");
    job = (struct lake_job){.started_ms = 1000,
                            .cost_basis = "",
                            .asked = {.details = "{}", .cpus = 0.5, .memory_mb = 512}};
    /* 2/3 of the base prices: 0.5 x 0.031611 x 2/3 + 0.5 x 0.004237 x 2/3 = 0.011949 USD. */
    CHECK(llabs(bill_microusd(config, &none, &job, 3601000) - 11949) <= 1, "any other by its size");
}

int main(void)
{
    snprintf(home, sizeof home, "/tmp/bill-XXXXXX");
    if (!mkdtemp(home))
        return 1;
    begin();
    test_one_host();
    test_two_hosts();
    test_dead_host();
    test_old_lease();
    test_left_host();
    test_unknown_job();
    test_lineage();
    test_here();
    end();
    return TAP_DONE();
}
