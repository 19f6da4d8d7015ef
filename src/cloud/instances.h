/* instances: the machines in the state of a pool or a simulated cloud, one sumfile each in
 * home/clouds/NAME, shared by all processes: every use holds the folder's lock, and a counter in
 * the lock's file says whether others wrote since. */
#ifndef CLOUD_INSTANCES_H
#define CLOUD_INSTANCES_H

#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include "cloud/cloud.h"

#include <stdbool.h>
#include <stddef.h>

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

/* ---- sumfile.c ---- */

#define SUMFILE_BYTES_MAX ((size_t)16 << 10)
/* Files written in place are padded to this, so that the next content covers the last. */
#define SUMFILE_PAGE_BYTES ((size_t)4 << 10)

/* durable: old or new when the power goes, too. Else the file is written in place, all of it by one
 * call within one page, which is many times faster and which no kill can cut in two: a reader that
 * holds the writer's lock finds the old one or the new one, or an empty one where there was none.
 */
int sumfile_write(const char *path, const json_t *value, bool durable, struct err *e);
/* New reference. ERR_USAGE that names the file when it is damaged, too large or no regular file;
 * ERR_NOTFOUND when it is not there. empty_out, unless NULL: whether a file of no bytes is there,
 * which is ERR_NOTFOUND then. */
json_t *sumfile_read(const char *path, bool *empty_out, struct err *e);
/* The content of such a file; ERR_USAGE says what is wrong with it. */
json_t *sumfile_parse(const char *bytes, size_t n, struct err *e);

#endif
