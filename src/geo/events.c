#include "geo/events.h"

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One told line becomes at most so many events; the stores that a result goes to are not more than
 * there are locations. */
#define EVENTS_PER_LINE 4096
/* Seconds since 1970: until the year 2286. */
#define TIME_MAX_S 1e10
#define BYTES_MAX 1e15
#define REQUESTS_MAX 1e6

static const char *const kinds[GEO_EVENT_KINDS] = {
    [GEO_EVENT_TRAIN] = "train",       [GEO_EVENT_PUT] = "put",
    [GEO_EVENT_GET] = "get",           [GEO_EVENT_POLL] = "poll",
    [GEO_EVENT_LIST] = "list",         [GEO_EVENT_DELETE] = "delete",
    [GEO_EVENT_INVOKE] = "invoke",     [GEO_EVENT_AGGREGATE] = "aggregate",
    [GEO_EVENT_TRANSFER] = "transfer",
};

void geo_events_clear(struct geo_events *e)
{
    free(e->all);
    *e = (struct geo_events){0};
}

static int read_kind(const json_t *o, enum geo_event_kind *out, struct err *e)
{
    const char *text = json_string_value(json_object_get(o, "kind"));

    for (int i = 0; text && i < GEO_EVENT_KINDS; i++)
        if (strcmp(text, kinds[i]) == 0) {
            *out = (enum geo_event_kind)i;
            return 0;
        }
    return err_set(e, ERR_USAGE,
                   "kind: \"%.40s\" is not an event: use train, put, get, poll, list, delete, "
                   "invoke, aggregate, transfer",
                   text ? text : "");
}

/* Missing: *out stays; NaN there: it must be told. */
static int read_number(const json_t *o, const char *key, double most, double *out, struct err *e)
{
    const json_t *v = json_object_get(o, key);
    double value = v ? json_number_value(v) : *out;

    if ((v && !json_is_number(v)) || !(value >= 0 && value <= most))
        return err_set(e, ERR_USAGE, "%s: must be a number from 0 to %g", key, most);
    *out = value;
    return 0;
}

/* A line as JSON object, when there is room for what it tells. New reference; NULL: e. */
static json_t *read_object(const struct geo_events *events,
                           const char *line,
                           size_t len,
                           struct err *e)
{
    json_error_t why;

    if (len > GEO_EVENT_LINE_MAX) {
        err_set(e, ERR_USAGE, "the line is longer than %d bytes", GEO_EVENT_LINE_MAX);
        return NULL;
    }
    if (events->n > GEO_EVENTS_MAX - EVENTS_PER_LINE) {
        err_set(e, ERR_USAGE, "more than %zu events", GEO_EVENTS_MAX - EVENTS_PER_LINE);
        return NULL;
    }
    AUTO_JSON json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(o)) {
        err_set(e, ERR_USAGE, "the line is not a JSON object%s%s", o ? "" : ": ",
                o ? "" : why.text);
        return NULL;
    }
    return json_incref(o);
}

/* Kind, round, bytes, requests and times; locations and worker are left to the caller. */
static int read_times(const json_t *o, struct geo_event *v, struct err *e)
{
    const json_t *round = json_object_get(o, "round");

    *v = (struct geo_event){
        .worker = GEO_EVENT_NO_WORKER, .requests = 1, .start_s = (double)NAN, .end_s = (double)NAN};
    if (read_kind(o, &v->kind, e) < 0)
        return -1;
    if (!json_is_integer(round) || json_integer_value(round) < 0 ||
        json_integer_value(round) >= GEO_EVENT_ROUNDS_MAX)
        return err_set(e, ERR_USAGE, "round: must be a whole number from 0 to below %d",
                       GEO_EVENT_ROUNDS_MAX);
    v->round = (unsigned)json_integer_value(round);
    if (read_number(o, "bytes", BYTES_MAX, &v->bytes, e) < 0 ||
        read_number(o, "requests", REQUESTS_MAX, &v->requests, e) < 0 ||
        read_number(o, "start", TIME_MAX_S, &v->start_s, e) < 0 ||
        read_number(o, "end", TIME_MAX_S, &v->end_s, e) < 0)
        return -1;
    if (v->end_s < v->start_s)
        return err_set(e, ERR_USAGE, "the event ends before it starts");
    return 0;
}

static bool has_two_places(enum geo_event_kind kind)
{
    return kind != GEO_EVENT_TRAIN && kind != GEO_EVENT_INVOKE && kind != GEO_EVENT_AGGREGATE;
}

static json_t *site_json(const struct geo_site *site)
{
    return json_sprintf("%s/%s", site->cloud, site->region);
}

json_t *geo_event_json(const struct geo_problem *p, const struct geo_event *v)
{
    json_t *o = json_pack("{s:s, s:i}", "kind", kinds[v->kind], "round", (int)v->round);

    if (v->worker != GEO_EVENT_NO_WORKER)
        json_object_set_new(o, "worker", json_integer((json_int_t)v->worker));
    json_object_set_new(o, "from", site_json(&p->sites[v->from]));
    if (has_two_places(v->kind))
        json_object_set_new(o, "to", site_json(&p->sites[v->to]));
    if (v->bytes > 0)
        json_object_set_new(o, "bytes", json_number(v->bytes));
    if (v->requests != 1)
        json_object_set_new(o, "requests", json_number(v->requests));
    json_object_set_new(o, "start", json_number(v->start_s));
    json_object_set_new(o, "end", json_number(v->end_s));
    return o;
}

/* ---- lines that workers and aggregators log ---- */

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
    /* Without a known start, the training has an end alone. */
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
    if (read_number(o, "lists", REQUESTS_MAX, &out->lists, e) < 0 ||
        read_number(o, "reads", REQUESTS_MAX, &out->reads, e) < 0 ||
        read_number(o, "writes", REQUESTS_MAX, &out->writes, e) < 0 ||
        read_number(o, "read_bytes", BYTES_MAX, &out->read_bytes, e) < 0 ||
        read_number(o, "written_bytes", BYTES_MAX, &out->written_bytes, e) < 0)
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

    AUTO_JSON json_t *o = read_object(events, line, len, e);
    if (!o)
        return -1;
    const char *kind = json_string_value(json_object_get(o, "kind"));
    if (kind && strcmp(kind, "event") == 0)
        return 0;
    if (read_times(o, &v, e) < 0)
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
