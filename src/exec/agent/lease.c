/* The lease of a machine, which the broker renews: the last agent there powers the machine
 * off when the lease has lapsed, if its job says how. */
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "exec/agent/jobdir.h"
#include "exec/agent/modes.h"
#include "exec/inuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

void lease_wait_and_run(const char *root, double lease_s, const char *command)
{
    AUTO_MEM char *lock_path = mem_printf("%s/lease.lock", root);
    AUTO_MEM char *lease_path = mem_printf("%s/lease", root);
    struct lease l = {.path = lease_path};

    /* An agent that waits already sees that this job was here, too. */
    look(&l);
    if (l.lapses_s < boot_time_s() + lease_s)
        lease_renew(root, lease_s, NULL);
    AUTO_FD int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
        return;
    l.lapses_s = boot_time_s() + lease_s;
    for (look(&l); boot_time_s() < l.lapses_s || lease_has_work(root); look(&l))
        usleep((useconds_t)(POLL_S * 1e6));
    run_once(command);
}
