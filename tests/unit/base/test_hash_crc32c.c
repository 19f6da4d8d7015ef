#include "base/hash.h"

#include "tap.h"

#include <string.h>

int main(void)
{
    /* RFC 3720, appendix B.4, and the check value of the polynomial. */
    unsigned char zeros[32] = {0}, ones[32], rising[32];
    static const char digits[] = "123456789";

    memset(ones, 0xff, sizeof ones);
    for (size_t i = 0; i < sizeof rising; i++)
        rising[i] = (unsigned char)i;
    CHECK(hash_crc32c(0, zeros, 32) == 0x8a9136aa, "zeros");
    CHECK(hash_crc32c(0, ones, 32) == 0x62a8ab43, "ones");
    CHECK(hash_crc32c(0, rising, 32) == 0x46dd794e, "rising");
    CHECK(hash_crc32c(0, digits, 9) == 0xe3069283, "digits");
    for (size_t i = 0; i <= 9; i++)
        CHECK(hash_crc32c(hash_crc32c(0, digits, i), digits + i, 9 - i) == 0xe3069283,
              "in two pieces, %zu", i);
    CHECK(hash_crc32c(0, NULL, 0) == 0, "nothing");
    return TAP_DONE();
}
