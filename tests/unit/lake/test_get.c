#include "base/file.h"
#include "local.h"
#include "tap.h"

#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *back(const struct scratch *s, const char *name)
{
    AUTO_MEM char *path = mem_printf("back/%s", name);

    return local_path(s, path);
}

static int get(struct lake *l,
               const char *refs,
               const struct lake_get_options *how,
               struct lake_get_summary *sum,
               struct err *e)
{
    AUTO_MEM char *words = mem_dup(refs);
    struct lake_get_options o = *how;
    const char *list[8];
    char *rest = words;

    o.n_refs = 0;
    for (char *word; (word = strsep(&rest, " ")) && o.n_refs < 8;)
        list[o.n_refs++] = word;
    o.refs = list;
    return lake_get(l, &o, sum, e);
}

static void sizes(struct scratch *s, struct lake *l)
{
    static const size_t lengths[] = {0,       1,     8192, (1 << 20) - 1, 1 << 20, (1 << 20) + 1,
                                     9 << 20, 123457};
    const char *names[] = {"empty", "one", "a b", "h#sh", "co:on 1", "at@", "%23#2", "ünïcödé"};
    struct lake_get_summary sum;
    struct err e = {0};
    char name[60], path[60];
    bool same = true;

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        snprintf(name, sizeof name, "src/%s", names[i]);
        local_noise(s, name, lengths[i], (unsigned)i);
    }
    chmod(local_path(s, "src/one"), 0755);
    CHECK(local_put(l, local_path(s, "src"), "/src", NULL, &e) == 0, "put: %s", e.text);
    CHECK(local_get(l, "/src/", local_path(s, "back"), &sum, &e) == 0 && sum.files == 8 &&
              sum.unchanged == 0,
          "get: %s", e.text);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        snprintf(name, sizeof name, "src/%s", names[i]);
        snprintf(path, sizeof path, "back/src/%s", names[i]);
        bool good = local_same(local_path(s, name), local_path(s, path));
        CHECK(good, "%zu bytes come back as \"%s\"", lengths[i], names[i]);
        same = same && good;
    }
    struct stat one, other;
    CHECK(stat(back(s, "src/one"), &one) == 0 && (one.st_mode & S_IXUSR) &&
              stat(back(s, "src/empty"), &other) == 0 && !(other.st_mode & S_IXUSR),
          "the executable bit comes back");
}

static void looks_first(struct scratch *s, struct lake *l)
{
    const struct lake_get_options plain = {.directory = local_path(s, "back")};
    const struct lake_get_options force = {.directory = local_path(s, "back"), .force = true};
    struct lake_get_summary sum;
    struct stat before, after;
    struct err e = {0};

    CHECK(stat(back(s, "src/one"), &before) == 0, "there");
    CHECK(get(l, "/src/", &plain, &sum, &e) == 0 && sum.files == 0 && sum.unchanged == 8,
          "again: nothing to do: %s", e.text);
    local_text(s, "back/src/one", "X");
    unlink(back(s, "src/empty"));
    CHECK(get(l, "/src/", &plain, &sum, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "/src/one") && strstr(e.text, "--force"),
          "a differing file is refused by name: %s", e.text);
    CHECK(access(back(s, "src/empty"), F_OK) < 0, "and nothing at all was written");
    CHECK(get(l, "/src/", &force, &sum, &e) == 0 && sum.files == 2 && sum.unchanged == 6 &&
              local_same(local_path(s, "src/one"), back(s, "src/one")),
          "force: %s", e.text);
    CHECK(stat(back(s, "src/one"), &after) == 0 && after.st_ino != before.st_ino,
          "a file is replaced, not written over");
    CHECK(stat(back(s, "src/a b"), &before) == 0 && get(l, "/src/", &force, &sum, &e) == 0 &&
              stat(back(s, "src/a b"), &after) == 0 && before.st_ino == after.st_ino &&
              sum.files == 0,
          "unchanged files are not rewritten even by force");
}

static void references(struct scratch *s, struct lake *l)
{
    const struct lake_get_options o = {.directory = local_path(s, "refs")};
    const char *missing = "/nothing";
    struct lake_get_summary sum;
    struct err e = {0};

    local_text(s, "v", "1");
    local_put(l, local_path(s, "v"), "/v/f", NULL, &e);
    local_text(s, "v", "22");
    local_put(l, local_path(s, "v"), "/v/f", NULL, &e);
    CHECK(get(l, "/v/f#1 /v/f", &o, &sum, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "/v/f"),
          "two versions of one file: %s", e.text);
    CHECK(get(l, "/v/f#1 /v/f#1 /src/one", &o, &sum, &e) == 0 && sum.files == 2,
          "the same one twice is one: %s", e.text);
    AUTO_MEM char *path = mem_dup(local_path(s, "refs/v/f"));
    struct stat st;
    CHECK(stat(path, &st) == 0 && st.st_size == 1, "an old version, without its number");
    CHECK(get(l, missing, &o, &sum, &e) < 0 && e.kind == ERR_NOTFOUND, "missing: %s", e.text);
}

