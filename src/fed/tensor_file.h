/* tensor_file: files of tensors in any of the formats: which tensors are in them, and where. Only
 * headers are read; every offset and size in the result lies within the file. */
#ifndef FED_TENSOR_FILE_H
#define FED_TENSOR_FILE_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Headers beyond this are refused before they are read. */
#define FED_HEADER_MAX ((uint64_t)8 << 20)
#define FED_RANK_MAX 64

enum fed_dtype {
    FED_F64,
    FED_F32,
    FED_F16,
    FED_BF16,
    FED_BOOL, /* this and what follows is no number that could be averaged */
    FED_U8,
    FED_I8,
    FED_U16,
    FED_I16,
    FED_U32,
    FED_I32,
    FED_U64,
    FED_I64,
};

/* "F32", as safetensors calls it. */
const char *fed_dtype_name(enum fed_dtype t);
size_t fed_dtype_bytes(enum fed_dtype t);
bool fed_dtype_is_float(enum fed_dtype t);
/* False when there is no such type, or none that is known here. */
bool fed_dtype_from_name(const char *name, enum fed_dtype *out);

enum fed_format {
    FED_SAFETENSORS,
    FED_NPY,
    FED_RAW_F64, /* nothing but little-endian numbers, and so the following */
    FED_RAW_F32,
    FED_RAW_F16,
    FED_RAW_BF16,
};

/* By the end of the file's name (".safetensors", ".npy", ".f64", ".f32", ".f16", ".bf16"). */
bool fed_format_from_path(const char *path, enum fed_format *out);
/* The end of the names of its files, with the dot. */
const char *fed_format_suffix(enum fed_format f);

/* Bytes of a file, an object in a store, or memory. */
struct fed_source {
    const char *name; /* for messages */
    uint64_t size;
    /* All n bytes from offset on, which lie within size; called from several threads at once. */
    int (*read)(void *context, uint64_t offset, void *bytes, size_t n, struct err *e);
    /* The same bytes where they lie, until `leave`; NULL when they cannot be had so. Where both are
     * NULL there is no such thing. */
    const void *(*view)(void *context, uint64_t offset, size_t n);
    void (*leave)(void *context, uint64_t offset, size_t n);
    void *context;
};

/* Both are borrowed. */
struct fed_source fed_source_of_memory(const char *name, const void *bytes, size_t n);

struct fed_tensor {
    const char *name; /* "" where the format has no names; may hold control characters */
    enum fed_dtype dtype;
    size_t rank;
    const uint64_t *dims;
    uint64_t offset; /* from the beginning of the file */
    uint64_t bytes;
};

struct fed_file {
    struct arena *arena; /* holds the tensors */
    uint64_t data_offset;
    struct fed_tensor *tensors; /* by name; together they are all bytes from data_offset on */
    size_t n;
    bool column_major;   /* npy: the first index runs fastest */
    const char *packing; /* safetensors: how it is packed (fed/packing.h); NULL = it is not */
};

/* ERR_USAGE, with the source's name, for a file that is damaged or of a kind that is not read. */
struct fed_file *fed_file_read(enum fed_format format,
                               const struct fed_source *source,
                               struct err *e);
void fed_file_free(struct fed_file *f);
AUTO_DEFINE(fed_file)

/* Whether both have the same tensors, types and shapes; ERR_USAGE names the first that differs.
 * at_out, if not NULL, gets for each tensor of `first` its offset in `other`. */
int fed_file_match(const struct fed_file *first,
                   const char *first_name,
                   const struct fed_file *other,
                   uint64_t *at_out,
                   struct err *e);

/* For qsort. Empty tensors come before the one that begins at the same place. */
int fed_tensor_by_place(const void *a, const void *b);

/* Puts `tensor "a.b"` in front of the error, cut and fit for a terminal; nothing for a tensor
 * without a name. Returns -1. */
int fed_tensor_error(struct err *e, const char *name);

/* ---- for the readers of formats ---- */

/* Bytes of a tensor of this shape; false when the number has no 64 bits. */
bool fed_tensor_size(enum fed_dtype t, const uint64_t *dims, size_t rank, uint64_t *bytes_out);

#endif
