/* Error answers of Google as error kinds and messages. The driver lists the function. */
#include "base/json.h"
#include "store/gs/gs.h"

#include <stdio.h>
#include <string.h>

struct failure {
    char code[REMOTE_CODE];
    char message[REMOTE_MESSAGE];
};

static void copy(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%.*s", (int)strcspn(text, "\r\n"), text);
}

/* Downloads fail with a line of text, other requests with JSON, and proxies with HTML. */
static void read_answer(const struct remote_answer *a, struct failure *f)
{
    AUTO_JSON json_t *root =
        json_loadb(a->http.body ? a->http.body : "", a->http.body_bytes, 0, NULL);
    const json_t *error = json_object_get(root, "error");
    const json_t *first = json_array_get(json_object_get(error, "errors"), 0);
    const char *reason = json_string_value(json_object_get(first, "reason"));
    const char *message = json_string_value(json_object_get(error, "message"));

    if (reason)
        copy(f->code, sizeof f->code, reason);
    if (message)
        copy(f->message, sizeof f->message, message);
    else if (!root && a->http.body && *a->http.body != '<')
        copy(f->message, sizeof f->message, a->http.body);
}

/* As the other services call them. */
static void name_missing(const struct remote_call *c, int status, struct failure *f)
{
    if (status == 410 || (status == 404 && c->url))
        snprintf(f->code, sizeof f->code, "NoSuchUpload");
    else if (status == 404)
        snprintf(f->code, sizeof f->code, "%s",
                 strstr(f->message, "bucket does not exist") ? "NoSuchBucket" : "NoSuchKey");
}

/* Not every 403 is about permissions. */
static bool will_pass(int status, const char *code)
{
    static const char *const passing[] = {"rateLimitExceeded", "userRateLimitExceeded",
                                          "backendError", "internalError"};

    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (strcmp(code, passing[i]) == 0)
            return true;
    return remote_will_pass(status);
}

static const char *permission_for(const char *operation)
{
    if (strcmp(operation, "write") == 0)
        return "storage.objects.create (role Storage Object User)";
    if (strcmp(operation, "delete") == 0)
        return "storage.objects.delete (role Storage Object User)";
    if (strcmp(operation, "list") == 0)
        return "storage.objects.list (role Storage Object Viewer)";
    return "storage.objects.get (role Storage Object Viewer)";
}

static bool turn_token(struct remote *r, const struct remote_answer *a)
{
    struct gs *g = r->own;

    if (g->is_anonymous)
        return false;
    pthread_mutex_lock(&r->lock);
    token_cache_refuse(&g->tokens, a->round);
    pthread_mutex_unlock(&r->lock);
    return true;
}

enum remote_verdict gs_judge(struct remote *r,
                             const struct remote_call *c,
                             struct remote_answer *a,
                             struct err *e)
{
    struct failure f = {0};
    int status = a->http.status;
    const struct remote_failure failure = {
        .code = f.code, .message = f.message, .permission = permission_for(c->operation)};

    /* 308: an upload goes on. */
    if ((status >= 200 && status < 300) || (status == 308 && c->url))
        return REMOTE_GOOD;
    read_answer(a, &f);
    name_missing(c, status, &f);
    memcpy(a->code, f.code, sizeof a->code);
    if (will_pass(status, f.code)) {
        remote_say(r, c, a, &failure, ERR_RETRY, e);
        return REMOTE_WAIT;
    }
    remote_say_final(r, c, a, &failure, e);
    return status == 401 && !c->url && turn_token(r, a) ? REMOTE_TURN : REMOTE_BAD;
}
