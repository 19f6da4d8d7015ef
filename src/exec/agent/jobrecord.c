#include "exec/agent/jobrecord.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "exec/agent/supervise.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MAX ((size_t)64 << 10)
#define END_WAIT_S 5.0
#define END_POLL_US 2000

char *jobrecord_mark(const struct jobdir *d)
{
    return mem_printf("TRADEWIND_OUTPUT=%s/output", d->path);
}

static char *boot_id(void)
{
    char *text = jobdir_read_small("/proc/sys/kernel/random/boot_id", 64, NULL);

    if (!text)
        return mem_dup("unknown");
    text[strcspn(text, "\n")] = 0;
    return text;
}

int jobrecord_write(const struct jobdir *d,
                    const struct limits *planned,
                    const struct started *s,
                    struct err *e)
{
    AUTO_CLEAR(buf) struct buf text;
    AUTO_MEM char *boot = boot_id();
    AUTO_MEM char *path = jobdir_file(d, "tree");

    buf_init(&text, RECORD_MAX);
    buf_printf(&text, "boot %s\nprocess %d %" PRIu64 "\n", boot, (int)s->pid,
               processes_start_ticks(s->pid));
    if (s->wrap.engine)
        buf_printf(&text, "container %s %s\n", s->wrap.container, s->wrap.engine);
    for (int c = 0; c < CGROUP_CONTROLLERS; c++)
        for (size_t i = 0; i < planned->places.n[c]; i++)
            buf_printf(&text, "group %s/%s\n", planned->places.place[c][i].dir, planned->name);
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fd < 0 || file_write_all(fd, text.data, text.len) < 0 ? file_error(e, "write", path) : 0;
}

struct recorded {
    pid_t pid;
    uint64_t start_ticks;
    bool groups_empty;
};

/* "PID START" */
static void read_process(const char *text, struct recorded *out)
{
    char *end;

    out->pid = (pid_t)strtol(text, &end, 10);
    out->start_ticks = strtoull(end, NULL, 10);
}

/* "NAME ENGINE" */
static void end_container(char *text)
{
    char *space = strchr(text, ' ');

    if (!space)
        return;
    *space = 0;
    container_remove(space + 1, text);
}

/* Ends the groups at once and returns what else the file says; false when it is of an earlier boot:
 * nothing of it is alive. */
static bool read_record(char *text, struct recorded *out)
{
    AUTO_MEM char *boot = boot_id();
    bool same_boot = false;

    *out = (struct recorded){.groups_empty = true};
    for (char *line = text; *line;) {
        char *end = strchrnul(line, '\n');
        char *next = *end ? end + 1 : end;
        *end = 0;
        if (!strncmp(line, "boot ", 5))
            same_boot = !strcmp(line + 5, boot);
        else if (same_boot && !strncmp(line, "process ", 8))
            read_process(line + 8, out);
        else if (same_boot && !strncmp(line, "container ", 10))
            end_container(line + 10);
        else if (same_boot && !strncmp(line, "group ", 6) && !cgroup_end(line + 6, END_WAIT_S))
            out->groups_empty = false;
        line = next;
    }
    return same_boot;
}

static bool end_processes(const char *mark, const struct recorded *r)
{
    double until_s = time_monotonic_s() + END_WAIT_S;
    struct processes t = {0};
    bool empty = false;

    for (;;) {
        processes_scan_marked(&t, mark, r->pid, r->start_ticks);
        empty = processes_count(&t) == 0;
        if (empty || time_monotonic_s() > until_s)
            break;
        processes_signal(&t, SIGSTOP); /* a stopped process starts no others meanwhile */
        processes_scan_marked(&t, mark, r->pid, r->start_ticks);
        processes_signal(&t, SIGKILL);
        usleep(END_POLL_US);
    }
    processes_clear(&t);
    return empty;
}

int jobrecord_recover(const struct jobdir *d, struct err *e)
{
    AUTO_MEM char *path = jobdir_file(d, "tree");
    AUTO_MEM char *text = jobdir_read_small(path, RECORD_MAX, NULL);
    AUTO_MEM char *mark = jobrecord_mark(d);
    struct recorded r;

    joblog_recover(d->path);
    if (!text)
        return 0;
    if (read_record(text, &r) && (!end_processes(mark, &r) || !r.groups_empty))
        return err_set(e, ERR_IO, "%s: processes of the job could not be ended", d->path);
    unlink(path);
    return 0;
}
