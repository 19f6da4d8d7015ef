#include "app/job/resources.h"

#include "base/number.h"
#include "base/parallel.h"

#include <math.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

/* More than any machine has. */
#define CPUS_MAX 1e6
#define MEMORY_MAX_MB 1e9

struct app_job_room app_job_local_room(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGE_SIZE);
    uint64_t all_mb = pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes >> 20 : 1024;

    return (struct app_job_room){.cpus = parallel_cores(), .memory_mb = all_mb / 10 * 9};
}

int app_job_check_local(const struct lake_job_request *r, struct err *e)
{
    struct app_job_room room = app_job_local_room();
    char has[32], wanted[32];

    if (r->cpus > room.cpus)
        return err_set(
            e, ERR_NOFIT,
            "%g CPUs are more than this machine has: %g; ask for less, or submit the job "
            "to a host group of the configuration",
            r->cpus, room.cpus);
    uint64_t steps_mb = room.memory_mb / APP_JOB_MEMORY_STEP_MB * APP_JOB_MEMORY_STEP_MB;
    if (r->memory_mb > steps_mb)
        return err_set(e, ERR_NOFIT,
                       "%s of memory are more than this machine has for jobs: %s; ask for less, or "
                       "submit the job to a host group of the configuration",
                       app_job_memory_text(r->memory_mb, wanted),
                       app_job_memory_text(steps_mb, has));
    return 0;
}

int app_job_check_cpus(double cpus, struct err *e)
{
    if (cpus > CPUS_MAX)
        return err_set(e, ERR_USAGE, "more than any machine has; this one has %g",
                       app_job_local_room().cpus);
    if (!(cpus >= APP_JOB_CPU_STEP) || fmod(cpus, APP_JOB_CPU_STEP) != 0)
        return err_set(e, ERR_USAGE, "CPUs come in halves: 0.5, 1, 1.5 ...");
    return 0;
}

/* A gigabyte is 1024 megabytes here, as everywhere with memory. */
static bool parse_memory(const char *text, double *mb_out)
{
    static const struct {
        const char *name;
        double mb;
    } units[] = {{"", 1},      {"m", 1},      {"mb", 1},      {"mib", 1},      {"g", 1024},
                 {"gb", 1024}, {"gib", 1024}, {"t", 1 << 20}, {"tb", 1 << 20}, {"tib", 1 << 20}};
    const char *unit;
    double number;

    if (!number_prefix(text, &unit, &number))
        return false;
    unit += *unit == ' ';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(unit, units[i].name) == 0) {
            *mb_out = number * units[i].mb;
            return true;
        }
    return false;
}

int app_job_read_memory(const char *text, uint64_t *memory_mb_out, struct err *e)
{
    double mb;

    if (!parse_memory(text, &mb))
        return err_set(e, ERR_USAGE,
                       "\"%.40s\" is not a size; give one such as 512, 512MB, 2GB or 1TB", text);
    if (mb > MEMORY_MAX_MB)
        return err_set(e, ERR_USAGE, "%.40s: more than any machine has", text);
    if (mb < APP_JOB_MEMORY_STEP_MB || fmod(mb, APP_JOB_MEMORY_STEP_MB) != 0)
        return err_set(e, ERR_USAGE,
                       "%.40s: memory comes in steps of %d MB: 256, 512, 768, 1GB ...", text,
                       APP_JOB_MEMORY_STEP_MB);
    *memory_mb_out = (uint64_t)mb;
    return 0;
}

const char *app_job_memory_text(uint64_t memory_mb, char out[static 32])
{
    if (memory_mb >= 1024)
        snprintf(out, 32, "%g GB", (double)memory_mb / 1024);
    else
        snprintf(out, 32, "%llu MB", (unsigned long long)memory_mb);
    return out;
}
