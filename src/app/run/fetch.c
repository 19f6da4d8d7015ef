#include "app/run/fetch.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/staging.h"
#include "lake/core/path.h"
#include "lake/meta/meta.h"
#include "lake/put/put.h"
#include "lake/set/set.h"
#include "net/http.h"
#include "store/keyed.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define OBJECTS_MAX 1000000
#define PIECE ((size_t)8 << 20)
#define REDIRECTS_MAX 5
#define HEAD_TIMEOUT_S 60.0
#define ATTEMPTS 4
/* A day. */
#define DOWNLOAD_S 86400.0
#define ETAG_MAX 256

/* One file at the source, and in the lake. */
struct item {
    char *key;           /* of its bucket; NULL of a web address */
    char *source;        /* for people and the tag: no password, no query */
    char *path;          /* in the lake */
    char *ref;           /* the same, as references are written */
    char etag[ETAG_MAX]; /* "" = the server sends none */
    uint64_t size;       /* 0 = empty, or the server does not say */
    bool known;          /* the lake has this version */
};

struct fetch {
    struct app *app;
    struct lake *lake;
    const char *home, *uri;
    struct item *items;
    size_t n, cap;
    struct store *bucket;
    struct http *http;
    struct staging staging;
    uint64_t done_files, done_bytes, all_files, all_bytes;
};

static void fetch_clear(struct fetch *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->items[i].key);
        free(f->items[i].source);
        free(f->items[i].path);
        free(f->items[i].ref);
    }
    free(f->items);
    store_free(f->bucket);
    http_free(f->http);
    staging_clear(&f->staging);
}

static struct item *add_item(struct fetch *f)
{
    f->items = mem_room(f->items, f->n, &f->cap, sizeof *f->items);
    f->items[f->n] = (struct item){0};
    return &f->items[f->n++];
}

static bool begins(const char *text, const char *with)
{
    return !strncasecmp(text, with, strlen(with));
}

static bool is_bucket(const char *uri)
{
    return begins(uri, "s3://") || begins(uri, "gs://") || begins(uri, "az://");
}

bool app_run_fetch_can(const char *uri)
{
    return is_bucket(uri) || begins(uri, "https://") || begins(uri, "http://");
}

/* ---- the source ---- */

struct listing {
    struct fetch *fetch;
    const char *bucket; /* its URL, "s3://BUCKET" */
    const char *wanted; /* the key, or the directory of keys */
};

/* The object itself and objects below it; not keys that merely begin with the same text, nor empty
 * objects that mark directories. */
static int note_object(void *context, const struct store_keyed *o, struct err *e)
{
    struct listing *list = context;
    size_t n = strlen(list->wanted), len = strlen(o->key);
    bool inside = n == 0 || o->key[n] == '\0' || o->key[n] == '/';

    if (!inside || len == 0 || o->key[len - 1] == '/')
        return 0;
    if (list->fetch->n == OBJECTS_MAX)
        return err_set(e, ERR_USAGE, "more than %d objects", OBJECTS_MAX);
    struct item *item = add_item(list->fetch);
    item->key = mem_dup(o->key);
    item->source = mem_printf("%s/%s", list->bucket, o->key);
    item->path = app_run_fetch_path(item->source);
    item->size = o->size;
    snprintf(item->etag, sizeof item->etag, "%s", o->etag);
    return 0;
}

/* Servers besides the cloud's own: the variables of the AWS tools; those of the others are known to
 * the store. */
static const char *endpoint(const struct app *app, const char *url)
{
    const char *own = app_variable(app, "AWS_ENDPOINT_URL_S3");

    if (!begins(url, "s3://"))
        return NULL;
    return own && *own ? own : app_variable(app, "AWS_ENDPOINT_URL");
}

/* How much of the URI names the bucket: "s3://BUCKET", "az://ACCOUNT/CONTAINER". */
static size_t bucket_length(const char *uri)
{
    const char *rest = strstr(uri, "://") + 3;

    if (begins(uri, "az://"))
        rest += strcspn(rest, "/") + (rest[strcspn(rest, "/")] == '/');
    return (size_t)(rest - uri) + strcspn(rest, "/");
}

