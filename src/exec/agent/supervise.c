#include "exec/agent/supervise.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "exec/agent/codewatch.h"
#include "exec/agent/jobrecord.h"
#include "exec/agent/limits.h"
#include "exec/agent/modes.h"
#include "exec/agent/processes.h"
#include "exec/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAMPLE_S 1.0
/* Samples become rarer, so that a job of a month has fewer than ten thousand of them: after as many
 * as this, each time longer. */
#define SAMPLES_DENSE 1000
/* What a kill may take; a process that hangs in the kernel is not waited for longer. */
#define KILL_WAIT_S 10.0
#define KILL_POLL_US 1000
#define READ_BYTES ((size_t)256 << 10)
/* A flood must not keep us from looking at anything else. */
#define READS_AT_ONCE 8
/* As shells have it. */
#define SIGNALLED 128
#define CODE_NO_START 127
/* Room on a full disk for the last lines of log and state, and how often the last line of state is
 * tried when it is not the room that is missing. */
#define RESERVE_BYTES 65536
#define FULL_TRIES 60
#define FULL_POLL_S 1
/* At the least, for a job whose machine is taken away at once. */
#define NOTICE_GRACE_S 2.0
/* What Google gives a machine between the signal and the end. */
#define SHUT_DOWN_MS ((int64_t)30 * 1000)

/* The file `state` of a job: whole lines in the end, even when the disk is full in between. */
struct stateout {
    char *dir;
    int fd;
    char pending[2 * STATE_LINE_MAX]; /* what did not fit on the disk yet */
    size_t n_pending;
};

static char *reserve_path(const struct stateout *s)
{
    return mem_printf("%s/agent.reserve", s->dir);
}

static bool stateout_open(struct stateout *s, const char *dir)
{
    AUTO_MEM char *path = mem_printf("%s/state", dir);

    *s = (struct stateout){.fd = -1, .dir = mem_dup(dir)};
    s->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (s->fd < 0)
        return false;
    return true;
}

