/* Where a store of Google is: parses gs://BUCKET/PREFIX and endpoints, and makes requests with a
 * token. The driver lists the functions. */
#include "base/mem.h"
#include "store/gs/gs.h"

#include <stdlib.h>
#include <string.h>

#define ENDPOINT "https://storage.googleapis.com"
static const char scheme[] = "gs://";
static const char bucket_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_";

int gs_check_url(const char *url, struct err *e)
{
    const char *bucket = url + strlen(scheme);
    size_t n = strcspn(bucket, "/");

    if (!remote_good_bucket(bucket, n, bucket_chars))
        return err_set(e, ERR_USAGE,
                       "\"%.100s\": a bucket's name has 3 to 63 lower-case letters, digits, '.', "
                       "'-' and '_', as in gs://my-bucket/lake",
                       url);
    return bucket[n] ? remote_check_prefix(url, bucket + n + 1, e) : 0;
}

int gs_open(struct remote *r, const struct store_settings *settings, struct err *e)
{
    struct gs *g = r->own = mem_zero(1, sizeof *g);
    const char *bucket = settings->url + strlen(scheme);
    const char *emulator = getenv("STORAGE_EMULATOR_HOST");
    const char *account = getenv("GOOGLE_APPLICATION_CREDENTIALS");
    size_t n = strcspn(bucket, "/");
    AUTO_MEM char *path = NULL;

    r->bucket = mem_printf("%.*s", (int)n, bucket);
    r->shown = mem_printf("gs://%s", r->bucket);
    remote_set_prefix(r, bucket[n] ? bucket + n + 1 : "");
    g->tokens.find = token_find_google;
    g->tokens.scope = TOKEN_SCOPE_GOOGLE;
    bool emulated = !settings->endpoint && emulator && *emulator;
    AUTO_MEM char *with_scheme =
        emulated ? mem_printf("%s%s", strstr(emulator, "://") ? "" : "http://", emulator) : NULL;
    const char *endpoint = settings->endpoint ? settings->endpoint
                           : with_scheme      ? with_scheme
                                              : ENDPOINT;
    if (remote_read_endpoint(r, endpoint, &path, e) < 0)
        return -1;
    AUTO_MEM char *authority = remote_plain_authority(r);
    g->base = mem_printf("%s://%s%s", r->scheme, authority, path);
    g->is_anonymous = emulated && (!account || !*account);
    return 0;
}

void gs_close(struct remote *r)
{
    struct gs *g = r->own;

    if (!g)
        return;
    token_cache_clear(&g->tokens);
    free(g->base);
    free(g);
}

char *gs_path(const struct remote *r, const char *key)
{
    AUTO_MEM char *encoded = sigv4_encode(key ? key : "", false);

    return mem_printf("/storage/v1/b/%s/o%s%s", r->bucket, key ? "/" : "", encoded);
}

char *gs_upload_path(const struct remote *r)
{
    return mem_printf("/upload/storage/v1/b/%s/o", r->bucket);
}

static int add_token(struct remote *r, struct gs *g, struct remote_request *out, struct err *e)
{
    const char *bearer = NULL;

    if (token_cache_get(&g->tokens, r->http, &bearer, e) < 0)
        return err_wrap(e, "%s", r->shown);
    const struct token_login *l = &g->tokens.login;
    out->round = g->tokens.round;
    remote_request_add(out, mem_printf("Authorization: Bearer %s", bearer));
    /* Users have no project of their own that requests could count for. */
    if (l->way == TOKEN_GOOGLE_USER && l->project)
        remote_request_add(out, mem_printf("x-goog-user-project: %s", l->project));
    return 0;
}

int gs_prepare(struct remote *r,
               const struct remote_call *c,
               struct remote_request *out,
               struct err *e)
{
    struct gs *g = r->own;
    AUTO_MEM char *own = c->path || c->url ? NULL : gs_path(r, c->key);
    AUTO_MEM char *query = remote_encode_query(c);

    out->url =
        c->url ? mem_dup(c->url)
               : mem_printf("%s%s%s%s", g->base, c->path ? c->path : own, *query ? "?" : "", query);
    for (size_t i = 0; i < c->n_headers; i++)
        remote_request_add(out, mem_printf("%s: %s", c->headers[i].name, c->headers[i].value));
    /* The URL of an upload is what authorizes it, wherever it leads. */
    return c->url || g->is_anonymous ? 0 : add_token(r, g, out, e);
}
