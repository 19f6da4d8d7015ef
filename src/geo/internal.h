/* internal: what the two readers of event lines share. */
#ifndef GEO_INTERNAL_H
#define GEO_INTERNAL_H

#include "geo/events.h"

#define GEO_EVENT_BYTES_MAX 1e15
#define GEO_EVENT_REQUESTS_MAX 1e6

/* A line as JSON object, when there is room for what it tells. New reference; NULL: e. */
json_t *geo_event_object(const struct geo_events *events,
                         const char *line,
                         size_t len,
                         struct err *e);
/* Kind, round, bytes, requests and times; locations and worker are left to the caller. */
int geo_event_times(const json_t *o, struct geo_event *v, struct err *e);
/* Missing: *out stays; NaN there: it must be told. */
int geo_event_number(const json_t *o, const char *key, double most, double *out, struct err *e);

#endif
