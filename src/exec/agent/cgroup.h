/* cgroup: control groups, version 2 or 1, as the kernel's files show them. One group a hierarchy,
 * all of the same name. Everything here may fail for want of rights, and says why. */
#ifndef EXEC_AGENT_CGROUP_H
#define EXEC_AGENT_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
