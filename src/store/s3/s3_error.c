/* Error answers of S3 as error kinds and messages. The driver lists the
 * function. */
#include "net/xml.h"
#include "store/s3/s3.h"

#include <stdio.h>
#include <string.h>

#define REGION 64

struct failure {
    bool is_error;
    char code[REMOTE_CODE];
    char message[REMOTE_MESSAGE];
    char region[REGION];
};

static int read_failure(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    struct failure *t = context;

    (void)e;
    if (strcmp(parent, "") == 0)
        t->is_error = strcmp(name, "Error") == 0;
    if (strcmp(parent, "Error") != 0)
        return 0;
    if (strcmp(name, "Code") == 0)
        snprintf(t->code, sizeof t->code, "%.*s", REMOTE_CODE - 1, text);
    else if (strcmp(name, "Message") == 0)
        snprintf(t->message, sizeof t->message, "%.*s", REMOTE_MESSAGE - 1, text);
    else if (strcmp(name, "Region") == 0)
        snprintf(t->region, sizeof t->region, "%.*s", REGION - 1, text);
    return 0;
}

static bool one_of(const char *code, const char *const *codes)
{
    for (; *codes; codes++) {
        if (strcmp(code, *codes) == 0)
            return true;
    }
    return false;
}

static bool will_pass(int status, const char *code)
{
    static const char *const passing[] = {
        "SlowDown",
        "RequestTimeout",
        "InternalError",
        "ServiceUnavailable",
        "OperationAborted",
        /* another client writes the same key at this moment */
        "ConditionalRequestConflict",
        /* the bytes were damaged on the way */
        "XAmzContentSHA256Mismatch",
        NULL,
    };

    return remote_will_pass(status) || one_of(code, passing);
}

/* Where the bucket really lies, when that is what the answer says and it is news. */
static const char *other_region(const struct remote_answer *a, const struct failure *t)
{
    const char *named = http_answer_header(&a->http, "x-amz-bucket-region");
    bool wrong = a->http.status == 301 || a->http.status == 307 ||
                 strcmp(t->code, "AuthorizationHeaderMalformed") == 0 ||
                 strcmp(t->code, "IllegalLocationConstraintException") == 0 ||
                 /* to HEAD, which has no body */
                 (a->http.status == 400 && !*t->code);

    if (!wrong)
        return NULL;
    return named && *named ? named : *t->region ? t->region : NULL;
}

static int say_denied(const struct remote *r, const struct failure *t, int status, struct err *e)
{
    const char *hint = "";

    if (strcmp(t->code, "SignatureDoesNotMatch") == 0)
        hint = " (the secret key does not belong to the key id)";
    else if (strcmp(t->code, "InvalidAccessKeyId") == 0)
        hint = " (the key id is unknown there)";
    return err_set(e, ERR_DENIED, "bucket %s refuses the access keys: %d %s%s%s%s", r->bucket,
                   status, *t->code ? t->code : "Forbidden", hint, *t->message ? ": " : "",
                   t->message);
}

/* An answer that will be the same next time. */
static int say_final(const struct remote *r,
                     const struct remote_call *c,
                     const struct remote_answer *a,
                     const struct failure *t,
                     struct err *e)
{
    static const char *const denied[] = {
        "AccessDenied",      "SignatureDoesNotMatch", "InvalidAccessKeyId", "AccountProblem",
        "AllAccessDisabled", "ExpiredToken",          "InvalidToken",       NULL,
    };
    const struct remote_failure failure = {.code = t->code, .message = t->message};
    int status = a->http.status;
    const char *date = http_answer_header(&a->http, "date");

    if (strcmp(t->code, "RequestTimeTooSkewed") == 0)
        return err_set(e, ERR_DENIED,
                       "bucket %s refuses requests because this machine's clock is wrong: set it "
                       "(the server's date is %s)",
                       r->bucket, date ? date : "not given");
    if (status == 401 || status == 403 || one_of(t->code, denied))
        return say_denied(r, t, status, e);
    return remote_say_final(r, c, a, &failure, e);
}

enum remote_verdict s3_judge(struct remote *r,
                             const struct remote_call *c,
                             struct remote_answer *a,
                             struct err *e)
{
    struct failure t = {0};
    int status = a->http.status;
    bool good = status >= 200 && status < 300;

    /* Only an upload's completion may fail after its 200 has gone out. */
    if (good && strcmp(c->method, "POST") != 0)
        return REMOTE_GOOD;
    /* What is no XML has no code: proxies answer in HTML. */
    if (a->http.body_bytes &&
        xml_read(a->http.body, a->http.body_bytes, read_failure, &t, NULL) < 0 && !t.is_error)
        t = (struct failure){0};
    if (good && !t.is_error)
        return REMOTE_GOOD;
    memcpy(a->code, t.code, sizeof a->code);
    if (will_pass(status, t.code)) {
        const struct remote_failure failure = {.code = t.code, .message = t.message};
        remote_say(r, c, a, &failure, ERR_RETRY, e);
        return REMOTE_WAIT;
    }
    say_final(r, c, a, &t, e);
    const char *region = other_region(a, &t);
    if (region) {
        s3_move_to(r, region);
        return REMOTE_TURN;
    }
    if (strcmp(t.code, "ExpiredToken") != 0)
        return REMOTE_BAD;
    s3_forget_keys(r);
    return REMOTE_TURN;
}