static int look_at_bucket(struct fetch *f, struct err *e)
{
    size_t n = bucket_length(f->uri);
    AUTO_MEM char *url = mem_printf("%.*s", (int)n, f->uri);
    AUTO_MEM char *wanted = mem_dup(f->uri[n] ? f->uri + n + 1 : "");
    struct listing list = {f, url, wanted};

    /* Schemes are typed in any case. */
    for (char *c = url; *c != ':'; c++)
        *c = (char)tolower((unsigned char)*c);
    for (size_t len = strlen(wanted); len && wanted[len - 1] == '/'; len--)
        wanted[len - 1] = '\0';
    struct store_keyed_list all = {.prefix = wanted, .visit = note_object, .context = &list};
    f->bucket = store_open(&(struct store_settings){.url = url,
                                                    .endpoint = endpoint(f->app, url),
                                                    .path_style = -1,
                                                    .may_be_exposed = app_is_insecure(f->app),
                                                    .seed = 1},
                           e);
    if (!f->bucket || store_foreign_list(f->bucket, &all, e) < 0)
        return -1;
    return f->n ? 0 : err_set(e, ERR_NOTFOUND, "nothing is there");
}

/* A web address without password, query and fragment. New string. */
static char *plain_address(const char *url)
{
    const char *host = strstr(url, "://") + 3;
    size_t n = strcspn(host, "/?#");
    const char *at = memchr(host, '@', n);
    const char *from = at ? at + 1 : host;
    size_t len = strcspn(from, "?#");

    return mem_printf("%.*s%.*s", (int)(host - url), url, (int)len, from);
}

/* "/sources/https/HOST/PATH"; each query has a file of its own. New string. */
static char *lake_path(const char *url, const char *plain)
{
    const char *rest = strstr(plain, "://") + 3, *query = strchr(url, '?');
    bool https = begins(url, "https");
    char hex[SHA256_HEX] = "";

    if (query) {
        AUTO(sha256) struct sha256 *h = sha256_new();
        sha256_add(h, query, strlen(query));
        struct sha256_digest digest = sha256_take(h);
        sha256_text(&digest, hex);
        hex[8] = '\0';
    }
    bool open = !strchr(rest, '/') || rest[strlen(rest) - 1] == '/';
    return mem_printf("/sources/%s/%s%s%s%s%s", https ? "https" : "http", rest,
                      open && !strchr(rest, '/') ? "/" : "", open ? "index" : "", query ? "-" : "",
                      hex);
}

char *app_run_fetch_path(const char *uri)
{
    if (is_bucket(uri))
        return mem_printf("/sources/%c%c/%s", tolower((unsigned char)uri[0]),
                          tolower((unsigned char)uri[1]), strstr(uri, "://") + 3);
    AUTO_MEM char *plain = plain_address(uri);
    return lake_path(uri, plain);
}

/* Etag and size from the headers; servers may leave them out. */
static void note_headers(struct item *item, const struct http_answer *a)
{
    const char *etag = http_answer_header(a, "etag"), *at = http_answer_header(a, "last-modified");
    const char *length = http_answer_header(a, "content-length");

    if (etag) {
        etag += begins(etag, "W/") ? 2 : 0;
        etag += *etag == '"';
        snprintf(item->etag, sizeof item->etag, "%.*s", (int)strcspn(etag, "\""), etag);
    } else if (at) {
        snprintf(item->etag, sizeof item->etag, "%s", at);
    }
    item->size = length && isdigit((unsigned char)*length) ? strtoull(length, NULL, 10) : 0;
}

