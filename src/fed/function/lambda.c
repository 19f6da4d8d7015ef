/* The aggregator as an AWS Lambda function: fetches events from the runtime API and reports
 * results. main.c calls it. */
#include "base/log.h"
#include "base/mem.h"
#include "fed/function/invoke.h"

#include <string.h>

#define VERSION "2018-06-01"
/* Lambda freezes us while there is nothing to do: this must not end before that. */
#define WAIT_S 1e8
#define TIMEOUT_S 30.0
#define ID_MAX 200
/* The API is on this machine. When it does not answer any more, there is nothing left to do. */
#define FAILURES_MAX 5

static int post(struct http *h,
                const char *api,
                const char *path,
                const char *error_type,
                const json_t *body,
                struct err *e)
{
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};
    AUTO_MEM char *url = mem_printf("http://%s/" VERSION "/runtime/%s", api, path);
    AUTO_MEM char *text = json_dumps(body, JSON_COMPACT);
    AUTO_MEM char *type =
        error_type ? mem_printf("Lambda-Runtime-Function-Error-Type: %s", error_type) : NULL;
    const char *headers[] = {"Content-Type: application/json", type, NULL};
    struct http_request request = {
        .method = "POST",
        .url = url,
        .is_link_local = true,
        .headers = headers,
        .body = text,
        .body_bytes = strlen(text),
        .max_answer_bytes = FED_EVENT_BODY_MAX,
        .timeout_s = TIMEOUT_S,
    };

    if (http_send(h, &request, &answer, e) < 0)
        return -1;
    return answer.status == 202
               ? 0
               : err_set(e, ERR_IO, "%s: the runtime API answers %d", path, answer.status);
}

static json_t *error_json(const struct err *why, const char *type)
{
    return json_pack("{s:o, s:s, s:[]}", "errorMessage", json_text(why->text), "errorType", type,
                     "stackTrace");
}

static const char *type_of(enum err_kind kind)
{
    return kind == ERR_USAGE    ? "Tradewind.Refused"
           : kind == ERR_DENIED ? "Tradewind.Denied"
                                : "Tradewind.TryAgain";
}

static bool good_id(const char *id)
{
    return id && *id && strlen(id) < ID_MAX &&
           strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
               strlen(id);
}

static int answer_one(struct function *f,
                      struct http *h,
                      const char *api,
                      const struct http_answer *next,
                      struct err *e)
{
    const char *id = http_answer_header(next, "lambda-runtime-aws-request-id");
    AUTO_CLEAR(function_result) struct function_result result = {0};

    if (!good_id(id))
        return err_set(e, ERR_IO, "the runtime API gives no request id");
    struct function_message m = {.body = next->body, .n = next->body_bytes};
    function_invoke(f, &m, &result);
    if (!result.why.kind) {
        AUTO_MEM char *path = mem_printf("invocation/%s/response", id);
        return post(h, api, path, NULL, result.answer, e);
    }
    AUTO_MEM char *path = mem_printf("invocation/%s/error", id);
    AUTO_JSON json_t *why = error_json(&result.why, type_of(result.why.kind));
    return post(h, api, path, type_of(result.why.kind), why, e);
}

static int serve_one(struct function *f, struct http *h, const char *api, struct err *e)
{
    AUTO_CLEAR(http_answer) struct http_answer next = {0};
    AUTO_MEM char *url = mem_printf("http://%s/" VERSION "/runtime/invocation/next", api);
    struct http_request request = {
        .method = "GET",
        .url = url,
        .is_link_local = true,
        .max_answer_bytes = FED_EVENT_BODY_MAX + 1,
        .timeout_s = WAIT_S,
        .stall_s = WAIT_S,
    };

    if (http_send(h, &request, &next, e) < 0)
        return -1;
    if (next.status != 200)
        return err_set(e, ERR_IO, "next invocation: the runtime API answers %d", next.status);
    return answer_one(f, h, api, &next, e);
}

int function_lambda(struct function *f, const char *api, const struct err *cannot, struct err *e)
{
    unsigned failures = 0;
    AUTO(http) struct http *h = http_new(0, e);

    if (!h)
        return -1;
    if (!f) {
        AUTO_JSON json_t *why = error_json(cannot, "Tradewind.Settings");
        return post(h, api, "init/error", "Tradewind.Settings", why, e);
    }
    while (failures < FAILURES_MAX) {
        struct err why = {0};
        if (serve_one(f, h, api, &why) == 0) {
            failures = 0;
            continue;
        }
        log_warn("aggregator", "%s", why.text);
        failures++;
        if (e)
            *e = why;
        http_wait(h, failures + 1, 0.1, 2);
    }
    return -1;
}
