#include "app/core/lake_open.h"
#include "spec/config.h"
#include "tap.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void absolute(void)
{
    static const struct {
        const char *path, *result;
    } cases[] = {
        {"/a/b", "/a/b"},        {"/a//b/", "/a/b"}, {"/a/./b", "/a/b"}, {"/a/../b", "/b"},
        {"/a/b/c/../..", "/a"},  {"/..", "/"},       {"/", "/"},         {"//", "/"},
        {"/a/../../../b", "/b"}, {"/a..", "/a.."},   {"/.a", "/.a"},
    };
    char here[PATH_MAX];
    struct err e = {0};

    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_MEM char *got = app_absolute_path(cases[i].path, &e);
        CHECK(got && strcmp(got, cases[i].result) == 0, "%s is %s: %s", cases[i].path,
              cases[i].result, got);
    }
    AUTO_MEM char *relative = app_absolute_path("x/../y", &e);
    CHECK(getcwd(here, sizeof here) && relative && strncmp(relative, here, strlen(here)) == 0 &&
              strcmp(relative + strlen(here), "/y") == 0,
          "a relative path lies below the current directory: %s", relative);
}

static void settings(void)
{
    static const struct {
        const char *store, *url;
    } cases[] = {
        {"dir:objects", "dir:/home/ann/objects"},
        {"dir:../data", "dir:/home/data"},
        {"dir:/data/lake", "dir:/data/lake"},
        {"s3://bucket/prefix", "s3://bucket/prefix"},
    };
    struct config c = {.home = "/home/ann", .endpoint = "http://e", .region = "r", .path_style = 1};
    struct err e = {0};

    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_MEM char *url = NULL;
        struct store_settings s;
        c.store = cases[i].store;
        CHECK(app_store_settings(&c, &s, &url, &e) == 0 && strcmp(url, cases[i].url) == 0 &&
                  s.url == url && s.path_style == 1 && strcmp(s.endpoint, "http://e") == 0 &&
                  strcmp(s.region, "r") == 0,
              "%s: %s", cases[i].store, url);
    }
}

int main(void)
{
    absolute();
    settings();
    return TAP_DONE();
}
