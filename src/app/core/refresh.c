/* Starts a broker before jobs and runs are shown, when there are some that are not over: without a
 * broker, records tell how they stood when the last one ended. operation_call calls it. */
#include "app/core/app.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "broker/core/runs.h"
#include "broker/daemon/client.h"
#include "lake/job/job.h"
#include "spec/config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* How long records of jobs may take that ended while no broker was there. */
#define CATCH_UP_S 8.0
#define LOOK_MS 20
#define STEADY_S 1.0

static int note_open(void *context, const struct lake_job *job, struct err *e)
{
    bool *found = context;

    (void)e;
    *found = *found || !lake_job_is_over(job);
    return 0;
}

static int note_run(void *context, const struct run *run, struct err *e)
{
    bool *found = context;

    (void)e;
    *found = *found || strcmp(run->on, "sim") != 0;
    return 0;
}

static bool has_open_work(struct app *app)
{
    struct err ignored = {0};
    const struct lake_job_filter open = {.states = LAKE_JOB_UNDER_WAY | 1U << LAKE_JOB_QUEUED};
    struct lake *l = app_lake(app, &ignored);
    bool found = false;

    if (!l || lake_job_list(l, &open, note_open, &found, &ignored) < 0 || found)
        return found;
    AUTO_MEM char *records = broker_path(app_home(app, &ignored), "runs.db");
    struct runs *runs = access(records, F_OK) == 0 ? app_runs(app, &ignored) : NULL;
    return runs && runs_list(runs, true, 0, note_run, &found, &ignored) == 0 && found;
}

/* The agent of a job that runs here holds this lock until its end. */
static bool has_agent(const char *home, int64_t job)
{
    AUTO_MEM char *path = broker_job_path(home, job, "agent.lock");
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0;
}

struct behind {
    const char *home;
    bool runs;  /* some job runs here by its record */
    bool found; /* one of those has no agent */
};

static int note_behind(void *context, const struct lake_job *job, struct err *e)
{
    struct behind *b = context;

    bool is_here = strcmp(job->machine, "local") == 0;
    (void)e;
    b->runs = b->runs || is_here;
    b->found = b->found || (is_here && !has_agent(b->home, job->id));
    return 0;
}

static struct behind look(struct app *app)
{
    const struct lake_job_filter running = {.states = 1U << LAKE_JOB_RUNNING};
    struct err ignored = {0};
    struct behind b = {.home = app_home(app, &ignored)};
    struct lake *l = app_lake(app, &ignored);

    if (l)
        (void)lake_job_list(l, &running, note_behind, &b, &ignored);
    return b;
}

/* Until every job that runs by its record has an agent. A broker that ends what a killed agent left
 * has the agent's lock for a moment: so it counts only when it lasts. */
static void catch_up(struct app *app)
{
    double begin_s = time_monotonic_s(), fine_since_s = begin_s, now_s = begin_s;
    struct behind b = look(app);

    while (b.runs && now_s - fine_since_s < STEADY_S && now_s - begin_s < CATCH_UP_S &&
           !app_cancelled(app)) {
        usleep(LOOK_MS * 1000);
        now_s = time_monotonic_s();
        b = look(app);
        if (b.found)
            fine_since_s = now_s;
    }
}

void app_refresh(struct app *app)
{
    struct err why = {0};
    const char *home = app_home(app, &why);

    if (!home || !app_program(app))
        return;
    AUTO_MEM char *records = broker_path(home, "lake.db");
    if (access(records, F_OK) < 0)
        return;
    AUTO(broker_client) struct broker_client *there = broker_client_open(home, NULL, &why);
    if (there || why.kind != ERR_NOTFOUND || !has_open_work(app))
        return;
    if (app_wake_broker(app, &why) < 0) {
        app_notice(app, "no broker runs, so that this may be out of date: %s", why.text);
        return;
    }
    catch_up(app);
}
