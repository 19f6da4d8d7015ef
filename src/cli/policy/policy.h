/* policy: what the files of the policy commands share. */
#ifndef CLI_POLICY_POLICY_H
#define CLI_POLICY_POLICY_H

#include "app/policy/policy.h"
#include "cli/core/operate.h"

/* Sets a field of the request to the content of a file; "-" is standard input. */
int cli_policy_put_file(json_t *request, const char *field, const char *path, struct err *e);

/* The text of a simulation for people. */
void cli_policy_print_simulated(const struct operate_text *t, const struct app_policy_simulated *s);
/* The chart of a simulation with a story: jobs, queue and cost over time. */
int cli_policy_save_svg(const char *path, const struct app_policy_simulated *s, struct err *e);

#endif
