/* tree: files that appear whole or not at all, with and without a name before that. */
#include "lake/put/tree.h"

#include "base/auto.h"
#include "tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t count_names(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n - 2; /* . and .. */
}

static bool holds(int dir, const char *name, const char *text)
{
    char got[16] = "";
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    bool same = fd >= 0 && read(fd, got, sizeof got - 1) >= 0 && strcmp(got, text) == 0;

    if (fd >= 0)
        close(fd);
    return same;
}

static int write_file(struct tree *t, const char *text, bool replace, struct err *e)
{
    AUTO_CLEAR(tree_file) struct tree_file f = {.fd = -1};
    size_t n = strlen(text);

    if (tree_file_create(&f, t, t->root, false, e) < 0 || write(f.fd, text, n) != (ssize_t)n)
        return -1;
    return tree_file_place(&f, "file", replace, e);
}

static void appears_whole(struct tree *t, const char *how)
{
    struct err e = {0};

    CHECK(write_file(t, "one", false, &e) == 0 && holds(t->root, "file", "one"), "%s: written: %s",
          how, e.text);
    CHECK(write_file(t, "two", false, &e) < 0 && e.kind == ERR_USAGE &&
              holds(t->root, "file", "one"),
          "%s: nothing is replaced unasked: %s", how, e.text);
    CHECK(write_file(t, "two", true, &e) == 0 && holds(t->root, "file", "two"), "%s: replaced: %s",
          how, e.text);
    CHECK(count_names(t->path) == 1, "%s: no other names stay", how);
    unlinkat(t->root, "file", 0);
}

static void while_written(struct tree *t)
{
    struct tree_file f, g;
    struct err e = {0};

    CHECK(tree_file_create(&f, t, t->root, false, &e) == 0 && tree_is_leftover(f.name),
          "a temporary name: %s", f.name);
    CHECK(tree_file_create(&g, t, t->root, false, &e) == 0 && strcmp(f.name, g.name) != 0,
          "another: %s", g.name);
    CHECK(count_names(t->path) == 2, "both can be seen");
    tree_file_clear(&f);
    tree_file_clear(&g);
    CHECK(count_names(t->path) == 0, "and both are gone");
}

/* What a kill would leave. */
static void leaves_nothing(struct tree *t)
{
    struct tree_file f;
    struct err e = {0};

    CHECK(tree_file_create(&f, t, t->root, true, &e) == 0, "made: %s", e.text);
    if (f.name[0])
        CHECK(count_names(t->path) == 1, "this file system needs names");
    else
        CHECK(count_names(t->path) == 0, "no name while it is written");
    tree_file_clear(&f);
}

int main(void)
{
    const char *base = getenv("TMPDIR");
    char path[256];
    struct tree t;
    struct err e = {0};

    snprintf(path, sizeof path, "%s/tradewind-tree-XXXXXX", base ? base : "/tmp");
    CHECK(mkdtemp(path) && tree_open(&t, path, false, &e) == 0, "opened: %s", e.text);
    leaves_nothing(&t);
    appears_whole(&t, "as the file system can");
    t.unnamed = false;
    while_written(&t);
    appears_whole(&t, "under temporary names");
    CHECK(tree_is_leftover(".tradewind-get-0123456789abcdef"), "a leftover");
    CHECK(!tree_is_leftover(".tradewind-get-0123456789abcde") &&
              !tree_is_leftover(".tradewind-get-0123456789abcdef0") &&
              !tree_is_leftover("tradewind-get-0123456789abcdef"),
          "names of other files");
    tree_clear(&t);
    rmdir(path);
    return TAP_DONE();
}
