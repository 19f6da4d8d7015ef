#include "exec/agent/jobdir.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/time.h"
#include "exec/jobfile.h"
#include "exec/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_POLL_US 5000

int jobdir_open(struct jobdir *d, const char *path, struct err *e)
{
    struct stat st;

    *d = (struct jobdir){.lock_fd = -1};
    d->path = realpath(path, NULL);
    if (!d->path && errno == ENOENT)
        return err_set(e, ERR_NOTFOUND, "there is no directory %s", path);
    if (!d->path || stat(d->path, &st) < 0)
        return file_error(e, "open", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_USAGE, "%s is not the directory of a job", path);
    jobdir_reopen(d);
    return 0;
}

void jobdir_reopen(const struct jobdir *d)
{
    struct stat st;

    if (stat(d->path, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
        (void)chmod(d->path, st.st_mode | S_IRWXU);
}

bool jobdir_exists(const struct jobdir *d)
{
    return access(d->path, F_OK) == 0 || errno != ENOENT;
}

void jobdir_clear(struct jobdir *d)
{
    jobdir_unlock(d);
    free(d->path);
    d->path = NULL;
}

char *jobdir_file(const struct jobdir *d, const char *name)
{
    return mem_printf("%s/%s", d->path, name);
}

char *jobdir_root(const struct jobdir *d)
{
    char *root = mem_dup(d->path);
    char *slash = strrchr(root, '/');

    if (slash && slash != root)
        *slash = 0;
    return root;
}

static bool is_named(int fd, const char *path)
{
    struct stat open_file, named;

    return fstat(fd, &open_file) == 0 && stat(path, &named) == 0 &&
           open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

bool jobdir_lock(struct jobdir *d)
{
    AUTO_MEM char *path = jobdir_file(d, "agent.lock");

    if (d->lock_fd >= 0)
        return true;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    /* Between the two the directory may have been removed, and another one may have its name. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_named(fd, path)) {
        close(fd);
        return false;
    }
    d->lock_fd = fd;
    return true;
}

bool jobdir_lock_wait(struct jobdir *d, double seconds)
{
    double until_s = time_monotonic_s() + seconds;

    while (!jobdir_lock(d)) {
        if (time_monotonic_s() >= until_s || !jobdir_exists(d))
            return false;
        usleep(LOCK_POLL_US);
    }
    return true;
}

void jobdir_unlock(struct jobdir *d)
{
    if (d->lock_fd >= 0)
        close(d->lock_fd);
    d->lock_fd = -1;
}

char *jobdir_read_small(const char *path, size_t max, size_t *n_out)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *bytes = NULL;
    size_t n = 0, cap = 0;

    if (fd < 0)
        return NULL;
    for (;;) {
        if (n + 1 >= cap) {
            cap = cap ? cap * 2 : 4096;
            bytes = mem_grow(bytes, cap, 1);
        }
        size_t room = cap - n - 1 < max - n ? cap - n - 1 : max - n;
        ssize_t got = read(fd, bytes + n, room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    bytes[n] = 0;
    if (n_out)
        *n_out = n;
    return bytes;
}

/* The last whole line of the file; false when there is none. */
static bool last_line(int fd, off_t size, char out[static STATE_LINE_MAX])
{
    char tail[STATE_LINE_MAX + 1];
    off_t from = size > STATE_LINE_MAX ? size - STATE_LINE_MAX : 0;
    ssize_t n = pread(fd, tail, STATE_LINE_MAX, from);

    while (n > 0 && tail[n - 1] != '\n')
        n--;
    if (n <= 0)
        return false;
    tail[n - 1] = 0;
    const char *before = memrchr(tail, '\n', (size_t)n - 1);
    const char *line = before ? before + 1 : tail;
    memcpy(out, line, strlen(line) + 1);
    return true;
}

enum job_phase jobdir_phase(const struct jobdir *d)
{
    AUTO_MEM char *path = jobdir_file(d, "state");
    char line[STATE_LINE_MAX];
    struct state_line s;
    struct stat st;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
        return JOB_NEW;
    bool ended = last_line(fd, st.st_size, line) && state_line_parse(line, &s, NULL) == 0 &&
                 s.kind == STATE_ENDED;
    return ended ? JOB_OVER : JOB_STARTED;
}

bool jobdir_read_stop(const struct jobdir *d, struct stop_request *out)
{
    AUTO_MEM char *path = jobdir_file(d, "stop");
    AUTO_MEM char *text = jobdir_read_small(path, STOP_REASON_MAX + 64, NULL);

    *out = (struct stop_request){.grace_s = JOBFILE_GRACE_S};
    if (!text)
        return false;
    char *space = strchr(text, ' ');
    if (!space)
        return true;
    *space = 0;
    space[1 + strcspn(space + 1, "\n")] = 0;
    snprintf(out->reason, sizeof out->reason, "%s", space + 1);
    if (!number_parse(text, &out->grace_s) || out->grace_s < 0)
        out->grace_s = JOBFILE_GRACE_S;
    return true;
}

int jobdir_write_stop(const struct jobdir *d, const struct stop_request *r, struct err *e)
{
    AUTO_MEM char *path = jobdir_file(d, "stop");
    struct stop_request before;
    bool again = jobdir_read_stop(d, &before);

    if (again && before.grace_s <= r->grace_s)
        return 0;
    AUTO_MEM char *text = mem_printf("%.3f %s\n", r->grace_s, r->reason);
    if (file_replace(path, text, strlen(text), 0600, e) < 0)
        return -1;
    return file_sync_dir(d->path, e);
}
