/* tree: the processes of a job, as /proc shows them: all descendants of its agent, which orphans
 * come back to (PR_SET_CHILD_SUBREAPER), whatever sessions they made. */
#ifndef EXEC_AGENT_TREE_H
#define EXEC_AGENT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid, parent;
    char state;
    uint64_t cpu_ticks; /* its own and of the children it waited for */
    uint64_t rss_bytes;
    uint64_t start_ticks; /* since boot: with the pid, names one process for good */
    bool chosen;
};

struct tree {
    struct process *all;
    size_t n, cap;
};

/* Reads /proc and chooses the living descendants of root, without `except` and what is below it. */
void tree_scan(struct tree *t, pid_t root, pid_t except);
/* Chooses what is marked as belonging to the job instead: processes whose environment has `mark`
 * ("NAME=VALUE"), the one with this pid and start, and their descendants. */
void tree_scan_marked(struct tree *t, const char *mark, pid_t pid, uint64_t start_ticks);
void tree_clear(struct tree *t);

size_t tree_count(const struct tree *t);
void tree_signal(const struct tree *t, int signal);
double tree_cpu_s(const struct tree *t);
uint64_t tree_rss_bytes(const struct tree *t);
/* Shared pages counted once; where the kernel does not tell, the same as tree_rss_bytes. */
uint64_t tree_pss_bytes(const struct tree *t);

/* 0 when there is no such process. */
uint64_t process_start_ticks(pid_t pid);

#endif
