#include "geo/events.h"

#include "base/json.h"
#include "base/mem.h"
#include "geo/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One told line becomes at most so many events; the stores that a result goes to are not more than
 * there are locations. */
#define EVENTS_PER_LINE 4096
/* Seconds since 1970: until the year 2286. */
#define TIME_MAX_S 1e10

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

int geo_event_number(const json_t *o, const char *key, double most, double *out, struct err *e)
{
    const json_t *v = json_object_get(o, key);
    double value = v ? json_number_value(v) : *out;

    if ((v && !json_is_number(v)) || !(value >= 0 && value <= most))
        return err_set(e, ERR_USAGE, "%s: must be a number from 0 to %g", key, most);
    *out = value;
    return 0;
}

static int read_count(const json_t *o, const char *key, size_t end, size_t *out, struct err *e)
{
    const json_t *v = json_object_get(o, key);

    if (!v)
        return 0;
    if (!json_is_integer(v) || json_integer_value(v) < 0 || (size_t)json_integer_value(v) >= end)
        return err_set(e, ERR_USAGE, "%s: must be a whole number from 0 to below %zu", key, end);
    *out = (size_t)json_integer_value(v);
    return 0;
}

static bool is_site(const struct geo_site *site, const char *text)
{
    size_t n = strlen(site->cloud);

    return strncmp(text, site->cloud, n) == 0 && text[n] == '/' &&
           strcmp(text + n + 1, site->region) == 0;
}

static int read_site(
    const json_t *o, const struct geo_problem *p, const char *key, size_t *out, struct err *e)
{
    const char *text = json_string_value(json_object_get(o, key));

    for (size_t i = 0; text && i < p->n_sites; i++)
        if (is_site(&p->sites[i], text)) {
            *out = i;
            return 0;
        }
    return err_set(e, ERR_USAGE, "%s: \"%.60s\" is not a location of this training", key,
                   text ? text : "");
}

static bool has_two_places(enum geo_event_kind kind)
{
    return kind != GEO_EVENT_TRAIN && kind != GEO_EVENT_INVOKE && kind != GEO_EVENT_AGGREGATE;
}

json_t *geo_event_object(const struct geo_events *events,
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
        err_set(e, ERR_USAGE, "no JSON object%s%s", o ? "" : ": ", o ? "" : why.text);
        return NULL;
    }
    return json_incref(o);
}

int geo_event_times(const json_t *o, struct geo_event *v, struct err *e)
{
    size_t round = GEO_EVENT_ROUNDS_MAX;

    *v = (struct geo_event){
        .worker = GEO_EVENT_NO_WORKER, .requests = 1, .start_s = (double)NAN, .end_s = (double)NAN};
    if (read_kind(o, &v->kind, e) < 0 ||
        read_count(o, "round", GEO_EVENT_ROUNDS_MAX, &round, e) < 0)
        return -1;
    if (round == GEO_EVENT_ROUNDS_MAX)
        return err_set(e, ERR_USAGE, "round: it has none");
    v->round = (unsigned)round;
    if (geo_event_number(o, "bytes", GEO_EVENT_BYTES_MAX, &v->bytes, e) < 0 ||
        geo_event_number(o, "requests", GEO_EVENT_REQUESTS_MAX, &v->requests, e) < 0 ||
        geo_event_number(o, "start", TIME_MAX_S, &v->start_s, e) < 0 ||
        geo_event_number(o, "end", TIME_MAX_S, &v->end_s, e) < 0)
        return -1;
    if (v->end_s < v->start_s)
        return err_set(e, ERR_USAGE, "it ends before it starts");
    return 0;
}

int geo_events_add(struct geo_events *events,
                   const struct geo_problem *p,
                   const char *line,
                   size_t len,
                   struct err *e)
{
    struct geo_event v;

    AUTO_JSON json_t *o = geo_event_object(events, line, len, e);
    if (!o || geo_event_times(o, &v, e) < 0 ||
        read_count(o, "worker", p->n_workers, &v.worker, e) < 0 ||
        read_site(o, p, "from", &v.from, e) < 0)
        return -1;
    v.to = v.from;
    if (has_two_places(v.kind) && read_site(o, p, "to", &v.to, e) < 0)
        return -1;
    events->all = mem_room(events->all, events->n, &events->cap, sizeof *events->all);
    events->all[events->n++] = v;
    return 0;
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

int geo_events_read(struct geo_events *events,
                    const struct geo_problem *p,
                    const char *name,
                    const char *text,
                    size_t len,
                    struct err *e)
{
    const char *end = text + len;
    size_t line = 1;

    for (const char *from = text; from < end; line++) {
        const char *newline = memchr(from, '\n', (size_t)(end - from));
        const char *to = newline ? newline : end;
        if (to > from && geo_events_add(events, p, from, (size_t)(to - from), e) < 0)
            return err_wrap(e, "%s:%zu", name, line);
        from = to + 1;
    }
    return 0;
}
