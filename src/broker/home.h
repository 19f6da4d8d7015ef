/* home: where the broker keeps what below $TRADEWIND_HOME.
 *   broker.sock broker.lock broker.log     the background broker
 *   jobs/ID/                               a job's directory (exec/jobfile.h): its log stays
 *   secrets/RUN                            values of a run's secrets (broker/secrets.h)
 *   untidy/ID                              the job's directory holds more than what stays
 *   checkpoints/ID                         jobs/ID/checkpoint is kept since then */
#ifndef BROKER_HOME_H
#define BROKER_HOME_H

#include <stdint.h>

/* New strings. */
char *broker_socket_path(const char *home);
char *broker_lock_path(const char *home);
char *broker_log_path(const char *home);
char *broker_jobs_path(const char *home);
/* home/jobs/ID/PART; part NULL = the directory itself. "log" is what `job logs` reads, wherever the
 * job ran. */
char *broker_job_path(const char *home, int64_t job, const char *part);
char *broker_untidy_path(const char *home);
char *broker_checkpoints_path(const char *home);

#endif
