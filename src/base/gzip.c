#include "base/gzip.h"

#include "base/auto.h"

#include <zlib.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_FIRST_BYTES ((size_t)64 << 10)
#define INFLATE_BYTES (256 << 10)

static void close_gz(gzFile *f)
{
    if (*f)
        gzclose(*f);
}

/* Why a gzread failed: damage is the file's fault, the rest the system's. */
static int read_error(const char *path, gzFile f, struct err *e)
{
    int code;
    const char *why = gzerror(f, &code);

    if (code != Z_ERRNO)
        return err_set(e, ERR_USAGE, "%s: damaged gzip data (%s)", path, why);
    return err_set(e, errno == EISDIR ? ERR_USAGE : ERR_IO, "%s: %s", path, strerror(errno));
}

/* Whole content, unpacked and NUL-terminated; the caller frees it. */
static char *read_all(const char *path, gzFile f, size_t max_bytes, size_t *len_out, struct err *e)
{
    AUTO_MEM char *text = NULL;
    size_t len = 0, cap = 0;

    for (;;) {
        if (cap - len < 2) {
            cap = cap ? cap * 2 : READ_FIRST_BYTES;
            char *more = realloc(text, cap);
            if (!more) {
                err_set(e, ERR_IO, "%s: out of memory at %zu bytes", path, cap);
                return NULL;
            }
            text = more;
        }
        size_t want = cap - len - 1;
        int n = gzread(f, text + len, want < INT32_MAX ? (unsigned)want : INT32_MAX);
        int code = Z_OK;
        if (n == 0)
            gzerror(f, &code); /* a cut file ends like a whole one, but for this code */
        if (n < 0 || code != Z_OK) {
            read_error(path, f, e);
            return NULL;
        }
        len += (size_t)n;
        if (len > max_bytes) {
            err_set(e, ERR_USAGE, "%s: larger than the limit of %zu bytes", path, max_bytes);
            return NULL;
        }
        if (n == 0)
            break;
    }
    text[len] = 0;
    *len_out = len;
    return TAKE(text);
}

char *gzip_read(const char *path, size_t max_bytes, size_t *len_out, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        err_set(e, ERR_USAGE, "%s: %s", path, strerror(errno));
        return NULL;
    }
    __attribute__((cleanup(close_gz))) gzFile f = gzdopen(fd, "rb");
    if (!f) {
        close(fd);
        err_set(e, ERR_IO, "%s: out of memory", path);
        return NULL;
    }
    gzbuffer(f, INFLATE_BYTES);
    return read_all(path, f, max_bytes, len_out, e);
}
