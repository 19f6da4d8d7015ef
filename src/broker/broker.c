#include "broker/broker.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/advance.h"
#include "broker/door.h"
#include "broker/home.h"
#include "broker/live.h"
#include "broker/queue.h"
#include "broker/workers.h"
#include "estimate/provision.h"
#include "lake/restore.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 2
#define TICK_MS 1000
#define GRACE_S 30.0
/* After the lake refused a write: it is tried again, and nothing is begun meanwhile. */
#define LAKE_RETRY_MS 200
#define LAKE_RETRY_MAX_MS 10000
/* News that nothing waits for are written with what comes next, if it comes so soon: a short job's
 * beginning with its end. */
#define GATHER_S 0.01
/* Whoever submits wakes us; one who was killed between the two did not. */
#define LOOK_EVERY_MS 10000
#define UNDER_WAY                                                                                  \
    (1U << LAKE_JOB_LAUNCHING | 1U << LAKE_JOB_FETCHING | 1U << LAKE_JOB_RUNNING |                 \
     1U << LAKE_JOB_STORING)

/* A step of a job that is to be written down, and what it allows afterwards. */
enum follow_up { NOTHING, PREPARE, STORE, FINISH };
struct step {
    struct lake_job_change change;
    struct live *live; /* NULL: there is nothing to do but write */
    enum follow_up then;
    char *reason; /* owned; change.reason points to it */
};

struct broker {
    const struct broker_options *o;
    struct lake *lake;
    struct door *door;
    struct workers *workers;
    struct queue *queue;
    struct runs *runs;
    struct live **live;
    size_t n_live, cap_live;
    struct step *steps;
    size_t n_steps, cap_steps;
    double first_step_s; /* when the oldest of them came */
    int64_t last_seen;   /* id of the newest job that was read */
    bool woken, ending;
    bool stage_ended; /* a pipeline may go on */
    int64_t busy_ms;  /* when there was last something to do */
    int64_t looked_ms;
    unsigned refused; /* how often in a row the lake took nothing */
};

/* A signal handler has no other way to leave word. */
static volatile sig_atomic_t told_to_end;

static void note_end(int number)
{
    (void)number;
    told_to_end = 1;
}

/* ---- steps ---- */

static struct step *note_step(struct broker *b, int64_t id, enum lake_job_state to, const char *why)
{
    if (b->n_steps == 0)
        b->first_step_s = time_monotonic_s();
    b->steps = mem_room(b->steps, b->n_steps, &b->cap_steps, sizeof *b->steps);
    struct step *s = &b->steps[b->n_steps++];
    *s = (struct step){.reason = mem_dup(why)};
    s->change = (struct lake_job_change){.id = id, .to = to, .reason = s->reason, .runtime_s = -1};
    return s;
}

static struct step *add_step(
    struct broker *b, struct live *j, enum lake_job_state to, enum follow_up then, const char *why)
{
    struct step *s = note_step(b, j->job.id, to, why);

    s->live = j;
    s->then = then;
    return s;
}

static void end_job(struct broker *b, struct live *j, enum lake_job_state to, const char *why)
{
    j->phase = LIVE_OVER;
    queue_free_room(b->queue, j->job.id);
    add_step(b, j, to, FINISH, why);
}

/* ---- new jobs, asked stops ---- */

static int see_queued(void *context, const struct lake_job *job, struct err *e)
{
    struct broker *b = context;

    (void)e;
    b->last_seen = job->id;
    queue_add(b->queue, &(struct queue_job){.id = job->id,
                                            .project = job->project,
                                            .user = job->user,
                                            .place = "local",
                                            .priority = job->asked.priority,
                                            .cpus = job->asked.cpus,
                                            .memory_mb = job->asked.memory_mb});
    return 0;
}

static struct live *find_live(const struct broker *b, int64_t id)
{
    for (size_t i = 0; i < b->n_live; i++)
        if (b->live[i]->job.id == id)
            return b->live[i];
    return NULL;
}

static int see_under_way(void *context, const struct lake_job *job, struct err *e)
{
    struct live *j = find_live(context, job->id);

    (void)e;
    if (j && job->stop_asked)
        j->stop_wanted = true;
    return 0;
}

