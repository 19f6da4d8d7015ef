/* tradewind-agent: supervises one job where it runs. Needs nothing but libc, so that it can be
 * copied to any machine. exec/jobfile.h describes the directory of a job. */
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "exec/agent/jobdir.h"
#include "exec/agent/jobrecord.h"
#include "exec/agent/modes.h"
#include "exec/agent/supervise.h"
#include "exec/frames.h"
#include "exec/jobfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* After its last line an agent still clears up; one that was killed takes a moment to die. */
#define CLEAR_UP_WAIT_S 5.0
#define DYING_WAIT_S 0.5
#define START_TRIES 5

static const char usage[] =
    "usage: tradewind-agent run DIR                    run the job in DIR, or follow it\n"
    "       tradewind-agent follow DIR STATE LOG       tell it from these offsets on\n"
    "       tradewind-agent stop DIR SECONDS REASON    end it, by force after SECONDS\n"
    "       tradewind-agent renew ROOT SECONDS         renew the lease of the machine\n"
    "       tradewind-agent watch ROOT SECONDS COMMAND CLOUD   renew it, and power off by COMMAND "
    "when it lapses\n"
    "       tradewind-agent claim ROOT TOKEN SECONDS LABEL   use the machine, if no other home "
    "does\n"
    "       tradewind-agent release ROOT TOKEN         do not any more\n"
    "       tradewind-agent remove DIR                 remove the directory of a job\n"
    "       tradewind-agent retire DIR                 the same; large outputs go to DIR/../cache\n"
    "       tradewind-agent stage DIR <LIST            place the files that DIR/../cache has in "
    "DIR\n"
    "       tradewind-agent settle DIR <LIST           all are in DIR: keep copies of new ones\n"
    "       tradewind-agent name FRESH DIR             FRESH becomes DIR; where there is one, it "
    "goes\n"
    "       tradewind-agent init JOBFILE DIR           the first process of a job's container\n"
    "       tradewind-agent version\n";

static int fail(const struct err *e)
{
    fprintf(stderr, "tradewind-agent: %s\n", e->text);
    return err_exit_code(e->kind);
}

static int gone(const struct jobdir *d, const char *why)
{
    fprintf(stderr, "tradewind-agent: %s: %s\n", d->path, why);
    return AGENT_EXIT_GONE;
}

static bool read_seconds(const char *text, double *out, struct err *e)
{
    if (number_parse(text, out) && *out >= 0)
        return true;
    err_set(e, ERR_USAGE, "'%s' is not a number of seconds", text);
    return false;
}

static bool read_offset(const char *text, uint64_t *out, struct err *e)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno && *out <= INT64_MAX)
        return true;
    err_set(e, ERR_USAGE, "'%s' is not an offset", text);
    return false;
}

/* The exit code of a reader; -1: e says. */
static int told(struct jobdir *d, enum followed end)
{
    switch (end) {
    case FOLLOWED_END:
        return 0;
    case FOLLOWED_NOTHING:
        return gone(d, "no job was ever started here");
    case FOLLOWED_GONE:
        return gone(d, "the agent of this job was killed before the job ended; what was left of it "
                       "has been ended");
    case FOLLOWED_REMOVED:
        return gone(d, "the directory of this job was removed");
    case FOLLOWED_FAILED:
        break;
    }
    return -1;
}

static int read_job(const struct jobdir *d, struct jobfile *job, struct err *e)
{
    AUTO_MEM char *path = jobdir_file(d, "job");
    size_t n;
    AUTO_MEM char *text = jobdir_read_small(path, JOBFILE_BYTES_MAX + 1, &n);

    if (!text)
        return file_error(e, "read", path);
    return jobfile_parse(text, n, job, e);
}

/* A process without standard streams. */
static bool leave_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    return null >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0 &&
           chdir("/") == 0;
}

/* The broker's watch over the machine may have been killed. */
static void watch_instead(const struct jobdir *d, const struct jobfile *job)
{
    AUTO_MEM char *root = jobdir_root(d);
    const struct watch_order order = {
        .root = root, .lease_s = job->lease_s, .power_off = job->power_off};
    AUTO_FD int lock = lease_lock(root, NULL);

    if (lock >= 0)
        lease_watch(&order);
}

/* The supervisor: a child of init, in a session of its own, without standard streams. */
static void be_supervisor(void *context)
{
    struct jobdir *d = context;
    AUTO_CLEAR(jobfile) struct jobfile job = {0};
    struct err e = {0};

    if (!leave_streams())
        return;
    if (read_job(d, &job, &e) < 0)
        supervise_refuse(d, e.text);
    else
        supervise(d, &job);
    jobdir_unlock(d);
    if (job.power_off && job.lease_s > 0)
        watch_instead(d, &job);
}

