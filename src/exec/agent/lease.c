/* The lease of a machine, which the broker renews, and the watch: one process per machine that
 * powers it off when the lease has lapsed, and asks the cloud whether it takes the machine away.
 * The broker starts the watch once the machine answers; where it was killed, the agent of a job
 * that ends takes its place, if the job says how to power off. */
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "exec/agent/jobdir.h"
#include "exec/agent/modes.h"
#include "exec/inuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_S 0.5
/* AWS tells two minutes before, Google and Azure half a minute. */
#define ASK_EVERY_S 3.0
/* Those who only look whether there is a watch hold its lock for a moment. */
#define LOCK_TRIES 10
#define LOCK_RETRY_US 50000

int lease_renew(const char *root, double seconds, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/lease", root);
    AUTO_MEM char *text = mem_printf("%.3f\n", seconds);

    return file_replace(path, text, strlen(text), 0600, e);
}

/* Goes on while the machine sleeps, and no setting of the clock moves it. */
static double boot_time_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct lease {
    char *path;
    struct stat seen;
    double lapses_s;
};

static void look(struct lease *l)
{
    struct stat now;
    double seconds;

    if (stat(l->path, &now) < 0 ||
        (now.st_ino == l->seen.st_ino && now.st_mtim.tv_sec == l->seen.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == l->seen.st_mtim.tv_nsec))
        return;
    l->seen = now;
    AUTO_MEM char *text = jobdir_read_small(l->path, 64, NULL);
    if (text && inuse_lease(text, &seconds))
        l->lapses_s = boot_time_s() + seconds;
}

bool lease_has_work(const char *root)
{
    DIR *dir = opendir(root);
    bool busy = false;

    if (!dir)
        return false;
    for (const struct dirent *entry; !busy && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        AUTO_MEM char *path = mem_printf("%s/%s/agent.lock", root, entry->d_name);
        AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC);
        busy = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
    }
    closedir(dir);
    return busy;
}

static void run_once(const char *command)
{
    pid_t pid = fork();

    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

int lease_lock(const char *root, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/lease.lock", root);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0) {
        file_error(e, "open", path);
        return -1;
    }
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
        if (i == LOCK_TRIES) {
            close(fd);
            return -1;
        }
        usleep(LOCK_RETRY_US);
    }
    return fd;
}

bool lease_is_watched(const char *root)
{
    AUTO_MEM char *path = mem_printf("%s/lease.lock", root);

    return access(path, F_OK) == 0;
}

void lease_watch(const struct watch_order *w)
{
    AUTO_MEM char *path = mem_printf("%s/lease", w->root);
    struct lease l = {.path = path};
    struct asking *q = w->notices.cloud == NOTICES_NONE ? NULL : notice_begin(w->root, &w->notices);
    double now_s = boot_time_s(), ask_at_s = now_s;
    bool busy = false;

    look(&l);
    l.lapses_s = fmax(l.lapses_s, now_s + w->lease_s);
    while (busy || now_s < l.lapses_s) {
        if (q && now_s >= ask_at_s) {
            notice_ask(q);
            ask_at_s = now_s + ASK_EVERY_S;
        }
        usleep((useconds_t)(POLL_S * 1e6));
        look(&l);
        bool was_busy = busy;
        busy = lease_has_work(w->root);
        now_s = boot_time_s();
        /* What has just ended may be collected for as long. */
        if (was_busy && !busy)
            l.lapses_s = fmax(l.lapses_s, now_s + w->lease_s);
    }
    notice_free(q);
    if (w->power_off)
        run_once(w->power_off);
}
