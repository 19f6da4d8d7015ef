/* doctor_parts: what `tradewind doctor` finds out, a line each. */
#ifndef CLI_ADMIN_DOCTOR_PARTS_H
#define CLI_ADMIN_DOCTOR_PARTS_H

#include "base/auto.h"

#include <stdbool.h>

enum doctor_verdict {
    DOCTOR_OK,
    DOCTOR_WARNING,
    DOCTOR_MISSING, /* nothing here needs it */
    DOCTOR_BROKEN,  /* jobs cannot run on this machine without it */
};

struct doctor;
/* What was looked at, what was found, and the way out ("" = there is nothing to do). */
void doctor_say(struct doctor *d,
                enum doctor_verdict verdict,
                const char *what,
                const char *way_out,
                const char *fmt,
                ...) __attribute__((format(printf, 5, 6)));

struct config;

/* ssh, git, tar, nvidia-smi. */
void doctor_programs(struct doctor *d);
/* The agent, and the limits that a tiny job of it is held to, in a directory below home. */
void doctor_agent(struct doctor *d, const char *home);
/* The ways to machines: here, hosts of the configuration, on paper. */
void doctor_drivers(struct doctor *d, const struct config *c);

#endif
