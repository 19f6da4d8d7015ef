/* import: the operation market.import, which `tradewind market import` calls. */
#include "market/import.h"
#include "app/market/account.h"
#include "app/market/internal.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "market/store.h"
#include "spec/config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES ((size_t)1 << 30)
#define FILES_MAX 100000
#define DEPTH_MAX 6

struct import_request {
    struct field_list paths, types;
    unsigned from; /* 0 = files */
    double days;
    unsigned format; /* enum market_feed + 1; 0 = by the content */
    const char *cloud, *region;
    bool replace;
};

static const char *const sources[] = {NULL, "aws"};
static const char *const formats[] = {
    NULL, "csv", "aws", "azure", "gcp", "daily", "keepalive",
};

/* clang-format off */
static const struct field import_fields[] = {
    {"paths", FIELD(LIST, struct import_request, paths), .operand = true,
     .is_local = true, .help = "Files and directories on the machine that imports."},
    {"from", FIELD(ENUM, struct import_request, from), FIELD_CHOICES(sources),
     .help = "Cloud whose spot price history to ask for, with the account's credentials."},
    {"format", FIELD(ENUM, struct import_request, format), FIELD_CHOICES(formats),
     .help = "Format of the files (default: by their content)."},
    {"cloud", FIELD(TEXT, struct import_request, cloud), .value = "NAME",
     .help = "Cloud of the prices (default: as the files say)."},
    {"region", FIELD(TEXT, struct import_request, region), .value = "NAME",
     .help = "Region of the prices (default: as the files say; of Azure's tables, the name of the "
             "file; with --from, the configured regions, else the account's)."},
    {"types", FIELD(LIST, struct import_request, types), .option = "--type", .value = "TYPE",
     .help = "With --from: instance type to ask for (default: all)."},
    {"days", FIELD(REAL, struct import_request, days), .least = 0.04, .most = 90, .value = "N",
     .help = "With --from: days before now to ask for (default: 30); AWS keeps 90."},
    {"replace", FIELD(BOOL, struct import_request, replace),
     .help = "Delete the histories imported before."},
};

static const struct field count_fields[] = {
    {"reason", FIELD(TEXT, struct app_market_count, reason), .help = "Reason."},
    {"count", FIELD(COUNT, struct app_market_count, count), .help = "Rows."},
};
static const struct record count_record =
    RECORD("market_count", struct app_market_count, count_fields);

#define ROW_FIELDS(type, at)                                                                       \
    {"rows_read", FIELD(COUNT, type, at rows_read), .help = "Rows read."},                         \
    {"rows_kept", FIELD(COUNT, type, at rows_kept), .help = "Rows that joined the histories."},    \
    {"rows_dropped", FIELD(COUNT, type, at rows_dropped), .help = "Rows that were dropped."},      \
    {"lives", FIELD(COUNT, type, at lives), .help = "Lifetimes of watched instances."},            \
    {"dropped", FIELD(RECORDS, type, at dropped), .record = &count_record,                         \
     .help = "Dropped rows by reason."},                                                           \
    {"notes", FIELD(RECORDS, type, at notes), .record = &count_record,                             \
     .help = "Rows that were kept with a warning, by reason."}

static const struct field first_fields[] = {
    {"line", FIELD(COUNT, struct app_market_dropped, line), .help = "Line of the file."},
    {"why", FIELD(TEXT, struct app_market_dropped, why), .help = "The fault."},
};
static const struct record first_record =
    RECORD("market_dropped", struct app_market_dropped, first_fields);

static const struct field file_fields[] = {
    {"file", FIELD(TEXT, struct app_market_file, path), .help = "Path."},
    {"format", FIELD(TEXT, struct app_market_file, format), .help = "Format."},
    ROW_FIELDS(struct app_market_file, rows.),
    {"first_dropped", FIELD(RECORD, struct app_market_file, first), .record = &first_record,
     .omit_none = true, .help = "First row that was dropped for its content."},
};
static const struct record file_record =
    RECORD("market_file", struct app_market_file, file_fields);

#define IMPORTED(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_imported, key), __VA_ARGS__}
static const struct field imported_fields[] = {
    ROW_FIELDS(struct app_market_imported, rows.),
    IMPORTED(RECORDS, files, .record = &file_record, .help = "Files that were read."),
    IMPORTED(LIST, not_recognised, .help = "Files of directories that hold no price history."),
    IMPORTED(BOOL, changed, .help = "Whether the histories changed."),
    IMPORTED(COUNT, offers, .help = "Offers of all histories."),
    IMPORTED(COUNT, records, .help = "Price records of all histories."),
};
/* clang-format on */

