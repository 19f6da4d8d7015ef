/* internal: calls of EC2 and what a launch needs there, for the files of src/cloud/aws. */
#ifndef CLOUD_AWS_INTERNAL_H
#define CLOUD_AWS_INTERNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "cloud/driver.h"
#include "cloud/images.h"
#include "cloud/rest.h"
#include "cloud/retry.h"
#include "cloud/tags.h"
#include "net/credentials.h"
#include "net/http.h"
#include "net/xml.h"

#include <stdbool.h>

struct ec2 {
    struct cloud *cloud;
    struct http *http; /* NULL: options.outside.send */
    struct credentials credentials;
    int64_t skew_ms; /* by which AWS's clock is ahead of ours */
    struct cloud_retry retry;
};

/* ---- call.c ---- */

/* A call on its way: the form grows until ec2_call. */
struct ec2_call {
    const char *action; /* "DescribeInstances" */
    struct buf form;    /* of the query protocol, without Action and Version */
    /* Other services than EC2 with that protocol, and the JSON protocol. NULL = EC2. */
    const char *service, *version;
    const char *target, *json; /* X-Amz-Target and body */
    /* Services with methods and paths (Lambda, S3). method NULL = one of the protocols above. */
    const char *method, *path;          /* what follows the endpoint, with its query, encoded */
    const char *content_type, *payload; /* NULL = no body */
    const char *signed_region;          /* NULL = the handle's */
    double timeout_s;                   /* 0 = that of all calls */
    /* Of the answer. */
    struct arena *arena;
    const struct xml *root; /* NULL: it was JSON */
    const char *body;
    char code[80]; /* of its failure; "" = none, or the answer had none */
    bool is_young; /* it names what may not be visible yet */
    bool is_open;  /* a try of it may have been carried out although no answer said so */
};
void ec2_call_init(struct ec2_call *x, const char *action);
void ec2_call_clear(struct ec2_call *x);
/* Adds a field of the form; its name is printed. */
void ec2_add(struct ec2_call *x, const char *value, const char *name_fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Filter.n: name with these values, NULL-terminated; n counts from 1. */
void ec2_add_filter(struct ec2_call *x, unsigned n, const char *name, const char *const *values);
/* Calls, as often as the failure and the budget allow: every call of this room may be sent again.
 * Describe, Get and List actions fail with TRANSIENT where others fail with UNKNOWN. */
int ec2_send(struct ec2 *a, struct ec2_call *x, struct cloud_error *e);
/* The URL that it goes to; a new string. */
char *ec2_url(const struct ec2 *a, const struct ec2_call *x);
/* The same for all pages of a list: visit gets each item of the set at path. -1 from it ends the
 * list. */
int ec2_each(struct ec2 *a,
             struct ec2_call *x,
             const char *path,
             int (*visit)(void *context, const struct xml *item, struct cloud_error *e),
             void *context,
             struct cloud_error *e);
bool ec2_failed_with(const struct ec2_call *x, const char *code);
/* Finds credentials unless those at hand are good for a while. */
int ec2_credentials(struct ec2 *a, struct cloud_error *e);

/* ---- codes.c ---- */

/* What a failure of EC2 means. status: of HTTP; code "" = the answer had none. */
void ec2_judge(const struct ec2_call *x,
               int status,
               const char *code,
               const char *message,
               struct cloud_error *e,
               bool *is_young);

/* ---- prepare.c ---- */

struct ec2_image {
    char id[64];
    char device[32]; /* of its root disk */
    char login[64];
};
int ec2_find_image(struct ec2 *a,
                   const struct cloud_request *request,
                   struct ec2_image *out,
                   struct cloud_error *e);

/* What launches of this owner share in the region. */
struct ec2_shared {
    char key[100];  /* name of the key pair */
    char group[64]; /* id of the security group, which admits ssh from us alone */
};
/* Creates what is missing. is_young of *out_young: what was just created is not visible yet. */
int ec2_share(struct ec2 *a, struct ec2_shared *out, bool *is_young, struct cloud_error *e);

/* As cloud_zones: the request's zone alone if it names one. */
cloud_zones_fn ec2_zones;
/* CLOUD_UNSUPPORTED unless a zone has the request's type: its own if it names one. */
int ec2_check_offered(struct ec2 *a, const struct cloud_request *request, struct cloud_error *e);

/* ---- instance.c ---- */

/* An item of instancesSet, over what *t says already. */
void ec2_read_instance(const struct ec2 *a, const struct xml *item, struct cloud_tagged *t);
/* The instance of this token: 1; 0 = none is shown; -1. Of several, one that bills. ids, unless
 * NULL, gets the ids of all that are not terminated. */
struct ec2_ids {
    char items[8][256];
    size_t n;
};
int ec2_find(struct ec2 *a,
             const char *token,
             struct cloud_tagged *out,
             struct ec2_ids *ids,
             struct cloud_error *e);
/* All of this owner that are not terminated. */
int ec2_each_instance(struct ec2 *a,
                      int (*visit)(void *context,
                                   const struct cloud_machine *m,
                                   struct cloud_error *e),
                      void *context,
                      struct cloud_error *e);
int ec2_terminate(struct ec2 *a, const struct ec2_ids *ids, struct cloud_error *e);

/* ---- launch.c, clean.c, check.c ---- */

cloud_launch_fn ec2_launch;
cloud_clean_fn ec2_clean;
cloud_check_fn ec2_check;
/* The fields of RunInstances. */
void ec2_form_run(struct ec2_call *x,
                  const struct cloud_request *request,
                  const struct ec2_image *image,
                  const struct ec2_shared *shared);

#endif
