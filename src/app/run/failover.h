/* failover: what to launch instead, when a cloud refused the offer of a job: the callback of the
 * broker. */
#ifndef APP_RUN_FAILOVER_H
#define APP_RUN_FAILOVER_H

#include "broker/daemon/broker.h"

/* As `replan` of struct broker_options. Plans the stage and all that wait again, as the run was
 * planned, without what was refused; or the offer of a job of its own; or the region of a training
 * cluster. */
int app_run_failover(const struct broker_options *o,
                     const struct broker_replan *question,
                     struct job_offer *offer,
                     struct job_offer *server,
                     struct err *e);

#endif