/* false: the disk is full. */
static bool stateout_reserve(struct stateout *s)
{
    AUTO_MEM char *reserve = reserve_path(s);
    AUTO_FD int fd = open(reserve, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int error = fd < 0 ? errno : posix_fallocate(fd, 0, RESERVE_BYTES);

    return error != ENOSPC && error != EDQUOT;
}

static int flush(struct stateout *s)
{
    while (s->n_pending) {
        ssize_t n = write(s->fd, s->pending, s->n_pending);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        s->n_pending -= (size_t)n;
        memmove(s->pending, s->pending + n, s->n_pending);
    }
    return 0;
}

static void append(struct stateout *s, const struct state_line *line)
{
    char text[STATE_LINE_MAX];
    size_t n = strlen(state_line_text(line, text));

    if (n > sizeof s->pending - s->n_pending)
        return;
    memcpy(s->pending + s->n_pending, text, n);
    s->n_pending += n;
}

/* A line that finds no room is left out. */
static void stateout_offer(struct stateout *s, const struct state_line *line)
{
    if (flush(s) == 0) {
        append(s, line);
        flush(s);
    }
}

/* -1 with errno when it is not in the file. */
static int stateout_start(struct stateout *s, const struct state_line *started)
{
    append(s, started);
    return flush(s);
}

static void stateout_free_reserve(struct stateout *s)
{
    AUTO_MEM char *reserve = reserve_path(s);

    unlink(reserve);
}

/* Whether the line may still be written: a full disk has room some day, anything else is tried for
 * a while. */
static bool has_hope(const struct stateout *s, int tries)
{
    bool is_full = errno == ENOSPC || errno == EDQUOT;
    struct stat st;

    return (is_full || tries < FULL_TRIES) && fstat(s->fd, &st) == 0 && st.st_nlink > 0;
}

static bool flush_at_last(struct stateout *s)
{
    for (int i = 0; flush(s) < 0; i++) {
        if (i == 0)
            stateout_free_reserve(s);
        else if (has_hope(s, i))
            sleep(FULL_POLL_S);
        else
            return false;
    }
    return true;
}

/* Waits on a full disk, after the reserved room is used, until everything is on disk. */
static void stateout_finish(struct stateout *s, const struct state_line *ended)
{
    if (!flush_at_last(s))
        return;
    append(s, ended);
    if (!flush_at_last(s))
        return;
    fsync(s->fd);
    stateout_free_reserve(s);
    file_sync_dir(s->dir, NULL);
}

static void stateout_close(struct stateout *s)
{
    if (s->fd >= 0)
        close(s->fd);
    free(s->dir);
    *s = (struct stateout){.fd = -1};
}

struct supervisor {
    struct jobdir *dir;
    const struct jobfile *job;
    struct joblog log;
    struct mask mask;
    struct stateout state;
    struct limits limits;
    struct started started;
    struct sampler sampler;
    struct processes tree;
    struct codewatch *code; /* NULL = not watched */
    char *bytes;            /* READ_BYTES */
    int signal_fd, notify_fd;
    bool output_open;
    double began_s, ended_s, sample_at_s, watch_at_s;
    double told_at_s; /* the next sample that is written down */
    bool child_ended;
    int child_status;
    char *root;    /* of all jobs */
    bool noticed;  /* the cloud takes the machine away */
    bool stopping; /* SIGTERM was sent */
    double kill_at_s;
    enum state_cause cause; /* meaningful when stopping, or when killed */
    bool caused;
    char text[1024];
};

static struct state_line line_now(enum state_kind kind)
{
    return (struct state_line){.kind = kind, .at_ms = time_epoch_ms(), .gpu_percent = -1};
}

static void scan(struct supervisor *s)
{
    processes_scan(&s->tree, getpid(), s->sampler.gpu_pid);
}

/* The first cause is the one that is told. */
static void because(struct supervisor *s, enum state_cause cause, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void because(struct supervisor *s, enum state_cause cause, const char *fmt, ...)
{
    va_list ap;

    if (s->caused)
        return;
    s->caused = true;
    s->cause = cause;
    va_start(ap, fmt);
    vsnprintf(s->text, sizeof s->text, fmt, ap);
    va_end(ap);
}

/* The engine passes it to the container, where init.c passes it to all processes. Bubblewrap would
 * end at once, and the exit code of the command be lost. */
static void signal_job(struct supervisor *s, int signal)
{
    const struct wrap *w = &s->started.wrap;

    if (w->engine)
        kill(s->started.pid, signal);
    else
        processes_signal_but(&s->tree, signal, w->argv ? s->started.pid : 0);
}

/* SIGTERM to everything, SIGKILL after the grace. A shorter grace replaces a longer. */
static void stop_within(struct supervisor *s, double grace_s)
{
    double kill_at_s = time_monotonic_s() + grace_s;

    if (kill_at_s < s->kill_at_s)
        s->kill_at_s = kill_at_s;
    if (s->stopping || grace_s <= 0)
        return;
    s->stopping = true;
    scan(s);
    signal_job(s, SIGTERM);
    if (!s->started.wrap.engine) /* which would pass it on to a container that has ended */
        processes_signal(&s->tree, SIGCONT);
}

/* Takes what ended. false when we have no child any more: nothing of the job is left. */
static bool reap(struct supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        s->ended_s = time_monotonic_s();
        if (pid == s->started.pid) {
            s->child_ended = true;
            s->child_status = status;
        }
        if (pid == s->sampler.gpu_pid)
            s->sampler.gpu_pid = 0;
    }
    return pid == 0;
}

/* The watcher of GPUs is a child, too, and no part of the job. */
static bool only_watcher_left(struct supervisor *s)
{
    if (!s->child_ended || s->sampler.gpu_pid == 0)
        return false;
    scan(s);
    return processes_count(&s->tree) == 0;
}

/* true when nothing is left. */
static bool kill_all(struct supervisor *s)
{
    double until_s = time_monotonic_s() + KILL_WAIT_S;

    sampler_end(&s->sampler);
    while (reap(s)) {
        scan(s);
        processes_signal(&s->tree, SIGSTOP); /* a stopped process starts no others meanwhile */
        scan(s);
        processes_signal(&s->tree, SIGKILL);
        if (time_monotonic_s() > until_s)
            return false;
        usleep(KILL_POLL_US);
    }
    return true;
}

static void keep_masked(struct supervisor *s, size_t n)
{
    const char *bytes;
    size_t some = mask_take(&s->mask, s->bytes, n, &bytes);

    joblog_add(&s->log, bytes, some);
}

/* What looks like the beginning of a secret, when nothing more comes. */
static void keep_held(struct supervisor *s)
{
    const char *bytes;
    size_t n = mask_rest(&s->mask, &bytes);

    joblog_add(&s->log, bytes, n);
}

/* What was read is written before more is read. false when there is nothing to read now. */
static bool read_output(struct supervisor *s)
{
    for (int i = 0; s->output_open && i < READS_AT_ONCE; i++) {
        ssize_t n = read(s->started.output_fd, s->bytes, READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        s->output_open = n > 0;
        if (n > 0)
            keep_masked(s, (size_t)n);
    }
    return s->output_open;
}

static void look_for_stop(struct supervisor *s)
{
    struct stop_request r;

    if (!jobdir_read_stop(s->dir, &r))
        return;
    because(s, STATE_STOPPED, "stopped%s%s", r.reason[0] ? ": " : "", r.reason);
    stop_within(s, r.grace_s);
}

/* The job may save a checkpoint until half of what is left of the machine; the broker fetches it in
 * the other half. */
static void take_notice(struct supervisor *s, const struct notice *said)
{
    struct state_line line = line_now(STATE_NOTICE);

    s->noticed = true;
    line.until_ms = said->until_ms;
    snprintf(line.text, sizeof line.text, "%s", said->text);
    stateout_offer(&s->state, &line);
    because(s, STATE_PREEMPTED, "preempted: %s", said->text);
    double half_s = (double)(said->until_ms - line.at_ms) / 2000;
    stop_within(s, fmin(s->job->grace_s, fmax(half_s, NOTICE_GRACE_S)));
}

static void look_for_notice(struct supervisor *s)
{
    struct notice said;

    if (!s->noticed && notice_read(s->root, &said))
        take_notice(s, &said);
}

static void read_changes(struct supervisor *s)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

    while (read(s->notify_fd, events, sizeof events) > 0)
        continue;
    look_for_stop(s);
    look_for_notice(s);
}

/* An instance that bills shuts down when the cloud takes it away: Google's notice comes with that.
 * A machine of somebody's own is shut down by its owner. */
static void shut_down(struct supervisor *s, const char *signal_name)
{
    struct notice said = {.until_ms = time_epoch_ms() + SHUT_DOWN_MS};

    if (s->noticed)
        return;
    if (lease_is_watched(s->root)) {
        snprintf(said.text, sizeof said.text, "the machine told its programs to end (%.60s)",
                 signal_name);
        take_notice(s, &said);
        return;
    }
    because(s, STATE_STOPPED, "stopped: the machine told its programs to end (%s)", signal_name);
    stop_within(s, s->job->grace_s);
}

static void read_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;

    while (read(s->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue; /* reaped below, whichever child it was */
        shut_down(s, strsignal((int)info.ssi_signo));
    }
}

static void take_sample(struct supervisor *s, double now_s)
{
    struct state_line line = line_now(STATE_SAMPLE);

    sampler_take(&s->sampler, &s->limits, &s->tree, &line);
    line.log_bytes = s->log.size;
    /* Half a sample early counts: it would be most of one late. */
    if (now_s < s->told_at_s - SAMPLE_S / 2)
        return;
    stateout_offer(&s->state, &line);
    s->told_at_s = now_s + fmax(SAMPLE_S, (now_s - s->began_s) / SAMPLES_DENSE);
}

/* now: the tree as it is, NULL when nothing of it lives any more. */
static void look_at_memory(struct supervisor *s, const struct processes *now)
{
    if (!limits_over(&s->limits, now))
        return;
    because(s, STATE_MEMORY, "over its memory limit of %ju MB: it was stopped",
            (uintmax_t)(s->limits.memory_bytes >> 20));
    s->kill_at_s = 0;
}

/* A job whose directory was removed could never be followed or stopped again. */
static void look_for_directory(struct supervisor *s)
{
    struct stat st;

    if (fstat(s->dir->lock_fd, &st) < 0 || st.st_nlink > 0)
        return;
    because(s, STATE_STOPPED, "stopped: its directory was removed");
    s->kill_at_s = 0;
}

/* What no kernel tells us is looked at; where it does, the samples suffice. */
static double watch_every_s(const struct supervisor *s)
{
    return s->limits.watched || s->notify_fd < 0 ? LIMITS_WATCH_S : (double)INFINITY;
}

static void on_time(struct supervisor *s)
{
    double now_s = time_monotonic_s(), limit_s = s->job->time_limit_s;

    if (now_s >= s->watch_at_s || now_s >= s->sample_at_s) {
        scan(s);
        look_at_memory(s, &s->tree);
        s->watch_at_s = now_s + watch_every_s(s);
        jobdir_reopen(s->dir);
        if (s->notify_fd < 0) {
            look_for_stop(s);
            look_for_notice(s);
        }
    }
    if (now_s >= s->sample_at_s) {
        take_sample(s, now_s);
        look_for_directory(s);
        s->sample_at_s = fmax(s->sample_at_s + SAMPLE_S, now_s + SAMPLE_S / 2);
    }
    if (limit_s > 0 && now_s - s->began_s >= limit_s && !s->stopping) {
        because(s, STATE_TIME, "over its time limit of %g s: it was stopped", limit_s);
        stop_within(s, s->job->grace_s);
    }
    joblog_sync_at_times(&s->log, now_s);
}

/* Milliseconds until something is due. */
static int time_left_ms(const struct supervisor *s)
{
    double at_s = fmin(s->sample_at_s, s->watch_at_s);

    at_s = fmin(at_s, s->kill_at_s);
    if (s->job->time_limit_s > 0 && !s->stopping)
        at_s = fmin(at_s, s->began_s + s->job->time_limit_s);
    double left_ms = ceil((at_s - time_monotonic_s()) * 1000);
    return left_ms < 0 ? 0 : (int)left_ms;
}

/* Until the command ended by itself, or everything did after it was asked to, or the grace is over.
 */
static void watch(struct supervisor *s)
{
    for (;;) {
        struct pollfd fds[] = {
            {.fd = s->signal_fd, .events = POLLIN},
            {.fd = s->notify_fd, .events = POLLIN},
            {.fd = s->output_open ? s->started.output_fd : -1, .events = POLLIN},
            {.fd = s->code ? codewatch_fd(s->code) : -1, .events = POLLIN},
        };
        bool any = reap(s);
        if ((s->child_ended && !s->stopping) || !any || only_watcher_left(s) ||
            time_monotonic_s() >= s->kill_at_s)
            return;
        poll(fds, sizeof fds / sizeof fds[0], time_left_ms(s));
        if (fds[0].revents)
            read_signals(s);
        if (fds[3].revents)
            codewatch_drain(s->code);
        if (fds[1].revents)
            read_changes(s);
        if (fds[2].revents)
            read_output(s);
        on_time(s);
    }
}

static int code_of(const struct supervisor *s)
{
    if (s->caused && s->cause == STATE_NO_START)
        return CODE_NO_START;
    if (!s->child_ended)
        return SIGNALLED + SIGKILL;
    return WIFSIGNALED(s->child_status) ? SIGNALLED + WTERMSIG(s->child_status)
                                        : WEXITSTATUS(s->child_status);
}

static void tell_end(struct supervisor *s, bool empty)
{
    struct state_line line = line_now(STATE_ENDED);

    line.runtime_s = s->ended_s > s->began_s ? s->ended_s - s->began_s : 0;
    line.code = code_of(s);
    look_at_memory(s, NULL);
    if (s->child_ended && WIFSIGNALED(s->child_status))
        because(s, STATE_SIGNAL, "ended by signal %d (%s)", WTERMSIG(s->child_status),
                strsignal(WTERMSIG(s->child_status)));
    because(s, STATE_EXIT, "exit code %d", line.code);
    if (!empty) {
        size_t used = strlen(s->text);
        snprintf(s->text + used, sizeof s->text - used, "; some of its processes cannot be ended");
    }
    line.cause = s->cause;
    snprintf(line.text, sizeof line.text, "%s", s->text);
    sampler_total(&s->sampler, &s->limits, &line.cpu_s, &line.memory_mb);
    if (s->sample_at_s > 0) /* else it never began */
        sampler_network(&s->sampler, &line.received, &line.sent);
    line.log_bytes = s->log.size;
    stateout_finish(&s->state, &line);
}

/* ---- the code that was used ---- */

struct telling {
    struct supervisor *s;
    uint64_t files;
};

static void tell_used(void *context, const char *path)
{
    struct telling *t = context;
    struct state_line line = line_now(STATE_USED);

    snprintf(line.text, sizeof line.text, "%s", path);
    stateout_offer(&t->s->state, &line);
    t->files++;
}

/* A line that found no room on the disk is missing: then their number tells. */
static void tell_code(struct supervisor *s, bool empty)
{
    struct telling t = {.s = s};
    struct state_line line = line_now(STATE_LEARNED);

    if (!s->code)
        return;
    if (!empty)
        codewatch_doubt(s->code, "some of its processes could not be ended");
    snprintf(line.text, sizeof line.text, "%s", codewatch_end(s->code, tell_used, &t));
    line.files = t.files;
    line.at_ms = time_epoch_ms();
    stateout_offer(&s->state, &line);
}

/* The engine's own processes clear up meanwhile, and are ended after that. */
static void end_container(struct supervisor *s)
{
    const struct wrap *w = &s->started.wrap;

    if (!w->engine || !s->started.pid)
        return;
    if (s->child_ended && WIFEXITED(s->child_status) &&
        WEXITSTATUS(s->child_status) == SIGNALLED + SIGKILL && container_over(w))
        because(s, STATE_MEMORY, "over its memory limit of %ju MB: it was stopped",
                (uintmax_t)s->job->memory_mb);
    container_remove(w->engine, w->container);
}

static void finish(struct supervisor *s)
{
    end_container(s);
    bool empty = kill_all(s);

    jobdir_reopen(s->dir);
    while (read_output(s))
        continue; /* to its end, unless something that could not be ended still has it open */
    keep_held(s);
    if (!joblog_finish(&s->log)) {
        stateout_free_reserve(&s->state);
        joblog_finish(&s->log);
    }
    tell_code(s, empty);
    tell_end(s, empty);
    limits_end(&s->limits, 1);
    if (empty) {
        AUTO_MEM char *path = jobdir_file(s->dir, "tree");
        unlink(path);
    }
}

/* Signals become readable, and children of children come to us. */
static int listen_to_all(struct supervisor *s, struct err *e)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signal_fd < 0)
        return err_set(e, ERR_IO, "signalfd: %s", strerror(errno));
    s->notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (s->notify_fd >= 0 && (inotify_add_watch(s->notify_fd, s->dir->path, IN_MOVED_TO) < 0 ||
                              inotify_add_watch(s->notify_fd, s->root, IN_MOVED_TO) < 0)) {
        close(s->notify_fd);
        s->notify_fd = -1;
    }
    return 0;
}