/* Two forks: the process belongs to no terminal and to no session that ends. */
static int start_apart(void (*be)(void *context), void *context, const char *what, struct err *e)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        setsid();
        pid_t second = fork();
        if (second == 0)
            be(context);
        _exit(second < 0);
    }
    if (pid > 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
    if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
        return err_set(e, ERR_RETRY, "start the agent of %s: no process could be made", what);
    return 0;
}

static int run(struct jobdir *d, struct err *e)
{
    enum followed end = FOLLOWED_NOTHING;

    /* One that only looked whether the lock is free may have held it for a moment. */
    for (int i = 0; end == FOLLOWED_NOTHING && i < START_TRIES; i++) {
        if (jobdir_lock(d)) {
            if (jobdir_phase(d) == JOB_NEW &&
                (jobrecord_recover(d, e) < 0 || start_apart(be_supervisor, d, d->path, e) < 0))
                return -1;
            jobdir_unlock(d);
        }
        end = follow(d, 0, 0, STDOUT_FILENO, e);
    }
    return told(d, end);
}

static int command_run(char **arguments, struct err *e)
{
    AUTO_CLEAR(jobdir) struct jobdir d = {.lock_fd = -1};

    return jobdir_open(&d, arguments[0], e) < 0 ? -1 : run(&d, e);
}

static int command_follow(char **arguments, struct err *e)
{
    AUTO_CLEAR(jobdir) struct jobdir d = {.lock_fd = -1};
    uint64_t state_at, log_at;

    if (!read_offset(arguments[1], &state_at, e) || !read_offset(arguments[2], &log_at, e))
        return -1;
    if (jobdir_open(&d, arguments[0], e) < 0) {
        if (e->kind != ERR_NOTFOUND)
            return -1;
        fail(e);
        return AGENT_EXIT_GONE;
    }
    return told(&d, follow(&d, state_at, log_at, STDOUT_FILENO, e));
}

static int command_stop(char **arguments, struct err *e)
{
    AUTO_CLEAR(jobdir) struct jobdir d = {.lock_fd = -1};
    struct stop_request r = {0};

    if (!read_seconds(arguments[1], &r.grace_s, e))
        return -1;
    snprintf(r.reason, sizeof r.reason, "%s", arguments[2]);
    for (char *p = r.reason; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = ' ';
    if (jobdir_open(&d, arguments[0], e) < 0)
        return e->kind == ERR_NOTFOUND ? 0 : -1;
    if (jobdir_phase(&d) == JOB_OVER)
        return 0;
    if (jobdir_write_stop(&d, &r, e) < 0)
        return -1;
    /* Without an agent there is no reader: the rest of the job ends now. */
    return jobdir_lock(&d) ? jobrecord_recover(&d, e) : 0;
}

static int command_renew(char **arguments, struct err *e)
{
    double seconds;

    if (!read_seconds(arguments[1], &seconds, e) || lease_renew(arguments[0], seconds, e) < 0)
        return fail(e);
    return 0;
}

static void be_watch(void *context)
{
    if (leave_streams())
        lease_watch(context);
}

/* Where there is a watch already, the lease is renewed. */
static int command_watch(char **arguments, struct err *e)
{
    struct watch_order order = {.power_off = *arguments[2] ? arguments[2] : NULL};
    AUTO_MEM char *root = realpath(arguments[0], NULL);
    struct err why = {0};

    if (!root)
        return file_error(e, "find", arguments[0]);
    if (!read_seconds(arguments[1], &order.lease_s, e))
        return -1;
    if (!notices_parse(arguments[3], &order.notices))
        return err_set(e, ERR_USAGE, "'%s' is not a cloud that gives notice: none, aws, gcp, azure",
                       arguments[3]);
    order.root = root;
    if (lease_renew(root, order.lease_s, e) < 0)
        return -1;
    AUTO_FD int lock = lease_lock(root, &why);
    if (lock >= 0)
        return start_apart(be_watch, &order, root, e);
    return why.kind == ERR_NONE ? 0 : err_set(e, why.kind, "%s", why.text);
}

static int command_claim(char **arguments, struct err *e)
{
    double seconds;

    return read_seconds(arguments[2], &seconds, e)
               ? claim_take(arguments[0], arguments[1], seconds, arguments[3], e)
               : -1;
}

static int command_release(char **arguments, struct err *e)
{
    return claim_release(arguments[0], arguments[1], e);
}

static int remove_all(const char *path, struct err *e)
{
    struct stat st;

    file_remove_tree(path);
    if (lstat(path, &st) == 0)
        return err_set(e, ERR_IO, "remove %s: something in it cannot be removed", path);
    return 0;
}

/* Where the directory of a job goes when it is removed: ".ID.gone" beside it. NULL: it is none. */
static char *gone_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    if (!*name || name[strspn(name, "0123456789")])
        return NULL;
    return mem_printf("%.*s.%s.gone", (int)(name - path), path, name);
}

