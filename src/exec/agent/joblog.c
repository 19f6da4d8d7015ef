/* The file `log` of a job, which only ever grows, so that it can be followed by offset, and
 * never past its maximum. The first half is written as it comes. What follows goes round in
 * `log.tail`, half as large; at the end its last bytes are appended, after a line that says how
 * many are missing in between. Lines that find no room on the disk are left out; once there is room
 * again a line says how many. */
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "exec/agent/jobrecord.h"
#include "exec/jobfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A machine that loses its power loses at most so much of the log. */
#define SYNC_EVERY_S 5.0
#define SYNC_EVERY_BYTES ((uint64_t)32 << 20)
/* Less would not hold a line and what is said about the missing ones. */
#define LOG_MAX_LEAST 4096
/* Of both files' maximum, for the two lines we add. */
#define OWN_LINES 256
#define COPY_BYTES ((size_t)64 << 10)

/* At the beginning of log.tail; what it holds begins after it. */
struct tail_head {
    uint64_t log_size; /* of log when the tail was begun: where the tail goes at the end */
    uint64_t half;
    uint64_t total; /* bytes that came so far */
};

int joblog_open(struct joblog *l, const char *dir, uint64_t max, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/log", dir);

    if (max == 0)
        max = JOBFILE_LOG_MAX;
    if (max < LOG_MAX_LEAST)
        max = LOG_MAX_LEAST;
    *l = (struct joblog){.fd = -1, .tail_fd = -1, .half = (max - OWN_LINES) / 2};
    l->tail_path = mem_printf("%s/log.tail", dir);
    l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_TRUNC, 0600);
    if (l->fd < 0)
        return file_error(e, "write", path);
    l->synced_s = time_monotonic_s();
    return 0;
}

/* How many of the bytes are in the file now; all unless the disk takes no more. */
static size_t write_some(struct joblog *l, int fd, const char *bytes, size_t n, uint64_t at)
{
    size_t done = 0;

    while (done < n) {
        ssize_t some = pwrite(fd, bytes + done, n - done, (off_t)(at + done));
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0) {
            l->error = some < 0 ? errno : ENOSPC;
            break;
        }
        done += (size_t)some;
    }
    return done;
}

static size_t add_to_log(struct joblog *l, const char *bytes, size_t n)
{
    size_t some = write_some(l, l->fd, bytes, n, l->size);

    l->size += some;
    l->unsynced += some;
    return some;
}

static bool write_head(struct joblog *l, uint64_t log_size)
{
    struct tail_head head = {.log_size = log_size, .half = l->half, .total = l->tail_total};

    return write_some(l, l->tail_fd, (const char *)&head, sizeof head, 0) == sizeof head;
}

/* Repeatable: the same line goes to the same place. */
static bool begin_tail(struct joblog *l)
{
    char line[OWN_LINES];

    size_t n = (size_t)snprintf(line, sizeof line,
                                "\n[tradewind: the log is longer than %" PRIu64
                                " bytes; of what follows, the last %" PRIu64
                                " are kept and shown at the end]\n",
                                l->half, l->half);
    if (write_some(l, l->fd, line, n, l->size) < n)
        return false;
    l->tail_fd = open(l->tail_path, O_RDWR | O_CREAT | O_CLOEXEC | O_TRUNC, 0600);
    if (l->tail_fd < 0)
        l->error = errno;
    if (l->tail_fd >= 0 && write_head(l, l->size + n)) {
        l->size += n;
        l->unsynced += n;
        return true;
    }
    if (l->tail_fd >= 0)
        close(l->tail_fd);
    l->tail_fd = -1;
    return false;
}

static size_t add_to_tail(struct joblog *l, const char *bytes, size_t n)
{
    size_t done = 0, some, wanted;

    do {
        uint64_t at = l->tail_total % l->half;
        wanted = n - done < l->half - at ? n - done : (size_t)(l->half - at);
        some = write_some(l, l->tail_fd, bytes + done, wanted, sizeof(struct tail_head) + at);
        l->tail_total += some;
        done += some;
    } while (some == wanted && done < n);
    write_head(l, l->size); /* takes no further room */
    return done;
}

/* How many of the bytes are kept. */
static size_t add(struct joblog *l, const char *bytes, size_t n)
{
    size_t kept = 0;

    if (l->tail_fd < 0) {
        size_t fits = n < l->half - l->size ? n : (size_t)(l->half - l->size);
        kept = add_to_log(l, bytes, fits);
        if (kept < fits || kept == n || !begin_tail(l))
            return kept;
    }
    return kept + add_to_tail(l, bytes + kept, n - kept);
}

/* ---- lines that find no room ---- */

static void leave_out(struct joblog *l, const char *bytes, size_t n)
{
    const char *end = bytes + n;

    while (bytes < end) {
        if (!l->gap.in_line)
            l->gap.lines++;
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        l->gap.in_line = !newline;
        bytes = newline ? newline + 1 : end;
    }
}

