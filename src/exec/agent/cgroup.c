/* Control groups, version 2 or 1, as the kernel's files show them. One group a hierarchy,
 * all of the same name. Everything here may fail for want of rights, and says why. */
#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "exec/agent/jobdir.h"
#include "exec/agent/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE_MAX ((size_t)1 << 20)
#define END_POLL_US 2000

static const char *const controllers[] = {
    [CGROUP_CPU] = "cpu",
    [CGROUP_MEMORY] = "memory",
    [CGROUP_PIDS] = "pids",
};

/* Whether word is one of text's, between any of the separators. */
static bool has_word(const char *text, const char *word, const char *separators)
{
    size_t len = strlen(word);

    for (const char *at = text; *at;) {
        size_t n = strcspn(at, separators);
        if (n == len && !memcmp(at, word, n))
            return true;
        at += n;
        at += *at != 0;
    }
    return false;
}

/* Our own group in the hierarchy of a controller (v1), or the one of version 2 for NULL. */
static bool own_group(const char *table, const char *controller, char *out, size_t size)
{
    for (const char *line = table; line && *line; line = strchr(line, '\n') + 1) {
        char names[128], path[CGROUP_PATH_MAX];
        names[0] = 0;
        bool v2 = sscanf(line, "0::%511[^\n]", path) == 1;
        bool v1 = !v2 && sscanf(line, "%*d:%127[^:]:%511[^\n]", names, path) == 2;
        if (controller ? v1 && has_word(names, controller, ",") : v2) {
            snprintf(out, size, "%s", path);
            return true;
        }
        if (!strchr(line, '\n'))
            break;
    }
    return false;
}

static void add_place(struct cgroup_places *p, enum cgroup_controller c, const char *dir, bool v2)
{
    struct stat st;

    if (p->n[c] == CGROUP_PLACES_MAX || stat(dir, &st) < 0)
        return;
    for (size_t i = 0; i < p->n[c]; i++)
        if (!strcmp(p->place[c][i].dir, dir))
            return;
    snprintf(p->place[c][p->n[c]].dir, CGROUP_PATH_MAX, "%s", dir);
    p->place[c][p->n[c]++].v2 = v2;
}

/* Version 2 gives a controller to groups below dir only if dir says so; pids stands for the bare
 * group, by which processes are found and killed. */
static bool hands_down(const char *dir, enum cgroup_controller c)
{
    char path[CGROUP_PATH_MAX + 32];

    if (c == CGROUP_PIDS)
        return true;
    snprintf(path, sizeof path, "%s/cgroup.subtree_control", dir);
    AUTO_MEM char *text = jobdir_read_small(path, 4096, NULL);
    return text && has_word(text, controllers[c], " \n");
}

/* Our own group and those above it, up to where the hierarchy is mounted. */
static void add_v2(struct cgroup_places *p, const char *mount, const char *group)
{
    char dir[CGROUP_PATH_MAX];

    if (snprintf(dir, sizeof dir, "%s%s", mount, strcmp(group, "/") ? group : "") >=
        (int)sizeof dir)
        return;
    while (strlen(dir) >= strlen(mount)) {
        for (int c = 0; c < CGROUP_CONTROLLERS; c++)
            if (hands_down(dir, (enum cgroup_controller)c))
                add_place(p, (enum cgroup_controller)c, dir, true);
        char *slash = strrchr(dir, '/');
        if (!slash || slash == dir)
            break;
        *slash = 0;
    }
}

static void add_v1(struct cgroup_places *p,
                   enum cgroup_controller c,
                   const char *mount,
                   const char *group)
{
    char dir[CGROUP_PATH_MAX];

    if (snprintf(dir, sizeof dir, "%s%s", mount, strcmp(group, "/") ? group : "") < (int)sizeof dir)
        add_place(p, c, dir, false);
    add_place(p, c, mount, false);
}

struct mount {
    char root[CGROUP_PATH_MAX], point[CGROUP_PATH_MAX], type[32], options[256];
};

/* A line of mountinfo: ids and device, root, mount point, options ... - type source options. */
static bool read_mount(const char *line, struct mount *out)
{
    char text[2048];

    snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
    const char *dash = strstr(text, " - ");
    return dash && sscanf(text, "%*s %*s %*s %511s %511s", out->root, out->point) == 2 &&
           sscanf(dash, " - %31s %*s %255s", out->type, out->options) == 2;
}

