#include "app/run/nodes.h"

#include "base/mem.h"
#include "broker/core/home.h"
#include "broker/learn/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of one log in memory; a longer line comes in pieces. */
#define PIECE ((size_t)65536)

struct node {
    int fd;      /* of its log; -1 = there is none yet */
    char *bytes; /* PIECE: read and not handed out */
    size_t n;
};

struct app_run_nodes {
    const char *home;
    int64_t job; /* of the first node */
    struct node *nodes;
    unsigned n;
    char *line; /* PIECE + 1: the line handed out last */
};

struct app_run_nodes *app_run_nodes_new(const char *home)
{
    struct app_run_nodes *n = mem_zero(1, sizeof *n);

    n->home = home;
    n->line = mem_zero(PIECE + 1, 1);
    return n;
}

static void forget_nodes(struct app_run_nodes *n)
{
    for (unsigned i = 0; i < n->n; i++) {
        if (n->nodes[i].fd >= 0)
            close(n->nodes[i].fd);
        free(n->nodes[i].bytes);
    }
    free(n->nodes);
    n->nodes = NULL;
    n->n = 0;
}

void app_run_nodes_free(struct app_run_nodes *n)
{
    if (!n)
        return;
    forget_nodes(n);
    free(n->line);
    free(n);
}

static const char *role_of(const struct run_stage *s, unsigned rank)
{
    return rank < s->plan.servers ? "server" : "worker";
}

/* ---- logs ---- */

static void begin(struct app_run_nodes *n, const struct run_stage *s)
{
    forget_nodes(n);
    n->job = s->job;
    n->n = s->plan.nodes;
    n->nodes = mem_zero(n->n, sizeof *n->nodes);
    for (unsigned i = 0; i < n->n; i++)
        n->nodes[i].fd = -1;
}

static void open_log(const struct app_run_nodes *n, unsigned rank)
{
    AUTO_MEM char *path = broker_job_path(n->home, n->job + rank, "log");

    n->nodes[rank].fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

static bool has_line(const struct node *m)
{
    return m->n == PIECE || (m->n && memchr(m->bytes, '\n', m->n));
}

static void read_more(struct node *m)
{
    if (!m->bytes)
        m->bytes = mem_zero(PIECE, 1);
    while (m->n < PIECE) {
        ssize_t got = read(m->fd, m->bytes + m->n, PIECE - m->n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        m->n += (size_t)got;
    }
}

void app_run_nodes_look(struct app_run_nodes *n, const struct run_stage *s)
{
    if (!s->job || s->state == STAGE_REUSED)
        return;
    if (n->job != s->job)
        begin(n, s);
    for (unsigned rank = 0; rank < n->n; rank++) {
        struct node *m = &n->nodes[rank];
        if (m->fd < 0)
            open_log(n, rank);
        if (m->fd >= 0)
            read_more(m);
    }
}

/* Moves the first line, or what there is of it, to n->line, and reads on. */
static void take_line(struct app_run_nodes *n, struct node *m)
{
    const char *newline = memchr(m->bytes, '\n', m->n);
    size_t len = newline ? (size_t)(newline - m->bytes) : m->n;
    size_t taken = len + (newline != NULL);

    memcpy(n->line, m->bytes, len);
    n->line[len] = '\0';
    for (char *c = n->line; (c = strchr(c, '\t'));)
        *c = ' ';
    if (len && n->line[len - 1] == '\r')
        n->line[len - 1] = '\0';
    m->n -= taken;
    memmove(m->bytes, m->bytes + taken, m->n);
    if (m->fd >= 0)
        read_more(m);
}

bool app_run_nodes_next(struct app_run_nodes *n,
                        const struct run_stage *s,
                        bool last,
                        struct app_run_event *out)
{
    for (unsigned rank = 0; rank < n->n; rank++) {
        struct node *m = &n->nodes[rank];
        if (!has_line(m) && !(last && m->n))
            continue;
        take_line(n, m);
        out->rank = rank;
        out->role = role_of(s, rank);
        out->text = n->line;
        return true;
    }
    return false;
}

/* ---- usage ---- */

bool app_run_nodes_usage(const struct app_run_nodes *n,
                         const struct run_stage *s,
                         unsigned rank,
                         struct app_run_usage *out)
{
    struct usage_point p;

    if (n->job != s->job || rank >= n->n || !usage_last(n->home, n->job + rank, &p))
        return false;
    *out = (struct app_run_usage){.rank = rank,
                                  .role = role_of(s, rank),
                                  .cpus = p.cpus,
                                  .memory_mb = p.memory_mb,
                                  .received_mbps = p.received_mbps,
                                  .sent_mbps = p.sent_mbps,
                                  .gpu_percent = p.gpu_percent >= 0 ? p.gpu_percent : (double)NAN};
    return true;
}
