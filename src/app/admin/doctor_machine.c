/* doctor_machine: the checks of programs, of the agent and its limits, and of hosts; doctor.c calls
 * them. */
#include "app/admin/doctor.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/time.h"
#include "broker/core/program.h"
#include "exec/exec.h"
#include "exec/jobfile.h"
#include "exec/statefile.h"
#include "spec/config.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAID_MAX 4096
#define PROBE_S 10.0
#define PROBE_JOB 1
/* Each may take its time to answer. */
#define HOSTS_MAX 16

/* ---- programs ---- */

static const struct wanted {
    const char *name, *argument;
    const char *fix;
} wanted[] = {
    {"ssh", "-V", "install openssh-client to use hosts of your own"},
    {"git", "--version", "install git so that .gitignore counts and commits are recorded"},
    {"tar", "--version", "install tar to store code from archives and to use hosts of your own"},
    {"nvidia-smi", "--help", "only machines with NVIDIA GPUs have it: their use is then recorded"},
};

static void look_for(struct doctor *d, const struct wanted *w)
{
    const char *const argv[] = {w->name, w->argument, NULL};
    AUTO_CLEAR(buf) struct buf out;
    struct program_run run = {.argv = argv, .out = &out};
    struct err why = {0};

    buf_init(&out, SAID_MAX);
    int ran = program_run(&run, &why);
    const char *said = out.len ? buf_str(&out) : run.complaint;
    if (ran > 0 && run.status == 0)
        doctor_say(d, DOCTOR_OK, w->name, "", "%.*s", (int)strcspn(said, "\n"), said);
    else if (ran > 0)
        doctor_say(d, DOCTOR_WARNING, w->name, w->fix, "ends with code %d", run.status);
    else
        doctor_say(d, DOCTOR_MISSING, w->name, w->fix, "%s", ran < 0 ? why.text : "not installed");
}

void doctor_programs(struct doctor *d)
{
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        look_for(d, &wanted[i]);
}

/* ---- a tiny job ---- */

struct probe {
    char limits[1024];
    bool ended;
    int code;
    char line[STATE_LINE_MAX];
    size_t n;
};

static void take_line(struct probe *p)
{
    struct state_line s;

    p->line[p->n] = '\0';
    p->n = 0;
    if (state_line_parse(p->line, &s, NULL) < 0)
        return;
    if (s.kind == STATE_STARTED)
        snprintf(p->limits, sizeof p->limits, "%s", s.text);
    if (s.kind == STATE_ENDED) {
        p->ended = true;
        p->code = s.code;
    }
}

static int hear(void *context, enum frame_kind kind, const char *bytes, size_t n, struct err *e)
{
    struct probe *p = context;

    (void)e;
    for (size_t i = 0; kind == FRAME_STATE && i < n; i++) {
        if (bytes[i] == '\n')
            take_line(p);
        else if (p->n + 1 < sizeof p->line)
            p->line[p->n++] = bytes[i];
    }
    return 0;
}

static int write_job(const char *directory, struct err *e)
{
    static const char *const parts[] = {"/work", "/input", "/output", "/checkpoint"};
    static const char *const command[] = {"true"};
    const struct jobfile file = {.id = PROBE_JOB,
                                 .command = command,
                                 .n_command = 1,
                                 .cpus = 0.5,
                                 .memory_mb = 256,
                                 .time_limit_s = PROBE_S,
                                 .grace_s = 1};
    AUTO_MEM char *path = mem_printf("%s/job", directory);
    AUTO_MEM char *text = jobfile_text(&file, e);

    for (size_t i = 0; text && i < sizeof parts / sizeof parts[0]; i++) {
        AUTO_MEM char *part = mem_printf("%s%s", directory, parts[i]);
        if (file_make_dirs(part, 0700, e) < 0)
            return -1;
    }
    return text ? file_replace(path, text, strlen(text), 0600, e) : -1;
}

static int follow(struct exec_stream *s, struct probe *p, struct err *e)
{
    double until_s = time_monotonic_s() + PROBE_S;

    for (;;) {
        struct pollfd fd = {.fd = exec_stream_fd(s), .events = POLLIN};
        int left_ms = (int)((until_s - time_monotonic_s()) * 1000);
        if (left_ms <= 0 || poll(&fd, 1, left_ms) == 0)
            return err_set(e, ERR_RETRY, "a job that does nothing was not over in %.0f s", PROBE_S);
        enum exec_more more = exec_read(s, hear, p, e);
        if (more == EXEC_OVER)
            return 0;
        if (more != EXEC_MORE)
            return -1;
    }
}

static int run_probe(const char *agent, const char *root, struct probe *p, struct err *e)
{
    AUTO_MEM char *directory = mem_printf("%s/%d", root, PROBE_JOB);
    const struct exec_host host = {.driver = "local", .root = root, .agent = agent};

    if (write_job(directory, e) < 0)
        return -1;
    AUTO(exec_stream) struct exec_stream *s = exec_start(&host, PROBE_JOB, e);
    if (!s || follow(s, p, e) < 0)
        return -1;
    if (!p->ended || p->code != 0)
        return err_set(e, ERR_IO, "a job that does nothing ended with code %d", p->code);
    return 0;
}

