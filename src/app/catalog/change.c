/* change: the operations that import, update, export and reset the catalog. */
#include "app/catalog/catalog.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "catalog/catalog.h"
#include "catalog/import.h"
#include "catalog/store.h"
#include "net/http.h"
#include "spec/config.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The largest price list known to us is 30 MB unpacked. */
#define DOWNLOAD_MAX_BYTES ((uint64_t)512 << 20)
#define DOWNLOAD_TIMEOUT_S 600
#define DOWNLOAD_ATTEMPTS 4
#define DOWNLOAD_FIRST_WAIT_S 0.5

/* ---- the report of an import ---- */

/* clang-format off */
static const struct field drop_fields[] = {
    {"reason", FIELD(TEXT, struct app_catalog_drop, reason), .help = "Why rows were dropped."},
    {"count", FIELD(COUNT, struct app_catalog_drop, count), .help = "Number of rows."},
};
const struct record app_catalog_drop_record =
    RECORD("drop", struct app_catalog_drop, drop_fields);

#define FILE_OF(TYPE, key, ...) {#key, FIELD(TYPE, struct app_catalog_file, key), __VA_ARGS__}
static const struct field file_fields[] = {
    FILE_OF(TEXT, file, .help = "Path or URL."),
    FILE_OF(TEXT, format, .help = "tradewind or skypilot."),
    FILE_OF(TEXT, table, .help = "offers, transfers or storage."),
    FILE_OF(TEXT, cloud, .help = "Cloud of a SkyPilot file."),
    FILE_OF(COUNT, rows_read, .help = "Rows read."),
    FILE_OF(COUNT, rows_kept, .help = "Rows kept."),
    FILE_OF(COUNT, rows_dropped, .help = "Rows dropped."),
    FILE_OF(COUNT, offers, .help = "Offers made of the rows."),
    FILE_OF(RECORDS, dropped, .record = &app_catalog_drop_record, .help = "Dropped rows by reason."),
    FILE_OF(COUNT, spot_above_on_demand,
            .help = "Rows kept although their spot price is above the on-demand price."),
};
static const struct record file_record =
    RECORD("catalog_file", struct app_catalog_file, file_fields);

#define SIZE(TYPE, key, text) {#key, FIELD(TYPE, struct app_catalog_size, key), .help = (text)}
static const struct field size_fields[] = {
    SIZE(TEXT, origin, "Source of the catalog."),
    SIZE(COUNT, offers, "Number of offers."),
    SIZE(COUNT, places, "Number of regions."),
};
static const struct record size_record =
    RECORD("catalog_size", struct app_catalog_size, size_fields);

