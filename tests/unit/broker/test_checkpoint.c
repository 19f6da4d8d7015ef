#include "broker/daemon/checkpoint.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "tap.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_MS ((int64_t)24 * 3600 * 1000)

static char home[64] = "/tmp/tradewind-checkpoint-XXXXXX";

static void put(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    if (fd < 0 || file_write_all(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0)
        printf("Bail out! %s\n", path);
    close(fd);
}

/* Files in two depths, a link that leads nowhere, and something that is no file. */
static void leave(int64_t job)
{
    AUTO_MEM char *deep = broker_job_path(home, job, "checkpoint/a/b");
    AUTO_MEM char *file = mem_printf("%s/weights", deep);
    AUTO_MEM char *script = broker_job_path(home, job, "checkpoint/run");
    AUTO_MEM char *link = broker_job_path(home, job, "checkpoint/link");
    AUTO_MEM char *fifo = broker_job_path(home, job, "checkpoint/fifo");

    file_make_dirs(deep, 0700, NULL);
    put(file, "0.5", 0600);
    put(script, "true", 0700);
    if (symlink("../nowhere", link) < 0 || mkfifo(fifo, 0600) < 0)
        puts("Bail out! no links here");
}

static bool holds(const char *directory, const char *name, const char *wanted)
{
    AUTO_MEM char *path = mem_printf("%s/%s", directory, name);
    char got[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof got - 1);

    if (fd >= 0)
        close(fd);
    return n >= 0 && !strcmp(got, wanted);
}

static bool is_there(int64_t job)
{
    AUTO_MEM char *path = broker_job_path(home, job, "checkpoint");

    return access(path, F_OK) == 0;
}

static void test_copy(void)
{
    AUTO_MEM char *to = broker_job_path(home, 2, "checkpoint");
    AUTO_MEM char *none = broker_job_path(home, 3, "checkpoint");
    AUTO_MEM char *run = mem_printf("%s/run", to), *link = mem_printf("%s/link", to);
    AUTO_MEM char *fifo = mem_printf("%s/fifo", to);
    char target[64] = "";
    struct err e = {0};
    struct stat st;

    leave(1);
    CHECK(checkpoint_fill(home, 1, to, &e) == 0, "copied: %s", e.text);
    CHECK(holds(to, "a/b/weights", "0.5") && holds(to, "run", "true"), "all of it");
    CHECK(stat(run, &st) == 0 && (st.st_mode & 0777) == 0700, "with its permissions");
    CHECK(readlink(link, target, sizeof target - 1) > 0 && !strcmp(target, "../nowhere"),
          "a link as it is");
    CHECK(access(fifo, F_OK) < 0, "but nothing that is no file");
    put(run, "other", 0700);
    AUTO_MEM char *from = broker_job_path(home, 1, "checkpoint");
    CHECK(holds(from, "run", "true"), "what is copied is the new job's own");
    CHECK(checkpoint_fill(home, 99, none, &e) == 0 && access(none, F_OK) < 0,
          "of a job that left nothing, nothing");
    CHECK(checkpoint_fill(home, 1, to, &e) < 0, "never over another one: %s", e.text);
}

static void test_keep(void)
{
    AUTO_MEM char *empty = broker_job_path(home, 5, "checkpoint");
    int64_t now_ms = time_epoch_ms();

    file_make_dirs(empty, 0700, NULL);
    checkpoint_keep(home, 5);
    CHECK(!is_there(5), "an empty one is not kept");
    checkpoint_keep(home, 1);
    checkpoint_keep(home, 2);
    checkpoint_expire(home, now_ms + CHECKPOINT_DAYS * DAY_MS - 60000);
    CHECK(is_there(1) && is_there(2), "others are, for days");
    checkpoint_drop(home, 2);
    checkpoint_drop(home, 2);
    CHECK(!is_there(2), "until they are dropped");
    checkpoint_expire(home, now_ms + CHECKPOINT_DAYS * DAY_MS + 60000);
    CHECK(!is_there(1), "or old");
    AUTO_MEM char *marks = broker_path(home, BROKER_CHECKPOINTS);
    CHECK(rmdir(marks) == 0, "no mark is left");
}

int main(void)
{
    if (!mkdtemp(home))
        return TAP_SKIP_ALL("no directory can be made");
    test_copy();
    test_keep();
    file_remove_tree(home);
    return TAP_DONE();
}
