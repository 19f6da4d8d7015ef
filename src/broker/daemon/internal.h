/* internal: the state of the broker process, and what its files offer each other. Included by
 * src/broker/daemon only.
 *   broker.c        the main loop: polls, starts jobs, stops jobs
 *   job.c           the life of one job, on this machine or on a host
 *   job_host.c      the host of a job: found, lost, replaced
 *   job_tasks.c     what worker threads do for a job
 *   job_gang.c      jobs that start together
 *   job_resume.c    jobs that an earlier broker left running
 *   job_bill.c      the cost of a job
 *   hosts.c         hosts: slots in the queue, jobs that wait for a host, releases, leases
 *   steps.c         changes of jobs, committed to the lake together, and what they allow */
#ifndef BROKER_DAEMON_INTERNAL_H
#define BROKER_DAEMON_INTERNAL_H

#include "broker/core/runs.h"
#include "broker/daemon/attempt.h"
#include "broker/daemon/broker.h"
#include "broker/daemon/control_socket.h"
#include "broker/daemon/queue.h"
#include "broker/daemon/workers.h"

/* What a step allows once it is written. */
enum step_then {
    STEP_NOTHING,
    STEP_RENT,
    STEP_PREPARE,
    STEP_STORE,
    STEP_HOLD, /* queued again, for a host that is free */
    STEP_FINISH,
};

/* A step of a job that is to be written down, and what it allows afterwards. */
struct step {
    struct lake_job_change change;
    struct attempt *attempt; /* NULL: there is nothing to do but write */
    enum step_then then;
    char *reason; /* owned; change.reason points to it */
};

/* A job that found no free host: in the queue again at retry_ms. */
struct held {
    int64_t id, priority, retry_ms;
    unsigned times; /* that it was held */
    char *project, *user, *place;
};

/* A host that nobody needs any more, until nothing of the job is left there and it is given back.
 */
struct clearing {
    struct task task; /* first: workers give it back */
    const struct broker_options *options;
    struct machine machine; /* the worker's while it is busy */
    char token[65];         /* of the machine */
    int64_t job;            /* that had it */
    char reason[200];
    int64_t since_ms, retry_ms;
    unsigned failed; /* times in a row */
    bool is_busy;    /* a worker has it */
    bool ends_job;   /* whose place in the queue is free then */
    struct err trouble;
};

/* Leases of hosts in use. */
struct renewal {
    struct task task; /* first: workers give it back */
    const struct broker_options *options;
    char (*tokens)[65];
    size_t n;
    int64_t due_ms;
    bool is_busy;
    struct err trouble;
};

/* Of the configuration, as it was when the broker last looked around. */
struct settings {
    double vcpu_hour_usd, gb_hour_usd; /* what a job here would cost */
    double host_lost_s;                /* a host that does not answer for so long is given up */
};

struct broker {
    const struct broker_options *o;
    struct settings settings;
    struct lake *lake;
    struct control_socket *socket;
    struct workers *workers;
    struct workers *far; /* for hosts, so that one that hangs stalls nobody here; NULL = none yet */
    struct queue *queue;
    struct runs *runs;
    struct attempt **attempts;
    size_t n_attempts, cap_attempts;
    struct held *held;
    size_t n_held, cap_held;
    struct clearing **clearings;
    size_t n_clearings, cap_clearings;
    struct renewal renewal;
    struct step *steps;
    size_t n_steps, cap_steps;
    double first_step_s; /* when the oldest of them came */
    int64_t last_seen;   /* id of the newest job that was read */
    bool woken, ending;
    bool stage_ended; /* a pipeline may go on */
    int64_t busy_ms;  /* when there was last something to do */
    int64_t looked_ms, expired_ms, bounded_ms;
    unsigned refused;    /* how often in a row the lake took nothing */
    unsigned unlaunched; /* how often in a row a job could not begin */
};

/* Trouble of the machine or the lake, not of the job. */
bool broker_passes(const struct err *why);
struct attempt *broker_find_attempt(const struct broker *b, int64_t id);

/* ---- broker_steps.c ---- */

struct step *step_note(struct broker *b, int64_t id, enum lake_job_state to, const char *why);
struct step *step_add(struct broker *b,
                      struct attempt *j,
                      enum lake_job_state to,
                      enum step_then then,
                      const char *why);
/* Its last one: nothing more is done about it. */
void step_end(struct broker *b, struct attempt *j, enum lake_job_state to, const char *why);
/* Everything that happened, in one transaction; what it allows begins behind it. What begins may
 * bring steps of its own: the next round writes those. False: the lake took nothing. */
bool steps_settle(struct broker *b);
/* Seconds until the steps have to be written. */
double steps_wait_s(const struct broker *b);
void step_tell_end(struct broker *b, int64_t id);
/* Told at the first time, the second, the fourth ...: a disk may stay full for days. */
void step_note_refused(struct broker *b, const char *what, const struct err *why);

/* ---- broker_job.c ---- */