/* Where the kernel's groups cannot be had, the agent says why. */
static void judge_limits(struct doctor *d, const struct probe *p)
{
    if (p->limits[0] && !strstr(p->limits, "because"))
        doctor_say(d, DOCTOR_OK, "limits", "", "%s", p->limits);
    else
        doctor_say(d, DOCTOR_WARNING, "limits",
                   "run where a cgroup is writable: as root, or below `systemd-run --user --scope "
                   "-p Delegate=yes`",
                   "%s", p->limits[0] ? p->limits : "the agent reports none");
}

static void try_limits(struct doctor *d, const char *agent, const char *home)
{
    AUTO_MEM char *root = mem_printf("%s/doctor-XXXXXX", home);
    struct probe p = {0};
    struct err why = {0};

    if (!mkdtemp(root)) {
        file_error(&why, "create a directory below", home);
        doctor_say(d, DOCTOR_BROKEN, "limits", "make the home writable", "%s", why.text);
        return;
    }
    if (run_probe(agent, root, &p, &why) < 0)
        doctor_say(d, DOCTOR_BROKEN, "limits", "see whether processes may be started here", "%s",
                   why.text);
    else
        judge_limits(d, &p);
    file_remove_tree(root);
}

void doctor_agent(struct doctor *d, const char *home)
{
    struct err why = {0};
    AUTO_MEM char *agent = exec_find_agent(&why);
    const char *const argv[] = {agent, "version", NULL};
    AUTO_CLEAR(buf) struct buf out;
    struct program_run run = {.argv = argv, .out = &out};

    buf_init(&out, SAID_MAX);
    if (!agent) {
        doctor_say(d, DOCTOR_BROKEN, "tradewind-agent",
                   "install it beside tradewind, or set TRADEWIND_AGENT", "%s", why.text);
        return;
    }
    if (program_run(&run, &why) <= 0 || run.status != 0) {
        doctor_say(d, DOCTOR_BROKEN, "tradewind-agent", "install it anew", "%s does not run",
                   agent);
        return;
    }
    const char *said = buf_str(&out);
    bool same = strncmp(said, "tradewind-agent " TRADEWIND_VERSION "\n",
                        strlen("tradewind-agent " TRADEWIND_VERSION "\n")) == 0;
    doctor_say(d, same ? DOCTOR_OK : DOCTOR_WARNING, "tradewind-agent",
               same ? "" : "install the one that belongs to this tradewind", "%.*s at %s",
               (int)strcspn(said, "\n"), said, agent);
    try_limits(d, agent, home);
}

/* ---- ways to machines ---- */

/* One host, and what came of trying it. */
struct host_try {
    const struct config_host *host;
    bool answers;
    struct err why;
};

static int try_host(void *context, size_t i, struct err *e)
{
    struct host_try *t = &((struct host_try *)context)[i];
    const struct exec_host host = {.driver = "ssh", .address = t->host->host};

    (void)e; /* a host that does not answer is a finding, and the others are still tried */
    t->answers = exec_answers(&host, &t->why) == 0;
    return 0;
}

static void say_host(struct doctor *d, const struct host_try *t)
{
    AUTO_MEM char *what = mem_printf("host %s/%s", t->host->pool, t->host->host);

    if (t->answers)
        doctor_say(d, DOCTOR_OK, what, "", "reachable");
    else
        doctor_say(d, DOCTOR_WARNING, what,
                   t->why.kind == ERR_USAGE ? "see hosts in the configuration"
                                            : "try `ssh` to it by hand",
                   "%s", t->why.text);
}

/* At once: each that is dead would be waited for. */
static void try_hosts(struct doctor *d, const struct config *c)
{
    static struct host_try tries[HOSTS_MAX];
    struct err ignored;
    size_t n = 0;

    for (; n < c->n_hosts && n < HOSTS_MAX; n++)
        tries[n] = (struct host_try){.host = &c->hosts[n]};
    (void)parallel_each(n, HOSTS_MAX, try_host, tries, &ignored);
    for (size_t i = 0; i < n; i++)
        say_host(d, &tries[i]);
}

void doctor_drivers(struct doctor *d, const struct config *c)
{
    doctor_say(d, DOCTOR_OK, "driver local", "", "jobs run on this machine");
    doctor_say(d, DOCTOR_OK, "driver sim", "", "simulated machines, for runs in virtual time");
    if (c->n_hosts == 0)
        doctor_say(d, DOCTOR_MISSING, "driver pool", "name hosts of your own in the configuration",
                   "no hosts are configured");
    try_hosts(d, c);
    if (c->n_hosts > HOSTS_MAX)
        doctor_say(d, DOCTOR_WARNING, "driver pool", "try the others by hand",
                   "%zu hosts; only the first %d were tried", c->n_hosts, HOSTS_MAX);
}
