/* machines: the record of every machine ever requested from a cloud, in a database of its own
 * (home/machines.db), and the only functions that launch and terminate machines.
 *
 * Tradewind records a machine before it launches it, with the token that makes the request
 * repeatable. The record ends when the cloud has confirmed that the machine is gone. After a kill
 * in between, the record says that a machine may exist, and the cloud answers by its token.
 *
 *     intended -> requested -> running -> deleting -> gone
 *
 * Intended: the cloud has not answered; the machine may exist. Requested: the cloud has answered.
 * Gone: confirmed, or missing in two answers. */
#ifndef BROKER_MACHINE_MACHINES_H
#define BROKER_MACHINE_MACHINES_H

#include "base/auto.h"
#include "cloud/cloud.h"

#define MACHINE_REASON_BYTES 400
/* Length of a lease; the user of a machine renews the lease before half of it is over. */
#define MACHINE_LEASE_MS ((int64_t)3600 * 1000)

struct machines;

/* Stored as numbers. */
enum machine_state {
    MACHINE_INTENDED = 1,
    MACHINE_REQUESTED,
    MACHINE_RUNNING,
    MACHINE_DELETING,
    MACHINE_GONE,
};
const char *machine_state_text(enum machine_state state);

struct machine {
    /* 0 = a real machine or a host, else the run whose simulated cloud has the machine. Tokens are
     * unique within a world. */
    int64_t world;
    char cloud[16]; /* name of the driver */
    int64_t stage;  /* index in the run that needs the machine */
    unsigned attempt;
    enum machine_state state;
    int64_t asked_ms, since_ms; /* when intended; when the state began */
    /* Since when the cloud does not know the token; 0 = it does, or was not asked. */
    int64_t absent_ms;
    int64_t data_microusd; /* cost of transfer and storage for its stages */
    double max_price_usd_per_hour;
    char reason[MACHINE_REASON_BYTES]; /* of its termination */
    char origin[65]; /* its token at the cloud, where it was another job's before; "" = its own */
    int64_t kept_until_ms;      /* its job is over, and it waits for another one; 0 = it does not */
    struct cloud_machine facts; /* the cloud's last answer; before that, the request */
};
/* Cost until now_ms or the machine's end, without data. A host of the configuration that is being
 * released and does not answer costs at most until its lease expires. */
int64_t machine_cost_microusd(const struct machine *m, int64_t now_ms);
/* The same for a machine whose work is over, whether or not its release has begun. */
int64_t machine_cost_when_over(const struct machine *m, int64_t now_ms);

/* False of a home that never had a machine: reading its machines need not create the database. */
bool machines_exist(const char *home);
/* One connection, for one thread. */
struct machines *machines_open(const char *home, struct err *e);
void machines_free(struct machines *m);
AUTO_DEFINE(machines)
/* Commits survive a crash of the process but not a power cut from now on: for simulated machines,
 * a thousand of which would otherwise wait for the disk a thousand times. */
void machines_relax(struct machines *m);
/* Groups changes into one commit: by machines_flush, and by machine_launch and machine_release
 * before they call the cloud. A crash loses only what the cloud can tell again. Other writers wait
 * as long. */
void machines_group(struct machines *m, bool on);
int machines_flush(struct machines *m, struct err *e);
/* The tag of this home's machines; drawn once. */
const char *machines_owner(const struct machines *m);

/* ERR_NOTFOUND when there is no such record. */
int machines_get(
    struct machines *m, int64_t world, const char *token, struct machine *out, struct err *e);
struct machine_filter {
    int64_t world; /* -1 = all */
    int64_t run;   /* 0 = all */
    bool with_gone;
};
/* By run, in the order of their requests. now_ms: of the machine's world. visit runs within a query
 * and must not use m. */
typedef int machine_visit(void *context, const struct machine *x, int64_t now_ms, struct err *e);
int machines_each(struct machines *m,
                  const struct machine_filter *filter,
                  machine_visit *visit,
                  void *context,
                  struct err *e);
/* Cost of a run until now_ms: machines and data. */
int machines_bill(struct machines *m,
                  int64_t run,
                  int64_t now_ms,
                  int64_t *compute_out,
                  int64_t *data_out,
                  struct err *e);

/* Every machine, released or not, of each job with a machine that is not billed yet, by job; 0 = of
 * all such jobs. visit must not use m. */
int machines_each_unbilled(struct machines *m,
                           int64_t job,
                           int (*visit)(void *context, const struct machine *x, struct err *e),
                           void *context,
                           struct err *e);
/* The job's released machines are billed. */
int machines_note_billed(struct machines *m, int64_t job, struct err *e);

/* Each simulated world has a clock of its own, which never goes back. 0: there is no such world. */
int machines_clock(struct machines *m, int64_t world, int64_t *now_ms_out, struct err *e);
int machines_set_clock(struct machines *m, int64_t world, int64_t now_ms, struct err *e);
/* ERR_USAGE while a machine of the world is not gone. The records stay, for the bill. */
int machines_end_world(struct machines *m, int64_t world, struct err *e);
/* visit may use m. */
int machines_each_world(struct machines *m,
                        int (*visit)(void *context, int64_t world, struct err *e),
                        void *context,
                        struct err *e);

/* The records, the cloud that they are about, and its clock. */
struct machine_provisioner {
    struct machines *records;
    struct cloud *cloud;
    int64_t world;
    int64_t (*now_ms)(void *context);
    void *context;
};