/* The command waits, with its limits on, and can be found again. */
static int get_ready(struct supervisor *s, struct err *e)
{
    if (listen_to_all(s, e) < 0 || joblog_open(&s->log, s->dir->path, s->job->log_max, e) < 0)
        return -1;
    limits_plan(&s->limits, s->dir->path);
    s->limits.contained = s->job->image;
    if (start_prepare(s->dir, s->job, s->limits.name, &s->started, e) < 0 ||
        jobrecord_write(s->dir, &s->limits, &s->started, e) < 0)
        return -1;
    s->limits.memory_contained = s->started.wrap.keeps_memory;
    limits_apply(&s->limits, s->job, s->started.pid);
    if (s->job->learn) {
        AUTO_MEM char *work = jobdir_file(s->dir, "work");
        s->code = codewatch_new(work, s->job->image);
    }
    s->output_open = true;
    return 0;
}

static void no_start(struct supervisor *s, const struct err *e)
{
    because(s, STATE_NO_START, "it could not be started: %s", e->text);
    s->kill_at_s = 0;
}

static void run(struct supervisor *s)
{
    struct state_line line = line_now(STATE_STARTED);
    struct err e = {0};

    if (get_ready(s, &e) < 0) {
        no_start(s, &e);
        return;
    }
    line.pid = s->started.pid;
    snprintf(line.text, sizeof line.text, "%s", s->limits.text);
    look_for_stop(s); /* one that came before us */
    look_for_notice(s);
    if (s->caused) {
        s->kill_at_s = 0;
        return;
    }
    if (stateout_start(&s->state, &line) < 0) {
        file_error(&e, "write", "the state of the job");
        no_start(s, &e);
        return;
    }
    sampler_begin(&s->sampler, env_get(s->started.env, "PATH"));
    s->began_s = time_monotonic_s();
    s->sample_at_s = s->began_s + SAMPLE_S;
    s->watch_at_s = s->began_s + watch_every_s(s);
    if (start_go(&s->started, s->job, &e) < 0)
        no_start(s, &e);
    else
        watch(s);
}

