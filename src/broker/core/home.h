/* home: the files and directories of the broker below $TRADEWIND_HOME.
 *   broker.sock broker.lock broker.log     the background broker; broker.log.1: the log before
 *   jobs/ID/                               a job's directory (exec/jobfile.h): its log stays
 *   secrets/RUN                            values of a run's secrets (broker/secrets.h)
 *   untidy/ID                              the job's directory is not tidied yet
 *   checkpoints/ID                         marks jobs/ID/checkpoint, with its time */
#ifndef BROKER_CORE_HOME_H
#define BROKER_CORE_HOME_H

#include "base/err.h"

#include <stdint.h>
#include <sys/un.h>

#define BROKER_SOCKET "broker.sock"
#define BROKER_LOCK "broker.lock"
#define BROKER_LOG "broker.log"
#define BROKER_JOBS "jobs"
#define BROKER_UNTIDY "untidy"
#define BROKER_CHECKPOINTS "checkpoints"
/* home/NAME; new string. */
char *broker_path(const char *home, const char *name);
/* home/jobs/ID/PART; part NULL = the directory itself. "log" is what `job logs` reads, wherever the
 * job ran. New string. */
char *broker_job_path(const char *home, int64_t job, const char *part);
/* The address of the socket, however long the name of home is: the name in an address has at most
 * 107 bytes. The caller closes *dir_out after use; -1 = there is nothing to close. */
int broker_socket_address(const char *home, struct sockaddr_un *out, int *dir_out, struct err *e);
/* fd is the log of the broker. A log that is too long becomes broker.log.1, in the place of an
 * earlier one, and fd becomes a new one. Any other file stays. */
#define BROKER_LOG_BYTES ((int64_t)10 << 20)
void broker_log_bound(const char *home, int fd);

#endif
