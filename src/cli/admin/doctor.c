#include "base/buf.h"
#include "base/cachedir.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/daemon/client.h"
#include "broker/machine/bill.h"
#include "catalog/catalog.h"
#include "cli/admin/cloud_keys.h"
#include "cli/admin/doctor_parts.h"
#include "cli/core/commands.h"
#include "app/core/lake_open.h"
#include "net/credentials.h"
#include "spec/config.h"
#include "store/store.h"
#include "view/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2000
#define VERDICT_COLUMNS 9
/* Below this a job's files hardly fit. */
#define DISK_LOW ((uint64_t)1 << 30)
/* 2025-01-01 and 2100-01-01, in epoch ms. */
#define CLOCK_FIRST 1735689600000
#define CLOCK_LAST 4102444800000

static const char *const verdicts[] = {
    [DOCTOR_OK] = "ok",
    [DOCTOR_WARNING] = "warning",
    [DOCTOR_MISSING] = "missing",
    [DOCTOR_BROKEN] = "broken",
};

struct doctor {
    json_t *list; /* NULL: for people */
    struct text_look look;
    bool broken;
};

/* The verdict stands in the margin of the paragraph. */
static void print_line(const struct doctor *d, const char *verdict, const char *text)
{
    char *lines = NULL;
    size_t n = 0;
    FILE *room = open_memstream(&lines, &n);

    if (!room)
        return;
    text_paragraph(room, text, VERDICT_COLUMNS, &d->look);
    fclose(room);
    if (n > VERDICT_COLUMNS)
        printf("%-*s%s", VERDICT_COLUMNS, verdict, lines + VERDICT_COLUMNS);
    fflush(stdout);
    free(lines);
}

void doctor_say(struct doctor *d,
                enum doctor_verdict verdict,
                const char *what,
                const char *way_out,
                const char *fmt,
                ...)
{
    va_list ap;
    char found[LINE_MAX_BYTES];

    d->broken = d->broken || verdict == DOCTOR_BROKEN;
    va_start(ap, fmt);
    vsnprintf(found, sizeof found, fmt, ap);
    va_end(ap);
    if (d->list) {
        json_t *item = json_pack("{s:o, s:s, s:o, s:s}", "check", json_text(what), "verdict",
                                 verdicts[verdict], "found", json_text(found), "way_out", way_out);
        json_array_append_new(d->list, item);
        return;
    }
    AUTO_CLEAR(buf) struct buf text;
    buf_init(&text, (size_t)2 * LINE_MAX_BYTES);
    buf_printf(&text, "%*s%s: %s%s%s", VERDICT_COLUMNS, "", what, found, *way_out ? "; " : "",
               way_out);
    print_line(d, verdicts[verdict], buf_str(&text));
}

/* ---- the home and what lies in it ---- */

static void look_at_disk(struct doctor *d, const char *home)
{
    struct statvfs fs;
    char text[32];

    if (statvfs(home, &fs) < 0) {
        doctor_say(d, DOCTOR_WARNING, "disk", "", "how much room %s has cannot be told", home);
        return;
    }
    uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
    bool low = left < DISK_LOW;
    doctor_say(d, low ? DOCTOR_WARNING : DOCTOR_OK, "disk",
               low ? "`tradewind gc`, or a home elsewhere (TRADEWIND_HOME)" : "", "%s free for %s",
               text_bytes(left, text), home);
}

static bool look_at_home(struct doctor *d, const char *home)
{
    struct err why = {0};

    if (file_make_dirs(home, 0700, &why) < 0) {
        doctor_say(d, DOCTOR_BROKEN, "home",
                   "set TRADEWIND_HOME to a directory that can be written", "%s", why.text);
        return false;
    }
    if (access(home, R_OK | W_OK | X_OK) < 0) {
        doctor_say(d, DOCTOR_BROKEN, "home",
                   "set TRADEWIND_HOME to a directory that can be written", "%s cannot be written",
                   home);
        return false;
    }
    doctor_say(d, DOCTOR_OK, "home", "", "%s", home);
    look_at_disk(d, home);
    return true;
}

static void look_at_store(struct doctor *d, const struct config *c)
{
    AUTO_MEM char *url = NULL;
    struct store_settings settings;
    struct err why = {0};
    struct store *s = NULL;

    if (lake_open_settings(c, &settings, &url, &why) == 0)
        s = store_open(&settings, &why);
    if (s && store_probe(s, &why) == 0)
        doctor_say(d, DOCTOR_OK, "store", "", "%s takes, gives and deletes content", url);
    else
        doctor_say(d, DOCTOR_BROKEN, "store", "`tradewind config show` tells where it is said",
                   "%s", why.text);
    store_free(s);
}

/* Only a store that is far has one. */
static void look_at_cache(struct doctor *d, const struct config *c)
{
    uint64_t most;
    AUTO_MEM char *dir = lake_open_cache(c, &most);
    char now[32], limit[32];

    if (!dir)
        return;
    AUTO_CLEAR(cachedir) struct cachedir files;
    cachedir_open(&files, dir, most, false, false);
    doctor_say(d, DOCTOR_OK, "cache", "", "%s of at most %s in %s, which may be removed",
               text_bytes(cachedir_size(&files), now), text_bytes(most, limit), dir);
}

