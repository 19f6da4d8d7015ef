/* Calls to the services of clouds, with retries, and a list of what was called. The other files of
 * this room call it. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "catalog/feed/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES 6
#define FIRST_WAIT_S 1.0
#define MAX_WAIT_S 20.0
/* A service that asks for more is not waited for. */
#define LONGEST_WAIT_S 300.0
#define CALL_TIMEOUT_S 60.0
/* Azure's whole list has some 6,000 pages of 100 items. */
#define PAGES_MAX 20000

const char *const feed_cloud_texts[FEED_N_CLOUDS] = {
    [FEED_AWS] = "aws", [FEED_AZURE] = "azure", [FEED_GCP] = "gcp"};

struct feed *feed_new(const struct feed_settings *settings, struct err *e)
{
    AUTO(feed) struct feed *f = mem_zero(1, sizeof *f);

    f->settings = *settings;
    f->http = http_new((uint64_t)time_epoch_ms() ^ (uint64_t)getpid(), e);
    if (!f->http)
        return NULL;
    if (settings->may_be_exposed)
        http_allow_exposed(f->http);
    return TAKE(f);
}

void feed_free(struct feed *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n_calls; i++)
        free(f->calls[i].url);
    free(f->calls);
    credentials_clear(&f->credentials);
    http_free(f->http);
    free(f);
}

const struct feed_call *feed_calls(const struct feed *f, size_t *n_out)
{
    *n_out = f->n_calls;
    return f->calls;
}

bool feed_region_good(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return n > 0 && n <= 40 && !text[n] && *text != '-';
}

char *feed_address(const char *setting, const char *own)
{
    char *address = mem_dup(setting && *setting ? setting : own);

    for (size_t n = strlen(address); n && address[n - 1] == '/'; n--)
        address[n - 1] = '\0';
    return address;
}

static bool is_cancelled(void *context)
{
    const struct feed *f = context;

    return f->settings.cancelled && f->settings.cancelled(f->settings.context);
}

int feed_check_cancelled(const struct feed *f, struct err *e)
{
    bool cancelled = f->settings.cancelled && f->settings.cancelled(f->settings.context);

    return cancelled ? err_set(e, ERR_RETRY, "interrupted") : 0;
}

void feed_status(const struct feed *f, const char *fmt, ...)
{
    char text[300];
    va_list args;

    if (!f->settings.status)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    f->settings.status(f->settings.context, text);
}

static void note_call(struct feed *f, const struct http_request *r, const char *action)
{
    size_t n = strcspn(r->url, "?");

    for (size_t i = 0; i < f->n_calls; i++) {
        struct feed_call *c = &f->calls[i];
        if (strcmp(c->method, r->method) == 0 && strcmp(c->action, action) == 0 &&
            strncmp(c->url, r->url, n) == 0 && !c->url[n]) {
            c->count++;
            return;
        }
    }
    f->calls = mem_room(f->calls, f->n_calls, &f->cap_calls, sizeof *f->calls);
    f->calls[f->n_calls++] =
        (struct feed_call){r->method, mem_printf("%.*s", (int)n, r->url), action, 1};
}

/* Retries look at the caller's context; cancelling is ours. */
struct calling {
    struct feed *feed;
    const struct retry *how;
};

static bool calling_cancelled(void *context)
{
    return is_cancelled(((struct calling *)context)->feed);
}

static int calling_prepare(void *context, unsigned n, struct http_request *r, struct err *e)
{
    const struct calling *c = context;

    return c->how && c->how->prepare ? c->how->prepare(c->how->context, n, r, e) : 0;
}

static enum retry_verdict calling_judge(void *context,
                                        const struct http_request *r,
                                        const struct http_answer *a,
                                        struct err *e)
{
    const struct calling *c = context;

    return c->how && c->how->judge ? c->how->judge(c->how->context, r, a, e) : retry_judge(r, a, e);
}

int feed_call(struct feed *f,
              const struct http_request *r,
              const char *action,
              const struct retry *how,
              struct http_answer *out,
              struct err *e)
{
    struct calling calling = {f, how};
    double first_wait_s = f->settings.first_wait_s > 0 ? f->settings.first_wait_s : FIRST_WAIT_S;
    const struct retry retry = {
        .tries = TRIES,
        .first_wait_s = first_wait_s,
        .max_wait_s = MAX_WAIT_S,
        .longest_s = LONGEST_WAIT_S,
        .judge = calling_judge,
        .prepare = calling_prepare,
        .cancelled = calling_cancelled,
        .context = &calling,
    };
    struct http_request request = *r;

    if (request.timeout_s <= 0)
        request.timeout_s = CALL_TIMEOUT_S;
    if (feed_check_cancelled(f, e) < 0)
        return -1;
    note_call(f, r, action);
    return retry_send(f->http, &request, &retry, out, e);
}

/* ---- JSON ---- */

/* What a refusal says about itself: Azure and Google answer {"error": {"message": ...}}. */
static void add_message(const struct http_answer *a, struct err *e)
{
    AUTO_JSON json_t *root = json_loadb(a->body, a->body_bytes, 0, NULL);
    const json_t *error = json_object_get(root, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    struct err said = *e;

    /* Google refuses a bad key as a bad request. */
    bool is_key = message && strstr(message, "API key");
    if (message && *message)
        err_set(e, is_key ? ERR_DENIED : said.kind, "%s: %.200s", said.text, message);
}

/* What is no JSON though it should be was cut on its way, or is a page of another host: the call is
 * made again once. */
static enum retry_verdict judge_json(void *context,
                                     const struct http_request *r,
                                     const struct http_answer *a,
                                     struct err *e)
{
    json_t **root_out = context;
    json_error_t wrong;
    enum retry_verdict verdict = retry_judge(r, a, e);

    if (verdict != RETRY_GOOD) {
        add_message(a, e);
        return verdict;
    }
    *root_out = json_loadb(a->body, a->body_bytes, 0, &wrong);
    if (*root_out)
        return RETRY_GOOD;
    err_set(e, ERR_IO, "%.*s: the answer is no JSON: %s", (int)strcspn(r->url, "?"), r->url,
            wrong.text);
    return RETRY_AT_ONCE;
}

json_t *feed_get_json(struct feed *f, const char *url, size_t max_bytes, struct err *e)
{
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};
    AUTO_JSON json_t *root = NULL;
    const struct http_request request = {
        .method = "GET", .url = url, .max_answer_bytes = max_bytes};
    const struct retry how = {.judge = judge_json, .context = &root};

    return feed_call(f, &request, "", &how, &answer, e) < 0 ? NULL : TAKE(root);
}

/* ---- pages ---- */

int feed_pages_add(struct feed_pages *p, const char *name, const char *token, struct err *e)
{
    uint64_t hash = hash_xxh3(token, strlen(token));

    for (size_t i = 0; i < p->n; i++)
        if (p->seen[i] == hash)
            return err_set(e, ERR_IO, "%s: page %zu leads back to an earlier page", name, p->n);
    if (p->n == PAGES_MAX)
        return err_set(e, ERR_IO, "%s: more than %d pages", name, PAGES_MAX);
    p->seen = mem_room(p->seen, p->n, &p->cap, sizeof *p->seen);
    p->seen[p->n++] = hash;
    return 0;
}

void feed_pages_clear(struct feed_pages *p)
{
    free(p->seen);
    *p = (struct feed_pages){0};
}
