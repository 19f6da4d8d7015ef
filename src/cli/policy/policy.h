/* policy: the chart of a simulation, for simulate.c. */
#ifndef CLI_POLICY_POLICY_H
#define CLI_POLICY_POLICY_H

#include "app/policy/policy.h"
#include "cli/core/operate.h"

/* Jobs, queue and cost over time, of a simulation with a story. */
int cli_policy_save_svg(const char *path, const struct app_policy_simulated *s, struct err *e);

#endif
