/* read: a policy problem as JSON text, checked. */
#ifndef POLICY_READ_H
#define POLICY_READ_H

#include "base/arena.h"
#include "policy/policy.h"

/* 8,192 jobs on 100 types take 20 MB. */
#define POLICY_FILE_BYTES_MAX ((size_t)64 << 20)

struct policy_file {
    struct arena *arena;
    struct policy_problem problem; /* lives in the arena */
};

/* ERR_USAGE names the place, as "line 3" or "jobs[2].gang". */
int policy_read(const char *bytes, size_t n, struct policy_file *out, struct err *e);
void policy_file_clear(struct policy_file *f);

#endif
