#include "broker/learn/usage.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/home.h"
#include "broker/learn/logscan.h"
#include "exec/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last lines of a state file, among which there are two samples. */
#define TAIL_BYTES ((size_t)4096)
#define PIECE ((size_t)65536)
/* Metrics of one job that are looked at. */
#define SERIES_MAX 16
#define BITS_PER_MBIT 1e6

void usage_clear(struct usage *u)
{
    free(u->points);
    *u = (struct usage){0};
}

/* ---- samples ---- */

struct parsing {
    struct usage *out;
    bool began;
    int64_t began_ms;
    struct state_line before; /* the sample before; at_ms 0 = none */
};

/* Clocks may be set back: no time is no rate. */
static double rate(double now, double before, double seconds)
{
    return seconds > 0 && now > before ? (now - before) / seconds : 0;
}

static void add_point(struct parsing *p, const struct state_line *s)
{
    struct usage *u = p->out;
    const struct state_line *b = &p->before;
    double seconds = (double)(s->at_ms - (b->at_ms ? b->at_ms : p->began_ms)) / 1000;

    u->points = mem_room(u->points, u->n, &u->cap, sizeof *u->points);
    u->points[u->n++] = (struct usage_point){
        .at_s = (double)(s->at_ms - p->began_ms) / 1000,
        .cpus = rate(s->cpu_s, b->cpu_s, seconds),
        .memory_mb = s->memory_mb,
        .received_mbps =
            rate((double)s->received, (double)b->received, seconds) * 8 / BITS_PER_MBIT,
        .sent_mbps = rate((double)s->sent, (double)b->sent, seconds) * 8 / BITS_PER_MBIT,
        .gpu_percent = s->gpu_percent,
        .received = s->received,
        .sent = s->sent,
        .log_bytes = s->log_bytes,
    };
    p->before = *s;
}

static void take_line(struct parsing *p, const char *text)
{
    struct state_line s;

    if (state_line_parse(text, &s, NULL) < 0 || s.kind == STATE_NOTICE || s.kind == STATE_USED ||
        s.kind == STATE_LEARNED)
        return;
    if (!p->began) {
        /* Of a tail without its beginning, the first sample is where it begins. */
        p->began = true;
        p->began_ms = s.at_ms;
        if (s.kind == STATE_SAMPLE)
            p->before = s;
    } else if (s.kind == STATE_SAMPLE) {
        add_point(p, &s);
    }
    if (s.kind == STATE_STARTED)
        return;
    struct usage *u = p->out;
    u->seconds = (double)(s.at_ms - p->began_ms) / 1000;
    u->cpu_s = s.cpu_s;
    u->peak_mb = s.memory_mb > u->peak_mb ? s.memory_mb : u->peak_mb;
    u->received = s.received;
    u->sent = s.sent;
}

void usage_parse(const char *text, size_t len, struct usage *out)
{
    struct parsing p = {.out = out};

    *out = (struct usage){0};
    for (const char *at = text, *end = text + len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        char line[STATE_LINE_MAX];
        size_t n = newline ? (size_t)(newline - at) : 0;
        if (!newline)
            break; /* not whole yet */
        if (n < sizeof line) {
            memcpy(line, at, n);
            line[n] = '\0';
            take_line(&p, line);
        }
        at = newline + 1;
    }
}

/* At most max bytes from an offset on; fewer where the file ends, none where it cannot be read. */
static size_t read_at(int fd, off_t from, char *to, size_t max)
{
    ssize_t n = file_pread_all(fd, to, max, (uint64_t)from);

    return n > 0 ? (size_t)n : 0;
}

/* -1: it is not there. */
static int open_part(const char *home, int64_t job, const char *name, off_t *size_out)
{
    AUTO_MEM char *path = broker_job_path(home, job, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) < 0) {
        close(fd);
        return -1;
    }
    *size_out = fd >= 0 ? st.st_size : 0;
    return fd;
}

int usage_read(const char *home, int64_t job, struct usage *out, struct err *e)
{
    off_t size;
    AUTO_FD int fd = open_part(home, job, "state", &size);

    *out = (struct usage){0};
    if (fd < 0 && errno != ENOENT && errno != ENOTDIR) {
        AUTO_MEM char *path = broker_job_path(home, job, "state");
        return file_error(e, "read", path);
    }
    if (fd < 0)
        return 0;
    size_t n = (size_t)size < USAGE_BYTES_MAX ? (size_t)size : USAGE_BYTES_MAX;
    AUTO_MEM char *text = mem_zero(n + 1, 1);
    usage_parse(text, read_at(fd, 0, text, n), out);
    return 0;
}

