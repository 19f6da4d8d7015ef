#include "base/auto.h"
#include "base/mem.h"
#include "lake/core/path.h"
#include "tap.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void paths(void)
{
    static const char *const good[] = {
        "/a",   "/data/train.json", "/t10:30", "/a#b", "/a@b", "/a b", "/.hidden",
        "/...", "/ä/日本",          "/100%",   "/a.",  "/..a",
    };
    static const struct {
        const char *path, *part;
    } bad[] = {
        {"", "does not begin with '/'"},
        {"a", "does not begin with '/'"},
        {"/", "is a directory"},
        {"/a/", "is a directory"},
        {"//a", "has an empty part"},
        {"/a//b", "has an empty part"},
        {"/./a", "\".\" or \"..\""},
        {"/a/..", "\".\" or \"..\""},
        {"/a\nb", "UTF-8 without control"},
        {"/a\tb", "UTF-8 without control"},
        {"/a\x1b[31m", "UTF-8 without control"},
        {"/a\xff", "UTF-8 without control"},
        {"/a\xed\xa0\x80", "UTF-8 without control"}, /* a surrogate */
    };
    struct err e = {0};

    for (size_t i = 0; i < COUNT(good); i++)
        CHECK(lake_path_check(good[i], &e) == 0, "%s is a path", good[i]);
    for (size_t i = 0; i < COUNT(bad); i++) {
        e = (struct err){0};
        CHECK(lake_path_check(bad[i].path, &e) < 0 && e.kind == ERR_USAGE &&
                  strstr(e.text, bad[i].part),
              "no path %zu: %s", i, bad[i].part);
        CHECK(!strchr(e.text, '\n') && !strchr(e.text, '\x1b') && !strchr(e.text, '\xff'),
              "the message is safe to print");
    }
}

/* Builds "/" and n times c, then more. */
static char *repeated(size_t n, char c, const char *more)
{
    char *out = mem_zero(n + strlen(more) + 2, 1);

    out[0] = '/';
    memset(out + 1, c, n);
    memcpy(out + 1 + n, more, strlen(more));
    return out;
}

static void lengths(void)
{
    struct err e = {0};
    AUTO_MEM char *part = repeated(255, 'a', "/b");
    AUTO_MEM char *long_part = repeated(256, 'a', "/b");
    AUTO_MEM char *whole = mem_zero(4200, 1);

    CHECK(lake_path_check(part, &e) == 0, "a part of 255 bytes");
    CHECK(lake_path_check(long_part, &e) < 0 && strstr(e.text, "255"), "one of 256 is too long");
    for (size_t i = 0; i < 4095; i++)
        whole[i] = i % 200 == 0 ? '/' : 'a';
    CHECK(lake_path_check(whole, &e) == 0, "a path of 4095 bytes");
    whole[4095] = 'a';
    CHECK(lake_path_check(whole, &e) < 0 && strstr(e.text, "4095"), "one of 4096 is too long");
}

static void names(void)
{
    static const char *const good[] = {"S", "HotpotQA", "a.b-c_d", "1", "2026-11"};
    static const char *const bad[] = {"", ".a", "-a", "a b", "a:b", "a@b", "a/b", "ä", "a\n"};
    struct err e = {0};

    for (size_t i = 0; i < COUNT(good); i++)
        CHECK(lake_path_check_set(good[i], &e) == 0, "%s is a name", good[i]);
    for (size_t i = 0; i < COUNT(bad); i++)
        CHECK(lake_path_check_set(bad[i], &e) < 0 && e.kind == ERR_USAGE, "no name %zu", i);
    CHECK(lake_path_check_alias("prod", &e) == 0 && lake_path_check_alias("v2", &e) == 0,
          "aliases");
    CHECK(lake_path_check_alias("12", &e) < 0 && strstr(e.text, "is a number"), "a number is none");
    char name[130];
    memset(name, 'a', 129);
    name[128] = 0;
    CHECK(lake_path_check_set(name, &e) == 0, "128 characters");
    name[128] = 'a';
    name[129] = 0;
    CHECK(lake_path_check_set(name, &e) < 0, "129 are too many");
}

static void escapes(void)
{
    static const struct {
        const char *path, *escaped;
    } cases[] = {
        {"/a", "/a"},       {"/a#b", "/a%23b"},     {"/t10:30", "/t10%3A30"}, {"/a@b", "/a%40b"},
        {"/100%", "/100%"}, {"/a%20b", "/a%2520b"}, {"/%%23", "/%%2523"},     {"/a%zz", "/a%zz"},
        {"/a%2", "/a%2"},   {"/#@:", "/%23%40%3A"}, {"/%25", "/%2525"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_MEM char *escaped = lake_path_escape(cases[i].path);
        AUTO_MEM char *back = lake_path_unescape(cases[i].escaped);
        CHECK(strcmp(escaped, cases[i].escaped) == 0, "%s is escaped: %s", cases[i].path, escaped);
        CHECK(strcmp(back, cases[i].path) == 0, "%s is read back: %s", cases[i].escaped, back);
    }
    AUTO_MEM char *lower = lake_path_unescape("/a%3ab%20c%");
    CHECK(strcmp(lower, "/a:b%20c%") == 0, "either case, and other escapes stay: %s", lower);
}

int main(void)
{
    paths();
    lengths();
    names();
    escapes();
    return TAP_DONE();
}
