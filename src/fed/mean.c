#include "fed/mean.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK ((size_t)256 << 10)
static const char name[] = "the mean in the directory for temporary files";

void fed_mean_clear(struct fed_mean *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
}

static int begin(void *context, uint64_t size_bytes, struct err *e)
{
    struct fed_mean *m = context;
    const char *dir = getenv("TMPDIR");
    AUTO_MEM char *path = mem_printf("%s/tradewind-mean-XXXXXX", dir && *dir ? dir : "/tmp");

    m->fd = mkostemp(path, O_CLOEXEC);
    if (m->fd < 0)
        return file_error(e, "create", path);
    unlink(path);
    m->size = size_bytes;
    /* A full disk is found out about now, not in the middle. */
    if (size_bytes && posix_fallocate(m->fd, 0, (off_t)size_bytes) == ENOSPC) {
        errno = ENOSPC;
        return file_error(e, "make room for", name);
    }
    return 0;
}

static int write_at(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e)
{
    const struct fed_mean *m = context;

    return file_pwrite_all(m->fd, bytes, n, offset) < 0 ? file_error(e, "write", name) : 0;
}

struct fed_sink fed_mean_sink(struct fed_mean *m)
{
    return (struct fed_sink){.begin = begin, .write = write_at, .context = m};
}

static int read_at(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    const int *fd = context;

    errno = 0;
    return file_pread_all(*fd, bytes, n, offset) == (ssize_t)n ? 0 : file_error(e, "read", name);
}

struct fed_source fed_mean_source(struct fed_mean *m)
{
    return (struct fed_source){.name = name, .size = m->size, .read = read_at, .context = &m->fd};
}

int fed_mean_finish(struct fed_mean *m, struct err *e)
{
    AUTO_MEM char *chunk = mem_zero(CHUNK, 1);
    AUTO(sha256) struct sha256 *sha = sha256_new();

    for (uint64_t at = 0; at < m->size;) {
        size_t n = m->size - at < CHUNK ? (size_t)(m->size - at) : CHUNK;
        if (read_at(&m->fd, at, chunk, n, e) < 0)
            return -1;
        sha256_add(sha, chunk, n);
        at += n;
    }
    m->digest = sha256_take(sha);
    return 0;
}

struct store_keyed_put fed_mean_put(struct fed_mean *m)
{
    return (struct store_keyed_put){
        .n = m->size,
        .pull = read_at,
        .context = &m->fd,
        .digest = &m->digest,
    };
}