#define IMPORTED_FIELD(TYPE, type, member, key, ...)                                               \
    {#key, FIELD(TYPE, type, member key), __VA_ARGS__}
#define IMPORTED_FIELDS(type, member)                                                              \
    IMPORTED_FIELD(COUNT, type, member, rows_read, .help = "Rows read from all files."),           \
    IMPORTED_FIELD(COUNT, type, member, rows_kept, .help = "Rows kept."),                          \
    IMPORTED_FIELD(COUNT, type, member, rows_dropped, .help = "Rows dropped."),                    \
    IMPORTED_FIELD(COUNT, type, member, offers, .help = "Offers made of the rows."),               \
    IMPORTED_FIELD(RECORDS, type, member, files, .record = &file_record, .help = "The files."),    \
    IMPORTED_FIELD(LIST, type, member, not_recognised,                                             \
                   .help = "Files of a directory that are not price lists."),                      \
    IMPORTED_FIELD(LIST, type, member, without_transfers,                                          \
                   .help = "Clouds with a region that data cannot leave: transfers.csv has no "    \
                           "row."),                                                                \
    IMPORTED_FIELD(RECORD, type, member, catalog, .record = &size_record,                          \
                   .help = "The catalog in use afterwards.")

static const struct field imported_fields[] = {
    IMPORTED_FIELDS(struct app_catalog_imported, ),
};
#define UPDATED(TYPE, key, ...) {#key, FIELD(TYPE, struct app_catalog_updated, key), __VA_ARGS__}
static const struct field updated_fields[] = {
    IMPORTED_FIELDS(struct app_catalog_updated, imported.),
    UPDATED(RECORDS, clouds, .record = &app_catalog_updated_cloud_record, .omit_none = true,
            .help = "What the price lists of clouds changed."),
    UPDATED(RECORDS, calls, .record = &app_catalog_call_record, .omit_none = true,
            .help = "Calls to the clouds."),
    UPDATED(BOOL, dry_run, .help = "Whether nothing came into use."),
};
/* clang-format on */
static const struct record imported_record =
    RECORD("catalog_imported", struct app_catalog_imported, imported_fields);
static const struct record updated_record =
    RECORD("catalog_updated", struct app_catalog_updated, updated_fields);

static int put_file(const struct answer *out,
                    const struct catalog_file_report *f,
                    struct app_catalog_imported *done,
                    struct err *e)
{
    bool skypilot = f->table == CATALOG_TABLE_SKYPILOT;
    struct app_catalog_file file = {
        .file = app_catalog_known(f->path),
        .format = skypilot ? "skypilot" : "tradewind",
        .table = skypilot ? "offers" : catalog_table_text(f->table),
        .cloud = f->cloud,
        .rows_read = f->rows_read,
        .rows_kept = f->rows_kept,
        .rows_dropped = catalog_report_dropped(f),
        .offers = f->offers,
        .spot_above_on_demand = f->spot_above_on_demand,
    };

    for (unsigned d = 0; d < CATALOG_N_DROPS; d++) {
        const struct app_catalog_drop drop = {catalog_drop_text(d), f->dropped[d]};
        if (drop.count && answer_push(out, &file.dropped, &drop, sizeof drop, e) < 0)
            return -1;
    }
    done->rows_read += file.rows_read;
    done->rows_kept += file.rows_kept;
    done->offers += file.offers;
    done->rows_dropped = done->rows_read - done->rows_kept;
    return answer_push(out, &done->files, &file, sizeof file, e);
}

static bool sends_anything(const struct catalog *c, size_t place)
{
    for (size_t to = 0; to < c->n_places; to++)
        if (to != place && catalog_move(c, place, to))
            return true;
    return c->n_places == 1;
}

/* Clouds with a region that data cannot leave, for want of rows in transfers.csv: plans keep all
 * stages that share data within the region, which is seldom what an importer has in mind. */
static struct field_list clouds_without_transfers(const struct catalog *c, struct arena *arena)
{
    const char **clouds = arena_alloc(arena, c->n_places, sizeof *clouds);
    uint32_t last = UINT32_MAX;
    size_t n = 0;

    for (size_t i = 0; clouds && i < c->n_places; i++) {
        uint32_t cloud = c->places[i].cloud;
        if (cloud == last || sends_anything(c, i))
            continue;
        last = cloud;
        clouds[n++] = catalog_text(c, cloud);
    }
    return (struct field_list){clouds, n};
}

/* answer is of both operations: an import's is the beginning of an update's. */
static int answer_report(struct answer *out,
                         const struct catalog_report *r,
                         const struct catalog *c,
                         struct err *e)
{
    const struct app_catalog_size size = {c->origin, c->n_offers, c->n_places};
    struct app_catalog_updated done = {
        .imported =
            {
                .not_recognised = {(const char *const *)r->unrecognised, r->n_unrecognised},
                .without_transfers = clouds_without_transfers(c, out->arena),
                .catalog = &size,
            },
    };

    for (size_t i = 0; i < r->n_files; i++)
        if (put_file(out, &r->files[i], &done.imported, e) < 0)
            return -1;
    return answer_head(out, &done, e);
}

static void show_file(void *context, const char *file)
{
    app_status(context, "reading %s", file);
}

/* Imports the files, dated today, and answers with the report. */
static int import(struct app *app,
                  struct catalog_import how,
                  const struct catalog_import_path *paths,
                  size_t n,
                  struct answer *out,
                  struct err *e)
{
    AUTO_CLEAR(catalog_report) struct catalog_report report = {0};
    char date[32];

    if (app_today(app, date, e) < 0)
        return -1;
    how.date = date;
    how.progress = show_file;
    how.context = app;
    if (catalog_import(&how, paths, n, &report, e) < 0)
        return -1;
    AUTO(catalog) struct catalog *c = catalog_open(how.home, e);
    return c ? answer_report(out, &report, c, e) : -1;
}

/* ---- catalog.import ---- */

struct import_request {
    struct field_list paths;
    enum catalog_format format; /* CATALOG_FORMAT_ANY = none */
    const char *cloud;
};
static const char *const formats[] = {
    [CATALOG_FORMAT_TRADEWIND] = "tradewind", [CATALOG_FORMAT_SKYPILOT] = "skypilot"};

/* clang-format off */
static const struct field import_fields[] = {
    {"paths", FIELD(LIST, struct import_request, paths), .is_local = true,
     .required = true, .operand = true,
     .least = 1, .most = HUGE_VAL, .value = "DIR|FILE", .help = "Directories and CSV files."},
    {"format", FIELD(ENUM, struct import_request, format), FIELD_CHOICES(formats),
     .help = "Format of the files (default: by their headers)."},
    {"cloud", FIELD(TEXT, struct import_request, cloud), .value = "NAME",
     .help = "Cloud of a SkyPilot file (default: aws for aws-vms.csv and aws/vms.csv)."},
};
/* clang-format on */

static int run_import(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct import_request *q = request;
    const struct config *config = app_config(app, e);
    struct catalog_import_path *paths = answer_alloc(out, q->paths.n, sizeof *paths, e);
    char option[64];

    if (q->cloud && q->format == CATALOG_FORMAT_TRADEWIND)
        return err_set(e, ERR_USAGE, "%s is for SkyPilot files: rows of our layout name theirs",
                       answer_spell(out, "cloud", option));
    if (!config || !paths)
        return -1;
    for (size_t i = 0; i < q->paths.n; i++)
        paths[i].path = q->paths.items[i];
    const struct catalog_import how = {
        .home = config->home, .format = q->format, .cloud = q->cloud};
    return import(app, how, paths, q->paths.n, out, e);
}

const struct operation catalog_import_operation = {
    .name = "catalog.import",
    .summary = "Replace prices with those of CSV files.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    REQUEST(struct import_request, import_fields),
    .answer = &imported_record,
    .run = run_import,
};

/* ---- catalog.update ---- */

struct update {
    struct app *app;
    const struct config *config;
    struct arena *arena;               /* of the texts */
    char *dir;                         /* temporary, removed with the struct; NULL = not there */
    struct catalog_import_path *files; /* of the downloads, by URL */
    const char *url;                   /* being downloaded */
};

static void update_clear(struct update *u)
{
    if (u->dir)
        file_remove_tree(u->dir);
}

static void show_download(void *context, uint64_t got_bytes, uint64_t total_bytes)
{
    struct update *u = context;

    if (total_bytes)
        app_status(u->app, "%s: %.1f of %.1f MB", u->url, (double)got_bytes / 1e6,
                   (double)total_bytes / 1e6);
    else
        app_status(u->app, "%s: %.1f MB", u->url, (double)got_bytes / 1e6);
}

static int make_dir(struct update *u, struct err *e)
{
    const char *tmp = app_variable(u->app, "TMPDIR");
    char *dir = arena_printf(u->arena, "%s/tradewind-update-XXXXXX", tmp && *tmp ? tmp : "/tmp");

    if (!dir || !mkdtemp(dir))
        return file_error(e, "create directory", dir ? dir : "of downloads");
    u->dir = dir;
    return 0;
}

/* A part of a URL as a file name: characters with a meaning to a file system are replaced. */
static void put_safe(char *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)at[i]) && !strchr("-_", at[i]) && (at[i] != '.' || i == 0))
            at[i] = '_';
    }
}

