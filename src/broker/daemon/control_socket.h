/* control_socket: the broker's Unix socket, with its connected clients and the jobs they wait for.
 *
 * The protocol has one line per message. The broker greets with "tradewind VERSION PID". A client
 * sends "wake" (the lake has new jobs), "wait ID" (answered by "final ID STATE" when the job ends)
 * or "retire" (the broker exits, for its successor). Only the owner of the home can connect.
 *
 * At most CONTROL_SOCKET_CLIENTS_MAX clients are connected. One more takes the place of the client
 * that was silent longest, of those that wait for no job if there are any: clients that are still
 * there connect again. */
#ifndef BROKER_DAEMON_CONTROL_SOCKET_H
#define BROKER_DAEMON_CONTROL_SOCKET_H

#include "base/auto.h"
#include "base/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_SOCKET_CLIENTS_MAX 256

struct control_socket;

/* Takes the home's lock and listens. ERR_RETRY: another broker holds the lock. */
struct control_socket *control_socket_open(const char *home, struct err *e);
void control_socket_free(struct control_socket *d);
AUTO_DEFINE(control_socket)

/* Fills out with the descriptors to poll, at most CONTROL_SOCKET_CLIENTS_MAX + 1; returns their
 * number. */
size_t control_socket_fds(struct control_socket *d, struct pollfd *out);

struct control_socket_news {
    bool woken, retire;
};
/* Reads every client's lines. Calls waits for each job that a client begins to wait for. */
struct control_socket_news control_socket_hear(struct control_socket *d,
                                               void (*waits)(void *context, int64_t job),
                                               void *context);
/* Tells the job's final state to all clients that wait for the job. */
void control_socket_tell(struct control_socket *d, int64_t job, const char *state);
bool control_socket_has_clients(const struct control_socket *d);
bool control_socket_is_awaited(const struct control_socket *d, int64_t job);

#endif
