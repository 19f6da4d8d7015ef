/* Tells a job's state and log as frames (exec/frames.h), from these places of its files on,
 * until it is over. */
#include "base/auto.h"
#include "base/file.h"
#include "exec/agent/jobrecord.h"
#include "exec/agent/modes.h"
#include "exec/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Where inotify works it wakes us, and this only notices an agent that died. Where it does not
 * (its instances are bounded), looking so often still tells in under 100 ms. */
#define POLL_NOTIFIED_MS 500
#define POLL_BLIND_MS 40
/* Of the log, before the state has its turn again. */
#define LOG_FRAMES_AT_ONCE 32

struct follower {
    struct jobdir *dir;
    int out_fd, notify_fd, state_fd, log_fd;
    uint64_t state_at, log_at;
    char bytes[FRAME_BYTES_MAX];
};

static int open_part(const struct follower *f, const char *name)
{
    AUTO_MEM char *path = jobdir_file(f->dir, name);

    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Tells one frame of the file. 0 when there is nothing new, -1 when the connection is closed. */
static int tell_some(struct follower *f, int fd, uint64_t *at, enum frame_kind kind)
{
    ssize_t n = fd < 0 ? 0 : pread(fd, f->bytes, sizeof f->bytes, (off_t)*at);

    if (n <= 0)
        return 0;
    if (frames_write(f->out_fd, kind, f->bytes, (size_t)n) < 0)
        return -1;
    *at += (uint64_t)n;
    return 1;
}

/* Everything that is there, the log first: a reader of the end has the whole log.
 * over: the files do not grow any more. */
static int tell(struct follower *f, bool over)
{
    int more = 1;

    if (f->state_fd < 0)
        f->state_fd = open_part(f, "state");
    if (f->log_fd < 0)
        f->log_fd = open_part(f, "log");
    for (int i = 0; more > 0 && (over || i < LOG_FRAMES_AT_ONCE); i++)
        more = tell_some(f, f->log_fd, &f->log_at, FRAME_LOG);
    bool log_left = more > 0;
    for (more = more < 0 ? -1 : 1; more > 0;)
        more = tell_some(f, f->state_fd, &f->state_at, FRAME_STATE);
    return more < 0 ? -1 : log_left;
}

static void drain(int fd)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

    while (fd >= 0 && read(fd, events, sizeof events) > 0)
        continue;
}

enum change { CHANGE_SOME, CHANGE_NONE, CHANGE_UNHEARD };

/* Until something changes, or for a while. UNHEARD: the connection is closed. */
static enum change wait_for_change(struct follower *f)
{
    struct pollfd fds[] = {
        {.fd = f->notify_fd, .events = POLLIN},
        {.fd = f->out_fd, .events = 0},
    };

    int n = poll(fds, 2, f->notify_fd >= 0 ? POLL_NOTIFIED_MS : POLL_BLIND_MS);
    drain(f->notify_fd);
    if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
        return CHANGE_UNHEARD;
    return n > 0 ? CHANGE_SOME : CHANGE_NONE;
}

/* No agent holds the lock, and we do now. */
static enum followed look_after(struct follower *f, struct err *e)
{
    enum job_phase phase = jobdir_phase(f->dir);

    if (phase == JOB_OVER)
        return FOLLOWED_END;
    if (phase == JOB_NEW) {
        jobrecord_recover(f->dir, NULL); /* killed between its groups and its first line */
        return FOLLOWED_NOTHING;
    }
    if (jobrecord_recover(f->dir, e) < 0)
        return FOLLOWED_FAILED;
    return FOLLOWED_GONE;
}

static enum followed unheard(struct err *e)
{
    err_set(e, ERR_IO, "the connection is closed");
    return FOLLOWED_FAILED;
}

static enum followed loop(struct follower *f, struct err *e)
{
    enum change change = CHANGE_NONE;

    for (;;) {
        /* While something changes, the agent is alive. */
        bool alone = change == CHANGE_NONE && jobdir_lock(f->dir);
        if (change == CHANGE_NONE && !alone && !jobdir_exists(f->dir))
            return FOLLOWED_REMOVED;
        enum followed end = alone ? look_after(f, e) : FOLLOWED_FAILED;
        if (alone)
            jobdir_unlock(f->dir);
        bool over = alone ? end == FOLLOWED_END : jobdir_phase(f->dir) == JOB_OVER;
        int told = tell(f, over || alone);
        if (told < 0 || (over && frames_write(f->out_fd, FRAME_END, "", 0) < 0))
            return unheard(e);
        if (over || alone)
            return over ? FOLLOWED_END : end;
        change = told ? CHANGE_SOME : wait_for_change(f);
        if (change == CHANGE_UNHEARD)
            return unheard(e);
    }
}

static int watch_directory(const char *path)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd >= 0 && inotify_add_watch(fd, path, IN_MODIFY | IN_CREATE) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

enum followed follow(
    struct jobdir *d, uint64_t state_offset, uint64_t log_offset, int out_fd, struct err *e)
{
    static struct follower f; /* its buffer is too large for a stack */

    f = (struct follower){.dir = d,
                          .out_fd = out_fd,
                          .notify_fd = watch_directory(d->path),
                          .state_fd = -1,
                          .log_fd = -1,
                          .state_at = state_offset,
                          .log_at = log_offset};
    enum followed end = loop(&f, e);
    int fds[] = {f.notify_fd, f.state_fd, f.log_fd};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return end;
}
