#include "broker/home.h"

#include "base/mem.h"

char *broker_socket_path(const char *home)
{
    return mem_printf("%s/broker.sock", home);
}

char *broker_lock_path(const char *home)
{
    return mem_printf("%s/broker.lock", home);
}

char *broker_log_path(const char *home)
{
    return mem_printf("%s/broker.log", home);
}

char *broker_jobs_path(const char *home)
{
    return mem_printf("%s/jobs", home);
}

char *broker_job_path(const char *home, int64_t job, const char *part)
{
    return mem_printf("%s/jobs/%lld%s%s", home, (long long)job, part ? "/" : "", part ? part : "");
}

char *broker_untidy_path(const char *home)
{
    return mem_printf("%s/untidy", home);
}

char *broker_checkpoints_path(const char *home)
{
    return mem_printf("%s/checkpoints", home);
}
