/* Reads and writes headers of safetensors files. fed_file_open and the packing functions call
 * it. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "fed/formats.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 8

static int too_large(struct err *e)
{
    return err_set(e, ERR_USAGE, "the header describes more tensors than are read");
}

static int bad_entry(struct err *e, const char *what)
{
    return err_set(e, ERR_USAGE, "damaged header: %s", what);
}

/* ---- one tensor ---- */

static int read_dtype(const json_t *entry, struct fed_tensor *t, struct err *e)
{
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));

    if (!dtype)
        return bad_entry(e, "no dtype");
    if (!fed_dtype_from_name(dtype, &t->dtype))
        return err_set(e, ERR_USAGE,
                       "dtype %.20s is not averaged; F64, F32, F16 and BF16 are, integers and BOOL "
                       "are copied",
                       dtype);
    return 0;
}

int fed_safetensors_shape(struct arena *arena,
                          const json_t *entry,
                          struct fed_tensor *t,
                          struct err *e)
{
    const json_t *shape = json_object_get(entry, "shape");

    if (!json_is_array(shape))
        return bad_entry(e, "no shape");
    t->rank = json_array_size(shape);
    if (t->rank > FED_RANK_MAX)
        return bad_entry(e, "too many dimensions");
    uint64_t *dims = arena_alloc(arena, t->rank + 1, sizeof *dims);
    if (!dims)
        return too_large(e);
    for (size_t i = 0; i < t->rank; i++) {
        const json_t *dim = json_array_get(shape, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return bad_entry(e, "a dimension is not a whole number");
        dims[i] = (uint64_t)json_integer_value(dim);
    }
    t->dims = dims;
    return 0;
}

/* Offsets are counted from the end of the header. */
static int read_place(const struct fed_file *f,
                      const json_t *entry,
                      uint64_t data_bytes,
                      struct fed_tensor *t,
                      struct err *e)
{
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);

    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
        json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
        return bad_entry(e, "data_offsets are not two rising whole numbers");
    uint64_t from = (uint64_t)json_integer_value(begin), to = (uint64_t)json_integer_value(end);
    if (to > data_bytes)
        return err_set(e, ERR_USAGE,
                       "ends at byte %llu of the data, of which there are %llu; was the file cut?",
                       (unsigned long long)to, (unsigned long long)data_bytes);
    if (!fed_tensor_size(t->dtype, t->dims, t->rank, &t->bytes) || t->bytes != to - from)
        return bad_entry(e, "data_offsets and shape disagree");
    t->offset = f->data_offset + from;
    return 0;
}

static int read_tensor(
    struct fed_file *f, const char *name, const json_t *entry, uint64_t data_bytes, struct err *e)
{
    struct fed_tensor *t = &f->tensors[f->n];

    t->name = arena_dup(f->arena, name);
    if (!t->name)
        return too_large(e);
    if (read_dtype(entry, t, e) < 0 || fed_safetensors_shape(f->arena, entry, t, e) < 0 ||
        read_place(f, entry, data_bytes, t, e) < 0)
        return fed_tensor_error(e, name);
    f->n++;
    return 0;
}

/* ---- all of them ---- */

/* The format allows neither holes, in which anything could be hidden, nor shared bytes. */
static int check_cover(struct fed_file *f, uint64_t file_bytes, struct err *e)
{
    uint64_t at = f->data_offset;

    if (f->n)
        qsort(f->tensors, f->n, sizeof *f->tensors, fed_tensor_by_place);
    for (size_t i = 0; i < f->n; i++) {
        const struct fed_tensor *t = &f->tensors[i];
        if (t->offset != at) {
            err_set(e, ERR_USAGE, "damaged header: it %s the tensor before it",
                    t->offset < at ? "overlaps" : "leaves a hole after");
            return fed_tensor_error(e, t->name);
        }
        at += t->bytes;
    }
    if (at != file_bytes)
        return err_set(e, ERR_USAGE, "%llu bytes at its end belong to no tensor",
                       (unsigned long long)(file_bytes - at));
    return 0;
}

