/* doctor: the checks of the installation, for the files that make them. */
#ifndef APP_ADMIN_DOCTOR_H
#define APP_ADMIN_DOCTOR_H

#include "app/admin/admin.h"

struct doctor;
/* Adds a check: what was checked, what was found, and the fix ("" = there is nothing to do). */
void doctor_say(struct doctor *d,
                enum doctor_verdict verdict,
                const char *what,
                const char *fix,
                const char *fmt,
                ...) __attribute__((format(printf, 5, 6)));

struct config;

/* ssh, git, tar, nvidia-smi. */
void doctor_programs(struct doctor *d);
/* The agent, and the limits that it holds a tiny job to, in a directory below home. */
void doctor_agent(struct doctor *d, const char *home);
/* The ways to machines: this one, hosts of the configuration, simulated ones. */
void doctor_drivers(struct doctor *d, const struct config *c);

#endif