static int ask_head(struct fetch *f, struct item *item, struct err *e)
{
    AUTO_MEM char *url = mem_dup(f->uri);

    for (int i = 0; i <= REDIRECTS_MAX; i++) {
        const struct http_request head = {
            .method = "HEAD", .url = url, .max_answer_bytes = 65536, .timeout_s = HEAD_TIMEOUT_S};
        AUTO_CLEAR(http_answer) struct http_answer a = {0};
        if (http_send(f->http, &head, &a, e) < 0)
            return -1;
        const char *next = http_answer_header(&a, "location");
        if (a.status == 200)
            note_headers(item, &a);
        if (a.status == 404 || a.status == 410)
            return err_set(e, ERR_NOTFOUND, "the server has nothing there (%d)", a.status);
        if (a.status / 100 != 3 || !next || !app_run_fetch_can(next))
            return 0;
        free(url);
        url = mem_dup(next);
    }
    return 0;
}

static int look_at_web(struct fetch *f, struct err *e)
{
    f->http = http_new((uint64_t)time_epoch_ms(), e);
    if (!f->http)
        return -1;
    if (app_is_insecure(f->app))
        http_allow_exposed(f->http);
    struct item *item = add_item(f);
    item->source = plain_address(f->uri);
    item->path = lake_path(f->uri, item->source);
    return ask_head(f, item, e);
}

/* ---- the lake ---- */

static int compare_tags(void *context, const struct lake_found *found, struct err *e)
{
    struct item *item = context;

    (void)e;
    for (size_t i = 0; i < found->n_values; i++)
        if (!strcmp(found->values[i].key, "etag") && !strcmp(found->values[i].text, item->etag))
            item->known = true;
    return 0;
}

/* Sets item->known when the latest version has the same etag, and its content. */
static void look_here(struct fetch *f, struct item *item)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    item->ref = lake_path_escape(item->path);
    if (item->etag[0] && lake_resolve(f->lake, item->ref, LAKE_READ, &ref, NULL) == 0)
        lake_describe(f->lake, &ref, compare_tags, item, NULL);
}

/* Files are downloaded beside the lake first: the disk holds the largest one twice for a while. */
static int check_room(struct fetch *f, struct err *e)
{
    struct statvfs disk;
    uint64_t largest = 0;

    for (size_t i = 0; i < f->n; i++) {
        const struct item *item = &f->items[i];
        if (item->known)
            continue;
        f->all_files++;
        f->all_bytes += item->size;
        largest = item->size > largest ? item->size : largest;
    }
    if (statvfs(f->home, &disk) < 0)
        return file_error(e, "look at the disk of", f->home);
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (f->all_bytes + largest <= free_bytes)
        return 0;
    return err_set(e, ERR_NOFIT,
                   "it has %.1f GB, and the disk of %s has %.1f GB left: put it into a lake in a "
                   "bucket, or make room",
                   (double)f->all_bytes / 1e9, f->home, (double)free_bytes / 1e9);
}

/* ---- fetching ---- */

static void show(void *context, uint64_t got, uint64_t total)
{
    const struct fetch *f = context;
    struct app_progress progress = {f->app, "fetching"};

    (void)total;
    app_lake_progress(&progress).tell(&progress, f->done_files, f->done_bytes + got, f->all_files,
                                      f->all_bytes);
}

static int download(struct fetch *f, const struct item *item, const char *to, struct err *e)
{
    struct statvfs disk;
    struct http_options options = {.max_bytes = item->size,
                                   .timeout_s = DOWNLOAD_S,
                                   .attempts = ATTEMPTS,
                                   .first_wait_s = 0.5,
                                   .progress = show,
                                   .context = f};

    /* A download of unknown size may fill half of the free disk. */
    if (!item->size && statvfs(f->home, &disk) == 0)
        options.max_bytes = (uint64_t)disk.f_bavail * disk.f_frsize / 2;
    return http_download(f->http, f->uri, to, &options, e);
}

static int copy_pieces(struct fetch *f, const struct item *item, int to, struct err *e)
{
    AUTO_MEM char *piece = mem_zero(PIECE, 1);

    for (uint64_t at = 0; at < item->size;) {
        size_t n = item->size - at < PIECE ? (size_t)(item->size - at) : PIECE;
        if (store_foreign_read(f->bucket, item->key, at, piece, n, e) < 0)
            return -1;
        if (file_write_all(to, piece, n) < 0)
            return file_error(e, "write", f->staging.path);
        at += n;
        show(f, at, item->size);
    }
    return 0;
}

