/* claim: which home uses this machine. Homes that come as the same user see each other's claims, in
 * one small file beside their directories of jobs. */
#ifndef EXEC_AGENT_CLAIM_H
#define EXEC_AGENT_CLAIM_H

#include "base/err.h"

/* For at most this number of seconds, unless it is taken again. */
#define CLAIM_MAX_S 3600.0

/* The home whose directory of jobs is root has the machine for token from now on; label says to
 * people who that is. ERR_NOFIT with the label of another home that has it: one whose claim did not
 * lapse, or whose job runs here. */
int claim_take(
    const char *root, const char *token, double seconds, const char *label, struct err *e);
/* Gives it back, if root has it, with token or for one that only looks. Repeatable. */
int claim_release(const char *root, const char *token, struct err *e);

#endif
