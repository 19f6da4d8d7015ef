/* Standard input as a temporary file, so that put can read it twice. source.c calls it. */
#include "lake/put/internal.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)1 << 20)

static int nameless_file(struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    const char *dir = tmp && *tmp ? tmp : "/tmp";
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    AUTO_MEM char *name = mem_printf("%s/tradewind-XXXXXX", dir);
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return file_error(e, "create a temporary file in", dir);
    unlink(name);
    return fd;
}

static int copy_stdin(int fd, const struct source_watch *watch, struct err *e)
{
    AUTO_MEM char *piece = mem_zero(1, PIECE_BYTES);
    uint64_t got = 0;

    for (;;) {
        if (watch && watch->go_on && !watch->go_on(watch->context, got))
            return err_set(e, ERR_RETRY, "interrupted");
        /* Unlike read, poll always comes back when a signal arrives. */
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&p, 1, -1) < 0 && errno == EINTR)
            continue;
        ssize_t n = read(STDIN_FILENO, piece, PIECE_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_error(e, "read", "standard input");
        if (n == 0)
            return 0;
        if (file_write_all(fd, piece, (size_t)n) < 0)
            return file_error(e, "keep", "standard input in a temporary file");
        got += (uint64_t)n;
    }
}

int spool_stdin(const struct source_watch *watch, struct err *e)
{
    int fd = nameless_file(e);

    if (fd < 0)
        return -1;
    if (copy_stdin(fd, watch, e) == 0)
        return fd;
    close(fd);
    return -1;
}