/* The last two parts of the URL's path name the file, since aws/vms.csv tells the cloud by both:
 * DIR/0/aws/vms.csv. */
static const char *local_path(struct update *u, size_t i, struct err *e)
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
    const char *path = arena_printf(u->arena, "%s/%s", dir, file ? file : "_");
    if (!path)
        err_set(e, ERR_NOFIT, "%s: the URL is too long", u->url);
    return path;
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
    if (app_is_insecure(u->app))
        http_allow_exposed(http);
    for (size_t i = 0; i < u->config->n_catalog_urls; i++) {
        u->url = u->config->catalog_urls[i];
        u->files[i] = (struct catalog_import_path){local_path(u, i, e), u->url};
        if (!u->files[i].path || app_check_cancelled(u->app, e) < 0 ||
            http_download(http, u->url, u->files[i].path, &options, e) < 0)
            return -1;
    }
    return 0;
}

struct update_request {
    struct app_catalog_from from;
    bool insecure;
};

/* clang-format off */
static const struct field update_fields[] = {
    {"from", FIELD(LIST, struct update_request, from.clouds), .value = "aws|azure|gcp",
     .help = "Cloud whose public price list to read (default: the configured addresses)."},
    {"regions", FIELD(LIST, struct update_request, from.regions), .option = "--region",
     .value = "[CLOUD:]REGION",
     .help = "Region to update (default: those of the catalog in use)."},
    {"dry_run", FIELD(BOOL, struct update_request, from.dry_run),
     .help = "Show the differences and the calls to the clouds, and change nothing."},
    {"insecure", FIELD(BOOL, struct update_request, insecure), .help = APP_INSECURE_HELP},
};
/* clang-format on */

