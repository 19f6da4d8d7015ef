#include "base/file.h"
#include "base/mem.h"
#include "lake/clean/clean.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 500

struct scene {
    char *home, *dir, *link; /* link leads to far, which lies outside */
    char *far;
    int told; /* of changes below dir */
};

/* One of the group that shares a lake: puts the link where the directory is, once the first of its
 * files was changed. */
static void *swap(void *context)
{
    const struct scene *s = context;
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

    if (read(s->told, events, sizeof events) > 0)
        renameat2(AT_FDCWD, s->dir, AT_FDCWD, s->link, RENAME_EXCHANGE);
    return NULL;
}

static char *name_of(const char *dir, int i)
{
    return mem_printf("%s/%d", dir, i);
}

static int make(const char *dir)
{
    int made = 0;

    if (mkdir(dir, 0700) < 0)
        return 0;
    for (int i = 0; i < FILES; i++) {
        AUTO_MEM char *path = name_of(dir, i);
        AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        made += fd >= 0 && fchmod(fd, 0644) == 0;
    }
    return made;
}

static int count_open(const char *dir)
{
    int open_to_all = 0;

    for (int i = 0; i < FILES; i++) {
        AUTO_MEM char *path = name_of(dir, i);
        struct stat st;
        open_to_all += stat(path, &st) == 0 && (st.st_mode & 0777) == 0644;
    }
    return open_to_all;
}

static void links_are_not_followed(void)
{
    char top[] = "/tmp/tradewind-modes-XXXXXX";
    struct scene s;
    struct lake_modes_report report;
    struct err e = {0};
    pthread_t other;

    CHECK(mkdtemp(top) != NULL, "a directory");
    s = (struct scene){mem_printf("%s/home", top), mem_printf("%s/home/dir", top),
                       mem_printf("%s/home/link", top), mem_printf("%s/far", top),
                       inotify_init1(IN_CLOEXEC)};
    struct lake_modes modes = {.home = s.home, .fix = true, .group = LAKE_MODES_ANY_GROUP};
    CHECK(mkdir(s.home, 0700) == 0 && make(s.dir) == FILES && make(s.far) == FILES &&
              symlink(s.far, s.link) == 0,
          "a home, and what a link in it leads to");
    CHECK(inotify_add_watch(s.told, s.dir, IN_ATTRIB) >= 0, "somebody waits");
    if (pthread_create(&other, NULL, swap, &s) != 0)
        abort();
    CHECK(lake_modes(&modes, &report, &e) == 0 && report.failed == 0, "modes are fixed: %s%s",
          e.text, report.first_failed);
    pthread_join(other, NULL);
    CHECK(readlink(s.dir, (char[2]){0}, 1) == 1, "while the link took the directory's place");
    CHECK(count_open(s.far) == FILES, "what lies outside is left alone");
    CHECK(lake_modes(&modes, &report, &e) == 0 && count_open(s.link) == 0,
          "the next call does the rest: %s", e.text);
    CHECK(count_open(s.far) == FILES, "of the home alone");
    file_remove_tree(top);
    close(s.told);
    free(s.home);
    free(s.dir);
    free(s.link);
    free(s.far);
}

int main(void)
{
    links_are_not_followed();
    return TAP_DONE();
}
