#include "cli/run/run_crew.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "broker/core/home.h"
#include "broker/learn/usage.h"
#include "view/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is read of one log at once; a longer line is shown in pieces. */
#define PIECE ((size_t)65536)
#define LINE_COLUMNS 4000

struct member {
    int fd;      /* of its log; -1 = it is not there yet */
    char *bytes; /* PIECE: read and not shown */
    size_t n;
};

struct run_crew {
    const char *home;
    int64_t job; /* of the first */
    struct member *members;
    unsigned n;
};

struct run_crew *run_crew_new(const char *home)
{
    struct run_crew *c = mem_zero(1, sizeof *c);

    c->home = home;
    return c;
}

static void forget_members(struct run_crew *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        if (c->members[i].fd >= 0)
            close(c->members[i].fd);
        free(c->members[i].bytes);
    }
    free(c->members);
    c->members = NULL;
    c->n = 0;
}

void run_crew_free(struct run_crew *c)
{
    if (!c)
        return;
    forget_members(c);
    free(c);
}

/* ---- logs ---- */

static void begin(struct run_crew *c, const struct run_stage *s)
{
    forget_members(c);
    c->job = s->job;
    c->n = s->plan.nodes;
    c->members = mem_zero(c->n, sizeof *c->members);
    for (unsigned i = 0; i < c->n; i++)
        c->members[i].fd = -1;
}

static void open_log(const struct run_crew *c, unsigned rank)
{
    AUTO_MEM char *path = broker_job_path(c->home, c->job + rank, "log");

    c->members[rank].fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

static bool has_line(const struct member *m)
{
    return m->n == PIECE || (m->n && memchr(m->bytes, '\n', m->n));
}

static void read_more(struct member *m)
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

bool run_crew_look(struct run_crew *c, const struct run_stage *s)
{
    bool any = false;

    if (!s->job || s->state == STAGE_REUSED)
        return false;
    if (c->job != s->job)
        begin(c, s);
    for (unsigned rank = 0; rank < c->n; rank++) {
        struct member *m = &c->members[rank];
        if (m->fd < 0)
            open_log(c, rank);
        if (m->fd >= 0)
            read_more(m);
        any = any || has_line(m);
    }
    return any;
}

static const char *role_of(const struct run_stage *s, unsigned rank)
{
    return rank < s->plan.servers ? "server" : "worker";
}

static void print_line(
    const struct run_stage *s, unsigned rank, const char *text, bool json, FILE *out)
{
    if (!json) {
        fprintf(out, "[%u %s] ", rank, role_of(s, rank));
        text_print(out, text, LINE_COLUMNS);
        putc('\n', out);
        return;
    }
    AUTO_JSON json_t *event =
        json_pack("{s:s, s:I, s:s, s:o}", "event", "log", "rank", (json_int_t)rank, "role",
                  role_of(s, rank), "text", json_text(text));
    AUTO_MEM char *line = json_dumps(event, JSON_COMPACT);
    fprintf(out, "%s\n", line ? line : "{}");
}

/* One line, or what there is of it; how many bytes it took. */
static size_t print_first(
    const struct member *m, const struct run_stage *s, unsigned rank, bool json, FILE *out)
{
    const char *newline = memchr(m->bytes, '\n', m->n);
    size_t n = newline ? (size_t)(newline - m->bytes) : m->n;
    AUTO_MEM char *text = mem_zero(n + 1, 1);

    memcpy(text, m->bytes, n);
    for (char *c = text; (c = strchr(c, '\t'));)
        *c = ' ';
    if (n && text[n - 1] == '\r')
        text[n - 1] = '\0';
    print_line(s, rank, text, json, out);
    return n + (newline != NULL);
}

void run_crew_print(struct run_crew *c, const struct run_stage *s, bool json, bool last, FILE *out)
{
    for (unsigned rank = 0; rank < c->n; rank++) {
        struct member *m = &c->members[rank];
        while (has_line(m) || (last && m->n)) {
            size_t n = print_first(m, s, rank, json, out);
            m->n -= n;
            memmove(m->bytes, m->bytes + n, m->n);
            if (m->fd >= 0)
                read_more(m);
        }
    }
    fflush(out);
}

/* ---- machines ---- */

char *run_crew_usage(const struct run_crew *c, const struct run_stage *s, unsigned rank)
{
    struct usage_point p;

    if (c->job != s->job || rank >= c->n || !usage_last(c->home, c->job + rank, &p))
        return NULL;
    AUTO_MEM char *gpu =
        p.gpu_percent >= 0 ? mem_printf("  %.0f %% GPU", p.gpu_percent) : mem_dup("");
    return mem_printf("    %3u %s  %5.2f CPU  %6.0f MB  %8.2f Mbit/s in  %8.2f out%s", rank,
                      role_of(s, rank), p.cpus, p.memory_mb, p.received_mbps, p.sent_mbps, gpu);
}
