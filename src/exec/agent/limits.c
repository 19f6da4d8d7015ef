#include "exec/agent/limits.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CPU_PERIOD_US 100000
/* The kernel refuses less. */
#define CPU_QUOTA_MIN_US 1000
/* More than any sane job has; a fork bomb stops here. */
#define PIDS_MAX "16384"

void limits_plan(struct limits *l, const char *dir)
{
    struct stat st = {0};

    memset(l, 0, sizeof *l);
    cgroup_find_places(&l->places);
    /* The same directory always gives the same name, no two directories do. */
    if (stat(dir, &st) == 0)
        snprintf(l->name, sizeof l->name, CGROUP_PREFIX "%jx-%jx", (uintmax_t)st.st_dev,
                 (uintmax_t)st.st_ino);
    else
        snprintf(l->name, sizeof l->name, CGROUP_PREFIX "none");
}

static void say(struct limits *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct limits *l, const char *fmt, ...)
{
    size_t used = strlen(l->text);
    va_list ap;

    if (used + 3 < sizeof l->text && used) {
        memcpy(l->text + used, "; ", 3);
        used += 2;
    }
    va_start(ap, fmt);
    vsnprintf(l->text + used, sizeof l->text - used, fmt, ap);
    va_end(ap);
}

/* A group of that version 2 path may already hold the job for another controller. */
static const struct cgroup *already_in(const struct limits *l, const char *dir)
{
    size_t len = strlen(dir);

    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        const struct cgroup *g = &l->group[c];
        if (g->v2 && !strncmp(g->path, dir, len) && !strcmp(g->path + len + 1, l->name))
            return g;
    }
    return NULL;
}

static bool in_use(const struct limits *l, const struct cgroup *g, int except)
{
    for (int c = 0; c < CGROUP_CONTROLLERS; c++)
        if (c != except && !strcmp(l->group[c].path, g->path))
            return true;
    return false;
}

typedef bool settle_fn(const struct limits *l, const struct cgroup *g);

/* The first place where a group can be made, set and entered. false, and why in `why`. */
static bool settle(
    struct limits *l, enum cgroup_controller c, pid_t pid, settle_fn *set, char why[static 256])
{
    snprintf(why, 256, "%s",
             l->contained ? "the container has groups of its own"
                          : "this machine shows no control group for it");
    for (size_t i = 0; !l->contained && i < l->places.n[c]; i++) {
        const char *dir = l->places.place[c][i].dir;
        bool v2 = l->places.place[c][i].v2;
        const struct cgroup *shared = v2 ? already_in(l, dir) : NULL;
        struct cgroup g = shared ? *shared : (struct cgroup){0};
        if (!shared && !cgroup_make(&g, dir, l->name, v2)) {
            snprintf(why, 256, "no group can be made in %.160s: %s", dir, strerror(errno));
            continue;
        }
        if (set(l, &g) && (shared || cgroup_enter(&g, pid))) {
            l->group[c] = g;
            return true;
        }
        snprintf(why, 256, "the group in %.160s refused it: %s", dir, strerror(errno));
        if (!in_use(l, &g, (int)c))
            cgroup_end(g.path, 0);
    }
    return false;
}

static bool set_cpu(const struct limits *l, const struct cgroup *g)
{
    char text[64];
    long quota = lround(l->cpus * CPU_PERIOD_US);

    quota = quota < CPU_QUOTA_MIN_US ? CPU_QUOTA_MIN_US : quota;
    if (g->v2) {
        snprintf(text, sizeof text, "%ld %d", quota, CPU_PERIOD_US);
        return cgroup_set(g, "cpu.max", text);
    }
    snprintf(text, sizeof text, "%d", CPU_PERIOD_US);
    if (!cgroup_set(g, "cpu.cfs_period_us", text))
        return false;
    snprintf(text, sizeof text, "%ld", quota);
    return cgroup_set(g, "cpu.cfs_quota_us", text);
}

static bool set_memory(const struct limits *l, const struct cgroup *g)
{
    char text[64];

    snprintf(text, sizeof text, "%" PRIu64, l->memory_bytes);
    if (g->v2) {
        cgroup_set(g, "memory.swap.max", "0");  /* absent without swap */
        cgroup_set(g, "memory.oom.group", "1"); /* absent in old kernels */
        return cgroup_set(g, "memory.max", text);
    }
    if (!cgroup_set(g, "memory.limit_in_bytes", text))
        return false;
    cgroup_set(g, "memory.memsw.limit_in_bytes", text); /* absent where swap is not counted */
    return true;
}

static bool set_pids(const struct limits *l, const struct cgroup *g)
{
    (void)l;
    /* A bare group of version 2 has no pids.max; it is there to find and kill what is in it. */
    return cgroup_set(g, "pids.max", PIDS_MAX) || g->v2;
}

