#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "cli/data/lake_session_parts.h"
#include "view/json_list.h"
#include "view/table.h"
#include "view/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL_S 3600
#define LINES_MAX 20

/* ---- one session ---- */

struct show {
    struct lake *l;
    const struct lake_session_show *how;
    struct table *table;
    struct json_list list;
    enum lake_session_state state;
    int64_t id;
    uint64_t n;
};

static json_t *session_json(const struct lake_session *s)
{
    char when[32], begun[32];

    return json_pack("{s:I, s:s, s:s, s:s, s:s, s:s?, s:s?}", "session", (json_int_t)s->id, "state",
                     lake_session_state_text(s->state), "expires_at", time_iso(s->expires_ms, when),
                     "creator", s->origin.creator, "create_time",
                     time_iso(s->origin.create_time_ms, begun), "set", s->set, "put", s->put);
}

static int head(void *context, const struct lake_session *s, struct err *e)
{
    struct show *show = context;
    char when[32], bytes[32];

    show->state = s->state;
    if (show->how->json) {
        AUTO_JSON json_t *object = session_json(s);
        return json_list_begin_within(&show->list, stdout, object, "files", e);
    }
    printf("session %" PRId64 ": %s", s->id, lake_session_state_text(s->state));
    if (s->state == LAKE_SESSION_PENDING) {
        printf(" until %s, %" PRIu64, time_iso(s->expires_ms, when), s->arrived);
        /* A put notes files as they arrive: how many there are is not known. */
        if (!s->put)
            printf(" of %" PRIu64, s->files);
        printf(" files have arrived (%s)", text_bytes(s->bytes_arrived, bytes));
    }
    if (s->put) {
        AUTO_CLEAR(buf) struct buf b;
        buf_init(&b, 4096);
        text_put(&b, s->put, TEXT_COLUMNS - 11, text_look_for(stdout).utf8);
        printf("\ntradewind %s", buf_str(&b));
    }
    putchar('\n');
    return 0;
}

static const char *file_state(const struct lake_session_file *f)
{
    return f->committed ? "committed" : f->arrived ? "arrived" : "pending";
}

static int make_url(const struct show *show,
                    const struct lake_session_file *f,
                    struct store_url *out,
                    struct err *e)
{
    *out = (struct store_url){0};
    if (!show->how->urls || f->arrived || show->state != LAKE_SESSION_PENDING)
        return 0;
    return lake_session_url(show->l, show->id, f->path, URL_S, out, e);
}

static json_t *file_json(const struct lake_session_file *f, const struct store_url *url)
{
    char hex[SHA256_HEX];
    json_t *object =
        json_pack("{s:s, s:s, s:s?, s:o, s:s?, s:o, s:s?, s:s?}", "path", f->path, "state",
                  file_state(f), "object", f->object, "size_bytes",
                  f->size_known ? json_integer((json_int_t)f->size) : json_null(), "sha256",
                  f->digest_known ? sha256_text(&f->digest, hex) : NULL, "version",
                  f->committed ? json_integer((json_int_t)f->number) : json_null(), "url", url->url,
                  "header", url->header);

    return object;
}

static int show_file(void *context, const struct lake_session_file *f, struct err *e)
{
    struct show *show = context;
    AUTO_CLEAR(store_url) struct store_url url = {0};
    char bytes[32];

    if (make_url(show, f, &url, e) < 0)
        return -1;
    uint64_t n = show->n++;
    if (show->how->json)
        return json_list_add(&show->list, file_json(f, &url), e);
    if (url.url)
        printf("%s\n  PUT %s\n%s%s%s", f->path, url.url, url.header ? "  " : "",
               url.header ? url.header : "", url.header ? "\n" : "");
    else if (n < LINES_MAX) {
        table_put(show->table, file_state(f));
        if (f->committed)
            table_printf(show->table, "%" PRId64, f->number);
        else
            table_put(show->table, "");
        table_put(show->table, f->size_known ? text_bytes(f->size, bytes) : "");
        table_put(show->table, f->path);
    }
    return 0;
}

/* Before anything is printed: can there be URLs at all? */
static int try_url(void *context, const struct lake_session_file *f, struct err *e)
{
    struct show *show = context;
    AUTO_CLEAR(store_url) struct store_url url = {0};

    if (f->arrived || show->n++)
        return 0;
    return lake_session_url(show->l, show->id, f->path, URL_S, &url, e);
}

static void end_table(const struct show *show)
{
    const struct text_look look = text_look_for(stdout);
    char number[32];

    if (!show->n || show->how->urls)
        return;
    table_print(show->table, stdout, 0, TEXT_COLUMNS, &look);
    if (show->n > LINES_MAX)
        printf("... and %s more\n", text_count((size_t)(show->n - LINES_MAX), number));
}

