/* Asks the metadata service of the cloud whether it takes the machine away, and leaves what it says
 * in the file "notice" of the directory of jobs, where the agents of running jobs read it. */
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "exec/agent/jobdir.h"
#include "exec/agent/modes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of one exchange. The service answers in milliseconds; the first answer of Azure's takes longer,
 * and is had another time. */
#define EXCHANGE_S 2.0
/* AWS's longest, six hours; a refused token is replaced. */
#define TOKEN_TTL "21600"
#define REFUSED 401

struct asking {
    struct notices service;
    char *path;      /* of the file */
    char token[128]; /* of AWS; "" = none */
    char name[96];   /* of the machine, as Azure has it; "" = not known */
    bool told;
};

/* ---- one exchange ---- */

/* Whether the socket became ready before then. */
static bool ready(int fd, short events, double until_s)
{
    struct pollfd p = {.fd = fd, .events = events};
    double left_s = until_s - time_monotonic_s();

    return left_s > 0 && poll(&p, 1, (int)(left_s * 1000) + 1) == 1;
}

static int connect_to(const struct notices *service, double until_s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(service->port)};
    int error = 0, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t n = sizeof error;

    if (fd < 0 || inet_pton(AF_INET, service->address, &at.sin_addr) != 1)
        return fd;
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    if (errno == EINPROGRESS && ready(fd, POLLOUT, until_s) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && !error)
        return fd;
    close(fd);
    return -1;
}

/* Until the service closes the connection. 0: it did not, or sent more than is read. */
static size_t read_all(int fd, char *bytes, size_t room, double until_s)
{
    size_t n = 0;

    while (ready(fd, POLLIN, until_s)) {
        ssize_t got = recv(fd, bytes + n, room - n, 0);
        if (got == 0)
            return n;
        if (got > 0)
            n += (size_t)got;
        if (n == room || (got < 0 && errno != EINTR && errno != EAGAIN))
            return 0;
    }
    return 0;
}

/* line: "GET /path"; headers end with a newline each. bytes has NOTICES_ANSWER_MAX + 1. */
static bool exchange(const struct asking *q,
                     const char *line,
                     const char *headers,
                     char *bytes,
                     struct notices_answer *out)
{
    double until_s = time_monotonic_s() + EXCHANGE_S;
    AUTO_MEM char *request = mem_printf("%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n",
                                        line, q->service.address, headers);
    size_t n = strlen(request);
    AUTO_FD int fd = connect_to(&q->service, until_s);

    /* So short a request goes into the buffer of a new connection at once. */
    if (fd < 0 || send(fd, request, n, MSG_NOSIGNAL) != (ssize_t)n)
        return false;
    n = read_all(fd, bytes, NOTICES_ANSWER_MAX, until_s);
    return n > 0 && notices_answer_read(bytes, n, out);
}

/* What can be a header's value, or a name. */
static bool take_word(const struct notices_answer *a, char *out, size_t room)
{
    size_t n = 0;

    while (n < a->n && a->body[n] > ' ' && a->body[n] < 0x7f)
        n++;
    if (a->status != 200 || n == 0 || n != a->n || n >= room)
        return false;
    memcpy(out, a->body, n);
    out[n] = 0;
    return true;
}

/* ---- the clouds ---- */

/* Whether the service answered; *found: it gives notice. */
static bool ask_aws(struct asking *q, char *bytes, struct notice *out, bool *found)
{
    struct notices_answer a;

    if (!*q->token &&
        (!exchange(q, "PUT /latest/api/token",
                   "X-aws-ec2-metadata-token-ttl-seconds: " TOKEN_TTL "\r\nContent-Length: 0\r\n",
                   bytes, &a) ||
         !take_word(&a, q->token, sizeof q->token)))
        return false;
    AUTO_MEM char *headers = mem_printf("X-aws-ec2-metadata-token: %s\r\n", q->token);
    if (!exchange(q, "GET /latest/meta-data/spot/instance-action", headers, bytes, &a))
        return false;
    if (a.status == REFUSED)
        *q->token = 0;
    *found = notices_read_aws(&a, time_epoch_ms(), out);
    return a.status == 200 || a.status == 404;
}

static bool ask_gcp(struct asking *q, char *bytes, struct notice *out, bool *found)
{
    static const char *const lines[] = {
        "GET /computeMetadata/v1/instance/preempted",
        "GET /computeMetadata/v1/instance/maintenance-event",
    };
    struct notices_answer a;

    *found = false;
    for (size_t i = 0; i < sizeof lines / sizeof *lines && !*found; i++) {
        if (!exchange(q, lines[i], "Metadata-Flavor: Google\r\n", bytes, &a) || a.status != 200)
            return false;
        *found = notices_read_gcp(&a, time_epoch_ms(), out);
    }
    return true;
}

static bool ask_azure(struct asking *q, char *bytes, struct notice *out, bool *found)
{
    struct notices_answer a;

    if (!*q->name && (!exchange(q,
                                "GET /metadata/instance/compute/name"
                                "?api-version=2021-02-01&format=text",
                                "Metadata: true\r\n", bytes, &a) ||
                      !take_word(&a, q->name, sizeof q->name)))
        return false;
    if (!exchange(q, "GET /metadata/scheduledevents?api-version=2020-07-01", "Metadata: true\r\n",
                  bytes, &a))
        return false;
    *found = notices_read_azure(&a, q->name, time_epoch_ms(), out);
    return a.status == 200;
}

static bool ask(struct asking *q, struct notice *out, bool *found)
{
    char bytes[NOTICES_ANSWER_MAX + 1];

    switch (q->service.cloud) {
    case NOTICES_AWS:
        return ask_aws(q, bytes, out, found);
    case NOTICES_GCP:
        return ask_gcp(q, bytes, out, found);
    case NOTICES_AZURE:
        return ask_azure(q, bytes, out, found);
    case NOTICES_NONE:
        break;
    }
    return false;
}

/* ---- the file ---- */

struct asking *notice_begin(const char *root, const struct notices *service)
{
    struct asking *q = mem_zero(1, sizeof *q);

    q->service = *service;
    q->path = mem_printf("%s/notice", root);
    unlink(q->path); /* of a watch that was killed */
    return q;
}

void notice_free(struct asking *q)
{
    if (q)
        free(q->path);
    free(q);
}

void notice_ask(struct asking *q)
{
    char text[NOTICE_FILE_MAX];
    struct notice said;
    bool found = false;

    if (!ask(q, &said, &found))
        return;
    if (found && !q->told) {
        notices_file_text(&said, text);
        q->told = file_replace(q->path, text, strlen(text), 0600, NULL) == 0;
    }
    /* What was announced does not happen. */
    if (!found && q->told)
        q->told = unlink(q->path) < 0 && errno != ENOENT;
}

bool notice_read(const char *root, struct notice *out)
{
    AUTO_MEM char *path = mem_printf("%s/notice", root);
    AUTO_MEM char *text = jobdir_read_small(path, NOTICE_FILE_MAX, NULL);

    return text && notices_file_parse(text, out);
}
