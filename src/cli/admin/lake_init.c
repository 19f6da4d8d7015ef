/* lake_init: where the lake keeps its content. */
#include "app/core/lake_open.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "spec/config.h"

#include <stdio.h>
#include <string.h>

/* For its owner alone, whichever of its parts is made first. */
#define HOME_MODE 0700

/* What the options say, laid over the configuration. */
struct choice {
    const char *store;
    const char *endpoint;
    const char *region;
    int path_style;
};

/* The store as the configuration will name it; a directory is taken from where the user stands. */
static char *store_text(const char *typed, struct err *e)
{
    AUTO_MEM char *text = NULL;

    if (strcmp(typed, "dir:") == 0) {
        err_set(e, ERR_USAGE, "--store dir: names no directory: dir:PATH");
        return NULL;
    }
    if (strncmp(typed, "dir:", 4) == 0) {
        AUTO_MEM char *path = lake_open_absolute(typed + 4, e);
        text = path ? mem_printf("dir:%s", path) : NULL;
    } else {
        text = mem_dup(typed);
    }
    if (!text)
        return NULL;
    if (store_check_url(text, e) < 0) {
        err_wrap(e, "--store");
        return NULL;
    }
    return TAKE(text);
}

static int check_choice(const struct command_args *args, struct err *e)
{
    static const char *const only_s3[] = {"--endpoint", "--region", "--path-style"};
    const char *store = command_value(args, "--store");
    bool is_s3 = store && strncmp(store, "s3://", 5) == 0;

    for (size_t i = 0; !is_s3 && i < sizeof only_s3 / sizeof *only_s3; i++)
        if (command_has(args, only_s3[i]))
            return err_set(e, ERR_USAGE, "%s is for a store on S3: --store s3://BUCKET/PREFIX",
                           only_s3[i]);
    return 0;
}

/* Makes sure that the store works before anything is written down. */
static int probe(const struct store_settings *settings, struct err *e)
{
    AUTO(store) struct store *s = store_open(settings, e);

    if (!s || store_probe(s, e) < 0)
        return err_wrap(e, "%s", settings->url);
    return 0;
}

static int write_choice(const struct config *c, const struct choice *choice, struct err *e)
{
    const struct {
        const char *key, *value;
    } settings[] = {
        {"endpoint", choice->endpoint},
        {"region", choice->region},
        {"path_style", choice->path_style > 0 ? "true" : NULL},
        /* Last: until it is there the lake is as it was. */
        {"store", choice->store},
    };

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (settings[i].value && config_set(c, settings[i].key, settings[i].value, e) < 0)
            return -1;
    return 0;
}

static int report(const struct command_args *args, const char *home, const char *url, struct err *e)
{
    if (command_has(args, "--json")) {
        AUTO_JSON json_t *root = json_object();
        json_object_set_new(root, "home", json_text(home));
        json_object_set_new(root, "store", json_text(url));
        return json_write(stdout, root, e);
    }
    printf("The lake is in %s, its content goes to %s.\n", home, url);
    return 0;
}

static int run_init(const struct command_args *args, struct err *e)
{
    AUTO(config) struct config *c = config_load(NULL, e);
    AUTO_MEM char *store = NULL;
    AUTO_MEM char *url = NULL;
    AUTO_MEM char *home = NULL;
    AUTO(lake) struct lake *l = NULL;
    struct store_settings settings;
    struct choice choice = {
        .endpoint = command_value(args, "--endpoint"),
        .region = command_value(args, "--region"),
        .path_style = command_has(args, "--path-style") ? 1 : -1,
    };

    if (!c || check_choice(args, e) < 0)
        return -1;
    if (command_has(args, "--store")) {
        store = store_text(command_value(args, "--store"), e);
        if (!store)
            return -1;
        choice.store = c->store = store;
        c->endpoint = choice.endpoint ? choice.endpoint : c->endpoint;
        c->region = choice.region ? choice.region : c->region;
        c->path_style = choice.path_style > 0 ? 1 : c->path_style;
    }
    home = lake_open_absolute(c->home, e);
    if (!home || lake_open_settings(c, &settings, &url, e) < 0 ||
        file_make_dirs(home, HOME_MODE, e) < 0 || probe(&settings, e) < 0 ||
        lake_use_store(home, &settings, command_has(args, "--new"), e) < 0 ||
        write_choice(c, &choice, e) < 0)
        return -1;
    l = lake_open_here(e);
    return l ? report(args, home, url, e) : -1;
}

static const struct command_option init_options[] = {
    {.name = "--store",
     .value = "dir:PATH|s3://BUCKET/PREFIX",
     .help = "Where content goes (default dir:objects, below the home)."},
    {.name = "--endpoint", .value = "URL", .help = "S3: the server, if it is not Amazon's."},
    {.name = "--region", .value = "NAME", .help = "S3: the region."},
    {.name = "--path-style",
     .help = "S3: the bucket stands in the path of requests (default with --endpoint)."},
    {.name = "--new", .help = "Begin a new lake although the store has content of another one."},
    {.name = "--json", .help = "Print an object with home and store."},
    {0},
};

const struct command command_init = {
    .name = "init",
    .summary = "Make the data lake, or choose where its content goes",
    .details =
        "Writes, reads and deletes a probe in the store, then notes the store in the "
        "configuration. Without it the first command that needs a lake makes one in "
        "$TRADEWIND_HOME. A lake that has content keeps its store. A store that has content which "
        "lake.db does not know is refused: lake.db may have been lost and is to be restored. "
        "Lakes may share a store, though: --new says that this is meant.\n\n"
        "Credentials for S3 come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the shared file "
        "~/.aws/credentials (AWS_PROFILE), or the machine's role.",
    .example = "tradewind init --store s3://team-data/lake --region eu-west-1",
    .options = init_options,
    .run = run_init,
};