int lake_session_show(struct lake *l,
                      int64_t id,
                      const struct lake_session_show *how,
                      struct err *e)
{
    static const struct table_column columns[] = {
        {.title = "state"},
        {.title = "version", .right = true},
        {.title = "size", .right = true},
        {.title = "path", .cut_rank = 1, .least = 20},
    };
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof columns[0]);
    struct show show = {.l = l, .how = how, .table = table, .id = id};

    if (how->urls && lake_session_files(l, id, try_url, &show, e) < 0)
        return -1;
    show.n = 0;
    if (lake_session_list(l, id, head, &show, e) < 0 ||
        lake_session_files(l, id, show_file, &show, e) < 0)
        return -1;
    if (how->json)
        return json_list_end(&show.list, e);
    end_table(&show);
    return 0;
}

/* ---- all of them ---- */

struct all {
    struct table *table;
    bool json;
    struct json_list list;
    size_t n;
};

static int add_session(void *context, const struct lake_session *s, struct err *e)
{
    struct all *all = context;
    char when[32], bytes[32];

    all->n++;
    if (all->json) {
        json_t *object = session_json(s);
        json_object_set_new(object, "n_files", json_integer((json_int_t)s->files));
        json_object_set_new(object, "n_arrived", json_integer((json_int_t)s->arrived));
        json_object_set_new(object, "bytes_arrived", json_integer((json_int_t)s->bytes_arrived));
        return json_list_add(&all->list, object, e);
    }
    table_printf(all->table, "%" PRId64, s->id);
    table_put(all->table, lake_session_state_text(s->state));
    table_put(all->table, time_iso(s->expires_ms, when));
    if (s->put)
        table_printf(all->table, "%" PRIu64, s->arrived);
    else
        table_printf(all->table, "%" PRIu64 " of %" PRIu64, s->arrived, s->files);
    table_put(all->table, text_bytes(s->bytes_arrived, bytes));
    table_put(all->table, s->put ? s->put : "");
    return 0;
}

int lake_session_show_all(struct lake *l, const struct lake_session_show *how, struct err *e)
{
    static const struct table_column columns[] = {
        {.title = "session", .right = true},
        {.title = "state"},
        {.title = "expires"},
        {.title = "arrived", .right = true},
        {.title = "size", .right = true},
        {.title = "interrupted", .cut_rank = 1, .least = 12},
    };
    const struct text_look look = text_look_for(stdout);
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof columns[0]);
    struct all all = {.table = table, .json = how->json};

    json_list_begin(&all.list, stdout);
    if (lake_session_list(l, 0, add_session, &all, e) < 0)
        return -1;
    if (how->json)
        return json_list_end(&all.list, e);
    if (all.n)
        table_print(table, stdout, 0, TEXT_COLUMNS, &look);
    else
        puts("No sessions are pending.");
    return 0;
}

/* ---- targets ---- */

void lake_session_targets_clear(struct lake_session_targets *t)
{
    for (size_t i = 0; t->paths && i < t->n; i++)
        free(t->paths[i]);
    free(t->paths);
    free(t->targets);
    free(t->digests);
    json_decref(t->json);
    *t = (struct lake_session_targets){0};
}

static int read_target(const json_t *item,
                       size_t i,
                       struct lake_target *out,
                       struct sha256_digest *digest,
                       struct err *e)
{
    const char *path = json_string_value(json_object_get(item, "path"));
    const json_t *size = json_object_get(item, "size_bytes");
    const json_t *hex = json_object_get(item, "sha256");

    if (!path)
        return err_set(e, ERR_USAGE, "element %zu has no \"path\"", i);
    out->path = path;
    if (size && !json_is_null(size)) {
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return err_set(e, ERR_USAGE, "%s: size_bytes is no number of bytes", path);
        out->size_known = true;
        out->size = (uint64_t)json_integer_value(size);
    }
    if (!hex || json_is_null(hex))
        return 0;
    if (!json_is_string(hex) || sha256_parse(json_string_value(hex), digest, e) < 0)
        return err_set(e, ERR_USAGE, "%s: sha256 is not 64 hexadecimal digits", path);
    out->digest = digest;
    return 0;
}

static json_t *load(const char *file, struct err *e)
{
    json_error_t why = {0};
    FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");

    if (!in) {
        err_set(e, errno == ENOENT ? ERR_NOTFOUND : ERR_IO, "read %s: %s", file, strerror(errno));
        return NULL;
    }
    json_t *root = json_loadf(in, JSON_REJECT_DUPLICATES, &why);
    if (in != stdin)
        fclose(in);
    if (!root)
        err_set(e, ERR_USAGE, "%s:%d: %s", file, why.line, why.text);
    return root;
}

int lake_session_read_targets(const char *file, struct lake_session_targets *out, struct err *e)
{
    out->json = load(file, e);
    if (!out->json)
        return -1;
    if (!json_is_array(out->json))
        return err_set(e, ERR_USAGE, "%s: an array of {path, size_bytes, sha256} is wanted", file);
    out->n = json_array_size(out->json);
    out->targets = mem_zero(out->n + 1, sizeof *out->targets);
    out->digests = mem_zero(out->n + 1, sizeof *out->digests);
    for (size_t i = 0; i < out->n; i++)
        if (read_target(json_array_get(out->json, i), i, &out->targets[i], &out->digests[i], e) < 0)
            return err_wrap(e, "%s", file);
    return 0;
}