static void look_at_lake(struct doctor *d, const struct config *c)
{
    struct err why = {0};
    AUTO(lake) struct lake *l = lake_open_here(&why);

    if (l)
        doctor_say(d, DOCTOR_OK, "lake", "", "%s/lake.db opens", c->home);
    else
        doctor_say(d, DOCTOR_BROKEN, "lake", "`tradewind fsck` looks closer", "%s", why.text);
    look_at_store(d, c);
    look_at_cache(d, c);
}

static void look_at_broker(struct doctor *d, const char *home)
{
    struct err why = {0};
    AUTO(broker_client) struct broker_client *b = broker_client_open(home, false, &why);

    if (b)
        doctor_say(d, DOCTOR_OK, "broker", "", "runs, version " TRADEWIND_VERSION);
    else if (why.kind == ERR_NOTFOUND)
        doctor_say(d, DOCTOR_OK, "broker", "", "does not run; the next job starts it");
    else
        doctor_say(d, DOCTOR_BROKEN, "broker", "end its process, and the next job starts another",
                   "%s", why.text);
}

/* Of a lake that cannot be opened was told. */
static void look_at_machines(struct doctor *d, const char *home)
{
    AUTO_CLEAR(open_bills) struct open_bills open = {0};
    struct err why = {0};
    AUTO(lake) struct lake *l = lake_open_here(&why);
    int64_t now_ms = time_epoch_ms();
    struct bills_left left;

    if (!l)
        return;
    if (open_bills_read(home, now_ms, &open, &why) < 0 ||
        bill_left_over(&open, l, now_ms, &left, &why) < 0)
        doctor_say(d, DOCTOR_WARNING, "machines", "", "%s", why.text);
    else if (left.jobs)
        doctor_say(d, DOCTOR_WARNING, "machines", "`tradewind machines sweep --yes`",
                   "hosts of jobs that are over (job %lld%s) are not given back",
                   (long long)left.first, left.jobs > 1 ? " and others" : "");
    else
        doctor_say(d, DOCTOR_OK, "machines", "", "none is left over");
}

/* ---- credentials: where they were found, never what they are ---- */

/* Machines outside of clouds would wait for a service that is not there. */
static const char *without_metadata(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "AWS_EC2_METADATA_DISABLED") == 0 ? "true" : getenv(name);
}

static void look_for_aws(struct doctor *d)
{
    const struct credentials_sources sources = {.environment = without_metadata};
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

static void look_for_file(struct doctor *d, const struct cloud_keys *k)
{
    AUTO_MEM char *what = mem_printf("credentials %s", k->cloud);
    AUTO_MEM char *found = cloud_keys_find(k);

    if (found)
        doctor_say(d, DOCTOR_OK, what, "", "found: %s", found);
    else
        doctor_say(d, DOCTOR_MISSING, what, "", "neither %s nor ~/%s", k->variable, k->path);
}

static void look_for_credentials(struct doctor *d)
{
    look_for_aws(d);
    /* Of aws there are more ways to have some. */
    for (const struct cloud_keys *k = cloud_keys + 1; k->cloud; k++)
        look_for_file(d, k);
}

/* ---- all ---- */

static void look_at_clock(struct doctor *d)
{
    int64_t now_ms = time_epoch_ms();
    bool sane = now_ms > CLOCK_FIRST && now_ms < CLOCK_LAST;
    char text[32];

    doctor_say(d, sane ? DOCTOR_OK : DOCTOR_WARNING, "clock",
               sane ? "" : "set it: signatures of clouds and times of versions go by it", "%s",
               time_iso(now_ms, text));
}

static void look_at_all(struct doctor *d)
{
    struct err why = {0};
    AUTO(config) struct config *c = config_load(NULL, &why);

    doctor_programs(d);
    look_at_clock(d);
    look_for_credentials(d);
    if (!c) {
        doctor_say(d, DOCTOR_BROKEN, "configuration", "`tradewind config show` after it is mended",
                   "%s", why.text);
        return;
    }
    AUTO_MEM char *home = lake_open_absolute(c->home, &why);
    doctor_say(d, DOCTOR_OK, "configuration", "", "%s", c->file);
    if (!home || !look_at_home(d, home))
        return;
    look_at_lake(d, c);
    doctor_agent(d, home);
    look_at_broker(d, home);
    look_at_machines(d, home);
    doctor_drivers(d, c);
}

static int run(const struct command_args *args, struct err *e)
{
    bool json = command_has(args, "--json");
    struct doctor d = {.list = json ? json_array() : NULL, .look = text_look_for(stdout)};
    AUTO_JSON json_t *root = NULL;

    look_at_all(&d);
    if (!json)
        return d.broken;
    root = json_pack("{s:b, s:o}", "ok", (int)!d.broken, "checks", d.list);
    return json_write(stdout, root, e) < 0 ? -1 : d.broken;
}

static const struct command_option options[] = {
    {.name = "--json",
     .help = "Print ok and checks: an array of check, verdict, found and way_out."},
    {0},
};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "Look what is installed and works here, and what is missing",
    .details =
        "One line each: ok, warning, missing (nothing on this machine needs it) or broken, and the "
        "way out. Runs a job that does nothing, to see which limits hold; asks the hosts of the "
        "configuration, five seconds each; tells where credentials were found, never what they "
        "are. The exit code is 1 when something is broken without which no job can run here.",
    .example = "tradewind doctor",
    .options = options,
    .run = run,
};