static void clear(struct supervisor *s)
{
    start_clear(&s->started);
    joblog_close(&s->log);
    mask_clear(&s->mask);
    stateout_close(&s->state);
    processes_clear(&s->tree);
    codewatch_free(s->code);
    free(s->bytes);
    free(s->root);
    if (s->signal_fd >= 0)
        close(s->signal_fd);
    if (s->notify_fd >= 0)
        close(s->notify_fd);
    free(s);
}

/* A job that finds the disk full begins when there is room. false: it was stopped before that, or
 * its directory was removed. */
static bool wait_for_room(struct supervisor *s)
{
    struct stop_request r;

    while (!stateout_reserve(&s->state)) {
        if (jobdir_read_stop(s->dir, &r) || !jobdir_exists(s->dir))
            return false;
        sleep(FULL_POLL_S);
    }
    return true;
}

static struct supervisor *supervisor_new(struct jobdir *d, const struct jobfile *job)
{
    struct supervisor *s = mem_zero(1, sizeof *s);

    s->dir = d;
    s->root = jobdir_root(d);
    s->job = job;
    s->bytes = mem_zero(READ_BYTES, 1);
    mask_init(&s->mask, job);
    s->signal_fd = s->notify_fd = s->log.fd = s->log.tail_fd = s->state.fd = -1;
    s->started.output_fd = s->started.go_fd = s->started.error_fd = s->sampler.gpu_fd = -1;
    s->kill_at_s = (double)INFINITY;
    s->began_s = time_monotonic_s();
    return s;
}

void supervise(struct jobdir *d, const struct jobfile *job)
{
    struct supervisor *s = supervisor_new(d, job);

    if (stateout_open(&s->state, d->path) && wait_for_room(s)) {
        run(s);
        finish(s);
    }
    clear(s);
}

void supervise_refuse(struct jobdir *d, const char *why)
{
    struct stateout out;
    struct state_line line = line_now(STATE_ENDED);

    line.code = CODE_NO_START;
    line.cause = STATE_NO_START;
    snprintf(line.text, sizeof line.text, "it could not be started: %s", why);
    if (stateout_open(&out, d->path))
        stateout_finish(&out, &line);
    stateout_close(&out);
}
