/* Any answer of Azure's or Google's service is judged, with words and a kind that fit the verdict,
 * and any page of a list, any object's JSON is read or refused. */
#include "base/mem.h"
#include "store/az/az.h"
#include "store/gs/gs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const struct store_driver *driver, void *own, int status, char *body, size_t n)
{
    char bucket[] = "bucket", shown[] = "az://account/bucket";
    struct remote r = {.bucket = bucket,
                       .shown = shown,
                       .service = driver->service,
                       .own = own,
                       .lock = PTHREAD_MUTEX_INITIALIZER};
    struct remote_call call = {.operation = "read", .method = "GET", .key = "a/key"};
    struct remote_answer answer = {.http = {.status = status, .body = body, .body_bytes = n}};
    struct err e = {0};

    enum remote_verdict verdict = r.service->judge(&r, &call, &answer, &e);
    assert((verdict == REMOTE_GOOD) == (e.kind == ERR_NONE));
    assert((verdict == REMOTE_WAIT) == (e.kind == ERR_RETRY));
    assert(verdict == REMOTE_GOOD || *e.text);
    assert(strlen(answer.code) < sizeof answer.code);
}

static int see(struct remote_page *p, struct err *e)
{
    (void)e;
    assert(strlen(p->key) < sizeof p->key && p->size <= INT64_MAX);
    return 0;
}

static void read_pages(const char *body, size_t n, bool delimited)
{
    struct remote_page *p = mem_zero(1, sizeof *p);
    struct err e = {0};

    p->each = see;
    p->prefix = "a/";
    p->delimiter = delimited ? "/" : NULL;
    if (az_read_page(p, body, n, &e) < 0)
        assert(*e.text);
    assert(strlen(p->next) < sizeof p->next);
    *p = (struct remote_page){.each = see, .prefix = "a/", .delimiter = p->delimiter};
    e = (struct err){0};
    if (gs_read_page(p, body, n, &e) < 0)
        assert(*e.text);
    assert(strlen(p->next) < sizeof p->next);
    free(p);
}

/* The first byte chooses the status and the kind of list, the rest is the body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 206, 308, 400, 401, 403, 404, 409, 410, 412, 416, 429, 503};
    struct az az = {.sas.hidden = (char[]){"s"}};
    struct gs gs = {.is_anonymous = true};
    struct gs_object object = {0};
    struct err e = {0};

    if (size < 1)
        return 0;
    size_t n = size - 1;
    AUTO_MEM char *body = mem_zero(n + 1, 1);
    memcpy(body, data + 1, n);
    int status = statuses[data[0] / 2 % (sizeof statuses / sizeof *statuses)];
    judge(&store_az_driver, &az, status, body, n);
    judge(&store_gs_driver, &gs, status, body, n);
    read_pages(body, n, data[0] % 2);
    if (gs_read_object(body, n, &object, &e) == 0)
        assert(*object.generation && object.size <= INT64_MAX);
    else
        assert(e.kind == ERR_IO);
    return 0;
}
