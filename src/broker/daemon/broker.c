#include "broker/daemon/broker.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "broker/core/ids.h"
#include "broker/daemon/checkpoint.h"
#include "broker/daemon/internal.h"
#include "broker/pipeline/advance.h"
#include "spec/config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORKERS 2
#define TICK_MS 1000
/* Retries of a write that the lake refused; no job starts meanwhile. */
#define LAKE_RETRY_MS 200
#define LAKE_RETRY_MAX_MS 10000
/* Clients wake the broker after submitting. Poll as well: a client may die between the two. */
#define LOOK_EVERY_MS 10000
/* Running jobs cost money: check the spending caps. */
#define LOOK_LIVE_MS 2000
/* Removal of old checkpoints. */
#define EXPIRE_EVERY_MS ((int64_t)3600 * 1000)
#define BOUND_LOG_EVERY_MS 10000
/* After this many jobs that cannot start now, no further one starts until the next round. */
#define NOT_NOW_MAX 64

/* A signal handler can set nothing else. */
static volatile sig_atomic_t told_to_end;

static void note_end(int number)
{
    (void)number;
    told_to_end = 1;
}

bool broker_passes(const struct err *why)
{
    return why->kind == ERR_RETRY || why->kind == ERR_IO;
}

struct attempt *broker_find_attempt(const struct broker *b, int64_t id)
{
    for (size_t i = 0; i < b->n_attempts; i++)
        if (b->attempts[i]->job.id == id)
            return b->attempts[i];
    return NULL;
}

/* ---- new jobs, requested stops ---- */

struct queued {
    struct broker *broker;
    bool has_remote;
};

static int add_queued(void *context, const struct lake_job *job, struct err *e)
{
    struct queued *found = context;
    AUTO_CLEAR(job_details) struct job_details details = {0};
    struct queue_job entry;

    (void)e;
    found->broker->last_read = job->id;
    /* A job that an earlier broker left, which found no host and went back to the queue. */
    if (broker_find_attempt(found->broker, job->id) || hosts_is_held(found->broker, job->id))
        return 0;
    /* The launch of a job with unreadable details fails and says so. */
    if (job_details_parse(job->asked.details, &details, NULL) < 0)
        details = (struct job_details){.on = "local"};
    hosts_queue_job(job, &details, &entry);
    queue_add(found->broker->queue, &entry);
    found->has_remote = found->has_remote || strcmp(details.on, "local") != 0;
    return 0;
}

static int read_stop(void *context, const struct lake_job *job, struct err *e)
{
    struct attempt *j = broker_find_attempt(context, job->id);

    (void)e;
    if (j)
        attempt_ask_stop(j, job);
    return 0;
}

/* New settings hold from the next look on; an unreadable configuration changes nothing. */
static int read_settings(struct broker *b, struct err *e)
{
    AUTO(config) struct config *c = config_load(b->o->home, e);

    if (!c)
        return -1;
    b->settings = (struct settings){.vcpu_hour_usd = c->prices.vcpu_hour_usd,
                                    .gb_hour_usd = c->prices.gb_hour_usd,
                                    .lease_s = c->limits.lease_s,
                                    .host_lost_s = c->limits.host_lost_s,
                                    .log_bytes = (uint64_t)(c->limits.log_mb * (1 << 20))};
    queue_set_jobs_per_user(b->queue, c->limits.jobs_per_user);
    return 0;
}

static int look_around(struct broker *b, struct err *e)
{
    bool new_jobs = false;
    struct queued found = {.broker = b};
    struct lake_job_filter queued = {.states = 1U << LAKE_JOB_QUEUED, .after = b->last_read};
    struct lake_job_filter active = {.states = LAKE_JOB_UNDER_WAY};

    read_settings(b, NULL);
    if (advance_runs(b->runs, b->lake, &new_jobs, e) < 0 ||
        lake_job_list(b->lake, &queued, add_queued, &found, e) < 0)
        return -1;
    if (found.has_remote)
        hosts_set_places(b);
    if (attempt_gangs_look(b, e) < 0)
        return -1;
    return b->n_attempts ? lake_job_list(b->lake, &active, read_stop, b, e) : 0;
}

