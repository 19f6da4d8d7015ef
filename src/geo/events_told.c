/* Makes events of the lines that workers and aggregators log. `geo run` calls it with their
 * logs. */
#include "base/json.h"
#include "base/mem.h"
#include "geo/events.h"
#include "geo/internal.h"

#include <math.h>
#include <string.h>

static void add(struct geo_events *events, const struct geo_event *v)
{
    events->all = mem_room(events->all, events->n, &events->cap, sizeof *events->all);
    events->all[events->n++] = *v;
}

/* ---- a worker's line ---- */

static void add_training(struct geo_events *events,
                         const struct geo_teller *t,
                         const struct geo_event *put)
{
    struct geo_event train = *put;

    train.kind = GEO_EVENT_TRAIN;
    train.from = train.to = t->site;
    train.bytes = 0;
    train.requests = 1;
    train.end_s = put->start_s;
    /* Of one whose start nobody knows the training has an end alone. */
    train.start_s = t->since_s > 0 ? fmin(t->since_s, train.end_s) : train.end_s;
    add(events, &train);
}

static void tell_worker(struct geo_events *events, struct geo_teller *t, struct geo_event *v)
{
    v->worker = t->worker;
    if (v->kind == GEO_EVENT_PUT) {
        v->from = t->site;
        v->to = t->store;
        if (t->since_s > 0 || !t->began)
            add_training(events, t, v);
        t->began = true;
        t->since_s = 0; /* a second upload of the round trained nothing */
    } else {
        v->from = t->targets[0];
        v->to = t->site;
    }
    if (v->kind == GEO_EVENT_GET)
        t->since_s = v->end_s;
    add(events, v);
}

/* ---- a function's line ---- */

struct invocation {
    double lists, reads, writes, read_bytes, written_bytes;
    double mean_bytes; /* 0 = it wrote none */
    bool averaged;
};

static int read_invocation(const json_t *o, struct invocation *out, struct err *e)
{
    const char *outcome = json_string_value(json_object_get(o, "outcome"));

    *out = (struct invocation){.averaged = outcome && strcmp(outcome, "averaged") == 0};
    if (geo_event_number(o, "lists", GEO_EVENT_REQUESTS_MAX, &out->lists, e) < 0 ||
        geo_event_number(o, "reads", GEO_EVENT_REQUESTS_MAX, &out->reads, e) < 0 ||
        geo_event_number(o, "writes", GEO_EVENT_REQUESTS_MAX, &out->writes, e) < 0 ||
        geo_event_number(o, "read_bytes", GEO_EVENT_BYTES_MAX, &out->read_bytes, e) < 0 ||
        geo_event_number(o, "written_bytes", GEO_EVENT_BYTES_MAX, &out->written_bytes, e) < 0)
        return -1;
    return 0;
}

static void add_some(struct geo_events *events, const struct geo_event *v, double requests)
{
    if (requests > 0) {
        struct geo_event some = *v;
        some.requests = requests;
        add(events, &some);
    }
}

/* The mean goes to each target once; other writes are claims, and stay where the inputs are. */
static void add_writes(struct geo_events *events,
                       const struct geo_teller *t,
                       const struct geo_event *invoke,
                       const struct invocation *i)
{
    struct geo_event put = *invoke;
    double means = i->averaged ? fmin((double)t->n_targets, i->writes) : 0;

    put.kind = GEO_EVENT_PUT;
    put.bytes = 0;
    put.to = t->store;
    add_some(events, &put, i->writes - means);
    put.bytes = i->mean_bytes;
    for (size_t k = 0; k < (size_t)means; k++) {
        put.to = t->targets[k];
        add_some(events, &put, 1);
    }
}

static void tell_function(struct geo_events *events,
                          const struct geo_teller *t,
                          struct geo_event *invoke,
                          const struct invocation *i)
{
    struct geo_event v = *invoke;

    v.bytes = 0;
    invoke->bytes = i->mean_bytes;
    add(events, invoke);
    v.to = t->site;
    v.from = t->store;
    v.kind = GEO_EVENT_LIST;
    add_some(events, &v, i->lists);
    v.kind = GEO_EVENT_GET;
    v.bytes = i->read_bytes;
    add_some(events, &v, i->reads);
    add_writes(events, t, invoke, i);
    if (!i->averaged)
        return;
    v = *invoke;
    v.kind = GEO_EVENT_AGGREGATE;
    add(events, &v);
    /* The inputs go, and the result of the round before, which is as large as this one. */
    v.kind = GEO_EVENT_DELETE;
    v.bytes = i->read_bytes;
    v.to = t->store;
    add(events, &v);
    v.bytes = invoke->bytes;
    if (t->has_result && v.round > 0)
        add(events, &v);
}

int geo_events_tell(
    struct geo_events *events, struct geo_teller *t, const char *line, size_t len, struct err *e)
{
    struct geo_event v;
    struct invocation i;

    AUTO_JSON json_t *o = geo_event_object(events, line, len, e);
    if (!o)
        return -1;
    const char *kind = json_string_value(json_object_get(o, "kind"));
    if (kind && strcmp(kind, "event") == 0)
        return 0;
    if (geo_event_times(o, &v, e) < 0)
        return -1;
    v.from = v.to = t->site;
    if (t->worker == GEO_EVENT_NO_WORKER) {
        v.worker = GEO_EVENT_NO_WORKER;
        if (v.kind != GEO_EVENT_INVOKE || read_invocation(o, &i, e) < 0)
            return v.kind == GEO_EVENT_INVOKE
                       ? -1
                       : err_set(e, ERR_USAGE, "kind: a function tells of invocations alone");
        /* As it is told, or what was written shared out. */
        i.mean_bytes = !i.averaged   ? 0
                       : v.bytes > 0 ? v.bytes
                                     : i.written_bytes / (double)t->n_targets;
        tell_function(events, t, &v, &i);
        return 0;
    }
    if (v.kind != GEO_EVENT_PUT && v.kind != GEO_EVENT_GET && v.kind != GEO_EVENT_POLL)
        return err_set(e, ERR_USAGE, "kind: a worker tells of put, get and poll alone");
    tell_worker(events, t, &v);
    return 0;
}
