/* tensors: files of tensors made in memory, byte by byte, for tests. */
#ifndef TENSORS_H
#define TENSORS_H

#include "base/buf.h"

/* A safetensors file: 8 bytes length, the header, the data. */
void make_safetensors(struct buf *b, const char *header, const void *data, size_t n);
/* An npy file of version major.0 whose header is this text, padded with spaces and a line feed. */
void make_npy(struct buf *b, unsigned major, const char *header, const void *data, size_t n);

#endif
