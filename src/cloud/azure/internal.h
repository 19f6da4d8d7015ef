/* internal: calls of Azure's Resource Manager and what a launch needs there, for the files of
 * src/cloud/azure.
 *
 * Each machine has a resource group of its own, whose name follows from owner, region and token:
 * the virtual machine, its disk, network interface and address are in it and go with it. What costs
 * nothing, the network and its rules, is in one further group per owner and region. */
#ifndef CLOUD_AZURE_INTERNAL_H
#define CLOUD_AZURE_INTERNAL_H

#include "base/json.h"
#include "cloud/driver.h"
#include "cloud/images.h"
#include "cloud/rest.h"
#include "cloud/retry.h"
#include "cloud/tags.h"

#include <stdbool.h>

/* Versions of the APIs. */
#define ARM_GROUPS "2021-04-01"
#define ARM_NETWORK "2023-09-01"
#define ARM_COMPUTE "2024-07-01"
#define ARM_SKUS "2021-07-01"
#define ARM_SUBSCRIPTIONS "2022-12-01"
#define ARM_PERMISSIONS "2022-04-01"

/* Tags of a machine's group besides those of all clouds, in seconds since 1970: when its launch
 * began, and when Azure accepted the virtual machine; and whether that is a spot one. */
#define ARM_TAG_BEGUN "broker-begun"
#define ARM_TAG_LAUNCHED "broker-launched"
#define ARM_TAG_MARKET "broker-market"
/* A launch that began this long ago creates nothing any more, and a group without a virtual machine
 * that is this old will never have one. */
#define ARM_LAUNCH_MS ((int64_t)10 * 60 * 1000)
#define ARM_ABSENT_MS ((int64_t)15 * 60 * 1000)

#define ARM_NAME_BYTES 80

struct arm {
    struct cloud_rest rest;
    char *endpoint;     /* "https://management.azure.com" */
    char *scope;        /* of tokens */
    char *subscription; /* NULL: not looked for yet */
};

/* ---- call.c ---- */

int arm_open(struct arm *a, struct cloud *c, struct err *e);
void arm_close(struct arm *a);
/* Finds the subscription: AZURE_SUBSCRIPTION_ID, or the default of az. */
int arm_subscribe(struct arm *a, struct cloud_error *e);

/* A call; name for messages, path below the subscription, which may have a query. Owns body. */
void arm_call_init(struct cloud_rest_call *x, const char *name, const char *method, json_t *body);
int arm_send(struct arm *a,
             struct cloud_rest_call *x,
             const char *path,
             const char *version,
             struct cloud_error *e);
/* The same in one. */
int arm_get(struct arm *a,
            struct cloud_rest_call *x,
            const char *name,
            const char *path,
            const char *version,
            struct cloud_error *e);
/* What a path's query may have: encoded. New string. */
char *arm_encode(const char *text);
/* Waits for what a PUT or DELETE began, at most so long. 0: it is done; 1: not yet; -1: it failed,
 * as its operation says. */
int arm_wait(struct arm *a, const struct cloud_rest_call *x, double most_s, struct cloud_error *e);
/* All pages of a list: visit gets each item of its "value". -1 from it ends the list. */
typedef int arm_visit(void *context, const json_t *item, struct cloud_error *e);
int arm_each(struct arm *a,
             const char *name,
             const char *path,
             const char *version,
             arm_visit *visit,
             void *context,
             struct cloud_error *e);
/* The text of a member, "" where it is none; path: "properties/ipAddress". */
const json_t *arm_at(const json_t *object, const char *path);
const char *arm_text(const json_t *object, const char *path);

/* ---- codes.c ---- */

/* As cloud_rest's judge. */
int arm_judge(struct cloud_rest_call *x, const char *why, struct cloud_error *e);
/* What a code alone means. */
void arm_judge_code(const char *name, const char *code, const char *message, struct cloud_error *e);
bool arm_failed_with(const struct cloud_rest_call *x, const char *code);
/* It names what was created a moment ago and is not visible yet, or what another operation holds.
 */
bool arm_is_young(const struct cloud_rest_call *x);
bool arm_is_busy(const struct cloud_rest_call *x);

/* ---- machine.c ---- */

/* Names that follow from owner, region and token. */
void arm_group_of(const struct arm *a, const char *token, char out[static ARM_NAME_BYTES]);
void arm_vm_of(const struct arm *a, const char *token, char out[static ARM_NAME_BYTES]);
void arm_shared_group(const struct arm *a, char out[static ARM_NAME_BYTES]);

/* A machine as its group and virtual machine tell. */
struct arm_machine {
    struct cloud_tagged tagged;
    char group[ARM_NAME_BYTES];
    bool is_spot; /* asked for */
    bool has_vm, is_deleting;
    int64_t begun_ms, accepted_ms; /* 0 = the tag is missing */
    char failed[100];              /* code of a virtual machine whose creation failed */
};
/* Tags, states and times as far as the group knows. */
void arm_read_group(const struct arm *a, const json_t *group, struct arm_machine *out);
/* The same of the virtual machine, over that; NULL: it has none. */
void arm_read_vm(const struct arm *a, const json_t *vm, struct arm_machine *out);
/* Of a token: 1; 0 = its group is not shown; -1. */
int arm_find(struct arm *a, const char *token, struct arm_machine *out, struct cloud_error *e);
/* All groups of machines of this owner in the region. */
int arm_each_machine(struct arm *a,
                     int (*visit)(void *context,
                                  const struct arm_machine *m,
                                  struct cloud_error *e),
                     void *context,
                     struct cloud_error *e);
/* Deletes a group with all that is in it; at most so long it waits for the end. 0: gone; 1: it is
 * being deleted; -1. */
int arm_delete_group(struct arm *a, const char *group, double most_s, struct cloud_error *e);

/* ---- share.c, zones.c, launch.c, clean.c, check.c ---- */

/* The subnet that machines of this owner share, which admits ssh from this machine alone. Creates
 * what is missing. *is_young: what was just created is not visible yet. */
int arm_share(struct arm *a, char **subnet_out, bool *is_young, struct cloud_error *e);
int arm_put_group(struct arm *a,
                  const char *name,
                  json_t *tags,
                  struct cloud_rest_call *x,
                  struct cloud_error *e);

cloud_zones_fn arm_zones;
cloud_launch_fn arm_launch;
cloud_clean_fn arm_clean;
cloud_check_fn arm_check;

#endif
