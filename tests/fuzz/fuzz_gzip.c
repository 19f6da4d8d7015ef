/* Any bytes as a file that may be packed: what is taken has at most the bytes that were allowed,
 * and packed again it unpacks to the same. */
#include "base/csv.h"
#include "base/mem.h"

#include <zlib.h>

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *read_bytes(
    const void *bytes, size_t size, size_t max_bytes, size_t *len_out, struct err *e)
{
    AUTO_FD int fd = memfd_create("fuzz", MFD_CLOEXEC);
    char path[64];

    assert(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return gzip_read(path, max_bytes, len_out, e);
}

static void packs_again(const char *text, size_t len)
{
    uLong room = compressBound(len) + 64;
    AUTO_MEM unsigned char *packed = mem_zero(room, 1);
    AUTO_MEM char *in = mem_zero(len + 1, 1);
    z_stream z = {0};
    struct err e = {0};
    size_t len_again;

    memcpy(in, text, len);
    assert(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (unsigned char *)in;
    z.avail_in = (uInt)len;
    z.next_out = packed;
    z.avail_out = (uInt)room;
    assert(deflate(&z, Z_FINISH) == Z_STREAM_END);
    size_t n = z.total_out;
    deflateEnd(&z);
    AUTO_MEM char *again = read_bytes(packed, n, BYTES_MAX, &len_again, &e);
    assert(again && len_again == len && memcmp(again, text, len) == 0);
    /* One that was cut off, and one that is too long, are refused. */
    AUTO_MEM char *cut = read_bytes(packed, n - 1, BYTES_MAX, &len_again, &e);
    assert(!cut && e.kind == ERR_USAGE);
    AUTO_MEM char *longer = len ? read_bytes(packed, n, len - 1, &len_again, &e) : NULL;
    assert(!longer && e.kind == ERR_USAGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool is_packed = size > 1 && data[0] == 0x1f && data[1] == 0x8b;
    struct err e = {0};
    size_t len;
    AUTO_MEM char *text = read_bytes(data, size, BYTES_MAX, &len, &e);

    if (!text) {
        assert(e.kind == ERR_USAGE && *e.text && (is_packed || size > BYTES_MAX));
        return 0;
    }
    assert(len <= BYTES_MAX && text[len] == 0);
    if (!is_packed)
        assert(len == size && (!len || memcmp(text, data, len) == 0));
    if (len < 4096)
        packs_again(text, len);
    return 0;
}
