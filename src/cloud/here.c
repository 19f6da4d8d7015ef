#include "cloud/here.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/number.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 4352 /* a path and what stands before it */

static bool read_line(const char *path, char out[static LINE_BYTES])
{
    FILE *f = fopen(path, "re");

    if (!f)
        return false;
    bool good = fgets(out, LINE_BYTES, f) != NULL;
    fclose(f);
    if (good)
        out[strcspn(out, "\n")] = 0;
    return good;
}

static bool read_number(const char *dir, const char *file, double *out)
{
    AUTO_MEM char *path = mem_printf("%s/%s", dir, file);
    char line[LINE_BYTES];

    return read_line(path, line) && number_parse(line, out);
}

static void at_most(double *value, double limit)
{
    if (limit > 0 && limit < *value)
        *value = limit;
}

/* cpu.max is "QUOTA PERIOD" or "max PERIOD", memory.max is bytes or "max". */
static void limit_v2(const char *dir, struct here *h)
{
    AUTO_MEM char *path = mem_printf("%s/cpu.max", dir);
    char line[LINE_BYTES];
    const char *rest;
    double quota, period, bytes;

    if (read_line(path, line) && number_prefix(line, &rest, &quota) && *rest == ' ' &&
        number_parse(rest + 1, &period) && period > 0)
        at_most(&h->cpus, quota / period);
    if (read_number(dir, "memory.max", &bytes))
        at_most(&h->memory_gb, bytes / 1e9);
}

/* No quota is -1; no limit of memory is a number larger than any memory. */
static void limit_v1_cpu(const char *dir, struct here *h)
{
    double quota, period;

    if (read_number(dir, "cpu.cfs_quota_us", &quota) &&
        read_number(dir, "cpu.cfs_period_us", &period) && period > 0)
        at_most(&h->cpus, quota / period);
}

static void limit_v1_memory(const char *dir, struct here *h)
{
    double bytes;

    if (read_number(dir, "memory.limit_in_bytes", &bytes))
        at_most(&h->memory_gb, bytes / 1e9);
}

/* A limit of any group above holds too. In a container the group's path may not be there: then its
 * root is what binds. */
static void walk_up(const char *mount,
                    const char *group,
                    void (*limit)(const char *dir, struct here *h),
                    struct here *h)
{
    AUTO_MEM char *dir = mem_printf("%s%s", mount, group);

    for (;;) {
        limit(dir, h);
        char *slash = strrchr(dir, '/');
        if (!slash || slash < dir + strlen(mount))
            return;
        *slash = 0;
    }
}

static bool has_controller(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || !at[n]))
            return true;
    return false;
}

/* "4:memory:/user" or "0::/user" */
static void apply_line(const char *root, char *line, struct here *h)
{
    char *controllers = strchr(line, ':'),
         *group = controllers ? strchr(controllers + 1, ':') : NULL;

    if (!group)
        return;
    *controllers++ = 0;
    *group++ = 0;
    group[strcspn(group, "\n")] = 0;
    const char *mount = "";
    void (*limit)(const char *, struct here *) = NULL;
    if (strcmp(line, "0") == 0)
        limit = limit_v2;
    else if (has_controller(controllers, "cpu"))
        mount = "/cpu", limit = limit_v1_cpu;
    else if (has_controller(controllers, "memory"))
        mount = "/memory", limit = limit_v1_memory;
    if (!limit)
        return;
    AUTO_MEM char *dir = mem_printf("%s/sys/fs/cgroup%s", root, mount);
    walk_up(dir, group, limit, h);
    AUTO_MEM char *unified = mem_printf("%s/sys/fs/cgroup/unified", root);
    if (limit == limit_v2)
        walk_up(unified, group, limit, h);
}

static double processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    /* More processors than the set has room for. */
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (double)n : 1;
}

struct here here_look(const char *root)
{
    struct here h = {processors(),
                     (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1e9};
    AUTO_MEM char *path = mem_printf("%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    char line[LINE_BYTES];

    while (f && fgets(line, sizeof line, f))
        apply_line(root, line, &h);
    if (f)
        fclose(f);
    return h;
}
