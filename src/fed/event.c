#include "fed/event.h"

#include "base/auto.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/sigv4.h"

#include <stdlib.h>
#include <string.h>

/* A handler's message holds a request's body, which holds an array of events. */
#define DEPTH_MAX 5
#define TEXT_MAX 2048
#define ANSWER_MAX ((size_t)64 << 10)
/* The aggregator answers the last event of a round when it has averaged it. */
#define TIMEOUT_S 900.0
static const char google_created[] = "google.cloud.storage.object.v1.finalized";
static const char azure_created[] = "Microsoft.Storage.BlobCreated";
static const char azure_validation[] = "Microsoft.EventGrid.SubscriptionValidationEvent";

void fed_events_clear(struct fed_events *v)
{
    for (size_t i = 0; i < v->n; i++) {
        free(v->all[i].bucket);
        free(v->all[i].key);
    }
    free(v->all);
    free(v->validation);
    *v = (struct fed_events){0};
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static int add(struct fed_events *v,
               enum fed_event_sender sender,
               const char *bucket,
               const char *key,
               struct err *e)
{
    if (!bucket || !key)
        return err_set(e, ERR_USAGE, "the event names no %s", bucket ? "object" : "bucket");
    if (strlen(bucket) > TEXT_MAX || strlen(key) > TEXT_MAX)
        return err_set(e, ERR_USAGE, "the event's names are too long");
    if (v->n == FED_EVENTS_MAX)
        return err_set(e, ERR_USAGE, "more than %d events at once", FED_EVENTS_MAX);
    v->all = mem_room(v->all, v->n, &v->cap, sizeof *v->all);
    v->all[v->n++] = (struct fed_event){mem_dup(bucket), mem_dup(key)};
    v->sender = sender;
    return 0;
}

/* ---- S3 ---- */

static int read_records(struct fed_events *v, const json_t *records, struct err *e)
{
    size_t i;
    const json_t *record;

    json_array_foreach(records, i, record)
    {
        const json_t *s3 = json_object_get(record, "s3");
        const char *what = text_of(record, "eventName");
        const char *key = text_of(json_object_get(s3, "object"), "key");
        /* Amazon leaves the "s3:" out. */
        if (what && strncmp(what, "s3:", 3) == 0)
            what += 3;
        if (!what || strncmp(what, "ObjectCreated:", 14) != 0)
            continue;
        AUTO_MEM char *plain = key ? sigv4_decode(key) : NULL;
        if (add(v, FED_SENDER_S3, text_of(json_object_get(s3, "bucket"), "name"), plain, e) < 0)
            return -1;
    }
    return 0;
}

static int read_bridge(struct fed_events *v, const json_t *o, struct err *e)
{
    const json_t *detail = json_object_get(o, "detail");
    const char *what = text_of(o, "detail-type");

    if (!what || strcmp(what, "Object Created") != 0)
        return 0;
    return add(v, FED_SENDER_S3, text_of(json_object_get(detail, "bucket"), "name"),
               text_of(json_object_get(detail, "object"), "key"), e);
}

/* ---- Google ---- */

static int read_pubsub(struct fed_events *v, const json_t *message, struct err *e)
{
    const json_t *attributes = json_object_get(message, "attributes");
    const char *what = text_of(attributes, "eventType");

    v->sender = FED_SENDER_GOOGLE;
    if (!what || strcmp(what, "OBJECT_FINALIZE") != 0)
        return 0;
    return add(v, FED_SENDER_GOOGLE, text_of(attributes, "bucketId"),
               text_of(attributes, "objectId"), e);
}

/* ---- Azure ---- */

/* "/blobServices/default/containers/NAME/blobs/PATH" */
static int read_blob(struct fed_events *v, const char *subject, struct err *e)
{
    static const char before[] = "/containers/", between[] = "/blobs/";
    const char *container = subject ? strstr(subject, before) : NULL;
    const char *path = container ? strstr(container + strlen(before), between) : NULL;

    if (!path)
        return err_set(e, ERR_USAGE, "the event's subject \"%.100s\" names no blob",
                       subject ? subject : "");
    container += strlen(before);
    AUTO_MEM char *name = mem_printf("%.*s", (int)(path - container), container);
    return add(v, FED_SENDER_AZURE, name, path + strlen(between), e);
}

/* ---- CloudEvents and Event Grid, which differ in the name of the type alone ---- */

static int read_typed(
    struct fed_events *v, const char *type, const char *subject, const json_t *data, struct err *e)
{
    bool google = strncmp(type, "google.", 7) == 0;

    v->sender = google ? FED_SENDER_GOOGLE : FED_SENDER_AZURE;
    if (strcmp(type, google_created) == 0)
        return add(v, FED_SENDER_GOOGLE, text_of(data, "bucket"), text_of(data, "name"), e);
    if (strcmp(type, azure_created) == 0)
        return read_blob(v, subject, e);
    if (strcmp(type, azure_validation) == 0) {
        const char *code = text_of(data, "validationCode");
        if (!code || strlen(code) > TEXT_MAX)
            return err_set(e, ERR_USAGE, "Event Grid's validation has no code");
        free(v->validation);
        v->validation = mem_dup(code);
    }
    return 0;
}

/* ---- whatever it is ---- */

static int read_any(struct fed_events *v, const json_t *o, unsigned depth, struct err *e);

static json_t *parse(const char *text, size_t n, struct err *e)
{
    json_error_t why;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);

    if (!root)
        err_set(e, ERR_USAGE, "the event is not JSON: byte %d: %s", why.position, why.text);
    return root;
}