static void links_in_the_way(struct scratch *s, struct lake *l)
{
    const struct lake_get_options o = {.directory = local_path(s, "in"), .force = true};
    struct lake_get_summary sum;
    struct err e = {0};

    local_text(s, "outside/f", "mine");
    local_text(s, "in/x", "");
    CHECK(symlink("../outside", local_path(s, "in/v")) == 0, "a link to a directory outside");
    CHECK(get(l, "/v/f", &o, &sum, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "link"),
          "is not written through: %s", e.text);
    CHECK(unlink(local_path(s, "in/v")) == 0 && mkdir(local_path(s, "in/v"), 0777) == 0 &&
              symlink("../../outside/f", local_path(s, "in/v/f")) == 0,
          "a link to a file outside");
    CHECK(get(l, "/v/f", &o, &sum, &e) == 0, "is replaced: %s", e.text);
    struct stat st;
    CHECK(lstat(local_path(s, "in/v/f"), &st) == 0 && S_ISREG(st.st_mode) &&
              stat(local_path(s, "outside/f"), &st) == 0 && st.st_size == 4,
          "what it led to stays");
    CHECK(unlink(local_path(s, "in/v/f")) == 0 && mkdir(local_path(s, "in/v/f"), 0777) == 0 &&
              get(l, "/v/f", &o, &sum, &e) < 0 && e.kind == ERR_USAGE,
          "a directory of that name: %s", e.text);
    local_text(s, "in/src", "");
    CHECK(get(l, "/src/one", &o, &sum, &e) < 0 && e.kind == ERR_USAGE,
          "a file where a directory must be: %s", e.text);
}

static void linked(struct scratch *s, struct lake *l)
{
    const struct lake_get_options o = {.directory = local_path(s, "linked"), .link = true};
    struct lake_get_summary sum;
    struct stat st;
    struct err e = {0};

    CHECK(get(l, "/src/", &o, &sum, &e) == 0 && sum.files == 8 && sum.linked == 2,
          "large files are linked, small ones copied: %llu %s", (unsigned long long)sum.linked,
          e.text);
    CHECK(local_same(local_path(s, "src/%23#2"), local_path(s, "linked/src/%23#2")) &&
              stat(local_path(s, "linked/src/%23#2"), &st) == 0,
          "and the same");
    CHECK(st.st_nlink == 1 || !(st.st_mode & 0222), "a hard link cannot be written to");
}

static bool stop(void *context, uint64_t files, uint64_t bytes, uint64_t all, uint64_t all_bytes)
{
    (void)context, (void)files, (void)bytes, (void)all, (void)all_bytes;
    return false;
}

static int no_leftovers(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return strstr(path, "/.tradewind-") != NULL;
}

static void interrupted(struct scratch *s, struct lake *l)
{
    const struct lake_get_options o = {.directory = local_path(s, "stop"),
                                       .progress = {stop, NULL}};
    struct lake_get_summary sum;
    struct err e = {0};

    CHECK(get(l, "/src/", &o, &sum, &e) < 0 && e.kind == ERR_RETRY, "stopped: %s", e.text);
    CHECK(nftw(local_path(s, ""), no_leftovers, 8, FTW_PHYS) == 0, "no half files stay");
    CHECK(local_get(l, "/src/", local_path(s, "stop"), &sum, &e) == 0, "the same get goes on: %s",
          e.text);
}

/* ---- damage ---- */

static int spoil(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)at;
    if (type != FTW_F || !strstr(path, "/large/"))
        return 0;
    chmod(path, 0644);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || pwrite(fd, "spoilt", 6, 5000) != 6)
        return -1;
    close(fd);
    return 0;
}

static void damage(struct scratch *s, struct lake *l)
{
    const struct lake_get_options o = {.directory = local_path(s, "damaged")};
    const struct lake_get_options link = {.directory = local_path(s, "damaged-link"), .link = true};
    struct lake_get_summary sum;
    struct err e = {0};

    CHECK(nftw(s->url + 4, spoil, 8, FTW_PHYS) == 0, "large contents are spoilt");
    CHECK(get(l, "/src/", &o, &sum, &e) < 0 && e.kind == ERR_IO && strstr(e.text, "/src/at@") &&
              strstr(e.text, "/src/%23#2"),
          "damaged files are named: %s", e.text);
    CHECK(sum.files == 6 && access(local_path(s, "damaged/src/one"), F_OK) == 0,
          "the others are written: %llu", (unsigned long long)sum.files);
    CHECK(access(local_path(s, "damaged/src/at@"), F_OK) < 0, "the damaged ones are not");
    CHECK(get(l, "/src/", &link, &sum, &e) < 0 && e.kind == ERR_IO && sum.linked == 0,
          "nor linked: %s", e.text);
    AUTO_MEM char *text = local_cat(l, "/src/at%40");
    CHECK(!text, "cat does not show damage");
    CHECK(db_begin(l->db, &e) == 0 &&
              db_exec(l->db, "UPDATE object SET blob = NULL, at = NULL WHERE size = 8192", &e) ==
                  0 &&
              db_commit(l->db, &e) == 0,
          "gc takes one away");
    const struct lake_get_options gone = {.directory = local_path(s, "gone")};
    CHECK(get(l, "/src/one /src/a%20b /v/f", &gone, &sum, &e) < 0, "no such name: %s", e.text);
    const char *refs[] = {"/src/one", "/src/a b"};
    struct lake_get_options two = gone;
    two.refs = refs;
    two.n_refs = 2;
    CHECK(lake_get(l, &two, &sum, &e) < 0 && e.kind == ERR_NOTFOUND && strstr(e.text, "/src/a b") &&
              sum.files == 1,
          "content that is gone is named, the rest written: %s", e.text);
}

int main(void)
{
    struct scratch s;

    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    sizes(&s, l);
    looks_first(&s, l);
    references(&s, l);
    links_in_the_way(&s, l);
    linked(&s, l);
    interrupted(&s, l);
    damage(&s, l);
    lake_free(TAKE(l));
    scratch_clear(&s);
    return TAP_DONE();
}
