/* internal: calls of Compute Engine and what a launch needs there, for the files of src/cloud/gcp.
 */
#ifndef CLOUD_GCP_INTERNAL_H
#define CLOUD_GCP_INTERNAL_H

#include "cloud/driver.h"
#include "cloud/images.h"
#include "cloud/rest.h"
#include "cloud/tags.h"

#include <stdbool.h>

/* Of names: instances, their disks, the firewall rule. */
#define GCE_NAME_BYTES 64

struct gce {
    struct cloud_rest rest;
    char *project;
};

/* ---- call.c ---- */

/* Finds the login and the project. Calls do it by themselves. */
int gce_ready(struct gce *g, struct cloud_error *e);
/* Calls what lies at the path below the project; the path has its query, encoded. */
int gce_send(struct gce *g,
             struct cloud_rest_call *x,
             struct cloud_error *e,
             const char *path_fmt,
             ...) __attribute__((format(printf, 4, 5)));
/* For queries. New string. */
char *gce_encode(const char *text);
/* What follows the last '/' of a URL or path; "" for NULL. */
const char *gce_last(const char *url);
/* A text member, "" for none. */
const char *gce_text(const json_t *object, const char *name);

/* Waits until an operation, as a call answered with it, is done. 0: *out is the operation, done,
 * with or without an error: a new reference. -1: what becomes of it is unknown. */
int gce_wait(struct gce *g, const json_t *operation, json_t **out, struct cloud_error *e);
/* Sends x, and waits until what it changes is changed: an error of the operation is the call's. */
int gce_change(struct gce *g,
               struct cloud_rest_call *x,
               struct cloud_error *e,
               const char *path_fmt,
               ...) __attribute__((format(printf, 4, 5)));

/* All items of an aggregated list ("instances") that fit the filter, of this region or, everywhere,
 * of all: visit gets each with its scope, "zones/us-central1-a". -1 from it ends the list. Where a
 * zone cannot be reached the list fails in the end: it proves nothing about what it lacks. */
typedef int gce_visit(void *context, const char *scope, const json_t *item, struct cloud_error *e);
struct gce_list {
    const char *kind, *filter;
    bool everywhere;
    gce_visit *visit;
    void *context;
};
int gce_each(struct gce *g, const struct gce_list *list, struct cloud_error *e);

/* ---- codes.c ---- */

/* As the judge of struct cloud_rest. */
int gce_judge(struct cloud_rest_call *x, const char *why, struct cloud_error *e);
/* What the error of a done operation means: 0 where it has none. It is certain, so it is never
 * UNKNOWN. */
int gce_judge_operation(struct cloud_rest_call *x, const json_t *operation, struct cloud_error *e);

/* ---- instance.c ---- */

/* The name of a token's instance and of its disk. */
void gce_name(const struct gce *g, const char *owner, const char *token, char out[GCE_NAME_BYTES]);
/* Tags as labels, whose values are shorter. New reference. */
json_t *gce_labels(const struct cloud_tags *tags);
/* Of an owner's things, or of one token's unless that is NULL. New string. */
char *gce_filter(const char *owner, const char *token);
/* An instance over what *t says already. zone: "us-central1-a". */
void gce_read_instance(const struct gce *g,
                       const char *zone,
                       const json_t *item,
                       struct cloud_tagged *t);
/* Where instances of a token are. */
struct gce_places {
    struct gce_place {
        char zone[CLOUD_ZONE_BYTES], name[GCE_NAME_BYTES];
    } items[8];
    size_t n;
};
/* The instance of this token: 1; 0 = none is shown; -1. places, unless NULL, gets all. */
int gce_find(struct gce *g,
             const char *token,
             struct cloud_tagged *out,
             struct gce_places *places,
             struct cloud_error *e);
/* What operations tell of a name, as long as Google keeps them. */
struct gce_past {
    bool was_there; /* an instance was launched, or is being launched */
    bool is_over, was_preempted;
    char zone[CLOUD_ZONE_BYTES], request_id[40];
    int64_t launched_ms, ended_ms;
};
int gce_look_back(struct gce *g, const char *name, struct gce_past *out, struct cloud_error *e);
/* The machine of which nothing else is left. */
void gce_outline(const struct gce *g,
                 const char *token,
                 const char *name,
                 const struct gce_past *past,
                 struct cloud_machine *out);
int gce_terminate(struct gce *g, const char *token, struct cloud_error *e);

/* ---- prepare.c ---- */

/* What an instance type and its accelerators are there. */
struct gce_type {
    char machine[64];     /* "n1-standard-8" */
    char accelerator[64]; /* attached: "nvidia-tesla-t4"; "" = none */
    unsigned count;
    bool has_accelerators; /* attached, or built in */
    const char *disk_type;
};
int gce_parse_type(const char *instance_type, struct gce_type *out, struct cloud_error *e);

struct gce_image {
    char path[256]; /* "projects/P/global/images/family/F" */
    char login[64];
};
int gce_find_image(const struct cloud_request *request,
                   struct gce_image *out,
                   struct cloud_error *e);

/* The name of the owner's firewall rule, and of the network tag to which it applies. */
void gce_firewall_name(const char *owner, char out[GCE_NAME_BYTES]);
/* Creates or corrects the rule that admits ssh from us alone. */
int gce_share(struct gce *g, struct cloud_error *e);

/* As cloud_zones: the request's zone alone if it names one. */
cloud_zones_fn gce_zones;

/* ---- launch.c, clean.c, check.c ---- */

cloud_launch_fn gce_launch;
cloud_clean_fn gce_clean;
cloud_check_fn gce_check;
/* The body of instances.insert. New reference. */
json_t *gce_body(const struct gce *g,
                 const struct cloud_request *request,
                 const char *zone,
                 const struct gce_type *type,
                 const struct gce_image *image);
/* The request's id, a UUID; n: 0, or as often as it failed without doing anything. */
void gce_request_id(const struct cloud_request *request,
                    const char *zone,
                    const json_t *body,
                    unsigned n,
                    char out[static 40]);

#endif