/* ---- starting ---- */

static int note_id(void *context, const struct lake_job *job, struct err *e)
{
    struct ids *list = context;

    (void)e;
    ids_add(list, job->id);
    return 0;
}

static int resume_all(struct broker *b, struct err *e)
{
    struct lake_job_filter filter = {.states = LAKE_JOB_UNDER_WAY};
    AUTO_CLEAR(ids) struct ids found = {0};
    int result = lake_job_list(b->lake, &filter, note_id, &found, e);

    for (size_t i = 0; result == 0 && i < found.n; i++) {
        struct err why = {0};
        struct attempt *j = attempt_new(b->lake, found.list[i], b->o->home, b->o->agent, &why);
        if (!j && broker_passes(&why)) {
            *e = why;
            return -1;
        }
        if (!j) {
            step_note(b, found.list[i], LAKE_JOB_LOST, why.text);
            continue;
        }
        bool is_unsaved = j->job.state == LAKE_JOB_UNSAVED && attempt_is_here(j);
        if (is_unsaved && !j->job.saves_later) {
            attempt_free(j);
            continue;
        }
        struct queue_job entry;
        hosts_queue_job(&j->job, &j->details, &entry);
        /* A job whose program has ended left its GPUs. */
        if (j->job.state >= LAKE_JOB_STORING) {
            entry.gpus = 0;
            entry.held = NULL;
        }
        if (!is_unsaved)
            queue_adopt(b->queue, &entry);
        if (attempt_resume(b, j, e) < 0) {
            attempt_free(j);
            return -1;
        }
    }
    return result;
}

/* Whether the job left a checkpoint that another one may continue. */
static bool has_checkpoint(const struct lake_job *job)
{
    AUTO_CLEAR(job_details) struct job_details details = {0};

    return job_details_parse(job->asked.details, &details, NULL) == 0 && details.checkpoint_s > 0 &&
           job->state != LAKE_JOB_FINISHED;
}

static int tidy_if_over(void *context, int64_t id, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
    struct broker *b = context;
    struct err why = {0};
    struct lake_job job;

    if (broker_find_attempt(b, id))
        return 0;
    bool is_known = lake_job_load(b->lake, id, arena, &job, &why) == 0;
    bool is_there = is_known;
    if (!is_known && why.kind == ERR_NOTFOUND && lake_job_exists(b->lake, id, &is_there, e) < 0)
        return -1;
    /* Of another project, or not readable now. */
    if (!is_known && (is_there || why.kind != ERR_NOTFOUND))
        return 0;
    if (is_known && job.state == LAKE_JOB_UNSAVED)
        attempt_tidy_unsaved(b->o->home, id, true);
    else
        attempt_tidy(b->o->home, id, is_known && has_checkpoint(&job));
    return 0;
}

/* ---- the loop ---- */

static bool is_idle(const struct broker *b)
{
    return b->n_attempts == 0 && b->n_steps == 0 && !b->stage_ended &&
           queue_waiting(b->queue) == 0 && !control_socket_has_clients(b->socket) &&
           !hosts_busy(b, time_monotonic_ms());
}

/* A job that cannot start now keeps its capacity until the others had their turn, so that others
 * may overtake it. */
static void begin_what_may(struct broker *b)
{
    int64_t not_now[NOT_NOW_MAX], id;
    size_t n = 0;

    while (n < NOT_NOW_MAX && (id = queue_next(b->queue)) > 0)
        if (!attempt_launch(b, id))
            not_now[n++] = id;
    if (n == 0)
        b->unlaunched = 0;
    while (n > 0)
        queue_put_back(b->queue, not_now[--n]);
}

static void stop_what_should(struct broker *b)
{
    for (size_t i = 0; i < b->n_attempts; i++)
        if (b->attempts[i]->stop_wanted)
            attempt_stop(b, b->attempts[i]);
}

