/* Refused launches on record, what machines of clouds may cost per hour, and whose job is over. */
#include "broker/machine/refusals.h"

#include "base/file.h"
#include "base/time.h"
#include "broker/machine/clouds.h"
#include "broker/machine/internal.h"
#include "lake/job/job.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_MS ((int64_t)3600 * 1000)

static char home[300];
static struct machines *records;
static struct err why;

static void begin(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(home, sizeof home, "%s/tradewind-refusals-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(home) || !(records = machines_open(home, &why))) {
        printf("Bail out! %s\n", why.text);
        exit(EXIT_FAILURE);
    }
    machines_relax(records);
}

static void end(void)
{
    machines_free(records);
    file_remove_tree(home);
}

/* ---- refusals ---- */

static struct machine_refusal got[10];
static size_t n_got;

static int keep(void *context, const struct machine_refusal *r, struct err *e)
{
    (void)context;
    (void)e;
    got[n_got++] = *r;
    return 0;
}

static size_t read_since(int64_t since_ms, int64_t job, int64_t run)
{
    n_got = 0;
    return machine_refusals_each(records, since_ms, job, run, keep, NULL, &why) == 0 ? n_got : 99;
}

static void note(int64_t at_ms, int64_t run, int64_t job, bool spot)
{
    struct machine_refusal r = {.offer = {.provider = "aws",
                                          .region = "us-east-1",
                                          .zone = "us-east-1b",
                                          .instance_type = "g4dn.xlarge",
                                          .accelerator = "T4",
                                          .spot = spot},
                                .failure = CLOUD_QUOTA,
                                .scope = CLOUD_REGION,
                                .run = run,
                                .job = job,
                                .at_ms = at_ms,
                                .took_s = 1.5,
                                .text = "RunInstances: VcpuLimitExceeded: no"};

    CHECK(machine_refusal_note(records, &r, &why) == 0, "noted at %lld", (long long)at_ms);
}

static void test_refusals(void)
{
    begin();
    CHECK(read_since(0, 0, 0) == 0, "there are none at first");
    note(3000, 1, 11, false);
    note(1000, 1, 12, true);
    note(2000, 2, 13, false);
    CHECK(read_since(0, 0, 0) == 3 && got[0].at_ms == 1000 && got[2].at_ms == 3000,
          "the oldest is read first");
    const struct machine_refusal *r = &got[0];
    CHECK(!strcmp(r->offer.provider, "aws") && !strcmp(r->offer.region, "us-east-1") &&
              !strcmp(r->offer.zone, "us-east-1b") &&
              !strcmp(r->offer.instance_type, "g4dn.xlarge") &&
              !strcmp(r->offer.accelerator, "T4") && r->offer.spot,
          "with its offer");
    CHECK(r->failure == CLOUD_QUOTA && r->scope == CLOUD_REGION && r->run == 1 && r->job == 12 &&
              !(fabs(r->took_s - 1.5) > 0) && strstr(r->text, "VcpuLimitExceeded"),
          "why, for whom and how long it took");
    CHECK(read_since(2000, 0, 0) == 2 && got[0].at_ms == 2000, "since a time, which counts");
    CHECK(read_since(0, 13, 0) == 1 && got[0].run == 2, "of a job");
    CHECK(read_since(0, 0, 1) == 2, "of a run");
    CHECK(read_since(0, 13, 1) == 0, "of a job that is not of the run");
    end();
}

static void test_which_refuse(void)
{
    static const enum cloud_failure of_offers[] = {CLOUD_QUOTA, CLOUD_CAPACITY, CLOUD_UNSUPPORTED};

    for (int f = CLOUD_FINE; f <= CLOUD_UNKNOWN; f++) {
        bool wanted = false;
        for (size_t i = 0; i < 3; i++)
            wanted = wanted || f == (int)of_offers[i];
        CHECK(machine_refuses_offer((enum cloud_failure)f) == wanted, "failure %d %s", f,
              wanted ? "leads to another offer" : "does not");
    }
    CHECK(!strcmp(machine_refusal_failure_text(CLOUD_QUOTA), "quota") &&
              !strcmp(machine_refusal_scope_text(CLOUD_REGION), "region"),
          "as tables have them");
}

