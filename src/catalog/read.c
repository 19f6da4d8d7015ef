#include "catalog/read.h"

#include "base/csv.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "catalog/limits.h"

#include <zlib.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Enough for remarks and a header. */
#define PEEK_BYTES 16384

const char *catalog_table_text(enum catalog_table table)
{
    static const char *const texts[] = {
        [CATALOG_TABLE_UNKNOWN] = "unknown",     [CATALOG_TABLE_OFFERS] = "offers",
        [CATALOG_TABLE_TRANSFERS] = "transfers", [CATALOG_TABLE_STORAGE] = "storage",
        [CATALOG_TABLE_SOURCES] = "sources",     [CATALOG_TABLE_SKYPILOT] = "skypilot",
    };

    return texts[table];
}

const char *catalog_drop_text(enum catalog_drop drop)
{
    static const char *const texts[CATALOG_N_DROPS] = {
        [CATALOG_DROP_UNPRICED] = "no price in any market",
        [CATALOG_DROP_DUPLICATE] = "duplicate",
        [CATALOG_DROP_MALFORMED] = "malformed",
        [CATALOG_DROP_NO_HOST] = "accelerator without a priced host in its zone",
        [CATALOG_DROP_HOST_ALONE] = "host not sold without accelerator",
    };

    return texts[drop];
}

void catalog_report_clear(struct catalog_report *r)
{
    for (size_t i = 0; i < r->n_files; i++) {
        free(r->files[i].path);
        free(r->files[i].cloud);
    }
    free(r->files);
    for (size_t i = 0; i < r->n_unrecognised; i++)
        free(r->unrecognised[i]);
    free(r->unrecognised);
    *r = (struct catalog_report){0};
}

struct catalog_file_report *catalog_report_add(struct catalog_report *r,
                                               const char *path,
                                               enum catalog_table table)
{
    r->files = mem_room(r->files, r->n_files, &r->cap_files, sizeof *r->files);
    struct catalog_file_report *f = &r->files[r->n_files++];
    *f = (struct catalog_file_report){.path = mem_dup(path), .table = table};
    return f;
}

size_t catalog_report_dropped(const struct catalog_file_report *f)
{
    size_t n = 0;

    for (size_t i = 0; i < CATALOG_N_DROPS; i++)
        n += f->dropped[i];
    return n;
}

bool catalog_name_good(const struct csv_field *f)
{
    size_t line;

    return f->len <= LIMIT_NAME_BYTES && utf8_first_bad(f->text, f->len, &line) == f->len &&
           !strpbrk(f->text, "\t\r\n");
}

static bool has_column(const struct csv_field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].text, name) == 0)
            return true;
    return false;
}

/* By half of the columns: a file with a misspelt one is still what it is meant to be. */
static enum catalog_table table_of_header(const struct csv_field *fields, size_t n)
{
    static const char *const skypilot[] = {
        "InstanceType", "Price",     "Region",           "vCPUs",  "AcceleratorName",
        "SpotPrice",    "MemoryGiB", "AcceleratorCount", "GpuInfo"};
    size_t known;

    for (enum catalog_table t = CATALOG_TABLE_OFFERS; t <= CATALOG_TABLE_STORAGE; t++) {
        const struct catalog_layout *l = catalog_layout_of(t);
        known = 0;
        for (size_t i = 0; i < l->n_columns; i++)
            known += has_column(fields, n, l->columns[i].name);
        if (known * 2 > l->n_columns)
            return t;
    }
    known = 0;
    for (size_t i = 0; i < sizeof skypilot / sizeof *skypilot; i++)
        known += has_column(fields, n, skypilot[i]);
    return known > 3 ? CATALOG_TABLE_SKYPILOT : CATALOG_TABLE_UNKNOWN;
}

/* An unknown header in a file of a table's name is an error, not another kind of file. */
static enum catalog_table table_of_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    for (enum catalog_table t = CATALOG_TABLE_OFFERS; t <= CATALOG_TABLE_STORAGE; t++) {
        const char *file = catalog_layout_of(t)->file;
        size_t len = strlen(file);
        if (strncmp(name, file, len) == 0 && (!name[len] || strcmp(name + len, ".gz") == 0))
            return t;
    }
    return CATALOG_TABLE_UNKNOWN;
}

