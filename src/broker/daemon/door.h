/* door: the broker's socket: who knocks, and who waits for which job.
 *
 * A line each way: the broker greets with "tradewind VERSION PID"; "wake" says that the lake has
 * something new, "wait ID" asks to be told "final ID STATE", "retire" makes room for another
 * broker. Only the owner of the home can connect. */
#ifndef BROKER_DAEMON_DOOR_H
#define BROKER_DAEMON_DOOR_H

#include "base/auto.h"
#include "base/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOOR_GUESTS_MAX 256
#define DOOR_LINE_MAX 128

struct door;

/* Takes the home's lock and listens. ERR_RETRY: another broker holds it. */
struct door *door_open(const char *home, struct err *e);
void door_free(struct door *d);
AUTO_DEFINE(door)

/* At most DOOR_GUESTS_MAX + 1 of them; how many. */
size_t door_fds(const struct door *d, struct pollfd *out);

struct door_news {
    bool woken, retire;
};
/* Hears everybody who has something to say; asked for each job somebody begins to wait for. */
struct door_news door_hear(struct door *d,
                           void (*waits)(void *context, int64_t job),
                           void *context);
/* To everybody who waits for the job. */
void door_tell(struct door *d, int64_t job, const char *state);
bool door_has_guests(const struct door *d);
bool door_is_awaited(const struct door *d, int64_t job);

#endif
