/* A directory as a stream of tar, from here to a command and back. */
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/child.h"
#include "exec/driver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAID_MAX 4096
/* Deeper than any path that can be opened. */
#define DEPTH_MAX 2048
#define HEAR_MS 200

/* Two children joined by a pipe run to their end; what both say is heard meanwhile, so that neither
 * waits for us. A connection that is gone ends by itself (ServerAliveInterval). */
static void run_both(struct child *from,
                     struct buf *from_said,
                     struct child *to,
                     struct buf *to_said)
{
    struct child *both[] = {from, to};
    struct buf *said[] = {from_said, to_said};
    bool open[] = {true, true};

    while (open[0] || open[1]) {
        struct pollfd fds[2];
        for (int i = 0; i < 2; i++)
            fds[i] = (struct pollfd){.fd = open[i] ? both[i]->err_fd : -1, .events = POLLIN};
        poll(fds, 2, HEAR_MS);
        for (int i = 0; i < 2; i++) {
            child_hear(both[i], said[i]);
            open[i] = open[i] && !child_over(both[i]);
        }
    }
}

/* first, whose stdin is in_fd, writes to the pipe, second reads from it. */
static int join(char *const *first,
                int in_fd,
                struct buf *first_said,
                int *first_code,
                char *const *second,
                struct buf *second_said,
                int *second_code,
                struct err *e)
{
    AUTO_CLEAR(child) struct child from = {.out_fd = -1, .err_fd = -1};
    AUTO_CLEAR(child) struct child to = {.out_fd = -1, .err_fd = -1};
    int ends[2];

    *first_code = *second_code = -1;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(e, ERR_IO, "make a pipe: %s", strerror(errno));
    AUTO_FD int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    bool good = null >= 0 && child_start(&to, second, ends[0], null, e) == 0 &&
                child_start(&from, first, in_fd, ends[1], e) == 0;
    close(ends[0]);
    close(ends[1]);
    if (!good)
        return null < 0 ? err_set(e, ERR_IO, "open /dev/null: %s", strerror(errno)) : -1;
    run_both(&from, first_said, &to, second_said);
    *first_code = child_wait(&from, (double)INFINITY);
    *second_code = child_wait(&to, (double)INFINITY);
    child_hear(&from, first_said);
    child_hear(&to, second_said);
    return 0;
}

static int tar_failed(const char *what, const char *dir, const struct buf *said, struct err *e)
{
    const char *text = buf_str(said);

    return err_set(e, ERR_IO, "%s %s: %.*s", what, dir, (int)strcspn(text, "\n"),
                   *text ? text : "tar failed");
}

int transfer_out(const char *dir,
                 int excluded_fd,
                 char *const *argv,
                 struct buf *said,
                 int *code_out,
                 struct err *e)
{
    AUTO_CLEAR(words) struct words tar = {0};
    AUTO_CLEAR(buf) struct buf tar_said;
    int tar_code;

    buf_init(&tar_said, SAID_MAX);
    words_add_all(&tar, (const char *const[]){"tar", "-C", dir, NULL});
    if (excluded_fd >= 0)
        words_add_all(&tar, (const char *const[]){"--anchored", "--no-wildcards",
                                                  "--exclude-from=/dev/stdin", NULL});
    words_add_all(&tar, (const char *const[]){"-cf", "-", ".", NULL});
    if (join(tar.list, excluded_fd, &tar_said, &tar_code, argv, said, code_out, e) < 0)
        return -1;
    /* When the other end failed, tar did so only because of it. */
    if (tar_code && *code_out == 0)
        return tar_failed("pack", dir, &tar_said, e);
    return 0;
}

/* Whether a link in the directory at this depth below the top leads out of the top. A link through
 * another link may climb further than it seems: one that climbs after a name counts. */
static bool leads_out(const char *target, size_t depth)
{
    bool named = false;

    if (*target == '/')
        return true;
    for (const char *at = target; *at;) {
        size_t n = strcspn(at, "/");
        bool up = n == 2 && !memcmp(at, "..", 2);
        if (up && (named || depth-- == 0))
            return true;
        named = named || (!up && n && !(n == 1 && *at == '.'));
        at += n;
        at += *at == '/';
    }
    return false;
}

static bool welcome(int dir_fd, const char *name, const struct stat *st, size_t depth)
{
    char target[PATH_MAX];

    if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
        return true;
    if (!S_ISLNK(st->st_mode))
        return false;
    ssize_t n = readlinkat(dir_fd, name, target, sizeof target - 1);
    if (n < 0)
        return false;
    target[n] = 0;
    return !leads_out(target, depth);
}

/* Takes out of a directory what is not welcome. Takes fd over. */
static void clean(int fd, size_t depth)
{
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));) {
        struct stat st;
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") ||
            fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (!welcome(fd, name, &st, depth)) {
            log_warn("exec", "%s is left out: it leads out of the directory or is not a file",
                     name);
            unlinkat(fd, name, 0);
        } else if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
            clean(openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), depth + 1);
        }
    }
    closedir(dir);
}

int transfer_in(char *const *argv,
                const char *dir,
                const char *part,
                struct buf *said,
                int *code_out,
                struct err *e)
{
    AUTO_CLEAR(words) struct words tar = {0};
    AUTO_CLEAR(buf) struct buf tar_said;
    AUTO_MEM char *top = mem_printf("%s/%s", dir, part);
    int tar_code;

    buf_init(&tar_said, SAID_MAX);
    words_add_all(&tar, (const char *const[]){"tar", "-C", dir, "--no-same-owner",
                                              "--no-same-permissions", "-xf", "-", NULL});
    if (join(argv, -1, said, code_out, tar.list, &tar_said, &tar_code, e) < 0)
        return -1;
    if (*code_out)
        return 0; /* tar failed only because of it */
    if (tar_code)
        return tar_failed("unpack into", dir, &tar_said, e);
    int fd = open(top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_IO, "%s: the part that came is not a directory", part);
    clean(fd, 0);
    return 0;
}
