/* doctor: the operation that checks the programs, home, lake, credentials, clock, agent and hosts
 * of this machine. `tradewind doctor` calls it. */
#include "app/admin/admin.h"
#include "app/core/lake_open.h"
#include "base/buf.h"
#include "base/cachedir.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/time.h"
#include "broker/core/program.h"
#include "broker/daemon/client.h"
#include "broker/machine/bill.h"
#include "catalog/catalog.h"
#include "exec/exec.h"
#include "exec/jobfile.h"
#include "exec/statefile.h"
#include "lake/clean/clean.h"
#include "net/credentials.h"
#include "net/token.h"
#include "spec/config.h"
#include "store/store.h"
#include "view/text.h"

#include <assert.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* More than the fixed checks and the hosts that are tried. */
#define CHECKS_MAX 64
/* Below this a job's files hardly fit. */
#define DISK_LOW ((uint64_t)1 << 30)
/* 2025-01-01 and 2100-01-01, in epoch ms. */
#define CLOCK_FIRST 1735689600000
#define CLOCK_LAST 4102444800000
#define SAID_MAX 4096
#define PROBE_S 10.0
#define PROBE_JOB 1
/* Each may take its time to answer. */
#define HOSTS_MAX 16

const char *const doctor_verdicts[] = {
    [DOCTOR_OK] = "ok",
    [DOCTOR_WARNING] = "warning",
    [DOCTOR_MISSING] = "missing",
    [DOCTOR_BROKEN] = "broken",
};

struct doctor {
    struct app *app;
    struct arena *arena;
    struct doctor_check checks[CHECKS_MAX];
    size_t n;
    bool broken;
};

/* Adds a check: what was checked, what was found, and the fix ("" = there is nothing to do). */
__attribute__((format(printf, 5, 6))) static void say(struct doctor *d,
                                                      enum doctor_verdict verdict,
                                                      const char *what,
                                                      const char *fix,
                                                      const char *fmt,
                                                      ...)
{
    va_list ap;

    assert(d->n < CHECKS_MAX);
    d->broken = d->broken || verdict == DOCTOR_BROKEN;
    va_start(ap, fmt);
    const char *found = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    d->checks[d->n++] = (struct doctor_check){
        .check = arena_dup(d->arena, what),
        .verdict = verdict,
        .found = found,
        .fix = arena_dup(d->arena, fix),
    };
    app_status(d->app, "checked %s", what);
}

/* ---- the home and what lies in it ---- */

static void check_disk(struct doctor *d, const char *home)
{
    struct statvfs fs;
    char text[32];

    if (statvfs(home, &fs) < 0) {
        say(d, DOCTOR_WARNING, "disk", "", "cannot read the free space of %s", home);
        return;
    }
    uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
    bool low = left < DISK_LOW;
    say(d, low ? DOCTOR_WARNING : DOCTOR_OK, "disk",
        low ? "`tradewind gc`, or a home elsewhere (TRADEWIND_HOME)" : "", "%s free for %s",
        text_bytes(left, text), home);
}

static bool check_home(struct doctor *d, const char *home)
{
    struct err why = {0};

    if (file_make_dirs(home, 0700, &why) == 0 && access(home, R_OK | W_OK | X_OK) < 0)
        err_set(&why, ERR_IO, "%s cannot be written", home);
    if (why.kind != ERR_NONE) {
        say(d, DOCTOR_BROKEN, "home", "set TRADEWIND_HOME to a directory that can be written", "%s",
            why.text);
        return false;
    }
    say(d, DOCTOR_OK, "home", "", "%s", home);
    check_disk(d, home);
    return true;
}

/* Of a large home only the first ones, in which directories come before what is in them. */
#define MODES_MOST 20000

static void check_modes(struct doctor *d)
{
    struct lake_modes modes = {.group = LAKE_MODES_ANY_GROUP, .most = MODES_MOST};
    struct lake_modes_report r;
    struct err why = {0};
    AUTO_MEM char *url = NULL;

    if (app_modes(d->app, &modes, &url, &why) < 0 || lake_modes(&modes, &r, &why) < 0)
        say(d, DOCTOR_WARNING, "modes", "", "%s", why.text);
    else if (r.wrong)
        say(d, DOCTOR_WARNING, "modes", "`tradewind fsck --fix-modes`",
            "%s%s can be read or written by others than %s", r.first,
            r.wrong > 1 ? " and others" : "", r.is_shared ? "its group" : "its owner");
    else
        say(d, DOCTOR_OK, "modes", "", "%s alone can read the home and its store",
            r.is_shared ? "the group that shares them" : "their owner");
}