/* No reader ever finds half of it: a part without its state would be taken for a job that was never
 * started. What an earlier removal left goes first. */
static int take_name(const struct jobdir *d, const char *gone, struct err *e)
{
    if (remove_all(gone, e) < 0)
        return -1;
    if (rename(d->path, gone) < 0 && errno != ENOENT)
        return file_error(e, "rename", d->path);
    return 0;
}

static int empty_and_take_name(struct jobdir *d, bool keep_output, const char *gone, struct err *e)
{
    double wait_s = jobdir_phase(d) == JOB_OVER ? CLEAR_UP_WAIT_S : DYING_WAIT_S;

    if (!jobdir_lock_wait(d, wait_s))
        return jobdir_exists(d)
                   ? err_set(e, ERR_USAGE, "%s: the job is still running; stop it first", d->path)
                   : 0;
    if (jobrecord_recover(d, e) < 0)
        return -1;
    if (keep_output)
        jobfiles_keep_output(d);
    return take_name(d, gone, e);
}

static int remove_job(const char *path, bool keep_output, struct err *e)
{
    AUTO_CLEAR(jobdir) struct jobdir d = {.lock_fd = -1};
    bool is_there = jobdir_open(&d, path, e) == 0;

    if (!is_there && e->kind != ERR_NOTFOUND)
        return -1;
    AUTO_MEM char *gone = gone_path(is_there ? d.path : path);
    if (!gone)
        return err_set(e, ERR_USAGE, "%s: directories of jobs are named by a number", path);
    if (is_there && empty_and_take_name(&d, keep_output, gone, e) < 0)
        return -1;
    return remove_all(gone, e);
}

static int command_remove(char **arguments, struct err *e)
{
    return remove_job(arguments[0], false, e);
}

static int command_retire(char **arguments, struct err *e)
{
    return remove_job(arguments[0], true, e);
}

static int command_stage(char **arguments, struct err *e)
{
    return jobfiles_place(arguments[0], stdin, stdout, e);
}

static int command_settle(char **arguments, struct err *e)
{
    return jobfiles_settle(arguments[0], stdin, e);
}

/* A directory that is there has all a job needs: only what was whole got the name. */
static int command_name(char **arguments, struct err *e)
{
    const char *fresh = arguments[0];

    if (rename(fresh, arguments[1]) == 0)
        return 0;
    if (errno != EEXIST && errno != ENOTEMPTY)
        return file_error(e, "rename", fresh);
    file_remove_tree(fresh);
    return 0;
}

static int command_init(char **arguments, struct err *e)
{
    return init_run(arguments[0], arguments[1], e);
}

static int command_version(char **arguments, struct err *e)
{
    (void)arguments;
    (void)e;
    return printf("tradewind-agent %s\n", TRADEWIND_VERSION) < 0 || fflush(stdout) != 0;
}

static const struct {
    const char *name;
    int n_arguments;
    int (*run)(char **arguments, struct err *e); /* the exit code; -1: e says what failed */
} commands[] = {
    {"run", 1, command_run},       {"follow", 3, command_follow},   {"stop", 3, command_stop},
    {"renew", 2, command_renew},   {"claim", 4, command_claim},     {"release", 2, command_release},
    {"remove", 1, command_remove}, {"retire", 1, command_retire},   {"stage", 1, command_stage},
    {"settle", 1, command_settle}, {"name", 2, command_name},       {"init", 2, command_init},
    {"watch", 4, command_watch},   {"version", 0, command_version},
};

int main(int argc, char **argv)
{
    struct err e = {0};

    umask(077); /* the job's files are its user's alone, unless its command says otherwise */
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(argv[1], commands[i].name) && argc == 2 + commands[i].n_arguments) {
            int code = commands[i].run(argv + 2, &e);
            return code < 0 ? fail(&e) : code;
        }
    fputs(usage, stderr);
    return 2;
}
