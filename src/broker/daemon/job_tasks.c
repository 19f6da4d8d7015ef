/* What workers do with a job. They touch nothing of it but task_trouble, host_trouble and, while
 * they rent, remote. */
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
    host_ask(&wish, j->details.nodes, &j->remote->refused, &j->task_trouble);
}

static void rent_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;
    const struct host_wish wish = wish_of(j);

    (void)l;
    host_provision(&wish, &j->remote->attempt, &j->remote->machine, &j->remote->refused,
                   &j->task_trouble);
}

static void prepare_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;

    if (j->remote && attempt_is_prepared(j) ? 0 : attempt_prepare(j, l, &j->task_trouble))
        return;
    if (!j->remote)
        return;
    j->host_trouble = host_send(&j->host, j->job.id, j->directory, &j->task_trouble) < 0;
    if (!j->host_trouble)
        attempt_note_sent(j, &j->task_trouble);
}

static void reach_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;

    (void)l;
    j->host_trouble = host_reach(&j->host, &j->task_trouble) < 0;
}

static void stop_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;

    (void)l;
    j->host_trouble =
        exec_stop(&j->host, j->job.id, j->stop_grace_s, j->stop_reason, &j->task_trouble) < 0;
}

static void save_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;

    (void)l;
    j->host_trouble =
        exec_collect(&j->host, j->job.id, "checkpoint", j->directory, &j->task_trouble) < 0;
}

static void store_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;
    AUTO_MEM char *directory = broker_job_path(j->home, j->job.id, "output");
    struct lake_job_change change = {
        .id = j->job.id, .to = LAKE_JOB_FINISHED, .reason = "", .runtime_s = -1};

    j->host_trouble = j->remote && exec_collect(&j->host, j->job.id, "output", j->directory,
                                                &j->task_trouble) < 0;
    if (j->host_trouble || attempt_clean_output(j, directory, &j->task_trouble) < 0)
        return;
    if (!l)
        err_set(&j->task_trouble, ERR_RETRY, "the lake cannot be opened");
    else if (j->details.restores[0])
        lake_job_restore(l, &change, directory, j->details.restores, NULL, &j->task_trouble);
    else
        lake_job_store(l, &change, directory, NULL, &j->task_trouble);
}

void job_give(struct broker *b, struct attempt *j, enum attempt_work work)
{
    static void (*const tasks[])(struct task * t, struct lake * l) = {
        [ATTEMPT_RENT] = rent_task,   [ATTEMPT_ASK] = ask_task,   [ATTEMPT_PREPARE] = prepare_task,
        [ATTEMPT_REACH] = reach_task, [ATTEMPT_STOP] = stop_task, [ATTEMPT_SAVE] = save_task,
        [ATTEMPT_STORE] = store_task,
    };

    j->work = work;
    j->retry_ms = 0;
    j->task_trouble = (struct err){0};
    j->host_trouble = false;
    j->task.work = tasks[work];
    workers_do(j->remote ? b->far : b->workers, &j->task);
}
