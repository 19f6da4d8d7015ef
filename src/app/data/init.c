/* init: the operation that creates the lake, or chooses the store of its content. `tradewind init`
 * calls it. */
#include "app/core/lake_open.h"
#include "app/data/data.h"
#include "base/file.h"
#include "base/mem.h"
#include "lake/clean/clean.h"
#include "spec/config.h"

#include <grp.h>
#include <string.h>
#include <unistd.h>

/* As Linux has it. */
#define GROUPS_MAX 65536

struct init_request {
    const char *store, *endpoint, *region;
    bool path_style, insecure, is_new;
    const char *shared;
};

/* clang-format off */
static const struct field request_fields[] = {
    {"store", FIELD(TEXT, struct init_request, store), .value = "dir:PATH|s3://BUCKET/PREFIX|...",
     .help = "Where content goes (default dir:objects, below the home)."},
    {"endpoint", FIELD(TEXT, struct init_request, endpoint), .value = "URL",
     .help = "S3: the server, if it is not Amazon's."},
    {"region", FIELD(TEXT, struct init_request, region), .value = "NAME", .help = "S3: the region."},
    {"path_style", FIELD(BOOL, struct init_request, path_style),
     .help = "S3: put the bucket into the path of requests (default with --endpoint)."},
    {"insecure", FIELD(BOOL, struct init_request, insecure),
     .help = "S3: the server may be reached over http://, on a trusted network."},
    {"shared", FIELD(TEXT, struct init_request, shared), .value = "GROUP",
     .help = "Let this group of users work on the lake; else it is its owner's alone."},
    {"new", FIELD(BOOL, struct init_request, is_new),
     .help = "Begin a new lake although the store has content of another one."},
};

static const struct field init_fields[] = {
    {"home", FIELD(TEXT, struct data_init, home), .help = "Directory of the lake's database."},
    {"store", FIELD(TEXT, struct data_init, store), .help = "Store of the lake's content."},
};
/* clang-format on */

/* The store as the configuration will name it; a relative directory is taken from the current
 * directory of the process. */
static char *store_text(const char *typed, const char *field, struct err *e)
{
    AUTO_MEM char *text = NULL;

    if (strcmp(typed, "dir:") == 0) {
        err_set(e, ERR_USAGE, "%s dir: lacks a directory; give dir:PATH", field);
        return NULL;
    }
    if (strncmp(typed, "dir:", 4) == 0) {
        AUTO_MEM char *path = app_absolute_path(typed + 4, e);
        text = path ? mem_printf("dir:%s", path) : NULL;
    } else {
        text = mem_dup(typed);
    }
    if (!text)
        return NULL;
    if (store_check_url(text, e) < 0) {
        err_wrap(e, "%s", field);
        return NULL;
    }
    return TAKE(text);
}

static int check_request(const struct init_request *q, const struct answer *out, struct err *e)
{
    const char *only_bucket = q->endpoint     ? "endpoint"
                              : q->region     ? "region"
                              : q->path_style ? "path_style"
                              : q->insecure   ? "insecure"
                                              : NULL;
    char name[64], store[64];

    if (!only_bucket || (q->store && config_is_bucket(q->store)))
        return 0;
    return err_set(e, ERR_USAGE, "%s is for a store in a bucket: %s s3://BUCKET/PREFIX",
                   answer_spell(out, only_bucket, name), answer_spell(out, "store", store));
}

/* Makes sure that the store works before anything is written down. */
static int probe(const struct store_settings *settings, struct err *e)
{
    AUTO(store) struct store *s = store_open(settings, e);

    if (!s || store_probe(s, e) < 0)
        return err_wrap(e, "%s", settings->url);
    return 0;
}

