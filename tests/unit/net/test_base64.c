#include "net/base64.h"

#include "base/auto.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

int main(void)
{
    /* RFC 4648, section 10; the last ones show both alphabets apart. */
    static const struct {
        const char *bytes, *text, *for_urls;
    } cases[] = {
        {"", "", ""},
        {"f", "Zg==", "Zg"},
        {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg==", "Zm9vYg"},
        {"fooba", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
        {"\xfb\xff", "+/8=", "-_8"},
    };
    static const char *const bad[] = {"Z", "Zg=", "Z===", "Zg==Zg==", "Zm9 ", "Zm-_", "=Zg="};
    size_t n;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = strlen(cases[i].bytes);
        AUTO_MEM char *text = base64_encode(cases[i].bytes, len);
        AUTO_MEM char *for_urls = base64_url_encode(cases[i].bytes, len);
        AUTO_MEM unsigned char *back = base64_decode(cases[i].text, &n);
        CHECK(strcmp(text, cases[i].text) == 0 && strcmp(for_urls, cases[i].for_urls) == 0, "%s %s",
              text, for_urls);
        CHECK(back && n == len && memcmp(back, cases[i].bytes, n) == 0, "and back");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!base64_decode(bad[i], &n), "\"%s\" is none", bad[i]);
    return TAP_DONE();
}
