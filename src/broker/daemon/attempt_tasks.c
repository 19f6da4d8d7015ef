/* What worker threads do for a job. They touch nothing of the attempt but task_error, host_failed,
 * is_at_fault, leaves_output, remote->collected and, while they provision, all of remote. Called by
 * attempt_life.c. */
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/home.h"
#include "broker/core/kept.h"
#include "broker/daemon/host.h"
#include "broker/daemon/internal.h"
#include "lake/job/job.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Links that are named in the warnings; the others are counted. */
#define NAMED_MAX 20

static void prepare(struct attempt *j, struct lake *l)
{
    if (j->remote && attempt_is_prepared(j) ? 0 : attempt_prepare(j, l, &j->task_error))
        return;
    if (!j->remote)
        return;
    j->host_failed = host_send(&j->host, j->job.id, j->directory, &j->task_error) < 0;
    if (!j->host_failed)
        attempt_note_sent(j, &j->task_error);
}

static bool is_below(const char *path, const char *top)
{
    size_t n = strlen(top);

    return !strncmp(path, top, n) && (path[n] == '/' || !path[n]);
}

/* No reader follows a link that leads nowhere. */
static bool leads_out(const char *link, const char *top)
{
    AUTO_MEM char *target = realpath(link, NULL);

    return target ? !is_below(target, top) : errno != ENOENT && errno != ELOOP;
}

static void warn_of(const struct attempt *j, const char *name)
{
    AUTO_MEM char *text =
        mem_printf("output: %.300s is left out: it leads out of the directory", name);

    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    attempt_note_warning(j, text);
}

static int drop_links(const struct attempt *j,
                      const char *directory,
                      const char *top,
                      struct err *e)
{
    AUTO_MEM char *walked = mem_dup(directory);
    char *const roots[] = {walked, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t n = 0;
    int result = 0;

    if (!walk)
        return file_error(e, "read", directory);
    for (const FTSENT *f; result == 0 && (f = fts_read(walk));) {
        bool is_link = f->fts_info == FTS_SL || f->fts_info == FTS_SLNONE;
        if (!is_link || !leads_out(f->fts_path, top))
            continue;
        if (unlink(f->fts_path) < 0)
            result = file_error(e, "leave out", f->fts_path);
        else if (n++ < NAMED_MAX)
            warn_of(j, f->fts_path + strlen(directory) + 1);
    }
    fts_close(walk);
    if (n > NAMED_MAX) {
        AUTO_MEM char *text = mem_printf("output: %zu more links are left out", n - NAMED_MAX);
        attempt_note_warning(j, text);
    }
    return result;
}

/* Removes links that lead out of the output, with a line each in the warnings: they would store any
 * file that the broker may read. ERR_USAGE: the output is not a directory any more. */
static int clean_output(const struct attempt *j, const char *directory, struct err *e)
{
    struct stat st;

    if (lstat(directory, &st) < 0)
        return errno == ENOENT ? 0 : file_error(e, "read", directory);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_USAGE,
                       "output: the job replaced its directory "
                       "$TRADEWIND_OUTPUT by something else: nothing is stored");
    AUTO_MEM char *top = realpath(directory, NULL);
    return top ? drop_links(j, directory, top, e) : file_error(e, "read", directory);
}

/* A disk that is full here is no error of the host, which keeps the output until there is room. */
static int collect_output(struct attempt *j)
{
    if (!j->remote || j->remote->collected)
        return 0;
    if (exec_collect(&j->host, j->job.id, "output", j->directory, &j->task_error) < 0) {
        j->host_failed = j->task_error.kind != ERR_IO;
        return -1;
    }
    if (attempt_note_collected(j, &j->task_error) < 0)
        return -1;
    j->remote->collected = true;
    return 0;
}

