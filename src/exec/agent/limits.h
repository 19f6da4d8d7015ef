/* limits: holds a job to its processors and memory by whatever this machine lets us use, and can
 * say by what. */
#ifndef EXEC_AGENT_LIMITS_H
#define EXEC_AGENT_LIMITS_H

#include "exec/agent/processes.h"
#include "exec/jobfile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- cgroup.c ---- */

#define CGROUP_PATH_MAX 512
#define CGROUP_PREFIX "tradewind-"

enum cgroup_controller { CGROUP_CPU, CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CONTROLLERS };

/* Directories in which a group could be made for a controller, the best first. */
#define CGROUP_PLACES_MAX 8
struct cgroup_places {
    struct {
        char dir[CGROUP_PATH_MAX];
        bool v2;
    } place[CGROUP_CONTROLLERS][CGROUP_PLACES_MAX];
    size_t n[CGROUP_CONTROLLERS];
};
void cgroup_find_places(struct cgroup_places *out);

struct cgroup {
    char path[CGROUP_PATH_MAX]; /* "" = none */
    bool v2;
};

/* Makes the group `name` (one left behind is emptied and used) in dir. false with errno. */
bool cgroup_make(struct cgroup *g, const char *dir, const char *name, bool v2);
/* Writes text to a file of the group. false with errno. */
bool cgroup_set(const struct cgroup *g, const char *file, const char *text);
/* A number that stands alone in a file, or after a word in a file of words and numbers; -1 = none.
 */
int64_t cgroup_get(const struct cgroup *g, const char *file, const char *word);
bool cgroup_enter(const struct cgroup *g, pid_t pid);

/* Kills whatever is in the group at path and removes it; nothing there is fine. false when
 * something in it did not end in time. */
bool cgroup_end(const char *path, double wait_s);

/* ---- limits.c ---- */

struct limits {
    struct cgroup_places places;
    char name[64];
    struct cgroup group[CGROUP_CONTROLLERS]; /* of version 2: the same path for all */
    double cpus;                             /* 0 = no limit */
    uint64_t memory_bytes;                   /* 0 = no limit */
    bool contained;                          /* a container engine makes the groups */
    bool memory_contained;                   /* and holds the job to its memory */
    bool watched;                            /* no group keeps the memory: limits_over does */
    char text[1024];                         /* how each is enforced, for people */
};

#define LIMITS_WATCH_S 0.1

/* Where groups could be made, and under which name, for the job in this directory. Does nothing
 * yet, so that it can be written down first. */
void limits_plan(struct limits *l, const char *dir);
/* Puts the limits on pid, which waits to become the job's command. */
void limits_apply(struct limits *l, const struct jobfile *job, pid_t pid);
/* Whether the job went over its memory: a group's out-of-memory kill, or the tree as it is now. */
bool limits_over(const struct limits *l, const struct processes *t);
/* Processor seconds as the group counts them, < 0 when it does not. */
double limits_cpu_s(const struct limits *l);
/* Kills what is left in the groups and removes them. */
bool limits_end(struct limits *l, double wait_s);

#endif
