#include "fed/notify.h"

#include "base/mem.h"
#include "fed/event.h"

#include <string.h>

#define ANSWER_MAX ((size_t)64 << 10)
/* Whoever gets the last event of a round answers when it has averaged it. */
#define TIMEOUT_S 900.0

int fed_notify(struct http *h,
               const char *url,
               const char *token,
               const char *bucket,
               const char *key,
               bool *answered_out,
               struct err *e)
{
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};
    AUTO_MEM char *body = fed_event_write(bucket, key);
    AUTO_MEM char *bearer = token ? mem_printf("Authorization: Bearer %s", token) : NULL;
    const char *headers[] = {"Content-Type: application/json", bearer, NULL};
    struct http_request request = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .body = body,
        .body_bytes = strlen(body),
        .max_answer_bytes = ANSWER_MAX,
        .timeout_s = TIMEOUT_S,
        .stall_s = TIMEOUT_S,
    };

    bool answered = http_send(h, &request, &answer, e) == 0;
    if (answered_out)
        *answered_out = answered;
    if (!answered)
        return err_wrap(e, "tell of %s", key);
    if (answer.status >= 200 && answer.status < 300)
        return 0;
    bool refused = answer.status == 400 || answer.status == 422;
    bool denied = answer.status == 401 || answer.status == 403;
    return err_set(e,
                   refused  ? ERR_USAGE
                   : denied ? ERR_DENIED
                            : ERR_RETRY,
                   "tell of %s: the aggregator answers %d: %.200s", key, answer.status,
                   answer.body);
}
