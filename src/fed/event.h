/* event: the messages by which object stores and clouds tell that an object was created, as lists
 * of buckets and keys. Read are
 *   - S3's notification ("Records"), as Amazon, Ceph and MinIO send it, and EventBridge's;
 *   - CloudEvents, structured, in a batch, or as headers (then the body is the data alone), of
 * Google (google.cloud.storage.object.v1.finalized) and Azure (Microsoft.Storage.BlobCreated);
 *   - Pub/Sub's notification of Google's storage (OBJECT_FINALIZE), as it is pushed;
 *   - Event Grid's own schema of Azure;
 *   - what Azure's functions host sends to a custom handler, around any of these. */
#ifndef FED_EVENT_H
#define FED_EVENT_H

#include "net/http.h"

#define FED_EVENT_BODY_MAX ((size_t)1 << 20)
#define FED_EVENTS_MAX 1000

enum fed_event_sender {
    FED_SENDER_S3,
    FED_SENDER_GOOGLE,
    FED_SENDER_AZURE,
};

struct fed_event {
    char *bucket, *key;
};

struct fed_events {
    struct fed_event *all;
    size_t n, cap;
    enum fed_event_sender sender;
    bool in_handler;  /* it came from Azure's functions host, which wants an answer of its kind */
    char *validation; /* Event Grid asks whether we want its events: the code to send back */
};
void fed_events_clear(struct fed_events *v);

/* The body, and the CloudEvents headers ce-type and ce-subject (NULL = none). Messages of other
 * kinds (tests, deletions) are no events: 0, and nothing is added. ERR_USAGE: this is none of the
 * above. */
int fed_events_read(struct fed_events *out,
                    const char *type,
                    const char *subject,
                    const char *body,
                    size_t n,
                    struct err *e);

/* An event of S3, as a store would send it, for stores that send none. */
struct fed_notice {
    const char *url;   /* of the aggregator */
    const char *token; /* a bearer's, or NULL */
    const char *bucket, *key;
};
/* One try. ERR_RETRY: it may work later, or the aggregator asks for the event again. ERR_USAGE: the
 * event is refused for good, as the answer says. *answered_out, unless NULL: whether there was an
 * answer. */
int fed_notify(struct http *h, const struct fed_notice *n, bool *answered_out, struct err *e);

#endif
