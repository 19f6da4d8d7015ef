/* google: the resources of a function on Google Cloud, by kind, for the files google*.c of this
 * room. */
#ifndef CLOUD_DEPLOY_GOOGLE_H
#define CLOUD_DEPLOY_GOOGLE_H

#include "cloud/deploy/api.h"
#include "cloud/tags.h"

#define GOOGLE_EMAIL_BYTES 160
#define GOOGLE_RUN "https://run.googleapis.com/"
#define GOOGLE_EVENTARC "https://eventarc.googleapis.com/"

struct google {
    struct cloud_rest rest;
    char *project; /* NULL = not asked yet */
};

/* ---- google.c ---- */

/* "https://run.googleapis.com/v2/...": the base as gcloud's settings have it, which ends in '/'. */
char *google_url(struct deploy *d, const char *api, const char *base, const char *path);
char *google_service_url(struct deploy *d, const char *name, const char *end);
char *google_trigger_url(struct deploy *d, const char *name, const char *end);
int google_project(struct deploy *d, struct cloud_error *e);
/* Of the service account of a function. */
void google_email(struct deploy *d, const char *name, char out[static GOOGLE_EMAIL_BYTES]);
json_t *google_labels(const struct deploy *d, const struct deploy_function *f);
/* CLOUD_INVALID: what was found does not carry the owner's label. */
int google_check_ours(struct deploy *d, const json_t *found, struct cloud_error *e);
/* Waits for the operation that an answer promises. base: of the API's version, ".../v2/". */
int google_await(struct deploy *d, json_t *answer, const char *base, struct cloud_error *e);

#define GOOGLE_LOOK(name)                                                                          \
    int name(struct deploy *d, const struct deploy_resource *r, const struct deploy_function *f,   \
             enum deploy_found *out, struct cloud_error *e)
#define GOOGLE_STEP(name)                                                                          \
    int name(struct deploy *d, const struct deploy_resource *r, const struct deploy_function *f,   \
             struct cloud_error *e)
#define GOOGLE_REMOVE(name)                                                                        \
    int name(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)

/* ---- google_policy.c: the account's roles at the bucket, the project and the service ---- */

GOOGLE_LOOK(google_store_look);
GOOGLE_STEP(google_store_make);
GOOGLE_REMOVE(google_store_remove);
GOOGLE_LOOK(google_receiver_look);
GOOGLE_STEP(google_receiver_make);
GOOGLE_REMOVE(google_receiver_remove);
GOOGLE_LOOK(google_invoker_look);
GOOGLE_STEP(google_invoker_make);
GOOGLE_REMOVE(google_invoker_remove);

/* ---- google_service.c: the service and its trigger ---- */

GOOGLE_LOOK(google_service_look);
GOOGLE_STEP(google_service_make);
GOOGLE_STEP(google_service_change);
GOOGLE_REMOVE(google_service_remove);
GOOGLE_LOOK(google_trigger_look);
GOOGLE_STEP(google_trigger_make);
GOOGLE_STEP(google_trigger_change);
GOOGLE_REMOVE(google_trigger_remove);

#endif
