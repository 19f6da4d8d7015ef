/* The agent's SHA-256: the examples of FIPS 180-4, and OpenSSL's answer for every way to fill a
 * block. */
#include "base/hash.h"
#include "exec/digest.h"
#include "tap.h"

#include <stdbool.h>
#include <string.h>

static void test_examples(void)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct digest d;
        char text[DIGEST_TEXT];
        digest_begin(&d);
        digest_add(&d, cases[i].text, strlen(cases[i].text));
        CHECK(!strcmp(digest_end(&d, text), cases[i].digest), "\"%s\"", cases[i].text);
    }
}

/* In two pieces, cut everywhere. */
static bool agrees(const unsigned char *bytes, size_t n, bool fast)
{
    struct sha256_digest wanted = sha256_of(bytes, n);
    char wanted_text[SHA256_HEX], text[DIGEST_TEXT];

    sha256_text(&wanted, wanted_text);
    for (size_t cut = 0; cut <= n; cut++) {
        struct digest d;
        digest_begin(&d);
        d.fast = d.fast && fast;
        digest_add(&d, bytes, cut);
        digest_add(&d, bytes + cut, n - cut);
        if (strcmp(digest_end(&d, text), wanted_text) != 0)
            return false;
    }
    return true;
}

int main(void)
{
    unsigned char bytes[200];
    size_t good = 0, good_plainly = 0;

    test_examples();
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37 + i / 7);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        good += agrees(bytes, n, true);
        good_plainly += agrees(bytes, n, false);
    }
    CHECK(good == sizeof bytes + 1, "lengths up to 200, cut everywhere");
    CHECK(good_plainly == sizeof bytes + 1, "the same without the processor's help");
    return TAP_DONE();
}
