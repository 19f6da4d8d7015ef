#include "catalog/import.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "catalog/internal.h"
#include "catalog/limits.h"
#include "catalog/read.h"
#include "catalog/rows.h"
#include "catalog/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX 10000
#define DEPTH_MAX 1 /* SkyPilot keeps aws/vms.csv, gcp/vms.csv, ... */

struct import {
    const struct catalog_import *how;
    struct catalog_report *report;
    struct catalog_rows *rows;
    bool transfers, storage; /* a file brought that table */
};

static bool is_known_cloud(const char *name, size_t len)
{
    AUTO(catalog) struct catalog *c = catalog_open_builtin(NULL);

    for (size_t i = 0; c && i < c->n_places; i++) {
        const char *cloud = catalog_text(c, c->places[i].cloud);
        if (strncmp(cloud, name, len) == 0 && !cloud[len])
            return true;
    }
    return false;
}

/* "aws" of aws-vms.csv.gz, aws/vms.csv and, since that is a cloud we know, aws.csv; NULL when the
 * path does not tell. */
static char *cloud_of_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dash = strstr(name, "-vms.csv");
    size_t stem = strcspn(name, ".");

    if (dash && dash > name)
        return strndup(name, (size_t)(dash - name));
    if (is_known_cloud(name, stem))
        return strndup(name, stem);
    if (!slash || strncmp(name, "vms.csv", 7) != 0)
        return NULL;
    const char *parent = slash;
    while (parent > path && parent[-1] != '/')
        parent--;
    return parent < slash && *parent != '.' ? strndup(parent, (size_t)(slash - parent)) : NULL;
}

static int read_skypilot(struct import *im,
                         struct csv *csv,
                         const char *path,
                         struct catalog_file_report *f,
                         struct err *e)
{
    f->cloud = im->how->cloud ? mem_dup(im->how->cloud) : cloud_of_path(path);
    if (!f->cloud)
        return err_set(e, ERR_USAGE, "%s: the name does not tell the cloud; say --cloud NAME",
                       f->path);
    if (!*f->cloud || !catalog_name_good(&(struct csv_field){f->cloud, strlen(f->cloud)}))
        return err_set(e, ERR_USAGE, "%s: not a name of a cloud", f->path);
    return catalog_read_skypilot(csv, f->cloud, im->rows, f, e);
}

static int read_file(struct import *im,
                     const struct catalog_import_path *from,
                     enum catalog_table table,
                     struct err *e)
{
    const char *name = from->name ? from->name : from->path;
    bool skypilot = table == CATALOG_TABLE_SKYPILOT;

    if (im->how->progress)
        im->how->progress(im->how->context, name);
    struct catalog_file_report *f = catalog_report_add(im->report, name, table);
    AUTO(csv) struct csv *csv = csv_open(from->path, LIMIT_FILE_BYTES, e);
    if (!csv)
        return -1;
    csv_rename(csv, name);
    if ((skypilot ? read_skypilot(im, csv, from->path, f, e)
                  : catalog_read_tradewind(csv, table, im->rows, f, NULL, e)) < 0)
        return -1;
    if ((skypilot || table == CATALOG_TABLE_OFFERS) && !f->rows_kept &&
        !f->dropped[CATALOG_DROP_DUPLICATE])
        return err_set(e, ERR_USAGE, "%s: no offer has a price (%zu rows read)", name,
                       f->rows_read);
    im->transfers |= table == CATALOG_TABLE_TRANSFERS;
    im->storage |= table == CATALOG_TABLE_STORAGE;
    return 0;
}

static bool format_allows(enum catalog_format format, enum catalog_table table)
{
    if (format == CATALOG_FORMAT_ANY)
        return table != CATALOG_TABLE_UNKNOWN;
    return (table == CATALOG_TABLE_SKYPILOT) == (format == CATALOG_FORMAT_SKYPILOT) &&
           table != CATALOG_TABLE_UNKNOWN;
}

static int add_file(struct import *im, const struct catalog_import_path *from, struct err *e)
{
    enum catalog_table table = CATALOG_TABLE_SKYPILOT;

    /* With --format, an error names the missing column. */
    if (im->how->format != CATALOG_FORMAT_SKYPILOT && catalog_read_table(from->path, &table, e) < 0)
        return -1;
    if (!format_allows(im->how->format, table))
        return err_set(e, ERR_USAGE,
                       "%s: its header is not that of offers.csv, transfers.csv or storage.csv%s",
                       from->name ? from->name : from->path,
                       im->how->format == CATALOG_FORMAT_ANY ? ", nor of a SkyPilot vms.csv" : "");
    return read_file(im, from, table, e);
}

