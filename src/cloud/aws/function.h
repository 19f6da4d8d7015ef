/* function: the resources of a function on AWS, by kind, for the files function*.c of this room. */
#ifndef CLOUD_AWS_FUNCTION_H
#define CLOUD_AWS_FUNCTION_H

#include "cloud/aws/internal.h"
#include "cloud/deploy/driver.h"

struct lambda {
    struct ec2 *ec2;
    char account[16]; /* "" = not asked yet */
};

/* ---- function.c ---- */

/* Sends a call that changes something; a dry run shows it instead. body: what to show of it. */
int lambda_change(struct deploy *d, struct ec2_call *x, const json_t *body, struct cloud_error *e);
/* The number of the account; NULL: e. */
const char *lambda_account(struct deploy *d, struct cloud_error *e);
/* The ARN of the function's role: a new string, NULL: e. */
char *lambda_role_arn(struct deploy *d, const char *name, struct cloud_error *e);

#define LAMBDA_LOOK(name)                                                                          \
    int name(struct deploy *d, const struct deploy_resource *r, const struct deploy_function *f,   \
             enum deploy_found *out, struct cloud_error *e)
#define LAMBDA_STEP(name)                                                                          \
    int name(struct deploy *d, const struct deploy_resource *r, const struct deploy_function *f,   \
             struct cloud_error *e)
#define LAMBDA_REMOVE(name)                                                                        \
    int name(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)

/* ---- function_role.c: the role, what it permits, and the group of its logs ---- */

LAMBDA_LOOK(lambda_role_look);
LAMBDA_STEP(lambda_role_make);
LAMBDA_STEP(lambda_role_change);
LAMBDA_REMOVE(lambda_role_remove);
LAMBDA_LOOK(lambda_policy_look);
LAMBDA_STEP(lambda_policy_make);
LAMBDA_REMOVE(lambda_policy_remove);
LAMBDA_LOOK(lambda_logs_look);
LAMBDA_STEP(lambda_logs_make);
LAMBDA_STEP(lambda_logs_change);
LAMBDA_REMOVE(lambda_logs_remove);
/* Visits roles, their policies, and groups of logs. */
int lambda_role_list(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e);

/* ---- function_code.c: the function itself ---- */

LAMBDA_LOOK(lambda_code_look);
LAMBDA_STEP(lambda_code_make);
LAMBDA_STEP(lambda_code_change);
LAMBDA_REMOVE(lambda_code_remove);
/* Visits functions, and the triggers that their settings name. */
int lambda_code_list(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e);

/* ---- function_trigger.c: that the bucket may start it, and does ---- */

LAMBDA_LOOK(lambda_permission_look);
LAMBDA_STEP(lambda_permission_make);
LAMBDA_STEP(lambda_permission_change);
LAMBDA_REMOVE(lambda_permission_remove);
LAMBDA_LOOK(lambda_notification_look);
LAMBDA_STEP(lambda_notification_make);
LAMBDA_REMOVE(lambda_notification_remove);

/* ---- calls, for all of them ---- */

/* A call of Lambda, "PUT functions/NAME/code": reads its answer's JSON into *out (new reference)
 * unless out is NULL. body NULL = none; shown NULL = the body is shown as it is. */
struct lambda_rest {
    const char *action, *method, *path;
    const json_t *body, *shown;
    double timeout_s;
};
int lambda_call(struct deploy *d,
                const struct lambda_rest *call,
                json_t **out,
                struct cloud_error *e);

#endif