/* The first of the queue. False: not now, it is to be put back. */
bool job_launch(struct broker *b, int64_t id);
void job_add(struct broker *b, struct attempt *j);
void job_prepare(struct broker *b, struct attempt *j);
void job_store(struct broker *b, struct attempt *j);
/* A worker has done its part. */
void job_continue(struct broker *b, struct attempt *j);
/* Its agent has news. */
void job_hear(struct broker *b, struct attempt *j);
/* Its time has come: what was to be tried again, what is done now and then. */
void job_look_after(struct broker *b, struct attempt *j, int64_t now_ms);
void job_stop(struct broker *b, struct attempt *j);
/* Others may have its place now; a host has to be cleared first. */
void job_free_room(struct broker *b, const struct attempt *j);
/* Its last step is written: clears up after it. */
void job_finish(struct broker *b, struct attempt *j);
/* Nothing of it stays in memory. */
void job_forget(struct broker *b, struct attempt *j);

/* ---- broker_rent.c ---- */

/* Its host did not answer, for the reason why. True: for too long; else it is tried again. */
bool rent_is_lost(const struct broker *b, struct attempt *j, const char *why);
/* After that: the job ends, lost, or killed where its user wants that. */
void rent_give_up(struct broker *b, struct attempt *j, const char *what);
void rent_heard(struct attempt *j);
/* ATTEMPT_RENT is done. False: the job waits for a host, and is not live any more. */
bool rent_done(struct broker *b, struct attempt *j);
/* It has a host: written down once others of its gang have theirs, too; until then it may be given
 * back. */
void rent_record(struct broker *b, struct attempt *j);
/* It was never started there: another host will do as well. */
void rent_other(struct broker *b, struct attempt *j);
/* Another home took its host before the job was there. */
void rent_leave(struct broker *b, struct attempt *j, const char *why);

/* ---- broker_bill.c ---- */

/* What the job has cost, by its hosts or change->runtime_s, with this change. */
void job_bill(const struct broker *b, const struct attempt *j, struct lake_job_change *change);

/* ---- broker_gang.c ---- */

/* All nodes of its gang know where they will run; true of a job that is in none. */
bool gang_has_machines(struct broker *b, const struct attempt *j);
/* All nodes of its gang can start, or have. */
bool gang_is_prepared(struct broker *b, const struct attempt *j);
/* There is no machine for this one now: those of the others are given back, and all ask again
 * together. */
void gang_wait(struct broker *b, struct attempt *j);
/* The same for one whose machine came after that. */
void gang_give_back(struct broker *b, struct attempt *j);
/* The time that it waited is over: one node asks for all whether there are machines now. */
void gang_ask(struct broker *b, struct attempt *j);
/* The answer: all rent, or all wait on. */
void gang_answer(struct broker *b, struct attempt *j);
/* A stage on hosts is told the addresses of its nodes. */
void gang_tell_hosts(struct broker *b, struct attempt *j);

/* ---- broker_tasks.c, broker_resume.c ---- */

/* Hands it to a worker. */
void job_give(struct broker *b, struct attempt *j, enum attempt_work work);
/* What an earlier broker left under way. -1: it cannot be told now. */
int job_resume(struct broker *b, struct attempt *j, struct err *e);

/* ---- broker_hosts.c ---- */

/* Its place in the queue, and the room it takes there. */
void hosts_queue_job(const struct lake_job *job,
                     const struct job_details *details,
                     struct queue_job *out);
/* The groups of the configuration become places of the queue. */
void hosts_set_places(struct broker *b);
/* first_ms doubled so many times, at most most_ms. */
int64_t hosts_later(int64_t first_ms, unsigned times, int64_t most_ms);
/* Threads for hosts. */
int hosts_ready(struct broker *b, struct err *e);
/* The job waits for a free host, and is not live any more. */
void hosts_hold(struct broker *b, struct attempt *j);
bool hosts_is_held(const struct broker *b, int64_t id);
/* It has one, or needs none any more. */
void hosts_forget_held(struct broker *b, int64_t id);
/* m is not needed any more. ends_job: its job has its place in the queue until then. */
void hosts_clear(struct broker *b, const struct machine *m, const char *reason, bool ends_job);
/* What the job had on a host before is being removed, for the first time: hosts may share their
 * files. */
bool hosts_is_cleared_first(const struct broker *b, int64_t job);
/* The job had hosts, and has none to give back now: its bill can be closed. */
void hosts_close_bill(struct broker *b, int64_t job);
/* Every host by the records that no job here has. */
int hosts_clear_unowned(struct broker *b, struct err *e);
/* Waiting jobs, clearings and leases whose time has come. */
void hosts_look_after(struct broker *b, int64_t now_ms);
/* A task of the far workers: a job's, a clearing or the renewal. */
void hosts_continue(struct broker *b, struct task *t);
/* Something is still to be done about hosts that is worth waiting for. */
bool hosts_busy(const struct broker *b, int64_t now_ms);
void hosts_free(struct broker *b);

#endif
