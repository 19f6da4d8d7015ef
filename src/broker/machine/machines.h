/* machines: the record of every machine that was ever asked of a cloud, in a database of its own
 * (home/machines.db), and the only way to rent one and to give it back.
 *
 * A record is written before the cloud is asked, with the token that makes asking repeatable, and
 * it ends when the cloud has confirmed that the machine is gone. Whatever is killed in between, the
 * record says that something may be there, and asking the cloud with its token tells what.
 *
 *     intended -> requested -> running -> deleting -> gone
 *
 * Intended: perhaps nothing is there, perhaps the answer was lost. Requested: the cloud has
 * answered. Gone: confirmed, or seen to be missing twice. */
#ifndef BROKER_MACHINE_MACHINES_H
#define BROKER_MACHINE_MACHINES_H

#include "base/auto.h"
#include "cloud/cloud.h"

#define MACHINE_REASON_BYTES 400
/* How long a lease lasts; whoever needs a machine renews it before half of that is over. */
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
    /* Which memory of the cloud it is in: 0 = the home's own, else the run whose simulated cloud it
     * belongs to. Tokens are unique within one. */
    int64_t world;
    char cloud[16]; /* name of the driver */
    int64_t stage;  /* of the run that needs it: index */
    unsigned attempt;
    enum machine_state state;
    int64_t asked_ms, since_ms; /* when it was intended; when the state began */
    /* Since when the cloud says that it knows no such token; 0 = it knows it, or was not asked. */
    int64_t absent_ms;
    int64_t data_microusd; /* spent on moving and keeping the data of its stages */
    double max_price_usd_per_hour;
    char reason[MACHINE_REASON_BYTES]; /* why it was, or is being, given up */
    struct cloud_machine facts;        /* as the cloud told last; before that, as asked for */
};
/* Until now_ms, or all of it when the machine has ended; without data. A host of one's own that is
 * being given back and cannot be reached costs no longer than its lease lasts. */
int64_t machine_cost_microusd(const struct machine *m, int64_t now_ms);
/* The same of one whose work is over, whether or not somebody has begun to give it back. */
int64_t machine_cost_when_over(const struct machine *m, int64_t now_ms);

/* False of a home that never had a machine: reading its machines need not create the database. */
bool machines_exist(const char *home);
/* One connection, for one thread. */
struct machines *machines_open(const char *home, struct err *e);
void machines_free(struct machines *m);
AUTO_DEFINE(machines)
/* From now on a commit survives any crash of ours, but not a power cut: for simulated machines,
 * which cost nothing, so that a thousand of them need no thousand waits for the disk. */
void machines_relax(struct machines *m);
/* While this is on, changes wait for one another and are committed together: by machines_flush, and
 * by machine_launch and machine_release before they ask the cloud for anything. A crash loses
 * nothing but what asking the cloud again will tell. Others who write wait as long. */
void machines_group(struct machines *m, bool on);
int machines_flush(struct machines *m, struct err *e);
/* What this home's machines are tagged with; drawn once. */
const char *machines_owner(const struct machines *m);

/* ERR_NOTFOUND when there is no such record. */
int machines_get(
    struct machines *m, int64_t world, const char *token, struct machine *out, struct err *e);
struct machine_filter {
    int64_t world; /* -1 = all */
    int64_t run;   /* 0 = all */
    bool with_gone;
};
/* By run, in the order they were asked for. now_ms: of the machine's world. visit stands in the
 * middle of a query and must not use m. */
int machines_each(
    struct machines *m,
    const struct machine_filter *filter,
    int (*visit)(void *context, const struct machine *x, int64_t now_ms, struct err *e),
    void *context,
    struct err *e);
/* All that a run has cost until now_ms: machines and data. */
int machines_bill(struct machines *m,
                  int64_t run,
                  int64_t now_ms,
                  int64_t *compute_out,
                  int64_t *data_out,
                  struct err *e);

/* Every machine, given back or not, of each job that has one which is not on its bill yet, by job;
 * 0 = of all such jobs. visit must not use m. */
int machines_each_unbilled(struct machines *m,
                           int64_t job,
                           int (*visit)(void *context, const struct machine *x, struct err *e),
                           void *context,
                           struct err *e);
/* What the job has given back is on its bill. */
int machines_note_billed(struct machines *m, int64_t job, struct err *e);

/* Simulated worlds: each has a clock of its own, which never goes back. 0: there is none. */
int machines_clock(struct machines *m, int64_t world, int64_t *now_ms_out, struct err *e);
int machines_set_clock(struct machines *m, int64_t world, int64_t now_ms, struct err *e);
/* Only once all its machines are gone (ERR_USAGE); their records stay, for the bill. */
int machines_end_world(struct machines *m, int64_t world, struct err *e);
/* Calls visit for each; it may use m. */
int machines_each_world(struct machines *m,
                        int (*visit)(void *context, int64_t world, struct err *e),
                        void *context,
                        struct err *e);

