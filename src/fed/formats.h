/* formats: one reader for each kind of file. They fill an empty struct fed_file whose arena is
 * there; ERR_USAGE says what is wrong with the file, without its name. */
#ifndef FED_FORMATS_H
#define FED_FORMATS_H

#include "base/json.h"
#include "fed/tensor_file.h"

/* https://huggingface.co/docs/safetensors: 8 bytes length, a JSON object, data without holes. */
int fed_safetensors_read(struct fed_file *f, const struct fed_source *source, struct err *e);
/* The "shape" of an entry. */
struct arena;
int fed_safetensors_shape(struct arena *arena,
                          const json_t *entry,
                          struct fed_tensor *t,
                          struct err *e);
/* The key of its metadata, texts that belong to the file; and the one of them that is read here. */
#define FED_METADATA "__metadata__"
#define FED_PACKING_KEY "tradewind.packing"

/* One is written: all tensors into an object, their offsets from the beginning of the data; then
 * the header, which the data follow. ERR_USAGE when it is larger than what is read. */
struct buf;
void fed_safetensors_add(json_t *root, const struct fed_tensor *t);
int fed_safetensors_header(const json_t *root, struct buf *out, struct err *e);
/* The shape as an array. New reference. */
json_t *fed_safetensors_dims(const struct fed_tensor *t);

/* NumPy's format, versions 1.0 to 3.0: one array of little-endian floats of 2, 4 or 8 bytes. */
int fed_npy_read(struct fed_file *f, const struct fed_source *source, struct err *e);

#endif
