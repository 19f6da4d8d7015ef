/* Error answers of buckets as error kinds and messages, as far as all services give the same ones.
 * Their own files judge with it. */
#include "store/remote.h"

#include <stdio.h>
#include <string.h>

bool remote_will_pass(int status)
{
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
           status == 504;
}

int remote_say(const struct remote *r,
               const struct remote_call *c,
               const struct remote_answer *a,
               const struct remote_failure *f,
               enum err_kind kind,
               struct err *e)
{
    return err_set(e, kind, "%s %s/%s: the server answers %d%s%s%s%s", c->operation, r->shown,
                   c->key ? c->key : "", a->http.status, *f->code ? " " : "", f->code,
                   *f->message ? ": " : "", f->message);
}

int remote_say_final(const struct remote *r,
                     const struct remote_call *c,
                     const struct remote_answer *a,
                     const struct remote_failure *f,
                     struct err *e)
{
    int status = a->http.status;
    const char *key = c->key ? c->key : "";

    if (status == 401 || status == 403)
        return err_set(e, ERR_DENIED, "%s refuses to %s: %d %s%s%s; allow %s", r->shown,
                       c->operation, status, *f->code ? f->code : "Forbidden",
                       *f->message ? ": " : "", f->message, f->permission);
    if (strcmp(f->code, "NoSuchBucket") == 0)
        return err_set(e, ERR_NOTFOUND, "%s %s does not exist; tradewind init creates it",
                       r->service->noun, r->bucket);
    if (status == 404)
        return err_set(e, ERR_NOTFOUND, "%s/%s does not exist", r->shown, key);
    if (status == 416)
        return err_set(e, ERR_IO, "%s/%s is too short", r->shown, key);
    return remote_say(r, c, a, f, ERR_IO, e);
}
