#include "base/crc32c.h"

#include <string.h>

#if defined __x86_64__
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t by_processor(uint32_t crc,
                                                               const unsigned char *bytes,
                                                               size_t n)
{
    uint64_t wide = crc;

    for (; n >= 8; n -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; n; n--)
        crc = _mm_crc32_u8(crc, *bytes++);
    return crc;
}
#endif

/* A nibble at a time, for processors without an instruction. */
static uint32_t by_table(uint32_t crc, const unsigned char *bytes, size_t n)
{
    /* of the reflected polynomial 0x82f63b78 */
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                       0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                       0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return ~by_processor(~crc, bytes, n);
#endif
    return ~by_table(~crc, bytes, n);
}
