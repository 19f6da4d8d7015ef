/* retry: requests that are sent again while their failure may pass, as late as the service asks. */
#ifndef NET_RETRY_H
#define NET_RETRY_H

#include "net/http.h"

#include <stdint.h>

/* What an answer means. */
enum retry_verdict {
    RETRY_GOOD,
    RETRY_BAD,      /* the same next time; e says why */
    RETRY_AGAIN,    /* may pass */
    RETRY_THROTTLE, /* too many requests: wait longer than otherwise */
    RETRY_AT_ONCE,  /* the request is made anew, once: new keys, another clock */
};

struct retry {
    unsigned tries; /* in all */
    /* Before try n (2, 3, ...): at random up to first_wait_s doubled n - 2 times, at most
     * max_wait_s; three times both where the service throttles. Retry-After is a floor; where it is
     * more than longest_s the call fails and says so. */
    double first_wait_s, max_wait_s, longest_s;
    /* NULL = by the status: 408, 429 and 5xx may pass. Sets e unless the verdict is RETRY_GOOD. */
    enum retry_verdict (*judge)(void *context,
                                const struct http_request *r,
                                const struct http_answer *a,
                                struct err *e);
    /* Makes the request of a try (from 1) anew, such as its signature, and forgets what a sink got;
     * NULL = the request stays as it is. */
    int (*prepare)(void *context, unsigned n, struct http_request *r, struct err *e);
    bool (*cancelled)(void *context); /* looked at while waiting; NULL = never */
    void *context;
};

/* The verdict of a status alone: ERR_DENIED for 401 and 403, ERR_NOTFOUND for 404 and 410. */
enum retry_verdict retry_judge(const struct http_request *r,
                               const struct http_answer *a,
                               struct err *e);

/* Sends r as http_send does; 0 when the verdict of its answer is RETRY_GOOD. Else *out is empty; e
 * is what the last try said. */
int retry_send(struct http *h,
               const struct http_request *r,
               const struct retry *how,
               struct http_answer *out,
               struct err *e);

/* The seconds of the answer's Retry-After, given as seconds or as a date; 0 without one. */
double retry_after_s(const struct http_answer *a, int64_t now_ms);

#endif
