/* lease: the lease of a machine, which the broker renews: the last agent there powers the machine
 * off when the lease has lapsed, if its job says how. */
#ifndef EXEC_AGENT_LEASE_H
#define EXEC_AGENT_LEASE_H

#include "base/err.h"

#include <stdbool.h>

/* root/lease: agents wait this number of seconds from now on. */
int lease_renew(const char *root, double seconds, struct err *e);
/* Whether an agent holds the lock of a job below root. */
bool lease_has_work(const char *root);
/* Waits until the lease of root has lapsed, at least lease_s from now, and no job runs below root;
 * then runs command by the shell, once. Returns at once when another agent waits there already. */
void lease_wait_and_run(const char *root, double lease_s, const char *command);

#endif
