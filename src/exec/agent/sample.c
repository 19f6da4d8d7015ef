/* What a job uses: processors, memory, the machine's network, its GPUs. */
#include "base/auto.h"
#include "base/mem.h"
#include "base/time.h"
#include "exec/agent/jobdir.h"
#include "exec/agent/supervise.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB 1048576.0
#define NET_TABLE_MAX ((size_t)256 << 10)

/* "  eth0: RECEIVED 7 other numbers SENT ..." */
static bool read_interface(const char *line, uint64_t *received, uint64_t *sent)
{
    const char *name = line + strspn(line, " ");
    const char *colon = strpbrk(name, ":\n");
    char *at;

    if (!colon || *colon != ':' || (colon - name == 2 && !strncmp(name, "lo", 2)))
        return false;
    *received = strtoull(colon + 1, &at, 10);
    for (int i = 0; i < 8; i++)
        *sent = strtoull(at, &at, 10);
    return true;
}

/* All interfaces of this network namespace but the loopback. */
static void read_network(uint64_t *received, uint64_t *sent)
{
    AUTO_MEM char *text = jobdir_read_small("/proc/self/net/dev", NET_TABLE_MAX, NULL);

    *received = *sent = 0;
    for (const char *line = text; line && *line;) {
        uint64_t in, out;
        if (read_interface(line, &in, &out)) {
            *received += in;
            *sent += out;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
}

/* Where a program lies; NULL when it is nowhere in path. */
static char *find_program(const char *path, const char *name)
{
    for (const char *at = path; at && *at;) {
        size_t n = strcspn(at, ":");
        char *file = mem_printf("%.*s/%s", (int)n, at, name);
        if (n && access(file, X_OK) == 0)
            return file;
        free(file);
        at += n;
        at += *at == ':';
    }
    return NULL;
}

static void become_gpu_watcher(const char *program, int out)
{
    sigset_t none;
    int null = open("/dev/null", O_RDWR);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0)
        _exit(127);
    execl(program, program, "--query-gpu=index,utilization.gpu", "--format=csv,noheader,nounits",
          "-l", "1", (char *)NULL);
    _exit(127);
}

void sampler_begin(struct sampler *s, const char *path)
{
    AUTO_MEM char *program = find_program(path, "nvidia-smi");
    int ends[2];

    *s = (struct sampler){.gpu_fd = -1};
    for (size_t i = 0; i < GPUS_MAX; i++)
        s->gpu_percent[i] = -1;
    read_network(&s->received_before, &s->sent_before);
    if (!program || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return;
    s->gpu_pid = fork();
    if (s->gpu_pid == 0)
        become_gpu_watcher(program, ends[1]);
    close(ends[1]);
    s->gpu_fd = ends[0];
    if (s->gpu_pid < 0) {
        s->gpu_pid = 0;
        sampler_end(s);
    }
}

void sampler_end(struct sampler *s)
{
    if (s->gpu_pid > 0) {
        kill(s->gpu_pid, SIGKILL);
        waitpid(s->gpu_pid, NULL, 0);
    }
    if (s->gpu_fd >= 0)
        close(s->gpu_fd);
    s->gpu_pid = 0;
    s->gpu_fd = -1;
}

/* "INDEX, PERCENT"; "[N/A]" where it is not counted. */
static void take_gpu_line(struct sampler *s)
{
    char *at, *end;

    s->gpu_line[s->gpu_used] = 0;
    s->gpu_used = 0;
    unsigned long index = strtoul(s->gpu_line, &at, 10);
    if (at == s->gpu_line || *at != ',' || index >= GPUS_MAX)
        return;
    double percent = strtod(at + 1, &end);
    if (end > at + 1 && percent >= 0 && percent <= 100)
        s->gpu_percent[index] = percent;
}

static double read_gpus(struct sampler *s)
{
    char bytes[4096];
    double sum = 0;
    size_t n = 0;

    for (ssize_t got; s->gpu_fd >= 0 && (got = read(s->gpu_fd, bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] == '\n')
                take_gpu_line(s);
            else if (s->gpu_used + 1 < sizeof s->gpu_line)
                s->gpu_line[s->gpu_used++] = bytes[i];
        }
    for (size_t i = 0; i < GPUS_MAX; i++)
        if (s->gpu_percent[i] >= 0) {
            sum += s->gpu_percent[i];
            n++;
        }
    return n ? sum / (double)n : -1;
}

static double reaped_cpu_s(double *max_mb)
{
    struct rusage used;

    getrusage(RUSAGE_CHILDREN, &used);
    if (max_mb)
        *max_mb = (double)used.ru_maxrss / 1024;
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

void sampler_network(const struct sampler *s, uint64_t *received, uint64_t *sent)
{
    read_network(received, sent);
    *received = *received > s->received_before ? *received - s->received_before : 0;
    *sent = *sent > s->sent_before ? *sent - s->sent_before : 0;
}

void sampler_take(struct sampler *s,
                  const struct limits *l,
                  const struct processes *t,
                  struct state_line *out)
{
    double counted = limits_cpu_s(l);

    sampler_network(s, &out->received, &out->sent);
    out->at_ms = time_epoch_ms();
    out->cpu_s = counted >= 0 ? counted : reaped_cpu_s(NULL) + processes_cpu_s(t);
    out->memory_mb = (double)processes_rss_bytes(t) / MB;
    out->gpu_percent = read_gpus(s);
    if (out->memory_mb > s->peak_mb)
        s->peak_mb = out->memory_mb;
}

void sampler_total(struct sampler *s, const struct limits *l, double *cpu_s, double *peak_mb)
{
    double max_mb, counted = limits_cpu_s(l), reaped = reaped_cpu_s(&max_mb);

    *cpu_s = counted > reaped ? counted : reaped;
    *peak_mb = max_mb > s->peak_mb ? max_mb : s->peak_mb;
}