static int read_metadata(struct fed_file *f, json_t *metadata, struct err *e)
{
    const char *key, *packing = json_string_value(json_object_get(metadata, FED_PACKING_KEY));
    json_t *value;

    if (!json_is_object(metadata))
        return bad_entry(e, FED_METADATA " is not an object");
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return bad_entry(e, FED_METADATA " holds something else than texts");
    }
    f->packing = packing ? arena_dup(f->arena, packing) : NULL;
    return packing && !f->packing ? too_large(e) : 0;
}

static int read_tensors(struct fed_file *f, json_t *root, uint64_t file_bytes, struct err *e)
{
    const char *name;
    json_t *entry;

    f->tensors = arena_alloc(f->arena, json_object_size(root) + 1, sizeof *f->tensors);
    if (!f->tensors)
        return too_large(e);
    json_object_foreach(root, name, entry)
    {
        if (!strcmp(name, FED_METADATA)) {
            if (read_metadata(f, entry, e) < 0)
                return -1;
        } else if (read_tensor(f, name, entry, file_bytes - f->data_offset, e) < 0) {
            return -1;
        }
    }
    return check_cover(f, file_bytes, e);
}

/* The length of the header, which is known to lie within the file. */
static int read_length(const struct fed_source *source, uint64_t *out, struct err *e)
{
    unsigned char bytes[LENGTH_BYTES];
    uint64_t n = 0;

    if (source->size < LENGTH_BYTES)
        return err_set(e, ERR_USAGE, "too short for a safetensors file: %llu bytes",
                       (unsigned long long)source->size);
    if (source->read(source->context, 0, bytes, sizeof bytes, e) < 0)
        return -1;
    for (size_t i = LENGTH_BYTES; i-- > 0;)
        n = n << 8 | bytes[i];
    if (n > source->size - LENGTH_BYTES)
        return err_set(e, ERR_USAGE,
                       "its header has %llu bytes, the file %llu; cut, or no safetensors file",
                       (unsigned long long)n, (unsigned long long)source->size);
    if (n > FED_HEADER_MAX)
        return err_set(e, ERR_USAGE, "its header has %llu bytes, of at most %llu",
                       (unsigned long long)n, (unsigned long long)FED_HEADER_MAX);
    *out = n;
    return 0;
}

int fed_safetensors_read(struct fed_file *f, const struct fed_source *source, struct err *e)
{
    uint64_t n = 0;
    json_error_t why;

    if (read_length(source, &n, e) < 0)
        return -1;
    AUTO_MEM char *header = mem_zero((size_t)n + 1, 1);
    if (source->read(source->context, LENGTH_BYTES, header, (size_t)n, e) < 0)
        return -1;
    AUTO_JSON json_t *root = json_loadb(header, (size_t)n, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        return err_set(e, ERR_USAGE, "damaged header: JSON, byte %d: %s", why.position, why.text);
    if (!json_is_object(root) || header[0] != '{')
        return bad_entry(e, "no JSON object");
    f->data_offset = LENGTH_BYTES + n;
    return read_tensors(f, root, source->size, e);
}

/* ---- writing ---- */

json_t *fed_safetensors_dims(const struct fed_tensor *t)
{
    json_t *shape = json_array();

    for (size_t i = 0; i < t->rank; i++)
        json_array_append_new(shape, json_integer((json_int_t)t->dims[i]));
    return shape;
}

void fed_safetensors_add(json_t *root, const struct fed_tensor *t)
{
    json_object_set_new(root, t->name,
                        json_pack("{s:s, s:o, s:[I, I]}", "dtype", fed_dtype_name(t->dtype),
                                  "shape", fed_safetensors_dims(t), "data_offsets",
                                  (json_int_t)t->offset, (json_int_t)(t->offset + t->bytes)));
}

int fed_safetensors_header(const json_t *root, struct buf *out, struct err *e)
{
    AUTO_MEM char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
    size_t n = text ? strlen(text) : 0, padding = (LENGTH_BYTES - n % LENGTH_BYTES) % LENGTH_BYTES;
    unsigned char length[LENGTH_BYTES];

    if (n + padding > FED_HEADER_MAX || !text)
        return err_set(e, ERR_USAGE, "the tensors are too many");
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        length[i] = (unsigned char)((uint64_t)(n + padding) >> 8 * i);
    buf_add(out, length, sizeof length);
    buf_add(out, text, n);
    buf_add(out, "        ", padding);
    return 0;
}
