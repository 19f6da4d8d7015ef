/* The checksum that tests/servers/gcs gives objects: a table of bytes made from the polynomial,
 * apart from what the program itself computes it with. */
#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const unsigned char *bytes, size_t n);
uint32_t crc32c(const unsigned char *bytes, size_t n)
{
    uint32_t table[256], crc = 0xffffffff;

    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] & 1 ? table[i] >> 1 ^ 0x82f63b78 : table[i] >> 1;
    }
    for (size_t i = 0; i < n; i++)
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}