static void look_after_all(struct broker *b, int64_t now_ms)
{
    for (size_t i = 0; i < b->n_attempts; i++)
        attempt_look_after(b, b->attempts[i], now_ms);
    hosts_look_after(b, now_ms);
    if (now_ms - b->expired_ms >= EXPIRE_EVERY_MS) {
        b->expired_ms = now_ms;
        checkpoint_expire(b->o->home, time_epoch_ms());
    }
    if (now_ms - b->bounded_ms >= BOUND_LOG_EVERY_MS) {
        b->bounded_ms = now_ms;
        broker_log_bound(b->o->home, STDERR_FILENO);
        lake_reserve_make(b->o->home);
    }
}

static void someone_waits(void *context, int64_t job)
{
    step_tell_end(context, job);
}

/* An attempt whose tags and metrics the lake has not taken yet has to wait. */
static bool is_heard(const struct attempt *j)
{
    return j->state == LIFE_RUNNING && j->n_tags == 0 && j->n_metrics == 0;
}

/* Polls everything that can have news once. */
static void listen_to_all(struct broker *b, int timeout_ms)
{
    size_t n = 0;
    AUTO_MEM struct pollfd *fds =
        mem_zero(CONTROL_SOCKET_CLIENTS_MAX + 3 + b->n_attempts, sizeof *fds);
    AUTO_MEM struct attempt **heard = mem_zero(b->n_attempts + 1, sizeof *heard);
    size_t n_heard = 0;

    fds[n++] = (struct pollfd){.fd = workers_fd(b->workers), .events = POLLIN};
    fds[n++] = (struct pollfd){.fd = b->far ? workers_fd(b->far) : -1, .events = POLLIN};
    for (size_t i = 0; i < b->n_attempts; i++)
        if (is_heard(b->attempts[i])) {
            fds[n++] =
                (struct pollfd){.fd = exec_stream_fd(b->attempts[i]->stream), .events = POLLIN};
            heard[n_heard++] = b->attempts[i];
        }
    size_t n_all = n + control_socket_fds(b->socket, fds + n);
    if (poll(fds, n_all, timeout_ms) <= 0)
        return;
    for (size_t i = 0; i < n_heard; i++)
        if (fds[2 + i].revents)
            attempt_hear(b, heard[i]);
    for (struct task *t; (t = workers_done(b->workers));)
        attempt_continue(b, (struct attempt *)t);
    for (struct task *t; b->far && (t = workers_done(b->far));)
        hosts_continue(b, t);
    struct control_socket_news news = control_socket_hear(b->socket, someone_waits, b);
    b->woken = b->woken || news.woken;
    b->ending = b->ending || news.retire;
}

static int look_if_woken(struct broker *b, int64_t now_ms)
{
    struct err why = {0};

    int64_t every_ms = b->n_attempts ? LOOK_LIVE_MS : LOOK_EVERY_MS;

    if (!b->woken && !b->stage_ended && now_ms - b->looked_ms < every_ms)
        return 0;
    if (look_around(b, &why) < 0) {
        step_note_refused(b, "cannot look into the lake", &why);
        return -1;
    }
    b->woken = b->stage_ended = false;
    b->looked_ms = now_ms;
    return 0;
}

/* A last look, for clients that could not wake the broker. */
static bool is_over(struct broker *b, int64_t now_ms)
{
    b->woken = true;
    if (look_if_woken(b, now_ms) < 0)
        return false;
    b->woken = !is_idle(b); /* there is work: continue at once */
    return !b->woken;
}

/* Time until the next retry. */
static int64_t time_to_retry_ms(const struct broker *b)
{
    int64_t now_ms = time_monotonic_ms(), wait_ms = TICK_MS;

    for (size_t i = 0; i < b->n_attempts; i++)
        if (b->attempts[i]->retry_ms && !b->attempts[i]->work &&
            b->attempts[i]->retry_ms - now_ms < wait_ms)
            wait_ms = b->attempts[i]->retry_ms - now_ms;
    return wait_ms > 0 ? wait_ms : 0;
}

