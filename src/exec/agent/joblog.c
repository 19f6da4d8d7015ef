/* The file `log` of a job, which only ever grows, so that it can be followed by offset, and
 * never past its maximum. The first half is written as it comes. What follows goes round in
 * `log.tail`, half as large; at the end its last bytes are appended, after a line that says how
 * many are missing in between. */
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

static int add_to_log(struct joblog *l, const char *bytes, size_t n)
{
    if (file_pwrite_all(l->fd, bytes, n, l->size) < 0)
        return -1;
    l->size += n;
    l->unsynced += n;
    return 0;
}

static int write_head(const struct joblog *l)
{
    struct tail_head head = {.log_size = l->size, .half = l->half, .total = l->tail_total};

    return file_pwrite_all(l->tail_fd, &head, sizeof head, 0);
}

static int begin_tail(struct joblog *l)
{
    char line[OWN_LINES];

    int n =
        snprintf(line, sizeof line,
                 "\n[tradewind: the log is longer than %" PRIu64
                 " bytes; of what follows, the last %" PRIu64 " are kept and shown at the end]\n",
                 l->half, l->half);
    if (add_to_log(l, line, (size_t)n) < 0)
        return -1;
    l->tail_fd = open(l->tail_path, O_RDWR | O_CREAT | O_CLOEXEC | O_TRUNC, 0600);
    return l->tail_fd < 0 ? -1 : write_head(l);
}

static int add_to_tail(struct joblog *l, const char *bytes, size_t n)
{
    while (n) {
        uint64_t at = l->tail_total % l->half;
        size_t some = n < l->half - at ? n : (size_t)(l->half - at);
        if (file_pwrite_all(l->tail_fd, bytes, some, sizeof(struct tail_head) + at) < 0)
            return -1;
        l->tail_total += some;
        bytes += some;
        n -= some;
    }
    return write_head(l);
}

int joblog_add(struct joblog *l, const char *bytes, size_t n)
{
    if (l->tail_fd < 0) {
        size_t fits = n < l->half - l->size ? n : (size_t)(l->half - l->size);
        if (add_to_log(l, bytes, fits) < 0)
            return -1;
        bytes += fits;
        n -= fits;
        if (n && begin_tail(l) < 0)
            return -1;
    }
    return n ? add_to_tail(l, bytes, n) : 0;
}

void joblog_sync_at_times(struct joblog *l, double now_s)
{
    if (l->unsynced == 0 || (now_s - l->synced_s < SYNC_EVERY_S && l->unsynced < SYNC_EVERY_BYTES))
        return;
    fdatasync(l->fd); /* what it cannot do now, the end tries again */
    l->unsynced = 0;
    l->synced_s = now_s;
}

/* Copies n bytes of the tail from `from` to the log at *at. */
static int copy_tail(int tail_fd, int log_fd, uint64_t from, uint64_t n, uint64_t *at)
{
    AUTO_MEM char *bytes = mem_zero(COPY_BYTES, 1);

    while (n) {
        size_t some = n < COPY_BYTES ? (size_t)n : COPY_BYTES;
        ssize_t got = file_pread_all(tail_fd, bytes, some, sizeof(struct tail_head) + from);
        if (got <= 0)
            return -1;
        if (file_pwrite_all(log_fd, bytes, (size_t)got, *at) < 0)
            return -1;
        from += (uint64_t)got;
        *at += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return 0;
}

/* Appends the tail to the log. It can be begun anew after it was interrupted: the same bytes go to
 * the same places. */
static int fold_tail(int tail_fd, int log_fd)
{
    struct tail_head head;
    char line[OWN_LINES];

    if (file_pread_all(tail_fd, &head, sizeof head, 0) != (ssize_t)sizeof head || !head.half)
        return 0; /* killed before anything was in it */
    uint64_t at = head.log_size;
    uint64_t dropped = head.total > head.half ? head.total - head.half : 0;
    if (dropped) {
        int n = snprintf(line, sizeof line, "[tradewind: %" PRIu64 " bytes were dropped here]\n",
                         dropped);
        if (file_pwrite_all(log_fd, line, (size_t)n, at) < 0)
            return -1;
        at += (uint64_t)n;
    }
    uint64_t oldest = dropped ? head.total % head.half : 0;
    uint64_t kept = head.total - dropped;
    uint64_t first = dropped ? head.half - oldest : kept;
    if (copy_tail(tail_fd, log_fd, oldest, first, &at) < 0)
        return -1;
    return copy_tail(tail_fd, log_fd, 0, kept - first, &at);
}

int joblog_finish(struct joblog *l)
{
    /* On a full disk the tail stays where it is: nothing is lost, only harder to find. */
    if (l->tail_fd >= 0 && fold_tail(l->tail_fd, l->fd) < 0)
        return -1;
    if (l->size && fsync(l->fd) < 0)
        return -1;
    if (l->tail_fd >= 0)
        unlink(l->tail_path);
    return 0;
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

    if (log_fd >= 0 && fold_tail(tail_fd, log_fd) == 0 && fsync(log_fd) == 0)
        unlink(tail_path);
}
