/* geo_run_parts: what `tradewind geo run` is made of: the placement made into a run, following it,
 * and the bill. */
#ifndef CLI_GEO_GEO_RUN_PARTS_H
#define CLI_GEO_GEO_RUN_PARTS_H

#include "app/geo/geo.h"
#include "base/arena.h"
#include "broker/core/runs.h"
#include "geo/bill.h"
#include "lake/core/lake.h"

/* A prefix of a store that the training uses. */
struct geo_prefix {
    size_t site;
    const char *url;               /* s3://BUCKET/... or dir:/... */
    const char *endpoint, *region; /* "" = not said */
};

/* One aggregator: a function whose events come from one prefix. */
struct geo_aggregator {
    size_t site;
    struct geo_prefix in;
    unsigned workers;   /* that write there: workers, or regions */
    const size_t *up;   /* the aggregator that its mean goes to; NULL = none */
    unsigned up_worker; /* as which of its workers */
    size_t *targets;    /* sites of the stores that its mean goes to */
    struct geo_prefix *fanout;
    size_t n_targets, n_fanout;
    const char *address; /* as workers reach it */
    const char *event_url;
    unsigned port;
};

/* A stage of the run: a worker, or all functions of one site. */
struct geo_party {
    const char *stage;
    size_t worker; /* GEO_EVENT_NO_WORKER = functions */
    size_t site;
};

struct geo_run {
    const struct app_geo *world;
    const struct spec_geo *spec;
    const struct geo_problem *problem;
    struct geo_placement at;
    struct geo_total total; /* as planned */
    const char *on;         /* --on; "local" unless given */
    bool json;
    struct arena *arena;
    char token[32];                     /* names its prefixes, so that no two trainings meet */
    struct geo_aggregator *aggregators; /* the last one has the last word */
    size_t n_aggregators;
    size_t *gatherer_of;       /* of each worker: the aggregator it writes to */
    unsigned *index_of;        /* of each worker: its number there */
    struct geo_party *parties; /* in the order of the run's stages */
    size_t n_parties;
};

/* geo_run_place.c: which aggregators there are, and where. Nothing is started or stored. */
int geo_run_place(struct geo_run *g, struct err *e);
/* Where workers of a site, or its functions, run: "local" or a group. */
const char *geo_run_on(const struct geo_run *g, size_t site, bool function);

/* geo_run_compose.c: the run, with code and program in the lake. All in g->arena. */
int geo_run_compose(struct geo_run *g, struct lake *l, struct run *out, struct err *e);

/* geo_run_watch.c: follows it to its end and gathers its events; Ctrl-C asks it to stop, twice: at
 * once. The run as it ended is in *out. */
int geo_run_watch(struct geo_run *g,
                  struct runs *runs,
                  struct lake *l,
                  int64_t id,
                  struct geo_events *events,
                  struct run *out,
                  struct err *e);

/* geo_run_report.c */
void geo_run_show_plan(const struct geo_run *g, FILE *out);
int geo_run_report(const struct geo_run *g,
                   const struct run *run,
                   const struct geo_events *events,
                   struct lake *l,
                   FILE *out,
                   struct err *e);

#endif