static int time_to_wait_ms(struct broker *b, bool lake_fine)
{
    double gather_s = steps_wait_s(b);
    int doubled = LAKE_RETRY_MS << (b->refused < 6 ? b->refused : 6);

    if (!lake_fine)
        return doubled < LAKE_RETRY_MAX_MS ? doubled : LAKE_RETRY_MAX_MS;
    b->refused = 0;
    if (gather_s > 0)
        return (int)ceil(gather_s * 1000);
    if (b->n_steps || b->stage_ended || b->woken)
        return 0;
    for (size_t i = 0; i < b->n_attempts; i++)
        if (b->attempts[i]->state == LIFE_REPLAYING)
            return 0;
    return (int)time_to_retry_ms(b);
}

static void serve(struct broker *b)
{
    int timeout_ms = 0;

    b->busy_ms = time_monotonic_ms();
    b->expired_ms = b->busy_ms - EXPIRE_EVERY_MS; /* now */
    while (!b->ending && !told_to_end) {
        listen_to_all(b, timeout_ms);
        int64_t now_ms = time_monotonic_ms();
        bool lake_fine = look_if_woken(b, now_ms) == 0;
        look_after_all(b, now_ms);
        stop_what_should(b);
        if (lake_fine)
            begin_what_may(b);
        if (steps_wait_s(b) <= 0)
            lake_fine = steps_settle(b) && lake_fine;
        if (!is_idle(b) || !lake_fine)
            b->busy_ms = now_ms;
        else if ((double)(now_ms - b->busy_ms) >= b->o->idle_s * 1000 && is_over(b, now_ms))
            return;
        timeout_ms = time_to_wait_ms(b, lake_fine);
    }
}

static void broker_clear(struct broker *b)
{
    workers_free(b->workers);
    workers_free(b->far);
    hosts_free(b);
    for (size_t i = 0; i < b->n_attempts; i++)
        attempt_free(b->attempts[i]);
    for (size_t i = 0; i < b->n_steps; i++)
        free(b->steps[i].reason);
    free(b->attempts);
    free(b->steps);
    codefiles_cache_clear(&b->code);
    queue_free(b->queue);
    runs_free(b->runs);
    lake_free(b->lake);
    control_socket_free(b->socket);
}

static int begin(struct broker *b, struct err *e)
{
    AUTO_MEM char *jobs = broker_path(b->o->home, BROKER_JOBS);
    AUTO_MEM char *untidy = broker_path(b->o->home, BROKER_UNTIDY);

    if (file_make_dirs(jobs, 0700, e) < 0 || file_make_dirs(untidy, 0700, e) < 0)
        return -1;
    b->socket = control_socket_open(b->o->home, e);
    if (!b->socket)
        return -1;
    b->lake = b->o->open_lake(e);
    if (!b->lake)
        return -1;
    b->runs = runs_open(b->o->home, e);
    if (!b->runs)
        return -1;
    b->workers = workers_new(WORKERS, b->o->open_lake, e);
    if (!b->workers)
        return -1;
    b->queue = queue_new(1);
    if (read_settings(b, e) < 0)
        return -1;
    queue_set_place(b->queue, "local", b->o->cpus, b->o->memory_mb);
    b->woken = true;
    if (resume_all(b, e) < 0 || hosts_clear_unowned(b, e) < 0)
        return -1;
    return attempt_every_untidy(b->o->home, tidy_if_over, b, e);
}

int broker_serve(const struct broker_options *options, struct err *e)
{
    AUTO_CLEAR(broker) struct broker b = {.o = options};
    struct sigaction on_end = {.sa_handler = note_end};

    umask(077); /* what it keeps of jobs is the owner's alone */
    sigaction(SIGTERM, &on_end, NULL);
    sigaction(SIGINT, &on_end, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (begin(&b, e) < 0)
        return -1;
    if (options->ready_fd >= 0 && file_write_all(options->ready_fd, "ready\n", 6) < 0)
        log_info("broker", "no client waits for the start");
    serve(&b);
    return 0;
}
