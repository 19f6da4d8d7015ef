#include "exec/agent/stateout.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESERVE_BYTES 65536
#define FULL_TRIES 60
#define FULL_POLL_S 1

static char *reserve_path(const struct stateout *s)
{
    return mem_printf("%s/agent.reserve", s->dir);
}

int stateout_open(struct stateout *s, const char *dir, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/state", dir);

    *s = (struct stateout){.fd = -1, .dir = mem_dup(dir)};
    s->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (s->fd < 0)
        return file_error(e, "write", path);
    AUTO_MEM char *reserve = reserve_path(s);
    AUTO_FD int fd = open(reserve, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)posix_fallocate(fd, 0, RESERVE_BYTES); /* without it the end waits for room */
    return 0;
}

static int flush(struct stateout *s)
{
    while (s->n_pending) {
        ssize_t n = write(s->fd, s->pending, s->n_pending);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        s->n_pending -= (size_t)n;
        memmove(s->pending, s->pending + n, s->n_pending);
    }
    return 0;
}

static void append(struct stateout *s, const struct state_line *line)
{
    char text[STATE_LINE_MAX];
    size_t n = strlen(state_line_text(line, text));

    if (n > sizeof s->pending - s->n_pending)
        return;
    memcpy(s->pending + s->n_pending, text, n);
    s->n_pending += n;
}

void stateout_sample(struct stateout *s, const struct state_line *line)
{
    if (flush(s) == 0) {
        append(s, line);
        flush(s);
    }
}

int stateout_add(struct stateout *s, const struct state_line *line)
{
    append(s, line);
    return flush(s);
}

int stateout_finish(struct stateout *s, const struct state_line *ended)
{
    AUTO_MEM char *reserve = reserve_path(s);

    append(s, ended);
    for (int i = 0; flush(s) < 0; i++) {
        if (i == FULL_TRIES)
            return -1;
        if (unlink(reserve) < 0)
            sleep(FULL_POLL_S);
    }
    int result = fsync(s->fd);
    unlink(reserve);
    file_sync_dir(s->dir, NULL);
    return result;
}

void stateout_close(struct stateout *s)
{
    if (s->fd >= 0)
        close(s->fd);
    free(s->dir);
    *s = (struct stateout){.fd = -1};
}
