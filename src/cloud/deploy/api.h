/* api: calls of clouds whose APIs are JSON with a bearer token, for the platforms of this room:
 * shown in a dry run, judged by their errors, and lists of many pages. */
#ifndef CLOUD_DEPLOY_API_H
#define CLOUD_DEPLOY_API_H

#include "cloud/deploy/driver.h"
#include "cloud/rest.h"

/* A cloud without a driver: clock, waits and the way out, by the options of d. Freed by api_close.
 */
void deploy_api_open(struct deploy *d,
                     struct cloud_rest *rest,
                     int (*find)(const struct credentials_sources *sources,
                                 struct token_login *out,
                                 struct err *e),
                     const char *scope);
void deploy_api_close(struct deploy *d, struct cloud_rest *rest);

/* One call. */
struct deploy_call {
    const char *permission; /* that it needs: what an error asks to allow */
    const char *method;
    char *url;    /* taken */
    json_t *body; /* taken; NULL = none */
    bool reads;   /* although it is no GET */
};
/* Sends it; a dry run shows what changes something. *out: the answer, a new reference, NULL if it
 * has none; out may be NULL. */
int deploy_api(struct deploy *d,
               struct cloud_rest *rest,
               struct deploy_call call,
               json_t **out,
               struct cloud_error *e);
/* As a GET whose 404 is no failure: 1 there is one, 0 there is none. */
int deploy_api_find(struct deploy *d,
                    struct cloud_rest *rest,
                    struct deploy_call call,
                    json_t **out,
                    struct cloud_error *e);
/* 0, also when the call's thing is gone already. */
int deploy_api_forgive(int done, struct cloud_error *e);

/* The member at a path of names, "template/timeout"; NULL = none. */
const json_t *deploy_at(const json_t *object, const char *path);
const char *deploy_text(const json_t *object, const char *path); /* "" = none */
/* Everything in wanted is in found: members of objects, and lists of the same length. */
bool deploy_contains(const json_t *found, json_t *wanted);
/* A variable of the environment that is not empty; NULL. */
const char *deploy_variable(struct deploy *d, const char *name);
/* The deadline of an operation at the cloud. */
#define DEPLOY_OPERATION_MS ((int64_t)10 * 60 * 1000)

#endif
