#include "net/retry.h"

#include "base/log.h"
#include "base/number.h"
#include "base/time.h"
#include "net/internal.h"

#include <math.h>
#include <unistd.h>

#define THROTTLE_FACTOR 3.0
/* How long a caller that is cancelled goes on waiting at most. */
#define SLICE_S 0.1

enum retry_verdict retry_judge(const struct http_request *r,
                               const struct http_answer *a,
                               struct err *e)
{
    char shown[NET_URL_SHOWN];
    int status = a->status;
    enum err_kind kind = ERR_IO;

    if (status >= 200 && status < 300)
        return RETRY_GOOD;
    if (status == 401 || status == 403)
        kind = ERR_DENIED;
    else if (status == 404 || status == 410)
        kind = ERR_NOTFOUND;
    else if (status == 408 || status == 429 || status >= 500)
        kind = ERR_RETRY;
    err_set(e, kind, "%s: the server answers %d", net_url_shown(r->url, shown), status);
    return kind != ERR_RETRY ? RETRY_BAD : status == 429 ? RETRY_THROTTLE : RETRY_AGAIN;
}

double retry_after_s(const struct http_answer *a, int64_t now_ms)
{
    const char *text = http_answer_header(a, "retry-after");
    double s;

    if (!text)
        return 0;
    if (number_parse(text, &s))
        return s > 0 ? s : 0;
    int64_t at_ms = time_from_http(text);
    return at_ms > now_ms ? (double)(at_ms - now_ms) / 1000 : 0;
}

static bool is_cancelled(const struct retry *how)
{
    return how->cancelled && how->cancelled(how->context);
}

/* Whether the time came; false: the caller wants no more. */
static bool wait_s(const struct retry *how, double s)
{
    double until = time_monotonic_s() + s, left = s;

    while (left > 0 && !is_cancelled(how)) {
        usleep((useconds_t)(fmin(left, SLICE_S) * 1e6) + 1);
        left = until - time_monotonic_s();
    }
    return !is_cancelled(how);
}

static enum retry_verdict try_once(struct http *h,
                                   struct http_request *r,
                                   const struct retry *how,
                                   struct http_answer *out,
                                   struct err *e)
{
    if (http_send(h, r, out, e) < 0)
        return e->kind == ERR_RETRY ? RETRY_AGAIN : RETRY_BAD;
    return how->judge ? how->judge(how->context, r, out, e) : retry_judge(r, out, e);
}

/* Waits before try n, as the verdict on the one before asks; -1 when there is to be none. */
static int wait_for_try(struct http *h,
                        const struct retry *how,
                        unsigned n,
                        enum retry_verdict verdict,
                        double least_s,
                        struct err *e)
{
    double factor = verdict == RETRY_THROTTLE ? THROTTLE_FACTOR : 1;
    double most = fmin(ldexp(how->first_wait_s, n > 40 ? 38 : (int)n - 2), how->max_wait_s);

    if (least_s > how->longest_s) {
        char text[32];
        return err_wrap(e, "the service asks to wait %s", time_text(least_s, text));
    }
    log_info("net", "%s; try %u of %u follows", e->text, n, how->tries);
    if (!wait_s(how, fmax(least_s, net_random(h) * most * factor)))
        return err_set(e, ERR_RETRY, "interrupted");
    return 0;
}

int retry_send(struct http *h,
               const struct http_request *r,
               const struct retry *how,
               struct http_answer *out,
               struct err *e)
{
    struct http_request request = *r;
    struct err why = {0};
    bool turned = false;

    for (unsigned n = 1;; n++) {
        if (how->prepare && how->prepare(how->context, n, &request, e) < 0)
            return -1;
        enum retry_verdict verdict = try_once(h, &request, how, out, &why);
        if (verdict == RETRY_GOOD)
            return 0;
        double least_s = retry_after_s(out, time_epoch_ms());
        http_answer_clear(out);
        if (verdict == RETRY_AT_ONCE && !turned) {
            turned = true;
            continue;
        }
        bool more = verdict == RETRY_AGAIN || verdict == RETRY_THROTTLE;
        if (more && n >= how->tries)
            err_wrap(&why, "gave up after %u tries", n);
        if (!more || n >= how->tries || wait_for_try(h, how, n + 1, verdict, least_s, &why) < 0)
            return err_set(e, why.kind, "%s", why.text);
    }
}
