/* client: the connection of commands to the background broker of a home, which it starts.
 *
 * All work is in the lake (queued jobs, requested stops); the control socket only wakes the broker
 * and reports ends of jobs. A lost message loses no work. */
#ifndef BROKER_DAEMON_CLIENT_H
#define BROKER_DAEMON_CLIENT_H

#include "base/auto.h"
#include "base/err.h"
#include "lake/job/job.h"

struct broker_client;

/* The running executable, as a program for broker_client_open. */
#define BROKER_CLIENT_SELF "/proc/self/exe"

/* Connects to the broker of home. Starts one, as `PROGRAM broker`, when there is none, or when the
 * broker there has another version and retires: its jobs continue. program NULL: ERR_NOTFOUND when
 * there is none. */
struct broker_client *broker_client_open(const char *home, const char *program, struct err *e);
void broker_client_free(struct broker_client *c);
AUTO_DEFINE(broker_client)
/* In a home that a group shares (base/file.h), jobs are its owner's, because they run as the user
 * whose broker it is: ERR_DENIED for others. */
int broker_client_check_owner(const char *home, struct err *e);

/* Stops the broker and waits for its end. Running jobs continue; the next command starts another
 * broker. */
int broker_client_retire(struct broker_client *c, struct err *e);

/* Tells the broker that the lake has new work. */
int broker_client_wake(struct broker_client *c, struct err *e);
/* Waits until the job is in a final state. timeout_s < 0 = for ever. 1: it is; 0: time-out, or
 * `cancelled` returned true (called a few times a second; NULL = never). Starts a broker that died
 * again. */
int broker_client_wait(struct broker_client *c,
                       int64_t job,
                       double timeout_s,
                       bool (*cancelled)(void *context),
                       void *context,
                       struct err *e);

#endif