/* false: there is no room for that, either. */
static bool tell_left_out(struct joblog *l)
{
    struct joblog_gap *g = &l->gap;
    char line[OWN_LINES];

    while (g->lines) {
        /* What is in the file in part is completed as it was begun. */
        if (!g->told_bytes)
            g->told_lines = g->lines;
        size_t n = (size_t)snprintf(
            line, sizeof line, "\n[tradewind: %" PRIu64 " line%s left out: %s]\n", g->told_lines,
            g->told_lines == 1 ? "" : "s",
            l->error == ENOSPC || l->error == EDQUOT ? "no space on the disk" : strerror(l->error));
        size_t from = l->ends_in_line ? 0 : 1;
        g->told_bytes += add(l, line + from + g->told_bytes, n - from - g->told_bytes);
        if (g->told_bytes < n - from)
            return false;
        l->ends_in_line = false;
        g->lines -= g->told_lines;
        g->told_bytes = 0;
    }
    return true;
}

void joblog_add(struct joblog *l, const char *bytes, size_t n)
{
    /* The rest of a line that is left out. */
    if (n && l->gap.in_line) {
        const char *newline = memchr(bytes, '\n', n);
        size_t rest = newline ? (size_t)(newline + 1 - bytes) : n;
        l->gap.in_line = !newline;
        bytes += rest;
        n -= rest;
    }
    if (!n)
        return;
    size_t kept = tell_left_out(l) ? add(l, bytes, n) : 0;
    if (kept)
        l->ends_in_line = bytes[kept - 1] != '\n';
    leave_out(l, bytes + kept, n - kept);
}

void joblog_sync_at_times(struct joblog *l, double now_s)
{
    if (l->unsynced == 0 || (now_s - l->synced_s < SYNC_EVERY_S && l->unsynced < SYNC_EVERY_BYTES))
        return;
    fdatasync(l->fd); /* what it cannot do now, the end tries again */
    l->unsynced = 0;
    l->synced_s = now_s;
}

/* ---- the end ---- */

/* Appends n bytes of the tail from `from` on to the log. */
static int copy_tail(struct joblog *l, int tail_fd, uint64_t from, uint64_t n)
{
    AUTO_MEM char *bytes = mem_zero(COPY_BYTES, 1);

    while (n) {
        size_t some = n < COPY_BYTES ? (size_t)n : COPY_BYTES;
        ssize_t got = file_pread_all(tail_fd, bytes, some, sizeof(struct tail_head) + from);
        if (got <= 0)
            return -1;
        joblog_add(l, bytes, (size_t)got);
        from += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return 0;
}

/* Appends the tail to the log, whose size is that of the head. It can be begun anew after it was
 * interrupted: the same bytes go to the same places. -1: the tail cannot be read. */
static int fold_tail(struct joblog *l, int tail_fd, const struct tail_head *head)
{
    char line[OWN_LINES];
    uint64_t dropped = head->total > head->half ? head->total - head->half : 0;

    l->half = UINT64_MAX; /* from now on the log has no second half */
    if (dropped) {
        int n = snprintf(line, sizeof line, "[tradewind: %" PRIu64 " bytes were dropped here]\n",
                         dropped);
        joblog_add(l, line, (size_t)n);
    }
    uint64_t oldest = dropped ? head->total % head->half : 0;
    uint64_t kept = head->total - dropped;
    uint64_t first = dropped ? head->half - oldest : kept;
    return copy_tail(l, tail_fd, oldest, first) < 0 || copy_tail(l, tail_fd, 0, kept - first) < 0
               ? -1
               : 0;
}

static void end_tail(struct joblog *l)
{
    struct tail_head head = {.log_size = l->size, .half = l->half, .total = l->tail_total};
    struct joblog_gap after = l->gap; /* lines left out since the last one in the tail */
    AUTO_FD int tail_fd = l->tail_fd;

    l->tail_fd = -1;
    l->gap = (struct joblog_gap){0};
    l->ends_in_line = false;
    if (fold_tail(l, tail_fd, &head) < 0)
        return;
    unlink(l->tail_path);
    if (l->gap.lines)
        l->gap = (struct joblog_gap){.lines = l->gap.lines + after.lines};
    else
        l->gap = after;
}

bool joblog_finish(struct joblog *l)
{
    if (l->fd < 0)
        return true;
    if (l->tail_fd >= 0)
        end_tail(l);
    bool told = tell_left_out(l);
    if (l->size)
        fsync(l->fd);
    return told;
}

void joblog_close(struct joblog *l)
{
    if (l->fd >= 0)
        close(l->fd);
    if (l->tail_fd >= 0)
        close(l->tail_fd);
    free(l->tail_path);
    *l = (struct joblog){.fd = -1, .tail_fd = -1};
}

void joblog_recover(const char *dir)
{
    AUTO_MEM char *log_path = mem_printf("%s/log", dir);
    AUTO_MEM char *tail_path = mem_printf("%s/log.tail", dir);
    AUTO_FD int tail_fd = open(tail_path, O_RDONLY | O_CLOEXEC);
    AUTO_FD int log_fd = tail_fd < 0 ? -1 : open(log_path, O_WRONLY | O_CLOEXEC);
    struct tail_head head;

    if (log_fd < 0)
        return;
    /* Without a head it was killed before anything was in it. */
    if (file_pread_all(tail_fd, &head, sizeof head, 0) == (ssize_t)sizeof head && head.half) {
        struct joblog l = {.fd = log_fd, .tail_fd = -1, .size = head.log_size};
        if (fold_tail(&l, tail_fd, &head) < 0 || l.gap.lines || fsync(log_fd) < 0)
            return; /* on a full disk the tail stays: the next reader tries again */
    }
    unlink(tail_path);
}
