/* home: where the broker keeps what below $TRADEWIND_HOME.
 *   broker.sock broker.lock broker.log     the background broker; broker.log.1: the log before
 *   jobs/ID/                               a job's directory (exec/jobfile.h): its log stays
 *   secrets/RUN                            values of a run's secrets (broker/secrets.h)
 *   untidy/ID                              the job's directory holds more than what stays
 *   checkpoints/ID                         jobs/ID/checkpoint is kept since then */
#ifndef BROKER_CORE_HOME_H
#define BROKER_CORE_HOME_H

#include "base/err.h"

#include <stdint.h>
#include <sys/un.h>

/* New strings. */
char *broker_socket_path(const char *home);
/* Its address, however long the name of home is: a socket's own may have 107 bytes. *dir_out is to
 * be closed once it was used; -1 = there is nothing to close. */
int broker_socket_address(const char *home, struct sockaddr_un *out, int *dir_out, struct err *e);
char *broker_lock_path(const char *home);
char *broker_log_path(const char *home);
/* fd is the log of the broker. Too long, it becomes broker.log.1, in place of what was that, and fd
 * a new one. Anything else stays. */
#define BROKER_LOG_BYTES ((int64_t)10 << 20)
void broker_log_bound(const char *home, int fd);
char *broker_jobs_path(const char *home);
/* home/jobs/ID/PART; part NULL = the directory itself. "log" is what `job logs` reads, wherever the
 * job ran. */
char *broker_job_path(const char *home, int64_t job, const char *part);
char *broker_untidy_path(const char *home);
char *broker_checkpoints_path(const char *home);

#endif
