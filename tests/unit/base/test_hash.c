#include "base/hash.h"
#include "tap.h"

#include <string.h>

int main(void)
{
    unsigned char block[1000];
    int noticed = 0;

    /* Published XXH3 test vector: the hash of no bytes with seed 0. */
    CHECK(hash_xxh3("", 0) == 0x2D06800538D394C2u, "the hash of nothing is the published one");
    CHECK(hash_text("abc") == hash_xxh3("abc", 3), "text is hashed without its NUL");
    CHECK(hash_text("abc") != hash_text("ABC"), "case counts");

    memset(block, 7, sizeof block);
    uint64_t whole = hash_xxh3(block, sizeof block);
    for (size_t i = 0; i < sizeof block; i++) {
        block[i] ^= 1;
        noticed += hash_xxh3(block, sizeof block) != whole;
        block[i] ^= 1;
    }
    CHECK(noticed == sizeof block, "every flipped bit is noticed");
    return TAP_DONE();
}