static void check_store(struct doctor *d, const struct config *c)
{
    AUTO_MEM char *url = NULL;
    struct store_settings settings;
    struct err why = {0};
    struct store *s = NULL;

    if (app_store_settings(c, &settings, &url, &why) == 0)
        s = store_open(&settings, &why);
    if (s && store_probe(s, &why) == 0)
        say(d, DOCTOR_OK, "store", "", "%s stores, returns and deletes content", url);
    else
        say(d, DOCTOR_BROKEN, "store", "`tradewind config show --origin` shows where it is set",
            "%s", why.text);
    store_free(s);
}

/* Only a store that is far has one. */
static void check_cache(struct doctor *d, const struct config *c)
{
    uint64_t most;
    AUTO_MEM char *dir = app_store_cache(c, &most);
    char now[32], limit[32];

    if (!dir)
        return;
    AUTO_CLEAR(cachedir) struct cachedir files;
    cachedir_open(&files, dir, most, false, false);
    say(d, DOCTOR_OK, "cache", "", "%s of at most %s in %s, which may be removed",
        text_bytes(cachedir_size(&files), now), text_bytes(most, limit), dir);
}

static void check_lake(struct doctor *d, const struct config *c)
{
    struct err why = {0};

    if (app_lake(d->app, &why))
        say(d, DOCTOR_OK, "lake", "", "%s/lake.db opens", c->home);
    else
        say(d, DOCTOR_BROKEN, "lake", "run `tradewind fsck`", "%s", why.text);
    check_store(d, c);
    check_cache(d, c);
}

static void check_broker(struct doctor *d, const char *home)
{
    struct err why = {0};
    AUTO(broker_client) struct broker_client *b = broker_client_open(home, NULL, &why);

    if (b)
        say(d, DOCTOR_OK, "broker", "", "running, version " TRADEWIND_VERSION);
    else if (why.kind == ERR_NOTFOUND)
        say(d, DOCTOR_OK, "broker", "", "not running; the next job starts it");
    else if (why.kind == ERR_DENIED)
        say(d, DOCTOR_OK, "broker", "", "%s", why.text);
    else
        say(d, DOCTOR_BROKEN, "broker", "end its process; the next job starts another", "%s",
            why.text);
}

/* Of a lake that cannot be opened was told. */
static void check_machines(struct doctor *d, const char *home)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};
    struct err why = {0};
    struct lake *l = app_lake(d->app, &why);
    int64_t now_ms = time_epoch_ms();
    struct bills_left left;

    if (!l)
        return;
    if (open_bills_read(home, now_ms, &open, &why) < 0 ||
        bill_left_over(&open, l, now_ms, &left, &why) < 0)
        say(d, DOCTOR_WARNING, "machines", "", "%s", why.text);
    else if (left.jobs)
        say(d, DOCTOR_WARNING, "machines", "`tradewind machines cleanup --yes`",
            "hosts of jobs that are over (job %lld%s) are not released", (long long)left.first,
            left.jobs > 1 ? " and others" : "");
    else
        say(d, DOCTOR_OK, "machines", "", "none is orphaned");
}

/* ---- credentials: where they were found, never what they are ---- */

/* Machines outside of clouds would wait for a service that is not there. */
static const char *without_metadata(void *context, const char *name)
{
    return strcmp(name, "AWS_EC2_METADATA_DISABLED") == 0 ? "true" : app_variable(context, name);
}

static void check_aws(struct doctor *d)
{
    const struct credentials_sources sources = {.environment = without_metadata, .context = d->app};
    AUTO_CLEAR(credentials) struct credentials found = {0};
    struct err why = {0};

    if (credentials_find(&sources, &found, &why) == 0)
        say(d, DOCTOR_OK, "credentials aws", "", "found: %s", found.origin);
    else if (why.kind == ERR_DENIED)
        say(d, DOCTOR_MISSING, "credentials aws",
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials",
            "none in the environment or the shared files");
    else
        say(d, DOCTOR_WARNING, "credentials aws", "", "%s", why.text);
}