/* ---- reading ---- */

struct import {
    struct app *app;
    struct answer *out;
    struct market_import *rows;
    struct market_source like; /* feed, cloud and region of the request */
    struct app_market_imported done;
    const char **unrecognised; /* in the arena of the answer */
    size_t cap_unrecognised, n_files;
};

static int leave_out(struct import *im, const char *path, struct err *e)
{
    struct field_list *list = &im->done.not_recognised;

    im->unrecognised = arena_room(im->out->arena, im->unrecognised, list->n, &im->cap_unrecognised,
                                  sizeof *im->unrecognised);
    const char *name = im->unrecognised ? answer_text(im->out, e, "%s", path) : NULL;
    if (!name)
        return err_set(e, ERR_NOFIT, "%s: too many files", path);
    im->unrecognised[list->n++] = name;
    list->items = im->unrecognised;
    return 0;
}

/* Files of a directory that hold no history are left out. */
static int add_file(struct import *im, const char *path, bool of_directory, struct err *e)
{
    struct market_source from = im->like;

    if (++im->n_files > FILES_MAX)
        return err_set(e, ERR_USAGE, "%s: more than %d files", path, FILES_MAX);
    app_status(im->app, "reading %s", path);
    AUTO_MEM char *text = gzip_read(path, FILE_MAX_BYTES, &from.len, e);
    if (!text)
        return -1;
    enum market_feed feed = market_import_guess(text, from.len);
    if (of_directory &&
        (feed == MARKET_N_FEEDS || (from.feed != MARKET_N_FEEDS && from.feed != feed)))
        return leave_out(im, path, e);
    from.name = path;
    from.text = text;
    return market_import_file(im->rows, &from, e);
}

static int add_file_of_dir(void *context, const char *path, struct err *e)
{
    return add_file(context, path, true, e);
}

