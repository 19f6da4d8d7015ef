/* crc32c: the checksum (Castagnoli) of objects of Google's stores and of TensorFlow's records. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of what came before, whose checksum is crc, and these bytes; 0 = nothing came before. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

#endif
