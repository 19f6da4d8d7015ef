/* here: the size of this machine for this process: its processors and memory within the limits of
 * CPU affinity and of the control groups around the process (version 1 or 2). */
#ifndef CLOUD_HERE_H
#define CLOUD_HERE_H

struct here {
    double cpus;
    double memory_gb; /* of 1e9 bytes */
};

/* root: "" for this system; a directory that has proc/self/cgroup and sys/fs/cgroup below it for
 * tests. What cannot be read limits nothing. */
struct here here_look(const char *root);

#endif
