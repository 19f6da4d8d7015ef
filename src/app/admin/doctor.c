/* doctor: the operation that checks the home, its lake, credentials and the clock. */
#include "app/admin/doctor.h"
#include "app/core/lake_open.h"
#include "base/cachedir.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/client.h"
#include "broker/machine/bill.h"
#include "catalog/catalog.h"
#include "net/credentials.h"
#include "spec/config.h"
#include "store/store.h"
#include "view/text.h"

#include <assert.h>
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

void doctor_say(struct doctor *d,
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
        doctor_say(d, DOCTOR_WARNING, "disk", "", "cannot read the free space of %s", home);
        return;
    }
    uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
    bool low = left < DISK_LOW;
    doctor_say(d, low ? DOCTOR_WARNING : DOCTOR_OK, "disk",
               low ? "`tradewind gc`, or a home elsewhere (TRADEWIND_HOME)" : "", "%s free for %s",
               text_bytes(left, text), home);
}

static bool check_home(struct doctor *d, const char *home)
{
    struct err why = {0};

    if (file_make_dirs(home, 0700, &why) == 0 && access(home, R_OK | W_OK | X_OK) < 0)
        err_set(&why, ERR_IO, "%s cannot be written", home);
    if (why.kind != ERR_NONE) {
        doctor_say(d, DOCTOR_BROKEN, "home",
                   "set TRADEWIND_HOME to a directory that can be written", "%s", why.text);
        return false;
    }
    doctor_say(d, DOCTOR_OK, "home", "", "%s", home);
    check_disk(d, home);
    return true;
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
        doctor_say(d, DOCTOR_OK, "store", "", "%s stores, returns and deletes content", url);
    else
        doctor_say(d, DOCTOR_BROKEN, "store",
                   "`tradewind config show --origin` shows where it is set", "%s", why.text);
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
    doctor_say(d, DOCTOR_OK, "cache", "", "%s of at most %s in %s, which may be removed",
               text_bytes(cachedir_size(&files), now), text_bytes(most, limit), dir);
}

static void check_lake(struct doctor *d, const struct config *c)
{
    struct err why = {0};

    if (app_lake(d->app, &why))
        doctor_say(d, DOCTOR_OK, "lake", "", "%s/lake.db opens", c->home);
    else
        doctor_say(d, DOCTOR_BROKEN, "lake", "run `tradewind fsck`", "%s", why.text);
    check_store(d, c);
    check_cache(d, c);
}

static void check_broker(struct doctor *d, const char *home)
{
    struct err why = {0};
    AUTO(broker_client) struct broker_client *b = broker_client_open(home, NULL, &why);

    if (b)
        doctor_say(d, DOCTOR_OK, "broker", "", "running, version " TRADEWIND_VERSION);
    else if (why.kind == ERR_NOTFOUND)
        doctor_say(d, DOCTOR_OK, "broker", "", "not running; the next job starts it");
    else
        doctor_say(d, DOCTOR_BROKEN, "broker", "end its process; the next job starts another", "%s",
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
        doctor_say(d, DOCTOR_WARNING, "machines", "", "%s", why.text);
    else if (left.jobs)
        doctor_say(d, DOCTOR_WARNING, "machines", "`tradewind machines cleanup --yes`",
                   "hosts of jobs that are over (job %lld%s) are not released",
                   (long long)left.first, left.jobs > 1 ? " and others" : "");
    else
        doctor_say(d, DOCTOR_OK, "machines", "", "none is orphaned");
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
        doctor_say(d, DOCTOR_OK, "credentials aws", "", "found: %s", found.origin);
    else if (why.kind == ERR_DENIED)
        doctor_say(d, DOCTOR_MISSING, "credentials aws",
                   "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials",
                   "none in the environment or the shared files");
    else
        doctor_say(d, DOCTOR_WARNING, "credentials aws", "", "%s", why.text);
}

static void check_file(struct doctor *d, const char *cloud, const char *name, const char *file)
{
    const char *home = app_variable(d->app, "HOME");
    AUTO_MEM char *what = mem_printf("credentials %s", cloud);
    AUTO_MEM char *path = mem_printf("%s/%s", home ? home : "", file);

    if (app_variable(d->app, name))
        doctor_say(d, DOCTOR_OK, what, "", "found: %s in the environment", name);
    else if (home && access(path, R_OK) == 0)
        doctor_say(d, DOCTOR_OK, what, "", "found: ~/%s", file);
    else
        doctor_say(d, DOCTOR_MISSING, what, "", "neither %s nor ~/%s", name, file);
}

static void check_credentials(struct doctor *d)
{
    check_aws(d);
    check_file(d, "gcp", "GOOGLE_APPLICATION_CREDENTIALS",
               ".config/gcloud/application_default_credentials.json");
    check_file(d, "azure", "AZURE_CLIENT_ID", ".azure/azureProfile.json");
}

/* ---- all ---- */

static void check_clock(struct doctor *d)
{
    int64_t now_ms = time_epoch_ms();
    bool sane = now_ms > CLOCK_FIRST && now_ms < CLOCK_LAST;
    char text[32];

    doctor_say(d, sane ? DOCTOR_OK : DOCTOR_WARNING, "clock",
               sane ? "" : "set it: signatures of clouds and times of versions go by it", "%s",
               time_iso(now_ms, text));
}

static void check_all(struct doctor *d)
{
    struct err why = {0};
    const struct config *c = app_config(d->app, &why);

    doctor_programs(d);
    check_clock(d);
    check_credentials(d);
    if (!c) {
        doctor_say(d, DOCTOR_BROKEN, "configuration",
                   "correct the file, then `tradewind config show`", "%s", why.text);
        return;
    }
    const char *home = app_home(d->app, &why);
    doctor_say(d, DOCTOR_OK, "configuration", "", "%s", c->file);
    if (!home || !check_home(d, home))
        return;
    check_lake(d, c);
    doctor_agent(d, home);
    check_broker(d, home);
    check_machines(d, home);
    doctor_drivers(d, c);
}

/* clang-format off */
static const struct field check_fields[] = {
    {"check", FIELD(TEXT, struct doctor_check, check), .help = "What was checked."},
    {"verdict", FIELD(ENUM, struct doctor_check, verdict), .help = "The outcome.",
     .choices = doctor_verdicts, .n_choices = DOCTOR_BROKEN + 1},
    {"found", FIELD(TEXT, struct doctor_check, found), .help = "What was found."},
    {"fix", FIELD(TEXT, struct doctor_check, fix), .help = "What to do about it."},
};
static const struct record check_record = RECORD("check", struct doctor_check, check_fields);

static const struct field report_fields[] = {
    {"ok", FIELD(BOOL, struct doctor_report, ok), .help = "Whether jobs can run on this machine."},
    {"checks", FIELD(RECORDS, struct doctor_report, checks), .record = &check_record,
     .help = "All checks."},
};
/* clang-format on */
static const struct record report_record = RECORD("doctor", struct doctor_report, report_fields);

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
    .answer = &report_record,
    .run = run,
};
