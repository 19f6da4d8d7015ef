#include "app/run/nodes.h"

#include "base/mem.h"
#include "broker/core/home.h"
#include "broker/learn/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of one log in memory; a longer line comes in pieces. */
#define PIECE ((size_t)65536)
/* What one look hands out of one log, so that a flood leaves time for progress and for the others.
 * What a flood is ahead by more than BEHIND_MAX is left out but for the last bytes. */
#define LOOK_BYTES ((size_t)256 << 10)
#define BEHIND_MAX ((off_t)4 << 20)

struct node {
    int fd;         /* of its log; -1 = there is none yet */
    off_t at;       /* read until here */
    char *bytes;    /* PIECE: read, and from `from` on not handed out */
    size_t from, n; /* n: end of those */
    size_t left;    /* of LOOK_BYTES */
    off_t left_out; /* to be told; 0 = nothing */
    bool in_line;   /* the rest of a line that was left out in part follows */
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
    n->n = s->plan.nodes ? s->plan.nodes : 1;
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
    size_t n = m->n - m->from;

    return n == PIECE || (n && memchr(m->bytes + m->from, '\n', n));
}

/* Until there is a whole line, or no more. */
static void read_more(struct node *m)
{
    if (m->fd < 0 || has_line(m))
        return;
    if (!m->bytes)
        m->bytes = mem_zero(PIECE, 1);
    memmove(m->bytes, m->bytes + m->from, m->n - m->from);
    m->n -= m->from;
    m->from = 0;
    while (m->n < PIECE) {
        ssize_t got = read(m->fd, m->bytes + m->n, PIECE - m->n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        m->n += (size_t)got;
        m->at += got;
    }
}

/* Goes on near the end of a log that grows faster than it is handed out, and at the end of one
 * that was made shorter. */
static void catch_up(struct node *m)
{
    struct stat st;

    if (fstat(m->fd, &st) < 0 || (st.st_size >= m->at && st.st_size - m->at <= BEHIND_MAX))
        return;
    off_t to = st.st_size < m->at ? st.st_size : st.st_size - (off_t)LOOK_BYTES;
    if (lseek(m->fd, to, SEEK_SET) < 0)
        return;
    m->left_out += to > m->at ? to - m->at + (off_t)(m->n - m->from) : 0;
    m->in_line = to > m->at;
    m->at = to;
    m->from = m->n = 0;
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
        if (m->fd < 0)
            continue;
        m->left = LOOK_BYTES;
        catch_up(m);
        read_more(m);
    }
}

/* A progress bar draws over its line: what it drew last counts. */
static void put_line(char *out, const char *bytes, size_t len)
{
    while (len && bytes[len - 1] == '\r')
        len--;
    const char *drawn = len ? memrchr(bytes, '\r', len) : NULL;
    if (drawn) {
        len -= (size_t)(drawn + 1 - bytes);
        bytes = drawn + 1;
    }
    for (size_t i = 0; i < len; i++)
        out[i] = (char)(bytes[i] == '\t' ? ' ' : bytes[i] ? bytes[i] : '?');
    out[len] = '\0';
}

/* Moves the first line, or what there is of it, to n->line. */
static void take_line(struct app_run_nodes *n, struct node *m)
{
    const char *start = m->bytes + m->from, *newline = memchr(start, '\n', m->n - m->from);
    size_t len = newline ? (size_t)(newline - start) : m->n - m->from;
    size_t taken = len + (newline != NULL);

    put_line(n->line, start, len);
    m->from += taken;
    m->left -= taken < m->left ? taken : m->left;
    read_more(m);
}

static void tell_left_out(struct app_run_nodes *n, struct node *m, unsigned rank)
{
    snprintf(n->line, PIECE, "(%.1f MB left out: tradewind job logs %" PRId64 " has them)",
             (double)m->left_out / 1e6, n->job + rank);
    m->left_out = 0;
}

bool app_run_nodes_next(struct app_run_nodes *n,
                        const struct run_stage *s,
                        bool last,
                        struct app_run_event *out)
{
    for (unsigned rank = 0; rank < n->n; rank++) {
        struct node *m = &n->nodes[rank];
        if (m->in_line && has_line(m)) {
            m->in_line = false;
            take_line(n, m);
        }
        bool has_rest = last && m->n > m->from;
        if (m->left_out)
            tell_left_out(n, m, rank);
        else if (has_rest || (has_line(m) && m->left))
            take_line(n, m);
        else
            continue;
        out->rank = s->plan.nodes > 1 ? (int64_t)rank : FIELD_NONE;
        out->role = s->plan.servers ? role_of(s, rank) : NULL;
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
