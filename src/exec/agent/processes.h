/* processes: the processes of a job, as /proc shows them: all descendants of its agent, which
 * orphans come back to (PR_SET_CHILD_SUBREAPER), whatever sessions they made. */
#ifndef EXEC_AGENT_PROCESSES_H
#define EXEC_AGENT_PROCESSES_H

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

struct processes {
    struct process *all;
    size_t n, cap;
};

/* Reads /proc and chooses the living descendants of root, without `except` and what is below it. */
void processes_scan(struct processes *t, pid_t root, pid_t except);
/* Chooses what is marked as belonging to the job instead: processes whose environment has `mark`
 * ("NAME=VALUE"), the one with this pid and start, and their descendants. */
void processes_scan_marked(struct processes *t, const char *mark, pid_t pid, uint64_t start_ticks);
void processes_clear(struct processes *t);

size_t processes_count(const struct processes *t);
void processes_signal(const struct processes *t, int signal);
void processes_signal_but(const struct processes *t, int signal, pid_t except);
double processes_cpu_s(const struct processes *t);
uint64_t processes_rss_bytes(const struct processes *t);
/* Shared pages counted once; where the kernel does not tell, the same as processes_rss_bytes. */
uint64_t processes_pss_bytes(const struct processes *t);

/* 0 when there is no such process. */
uint64_t processes_start_ticks(pid_t pid);

#endif