bool usage_last(const char *home, int64_t job, struct usage_point *out)
{
    AUTO_CLEAR(usage) struct usage u = {0};
    char text[TAIL_BYTES];
    off_t size;
    AUTO_FD int fd = open_part(home, job, "state", &size);

    if (fd < 0)
        return false;
    off_t from = size > (off_t)sizeof text ? size - (off_t)sizeof text : 0;
    size_t n = read_at(fd, from, text, sizeof text);
    /* The first line of a tail is not whole. */
    const char *whole = from ? memchr(text, '\n', n) : text;
    if (whole)
        usage_parse(whole, n - (size_t)(whole - text), &u);
    if (u.n)
        *out = u.points[u.n - 1];
    return u.n > 0;
}

/* ---- rates ---- */

/* One metric of the log: its steps by the first sample that saw it, and by the last that saw it
 * move on. */
struct series {
    char *name;
    double step; /* the largest so far */
    bool seen;
    size_t first, last; /* points */
    double first_step, last_step;
};

struct following {
    struct series series[SERIES_MAX];
    size_t n;
};

static void following_clear(struct following *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->series[i].name);
}

static void hear_metric(void *context, const char *name, double step, double value)
{
    struct following *f = context;
    size_t i = 0;

    (void)value;
    while (i < f->n && strcmp(f->series[i].name, name) != 0)
        i++;
    if (i == SERIES_MAX)
        return;
    if (i == f->n)
        f->series[f->n++] = (struct series){.name = mem_dup(name), .step = step};
    if (step > f->series[i].step)
        f->series[i].step = step;
}

static void note_steps(struct following *f, size_t point)
{
    for (size_t i = 0; i < f->n; i++) {
        struct series *s = &f->series[i];
        if (!s->seen) {
            s->seen = true;
            s->first = s->last = point;
            s->first_step = s->last_step = s->step;
        } else if (s->step > s->last_step) {
            s->last = point;
            s->last_step = s->step;
        }
    }
}

/* Hears the log as far as each sample saw it. */
static void follow(const struct usage *u, int fd, struct following *f)
{
    AUTO(logscan)
    struct logscan *scan =
        logscan_new(&(struct logscan_visitor){.context = f, .metric = hear_metric});
    AUTO_MEM char *bytes = mem_zero(PIECE, 1);
    uint64_t at = 0;

    for (size_t i = 0; i < u->n; i++) {
        while (at < u->points[i].log_bytes) {
            uint64_t left = u->points[i].log_bytes - at;
            size_t n = read_at(fd, (off_t)at, bytes, left < PIECE ? (size_t)left : PIECE);
            if (n == 0)
                return;
            logscan_take(scan, bytes, n);
            at += n;
        }
        note_steps(f, i);
    }
}

/* The series that moved furthest counts iterations; others may count epochs. */
static const struct series *furthest(const struct following *f)
{
    const struct series *best = NULL;

    for (size_t i = 0; i < f->n; i++) {
        const struct series *s = &f->series[i];
        if (s->last > s->first &&
            (!best || s->last_step - s->first_step > best->last_step - best->first_step))
            best = s;
    }
    return best;
}

int usage_rates(const char *home, int64_t job, struct usage_rates *out, struct err *e)
{
    AUTO_CLEAR(usage) struct usage u;
    AUTO_CLEAR(following) struct following f = {0};
    off_t size;

    if (usage_read(home, job, &u, e) < 0)
        return -1;
    AUTO_FD int fd = open_part(home, job, "log", &size);
    if (fd >= 0)
        follow(&u, fd, &f);
    const struct series *s = furthest(&f);
    if (!s && f.n == 0)
        return err_set(e, ERR_NOTFOUND,
                       "it printed no iterations: lines [TRADEWIND_METRIC] NAME STEP VALUE");
    const struct usage_point *from = s ? &u.points[s->first] : NULL;
    const struct usage_point *to = s ? &u.points[s->last] : NULL;
    if (!s || to->at_s <= from->at_s || to->received < from->received || to->sent < from->sent)
        return err_set(e, ERR_NOTFOUND,
                       "it ran for too short a time: two seconds are needed from "
                       "its first iteration on");
    out->seconds = to->at_s - from->at_s;
    out->per_s = (s->last_step - s->first_step) / out->seconds;
    out->mbps = (double)(to->received - from->received + to->sent - from->sent) * 8 /
                BITS_PER_MBIT / out->seconds;
    return 0;
}
