/* cloud_model: the model of a cloud (tests/servers) as a process of a test, with a clock that
 * waiting moves: no test of a cloud takes real time. */
#ifndef CLOUD_CLOUD_MODEL_H
#define CLOUD_CLOUD_MODEL_H

#include "base/json.h"
#include "cloud/cloud.h"

#include <sys/types.h>

struct http;
struct http_request;

/* What is a cloud's own. In texts, URL and DIR at the beginning stand for the model's address and
 * for a directory of the test. */
#define CLOUD_MODEL_VARIABLES 8
struct cloud_model_kind {
    const char *server; /* of tests/servers: "ec2" */
    const char *driver; /* "aws" */
    const char *region;
    /* Name and value each; the environment of the driver has no others. */
    const char *variables[CLOUD_MODEL_VARIABLES][2];
    const char *credentials; /* the file DIR/credentials, with URL somewhere; NULL = none */
};
extern const struct cloud_model_kind cloud_model_aws, cloud_model_azure, cloud_model_gcp;

struct cloud_model {
    const struct cloud_model_kind *kind;
    pid_t pid;
    int in; /* its standard input: the model ends with it */
    char url[64], dir[64];
    char values[CLOUD_MODEL_VARIABLES][128]; /* of kind->variables */
    int64_t *now_ms; /* shared with the model, and with children of the test */
    struct http *http;
    pid_t http_of;       /* whose http is: connections are not shared */
    long calls, kill_at; /* kill -9 at this call, from 1 on; 0 = never */
    bool kill_after;     /* ... when the model has carried it out */
    /* Gets each request before it is sent; NULL = none. */
    void (*see)(void *context, const struct http_request *r);
    void *context;
};

/* Fails the test program when the model does not start. */
void cloud_model_start(struct cloud_model *m, const struct cloud_model_kind *kind);
void cloud_model_stop(struct cloud_model *m);
/* Begins anew with these settings, JSON as printf makes it. The clock goes on. */
void cloud_model_begin(struct cloud_model *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void cloud_model_do(struct cloud_model *m, const char *json);
/* New reference. */
json_t *cloud_model_state(struct cloud_model *m);
/* A number of the state ("launched"), and how often an action was called. */
json_int_t cloud_model_count(struct cloud_model *m, const char *what);
json_int_t cloud_model_calls(struct cloud_model *m, const char *action);
/* Whether what is left in the account is exactly this, as JSON; else it is printed. */
bool cloud_model_left(struct cloud_model *m, const char *expected);
void cloud_model_pass(struct cloud_model *m, double seconds);
/* A visit of cloud_clean and one of cloud_check, which append to a text of CLOUD_MODEL_TEXT bytes:
 * "disk, network interface held, ", "quota p/1/found/fix\n". */
#define CLOUD_MODEL_TEXT 6000
cloud_visit_leftover cloud_model_note;
cloud_visit_finding cloud_model_find;
/* Of the kind's region; options may be changed before cloud_open. */
struct cloud_options cloud_model_options(struct cloud_model *m,
                                         const char *home,
                                         const char *owner);
int64_t cloud_model_now(void *model);

#endif
