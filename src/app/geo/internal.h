/* internal: a geo-distributed training that is run: its aggregators, the stages of its run, and the
 * events of its workers and functions. */
#ifndef APP_GEO_INTERNAL_H
#define APP_GEO_INTERNAL_H

#include "app/geo/geo.h"
#include "app/run/run.h"
#include "base/arena.h"
#include "geo/bill.h"

/* A prefix of a store that the training uses. */
struct app_geo_prefix {
    size_t site;
    const char *url;               /* s3://BUCKET/..., gs://, az:// or dir:/... */
    const char *endpoint, *region; /* "" = not said */
};

/* A function whose events come from one prefix. */
struct app_geo_aggregator {
    size_t site;
    struct app_geo_prefix in;
    unsigned workers;   /* that write to the prefix: workers, or regions */
    const size_t *up;   /* the aggregator that gets its mean; NULL = none */
    unsigned up_worker; /* its worker number at that aggregator */
    size_t *targets;    /* sites of the stores that get its mean */
    struct app_geo_prefix *fanout;
    size_t n_targets, n_fanout;
    const char *address; /* at which workers reach it */
    const char *event_url;
    unsigned port;
};

/* A stage of the run: a worker, or all functions of one site. */
struct app_geo_party {
    const char *stage;
    size_t worker; /* GEO_EVENT_NO_WORKER = functions */
    size_t site;
};

/* A training that is planned, and then run. */
struct app_geo_run {
    struct app_geo geo;
    struct geo_placement at;
    struct geo_total total; /* as planned */
    const char *on;         /* "local" unless the request names hosts, or clouds */
    bool is_cloud;          /* workers are launched at their sites; functions run locally */
    bool is_insecure;       /* http:// may lead to other machines */
    bool is_deployed;       /* its aggregators are functions of clouds, and have no address */
    struct arena *arena;
    char token[32];                         /* part of its prefixes, which no two trainings share */
    struct app_geo_aggregator *aggregators; /* the last one is the global one */
    size_t n_aggregators;
    size_t *gatherer_of;           /* of each worker: the aggregator it writes to */
    unsigned *index_of;            /* of each worker: its number there */
    struct app_geo_party *parties; /* in the order of the run's stages */
    size_t n_parties;
    struct run run; /* as composed, in arena */
    /* As the run ended. */
    struct run ended;
    struct geo_events events;
};

/* follow.c: follows the started run to its end, gathers its events and answers with its rounds. */
int app_geo_run_follow(struct app *app, struct app_geo_run *g, struct answer *out, struct err *e);

/* report.c: the end of the run; all is in the arena. */
extern const struct record app_geo_report_record;
int app_geo_run_report(struct app *app,
                       const struct app_geo_run *g,
                       struct arena *arena,
                       struct app_geo_report *out,
                       struct err *e);

/* layout.c: which aggregators there are, and where. Nothing is started or stored. */
int app_geo_run_layout(struct app_geo_run *g, struct err *e);
/* The entry of the file that a worker comes from, and which of its workers it is. */
const struct spec_geo_worker *app_geo_run_entry(const struct spec_geo *s,
                                                size_t worker,
                                                size_t *index);
/* offers.c: the machines of clouds that workers are launched on, in their regions. */
int app_geo_run_offers(struct app_geo_run *g, struct app *app, struct err *e);
/* Where workers of a site, or its functions, run: "local", a host group or a cloud. */
const char *app_geo_run_on(const struct app_geo_run *g, size_t site, bool function);

/* settings.c */

/* The path of a file beside this program, or where it is installed; a variable may name another. A
 * new string; NULL: e. fix: how to get it, "" = install it. */
char *app_geo_find(
    const struct app *app, const char *name, const char *variable, const char *fix, struct err *e);
/* The variables of aggregator i (docs/geo-function.md) but for those of the place it runs at. */
void app_geo_aggregator_settings(const struct app_geo_run *g,
                                 size_t i,
                                 void (*each)(void *context, const char *name, const char *value),
                                 void *context);

/* compose.c: the stages of g->run and what they need of the machine; nothing is stored. */
int app_geo_run_list(struct app_geo_run *g, struct app *app, struct err *e);
/* The rest of g->run, with code and program in the lake. */
int app_geo_run_compose(struct app_geo_run *g, struct app *app, struct err *e);
/* scripts.S */
extern const char app_geo_worker_script[], app_geo_function_script[];

#endif
