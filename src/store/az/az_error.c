/* Error answers of Azure as error kinds and messages. The driver lists the function. */
#include "base/time.h"
#include "net/xml.h"
#include "store/az/az.h"

#include <stdio.h>
#include <string.h>

/* Azure refuses signatures that are older than a quarter of an hour. */
#define SKEW_MS INT64_C(300000)

struct failure {
    char code[REMOTE_CODE];
    char message[REMOTE_MESSAGE];
};

/* The message's first line: identifiers follow, and details repeat what was signed. */
static int read_failure(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    struct failure *f = context;

    (void)e;
    if (strcmp(parent, "Error") != 0)
        return 0;
    if (strcmp(name, "Code") == 0)
        snprintf(f->code, sizeof f->code, "%.*s", REMOTE_CODE - 1, text);
    else if (strcmp(name, "Message") == 0)
        snprintf(f->message, sizeof f->message, "%.*s", (int)strcspn(text, "\r\n"), text);
    return 0;
}

static void read_answer(const struct remote_answer *a, struct failure *f)
{
    const char *code = http_answer_header(&a->http, "x-ms-error-code");

    /* What is no XML has no code: proxies answer in HTML. */
    if (a->http.body_bytes && xml_read(a->http.body, a->http.body_bytes, read_failure, f, NULL) < 0)
        *f = (struct failure){0};
    if (code)
        snprintf(f->code, sizeof f->code, "%s", code);
    /* As the other services call them. */
    if (strcmp(f->code, "ContainerNotFound") == 0)
        snprintf(f->code, sizeof f->code, "NoSuchBucket");
    else if (strcmp(f->code, "BlobNotFound") == 0)
        snprintf(f->code, sizeof f->code, "NoSuchKey");
}

static bool will_pass(int status, const char *code)
{
    static const char *const passing[] = {
        "ServerBusy",  "OperationTimedOut", "InternalError", "ContainerBeingDeleted",
        "Md5Mismatch", /* the bytes were damaged on the way */
    };

    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (strcmp(code, passing[i]) == 0)
            return true;
    return remote_will_pass(status);
}

/* ---- what is refused ---- */

/* Once: the server's date tells what time it is. */
static bool turn_clock(struct remote *r, const struct remote_answer *a)
{
    struct az *az = r->own;
    const char *date = http_answer_header(&a->http, "date");
    int64_t server_ms = date ? time_from_http(date) : 0, ahead_ms = server_ms - time_epoch_ms();

    if (!server_ms || (ahead_ms < SKEW_MS && ahead_ms > -SKEW_MS))
        return false;
    pthread_mutex_lock(&r->lock);
    bool is_new = az->skew_ms == 0;
    if (is_new)
        az->skew_ms = ahead_ms;
    pthread_mutex_unlock(&r->lock);
    return is_new;
}

static bool turn_token(struct remote *r, const struct remote_answer *a)
{
    struct az *az = r->own;

    pthread_mutex_lock(&r->lock);
    bool by_token = !az->key && !az->sas.hidden;
    if (by_token)
        token_cache_refuse(&az->tokens, a->round);
    pthread_mutex_unlock(&r->lock);
    return by_token;
}

static const char *permission_for(const char *operation)
{
    if (strcmp(operation, "write") == 0)
        return "the role Storage Blob Data Contributor (blobs/write), or SAS permissions c and w";
    if (strcmp(operation, "delete") == 0)
        return "the role Storage Blob Data Contributor (blobs/delete), or the SAS permission d";
    return "the role Storage Blob Data Reader (blobs/read), or SAS permissions r and l";
}

static int say_final(const struct remote *r,
                     const struct remote_call *c,
                     const struct remote_answer *a,
                     const struct failure *f,
                     struct err *e)
{
    const struct az *az = r->own;
    const struct remote_failure failure = {
        .code = f->code, .message = f->message, .permission = permission_for(c->operation)};

    if (strcmp(f->code, "AuthenticationFailed") == 0 ||
        strcmp(f->code, "AuthorizationFailure") == 0)
        return err_set(e, ERR_DENIED, "%s refuses the %s: %d %s", r->shown,
                       az->key          ? "account's key (it does not belong to the account)"
                       : az->sas.hidden ? "shared access signature"
                                        : "token",
                       a->http.status, f->code);
    if (strcmp(f->code, "PublicAccessNotPermitted") == 0)
        return err_set(e, ERR_DENIED, "%s needs credentials: %s", r->shown, f->code);
    return remote_say_final(r, c, a, &failure, e);
}

enum remote_verdict az_judge(struct remote *r,
                             const struct remote_call *c,
                             struct remote_answer *a,
                             struct err *e)
{
    struct failure f = {0};
    int status = a->http.status;

    if (status >= 200 && status < 300)
        return REMOTE_GOOD;
    read_answer(a, &f);
    memcpy(a->code, f.code, sizeof a->code);
    if (will_pass(status, f.code)) {
        const struct remote_failure failure = {.code = f.code, .message = f.message};
        remote_say(r, c, a, &failure, ERR_RETRY, e);
        return REMOTE_WAIT;
    }
    say_final(r, c, a, &f, e);
    if (status == 403 && strcmp(f.code, "AuthenticationFailed") == 0 && turn_clock(r, a))
        return REMOTE_TURN;
    return status == 401 && turn_token(r, a) ? REMOTE_TURN : REMOTE_BAD;
}
