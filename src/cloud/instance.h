/* instance: one machine in the state of a pool or a simulated cloud. Its state at a moment
 * follows from times that are fixed at launch and termination: nothing has to be written when a
 * boot ends or a spot instance is preempted. */
#ifndef CLOUD_INSTANCE_H
#define CLOUD_INSTANCE_H

#include "base/json.h"
#include "cloud/cloud.h"

#define INSTANCE_NEVER INT64_MAX

struct instance {
    /* As launched: state and notice_ms are not used, ready_ms is when it will be up (or NEVER),
     * ended_ms is set once the machine is terminated. */
    struct cloud_machine machine;
    uint64_t asked;     /* fingerprint of the request */
    int64_t visible_ms; /* before, nothing but another launch sees it */
    int64_t notice_ms;  /* when it is told that it will be taken; NEVER */
    int64_t taken_ms;   /* when it is taken back; NEVER */
    int64_t gone_ms;    /* after ended_ms: until then it is being deleted; NEVER = not terminated */
};

/* A new instance with the request's tags, visible and up at now_ms; and the machine itself exactly
 * as it was asked for: place, sizes, rules of billing. */
void instance_begin(struct instance *r, const struct cloud_request *request, int64_t now_ms);
void instance_as_asked(struct instance *r, const struct cloud_request *request);
/* What must be the same when a token comes again: everything but expiry and prices. */
uint64_t instance_fingerprint(const struct cloud_request *request);

/* Whether look, list and terminate see it. */
bool instance_is_visible(const struct instance *r, int64_t now_ms);
void instance_look(const struct instance *r, int64_t now_ms, struct cloud_machine *out);
/* Gone or taken: it never changes again. */
bool instance_is_over(const struct instance *r, int64_t now_ms);
/* When it changes next by itself, after now_ms; NEVER. */
int64_t instance_next_ms(const struct instance *r, int64_t now_ms);
/* When it stopped to bill; NEVER = it has not. */
int64_t instance_end_ms(const struct instance *r, int64_t now_ms);

/* New reference. */
json_t *instance_json(const struct instance *r);
/* ERR_USAGE for what no instance can be. */
int instance_from_json(const json_t *value, struct instance *out, struct err *e);

#endif