static int look_around(struct broker *b, struct err *e)
{
    bool new_jobs;
    struct lake_job_filter queued = {.states = 1U << LAKE_JOB_QUEUED, .after = b->last_seen};
    struct lake_job_filter active = {.states = UNDER_WAY};

    if (runs_advance_all(b->runs, b->lake, &new_jobs, e) < 0 ||
        lake_job_list(b->lake, &queued, see_queued, b, e) < 0)
        return -1;
    return b->n_live ? lake_job_list(b->lake, &active, see_under_way, b, e) : 0;
}

/* ---- the life of a job ---- */

static void add_live(struct broker *b, struct live *j)
{
    b->live = mem_room(b->live, b->n_live, &b->cap_live, sizeof *b->live);
    b->live[b->n_live++] = j;
}

/* Trouble of the machine or the lake, not of the job. */
static bool passes(const struct err *why)
{
    return why->kind == ERR_RETRY || why->kind == ERR_IO;
}

/* False: not now. */
static bool launch(struct broker *b, int64_t id)
{
    struct err why = {0};
    struct live *j = live_new(b->lake, id, b->o->home, b->o->agent, &why);

    if (!j && passes(&why)) {
        log_warn("broker", "job %" PRId64 " cannot be read now: %s", id, why.text);
        queue_put_back(b->queue, id);
        return false;
    }
    if (!j) {
        queue_done(b->queue, id);
        note_step(b, id, LAKE_JOB_FAILED, why.text);
        return true;
    }
    add_live(b, j);
    add_step(b, j, LAKE_JOB_LAUNCHING, NOTHING, "");
    add_step(b, j, LAKE_JOB_FETCHING, PREPARE, "")->change.machine = "local";
    return true;
}

static void prepare_task(struct task *t, struct lake *l)
{
    struct live *j = (struct live *)t;

    j->trouble = (struct err){0};
    live_prepare(j, l, &j->trouble);
}

static void store_task(struct task *t, struct lake *l)
{
    struct live *j = (struct live *)t;
    AUTO_MEM char *directory = broker_job_path(j->home, j->job.id, "output");
    struct lake_job_change change = {
        .id = j->job.id, .to = LAKE_JOB_FINISHED, .reason = "", .runtime_s = -1};

    j->trouble = (struct err){0};
    if (!l)
        err_set(&j->trouble, ERR_RETRY, "the lake cannot be opened");
    else if (j->details.restores[0])
        lake_job_restore(l, &change, directory, j->details.restores, NULL, &j->trouble);
    else
        lake_job_store(l, &change, directory, NULL, &j->trouble);
}

static void start_agent(struct broker *b, struct live *j)
{
    struct err why = {0};

    if (j->stop_wanted)
        end_job(b, j, LAKE_JOB_KILLED, "stopped before it ran");
    else if (live_follow(j, true, &why) < 0)
        end_job(b, j, LAKE_JOB_FAILED, why.text);
}

static void prepare(struct broker *b, struct live *j)
{
    /* Nothing to fetch: done here, which takes less than a thread's wake. */
    if (!j->job.asked.input && !j->job.asked.code) {
        struct err why = {0};
        if (live_prepare(j, NULL, &why) < 0)
            end_job(b, j, LAKE_JOB_FAILED, why.text);
        else
            start_agent(b, j);
        return;
    }
    j->phase = LIVE_PREPARING;
    j->task.work = prepare_task;
    workers_do(b->workers, &j->task);
}

static void store(struct broker *b, struct live *j)
{
    j->phase = LIVE_STORING;
    j->task.work = store_task;
    workers_do(b->workers, &j->task);
}

/* A rehearsed stage at the price of the machine it was planned for, any other job by its size. */
static void price(const struct broker *b, const struct live *j, struct lake_job_change *change)
{
    double planned = j->details.price_usd_per_hour;
    const struct provision_prices prices = {.vcpu_hour_usd = b->o->vcpu_hour_usd,
                                            .gb_hour_usd = b->o->gb_hour_usd};

    if (planned > 0) {
        change->cost_microusd = money_from_usd(planned * change->runtime_s / 3600);
        change->cost_basis = "planned machine";
        return;
    }
    change->cost_microusd = provision_cost_microusd(
        &prices, j->job.asked.cpus, (double)j->job.asked.memory_mb, change->runtime_s);
    change->cost_basis = "unit prices";
}

