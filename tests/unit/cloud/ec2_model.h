/* ec2_model: the model of EC2 (tests/servers/ec2) as a process of a test, with a clock that waiting
 * moves: no test of a cloud takes real time. */
#ifndef CLOUD_EC2_MODEL_H
#define CLOUD_EC2_MODEL_H

#include "base/json.h"
#include "cloud/cloud.h"

#include <sys/types.h>

struct http;

struct ec2_model {
    pid_t pid;
    int in; /* its standard input: the model ends with it */
    char url[64], ip_url[80], dir[64];
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
void ec2_model_start(struct ec2_model *m);
void ec2_model_stop(struct ec2_model *m);
/* Begins anew with these settings, JSON as printf makes it. The clock goes on. */
void ec2_model_begin(struct ec2_model *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void ec2_model_do(struct ec2_model *m, const char *json);
/* New reference. */
json_t *ec2_model_state(struct ec2_model *m);
/* Of region us-east-1; options may be changed before cloud_open. */
struct cloud_options ec2_model_options(struct ec2_model *m, const char *home, const char *owner);
int64_t ec2_model_now(void *model);

#endif