/* Whole processors of those we may use, spread over jobs by their number. */
static bool set_affinity(const struct jobfile *job, const cpu_set_t *ours, int count, pid_t pid)
{
    int total = CPU_COUNT(ours), skip = (int)(job->id % total), left = count;
    cpu_set_t chosen;

    CPU_ZERO(&chosen);
    for (int round = 0; round < 2; round++)
        for (size_t cpu = 0; cpu < CPU_SETSIZE && left; cpu++) {
            if (!CPU_ISSET(cpu, ours) || CPU_ISSET(cpu, &chosen) || skip-- > 0)
                continue;
            CPU_SET(cpu, &chosen);
            left--;
        }
    return sched_setaffinity(pid, sizeof chosen, &chosen) == 0;
}

static void apply_cpu(struct limits *l, const struct jobfile *job, pid_t pid)
{
    cpu_set_t ours;
    double cpus = job->cpus;
    char why[256], clamped[96] = "";

    if (cpus <= 0) {
        say(l, "cpu: no limit");
        return;
    }
    if (sched_getaffinity(0, sizeof ours, &ours) < 0 || CPU_COUNT(&ours) < 1) {
        CPU_ZERO(&ours);
        CPU_SET(0, &ours);
    }
    if (cpus > CPU_COUNT(&ours)) {
        snprintf(clamped, sizeof clamped, " (%g asked, clamped to the %d of this machine)", cpus,
                 CPU_COUNT(&ours));
        cpus = CPU_COUNT(&ours);
    }
    l->cpus = cpus;
    if (settle(l, CGROUP_CPU, pid, set_cpu, why)) {
        say(l, "cpu: cgroup v%d, %g%s", l->group[CGROUP_CPU].v2 ? 2 : 1, cpus, clamped);
        return;
    }
    int whole = (int)ceil(cpus);
    if (set_affinity(job, &ours, whole, pid))
        say(l, "cpu: affinity to %d whole processor%s%s, because %s", whole, whole == 1 ? "" : "s",
            clamped, why);
    else
        say(l, "cpu: not limited, because %s", why);
}

static uint64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

static void apply_memory(struct limits *l, const struct jobfile *job, pid_t pid)
{
    uint64_t there = machine_memory();
    char why[256], clamped[96] = "";

    if (!job->memory_mb) {
        say(l, "memory: no limit");
        return;
    }
    l->memory_bytes = job->memory_mb << 20;
    if (there && l->memory_bytes > there) {
        snprintf(clamped, sizeof clamped, " (%" PRIu64 " MB asked, clamped to this machine)",
                 job->memory_mb);
        l->memory_bytes = there;
    }
    if (l->memory_contained) {
        say(l, "memory: %" PRIu64 " MB%s by the container", l->memory_bytes >> 20, clamped);
        return;
    }
    if (settle(l, CGROUP_MEMORY, pid, set_memory, why)) {
        say(l, "memory: cgroup v%d, %" PRIu64 " MB%s", l->group[CGROUP_MEMORY].v2 ? 2 : 1,
            l->memory_bytes >> 20, clamped);
        return;
    }
    l->watched = true;
    say(l, "memory: %" PRIu64 " MB%s watched every %.0f ms, because %s", l->memory_bytes >> 20,
        clamped, LIMITS_WATCH_S * 1000, why);
}

void limits_apply(struct limits *l, const struct jobfile *job, pid_t pid)
{
    char why[256];

    apply_cpu(l, job, pid);
    apply_memory(l, job, pid);
    /* A job with limits cannot outgrow them by its number of processes either. The first group that
     * a process enters costs it 10 ms: one without limits is not made to wait. */
    if (job->cpus > 0 || job->memory_mb > 0)
        settle(l, CGROUP_PIDS, pid, set_pids, why);
}

bool limits_over(const struct limits *l, const struct processes *t)
{
    const struct cgroup *g = &l->group[CGROUP_MEMORY];

    if (g->path[0])
        return cgroup_get(g, g->v2 ? "memory.events" : "memory.oom_control", "oom_kill") > 0;
    return l->watched && t && processes_rss_bytes(t) > l->memory_bytes &&
           processes_pss_bytes(t) > l->memory_bytes;
}

double limits_cpu_s(const struct limits *l)
{
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        const struct cgroup *g = &l->group[c];
        int64_t value = g->v2 ? cgroup_get(g, "cpu.stat", "usage_usec") : -1;
        if (value >= 0)
            return (double)value / 1e6;
        value = g->v2 ? -1 : cgroup_get(g, "cpuacct.usage", NULL);
        if (value >= 0)
            return (double)value / 1e9;
    }
    return -1;
}

bool limits_end(struct limits *l, double wait_s)
{
    bool empty = true;

    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        if (l->group[c].path[0] && !cgroup_end(l->group[c].path, wait_s))
            empty = false;
        l->group[c] = (struct cgroup){0};
    }
    return empty;
}
