#include "fed/tensor_file.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "fed/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A header of FED_HEADER_MAX describes at most this much: 60 of its bytes make a tensor. */
#define TABLE_MAX ((size_t)64 << 20)
#define NAME_SHOWN 100
#define SHAPE_TEXT 120

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
    [FED_F64] = {"F64", 8},   [FED_F32] = {"F32", 4},   [FED_F16] = {"F16", 2},
    [FED_BF16] = {"BF16", 2}, [FED_BOOL] = {"BOOL", 1}, [FED_U8] = {"U8", 1},
    [FED_I8] = {"I8", 1},     [FED_U16] = {"U16", 2},   [FED_I16] = {"I16", 2},
    [FED_U32] = {"U32", 4},   [FED_I32] = {"I32", 4},   [FED_U64] = {"U64", 8},
    [FED_I64] = {"I64", 8},
};
#define N_DTYPES (sizeof dtypes / sizeof dtypes[0])

static const char *const suffixes[] = {
    [FED_SAFETENSORS] = ".safetensors",
    [FED_NPY] = ".npy",
    [FED_RAW_F64] = ".f64",
    [FED_RAW_F32] = ".f32",
    [FED_RAW_F16] = ".f16",
    [FED_RAW_BF16] = ".bf16",
};

const char *fed_dtype_name(enum fed_dtype t)
{
    return dtypes[t].name;
}

size_t fed_dtype_bytes(enum fed_dtype t)
{
    return dtypes[t].bytes;
}

bool fed_dtype_is_float(enum fed_dtype t)
{
    return t <= FED_BF16;
}

bool fed_dtype_from_name(const char *name, enum fed_dtype *out)
{
    for (size_t i = 0; i < N_DTYPES; i++)
        if (!strcmp(dtypes[i].name, name)) {
            *out = (enum fed_dtype)i;
            return true;
        }
    return false;
}

bool fed_format_from_path(const char *path, enum fed_format *out)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t n = strlen(suffixes[i]);
        if (length > n && !strcmp(path + length - n, suffixes[i])) {
            *out = (enum fed_format)i;
            return true;
        }
    }
    return false;
}

const char *fed_format_suffix(enum fed_format f)
{
    return suffixes[f];
}

/* ---- sources ---- */

static int read_memory(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    (void)e;
    memcpy(bytes, (const char *)context + offset, n);
    return 0;
}

struct fed_source fed_source_of_memory(const char *name, const void *bytes, size_t n)
{
    struct fed_source source = {.name = name, .size = n, .read = read_memory};

    memcpy(&source.context, &bytes, sizeof bytes); /* read_memory does not write there */
    return source;
}

/* ---- what messages say ---- */

/* What comes out of a file must not steer a terminal. */
static void clean(char *text)
{
    size_t left = strlen(text), width;

    for (char *at = text; left; at += width, left -= width) {
        uint32_t c = 0;
        width = utf8_decode(at, left, &c);
        if (!width || c < 0x20 || (c >= 0x7f && c < 0xa0)) {
            width = width ? width : 1;
            memset(at, '?', width);
        }
    }
}

int fed_tensor_error(struct err *e, const char *name)
{
    char shown[NAME_SHOWN + 4];

    if (!*name)
        return -1;
    int length = snprintf(shown, NAME_SHOWN, "%s", name);
    if (length >= NAME_SHOWN)
        memcpy(shown + NAME_SHOWN - 1, "...", 4);
    clean(shown);
    return err_wrap(e, "tensor \"%s\"", shown);
}

/* ---- reading ---- */

bool fed_tensor_size(enum fed_dtype t, const uint64_t *dims, size_t rank, uint64_t *bytes_out)
{
    uint64_t bytes = fed_dtype_bytes(t);
    bool empty = false, fits = true;

    for (size_t i = 0; i < rank; i++) {
        empty |= dims[i] == 0;
        fits = fits && !__builtin_mul_overflow(bytes, dims[i], &bytes);
    }
    *bytes_out = empty ? 0 : bytes;
    return fits || empty;
}

/* Nothing but numbers: one tensor, of one dimension. */
static int read_raw(struct fed_file *f,
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
                       "%llu bytes are not a whole number of %s, %zu bytes each; was it cut?",
                       (unsigned long long)source->size, fed_dtype_name(dtype), each);
    *count = source->size / each;
    *t = (struct fed_tensor){
        .name = "", .dtype = dtype, .rank = 1, .dims = count, .bytes = source->size};
    f->tensors = t;
    f->n = 1;
    return 0;
}