static bool is_csv(const char *name)
{
    size_t len = strlen(name);

    return (len > 4 && strcmp(name + len - 4, ".csv") == 0) ||
           (len > 7 && strcmp(name + len - 7, ".csv.gz") == 0);
}

static void add_unrecognised(struct catalog_report *r, const char *path)
{
    r->unrecognised =
        mem_room(r->unrecognised, r->n_unrecognised, &r->cap_unrecognised, sizeof(char *));
    r->unrecognised[r->n_unrecognised++] = mem_dup(path);
}

static int add_file_of_dir(void *context, const char *path, struct err *e)
{
    struct import *im = context;
    enum catalog_table table;

    if (!is_csv(path))
        return 0;
    if (im->report->n_files + im->report->n_unrecognised >= FILES_MAX)
        return err_set(e, ERR_USAGE, "%s: more than %d files", path, FILES_MAX);
    if (catalog_read_table(path, &table, e) < 0)
        return -1;
    if (format_allows(im->how->format, table))
        return read_file(im, &(struct catalog_import_path){path, NULL}, table, e);
    add_unrecognised(im->report, path);
    return 0;
}

static int add_path(struct import *im, const struct catalog_import_path *from, struct err *e)
{
    const char *path = from->path;
    size_t before = im->report->n_files;
    struct stat st;

    if (stat(path, &st) < 0)
        return err_set(e, ERR_USAGE, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return add_file(im, from, e);
    if (file_walk(path, DEPTH_MAX, add_file_of_dir, im, e) < 0)
        return -1;
    if (im->report->n_files == before)
        return err_set(e, ERR_USAGE,
                       "%s: no offers.csv, transfers.csv, storage.csv or SkyPilot *-vms.csv in "
                       "this directory",
                       path);
    return 0;
}

/* What stays as it is comes from the catalog in use; if that cannot be read, importing is one of
 * the two ways out, and the built-in one has to do. */
static struct catalog *open_old(const char *home, struct err *e)
{
    struct err why = {0};
    struct catalog *old = catalog_open(home, &why);

    if (old)
        return old;
    log_warn("catalog", "%s; clouds that are not imported now come from the built-in catalog",
             why.text);
    return catalog_open_builtin(e);
}

/* The rows and what the old catalog has besides as a catalog. */
static struct catalog *build(struct catalog_rows *rows,
                             const struct catalog *old,
                             const char *date,
                             bool old_transfers,
                             bool old_storage,
                             struct err *e)
{
    void *bytes;
    size_t len;

    rows->origin = catalog_rows_intern(rows, "imported");
    rows->date = catalog_rows_intern(rows, date);
    if (catalog_rows_copy(rows, old, old_transfers, old_storage, e) < 0 ||
        catalog_build(rows, "import", &bytes, &len, e) < 0)
        return NULL;
    return catalog_open_owned("the new catalog", bytes, len, e);
}

static int put_in_use(struct import *im, struct err *e)
{
    AUTO(catalog_store) struct catalog_store *store = catalog_store_lock(im->how->home, e);
    AUTO(catalog) struct catalog *old = store ? open_old(im->how->home, e) : NULL;

    if (!old)
        return -1;
    catalog_rows_name_sources(im->rows, "imported", im->how->date);
    AUTO(catalog)
    struct catalog *built = build(im->rows, old, im->how->date, !im->transfers, !im->storage, e);
    return built ? catalog_store_put(store, built, e) : -1;
}

struct catalog *catalog_update(const struct catalog_update *how, struct err *e)
{
    AUTO(catalog_store)
    struct catalog_store *store = how->dry_run ? NULL : catalog_store_lock(how->home, e);
    AUTO(catalog_rows) struct catalog_rows *rows = catalog_rows_new();
    AUTO(catalog) struct catalog *old = store || how->dry_run ? open_old(how->home, e) : NULL;

    if (!old || how->fill(how->context, old, rows, e) < 0)
        return NULL;
    AUTO(catalog) struct catalog *built = build(rows, old, how->date, true, true, e);
    if (!built || (store && catalog_store_put(store, built, e) < 0))
        return NULL;
    return TAKE(built);
}

int catalog_import(const struct catalog_import *how,
                   const struct catalog_import_path *paths,
                   size_t n_paths,
                   struct catalog_report *report,
                   struct err *e)
{
    AUTO(catalog_rows) struct catalog_rows *rows = catalog_rows_new();
    struct import im = {.how = how, .report = report, .rows = rows};

    for (size_t i = 0; i < n_paths; i++) {
        if (add_path(&im, &paths[i], e) < 0)
            return -1;
    }
    return put_in_use(&im, e);
}
