/* rest: how clouds reach the world: the environment, requests, our own address; and calls of those
 * whose APIs are JSON with a bearer token: sent, judged, and sent again where that may help.
 * Included by src/cloud and its sub-rooms only. */
#ifndef CLOUD_REST_H
#define CLOUD_REST_H

#include "base/json.h"
#include "cloud/cloud.h"
#include "cloud/retry.h"
#include "net/http.h"
#include "net/token.h"

#include <stdbool.h>

/* ---- outside.c ---- */

/* A variable of the environment as the cloud's options have it. context: &c->options.outside. */
const char *cloud_variable(void *context, const char *name);
/* Sends by the options' own way, else by *http, which is made when it is NULL. */
int cloud_transmit(struct cloud *c,
                   struct http **http,
                   const struct http_request *r,
                   struct http_answer *out,
                   struct err *e);
/* Our network: as the options admit it, or our address as the internet sees it, "203.0.113.7/32".
 * variable: may name another service that tells it. */
int cloud_own_network(struct cloud *c,
                      struct http **http,
                      const char *variable,
                      char out[static 64],
                      struct cloud_error *e);

/* ---- rest.c ---- */

/* A call on its way. The first members are the caller's. */
struct cloud_rest_call {
    const char *name;   /* for messages: "instances.insert" */
    const char *method; /* "GET" reads; others change things, and all may be sent again */
    char *url;          /* owned */
    json_t *body;       /* owned; NULL = none */
    /* Of the last answer. */
    int status; /* 0 = there was none */
    struct http_answer answer;
    json_t *root;   /* NULL: its body is empty or no JSON */
    char code[100]; /* of its failure, set by judge; "" = none */
    bool is_open;   /* a try may have been carried out although no answer said so */
};
void cloud_rest_call_clear(struct cloud_rest_call *x);

struct cloud_rest {
    struct cloud *cloud;
    struct http *http; /* NULL: not needed yet */
    struct credentials_sources sources;
    struct token_cache tokens;
    struct cloud_retry retry;
    int64_t skew_ms; /* by which the cloud's clock is ahead of ours, as its answers tell */
    /* 0: the answer is what was asked for. Else -1 with *e and the code of x. why: NULL, or what
     * kept an answer from coming or from being read. */
    int (*judge)(struct cloud_rest_call *x, const char *why, struct cloud_error *e);
};
void cloud_rest_init(struct cloud_rest *r,
                     struct cloud *c,
                     int (*find)(const struct credentials_sources *sources,
                                 struct token_login *out,
                                 struct err *e),
                     const char *scope);
void cloud_rest_clear(struct cloud_rest *r);
/* The client for requests beside calls, or NULL. */
struct http *cloud_rest_http(struct cloud_rest *r, struct err *e);
/* Finds whose tokens the calls have. */
int cloud_rest_login(struct cloud_rest *r, struct cloud_error *e);
/* Calls, as often as the failure and the budget allow. */
int cloud_rest_send(struct cloud_rest *r, struct cloud_rest_call *x, struct cloud_error *e);

#endif