static int read_header(struct fed_file *f,
                       enum fed_format format,
                       const struct fed_source *source,
                       struct err *e)
{
    static const enum fed_dtype raw[] = {[FED_RAW_F64] = FED_F64,
                                         [FED_RAW_F32] = FED_F32,
                                         [FED_RAW_F16] = FED_F16,
                                         [FED_RAW_BF16] = FED_BF16};

    return format == FED_SAFETENSORS ? fed_safetensors_read(f, source, e)
           : format == FED_NPY       ? fed_npy_read(f, source, e)
                                     : read_raw(f, raw[format], source, e);
}

int fed_tensor_by_place(const void *a, const void *b)
{
    const struct fed_tensor *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_name(const void *a, const void *b)
{
    const struct fed_tensor *x = a, *y = b;

    return strcmp(x->name, y->name);
}

struct fed_file *fed_file_read(enum fed_format format,
                               const struct fed_source *source,
                               struct err *e)
{
    AUTO(fed_file) struct fed_file *f = mem_zero(1, sizeof *f);

    f->arena = arena_new(TABLE_MAX);
    if (read_header(f, format, source, e) < 0) {
        if (e)
            clean(e->text);
        err_wrap(e, "%s", source->name);
        return NULL;
    }
    if (f->n)
        qsort(f->tensors, f->n, sizeof *f->tensors, by_name);
    return TAKE(f);
}

void fed_file_free(struct fed_file *f)
{
    if (!f)
        return;
    arena_free(f->arena);
    free(f);
}

static const char *shape_text(const struct fed_tensor *t, char out[static SHAPE_TEXT])
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, SHAPE_TEXT - 1);
    buf_puts(&b, "[");
    for (size_t i = 0; i < t->rank; i++)
        buf_printf(&b, "%s%llu", i ? ", " : "", (unsigned long long)t->dims[i]);
    buf_puts(&b, "]");
    snprintf(out, SHAPE_TEXT, "%s", buf_str(&b));
    return out;
}

/* ---- matching ---- */

/* With more than one dimension above 1 the order of the numbers in the file differs. */
static bool order_matters(const struct fed_tensor *t)
{
    size_t wide = 0;

    for (size_t i = 0; i < t->rank; i++)
        wide += t->dims[i] != 1;
    return wide > 1;
}

static int match_tensor(const struct fed_tensor *a,
                        const char *first_name,
                        const struct fed_tensor *b,
                        struct err *e)
{
    char x[SHAPE_TEXT], y[SHAPE_TEXT];

    if (a->dtype != b->dtype)
        return err_set(e, ERR_USAGE, "its numbers are %s, in %s they are %s",
                       fed_dtype_name(b->dtype), first_name, fed_dtype_name(a->dtype));
    if (a->rank != b->rank || (a->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0))
        return err_set(e, ERR_USAGE, "its shape is %s, in %s it is %s", shape_text(b, y),
                       first_name, shape_text(a, x));
    return 0;
}

/* One of both lists ended, or they differ here: the lesser name is missing in the other. */
static int missing_tensor(const struct fed_file *first,
                          const char *first_name,
                          const struct fed_file *other,
                          size_t i,
                          struct err *e)
{
    bool here = i < other->n &&
                (i >= first->n || strcmp(other->tensors[i].name, first->tensors[i].name) < 0);

    err_set(e, ERR_USAGE, here ? "is here, but not in %s" : "is missing here, but %s has it",
            first_name);
    return fed_tensor_error(e, here ? other->tensors[i].name : first->tensors[i].name);
}

int fed_file_match(const struct fed_file *first,
                   const char *first_name,
                   const struct fed_file *other,
                   uint64_t *at_out,
                   struct err *e)
{
    for (size_t i = 0; i < first->n || i < other->n; i++) {
        if (i >= first->n || i >= other->n ||
            strcmp(first->tensors[i].name, other->tensors[i].name) != 0)
            return missing_tensor(first, first_name, other, i, e);
        if (match_tensor(&first->tensors[i], first_name, &other->tensors[i], e) < 0)
            return fed_tensor_error(e, first->tensors[i].name);
        if (first->column_major != other->column_major && order_matters(&first->tensors[i]))
            return err_set(e, ERR_USAGE,
                           "saved in %s order, %s in %s order; numpy.save(FILE, "
                           "numpy.ascontiguousarray(a)) saves in C order",
                           other->column_major ? "Fortran" : "C", first_name,
                           first->column_major ? "Fortran" : "C");
        if (at_out)
            at_out[i] = other->tensors[i].offset;
    }
    return 0;
}
