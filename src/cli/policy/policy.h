/* policy: the text and the chart of a simulation, for simulate.c. */
#ifndef CLI_POLICY_POLICY_H
#define CLI_POLICY_POLICY_H

#include "app/policy/policy.h"
#include "cli/core/operate.h"

/* The text of a simulation for people. */
void cli_policy_print_simulated(const struct operate_text *t, const struct app_policy_simulated *s);
/* The chart of a simulation with a story: jobs, queue and cost over time. */
int cli_policy_save_svg(const char *path, const struct app_policy_simulated *s, struct err *e);

#endif
