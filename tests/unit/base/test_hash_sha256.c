#include "base/hash.h"
#include "tap.h"

#include <string.h>

/* FIPS 180-2, appendix B, and the empty message (NIST's example values). */
static const struct {
    const char *message;
    const char *digest;
} published[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void test_published(void)
{
    char text[SHA256_HEX];
    AUTO(sha256) struct sha256 *s = sha256_new();

    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const char *m = published[i].message;
        struct sha256_digest whole = sha256_of(m, strlen(m));
        CHECK(strcmp(sha256_text(&whole, text), published[i].digest) == 0, "digest of \"%s\"", m);
        for (size_t k = 0; m[k]; k++)
            sha256_add(s, m + k, 1);
        struct sha256_digest pieces = sha256_take(s);
        CHECK(sha256_equal(&whole, &pieces), "the same byte by byte, the state used again");
    }
}

static void test_million(void)
{
    char text[SHA256_HEX], block[1000];
    AUTO(sha256) struct sha256 *s = sha256_new();

    memset(block, 'a', sizeof block);
    for (int i = 0; i < 1000; i++)
        sha256_add(s, block, sizeof block);
    struct sha256_digest d = sha256_take(s);
    CHECK(strcmp(sha256_text(&d, text),
                 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0,
          "a million times \"a\" (FIPS 180-2, B.3)");
}

/* The same million, hashed in two halves by two who share only the state between them. */
static void test_resume(void)
{
    char text[SHA256_HEX], block[SHA256_BLOCK];
    AUTO(sha256) struct sha256 *first = sha256_new(), *second = sha256_new();
    const uint64_t before = 7000 * (uint64_t)SHA256_BLOCK;

    memset(block, 'a', sizeof block);
    for (uint64_t i = 0; i < before; i += sizeof block)
        sha256_add(first, block, sizeof block);
    struct sha256_digest state = sha256_state(first);
    sha256_resume(second, &state, before);
    for (uint64_t i = before; i < 1000000; i += sizeof block)
        sha256_add(second, block, 1000000 - i < sizeof block ? 1000000 - i : sizeof block);
    struct sha256_digest d = sha256_take(second);
    CHECK(strcmp(sha256_text(&d, text),
                 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0,
          "a state is gone on from");
    /* FIPS 180-2, 5.3.2: the initial hash value. */
    struct sha256_digest start = sha256_state(second);
    CHECK(strcmp(sha256_text(&start, text),
                 "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19") == 0,
          "the first state is the published one");
    sha256_resume(second, &start, UINT64_C(1) << 40);
    sha256_take(second);
    sha256_add(second, "abc", 3);
    d = sha256_take(second);
    CHECK(strcmp(sha256_text(&d, text), published[1].digest) == 0, "and forgotten when taken");
}

static void test_parse(void)
{
    struct sha256_digest d, upper;
    struct err e = {0};
    char text[SHA256_HEX];

    CHECK(sha256_parse(published[1].digest, &d, &e) == 0 &&
              strcmp(sha256_text(&d, text), published[1].digest) == 0,
          "text and back");
    CHECK(sha256_parse("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", &upper,
                       &e) == 0 &&
              sha256_equal(&d, &upper),
          "capitals are read too");
    CHECK(sha256_parse("ba78", &d, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "ba78"),
          "too short: the text is quoted");
    CHECK(sha256_parse("xa7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", &d, &e) <
              0,
          "not hexadecimal");
}

int main(void)
{
    test_published();
    test_million();
    test_resume();
    test_parse();
    return TAP_DONE();
}
