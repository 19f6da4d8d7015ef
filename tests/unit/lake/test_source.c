#include "lake/put/source.h"
#include "local.h"
#include "tap.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All lake paths in the order of the request, joined by spaces; or the error. */
static char *scan(const struct scratch *s, const char *sources, const char *destination)
{
    AUTO_MEM char *words = mem_dup(sources);
    const char *list[8];
    size_t n = 0;
    struct err e = {0};
    char *rest = words;

    for (char *word; (word = strsep(&rest, " ")) && n < 8;)
        list[n++] = local_path(s, word);
    AUTO(source_list) struct source_list *found = source_scan(list, n, destination, NULL, &e);
    if (!found)
        return mem_printf("%d", (int)e.kind);
    char *out = mem_dup("");
    for (size_t i = 0; i < found->n_files; i++) {
        char room[SOURCE_PATH_MAX];
        AUTO_MEM char *before = out;
        out = mem_printf("%s%s%s", before, i ? " " : "", source_path(found, i, SOURCE_LAKE, room));
    }
    return out;
}

static void forms(const struct scratch *s)
{
    /* What `cp -r SOURCES DEST` would make, with DEST an existing directory where it ends in '/'
     * and a name that is not there otherwise. */
    static const struct {
        const char *sources, *destination, *wanted;
    } cases[] = {
        {"d/a", "/x", "/x"},
        {"d/a", "/x/", "/x/a"},
        {"d", "/x/", "/x/d/a /x/d/sub/b"},
        {"d/", "/x/", "/x/d/a /x/d/sub/b"},
        {"d", "/x", "/x/a /x/sub/b"},
        {"d/.", "/x/", "/x/a /x/sub/b"},
        {"d/sub/..", "/x/", "/x/a /x/sub/b"},
        {"d", "/", "/d/a /d/sub/b"},
        {"d/.", "/", "/a /sub/b"},
        {"d/a e/c", "/x/", "/x/a /x/c"},
        {"e/c d/a", "/x/", "/x/c /x/a"}, /* the order of the request */
        {"d f/d", "/x/", "/x/d/a /x/d/sub/b /x/d/z"},
        {"empty", "/x/", ""},
        {"order", "/x", "/x/a.b /x/a/c /x/ab"}, /* as whole paths sort */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_MEM char *got = scan(s, cases[i].sources, cases[i].destination);
        CHECK(strcmp(got, cases[i].wanted) == 0, "%s to %s: %s", cases[i].sources,
              cases[i].destination, got);
    }
}

static void refusals(const struct scratch *s)
{
    static const struct {
        const char *sources, *destination;
        enum err_kind kind;
        const char *why;
    } cases[] = {
        {"d/a e/c", "/x", ERR_USAGE, "several need '/'"},
        {"d/a", "x", ERR_USAGE, "not absolute"},
        {"d/a g/a", "/x/", ERR_USAGE, "two for one path"},
        {"missing", "/x/", ERR_NOTFOUND, "missing source"},
        {"bad", "/x/", ERR_USAGE, "a name that is no UTF-8"},
        {"newline", "/x/", ERR_USAGE, "a name with a newline"},
        {"d/a", "/x/../y", ERR_USAGE, "a destination with .."},
        {"fifo/f", "/x", ERR_USAGE, "a pipe named as a source"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_MEM char *got = scan(s, cases[i].sources, cases[i].destination);
        AUTO_MEM char *wanted = mem_printf("%d", (int)cases[i].kind);
        CHECK(strcmp(got, wanted) == 0, "%s: %s", cases[i].why, got);
    }
}

static void leftovers(const struct scratch *s)
{
    const char *source = local_path(s, "left");
    struct err e = {0};

    local_text(s, "left/.tradewind-get-00ff00ff00ff00ff", "half");
    local_text(s, "left/.tradewind-get-ours", "whole");
    AUTO(source_list) struct source_list *list = source_scan(&source, 1, "/x", NULL, &e);
    CHECK(list && list->n_files == 1 && list->skipped == 1 && list->bytes == 5,
          "what a killed get left is no file to put: %s", e.text);
}

static void links(const struct scratch *s)
{
    const char *source = local_path(s, "links");
    struct err e = {0};
    char room[SOURCE_PATH_MAX];
    AUTO(source_list) struct source_list *list = source_scan(&source, 1, "/x", NULL, &e);

    CHECK(list && list->n_files == 2 && list->skipped == 3,
          "links to files are followed; to directories, to nothing and pipes are left out: %s",
          e.text);
    if (!list || list->n_files != 2)
        return;
    CHECK(strcmp(source_path(list, 0, SOURCE_LAKE, room), "/x/file") == 0 &&
              list->files[0].stamp.size == 1,
          "a link counts as what it leads to");
    CHECK(strcmp(source_path(list, 1, SOURCE_LAKE, room), "/x/run.sh") == 0 &&
              list->files[1].executable && !list->files[0].executable,
          "the executable bit is noted");
}

static void unreadable(const struct scratch *s)
{
    if (geteuid() == 0)
        return;
    AUTO_MEM char *got = scan(s, "secret", "/x/");
    AUTO_MEM char *wanted = mem_printf("%d", (int)ERR_DENIED);
    CHECK(strcmp(got, wanted) == 0, "unreadable: %s", got);
}

int main(void)
{
    struct scratch s;

    scratch_init(&s);
    local_text(&s, "d/a", "1");
    local_text(&s, "d/sub/b", "2");
    local_text(&s, "e/c", "3");
    local_text(&s, "f/d/z", "4");
    local_text(&s, "g/a", "5");
    local_text(&s, "order/a/c", "");
    local_text(&s, "order/a.b", "");
    local_text(&s, "order/ab", "");
    local_text(&s, "bad/\xff", "");
    local_text(&s, "newline/a\nb", "");
    local_text(&s, "secret", "");
    chmod(local_path(&s, "secret"), 0);
    mkdir(local_path(&s, "empty"), 0777);
    mkdir(local_path(&s, "fifo"), 0777);
    mkfifo(local_path(&s, "fifo/f"), 0666);
    local_text(&s, "links/run.sh", "");
    chmod(local_path(&s, "links/run.sh"), 0755);
    mkfifo(local_path(&s, "links/pipe"), 0666);
    CHECK(symlink("../d/a", local_path(&s, "links/file")) == 0 &&
              symlink("../d", local_path(&s, "links/dir")) == 0 &&
              symlink("nowhere", local_path(&s, "links/dangling")) == 0,
          "links are made");
    forms(&s);
    refusals(&s);
    links(&s);
    leftovers(&s);
    unreadable(&s);
    scratch_clear(&s);
    return TAP_DONE();
}