static int check_update(const struct update_request *q, const struct answer *out, struct err *e)
{
    char option[64];

    if (q->from.regions.n)
        return err_set(e, ERR_USAGE, "%s is for price lists of clouds: name one with --from",
                       answer_spell(out, "regions", option));
    if (q->from.dry_run)
        return err_set(e, ERR_USAGE, "%s is for price lists of clouds: name one with --from",
                       answer_spell(out, "dry_run", option));
    return 0;
}

static int run_update(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct update_request *q = request;
    const struct config *config = app_config(app, e);

    if (!config)
        return -1;
    if (q->insecure)
        app_allow_insecure(app);
    if (q->from.clouds.n)
        return app_catalog_update_from(app, &q->from, out, e);
    size_t n = config->n_catalog_urls;
    if (check_update(q, out, e) < 0)
        return -1;
    if (!n)
        return err_set(e, ERR_USAGE,
                       "%s has no URLs under catalog.update; or name clouds with --from",
                       config->file);
    AUTO_CLEAR(update)
    struct update u = {
        .app = app,
        .config = config,
        .arena = out->arena,
        .files = answer_alloc(out, n, sizeof *u.files, e),
    };
    if (!u.files || make_dir(&u, e) < 0 || download_all(&u, e) < 0)
        return -1;
    const struct catalog_import how = {.home = config->home, .format = CATALOG_FORMAT_ANY};
    return import(app, how, u.files, n, out, e);
}

const struct operation catalog_update_operation = {
    .name = "catalog.update",
    .summary = "Download price lists: those of clouds, or those that the configuration names.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    REQUEST(struct update_request, update_fields),
    .answer = &updated_record,
    .run = run_update,
};

/* ---- catalog.export ---- */

struct export_request {
    const char *directory;
};

/* clang-format off */
static const struct field export_fields[] = {
    {"directory", FIELD(TEXT, struct export_request, directory), .required = true,
     .operand = true, .value = "DIR", .help = "Directory of the CSV files."},
};

#define EXPORTED(TYPE, key, text) {#key, FIELD(TYPE, struct app_catalog_exported, key), .help = text}
static const struct field exported_fields[] = {
    EXPORTED(TEXT, directory, "Directory of the CSV files."),
    EXPORTED(COUNT, offers, "Rows of offers.csv."),
    EXPORTED(COUNT, transfers, "Rows of transfers.csv."),
    EXPORTED(COUNT, storage, "Rows of storage.csv."),
};
/* clang-format on */

static int run_export(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct export_request *q = request;
    AUTO(catalog) struct catalog *c = app_catalog_open(app, e);

    if (!c || file_make_dirs(q->directory, 0777, e) < 0 ||
        catalog_write_tables(c, q->directory, 0666, e) < 0)
        return -1;
    const struct app_catalog_exported done = {q->directory, c->n_offers, c->n_tiers, c->n_storage};
    return answer_head(out, &done, e);
}

const struct operation catalog_export_operation = {
    .name = "catalog.export",
    .summary = "Write the catalog in use as CSV files.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    REQUEST(struct export_request, export_fields),
    .answer = RECORD_AT("catalog_exported", struct app_catalog_exported, exported_fields),
    .run = run_export,
};

/* ---- catalog.reset ---- */

/* clang-format off */
static const struct field reset_fields[] = {
    {"was_imported", FIELD(BOOL, struct app_catalog_reset, was_imported),
     .help = "Whether there was an imported catalog."},
    {"origin", FIELD(TEXT, struct app_catalog_reset, origin),
     .help = "Source of the catalog in use afterwards."},
};
/* clang-format on */

static int run_reset(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct config *config = app_config(app, e);
    struct app_catalog_reset done = {0};

    (void)request;
    if (!config)
        return -1;
    AUTO(catalog_store) struct catalog_store *store = catalog_store_lock(config->home, e);
    if (!store || catalog_store_reset(store, &done.was_imported, e) < 0)
        return -1;
    AUTO(catalog) struct catalog *c = catalog_open(config->home, e);
    if (!c)
        return -1;
    done.origin = c->origin;
    return answer_head(out, &done, e);
}

const struct operation catalog_reset_operation = {
    .name = "catalog.reset",
    .summary = "Remove the imported prices and use the built-in catalog.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    .request = &record_none,
    .answer = RECORD_AT("catalog_reset", struct app_catalog_reset, reset_fields),
    .run = run_reset,
};