/* Its agent told everything. */
static void conclude(struct broker *b, struct live *j)
{
    char reason[LIVE_REASON];
    struct lake_job_change outcome = {.reason = reason};

    live_outcome(j, &outcome);
    queue_free_room(b->queue, j->job.id);
    bool stores = outcome.to == LAKE_JOB_STORING && j->job.asked.output;
    struct step *s = add_step(b, j, outcome.to, stores ? STORE : FINISH, reason);
    outcome.reason = s->reason;
    if (outcome.runtime_s >= 0)
        price(b, j, &outcome);
    s->change = outcome;
    if (outcome.to == LAKE_JOB_STORING && !stores) {
        s->then = NOTHING;
        add_step(b, j, LAKE_JOB_FINISHED, FINISH, "");
    }
}

static void hear(struct broker *b, struct live *j)
{
    bool had_started = j->started;
    enum live_phase phase = live_hear(j);

    if (j->started && !had_started)
        add_step(b, j, LAKE_JOB_RUNNING, NOTHING, "")->change.limits = j->beginning.text;
    if (phase == LIVE_OVER)
        conclude(b, j);
}

/* A pipeline's second Ctrl-C means now. */
static double grace_s(struct broker *b, const struct live *j)
{
    unsigned how = 1;
    struct err why = {0};

    if (j->job.asked.run && runs_stop_asked(b->runs, j->job.asked.run, &how, &why) < 0)
        log_warn("broker", "run %" PRId64 ": %s", j->job.asked.run, why.text);
    return how > 1 ? 0 : GRACE_S;
}

static void stop(struct broker *b, struct live *j)
{
    double grace = grace_s(b, j);
    struct err why = {0};

    if (j->stop_sent && grace >= j->stop_grace_s)
        return;

    if (j->phase == LIVE_STORING && !j->stop_sent) {
        /* Whichever is written first, this or what is stored, wins; a worker still has it. */
        add_step(b, j, LAKE_JOB_KILLED, NOTHING, "stopped while its output was stored");
        j->stop_sent = true;
    } else if (j->phase == LIVE_FOLLOWED || j->phase == LIVE_CUT_OFF) {
        j->stop_sent = exec_stop(&j->host, j->job.id, grace, "stopped by its user", &why) == 0;
        j->stop_grace_s = grace;
        if (!j->stop_sent)
            log_warn("broker", "job %" PRId64 " cannot be stopped yet: %s", j->job.id, why.text);
    }
}

/* A worker has done its part. */
static void continue_after_task(struct broker *b, struct live *j)
{
    bool prepared = j->phase == LIVE_PREPARING;

    if (j->trouble.kind == ERR_RETRY) {
        live_try_later(j);
        return;
    }
    j->broken = 0;
    if (j->trouble.kind != ERR_NONE) {
        AUTO_MEM char *why = mem_printf("%s: %s", prepared ? "input" : "output", j->trouble.text);
        end_job(b, j, LAKE_JOB_FAILED, why);
    } else if (prepared) {
        start_agent(b, j);
    } else {
        /* Written down already, with what was stored: this changes nothing. */
        end_job(b, j, LAKE_JOB_FINISHED, "");
    }
}

/* ---- writing down ---- */

static void finish(struct broker *b, struct live *j)
{
    b->stage_ended = b->stage_ended || j->job.asked.run;
    queue_done(b->queue, j->job.id);
    live_tidy(j->home, j->job.id);
    for (size_t i = 0; i < b->n_live; i++)
        if (b->live[i] == j) {
            b->live[i] = b->live[--b->n_live];
            break;
        }
    live_free(j);
}

static int tell_state(void *context, const struct lake_job *job, struct err *e)
{
    struct broker *b = context;

    (void)e;
    if (lake_job_state_final(job->state))
        door_tell(b->door, job->id, lake_job_state_text(job->state));
    return 0;
}

