#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "catalog/import.h"
#include "cli/catalog/catalog_parts.h"
#include "cli/core/commands.h"
#include "cli/core/progress.h"
#include "net/http.h"
#include "spec/config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The largest price list known to us is 30 MB unpacked. */
#define DOWNLOAD_MAX_BYTES ((uint64_t)512 << 20)
#define DOWNLOAD_TIMEOUT_S 600
#define DOWNLOAD_ATTEMPTS 4
#define DOWNLOAD_FIRST_WAIT_S 0.5

struct update {
    const struct config *config;
    char *dir;    /* temporary, removed with the struct */
    char **paths; /* of the downloaded files, by URL */
    struct progress progress;
    const char *url; /* being downloaded */
};

static void update_clear(struct update *u)
{
    progress_clear(&u->progress);
    if (u->dir)
        file_remove_tree(u->dir);
    free(u->dir);
    for (size_t i = 0; i < u->config->n_catalog_urls; i++)
        free(u->paths[i]);
    free(u->paths);
}

static void show_download(void *context, uint64_t got_bytes, uint64_t total_bytes)
{
    struct update *u = context;

    if (total_bytes)
        progress_show(&u->progress, "%s: %.1f of %.1f MB", u->url, (double)got_bytes / 1e6,
                      (double)total_bytes / 1e6);
    else
        progress_show(&u->progress, "%s: %.1f MB", u->url, (double)got_bytes / 1e6);
}

static int make_dir(struct update *u, struct err *e)
{
    const char *tmp = getenv("TMPDIR");

    u->dir = mem_printf("%s/tradewind-update-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (mkdtemp(u->dir))
        return 0;
    file_error(e, "create directory", u->dir);
    free(u->dir);
    u->dir = NULL;
    return -1;
}

/* A part of a URL as a file name: what could mean something to a file system is replaced. */
static void put_safe(char *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)at[i]) && !strchr("-_", at[i]) && (at[i] != '.' || i == 0))
            at[i] = '_';
    }
}

/* The last two parts of the URL's path name the file, since aws/vms.csv tells the cloud by both:
 * DIR/0/aws/vms.csv. */
static char *local_path(struct update *u, size_t i, struct err *e)
{
    AUTO_MEM char *url = mem_dup(u->config->catalog_urls[i]);
    char *host = strstr(url, "://");

    url[strcspn(url, "?#")] = 0;
    host = host ? host + 3 : url;
    char *name = strrchr(host, '/');
    char *file = name && name[1] ? name + 1 : NULL, *parent = NULL;
    if (name) {
        *name = 0;
        parent = strrchr(host, '/');
        parent = parent && parent[1] ? parent + 1 : NULL;
    }
    if (file)
        put_safe(file, strlen(file));
    if (parent)
        put_safe(parent, strlen(parent));
    AUTO_MEM char *dir = mem_printf("%s/%zu/%s", u->dir, i, parent ? parent : "_");
    if (file_make_dirs(dir, 0700, e) < 0)
        return NULL;
    return mem_printf("%s/%s", dir, file ? file : "_");
}

static int download_all(struct update *u, struct err *e)
{
    const struct http_options options = {
        .max_bytes = DOWNLOAD_MAX_BYTES,
        .timeout_s = DOWNLOAD_TIMEOUT_S,
        .attempts = DOWNLOAD_ATTEMPTS,
        .first_wait_s = DOWNLOAD_FIRST_WAIT_S,
        .progress = show_download,
        .context = u,
    };
    AUTO(http) struct http *http = http_new((uint64_t)time_epoch_ms() ^ (uint64_t)getpid(), e);

    if (!http)
        return -1;
    for (size_t i = 0; i < u->config->n_catalog_urls; i++) {
        u->url = u->config->catalog_urls[i];
        u->paths[i] = local_path(u, i, e);
        if (!u->paths[i] || http_download(http, u->url, u->paths[i], &options, e) < 0)
            return -1;
    }
    progress_clear(&u->progress);
    return 0;
}

static int run_update(const struct command_args *args, struct err *e)
{
    AUTO(config) struct config *config = config_load(NULL, e);

    if (!config)
        return -1;
    size_t n = config->n_catalog_urls;
    if (!n)
        return err_set(e, ERR_USAGE, "%s has no URLs under catalog.update", config->file);
    AUTO_CLEAR(update) struct update u = {.config = config};
    u.paths = mem_zero(n, sizeof *u.paths);
    progress_init(&u.progress, stderr);
    if (make_dir(&u, e) < 0 || download_all(&u, e) < 0)
        return -1;
    AUTO_MEM struct catalog_import_path *files = mem_zero(n, sizeof *files);
    for (size_t i = 0; i < n; i++)
        files[i] = (struct catalog_import_path){u.paths[i], config->catalog_urls[i]};
    const struct catalog_import how = {.home = config->home, .format = CATALOG_FORMAT_ANY};
    return cli_catalog_import(&how, files, n, command_has(args, "--json"), e);
}

static const struct command_option update_options[] = {
    {.name = "--json", .help = "Print the report as one object."},
    {0},
};

const struct command command_catalog_update = {
    .name = "catalog update",
    .summary = "Download and import the price lists named in the configuration",
    .details =
        "Downloads every URL under catalog.update of the configuration file (https, http or "
        "file), checks them all and then imports them as `tradewind catalog import` would. If "
        "one fails, nothing changes.",
    .example = "tradewind catalog update",
    .options = update_options,
    .run = run_update,
};