/* A group's path as seen below the mount, whose root may itself be a group (in containers). */
static const char *below_root(const struct mount *m, const char *group)
{
    size_t len = strlen(m->root);

    if (!strcmp(m->root, "/"))
        return group;
    if (strncmp(group, m->root, len) == 0 && (group[len] == '/' || !group[len]))
        return group[len] ? group + len : "/";
    return "/";
}

static void look_at_mount(struct cgroup_places *out, const struct mount *m, const char *groups)
{
    char group[CGROUP_PATH_MAX];

    if (!strcmp(m->type, "cgroup2") && own_group(groups, NULL, group, sizeof group))
        add_v2(out, m->point, below_root(m, group));
    if (strcmp(m->type, "cgroup") != 0)
        return;
    for (int c = 0; c < CGROUP_CONTROLLERS; c++)
        if (has_word(m->options, controllers[c], ",") &&
            own_group(groups, controllers[c], group, sizeof group))
            add_v1(out, (enum cgroup_controller)c, m->point, below_root(m, group));
}

void cgroup_find_places(struct cgroup_places *out)
{
    AUTO_MEM char *mounts = jobdir_read_small("/proc/self/mountinfo", TABLE_MAX, NULL);
    AUTO_MEM char *groups = jobdir_read_small("/proc/self/cgroup", TABLE_MAX, NULL);
    struct mount m;

    memset(out, 0, sizeof *out);
    if (!mounts || !groups)
        return;
    for (const char *line = mounts; *line;) {
        if (read_mount(line, &m))
            look_at_mount(out, &m, groups);
        const char *end = strchr(line, '\n');
        line = end ? end + 1 : "";
    }
}

bool cgroup_make(struct cgroup *g, const char *dir, const char *name, bool v2)
{
    struct cgroup made = {.v2 = v2};

    if (snprintf(made.path, sizeof made.path, "%s/%s", dir, name) >= (int)sizeof made.path) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (mkdir(made.path, 0755) < 0) {
        if (errno != EEXIST)
            return false;
        cgroup_end(made.path, 1);
        if (mkdir(made.path, 0755) < 0 && errno != EEXIST)
            return false;
    }
    *g = made;
    return true;
}

static bool write_file(const char *dir, const char *file, const char *text)
{
    char path[CGROUP_PATH_MAX + 64];

    snprintf(path, sizeof path, "%s/%s", dir, file);
    AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) >= 0;
}

bool cgroup_set(const struct cgroup *g, const char *file, const char *text)
{
    return write_file(g->path, file, text);
}

int64_t cgroup_get(const struct cgroup *g, const char *file, const char *word)
{
    char path[CGROUP_PATH_MAX + 64];

    if (!g->path[0])
        return -1;
    snprintf(path, sizeof path, "%s/%s", g->path, file);
    AUTO_MEM char *text = jobdir_read_small(path, 65536, NULL);
    for (const char *line = text; line && *line;) {
        size_t len = word ? strlen(word) : 0;
        if (!word || (!strncmp(line, word, len) && line[len] == ' ')) {
            char *end;
            int64_t value = strtoll(line + len, &end, 10);
            return end > line + len ? value : -1;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return -1;
}

bool cgroup_enter(const struct cgroup *g, pid_t pid)
{
    char text[32];

    snprintf(text, sizeof text, "%d", (int)pid);
    return cgroup_set(g, "cgroup.procs", text);
}

/* How many processes are in it; each of them gets the signal. */
static size_t kill_members(const char *dir)
{
    char path[CGROUP_PATH_MAX + 32];
    size_t n = 0;

    snprintf(path, sizeof path, "%s/cgroup.procs", dir);
    AUTO_MEM char *text = jobdir_read_small(path, TABLE_MAX, NULL);
    for (const char *line = text; line && *line;) {
        long pid = strtol(line, NULL, 10);
        if (pid > 1 && pid != getpid()) {
            kill((pid_t)pid, SIGKILL);
            n++;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return n;
}

bool cgroup_end(const char *path, double wait_s)
{
    double until_s = time_monotonic_s() + wait_s;
    const char *name = strrchr(path, '/');

    /* Whatever path the record has: no other group is ever emptied. */
    if (!name || strncmp(name + 1, CGROUP_PREFIX, strlen(CGROUP_PREFIX)) != 0)
        return true;
    for (;;) {
        if (rmdir(path) == 0 || errno == ENOENT)
            return true;
        if (!write_file(path, "cgroup.kill", "1"))
            kill_members(path);
        if (time_monotonic_s() >= until_s)
            return false;
        usleep(END_POLL_US);
    }
}
