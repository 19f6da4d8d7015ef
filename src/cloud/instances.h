/* instances: the machines in the state of a pool or a simulated cloud, one sumfile each in
 * home/clouds/NAME, shared by all processes: every use holds the folder's lock, and a counter in
 * the lock's file says whether others wrote since. */
#ifndef CLOUD_INSTANCES_H
#define CLOUD_INSTANCES_H

#include "base/auto.h"
#include "base/json.h"
#include "cloud/cloud.h"

/* ---- instance.c ---- */

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

/* ---- instances.c ---- */

/* More machines than this are refused. */
#define INSTANCES_MAX 50000
/* How long what is over is remembered. */
#define INSTANCES_REMEMBER_MS ((int64_t)24 * 3600 * 1000)

struct instances;

/* durable: what is written stays when the power goes. Else it is as safe as our own crashes need:
 * a kill at any point loses nothing that was answered for. A kill or a power cut may leave a new
 * file empty, which is taken for not there. */
struct instances *instances_open(const char *home, const char *name, bool durable, struct err *e);
void instances_free(struct instances *r);
AUTO_DEFINE(instances)
const char *instances_dir(const struct instances *r);

/* Everything below needs the lock. Waits for it, at most 30 s (ERR_RETRY). A damaged file is
 * ERR_USAGE with its name, and leaves the lock free. */
int instances_lock(struct instances *r, struct err *e);
void instances_unlock(struct instances *r);

/* Borrowed until the next put or forget; NULL. */
const struct instance *instances_find(const struct instances *r, const char *token);
/* New, or in place of the one with its token. ERR_NOFIT past INSTANCES_MAX. */
int instances_put(struct instances *r, const struct instance *instance, struct err *e);
/* What was over for INSTANCES_REMEMBER_MS goes, once in a while: cheap to call often. */
void instances_forget(struct instances *r, int64_t now_ms);

/* Those not over at now_ms: begin with *at = 0; NULL = no more. now_ms must not go back. */
const struct instance *instances_next(struct instances *r, size_t *at, int64_t now_ms);

#endif