static void tell_end(struct broker *b, int64_t id)
{
    struct err why = {0};

    if (door_is_awaited(b->door, id) && lake_job_get(b->lake, id, tell_state, b, &why) < 0)
        log_warn("broker", "job %" PRId64 ": %s", id, why.text);
}

static void act(struct broker *b, const struct step *s)
{
    int64_t id = s->change.id;

    if (s->then == PREPARE && s->change.applied) {
        prepare(b, s->live);
    } else if (s->then == STORE) {
        store(b, s->live);
    } else if (s->then != NOTHING || !s->live) {
        /* Over, or killed while it was still queued. */
        if (s->live)
            finish(b, s->live);
        tell_end(b, id);
    }
}

static int keep_told(struct broker *b, struct err *e)
{
    for (size_t i = 0; i < b->n_live; i++)
        if ((b->live[i]->n_tags || b->live[i]->n_metrics) &&
            live_keep_told(b->live[i], b->lake, e) < 0)
            return -1;
    return 0;
}

static int write_steps(struct broker *b, struct err *e)
{
    AUTO_MEM struct lake_job_change *changes = mem_zero(b->n_steps + 1, sizeof *changes);

    if (keep_told(b, e) < 0)
        return -1;
    for (size_t i = 0; i < b->n_steps; i++)
        changes[i] = b->steps[i].change;
    if (b->n_steps && lake_job_step(b->lake, changes, b->n_steps, e) < 0)
        return -1;
    for (size_t i = 0; i < b->n_steps; i++)
        b->steps[i].change.applied = changes[i].applied;
    return 0;
}

/* Told at the first time, the second, the fourth ...: a disk may stay full for days. */
static void note_refused(struct broker *b, const char *what, const struct err *why)
{
    if ((b->refused & (b->refused - 1)) == 0)
        log_warn("broker", "%s; trying again: %s", what, why->text);
    b->refused++;
}

/* Everything that happened, in one transaction; what it allows begins behind it. What begins may
 * bring steps of its own: the next round writes those. */
static bool settle(struct broker *b)
{
    struct err why = {0};

    if (write_steps(b, &why) < 0) {
        note_refused(b, "the lake does not take what happened", &why);
        return false;
    }
    struct step *done = TAKE(b->steps);
    size_t n = b->n_steps;
    b->n_steps = b->cap_steps = 0;
    /* Who begins goes first: clearing up after others goes on beside it. */
    for (size_t i = 0; i < n; i++)
        if (done[i].then == PREPARE)
            act(b, &done[i]);
    for (size_t i = 0; i < n; i++)
        if (done[i].then != PREPARE)
            act(b, &done[i]);
    for (size_t i = 0; i < n; i++)
        free(done[i].reason);
    free(done);
    return true;
}

/* Seconds until the steps have to be written. */
static double time_to_gather_s(const struct broker *b)
{
    for (size_t i = 0; i < b->n_steps; i++)
        if (b->steps[i].then != NOTHING || !b->steps[i].live)
            return 0;
    for (size_t i = 0; i < b->n_live; i++)
        if (b->live[i]->n_tags || b->live[i]->n_metrics)
            return 0;
    return b->n_steps ? fmax(b->first_step_s + GATHER_S - time_monotonic_s(), 0) : 0;
}

/* ---- starting ---- */

/* What an earlier broker left under way. */
static void resume(struct broker *b, struct live *j)
{
    struct err why = {0};

    live_forget_warnings(j);
    if (j->job.state == LAKE_JOB_STORING && j->job.asked.output) {
        store(b, j);
    } else if (j->job.state == LAKE_JOB_STORING) {
        end_job(b, j, LAKE_JOB_FINISHED, "");
    } else if (live_was_begun(j) || j->job.state == LAKE_JOB_RUNNING) {
        j->started = j->job.state == LAKE_JOB_RUNNING;
        live_follow(j, false, &why);
    } else if (live_is_prepared(j)) {
        /* Its agent may be about to start, even if it is to be stopped. */
        if (live_follow(j, true, &why) < 0)
            end_job(b, j, LAKE_JOB_FAILED, why.text);
    } else if (j->job.state == LAKE_JOB_LAUNCHING) {
        add_step(b, j, LAKE_JOB_FETCHING, PREPARE, "")->change.machine = "local";
    } else {
        prepare(b, j);
    }
}

