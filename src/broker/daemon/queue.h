/* queue: which job starts next. Pure.
 *
 * One line per (project, user), first in first out, in which only those stand in each other's way
 * that want to the same place: a job for this machine does not wait behind one for a host group
 * that is full. Of the users whose first job may start, the one
 * with the fewest running goes first, then the one served longest ago: nobody waits for somebody
 * else's long line. A job that does not fit now lets others pass, but not for ever. A gang is one
 * job as large as all its nodes. */
#ifndef BROKER_DAEMON_QUEUE_H
#define BROKER_DAEMON_QUEUE_H

#include "base/auto.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue;

/* jobs_per_user: how many of one line may be under way at once, at least 1. */
struct queue *queue_new(unsigned jobs_per_user);
/* For what starts from now on. */
void queue_set_jobs_per_user(struct queue *q, unsigned jobs_per_user);
void queue_free(struct queue *q);
AUTO_DEFINE(queue)

/* Where jobs share a machine: what there is of it. Places that nobody named have no bounds here;
 * told again, the new bounds hold for what starts from now on. */
void queue_set_place(struct queue *q, const char *name, double cpus, uint64_t memory_mb);

struct queue_job {
    int64_t id; /* each once */
    const char *project, *user, *place;
    int64_t priority; /* higher ones stand before lower ones of the same line */
    double cpus;
    uint64_t memory_mb;
    /* Of a gang, which stands in line once all its nodes are here, starts with all of them at once,
     * and counts as one job of its user. NULL or "" = none. Those that come after the first of them
     * started follow at once. */
    const char *gang;
    unsigned nodes;
};
void queue_add(struct queue *q, const struct queue_job *job);
/* It is under way already, started by an earlier broker. */
void queue_adopt(struct queue *q, const struct queue_job *job);

/* The job that starts now; it takes its room and counts as under way. 0 = none can. */
int64_t queue_next(struct queue *q);
/* It could not start after all: its room is free, and it is the first of its line again. One of a
 * gang keeps its room, and is the next to start. */
void queue_put_back(struct queue *q, int64_t id);
/* Its machine's room is free again; it still counts for its user. Repeatable. */
void queue_free_room(struct queue *q, int64_t id);
/* It is over, whatever it was doing. Unknown ids are fine. */
void queue_done(struct queue *q, int64_t id);

/* Gangs in line count once, those that lack a node do not. */
size_t queue_waiting(const struct queue *q);
size_t queue_active(const struct queue *q);

#endif