static void store(struct attempt *j, struct lake *l)
{
    AUTO_MEM char *directory = broker_job_path(j->home, j->job.id, "output");
    struct lake_job_change change = {
        .id = j->job.id, .to = LAKE_JOB_FINISHED, .reason = "", .runtime_s = -1};

    if (collect_output(j) < 0)
        return;
    AUTO_FD int lock = kept_lock(j->home, j->job.id, &j->task_error);
    if (lock < 0)
        return;
    if (clean_output(j, directory, &j->task_error) < 0) {
        j->is_at_fault = j->task_error.kind == ERR_USAGE;
        return;
    }
    if (attempt_check_outputs(j, &j->task_error) < 0) {
        j->is_at_fault = true;
        j->leaves_output = kept_bytes(directory) > 0;
        return;
    }
    if (!l)
        err_set(&j->task_error, ERR_RETRY, "the lake cannot be opened");
    else if (access(directory, F_OK) == 0 &&
             attempt_read_events(j, l, directory, &j->task_error) < 0)
        return;
    else if (j->details.restores[0])
        lake_job_restore(l, &change, directory, j->details.restores, NULL, &j->task_error);
    else
        lake_job_store(l, &change, directory, NULL, &j->task_error);
}

static int provision(struct attempt *j, const struct host_wish *hosts, struct cloud_error *e)
{
    struct remote *r = j->remote;
    const struct launch_wish wish = {.options = r->options,
                                     .launches = r->launches,
                                     .job = j->job.id,
                                     .run = j->job.asked.run,
                                     .stage = j->details.stage,
                                     .nodes = j->details.nodes,
                                     .is_server = j->details.rank < j->details.servers};

    if (r->launch.offer.provider[0]) {
        *e = (struct cloud_error){0};
        return j->work == ACTION_ASK_GANG
                   ? launch_ask(&wish, &r->launch, e)
                   : launch_step(&wish, &r->launch, &r->attempt, &r->machine, e);
    }
    return j->work == ACTION_PROVISION ? host_provision(hosts, &r->attempt, &r->machine, e)
                                       : host_ask(hosts, j->details.nodes, e);
}

static void run_task(struct task *t, struct lake *l)
{
    struct attempt *j = (struct attempt *)t;
    struct remote *r = j->remote;
    struct err *e = &j->task_error;
    int64_t id = j->job.id;
    const struct host_wish wish = {.home = j->home,
                                   .agent = j->host.agent,
                                   .group = j->details.on,
                                   .job = id,
                                   .run = j->job.asked.run,
                                   .cpus = j->job.asked.cpus,
                                   .memory_mb = j->job.asked.memory_mb,
                                   .gpus = j->details.gpus,
                                   .gpu_type = j->details.gpu_type};

    if (j->work == ACTION_PROVISION || j->work == ACTION_ASK_GANG) {
        struct cloud_error why;
        if (provision(j, &wish, &why) < 0)
            *e = why.err;
        else
            snprintf(r->left_out, sizeof r->left_out, "%s",
                     r->launch.note[0] ? r->launch.note : why.err.text);
        r->refused = why.failure;
    } else if (j->work == ACTION_FETCH)
        prepare(j, l);
    else if (j->work == ACTION_STORE)
        store(j, l);
    else if (j->work == ACTION_STOP_AGENT)
        j->host_failed = exec_stop(&j->host, id, j->stop_grace_s, j->stop_reason, e) < 0;
    else if (j->work == ACTION_REACH || j->work == ACTION_RENEW_LEASE)
        j->host_failed = host_reach(&j->host, e) < 0;
    else /* ACTION_SAVE, ACTION_SAVE_CHECKPOINT */
        j->host_failed = exec_collect(&j->host, id, "checkpoint", j->directory, e) < 0;
}

void attempt_give(struct broker *b, struct attempt *j, enum life_action work)
{
    j->work = work;
    j->retry_ms = 0;
    j->task_error = (struct err){0};
    j->host_failed = j->is_at_fault = false;
    j->task.work = run_task;
    if (j->remote) {
        j->remote->options = b->o;
        j->remote->launches = b->launches;
        j->remote->lease_s = b->settings.lease_s;
    }
    if (work == ACTION_PROVISION)
        idle_hand_over(b, j);
    workers_do(j->remote ? b->far : b->workers, &j->task);
}
