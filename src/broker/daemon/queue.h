/* queue: the order in which jobs start. Pure.
 *
 * Each (project, user) has a first-in-first-out line. Within a line only jobs for the same location
 * wait for each other: a job for this machine does not wait behind a job for a host group that is
 * full. Of the users whose first job can start, the user with the fewest running jobs goes first,
 * then the user served longest ago: a long line delays its own user alone. Jobs may overtake a job
 * that does not fit now, but not for ever. A gang counts as one job as large as all its nodes.
 *
 * Jobs that may get the same GPUs have lines of their own: no other job waits because one of these
 * is taken. */
#ifndef BROKER_DAEMON_QUEUE_H
#define BROKER_DAEMON_QUEUE_H

#include "base/auto.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue;

/* jobs_per_user: most jobs of one line that run at once, at least 1. */
struct queue *queue_new(unsigned jobs_per_user);
/* Holds for jobs that start from now on. */
void queue_set_jobs_per_user(struct queue *q, unsigned jobs_per_user);
void queue_free(struct queue *q);
AUTO_DEFINE(queue)

/* The capacity of a location whose jobs share it. A location without a capacity has no bounds; a
 * new capacity holds for jobs that start from now on. */
void queue_set_place(struct queue *q, const char *name, double cpus, uint64_t memory_mb);

struct queue_job {
    int64_t id; /* each once */
    const char *project, *user, *place;
    int64_t priority; /* higher goes first within a line */
    double cpus;
    uint64_t memory_mb;
    /* The gang of the job; NULL or "" = none. A gang joins the line when all its nodes are here,
     * starts with all of them at once, and counts as one job of its user. A node that comes after
     * the first one started follows at once. */
    const char *gang;
    unsigned nodes;
    /* GPUs of one type that it holds while it runs (a node of a gang: each), of these: texts as in
     * broker/core/gpus.h. 0 = none. */
    unsigned gpus;
    const char *const *devices;
    size_t n_devices;
    const char *held; /* of a job that runs already: "nvidia:0,nvidia:1"; NULL or "" = none */
};
void queue_add(struct queue *q, const struct queue_job *job);
/* A job that runs already, started by an earlier broker. */
void queue_adopt(struct queue *q, const struct queue_job *job);

/* The job that starts now, takes its capacity and counts as running. 0 = none can. */
int64_t queue_next(struct queue *q);
/* The GPUs that a job which was started holds, "nvidia:0,nvidia:1"; "" = none. Borrowed until the
 * job changes. */
const char *queue_held(const struct queue *q, int64_t id);
/* The job could not start: its capacity is free, and the job is the first of its line again. A node
 * of a gang keeps its capacity, and is the next to start. */
void queue_put_back(struct queue *q, int64_t id);
/* The job's capacity is free again; the job still counts for its user. Repeatable. */
void queue_free_room(struct queue *q, int64_t id);
/* The job is over, in whatever state it was. Unknown ids are fine. */
void queue_done(struct queue *q, int64_t id);

/* A gang in line counts once, an incomplete gang not at all. */
size_t queue_waiting(const struct queue *q);
size_t queue_active(const struct queue *q);

#endif