static int add_path(struct import *im, const char *path, struct err *e)
{
    struct stat st;
    size_t before, after;

    if (stat(path, &st) < 0)
        return err_set(e, ERR_USAGE, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return add_file(im, path, false, e);
    market_import_reports(im->rows, &before);
    if (file_walk(path, DEPTH_MAX, add_file_of_dir, im, e) < 0)
        return -1;
    market_import_reports(im->rows, &after);
    return after > before ? 0
                          : err_set(e, ERR_USAGE, "%s: no price history in this directory", path);
}

static int add_old(struct import *im, const char *home, bool *found_out, struct err *e)
{
    struct err why = {0};
    AUTO(market) struct market *old = app_market_load(home, &why);

    *found_out = old != NULL;
    if (old)
        return market_import_market(im->rows, old, e);
    return why.kind == ERR_NOTFOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

/* ---- reporting ---- */

static int put_count(
    const struct answer *out, struct field_records *list, const char *why, size_t n, struct err *e)
{
    const struct app_market_count count = {why, n};

    return n ? answer_push(out, list, &count, sizeof count, e) : 0;
}

/* The counts above 0 with their reasons. */
static int put_rows(const struct answer *out,
                    const struct market_file_report *f,
                    struct app_market_rows *rows,
                    struct err *e)
{
    *rows = (struct app_market_rows){.rows_read = f->rows_read,
                                     .rows_kept = f->rows_kept,
                                     .rows_dropped = f->rows_read - f->rows_kept,
                                     .lives = f->n_spells};
    for (unsigned k = 0; k < MARKET_N_DROPS; k++)
        if (put_count(out, &rows->dropped, market_drop_texts[k], f->dropped[k], e) < 0)
            return -1;
    for (unsigned k = 0; k < MARKET_N_NOTES; k++)
        if (put_count(out, &rows->notes, market_note_texts[k], f->notes[k], e) < 0)
            return -1;
    return 0;
}

static void add_up(struct market_file_report *all, const struct market_file_report *f)
{
    all->rows_read += f->rows_read;
    all->rows_kept += f->rows_kept;
    all->n_spells += f->n_spells;
    for (size_t k = 0; k < MARKET_N_DROPS; k++)
        all->dropped[k] += f->dropped[k];
    for (size_t k = 0; k < MARKET_N_NOTES; k++)
        all->notes[k] += f->notes[k];
}

static int put_files(struct import *im, struct err *e)
{
    size_t n;
    const struct market_file_report *reports = market_import_reports(im->rows, &n);
    struct app_market_file *files = answer_alloc(im->out, n, sizeof *files, e);
    struct market_file_report all = {0};

    if (!files)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct market_file_report *f = &reports[i];
        struct app_market_file *file = &files[i];
        *file = (struct app_market_file){
            .path = f->path,
            .format = market_feed_texts[f->feed],
            .dropped = {f->bad_line, f->bad_text},
        };
        file->first = f->bad_line ? &file->dropped : NULL;
        add_up(&all, f);
        if (put_rows(im->out, f, &file->rows, e) < 0)
            return -1;
    }
    im->done.files = (struct field_records){files, n};
    return put_rows(im->out, &all, &im->done.rows, e);
}

/* ---- all of it ---- */

static void close_lock(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Files, or what the account sees: then *asked_out is what to keep once the histories are saved. */
static int add_all(
    struct import *im, const struct import_request *q, bool anew, json_t **asked_out, struct err *e)
{
    const struct app_market_account account = {.app = im->app,
                                               .config = app_config(im->app, e),
                                               .region = q->region,
                                               .types = q->types,
                                               .days = isnan(q->days) ? 30 : q->days,
                                               .anew = anew};

    if (q->from)
        return app_market_account_import(&account, im->rows, asked_out, e);
    for (size_t i = 0; i < q->paths.n; i++)
        if (add_path(im, q->paths.items[i], e) < 0)
            return -1;
    return 0;
}

static int import_all(struct import *im,
                      const struct import_request *q,
                      const char *home,
                      struct err *e)
{
    __attribute__((cleanup(close_lock))) int lock = app_market_lock(home, e);
    AUTO_JSON json_t *asked = NULL;
    bool has_old = false;
    size_t len;

    if (lock < 0 || (!q->replace && add_old(im, home, &has_old, e) < 0) ||
        add_all(im, q, !has_old, &asked, e) < 0)
        return -1;
    AUTO_MEM void *bytes = market_import_finish(im->rows, &len, e);
    if (bytes && q->replace)
        app_market_account_forget(home);
    if (!bytes || app_market_save(home, bytes, len, &im->done.changed, e) < 0 ||
        (asked && app_market_account_keep(home, asked, e) < 0))
        return -1;
    AUTO(market) struct market *now = app_market_load(home, e);
    if (!now || put_files(im, e) < 0)
        return -1;
    im->done.offers = now->n_offers;
    for (size_t i = 0; i < now->n_offers; i++)
        im->done.records += now->offers[i].n_points;
    return answer_head(im->out, &im->done, e);
}

/* Files, or --from with what belongs to it. */
static int check_request(const struct import_request *q, const struct answer *out, struct err *e)
{
    char option[64];

    if (!q->from && !q->paths.n)
        return err_set(e, ERR_USAGE, "name files or directories to import, or a cloud with %s",
                       answer_spell(out, "from", option));
    if (q->from && q->paths.n)
        return err_set(e, ERR_USAGE, "%s asks a cloud: it takes no files",
                       answer_spell(out, "from", option));
    if (q->from && (q->format || q->cloud))
        return err_set(e, ERR_USAGE, "%s is for files",
                       answer_spell(out, q->format ? "format" : "cloud", option));
    if (!q->from && (q->types.n || !isnan(q->days)))
        return err_set(e, ERR_USAGE, "%s is for the history of an account: add --from aws",
                       answer_spell(out, q->types.n ? "types" : "days", option));
    return 0;
}

static int run_import(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct import_request *q = request;

    if (check_request(q, out, e) < 0)
        return -1;
    const struct config *config = app_config(app, e);
    AUTO(catalog) struct catalog *catalog = config ? catalog_open(config->home, e) : NULL;

    if (!catalog)
        return -1;
    AUTO(market_import) struct market_import *rows = market_import_new(catalog);
    struct import im = {.app = app,
                        .out = out,
                        .rows = rows,
                        .like = {.cloud = q->cloud,
                                 .region = q->region,
                                 .feed = q->format ? q->format - 1 : MARKET_N_FEEDS}};
    return import_all(&im, q, config->home, e);
}

const struct operation market_import_operation = {
    .name = "market.import",
    .summary = "Import price histories of spot instances.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    REQUEST(struct import_request, import_fields),
    .answer = RECORD_AT("market_imported", struct app_market_imported, imported_fields),
    .run = run_import,
};