static const char *own_variable(void *context, const char *name)
{
    return app_variable(context, name);
}

/* A machine's own identity would have to be asked for. */
static void say_login(struct doctor *d,
                      const char *what,
                      const char *fix,
                      bool is_machine,
                      const struct token_login *l,
                      int found,
                      const struct err *why)
{
    if (found < 0)
        say(d, DOCTOR_WARNING, what, "", "%s", why->text);
    else if (is_machine)
        say(d, DOCTOR_MISSING, what, fix, "none in the environment or the tools' files");
    else
        say(d, DOCTOR_OK, what, "", "found: %s%s%s%s", l->origin, l->identity ? " (" : "",
            l->identity ? l->identity : "", l->identity ? ")" : "");
}

static void check_google(struct doctor *d)
{
    const struct credentials_sources sources = {.environment = own_variable, .context = d->app};
    AUTO_CLEAR(token_login) struct token_login l = {0};
    struct err why = {0};
    int found = token_find_google(&sources, &l, &why);

    say_login(d, "credentials gcp",
              "GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth application-default login",
              found == 0 && l.way == TOKEN_GOOGLE_MACHINE, &l, found, &why);
}

static void check_azure(struct doctor *d)
{
    static const char *const keys[] = {"AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_KEY",
                                       "AZURE_STORAGE_SAS_TOKEN"};
    const struct credentials_sources sources = {.environment = own_variable, .context = d->app};
    AUTO_CLEAR(token_login) struct token_login l = {0};
    struct err why = {0};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (app_variable(d->app, keys[i])) {
            say(d, DOCTOR_OK, "credentials azure", "", "found: %s, for storage alone", keys[i]);
            return;
        }
    int found = token_find_azure(&sources, &l, &why);
    say_login(d, "credentials azure",
              "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or az login",
              found == 0 && l.way == TOKEN_AZURE_MACHINE, &l, found, &why);
}

static void check_credentials(struct doctor *d)
{
    check_aws(d);
    check_google(d);
    check_azure(d);
}

/* ---- programs ---- */

static const struct wanted {
    const char *name, *argument;
    const char *fix;
} wanted[] = {
    {"ssh", "-V", "install openssh-client to use hosts of your own"},
    {"git", "--version", "install git so that .gitignore counts and commits are recorded"},
    {"tar", "--version", "install tar to store code from archives and to use hosts of your own"},
    {"nvidia-smi", "--help", "needed only on machines with NVIDIA GPUs, to find and watch them"},
    {"rocm-smi", "--help", "needed only on machines with AMD GPUs, to find them"},
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
        say(d, DOCTOR_OK, w->name, "", "%.*s", (int)strcspn(said, "\n"), said);
    else if (ran > 0)
        say(d, DOCTOR_WARNING, w->name, w->fix, "ends with code %d", run.status);
    else
        say(d, DOCTOR_MISSING, w->name, w->fix, "%s", ran < 0 ? why.text : "not installed");
}

static void check_programs(struct doctor *d)
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
        say(d, DOCTOR_OK, "limits", "", "%s", p->limits);
    else
        say(d, DOCTOR_WARNING, "limits",
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
        say(d, DOCTOR_BROKEN, "limits", "make the home writable", "%s", why.text);
        return;
    }
    if (run_probe(agent, root, &p, &why) < 0)
        say(d, DOCTOR_BROKEN, "limits", "see whether processes may be started here", "%s",
            why.text);
    else
        judge_limits(d, &p);
    file_remove_tree(root);
}

