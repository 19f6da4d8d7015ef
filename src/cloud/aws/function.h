/* function: the resources of a function on AWS, by kind, for the files function*.c of this room. */
#ifndef CLOUD_AWS_FUNCTION_H
#define CLOUD_AWS_FUNCTION_H

#include "cloud/aws/internal.h"
#include "cloud/deploy/driver.h"

struct aws_functions {
    struct ec2 *ec2;
    char account[16]; /* "" = not asked yet */
};

/* ---- function.c ---- */

/* Sends a call that changes something; a dry run shows it instead. body: what to show of it. */
int aws_function_change(struct deploy *d,
                        struct ec2_call *x,
                        const json_t *body,
                        struct cloud_error *e);
/* The number of the account; NULL: e. */
const char *aws_function_account(struct deploy *d, struct cloud_error *e);
/* The ARN of the function's role: a new string, NULL: e. */
char *aws_function_role(struct deploy *d, const char *name, struct cloud_error *e);

#define AWS_FUNCTION_LOOK(name)                                                                    \
    int name(struct deploy *d, const struct deploy_resource *r, const struct deploy_function *f,   \
             enum deploy_found *out, struct cloud_error *e)
#define AWS_FUNCTION_STEP(name)                                                                    \
    int name(struct deploy *d, const struct deploy_resource *r, const struct deploy_function *f,   \
             struct cloud_error *e)
#define AWS_FUNCTION_REMOVE(name)                                                                  \
    int name(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)

/* ---- function_role.c: the role, what it permits, and the group of its logs ---- */

AWS_FUNCTION_LOOK(aws_role_look);
AWS_FUNCTION_STEP(aws_role_make);
AWS_FUNCTION_STEP(aws_role_change);
AWS_FUNCTION_REMOVE(aws_role_remove);
AWS_FUNCTION_LOOK(aws_policy_look);
AWS_FUNCTION_STEP(aws_policy_make);
AWS_FUNCTION_REMOVE(aws_policy_remove);
AWS_FUNCTION_LOOK(aws_logs_look);
AWS_FUNCTION_STEP(aws_logs_make);
AWS_FUNCTION_STEP(aws_logs_change);
AWS_FUNCTION_REMOVE(aws_logs_remove);
/* Visits roles, their policies, and groups of logs. */
int aws_role_list(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e);

/* ---- function_code.c: the function itself ---- */

AWS_FUNCTION_LOOK(aws_code_look);
AWS_FUNCTION_STEP(aws_code_make);
AWS_FUNCTION_STEP(aws_code_change);
AWS_FUNCTION_REMOVE(aws_code_remove);
/* Visits functions, and the triggers that their settings name. */
int aws_code_list(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e);

/* ---- function_trigger.c: that the bucket may start it, and does ---- */

AWS_FUNCTION_LOOK(aws_permission_look);
AWS_FUNCTION_STEP(aws_permission_make);
AWS_FUNCTION_STEP(aws_permission_change);
AWS_FUNCTION_REMOVE(aws_permission_remove);
AWS_FUNCTION_LOOK(aws_notification_look);
AWS_FUNCTION_STEP(aws_notification_make);
AWS_FUNCTION_REMOVE(aws_notification_remove);

/* ---- calls, for all of them ---- */

/* A call of Lambda, "PUT functions/NAME/code": reads its answer's JSON into *out (new reference)
 * unless out is NULL. body NULL = none; shown NULL = the body is shown as it is. */
struct aws_rest {
    const char *action, *method, *path;
    const json_t *body, *shown;
    double timeout_s;
};
int aws_lambda_call(struct deploy *d,
                    const struct aws_rest *call,
                    json_t **out,
                    struct cloud_error *e);

#endif
