/* client: how commands reach the one background broker of a home, and start it.
 *
 * What is to be done stands in the lake (queued jobs, asked stops); the socket only wakes the
 * broker and tells when jobs end. Nothing is lost when a message is. */
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

/* Makes it end, and waits until it has; what runs goes on, and the next command starts another. */
int broker_client_retire(struct broker_client *c, struct err *e);

/* There is something new in the lake. */
int broker_client_wake(struct broker_client *c, struct err *e);
/* Waits until the job is in a final state. timeout_s < 0 = for ever. 1: it is; 0: time is up, or
 * `cancelled` said so (asked a few times a second; NULL = never). Broker lost: it is started
 * again. */
int broker_client_wait(struct broker_client *c,
                       int64_t job,
                       double timeout_s,
                       bool (*cancelled)(void *context),
                       void *context,
                       struct err *e);

#endif
