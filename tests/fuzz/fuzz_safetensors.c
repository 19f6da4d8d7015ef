/* Any bytes as a safetensors file: what is read lies within it, without holes or overlaps, and as
 * one of two files it is averaged, or refused, without reading or writing outside. What is packed
 * is also read as what it stands for. */
#include "base/mem.h"
#include "fed/packing.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_MAX ((uint64_t)4 << 20)

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

/* Whether it stands for a plain file that is small enough to be read. */
static bool check_packed(const struct fed_file *f, const struct fed_source *packed, struct err *e)
{
    AUTO(fed_unpacked) struct fed_unpacked *u = fed_unpack(f, packed, e);

    if (!u) {
        assert(e->kind == ERR_USAGE && *e->text);
        return false;
    }
    const struct fed_source *plain = fed_unpacked_source(u);
    if (plain->size > PLAIN_MAX)
        return false;
    AUTO_MEM char *bytes = mem_zero((size_t)plain->size, 1);
    if (plain->read(plain->context, 0, bytes, (size_t)plain->size, e) < 0) {
        assert(e->kind == ERR_USAGE && *e->text);
        return false;
    }
    struct fed_source again = fed_source_of_memory("plain", bytes, (size_t)plain->size);
    AUTO(fed_file) struct fed_file *meant = fed_file_read(FED_SAFETENSORS, &again, e);
    assert(meant && !meant->packing && meant->n == f->n);
    check_places(meant, (size_t)plain->size);
    return true;
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
    if (f->packing && !check_packed(f, twice, &e))
        return 0;
    int averaged = fed_average(&a, &sink, &summary, &e);
    /* The mean of numbers that are packed as bytes has to be finite. */
    assert(averaged == 0 || (f->packing && e.kind == ERR_USAGE));
    assert(f->packing || summary.bytes == size);
    return 0;
}
