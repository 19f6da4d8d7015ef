/* Any bytes as a chunk of a set: what is read are rising absolute paths, and written again they
 * read back the same. */
#include "lake/core/chunk.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void reads_back(const struct chunk *c, const uint8_t *data, size_t size)
{
    struct chunk_reader a, b;
    struct lake_entry x, y;

    assert(chunk_open(&a, data, size) == 0);
    assert(chunk_open(&b, c->body.data, c->body.len) == 0);
    for (size_t i = 0; i < c->files; i++) {
        assert(chunk_next(&a, &x) == 1 && chunk_next(&b, &y) == 1);
        assert(strcmp(x.path, y.path) == 0 && x.number == y.number && x.version == y.version &&
               x.size == y.size);
    }
    assert(chunk_next(&b, &y) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct chunk_reader r;
    struct lake_entry entry;
    AUTO_CLEAR(chunk) struct chunk c;
    int got;

    chunk_init(&c);
    if (chunk_open(&r, data, size) < 0)
        return 0;
    while ((got = chunk_next(&r, &entry)) == 1) {
        assert(entry.path[0] == '/' && strlen(entry.path) <= LAKE_PATH_MAX);
        assert(strcmp(buf_str(&c.last), entry.path) < 0);
        assert(entry.number > 0 && entry.version > 0 && entry.size <= INT64_MAX);
        chunk_add(&c, &entry);
    }
    assert(got < 0 || c.files > 0);
    if (c.files > 0)
        reads_back(&c, data, size);
    return 0;
}
