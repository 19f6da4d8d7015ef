#include "spec/reader.h"

#include "base/auto.h"
#include "load.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/tradewind-disk-XXXXXX";

static const char *at(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void make_file(const char *name, long bytes)
{
    FILE *f = fopen(at(name), "w");

    if (f) {
        if (ftruncate(fileno(f), bytes) < 0)
            perror(name);
        fclose(f);
    }
}

static void walks(void)
{
    double bytes;
    bool is_cut;
    size_t left = 100;

    CHECK(disk_size(at("tree"), &left, &bytes, &is_cut) == 0 && bytes == 1500 && !is_cut,
          "files below count, links do not");
    CHECK(left == 100 - 5, "every entry counts once");
    CHECK(disk_size(at("link"), &left, &bytes, &is_cut) == 0 && bytes == 1500,
          "a link that is named itself is followed");
    CHECK(disk_size(at("tree/sub/two"), &left, &bytes, &is_cut) == 0 && bytes == 500, "one file");
    left = 2;
    CHECK(disk_size(at("tree"), &left, &bytes, &is_cut) == 0 && is_cut && left == 0,
          "a walk that is too long is cut");
    errno = 0;
    left = 100;
    CHECK(disk_size(at("gone"), &left, &bytes, &is_cut) < 0 && errno == ENOENT, "nothing there");
    CHECK(disk_size(at("broken"), &left, &bytes, &is_cut) < 0 && errno == ENOENT,
          "a link that leads nowhere");
}

static void paths(void)
{
    static const struct {
        const char *path, *want;
    } cases[] = {
        {"x/y", "/base/x/y"},  {"/x", "/x"},       {"~", "/home/me"},
        {"~/x", "/home/me/x"}, {"~x", "/base/~x"},
    };

    setenv("HOME", "/home/me", 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_MEM char *got = disk_path(cases[i].path, "/base");
        CHECK(same(got, cases[i].want), "%s is %s", cases[i].path, cases[i].want);
    }
}

int main(void)
{
    static const char *const names[] = {"tree/one", "tree/sub/two", "tree/sub/up", "tree/sub",
                                        "tree",     "link",         "broken",      ""};

    if (!mkdtemp(root))
        return TAP_SKIP_ALL("no scratch directory");
    mkdir(at("tree"), 0700);
    mkdir(at("tree/sub"), 0700);
    make_file("tree/one", 1000);
    make_file("tree/sub/two", 500);
    if (symlink("..", at("tree/sub/up")) < 0 || symlink("tree", at("link")) < 0 ||
        symlink("nowhere", at("broken")) < 0)
        return TAP_SKIP_ALL("no symbolic links here");
    walks();
    paths();
    for (size_t i = 0; i < COUNT(names); i++)
        remove(at(names[i]));
    return TAP_DONE();
}