struct ids {
    int64_t *ids;
    size_t n, cap;
};

static int note_id(void *context, const struct lake_job *job, struct err *e)
{
    struct ids *list = context;

    (void)e;
    list->ids = mem_room(list->ids, list->n, &list->cap, sizeof *list->ids);
    list->ids[list->n++] = job->id;
    return 0;
}

static int resume_all(struct broker *b, struct err *e)
{
    struct lake_job_filter filter = {.states = UNDER_WAY};
    struct ids found = {0};
    int result = lake_job_list(b->lake, &filter, note_id, &found, e);
    AUTO_MEM int64_t *ids = found.ids;

    for (size_t i = 0; result == 0 && i < found.n; i++) {
        struct err why = {0};
        struct live *j = live_new(b->lake, ids[i], b->o->home, b->o->agent, &why);
        if (!j && passes(&why)) {
            *e = why;
            return -1;
        }
        if (!j) {
            note_step(b, ids[i], LAKE_JOB_LOST, why.text);
            continue;
        }
        add_live(b, j);
        queue_adopt(b->queue, &(struct queue_job){.id = j->job.id,
                                                  .project = j->job.project,
                                                  .user = j->job.user,
                                                  .place = "local",
                                                  .cpus = j->job.asked.cpus,
                                                  .memory_mb = j->job.asked.memory_mb});
        resume(b, j);
    }
    return result;
}

static int tidy_if_over(void *context, int64_t id, struct err *e)
{
    const struct broker *b = context;

    (void)e;
    if (!find_live(b, id))
        live_tidy(b->o->home, id);
    return 0;
}

/* ---- the loop ---- */

static bool is_idle(const struct broker *b)
{
    return b->n_live == 0 && b->n_steps == 0 && !b->stage_ended && queue_waiting(b->queue) == 0 &&
           !door_has_guests(b->door);
}

static void begin_what_may(struct broker *b)
{
    int64_t id;

    while ((id = queue_next(b->queue)) > 0 && launch(b, id))
        ;
}

static void stop_what_should(struct broker *b)
{
    for (size_t i = 0; i < b->n_live; i++)
        if (b->live[i]->stop_wanted)
            stop(b, b->live[i]);
}

static void try_again(struct broker *b, int64_t now_ms)
{
    for (size_t i = 0; i < b->n_live; i++) {
        struct live *j = b->live[i];
        struct err why = {0};
        if (j->retry_ms == 0 || now_ms < j->retry_ms)
            continue;
        if (j->phase == LIVE_PREPARING || j->phase == LIVE_STORING) {
            j->retry_ms = 0;
            workers_do(b->workers, &j->task);
        } else if (j->phase == LIVE_CUT_OFF && live_follow(j, !j->started, &why) < 0) {
            end_job(b, j, LAKE_JOB_FAILED, why.text);
        }
    }
}

static void someone_waits(void *context, int64_t job)
{
    tell_end(context, job);
}

/* One that told more than the lake takes now has to wait. */
static bool is_heard(const struct live *j)
{
    return j->phase == LIVE_FOLLOWED && j->n_tags == 0 && j->n_metrics == 0;
}

/* One look at everything that can have news. */
static void listen_to_all(struct broker *b, int timeout_ms)
{
    size_t n = 0;
    AUTO_MEM struct pollfd *fds = mem_zero(DOOR_GUESTS_MAX + 2 + b->n_live, sizeof *fds);
    AUTO_MEM struct live **heard = mem_zero(b->n_live + 1, sizeof *heard);
    size_t n_heard = 0;

    fds[n++] = (struct pollfd){.fd = workers_fd(b->workers), .events = POLLIN};
    for (size_t i = 0; i < b->n_live; i++)
        if (is_heard(b->live[i])) {
            fds[n++] = (struct pollfd){.fd = exec_stream_fd(b->live[i]->stream), .events = POLLIN};
            heard[n_heard++] = b->live[i];
        }
    size_t n_all = n + door_fds(b->door, fds + n);
    if (poll(fds, n_all, timeout_ms) <= 0)
        return;
    for (size_t i = 0; i < n_heard; i++)
        if (fds[1 + i].revents)
            hear(b, heard[i]);
    for (struct task *t; (t = workers_done(b->workers));)
        continue_after_task(b, (struct live *)t);
    struct door_news news = door_hear(b->door, someone_waits, b);
    b->woken = b->woken || news.woken;
    b->ending = b->ending || news.retire;
}

