/* Any answer of an S3 server is judged: a verdict with words and a kind that fit it. */
#include "store/s3/s3.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first two bytes choose status and method, the rest is the body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 206, 301, 307, 400, 403, 404, 409, 412, 416, 500, 501, 503};
    static const char *const methods[] = {"GET", "PUT", "POST", "HEAD", "DELETE"};
    char bucket[] = "bucket";
    struct s3 s = {0};
    struct remote r = {.bucket = bucket,
                       .shown = bucket,
                       .service = store_s3_driver.service,
                       .own = &s,
                       .lock = PTHREAD_MUTEX_INITIALIZER};
    struct err e = {0};

    if (size < 2)
        return 0;
    struct remote_call call = {
        .operation = "read",
        .method = methods[data[1] % (sizeof methods / sizeof *methods)],
        .key = "a/key",
    };
    size_t n = size - 2;
    AUTO_MEM char *body = malloc(n + 1);
    assert(body);
    memcpy(body, data + 2, n);
    body[n] = '\0';
    struct remote_answer answer = {.http.status =
                                       statuses[data[0] % (sizeof statuses / sizeof(int))]};
    answer.http.body = body;
    answer.http.body_bytes = n;

    enum remote_verdict verdict = s3_judge(&r, &call, &answer, &e);
    assert((verdict == REMOTE_GOOD) == (e.kind == ERR_NONE));
    assert((verdict == REMOTE_WAIT) == (e.kind == ERR_RETRY));
    assert(verdict == REMOTE_TURN || !s.region);
    assert(verdict == REMOTE_GOOD || *e.text);
    assert(strlen(answer.code) < sizeof answer.code);
    free(s.region);
    return 0;
}
