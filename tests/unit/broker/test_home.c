#include "broker/home.h"

#include "base/auto.h"
#include "tap.h"

#include <string.h>

int main(void)
{
    AUTO_MEM char *sock = broker_socket_path("/h"), *lock = broker_lock_path("/h");
    AUTO_MEM char *log = broker_log_path("/h"), *jobs = broker_jobs_path("/h");
    AUTO_MEM char *untidy = broker_untidy_path("/h");
    AUTO_MEM char *job = broker_job_path("/h", 7, NULL), *part = broker_job_path("/h", 7, "log");

    CHECK(strcmp(sock, "/h/broker.sock") == 0, "the socket");
    CHECK(strcmp(lock, "/h/broker.lock") == 0, "the lock");
    CHECK(strcmp(log, "/h/broker.log") == 0, "the broker's log");
    CHECK(strcmp(jobs, "/h/jobs") == 0, "the jobs");
    CHECK(strcmp(job, "/h/jobs/7") == 0, "a job");
    CHECK(strcmp(part, "/h/jobs/7/log") == 0, "a job's log");
    CHECK(strcmp(untidy, "/h/untidy") == 0, "marks of jobs that are not tidied");
    return TAP_DONE();
}