static int look_if_woken(struct broker *b, int64_t now_ms)
{
    struct err why = {0};

    if (!b->woken && !b->stage_ended && now_ms - b->looked_ms < LOOK_EVERY_MS)
        return 0;
    if (look_around(b, &why) < 0) {
        note_refused(b, "cannot look into the lake", &why);
        return -1;
    }
    b->woken = b->stage_ended = false;
    b->looked_ms = now_ms;
    return 0;
}

/* A last look, for who could not wake us. */
static bool is_over(struct broker *b, int64_t now_ms)
{
    b->woken = true;
    if (look_if_woken(b, now_ms) < 0)
        return false;
    b->woken = !is_idle(b); /* it found something: goes on at once */
    return !b->woken;
}

static int time_to_wait_ms(struct broker *b, bool lake_fine)
{
    double gather_s = time_to_gather_s(b);
    int doubled = LAKE_RETRY_MS << (b->refused < 6 ? b->refused : 6);

    if (!lake_fine)
        return doubled < LAKE_RETRY_MAX_MS ? doubled : LAKE_RETRY_MAX_MS;
    b->refused = 0;
    if (gather_s > 0)
        return (int)ceil(gather_s * 1000);
    return b->n_steps || b->stage_ended || b->woken ? 0 : TICK_MS;
}

static void serve(struct broker *b)
{
    int timeout_ms = 0;

    b->busy_ms = time_epoch_ms();
    while (!b->ending && !told_to_end) {
        listen_to_all(b, timeout_ms);
        int64_t now_ms = time_epoch_ms();
        bool lake_fine = look_if_woken(b, now_ms) == 0;
        try_again(b, now_ms);
        stop_what_should(b);
        if (lake_fine)
            begin_what_may(b);
        if (time_to_gather_s(b) <= 0)
            lake_fine = settle(b) && lake_fine;
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
    for (size_t i = 0; i < b->n_live; i++)
        live_free(b->live[i]);
    for (size_t i = 0; i < b->n_steps; i++)
        free(b->steps[i].reason);
    free(b->live);
    free(b->steps);
    queue_free(b->queue);
    runs_free(b->runs);
    lake_free(b->lake);
    door_free(b->door);
}

static int begin(struct broker *b, struct err *e)
{
    AUTO_MEM char *jobs = broker_jobs_path(b->o->home);
    AUTO_MEM char *untidy = broker_untidy_path(b->o->home);

    if (file_make_dirs(jobs, 0700, e) < 0 || file_make_dirs(untidy, 0700, e) < 0)
        return -1;
    b->door = door_open(b->o->home, e);
    if (!b->door)
        return -1;
    b->lake = b->o->open_lake(b->o->context, e);
    if (!b->lake)
        return -1;
    b->runs = runs_open(b->o->home, e);
    if (!b->runs)
        return -1;
    b->workers = workers_new(WORKERS, b->o->open_lake, b->o->context, e);
    if (!b->workers)
        return -1;
    b->queue = queue_new(b->o->jobs_per_user);
    queue_set_place(b->queue, "local", b->o->cpus, b->o->memory_mb);
    b->woken = true;
    if (resume_all(b, e) < 0)
        return -1;
    return live_every_untidy(b->o->home, tidy_if_over, b, e);
}

int broker_serve(const struct broker_options *options, struct err *e)
{
    AUTO_CLEAR(broker) struct broker b = {.o = options};
    struct sigaction on_end = {.sa_handler = note_end};

    sigaction(SIGTERM, &on_end, NULL);
    sigaction(SIGINT, &on_end, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (begin(&b, e) < 0)
        return -1;
    if (options->ready_fd >= 0 && file_write_all(options->ready_fd, "ready\n", 6) < 0)
        log_info("broker", "nobody waits for the start");
    serve(&b);
    return 0;
}
