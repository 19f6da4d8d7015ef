#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/details.h"
#include "broker/machine/cap.h"
#include "tap.h"

#include <string.h>
#include <unistd.h>

static char home[32];

static void must(int result, const struct err *e)
{
    if (result < 0) {
        printf("Bail out! %s\n", e->text);
        exit(1);
    }
}

static struct lake *open_lake(void)
{
    AUTO_MEM char *url = mem_printf("dir:%s/objects", home);
    struct err e = {0};
    struct lake *l =
        lake_open(&(struct lake_options){.home = home,
                                         .store = {.url = url, .path_style = -1, .seed = 1},
                                         .caller = {.project = "p", .user = "ann", .admin = true}},
                  &e);

    must(l ? 0 : -1, &e);
    return l;
}

static struct config *make_config(const char *text)
{
    AUTO_MEM char *path = mem_printf("%s/config.yaml", home);
    struct err e = {0};

    must(file_replace(path, text, strlen(text), 0600, &e), &e);
    struct config *c = config_load(home, &e);
    must(c ? 0 : -1, &e);
    return c;
}

static int64_t submit(struct lake *l, int64_t run, double price, const char *on)
{
    static const char *const command[] = {"true"};
    struct err e = {0};
    AUTO_MEM char *details =
        job_details_text(&(struct job_details){.on = on, .price_usd_per_hour = price}, &e);
    const struct lake_job_request r = {.command = command,
                                       .n_command = 1,
                                       .cpus = 1,
                                       .memory_mb = 1024,
                                       .run = run,
                                       .details = details};
    int64_t id;

    must(lake_job_submit(l, &r, 1, &id, &e), &e);
    return id;
}

static void step(struct lake *l, int64_t id, enum lake_job_state to, int64_t microusd)
{
    struct lake_job_change c = {.id = id, .to = to, .reason = "", .runtime_s = -1};
    struct err e = {0};

    if (microusd) {
        c.cost_microusd = microusd;
        c.cost_basis = "x";
    }
    must(lake_job_step(l, &c, 1, &e), &e);
}

static void test_months(void)
{
    /* 2024-02-29T23:59:59.999Z, 2024-03-01T00:00:00Z; date -u -d 2024-02-01 +%s */
    CHECK(cap_month_begin_ms(1709251199999) == 1706745600000, "the last of February");
    CHECK(cap_month_begin_ms(1709251200000) == 1709251200000, "the first of March");
    CHECK(cap_month_begin_ms(1709251200001) == 1709251200000, "and a moment later");
}

static void test_caps(struct lake *l)
{
    AUTO(config) struct config *c = make_config("limits: {max_usd_per_month: 5}\n");
    struct run run = {.id = 7, .max_microusd = 3000000};
    int64_t now_ms = time_epoch_ms();
    char why[CAP_REASON];
    struct err e = {0};

    int64_t first = submit(l, 7, 0, NULL), second = submit(l, 7, 0, NULL);
    step(l, first, LAKE_JOB_FINISHED, 3000000);
    CHECK(cap_run_over(c, l, &run, now_ms, why, &e) == 0, "as much as it may is not more");
    step(l, second, LAKE_JOB_FAILED, 1000000);
    CHECK(cap_run_over(c, l, &run, now_ms, why, &e) == 1 &&
              !strcmp(why, "spending cap --max-cost: 4.00 of 3.00 USD"),
          "what failed was paid, too: %s", why);
    run.max_microusd = 0;
    CHECK(cap_run_over(c, l, &run, now_ms, why, &e) == 0, "without a cap anything goes");
    CHECK(cap_month_over(c, l, now_ms, why, &e) == 0 && cap_check_month(c, l, &e) == 0,
          "4 of 5 dollars");
    int64_t other = submit(l, 0, 36, NULL);
    step(l, other, LAKE_JOB_LAUNCHING, 0);
    step(l, other, LAKE_JOB_RUNNING, 0);
    /* Two hundred seconds on, it has cost two dollars more; the month may not be over by then. */
    int64_t spent = 0;
    must(cap_month_spent(c, l, now_ms + 200000, &spent, &e), &e);
    bool same_month = cap_month_begin_ms(now_ms + 200000) == cap_month_begin_ms(now_ms);
    CHECK(!same_month || llabs(spent - 6000000) < 200000, "what runs counts so far: %lld",
          (long long)spent);
    must(cap_month_spent(c, l, now_ms + (int64_t)32 * 86400 * 1000, &spent, &e), &e);
    CHECK(spent > 4000000 * 1000LL, "only that is carried over to the next month: %lld",
          (long long)spent);
    AUTO(config) struct config *less = make_config("limits: {max_usd_per_month: 3.5}\n");
    CHECK(cap_check_month(less, l, &e) < 0 && e.kind == ERR_NOFIT &&
              strstr(e.text, "of 3.50 USD; raise it"),
          "%s", e.text);
}

static int count_open(void *context, const struct lake_job *job, struct err *e)
{
    (void)e;
    *(int *)context += !job->stop_asked;
    return 0;
}

static void test_stop(struct lake *l)
{
    const struct lake_job_filter open = {.states = 1U << LAKE_JOB_QUEUED | 1U << LAKE_JOB_RUNNING};
    struct err e = {0};
    int n = 0;

    submit(l, 0, 0, NULL);
    must(cap_stop_all(l, "enough", &e), &e);
    must(cap_stop_all(l, "enough", &e), &e);
    must(lake_job_list(l, &open, count_open, &n, &e), &e);
    CHECK(n == 0, "everything is asked to end");
}

int main(void)
{
    snprintf(home, sizeof home, "/tmp/cap-XXXXXX");
    if (!mkdtemp(home))
        return 1;
    AUTO(lake) struct lake *l = open_lake();
    test_months();
    test_caps(l);
    test_stop(l);
    file_remove_tree(home);
    return TAP_DONE();
}