struct machine_order {
    struct cloud_request request; /* owner and expiry are filled in */
    int64_t stage;
    unsigned attempt;
    /* What all machines of clouds on the network may cost per hour, this one included; 0 = any. */
    double max_usd_per_hour;
};

/* Records the intent, unless the token has a record, and launches. ERR_NOFIT with CLOUD_FINE: the
 * hour would cost too much, and nothing was recorded. After any other -1 e->failure says what to
 * do: AUTH, PERMISSION, QUOTA, CAPACITY, UNSUPPORTED, INVALID: refused. The record of a new token
 * is gone; any other machine is to be released: an earlier answer may have been lost. CONFLICT:
 * release the machine. others: launch again with the same order, or release the machine. ERR_USAGE
 * when the record is being deleted or gone. */
int machine_launch(struct machine_provisioner *d,
                   const struct machine_order *order,
                   struct machine *out,
                   struct cloud_error *e);
/* Asks the cloud for the machine's state and records it; m is as last read or answered. -1 with
 * NOT_FOUND as long as the cloud does not know the token. After two such answers, half a minute
 * apart and two minutes after the request, or after one of a cloud that is consistent at once, the
 * record becomes gone. */
int machine_look(struct machine_provisioner *d, struct machine *m, struct cloud_error *e);
/* Records that the machine is being deleted and was needed until over_ms, before any work that may
 * take long. Repeatable. */
int machine_start_release(struct machines *records,
                          struct machine *m,
                          const char *reason,
                          int64_t over_ms,
                          struct err *e);
/* Terminates the machine; repeatable. Until m->state is MACHINE_GONE, call this or machine_look
 * again later. */
int machine_release(struct machine_provisioner *d,
                    struct machine *m,
                    const char *reason,
                    struct cloud_error *e);
/* Renews the leases of all machines of the run. */
int machine_renew(struct machines *m, int64_t run, int64_t expires_ms, struct err *e);
/* Renews the lease of one machine, by its token. */
int machine_renew_one(
    struct machines *m, int64_t world, const char *token, int64_t expires_ms, struct err *e);
/* The machine of a job that is over waits for another one until then, and costs the first. */
int machine_keep(struct machines *m, struct machine *x, int64_t until_ms, struct err *e);
/* The machine is another job's from now on: the present record ends, and *x becomes a new one,
 * which the cloud knows by its origin. ERR_NOTFOUND: it is being released. */
struct machine_tenant {
    const char *token;
    unsigned attempt;
    int64_t run, job;
};
int machine_take_over(struct machines *m,
                      struct machine *x,
                      const struct machine_tenant *t,
                      struct err *e);
/* The token by which the cloud knows the machine. */
static inline const char *machine_cloud_token(const struct machine *m)
{
    return m->origin[0] ? m->origin : m->facts.token;
}
/* Removes the record of a machine that is gone and never existed: its token may be used again.
 * Other records stay. */
int machine_forget(struct machines *m, int64_t world, const char *token, struct err *e);
/* The machine works for another stage from now on. */
int machine_hand_over(struct machine_provisioner *d,
                      const char *token,
                      int64_t stage,
                      struct err *e);
int machine_charge(struct machine_provisioner *d,
                   const char *token,
                   int64_t microusd,
                   struct err *e);

/* ---- orphaned machines ---- */

enum machine_finding {
    MACHINE_ORPHAN,   /* the cloud has the machine, with this home's tag; there is no record */
    MACHINE_EXPIRED,  /* its lease expired */
    MACHINE_RUN_OVER, /* its run or job is over */
    MACHINE_LEAVING,  /* being deleted, not confirmed yet */
    MACHINE_LOST,     /* the cloud does not know the machine any more */
    MACHINE_UNASKED,  /* intended, needed and missing: can be launched with its token */
};
const char *machine_finding_text(enum machine_finding finding);

/* A process still drives the run or job and needs its machine, however old the lease is. */
#define MACHINE_NEEDED 2

struct machine_cleanup {
    bool dry_run;       /* only look */
    const char *region; /* records of other regions are left alone; NULL = of all */
    /* Machines in deletion for less than this are left to the process that deletes them. */
    int64_t leave_ms;
    /* Whether the run, or the job where there is one, is over or without a process that drives it:
     * 1, 0, MACHINE_NEEDED or -1. */
    int (*is_over)(void *context, int64_t run, int64_t job, struct err *e);
    /* NULL, or: ends the processes on a machine before its release. -1: not now, and the machine
     * stays; its record is being deleted all the same. */
    int (*clear)(void *context, struct machine *m, const char *reason, struct err *e);
    /* Each finding, after it was dealt with; why: the machine is not released yet, NULL = it is, or
     * need not be. */
    int (*tell)(void *context,
                const struct machine *m,
                enum machine_finding finding,
                const char *why,
                struct err *e);
    void *context;
    size_t open; /* out: machines that may still bill or are not confirmed to be gone */
};
/* Compares the records with the cloud's list, both ways, and terminates orphaned machines: recorded
 * ones whose lease expired or whose run is over, and unrecorded ones with this home's tag that
 * expired or whose run is over. A failed list changes nothing, and a machine that cannot be cleared
 * stays. Repeatable. */
int machine_reconcile(struct machine_provisioner *d, struct machine_cleanup *how, struct err *e);

#endif