/* Records and the cloud they are about. */
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
};

/* Writes the intent, unless the token has one, and asks. After -1 *trouble says what to do:
 *   AUTH, PERMISSION, QUOTA, CAPACITY, UNSUPPORTED, INVALID: refused. The record is over when the
 *     token was new, else it is to be returned: an answer may have been lost before.
 *   CONFLICT: to be returned.
 *   others: ask again with the same order, or return it.
 * ERR_USAGE when the record is being deleted or gone. */
int machine_launch(struct machine_provisioner *d,
                   const struct machine_order *order,
                   struct machine *out,
                   struct cloud_trouble *trouble,
                   struct err *e);
/* Asks the cloud how it is and writes that down; m is as it was read or answered last. -1 with
 * NOT_FOUND as long as the cloud does not know the token; when that was so twice, half a minute
 * apart and two minutes after it was asked for, or once with a cloud that sees at once, the record
 * is gone and that is the answer. */
int machine_look(struct machine_provisioner *d,
                 struct machine *m,
                 struct cloud_trouble *trouble,
                 struct err *e);
/* It is being deleted, and was not needed any more from over_ms on: to be written down before
 * anything is done about that which may take long. Repeatable. */
int machine_start_release(struct machines *records,
                          struct machine *m,
                          const char *reason,
                          int64_t over_ms,
                          struct err *e);
/* Gives it back; repeatable. It is over once m->state is MACHINE_GONE: until then this, or
 * machine_look, has to be called again later. */
int machine_release(struct machine_provisioner *d,
                    struct machine *m,
                    const char *reason,
                    struct cloud_trouble *trouble,
                    struct err *e);
/* Everything the run still has is leased until then. */
int machine_renew(struct machines *m, int64_t run, int64_t expires_ms, struct err *e);
/* The same for one machine, by its token. */
int machine_renew_one(
    struct machines *m, int64_t world, const char *token, int64_t expires_ms, struct err *e);
/* Takes away the record of a machine that is gone and never was there: its token may be used again.
 * Others stay. */
int machine_forget(struct machines *m, int64_t world, const char *token, struct err *e);
/* It works for another stage from now on. */
int machine_hand_over(struct machine_provisioner *d,
                      const char *token,
                      int64_t stage,
                      struct err *e);
int machine_charge(struct machine_provisioner *d,
                   const char *token,
                   int64_t microusd,
                   struct err *e);

/* ---- what nobody owns ---- */

enum machine_finding {
    MACHINE_ORPHAN,   /* the cloud has it, tagged as ours, and there is no record of it */
    MACHINE_EXPIRED,  /* nobody renewed its lease */
    MACHINE_RUN_OVER, /* its run or job is over */
    MACHINE_LEAVING,  /* being deleted, not confirmed yet */
    MACHINE_LOST,     /* the cloud does not know it any more */
    MACHINE_UNASKED,  /* intended, needed, and not there: can be asked for again with its token */
};
const char *machine_finding_text(enum machine_finding finding);

/* Somebody goes on with it and needs its machine, however old the lease is. */
#define MACHINE_NEEDED 2

struct machine_cleanup {
    bool dry_run; /* only look */
    /* What is being deleted for less than this is left to whoever does that. */
    int64_t leave_ms;
    /* Whether the run, or the job where there is one, is over or has nobody who drives it: 1, 0,
     * MACHINE_NEEDED or -1. */
    int (*is_over)(void *context, int64_t run, int64_t job, struct err *e);
    /* NULL, or: before a machine goes back, ends what runs there. -1: it cannot now, and the
     * machine is kept; m is being deleted all the same. */
    int (*clear)(void *context, struct machine *m, const char *reason, struct err *e);
    /* Each that was found, as it is afterwards; trouble: why it is not given back yet, NULL = it is
     * being, or there is no need. */
    int (*tell)(void *context,
                const struct machine *m,
                enum machine_finding finding,
                const char *trouble,
                struct err *e);
    void *context;
    size_t open; /* out: how many may still bill or are not confirmed to be gone */
};
/* Compares the records with what the cloud lists, both ways, and gives back what nobody owns: what
 * is recorded with a lease that ran out or a run that is over, and what has no record, is tagged as
 * this home's and expired or of a run that is over. What the cloud could not tell changes nothing,
 * and what could not be cleared is kept. Repeatable. */
int machine_reconcile(struct machine_provisioner *d, struct machine_cleanup *how, struct err *e);

#endif
