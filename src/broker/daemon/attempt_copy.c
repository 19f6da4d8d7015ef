/* What the agent of a job on a host writes there is copied here as it is told, so that it can be
 * read where all logs are, and so that a new broker knows how much it has. */
#include "base/file.h"
#include "base/mem.h"
#include "broker/daemon/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Heard again at once; the loop has others to listen to. */
#define REREAD_BYTES ((size_t)256 << 10)

static int open_copy(const struct attempt *j, const char *name, bool fresh, int *fd, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/%s", j->directory, name);

    if (*fd < 0)
        *fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (*fd < 0)
        return file_error(e, "open", path);
    return fresh && ftruncate(*fd, 0) < 0 ? file_error(e, "empty", path) : 0;
}

int attempt_copy_open(struct attempt *j, bool fresh, struct err *e)
{
    return open_copy(j, "log", fresh, &j->remote->log_fd, e) < 0 ||
                   open_copy(j, "state", fresh, &j->remote->state_fd, e) < 0
               ? -1
               : 0;
}

int attempt_copy_add(
    struct attempt *j, enum frame_kind kind, const char *bytes, size_t n, struct err *e)
{
    const char *name = kind == FRAME_LOG ? "log" : "state";
    int fd = kind == FRAME_LOG ? j->remote->log_fd : j->remote->state_fd;
    uint64_t at = kind == FRAME_LOG ? j->log_offset : j->state_offset;

    if (kind == FRAME_END || file_write_all(fd, bytes, n) == 0)
        return 0;
    file_error(e, "write the copy of its", name);
    /* What is there in part comes again as a whole. */
    if (ftruncate(fd, (off_t)at) < 0)
        return file_error(e, "cut the copy of its", name);
    return -1;
}

int attempt_reread(struct attempt *j, struct err *e)
{
    struct remote *r = j->remote;

    if (attempt_copy_open(j, false, e) < 0)
        return -1;
    AUTO_MEM char *bytes = mem_zero(REREAD_BYTES, 1);
    for (;;) {
        ssize_t n = pread(r->state_fd, bytes, REREAD_BYTES, (off_t)j->state_offset);
        if (n < 0 && errno != EINTR)
            return file_error(e, "read", "the copy of its state");
        if (n > 0 && attempt_hear_state(j, bytes, (size_t)n, e) < 0)
            return -1;
        if (n == 0)
            break;
    }
    ssize_t n = pread(r->log_fd, bytes, REREAD_BYTES, (off_t)j->log_offset);
    if (n < 0)
        return file_error(e, "read", "the copy of its log");
    attempt_hear_log(j, bytes, (size_t)n);
    return n > 0;
}
