/* internal: the state of the broker process, and what its files offer each other. Included by
 * src/broker/daemon only.
 *   broker.c           the main loop: polls, starts jobs, stops jobs
 *   attempt_life.c     drives attempts through the table of broker/core/job_life.c
 *   attempt_outcome.c  results of worker threads and agents as events of that table
 *   attempt_host.c     the host of a job: provisioned, lost, replaced
 *   attempt_gang.c     jobs that start together
 *   attempt_tasks.c    what worker threads do for a job
 *   idle.c             machines that wait for the next job
 *   survey.c           machines that a cloud took away
 *   hosts.c            hosts: slots in the queue, jobs that wait for a host, releases, leases
 *   steps.c            changes of jobs, recorded in the lake together, and their events */
#ifndef BROKER_DAEMON_INTERNAL_H
#define BROKER_DAEMON_INTERNAL_H

#include "broker/core/runs.h"
#include "broker/daemon/attempt.h"
#include "broker/daemon/broker.h"
#include "broker/daemon/control_socket.h"
#include "broker/daemon/queue.h"

/* A change of a job that is to be recorded. */
struct step {
    struct lake_job_change change;
    struct attempt *attempt; /* NULL: the job is not in memory */
    bool awaited;            /* the attempt continues once the change is recorded */
    char *reason;            /* owned; change.reason points to it */
};

/* A job that found no free host: in the queue again at retry_ms. */
struct held {
    int64_t id, priority, retry_ms;
    unsigned times; /* that it was held */
    char *project, *user, *place;
};

/* The release of a host: nothing of its job is left there, and the record of machines says so. */
struct clearing {
    struct task task; /* first: workers give it back */
    const struct broker_options *options;
    struct machine machine; /* the worker's while it is busy */
    char token[65];         /* of the machine */
    int64_t job;            /* that had the machine */
    char reason[200];
    int64_t since_ms, retry_ms;
    unsigned failed; /* times in a row */
    bool is_busy;    /* a worker thread has it */
    bool ends_job;   /* afterwards the job's slot in the queue is free */
    struct err error;
};

/* Renewal of the leases of hosts in use. */
struct renewal {
    struct task task; /* first: workers give it back */
    const struct broker_options *options;
    char (*tokens)[65];
    size_t n;
    double lease_s; /* of machines of clouds */
    int64_t due_ms;
    bool is_busy;
    struct err error;
};

/* A look at machines of clouds whose jobs run: whether the cloud still has them. */
struct survey {
    struct task task; /* first: workers give it back */
    const struct broker_options *options;
    struct surveyed {
        char token[65];
        char reason[400]; /* why it is gone; "" = it is not */
    } * list;
    size_t n;
    int64_t due_ms;
    bool is_busy;
};

/* A machine of a cloud whose job is over, and that waits for another one. */
struct idle {
    struct machine machine;
    struct job_offer offer;
    int64_t until_ms; /* of the clock of days */
    bool is_for_run;  /* it waits for a stage of its run alone */
};

/* Values of the configuration when it was read last. */
struct settings {
    double vcpu_hour_usd, gb_hour_usd; /* price of a job on this machine */
    double lease_s;                    /* of a machine of a cloud */
    double host_lost_s;                /* a host that does not answer for this long is lost */
    uint64_t log_bytes;                /* kept of the log of a job */
};

struct broker {
    const struct broker_options *o;
    struct settings settings;
    struct lake *lake;
    struct control_socket *socket;
    struct workers *workers;
    struct workers *far; /* for hosts: a host that hangs delays no local job; NULL = none yet */
    struct launches *launches; /* made with far */
    struct queue *queue;
    struct runs *runs;
    struct codefiles_cache code;
    struct attempt **attempts;
    size_t n_attempts, cap_attempts;
    struct held *held;
    size_t n_held, cap_held;
    struct clearing **clearings;
    size_t n_clearings, cap_clearings;
    bool has_given_up; /* a launch: machines may be left that nothing releases */
    struct renewal renewal;
    struct survey survey;
    struct idle *idle;
    size_t n_idle, cap_idle;
    struct step *steps;
    size_t n_steps, cap_steps;
    double first_step_s; /* when the oldest of the steps came */
    int64_t last_read;   /* id of the newest job that was read */
    bool woken, ending;
    bool stage_ended; /* a pipeline may continue */
    int64_t busy_ms;  /* when there was last something to do */
    int64_t looked_ms, expired_ms, bounded_ms;
    unsigned refused;    /* writes in a row that the lake refused */
    unsigned unlaunched; /* launches in a row that failed */
};

