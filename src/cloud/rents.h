/* rents: the machines that a cloud of ours remembers, one sealed file each in home/clouds/NAME,
 * shared by all processes: every use holds the folder's lock, and a counter in the lock's file says
 * whether others wrote since. */
#ifndef CLOUD_RENTS_H
#define CLOUD_RENTS_H

#include "base/auto.h"
#include "cloud/rent.h"

/* More machines than this are refused. */
#define RENTS_MAX 50000
/* How long what is over is remembered. */
#define RENTS_REMEMBER_MS ((int64_t)24 * 3600 * 1000)

struct rents;

/* durable: what is written stays when the power goes. Else it is as safe as our own crashes need:
 * a kill at any point loses nothing that was answered for. A kill or a power cut may leave a new
 * file empty, which is taken for not there. */
struct rents *rents_open(const char *home, const char *name, bool durable, struct err *e);
void rents_free(struct rents *r);
AUTO_DEFINE(rents)
const char *rents_dir(const struct rents *r);

/* Everything below needs the lock. Waits for it, at most 30 s (ERR_RETRY). A damaged file is
 * ERR_USAGE with its name, and leaves the lock free. */
int rents_lock(struct rents *r, struct err *e);
void rents_unlock(struct rents *r);

/* Borrowed until the next put or forget; NULL. */
const struct rent *rents_find(const struct rents *r, const char *token);
/* New, or in place of the one with its token. ERR_NOFIT past RENTS_MAX. */
int rents_put(struct rents *r, const struct rent *rent, struct err *e);
/* What was over for RENTS_REMEMBER_MS goes, once in a while: cheap to call often. */
void rents_forget(struct rents *r, int64_t now_ms);
/* Others learn that something in the folder changes now. rents_put calls it itself. */
int rents_announce(struct rents *r, struct err *e);

/* Those not over at now_ms: begin with *at = 0; NULL = no more. now_ms must not go back. */
const struct rent *rents_next(struct rents *r, size_t *at, int64_t now_ms);

#endif
