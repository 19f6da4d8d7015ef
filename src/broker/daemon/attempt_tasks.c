/* What worker threads do for a job. They touch nothing of the attempt but task_error, host_failed
 * and, while they provision, remote. Called by attempt_life.c. */
#include "base/mem.h"
#include "broker/core/home.h"
#include "broker/daemon/host.h"
#include "broker/daemon/internal.h"
#include "lake/job/job.h"

static struct host_wish wish_of(const struct attempt *j)
{
    return (struct host_wish){.home = j->home,
                              .agent = j->host.agent,
                              .group = j->details.on,
                              .job = j->job.id,
                              .run = j->job.asked.run,
                              .cpus = j->job.asked.cpus,
                              .memory_mb = j->job.asked.memory_mb};
}

static void ask_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;
    const struct host_wish wish = wish_of(j);

    (void)l;
    host_ask(&wish, j->details.nodes, &j->remote->refused, &j->task_error);
}

static void provision_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;
    const struct host_wish wish = wish_of(j);

    (void)l;
    host_provision(&wish, &j->remote->attempt, &j->remote->machine, &j->remote->refused,
                   &j->task_error);
}

static void prepare_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;

    if (j->remote && attempt_is_prepared(j) ? 0 : attempt_prepare(j, l, &j->task_error))
        return;
    if (!j->remote)
        return;
    j->host_failed = host_send(&j->host, j->job.id, j->directory, &j->task_error) < 0;
    if (!j->host_failed)
        attempt_note_sent(j, &j->task_error);
}

static void reach_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;

    (void)l;
    j->host_failed = host_reach(&j->host, &j->task_error) < 0;
}

static void stop_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;

    (void)l;
    j->host_failed =
        exec_stop(&j->host, j->job.id, j->stop_grace_s, j->stop_reason, &j->task_error) < 0;
}

static void save_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;

    (void)l;
    j->host_failed =
        exec_collect(&j->host, j->job.id, "checkpoint", j->directory, &j->task_error) < 0;
}

static void store_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;
    AUTO_MEM char *directory = broker_job_path(j->home, j->job.id, "output");
    struct lake_job_change change = {
        .id = j->job.id, .to = LAKE_JOB_FINISHED, .reason = "", .runtime_s = -1};

    j->host_failed =
        j->remote && exec_collect(&j->host, j->job.id, "output", j->directory, &j->task_error) < 0;
    if (j->host_failed || attempt_clean_output(j, directory, &j->task_error) < 0)
        return;
    if (!l)
        err_set(&j->task_error, ERR_RETRY, "the lake cannot be opened");
    else if (j->details.restores[0])
        lake_job_restore(l, &change, directory, j->details.restores, NULL, &j->task_error);
    else
        lake_job_store(l, &change, directory, NULL, &j->task_error);
}

void attempt_give(struct broker *b, struct attempt *j, enum life_action work)
{
    static void (*const tasks[LIFE_ACTIONS])(struct task * t, struct lake * l) = {
        [ACTION_PROVISION] = provision_task,  [ACTION_ASK_GANG] = ask_task,
        [ACTION_FETCH] = prepare_task,        [ACTION_REACH] = reach_task,
        [ACTION_RENEW_LEASE] = reach_task,    [ACTION_STOP_AGENT] = stop_task,
        [ACTION_SAVE_CHECKPOINT] = save_task, [ACTION_SAVE] = save_task,
        [ACTION_STORE] = store_task,
    };

    j->work = work;
    j->retry_ms = 0;
    j->task_error = (struct err){0};
    j->host_failed = false;
    j->task.work = tasks[work];
    workers_do(j->remote ? b->far : b->workers, &j->task);
}