/* ---- the hour ---- */

static const double prices[] = {0.25, 0.5, 1, 2};

/* Multiples of a quarter add up exactly. */
static void draw(struct machine *x, unsigned number)
{
    static const char *const clouds[] = {"aws", "gcp", "azure", "pool"};

    *x = (struct machine){.world = rand() % 8 ? 0 : 7,
                          .attempt = 1,
                          .state = (enum machine_state)(MACHINE_INTENDED + rand() % 5),
                          .max_price_usd_per_hour = (double)INFINITY};
    snprintf(x->cloud, sizeof x->cloud, "%s", clouds[rand() % 4]);
    snprintf(x->facts.token, sizeof x->facts.token, "t-%u", number);
    x->facts.price_usd_per_hour = prices[rand() % 4];
}

/* By the words of machines.h. */
static bool counts(const struct machine *x)
{
    return x->world == 0 && x->state < MACHINE_GONE && strcmp(x->cloud, "pool") != 0;
}

static bool hour_holds(unsigned seed)
{
    struct machine list[40];
    double sum = 0;
    bool good = true;

    srand(seed);
    for (unsigned i = 0; good && i < 40; i++) {
        double most = rand() % 5 ? 0.25 * (1 + rand() % 30) : 0;
        struct err refused = {0};
        draw(&list[i], i);
        bool fits = most <= 0 || list[i].facts.price_usd_per_hour + sum <= most;
        bool taken = machine_row_insert(records, &list[i], most, &refused) == 0;
        good = taken == fits && (taken || refused.kind == ERR_NOFIT);
        if (taken && counts(&list[i]))
            sum += list[i].facts.price_usd_per_hour;
        /* One that was taken earlier ends. */
        struct machine *old = &list[(unsigned)rand() % (i + 1)];
        struct machine known;
        if (machines_get(records, old->world, old->facts.token, &known, &refused) < 0)
            continue;
        if (counts(&known))
            sum -= known.facts.price_usd_per_hour;
        known.state = MACHINE_GONE;
        good = good && machine_row_update(records, &known, &refused) == 0;
    }
    return good;
}

static void test_hour(void)
{
    for (unsigned seed = 1; seed <= 60; seed++) {
        begin();
        if (!hour_holds(seed))
            CHECK(false, "the hour holds, seed %u", seed);
        end();
    }
    CHECK(true, "60 sequences of launches and ends end within their hours");
}

/* ---- jobs that are over ---- */

static int64_t submit(struct lake *l)
{
    static const char *const command[] = {"true"};
    const struct lake_job_request request = {
        .command = command, .n_command = 1, .cpus = 1, .memory_mb = 256};
    int64_t id = 0;

    CHECK(lake_job_submit(l, &request, 1, &id, &why) == 0, "submitted: %s", why.text);
    return id;
}

static void test_jobs(void)
{
    begin();
    char url[350];
    snprintf(url, sizeof url, "dir:%s/objects", home);
    struct lake *l =
        lake_open(&(struct lake_options){.home = home,
                                         .store = {.url = url, .path_style = -1, .seed = 1},
                                         .caller = {.project = "p", .user = "ann", .admin = true}},
                  &why);
    CHECK(l, "a lake: %s", why.text);
    int64_t job = submit(l);
    CHECK(clouds_job_over(l, job, true, &why) == MACHINE_NEEDED &&
              clouds_job_over(l, job, false, &why) == MACHINE_NEEDED,
          "a queued job needs its machine, with a broker and without");
    struct lake_job_change killed = {
        .id = job, .to = LAKE_JOB_KILLED, .reason = "", .runtime_s = -1};
    CHECK(lake_job_step(l, &killed, 1, &why) == 0, "killed: %s", why.text);
    CHECK(clouds_job_over(l, job, true, &why) == MACHINE_NEEDED,
          "one that ended just now leaves its machine to the broker");
    CHECK(clouds_job_over(l, job, false, &why) == 1, "or, without one, at once");
    CHECK(clouds_job_over(l, job + 100, true, &why) == 1, "a job that never was needs none");
    lake_free(l);
    end();
}

int main(void)
{
    test_refusals();
    test_which_refuse();
    test_hour();
    test_jobs();
    return TAP_DONE();
}
