/* Reads a file of plain numbers, without a header, as one tensor. tensor_file.c calls it. */
#include "base/arena.h"
#include "fed/formats.h"

int fed_raw_read(struct fed_file *f,
                 enum fed_dtype dtype,
                 const struct fed_source *source,
                 struct err *e)
{
    size_t each = fed_dtype_bytes(dtype);
    uint64_t *count = arena_alloc(f->arena, 1, sizeof *count);
    struct fed_tensor *t = arena_alloc(f->arena, 1, sizeof *t);

    if (!count || !t)
        return err_set(e, ERR_USAGE, "too large");
    if (source->size % each)
        return err_set(e, ERR_USAGE,
                       "%llu bytes are no whole number of %s, %zu bytes each; was it cut?",
                       (unsigned long long)source->size, fed_dtype_name(dtype), each);
    *count = source->size / each;
    *t = (struct fed_tensor){
        .name = "", .dtype = dtype, .rank = 1, .dims = count, .bytes = source->size};
    f->tensors = t;
    f->n = 1;
    return 0;
}