static int write_choice(const struct config *c,
                        const struct init_request *q,
                        const char *store,
                        struct err *e)
{
    const struct {
        const char *key, *value;
    } settings[] = {
        {"endpoint", q->endpoint},
        {"region", q->region},
        {"path_style", q->path_style ? "true" : NULL},
        {"insecure", q->insecure ? "true" : NULL},
        /* Last: until it is there the lake is as it was. */
        {"store", store},
    };

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (settings[i].value && config_set(c, settings[i].key, settings[i].value, e) < 0)
            return -1;
    return 0;
}

/* Lays the request over the configuration. */
static int choose(struct config *c,
                  const struct init_request *q,
                  const struct answer *out,
                  char **store_out,
                  struct err *e)
{
    char name[64];

    if (!q->store)
        return 0;
    *store_out = store_text(q->store, answer_spell(out, "store", name), e);
    if (!*store_out)
        return -1;
    c->store = *store_out;
    c->endpoint = q->endpoint ? q->endpoint : c->endpoint;
    c->region = q->region ? q->region : c->region;
    c->path_style = q->path_style ? 1 : c->path_style;
    c->insecure = q->insecure || c->insecure;
    return 0;
}

/* The group's number; only its members, and root, can give files to it. */
static int find_group(const char *name, const struct answer *out, gid_t *group_out, struct err *e)
{
    AUTO_MEM gid_t *mine = mem_zero(GROUPS_MAX, sizeof *mine);
    char option[64];
    const struct group *group = getgrnam(name);
    int n = getgroups(GROUPS_MAX, mine);

    if (!group)
        return err_set(e, ERR_USAGE, "%s: there is no group \"%.60s\"; see `getent group`",
                       answer_spell(out, "shared", option), name);
    *group_out = group->gr_gid;
    for (int i = 0; i < n; i++)
        if (mine[i] == group->gr_gid)
            return 0;
    return geteuid() == 0 || getegid() == group->gr_gid
               ? 0
               : err_set(e, ERR_DENIED, "%s: you are not a member of the group \"%.60s\"",
                         answer_spell(out, "shared", option), name);
}

/* Gives home and store to the group; what is made there later follows. */
static int share(struct app *app, gid_t group, struct err *e)
{
    struct lake_modes_report report;
    struct lake_modes modes = {.fix = true, .share = true, .group = group};
    AUTO_MEM char *url = NULL;

    if (app_modes(app, &modes, &url, e) < 0 || lake_modes(&modes, &report, e) < 0)
        return -1;
    return report.failed ? err_set(e, ERR_DENIED, "share the lake: %s", report.first_failed) : 0;
}

static int run_init(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct init_request *q = request;
    AUTO(config) struct config *c = NULL;
    AUTO(config) struct config *written = NULL;
    AUTO_MEM char *store = NULL;
    AUTO_MEM char *url = NULL;
    AUTO(lake) struct lake *l = NULL;
    struct store_settings settings;
    gid_t group = LAKE_MODES_ANY_GROUP;

    if (check_request(q, out, e) < 0 || (q->shared && find_group(q->shared, out, &group, e) < 0))
        return -1;
    const char *home = app_home(app, e);
    c = home ? config_load(home, e) : NULL;
    if (!c || choose(c, q, out, &store, e) < 0 || app_store_settings(c, &settings, &url, e) < 0 ||
        file_make_own_dirs(home, e) < 0 || probe(&settings, e) < 0 ||
        lake_use_store(home, &settings, q->is_new, e) < 0 || write_choice(c, q, store, e) < 0)
        return -1;
    written = config_load(home, e);
    l = written ? app_lake_as(written, NULL, app_user(app), true, e) : NULL;
    if (l && q->shared && share(app, group, e) < 0)
        return -1;
    return l ? answer_head(out, &(struct data_init){home, url}, e) : -1;
}

const struct operation lake_init_operation = {
    .name = "lake.init",
    .summary = "Create the lake, or choose the store of its content.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    REQUEST(struct init_request, request_fields),
    .answer = RECORD_AT("lake", struct data_init, init_fields),
    .run = run_init,
};
