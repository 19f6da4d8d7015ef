/* Any bytes as a safetensors file: what is read lies within it, without holes or overlaps, and as
 * one of two files it is averaged, or refused, without reading or writing outside. */
#include "fed/average.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int begin(void *context, uint64_t size, struct err *e)
{
    (void)e;
    *(uint64_t *)context = size;
    return 0;
}

static int check_write(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e)
{
    (void)bytes;
    (void)e;
    assert(offset + n <= *(const uint64_t *)context);
    return 0;
}

static void check_places(const struct fed_file *f, size_t size)
{
    uint64_t sum = f->data_offset;

    for (size_t i = 0; i < f->n; i++) {
        const struct fed_tensor *t = &f->tensors[i];
        assert(i == 0 || strcmp(f->tensors[i - 1].name, t->name) < 0);
        assert(t->offset >= f->data_offset && t->offset <= size && t->bytes <= size - t->offset);
        assert(t->bytes % fed_dtype_bytes(t->dtype) == 0);
        sum += t->bytes;
    }
    assert(sum == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fed_source twice[] = {fed_source_of_memory("a", data, size),
                                       fed_source_of_memory("b", data, size)};
    uint64_t written = 0;
    const struct fed_sink sink = {begin, check_write, &written};
    const struct fed_average a = {.format = FED_SAFETENSORS, .inputs = twice, .n = 2, .threads = 1};
    struct fed_summary summary;
    struct err e = {0};
    AUTO(fed_file) struct fed_file *f = fed_file_read(FED_SAFETENSORS, twice, &e);

    if (!f) {
        assert(e.kind == ERR_USAGE && *e.text);
        return 0;
    }
    check_places(f, size);
    assert(fed_average(&a, &sink, &summary, &e) == 0 && summary.bytes == size);
    return 0;
}
