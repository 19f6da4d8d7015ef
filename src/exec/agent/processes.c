#include "exec/agent/processes.h"

#include "base/auto.h"
#include "base/mem.h"
#include "exec/agent/jobdir.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_MAX 1024
/* An environment is at most a quarter of the stack; a mark behind more than this is not looked for.
 */
#define ENVIRON_MAX ((size_t)2 << 20)

/* The fields of /proc/PID/stat after the name, which may itself hold spaces and parentheses. */
enum { STATE, PARENT, UTIME = 11, STIME, CUTIME, CSTIME, START = 19, RSS = 21, FIELDS };

static bool read_stat(pid_t pid, struct process *out)
{
    char path[64], text[STAT_MAX];
    uint64_t field[FIELDS] = {0};

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return false;
    text[n] = 0;
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return false;
    at += 2;
    char state = *at;
    for (size_t i = 0; i < FIELDS && at; i++) {
        field[i] = strtoull(at, NULL, 10);
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    *out = (struct process){
        .pid = pid,
        .parent = (pid_t)field[PARENT],
        .state = state,
        .cpu_ticks = field[UTIME] + field[STIME] + field[CUTIME] + field[CSTIME],
        .start_ticks = field[START],
        .rss_bytes = field[RSS] * (uint64_t)sysconf(_SC_PAGESIZE),
    };
    return true;
}

uint64_t processes_start_ticks(pid_t pid)
{
    struct process p;

    return read_stat(pid, &p) && p.state != 'Z' && p.state != 'X' ? p.start_ticks : 0;
}

static void read_all(struct processes *t)
{
    DIR *proc = opendir("/proc");

    t->n = 0;
    if (!proc)
        return;
    for (const struct dirent *entry; (entry = readdir(proc));) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        struct process p;
        if (*end || pid <= 0 || !read_stat((pid_t)pid, &p))
            continue;
        t->all = mem_room(t->all, t->n, &t->cap, sizeof *t->all);
        t->all[t->n++] = p;
    }
    closedir(proc);
}

static const struct process *find(const struct processes *t, pid_t pid)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->all[i].pid == pid)
            return &t->all[i];
    return NULL;
}

/* Chooses the children of what is chosen, until there are none. */
static void choose_below(struct processes *t, pid_t root, pid_t except)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < t->n; i++) {
            struct process *p = &t->all[i];
            if (p->chosen || p->pid == except)
                continue;
            const struct process *parent = p->parent == root ? NULL : find(t, p->parent);
            if (p->parent != root && !(parent && parent->chosen))
                continue;
            p->chosen = true;
            more = true;
        }
    }
}

void processes_scan(struct processes *t, pid_t root, pid_t except)
{
    read_all(t);
    choose_below(t, root, except);
}

static bool has_mark(pid_t pid, const char *mark)
{
    char path[64];
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    AUTO_MEM char *environment = jobdir_read_small(path, ENVIRON_MAX, &n);
    if (!environment)
        return false;
    for (const char *at = environment; at < environment + n; at += strlen(at) + 1)
        if (!strcmp(at, mark))
            return true;
    return false;
}

void processes_scan_marked(struct processes *t, const char *mark, pid_t pid, uint64_t start_ticks)
{
    read_all(t);
    for (size_t i = 0; i < t->n; i++) {
        struct process *p = &t->all[i];
        if (p->pid != getpid() && p->pid != 1)
            p->chosen = (p->pid == pid && p->start_ticks == start_ticks) || has_mark(p->pid, mark);
    }
    choose_below(t, -1, getpid());
}

void processes_clear(struct processes *t)
{
    free(t->all);
    *t = (struct processes){0};
}

static bool lives(const struct process *p)
{
    return p->chosen && p->state != 'Z' && p->state != 'X';
}

size_t processes_count(const struct processes *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        n += lives(&t->all[i]);
    return n;
}

void processes_signal_but(const struct processes *t, int signal, pid_t except)
{
    for (size_t i = 0; i < t->n; i++)
        if (lives(&t->all[i]) && t->all[i].pid != except)
            kill(t->all[i].pid, signal);
}

void processes_signal(const struct processes *t, int signal)
{
    processes_signal_but(t, signal, 0);
}

double processes_cpu_s(const struct processes *t)
{
    uint64_t ticks = 0;

    for (size_t i = 0; i < t->n; i++)
        if (t->all[i].chosen)
            ticks += t->all[i].cpu_ticks;
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

uint64_t processes_rss_bytes(const struct processes *t)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < t->n; i++)
        if (lives(&t->all[i]))
            bytes += t->all[i].rss_bytes;
    return bytes;
}

uint64_t processes_pss_bytes(const struct processes *t)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < t->n; i++) {
        char path[64];
        if (!lives(&t->all[i]))
            continue;
        snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)t->all[i].pid);
        AUTO_MEM char *text = jobdir_read_small(path, 4096, NULL);
        const char *pss = text ? strstr(text, "\nPss:") : NULL;
        bytes += pss ? strtoull(pss + strlen("\nPss:"), NULL, 10) << 10 : t->all[i].rss_bytes;
    }
    return bytes;
}