static int read_text(struct fed_events *v, const json_t *text, unsigned depth, struct err *e)
{
    AUTO_JSON json_t *root = parse(json_string_value(text), json_string_length(text), e);

    return root ? read_any(v, root, depth, e) : -1;
}

/* Each binding of the function is a member of Data: an event, a request with its Body, or either as
 * a text. */
static int read_handler(struct fed_events *v, json_t *data, unsigned depth, struct err *e)
{
    const char *name;
    json_t *value;

    v->in_handler = true;
    json_object_foreach(data, name, value)
    {
        const json_t *body = json_object_get(value, "Body");
        if (read_any(v, body ? body : value, depth, e) < 0)
            return err_wrap(e, "binding %.60s", name);
    }
    return 0;
}

static int read_object(struct fed_events *v, const json_t *o, unsigned depth, struct err *e)
{
    const char *type = text_of(o, "type");
    const char *grid = text_of(o, "eventType");
    json_t *data = json_object_get(o, "Data");

    if (json_is_array(json_object_get(o, "Records")))
        return read_records(v, json_object_get(o, "Records"), e);
    if (text_of(o, "detail-type"))
        return read_bridge(v, o, e);
    if (json_is_object(json_object_get(o, "message")))
        return read_pubsub(v, json_object_get(o, "message"), e);
    if (json_is_object(data) && json_object_get(o, "Metadata"))
        return read_handler(v, data, depth, e);
    if (text_of(o, "specversion") && type)
        return read_typed(v, type, text_of(o, "subject"), json_object_get(o, "data"), e);
    if (grid)
        return read_typed(v, grid, text_of(o, "subject"), json_object_get(o, "data"), e);
    /* What Amazon sends when a notification is set up. */
    if (text_of(o, "Event") && strcmp(text_of(o, "Event"), "s3:TestEvent") == 0)
        return 0;
    return err_set(
        e, ERR_USAGE,
        "this event is of an unknown form; send S3's Records, a CloudEvent or an event of "
        "Event Grid");
}

static int read_any(struct fed_events *v, const json_t *o, unsigned depth, struct err *e)
{
    size_t i;
    const json_t *each;

    if (depth > DEPTH_MAX)
        return err_set(e, ERR_USAGE, "the event is nested too deeply");
    if (json_is_string(o))
        return read_text(v, o, depth + 1, e);
    if (json_is_object(o))
        return read_object(v, o, depth + 1, e);
    if (!json_is_array(o))
        return err_set(e, ERR_USAGE, "this is not an event; send a JSON object or array");
    json_array_foreach(o, i, each)
    {
        if (read_any(v, each, depth + 1, e) < 0)
            return -1;
    }
    return 0;
}

int fed_events_read(struct fed_events *out,
                    const char *type,
                    const char *subject,
                    const char *body,
                    size_t n,
                    struct err *e)
{
    *out = (struct fed_events){0};
    if (n > FED_EVENT_BODY_MAX)
        return err_set(e, ERR_USAGE, "the event has more than %zu bytes", FED_EVENT_BODY_MAX);
    AUTO_JSON json_t *root = parse(body, n, e);
    if (!root)
        return -1;
    int result = type ? read_typed(out, type, subject, root, e) : read_any(out, root, 0, e);
    if (result < 0)
        fed_events_clear(out);
    return result;
}

/* ---- sending ---- */

int fed_notify(struct http *h, const struct fed_notice *n, bool *answered_out, struct err *e)
{
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};
    AUTO_JSON json_t *event =
        json_pack("{s:[{s:s, s:s, s:s, s:{s:{s:s}, s:{s:s}}}]}", "Records", "eventVersion", "2.1",
                  "eventSource", "tradewind", "eventName", "ObjectCreated:Put", "s3", "bucket",
                  "name", n->bucket, "object", "key", n->key);
    AUTO_MEM char *body = json_dumps(event, JSON_COMPACT);
    AUTO_MEM char *bearer = n->token ? mem_printf("Authorization: Bearer %s", n->token) : NULL;
    const char *headers[] = {"Content-Type: application/json", bearer, NULL};
    struct http_request request = {
        .method = "POST",
        .url = n->url,
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
        return err_wrap(e, "tell of %s", n->key);
    int status = answer.status;
    if (status >= 200 && status < 300)
        return 0;
    enum err_kind kind = status == 400 || status == 422   ? ERR_USAGE
                         : status == 401 || status == 403 ? ERR_DENIED
                                                          : ERR_RETRY;
    return err_set(e, kind, "tell of %s: the aggregator answers %d: %.200s", n->key, status,
                   answer.body);
}