static int copy_object(struct fetch *f, const struct item *item, const char *to, struct err *e)
{
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        return file_error(e, "create", to);
    int result = copy_pieces(f, item, fd, e);
    if (close(fd) < 0 && result == 0)
        result = file_error(e, "write", to);
    return result;
}

static int store_item(struct fetch *f, const struct item *item, const char *from, struct err *e)
{
    AUTO_MEM char *source = mem_printf("source=%s", item->source);
    AUTO_MEM char *etag = mem_printf("etag=%s", item->etag);
    const char *const tags[] = {source, etag}, *const sources[] = {from};
    struct lake_put_summary summary;
    const struct lake_put_options options = {.sources = sources,
                                             .n_sources = 1,
                                             .destination = item->path,
                                             .tags = tags,
                                             .sources_pass = true,
                                             .n_tags = item->etag[0] ? 2 : 1};

    if (lake_put(f->lake, &options, NULL, NULL, &summary, e) < 0)
        return -1;
    if (!summary.unchanged)
        return 0;
    /* The same bytes under another etag: tag the version that the lake has. */
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    return lake_resolve(f->lake, item->ref, LAKE_READ, &ref, e) < 0
               ? -1
               : lake_tag(f->lake, &ref, tags, options.n_tags, e);
}

static int fetch_all(struct fetch *f, struct err *e)
{
    if (staging_open(f->home, &f->staging, e) < 0)
        return -1;
    AUTO_MEM char *to = mem_printf("%s/file", f->staging.path);
    for (size_t i = 0; i < f->n; i++) {
        const struct item *item = &f->items[i];
        if (item->known)
            continue;
        if (app_check_cancelled(f->app, e) < 0)
            return -1;
        int result = item->key ? copy_object(f, item, to, e) : download(f, item, to, e);
        if (result < 0 || store_item(f, item, to, e) < 0)
            return -1;
        f->done_files++;
        f->done_bytes += item->size;
        unlink(to);
    }
    return 0;
}

/* ---- the reference ---- */

static char *set_name(const char *uri)
{
    char *name = mem_printf("source-%.80s", strstr(uri, "://") + 3);

    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '.' && *c != '_' && *c != '-')
            *c = '-';
    return name;
}

static char *refer(struct fetch *f, struct err *e)
{
    AUTO_MEM const char **refs = mem_zero(f->n, sizeof *refs);
    AUTO_MEM char *name = set_name(f->uri);
    struct lake_set set;

    if (f->n == 1)
        return mem_dup(f->items[0].ref);
    for (size_t i = 0; i < f->n; i++)
        refs[i] = f->items[i].ref;
    if (lake_set_create(f->lake,
                        &(struct lake_set_request){.name = name, .refs = refs, .n_refs = f->n},
                        &set, e) < 0)
        return NULL;
    return lake_ref_of_set(name, set.number);
}

int app_run_fetch(struct app *app, const char *uri, char **ref_out, struct err *e)
{
    AUTO_CLEAR(fetch) struct fetch f = {.app = app, .uri = uri, .staging = {.lock = -1}};

    f.lake = app_lake(app, e);
    f.home = f.lake ? app_home(app, e) : NULL;
    if (!f.home)
        return -1;
    if ((is_bucket(uri) ? look_at_bucket(&f, e) : look_at_web(&f, e)) < 0)
        return err_wrap(e, "fetch %s", f.n ? f.items[0].source : uri);
    for (size_t i = 0; i < f.n; i++)
        look_here(&f, &f.items[i]);
    if (check_room(&f, e) < 0 || fetch_all(&f, e) < 0)
        return err_wrap(e, "fetch %s", f.items[0].source);
    *ref_out = refer(&f, e);
    return *ref_out ? 0 : -1;
}
