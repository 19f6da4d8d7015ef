/* driver: the functions of a platform that runs functions. Included by src/cloud and its sub-rooms
 * only. */
#ifndef CLOUD_DEPLOY_DRIVER_H
#define CLOUD_DEPLOY_DRIVER_H

#include "base/json.h"
#include "cloud/deploy/deploy.h"

/* The tag (label) beside CLOUD_TAG_OWNER that has the training's name. */
#define DEPLOY_TAG_TRAINING "broker-training"

struct deploy {
    const struct deploy_platform *platform;
    struct deploy_options options;
    struct cloud *cloud;              /* clock, waits and the way out; AWS: the driver's */
    const struct deploy_watch *watch; /* of the call that lasts; its call: a dry run */
    const char *secret;               /* of the function at hand, which no call shows; NULL */
    void *priv;                       /* owned by the platform */
};

enum deploy_found {
    DEPLOY_ABSENT,
    DEPLOY_SAME,    /* as it should be */
    DEPLOY_DIFFERS, /* it can be changed */
    DEPLOY_PENDING, /* look again soon */
};

struct deploy_kind {
    const char *name;
    /* Name and parent; the rest is filled in. */
    void (*identify)(struct deploy *d, const struct deploy_function *f, struct deploy_resource *r);
    /* f NULL: whether it is there at all, DEPLOY_SAME if so. What is there and does not carry the
     * owner's tag is CLOUD_CONFLICT. */
    int (*look)(struct deploy *d,
                const struct deploy_resource *r,
                const struct deploy_function *f,
                enum deploy_found *out,
                struct cloud_error *e);
    /* CLOUD_CONFLICT: it is there already. */
    int (*make)(struct deploy *d,
                const struct deploy_resource *r,
                const struct deploy_function *f,
                struct cloud_error *e);
    /* One step towards what is wanted; the look after it decides. NULL: as make. */
    int (*change)(struct deploy *d,
                  const struct deploy_resource *r,
                  const struct deploy_function *f,
                  struct cloud_error *e);
    /* Succeeds when it is gone already. */
    int (*remove)(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e);
};

struct deploy_platform {
    const char *cloud;
    const struct deploy_kind *kinds; /* in the order of making */
    size_t n_kinds;
    int (*open)(struct deploy *d, struct err *e);
    void (*close)(struct deploy *d); /* also after a failed open: priv may be NULL */
    int (*list)(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e);
};

extern const struct deploy_platform deploy_aws, deploy_google, deploy_azure;

/* ---- for platforms ---- */

/* 1: the run is dry, and the call was shown; 0: it is to be sent; -1. body NULL = none. */
int deploy_show(struct deploy *d,
                const char *method,
                const char *url,
                const json_t *body,
                struct cloud_error *e);
/* Nothing is changed: what a call needs may not be there yet. */
bool deploy_is_dry(const struct deploy *d);
/* A resource of this cloud and region. */
struct deploy_resource deploy_resource_of(const struct deploy *d,
                                          const char *kind,
                                          const char *name,
                                          const char *parent,
                                          const char *deployment);
/* Whether a name begins with the owner's and '-'. */
bool deploy_is_ours(const struct deploy *d, const char *name);

#endif
