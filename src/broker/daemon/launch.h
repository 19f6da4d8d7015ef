/* launch: the machine of a cloud for one job: launched, awaited until its agent can be reached,
 * and replaced by another offer when the cloud refuses. Worker threads call it. */
#ifndef BROKER_DAEMON_LAUNCH_H
#define BROKER_DAEMON_LAUNCH_H

#include "broker/core/offer.h"
#include "broker/daemon/broker.h"
#include "broker/daemon/launches.h"
#include "broker/machine/machines.h"

#define LAUNCH_NOTE_BYTES 400

struct launch_wish {
    const struct broker_options *options;
    struct launches *launches; /* of the broker */
    int64_t job, run;
    const char *stage; /* of the run; "" = a job of its own */
    unsigned nodes;    /* that start together */
    bool is_server;    /* of a training cluster: its parameter server */
};

/* What provisioning has come to; kept between its calls. */
struct launch_progress {
    struct machine heir;    /* a machine of the same offer, to be taken over; token "": none */
    struct job_offer offer; /* the present one: a refused one is replaced */
    int64_t turn_ms;  /* its request to launch goes out then; 0 = no turn yet, or it is over */
    bool awaits_turn; /* after -1: until turn_ms; the cloud was not asked */
    bool is_booting;  /* after -1: the machine is there and does not answer yet */
    /* After -1: the gang as a whole has other offers now, those of its workers and servers. */
    bool is_moved;
    struct job_offer workers, servers; /* servers.provider "": as the workers */
    char note[LAUNCH_NOTE_BYTES];      /* for people: the refusals and the new offer; "" = none */
};

/* One step: launches the machine, or looks whether it answers. 0: jobs can be sent to *out. After
 * -1 e->failure says what to do: CAPACITY: the job waits for its turn to spend; TRANSIENT, THROTTLE
 * and UNKNOWN: call again; any other: it fails. attempt, out: as for host_provision; machines that
 * were refused, lost or given up are released or have no bill. */
int launch_step(const struct launch_wish *w,
                struct launch_progress *p,
                unsigned *attempt,
                struct machine *out,
                struct cloud_error *e);
/* Whether all nodes of a gang may be launched now: -1 with CAPACITY while other machines cost so
 * much per hour that limits.max_usd_per_hour would be exceeded. */
int launch_ask(const struct launch_wish *w, const struct launch_progress *p, struct cloud_error *e);

#endif
