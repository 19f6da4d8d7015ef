/* server: an HTTP server on this machine, in threads of the test, that answers as a test wants. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stddef.h>

struct server;

struct server_request {
    const char *method, *path;
    const char *headers; /* "Name: value\r\n" each */
    const char *body;
    size_t body_bytes;
    unsigned nth; /* of its connection, from 1 */
};

/* Writes an answer to fd; false closes the connection. Called from several threads. */
typedef bool server_answer(void *context, const struct server_request *r, int fd);

struct server *server_start(server_answer *answer, void *context);
/* Closes all connections and waits for the threads. */
void server_stop(struct server *s);
/* "http://127.0.0.1:PORT", the server's own */
const char *server_url(const struct server *s);
/* Connections made so far. */
unsigned server_connections(struct server *s);

/* The pieces of an answer. */
void server_write(int fd, const void *bytes, size_t n);
void server_print(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A whole answer; extra: further header lines, each with CR LF, or "". */
void server_reply(int fd, int status, const char *extra, const void *body, size_t n);
/* Until the client goes away, five seconds at most. */
void server_hang(int fd);
/* Whether the request has this header line, "Name: value". */
bool server_has(const struct server_request *r, const char *line);

#endif