/* The beginning of a plain or gzip-ed file up to its last whole line; bytes read, or -1. */
static int peek(const char *path, char text[static PEEK_BYTES], struct err *e)
{
    gzFile f = gzopen(path, "rbe");

    if (!f)
        return err_set(e, ERR_USAGE, "%s: %s", path, strerror(errno ? errno : ENOMEM));
    errno = 0;
    int n = gzread(f, text, PEEK_BYTES), code;
    const char *why = gzerror(f, &code);
    if (code == Z_ERRNO)
        n = err_set(e, ERR_USAGE, "%s: %s", path, strerror(errno));
    else if (code != Z_OK && code != Z_STREAM_END)
        n = err_set(e, ERR_USAGE, "%s: damaged gzip data (%s)", path, why);
    gzclose(f);
    if (n == PEEK_BYTES) {
        const char *newline = memrchr(text, '\n', PEEK_BYTES);
        n = newline ? (int)(newline - text) : 0;
    }
    return n;
}

int catalog_read_table(const char *path, enum catalog_table *table_out, struct err *e)
{
    char text[PEEK_BYTES];
    int len = peek(path, text, e);
    const struct csv_field *fields;
    size_t n;

    if (len < 0)
        return -1;
    AUTO(csv) struct csv *csv = csv_from_memory(path, text, (size_t)len);
    *table_out = CATALOG_TABLE_UNKNOWN;
    int got;
    while ((got = csv_next(csv, &fields, &n, NULL)) == 1 && fields[0].text[0] == '#')
        ;
    if (got == 1)
        *table_out = table_of_header(fields, n);
    if (*table_out == CATALOG_TABLE_UNKNOWN)
        *table_out = table_of_name(path);
    return 0;
}

/* DIR/NAME, or DIR/NAME.gz; NULL when there is neither. */
static char *find_file(const char *dir, const char *name)
{
    char *path = mem_printf("%s/%s", dir, name);

    if (access(path, F_OK) == 0)
        return path;
    free(path);
    path = mem_printf("%s/%s.gz", dir, name);
    if (access(path, F_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static int no_offers(const char *dir, const char *file, struct err *e)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return err_set(e, ERR_USAGE, "%s: %s", dir, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_USAGE, "%s: not a directory; it should be one that holds %s", dir,
                       file);
    return err_set(e, ERR_USAGE, "%s: there is no %s in this directory", dir, file);
}

static int read_table_of_dir(const char *dir,
                             enum catalog_table table,
                             struct catalog_rows *rows,
                             uint32_t *date_out,
                             struct err *e)
{
    const char *file = catalog_layout_of(table)->file;
    AUTO_MEM char *path = find_file(dir, file);
    struct catalog_file_report report = {0};

    if (!path && table == CATALOG_TABLE_OFFERS)
        return no_offers(dir, file, e);
    if (!path)
        return 0;
    AUTO(csv) struct csv *csv = csv_open(path, LIMIT_FILE_BYTES, e);
    return csv ? catalog_read_tradewind(csv, table, rows, &report, date_out, e) : -1;
}

int catalog_read_dir(const char *dir, struct catalog_rows *rows, struct err *e)
{
    uint32_t date = 0;

    if (read_table_of_dir(dir, CATALOG_TABLE_OFFERS, rows, &date, e) < 0 ||
        read_table_of_dir(dir, CATALOG_TABLE_TRANSFERS, rows, NULL, e) < 0 ||
        read_table_of_dir(dir, CATALOG_TABLE_STORAGE, rows, NULL, e) < 0 ||
        read_table_of_dir(dir, CATALOG_TABLE_SOURCES, rows, NULL, e) < 0)
        return -1;
    if (!rows->origin)
        rows->origin = catalog_rows_intern(rows, dir);
    if (!rows->date)
        rows->date = date;
    /* Clouds that no sources.csv told about come from the directory. */
    catalog_rows_name_sources(rows, catalog_rows_text(rows, rows->origin),
                              catalog_rows_text(rows, rows->date));
    return 0;
}