static void check_agent(struct doctor *d, const char *home)
{
    struct err why = {0};
    AUTO_MEM char *agent = exec_find_agent(&why);
    const char *const argv[] = {agent, "version", NULL};
    AUTO_CLEAR(buf) struct buf out;
    struct program_run run = {.argv = argv, .out = &out};

    buf_init(&out, SAID_MAX);
    if (!agent) {
        say(d, DOCTOR_BROKEN, "tradewind-agent",
            "install it beside tradewind, or set TRADEWIND_AGENT", "%s", why.text);
        return;
    }
    if (program_run(&run, &why) <= 0 || run.status != 0) {
        say(d, DOCTOR_BROKEN, "tradewind-agent", "install it anew", "%s does not run", agent);
        return;
    }
    const char *said = buf_str(&out);
    bool same = strncmp(said, "tradewind-agent " TRADEWIND_VERSION "\n",
                        strlen("tradewind-agent " TRADEWIND_VERSION "\n")) == 0;
    say(d, same ? DOCTOR_OK : DOCTOR_WARNING, "tradewind-agent",
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
        say(d, DOCTOR_OK, what, "", "reachable");
    else
        say(d, DOCTOR_WARNING, what,
            t->why.kind == ERR_USAGE ? "see hosts in the configuration" : "try `ssh` to it by hand",
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

static void check_drivers(struct doctor *d, const struct config *c)
{
    say(d, DOCTOR_OK, "driver local", "", "jobs run on this machine");
    say(d, DOCTOR_OK, "driver sim", "", "simulated machines, for runs in virtual time");
    if (c->n_hosts == 0)
        say(d, DOCTOR_MISSING, "driver pool", "name hosts of your own in the configuration",
            "no hosts are configured");
    try_hosts(d, c);
    if (c->n_hosts > HOSTS_MAX)
        say(d, DOCTOR_WARNING, "driver pool", "try the others by hand",
            "%zu hosts; only the first %d were tried", c->n_hosts, HOSTS_MAX);
}

/* ---- all ---- */

static void check_clock(struct doctor *d)
{
    int64_t now_ms = time_epoch_ms();
    bool sane = now_ms > CLOCK_FIRST && now_ms < CLOCK_LAST;
    char text[32];

    say(d, sane ? DOCTOR_OK : DOCTOR_WARNING, "clock",
        sane ? "" : "set it: cloud signatures and version times depend on it", "%s",
        time_iso(now_ms, text));
}

static void check_all(struct doctor *d)
{
    struct err why = {0};
    const struct config *c = app_config(d->app, &why);

    check_programs(d);
    check_clock(d);
    check_credentials(d);
    if (!c) {
        say(d, DOCTOR_BROKEN, "configuration", "correct the file, then `tradewind config show`",
            "%s", why.text);
        return;
    }
    const char *home = app_home(d->app, &why);
    say(d, DOCTOR_OK, "configuration", "", "%s", c->file);
    if (!home || !check_home(d, home))
        return;
    check_lake(d, c);
    check_modes(d);
    check_agent(d, home);
    check_broker(d, home);
    check_machines(d, home);
    check_drivers(d, c);
}

/* clang-format off */
static const struct field check_fields[] = {
    {"check", FIELD(TEXT, struct doctor_check, check), .help = "What was checked."},
    {"verdict", FIELD(ENUM, struct doctor_check, verdict), .help = "The outcome.",
     .choices = doctor_verdicts, .n_choices = DOCTOR_BROKEN + 1},
    {"found", FIELD(TEXT, struct doctor_check, found), .help = "What was found."},
    {"fix", FIELD(TEXT, struct doctor_check, fix), .help = "What to do about it."},
};
const struct record doctor_check_record = RECORD("check", struct doctor_check, check_fields);

static const struct field report_fields[] = {
    {"ok", FIELD(BOOL, struct doctor_report, ok), .help = "Whether jobs can run on this machine."},
    {"checks", FIELD(RECORDS, struct doctor_report, checks), .record = &doctor_check_record,
     .help = "All checks."},
};
/* clang-format on */

static int run(struct app *app, const void *request, struct answer *out, struct err *e)
{
    struct doctor d = {.app = app, .arena = out->arena};

    (void)request;
    check_all(&d);
    return answer_head(out, &(struct doctor_report){!d.broken, {d.checks, d.n}}, e);
}

const struct operation doctor_operation = {
    .name = "doctor.check",
    .summary = "Check what is installed and works here, and what is missing.",
    .role = APP_ADMIN,
    .effect = OPERATION_READS,
    .request = &record_none,
    .answer = RECORD_AT("doctor", struct doctor_report, report_fields),
    .run = run,
};
