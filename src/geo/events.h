/* events: the actions of workers and functions of a training across regions, one JSON object per
 * line, as they log them. docs/geo.md has the fields. */
#ifndef GEO_EVENTS_H
#define GEO_EVENTS_H

#include "base/err.h"
#include "geo/problem.h"

#include <jansson.h>
#include <stddef.h>

/* Where bytes move, `from` is where they come from and `to` where they arrive. */
enum geo_event_kind {
    GEO_EVENT_TRAIN,  /* at from */
    GEO_EVENT_PUT,    /* to the store at `to` */
    GEO_EVENT_GET,    /* out of the store at from */
    GEO_EVENT_POLL,   /* a read that found nothing in the store at from */
    GEO_EVENT_LIST,   /* of the store at from */
    GEO_EVENT_DELETE, /* so many bytes from the store at `to` */
    GEO_EVENT_INVOKE, /* a function at from ran; bytes: of the mean it wrote, 0 = it only looked */
    GEO_EVENT_AGGREGATE, /* part of an invocation: it averaged */
    GEO_EVENT_TRANSFER,  /* of training data: bytes and no request */
    GEO_EVENT_KINDS,
};

/* Not a worker's, but a function's. */
#define GEO_EVENT_NO_WORKER ((size_t)-1)

struct geo_event {
    enum geo_event_kind kind;
    unsigned round;
    size_t worker;   /* its number, or GEO_EVENT_NO_WORKER */
    size_t from, to; /* sites of the problem */
    double bytes;
    double requests; /* tries that failed included; 1 unless told */
    double start_s, end_s;
};

struct geo_events {
    struct geo_event *all; /* in the order they were told */
    size_t n, cap;
};
void geo_events_clear(struct geo_events *e);

#define GEO_EVENT_LINE_MAX 4096
#define GEO_EVENTS_MAX ((size_t)1 << 22)
#define GEO_EVENT_ROUNDS_MAX 1000000

/* The event as a line of the log. New reference. */
json_t *geo_event_json(const struct geo_problem *p, const struct geo_event *v);

/* Where the worker or function that logs is, and where its data lies. */
struct geo_teller {
    size_t worker; /* or GEO_EVENT_NO_WORKER: a function */
    size_t site;
    size_t store;          /* a worker writes there; a function lists and reads there */
    const size_t *targets; /* a worker reads the result at the first; a function writes it there */
    size_t n_targets;
    bool has_result; /* of a function: results lie where its inputs do, and it deletes the last */
    double since_s;  /* of a worker: when it began to train the round it is in; 0 = not known */
    bool began;      /* it has told of an upload */
};

/* Adds one line, without its newline, as workers and the aggregator tell it
 * (sdk/c/tradewind_worker.h and fed/function/settings.h): who told it says which locations are
 * meant. Training is what lies between a worker's start or last read and its upload, so that *t
 * moves on. Kinds that cost nothing
 * ("event") are skipped. ERR_USAGE: it is not an event, too long, or one too many. */
int geo_events_tell(
    struct geo_events *events, struct geo_teller *t, const char *line, size_t len, struct err *e);

#endif
