/* notify: sends the event of an object to an aggregator, for stores that send none. */
#ifndef FED_NOTIFY_H
#define FED_NOTIFY_H

#include "base/err.h"
#include "net/http.h"

#include <stdbool.h>

/* One try. ERR_RETRY: it may work later, or who got it asks for the event again. ERR_USAGE: the
 * event is refused for good, as the answer says. token: a bearer's, or NULL. *answered_out, unless
 * NULL: whether anybody answered. */
int fed_notify(struct http *h,
               const char *url,
               const char *token,
               const char *bucket,
               const char *key,
               bool *answered_out,
               struct err *e);

#endif