struct attempt *broker_find_attempt(const struct broker *b, int64_t id);

/* An action, or what the result of a worker thread means: the event that follows at once. */
typedef enum life_event life_fn(struct broker *b, struct attempt *j);

/* ---- steps.c ---- */

/* Of a job that is not in memory. */
void step_note(struct broker *b, int64_t id, enum lake_job_state to, const char *why);
/* awaited: EVENT_RECORDED or EVENT_OVERRULED follows the write. The result holds until the next
 * step. */
struct step *step_add(
    struct broker *b, struct attempt *j, enum lake_job_state to, bool awaited, const char *why);
/* Records all steps in one transaction, then raises their events, whose steps the next call
 * records. False: the lake refused. */
bool steps_settle(struct broker *b);
/* Seconds until the steps have to be written. */
double steps_wait_s(const struct broker *b);
void step_tell_end(struct broker *b, int64_t id);
/* Logs the first refusal, the second, the fourth ...: a disk may stay full for days. */
void step_note_refused(struct broker *b, const char *what, const struct err *why);

/* ---- attempt_life.c ---- */

/* Something happened: looks up the row, enters its state, carries out its action. Afterwards the
 * attempt may be freed. EVENT_NONE: nothing happened. */
void attempt_fire(struct broker *b, struct attempt *j, enum life_event event);
/* Sets the reason of the event, and returns the event. */
enum life_event attempt_because(struct attempt *j, enum life_event event, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The first job of the queue. False: not now, the job goes back to the queue. */
bool attempt_launch(struct broker *b, int64_t id);
/* A job that an earlier broker left running. -1: the records cannot be read now. */
int attempt_resume(struct broker *b, struct attempt *j, struct err *e);
/* A worker thread has done its task. */
void attempt_continue(struct broker *b, struct attempt *j);
/* The agent has news. */
void attempt_hear(struct broker *b, struct attempt *j);
/* Raises the events of time: retries, leases, checkpoints, gangs that are complete. */
void attempt_look_after(struct broker *b, struct attempt *j, int64_t now_ms);
void attempt_stop(struct broker *b, struct attempt *j);
/* No host has the output of the job any more, or ever had. */
bool attempt_is_here(struct attempt *j);
/* The final state is recorded: removes what is left of the job. */
void attempt_finish(struct broker *b, struct attempt *j);
/* Removes the attempt from memory. */
void attempt_forget(struct broker *b, struct attempt *j);

/* ---- attempt_outcome.c ---- */

/* What the result of the last task means. */
life_fn outcome_of_fetch, outcome_of_reach, outcome_of_lease, outcome_of_checkpoint;
life_fn outcome_of_stop, outcome_of_save, outcome_of_store;
/* How the program ended; EVENT_NONE: a worker thread still has the attempt. */
life_fn outcome_of_program;
/* Records the end of the program, in the state that follows from it. */
void outcome_record(struct broker *b, struct attempt *j);
/* What the job has cost, by its hosts or change->runtime_s, with this change. */
void attempt_bill(const struct broker *b, const struct attempt *j, struct lake_job_change *change);

/* ---- attempt_host.c ---- */

/* The host did not answer, for the reason why. True: for too long; else retry_ms is set. */
bool host_is_lost(const struct broker *b, struct attempt *j, const char *why);
/* The event of a lost host: the job is lost, or killed where its user wants that. */
enum life_event host_lost(struct attempt *j, const char *what);
void host_heard(struct attempt *j);
life_fn outcome_of_provision;
/* Records the machine, and what became of the one before. */
void host_record(struct broker *b, struct attempt *j);
/* Another host is to be provisioned; the job never started on the present one. */
void host_replace(struct attempt *j);

/* ---- attempt_gang.c ---- */

/* Every node of the gang has a machine; true of a job without a gang. */
bool attempt_gang_has_machines(struct broker *b, const struct attempt *j);
/* Every node of the gang can start, or has. */
bool attempt_gang_is_prepared(struct broker *b, const struct attempt *j);
/* The gang lacks a machine: EVENT_GANG_FULL for every node that has not started. */
void attempt_gang_wait(struct broker *b, struct attempt *j);
/* Releases the node's machine until the gang asks again. */
void attempt_gang_release(struct broker *b, struct attempt *j);
/* The nodes provision anew with the offers that j has found. */
void attempt_gang_move(struct broker *b, struct attempt *j);
/* Whether all machines are in one region; those that are not are replaced. */
bool attempt_gang_is_together(struct broker *b, struct attempt *j);
/* One node asks for all whether there are machines now. */
life_fn attempt_gang_ask;
/* The answer, of which the events go to all nodes. */
life_fn attempt_gang_answer;
/* Of a gang without a pipeline: a node that ended badly ends the others. */
int attempt_gangs_look(struct broker *b, struct err *e);
/* A job on hosts gets the addresses of its nodes. */
void attempt_gang_tell_hosts(struct broker *b, struct attempt *j);

/* ---- attempt_tasks.c ---- */

/* Hands the attempt to a worker thread, which carries out the action. */
void attempt_give(struct broker *b, struct attempt *j, enum life_action work);

/* ---- survey.c ---- */

/* Asks clouds about the machines of jobs: soon about those of jobs that went silent, and of all of
 * them every five minutes. */
void survey_look_after(struct broker *b, int64_t now_ms);
bool survey_is(const struct task *t);
void survey_continue(struct broker *b, struct task *t);
void survey_free(struct broker *b);

/* ---- idle.c ---- */

/* Keeps the machine of a job that finished, if a stage of its run or its user wants that. */
bool idle_keep(struct broker *b, const struct attempt *j);
/* Hands the attempt, which is about to launch a machine, one that waits. */
void idle_hand_over(struct broker *b, struct attempt *j);
/* Releases those that no job needs any more. */
void idle_look_after(struct broker *b);
void idle_free(struct broker *b);

/* ---- hosts.c ---- */

/* The job as the queue sees it. */
void hosts_queue_job(const struct lake_job *job,
                     const struct job_details *details,
                     struct queue_job *out);
/* The host groups of the configuration become locations of the queue. */
void hosts_set_places(struct broker *b);
/* first_ms doubled `times` times, at most most_ms. */
int64_t hosts_later(int64_t first_ms, unsigned times, int64_t most_ms);
/* Starts the threads for hosts. */
int hosts_ready(struct broker *b, struct err *e);
/* The job waits for a free host, and leaves memory. */
life_fn hosts_hold;
bool hosts_is_held(const struct broker *b, int64_t id);
/* A host, or a machine that waits, is free: jobs that wait for one may try. */
void hosts_wake_held(struct broker *b);
/* The job has a host, or needs none any more. */
void hosts_forget_held(struct broker *b, int64_t id);
/* Releases m. ends_job: the job keeps its slot in the queue until then. */
void hosts_clear(struct broker *b, const struct machine *m, const char *reason, bool ends_job);
/* The first removal of what the job left on a host is in progress: hosts may share their files. */
bool hosts_is_cleared_first(const struct broker *b, int64_t job);
/* The job had hosts and has none to release now: closes its bill. */
void hosts_close_bill(struct broker *b, int64_t job);
/* Releases every recorded host that no job has. */
int hosts_clear_unowned(struct broker *b, struct err *e);
/* Waiting jobs, releases and leases whose time has come. */
void hosts_look_after(struct broker *b, int64_t now_ms);
/* A task of the far workers: a job's, a release, the renewal or the survey. */
void hosts_continue(struct broker *b, struct task *t);
/* The broker stays for work on hosts. */
bool hosts_busy(const struct broker *b, int64_t now_ms);
void hosts_free(struct broker *b);

#endif
