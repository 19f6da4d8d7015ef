/* packing: gradients in fewer bytes. A packed file is a safetensors file whose metadata have
 * FED_PACKING_KEY, a JSON text that says which of its tensors stand for tensors of F32, and how:
 *
 *     {"kind": "int8", "tensors": {"w": {"scale": 0.015625}}}
 *         w is I8, of the same shape; its numbers times the scale are meant
 *     {"kind": "topk", "tensors": {"w": {"shape": [784, 128], "counts": [12, 0, 9]}}}
 *         w is U32 of shape [21, 2]: index and bits of the numbers that are there, the index
 * rising; all others are 0. 12 of them are among the first FED_PACKING_CHUNK numbers, none among
 *         the next so many, ...
 *
 * The other tensors stand for themselves. Readers that know nothing of this see plain safetensors.
 */
#ifndef FED_PACKING_H
#define FED_PACKING_H

#include "fed/average.h"

#define FED_PACKING_CHUNK 8192

/* "none", "int8" or "topk:0.01", whose share is above 0 and at most 1. */
int fed_packing_parse(const char *text, enum fed_packing *out, double *share_out, struct err *e);

/* A packed file as the plain one that it stands for. */
struct fed_unpacked;
/* f: what fed_file_read found in `packed`, which is borrowed until the end. ERR_USAGE for what is
 * damaged, here or when it is read. */
struct fed_unpacked *fed_unpack(const struct fed_file *f,
                                const struct fed_source *packed,
                                struct err *e);
void fed_unpacked_free(struct fed_unpacked *u);
AUTO_DEFINE(fed_unpacked)
const struct fed_source *fed_unpacked_source(const struct fed_unpacked *u);
enum fed_packing fed_unpacked_kind(const struct fed_unpacked *u);

/* Packs the F32 tensors of a plain safetensors file, each by itself, in bounded memory; the sink is
 * written in order. int8: to the nearest of 255 steps, the largest number being the last; numbers
 * that are not finite are ERR_USAGE. topk: of each tensor the `share` that is largest, rounded up;
 * share 0 = all that are not 0. A tensor that would not become smaller stays as it is. */
int fed_pack(enum fed_packing kind,
             double share,
             const struct fed_source *plain,
             const struct fed_sink *sink,
             struct err *e);

#endif
