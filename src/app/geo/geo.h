/* geo: operations on geo-distributed training: plan where its function and store go, run it, and
 * average files of tensors. */
#ifndef APP_GEO_GEO_H
#define APP_GEO_GEO_H

#include "app/core/operation.h"
#include "geo/plan.h"

#define GEO_OPERATIONS(X) X(geo_plan) X(geo_paper) X(geo_run) X(geo_deploy) X(geo_destroy)
GEO_OPERATIONS(OPERATION_DECLARE)

/* ---- the training file, settings over it, prices and links ---- */

struct app_geo_request {
    const char *file;            /* path; a name when there is a text; NULL = no file */
    const char *text;            /* of the file; NULL = read it */
    const char *workers, *size;  /* NULL = as the file says, as for all below */
    int64_t rounds, connections; /* FIELD_NONE */
    double train_s, quorum;      /* NAN */
    unsigned topology;           /* enum spec_geo_topology + 1; 0 */
    const char *function, *store, *compression;
    unsigned objective;  /* enum geo_objective + 1 */
    const char *catalog; /* directory of CSV files; NULL = the catalog in use */
};
extern const char *const app_geo_topology_choices[5], *const app_geo_objective_choices[3];

struct app_geo {
    const struct config *config; /* borrowed from the app */
    struct catalog *catalog;
    struct geo_facts *facts;
    struct spec_geo *spec;       /* NULL after app_geo_open_prices alone */
    struct geo_problem *problem; /* likewise */
};
/* must_run: the file has to name a command. answer is for errors that spell fields. */
int app_geo_open(struct app_geo *g,
                 struct app *app,
                 const struct app_geo_request *q,
                 bool must_run,
                 const struct answer *answer,
                 struct err *e);
int app_geo_open_prices(struct app_geo *g, struct app *app, const char *catalog, struct err *e);
void app_geo_clear(struct app_geo *g);
/* Where the file and the request leave the placement open, all are considered. */
struct geo_question app_geo_question(const struct app_geo *g, const struct app_geo_request *q);

/* clang-format off */
#define GEO_FILE_FIELDS(type, at)                                                                  \
    {"file", FIELD(TEXT, type, at file), .is_local = true,                                         \
     .operand = true, .value = "FILE",                                                             \
     .help = "Path of the training file."},                                                        \
    {"training", FIELD(TEXT, type, at text), .is_remote_only = true,                               \
     .help = "Text of the training file; file then is its name in messages."}
/* What may be changed in a training that runs. */
#define GEO_PLACEMENT_FIELDS(type, at)                                                             \
    {"rounds", FIELD(INT, type, at rounds), .value = "N", .help = "Number of rounds."},            \
    {"topology", FIELD(ENUM, type, at topology), FIELD_CHOICES(app_geo_topology_choices),          \
     .help = "How gradients are aggregated; any, the default, compares all three."},               \
    {"function", FIELD(TEXT, type, at function), .value = "LOCATION",                              \
     .help = "Region of the function, or its cloud: aws/us-west-2, aws."},                         \
    {"store", FIELD(TEXT, type, at store), .value = "LOCATION",                                    \
     .help = "Region of the store, or its cloud."},                                                \
    {"compression", FIELD(TEXT, type, at compression), .value = "none|int8|topk:SHARE",            \
     .help = "Compress gradients: not at all, to one byte per value, or to the largest values."},  \
    {"objective", FIELD(ENUM, type, at objective), FIELD_CHOICES(app_geo_objective_choices),       \
     .preset = "cost",                                                                             \
     .help = "Minimize dollars per round (the default) or time per round."},                       \
    {"catalog", FIELD(TEXT, type, at catalog), .is_local = true,                                   \
     .value = "DIR",                                                                               \
     .help = "Plan with the CSV files in this directory instead of the catalog in use."}
/* clang-format on */

/* ---- geo.plan ---- */

struct app_geo_placement {
    const char *topology, *function, *store; /* "aws/us-west-2" */
    double cost_usd, time_s;                 /* per round */
    const void *phases, *bill, *counts;      /* struct geo_phases, geo_bill, geo_counts */
};

struct app_geo_total {
    double rounds, time_s;
    int64_t total_microusd;
    const void *parts; /* struct geo_total */
};

/* The best placement after one setting is changed. */
struct app_geo_option {
    const char *setting, *value; /* "compression", "int8" */
    const char *meaning;
    const void *best; /* struct app_geo_placement */
};

struct app_geo_planned {
    const char *name;
    uint64_t workers, considered;
    const void *best, *cheapest, *fastest; /* struct app_geo_placement */
    const void *total;                     /* struct app_geo_total, of the best */
    struct field_records options;          /* struct app_geo_option */
    struct field_records frontier;         /* struct app_geo_placement, cheapest first */
    struct field_records placements;       /* struct app_geo_placement, the best first */
    double size_bytes;                     /* that each worker sends per round */
    unsigned objective;                    /* index of app_geo_objective_choices */
};
/* "aws/us-west-2" */
const char *app_geo_site_text(const struct geo_site *site, char out[static 128]);

/* The parts of a cost, as lists of fields begin: "vm" or "vm_usd", by FIELD_OF(vm) and so on. */
/* clang-format off */
#define APP_GEO_COST_FIELDS(ending, FIELD_OF)                                                      \
    {"vm" ending, FIELD_OF(vm), .unit = "USD", .help = "Machines of the workers."},                \
    {"faas" ending, FIELD_OF(faas), .unit = "USD", .help = "Functions."},                          \
    {"requests" ending, FIELD_OF(requests), .unit = "USD", .help = "Requests to stores."},         \
    {"storage" ending, FIELD_OF(storage), .unit = "USD", .help = "Storage."},                      \
    {"transfer" ending, FIELD_OF(transfer), .unit = "USD", .help = "Data transfer."}
/* clang-format on */
#define APP_GEO_BILL_FIELD(part) FIELD(REAL, struct geo_bill, part##_usd)

extern const struct record app_geo_phases_record, app_geo_counts_record;

/* ---- geo.paper ---- */

/* The cost and time of one mini-batch in one cell of the paper's tables. */
struct app_geo_paper_cell {
    const char *training, *workers, *aggregator, *city;
    double cost_usd, time_s;
};

/* Rate of an upload from a cloud's machine in a city to a store in a city. */
struct app_geo_paper_upload {
    const char *workers, *from, *store, *to;
    double mbps;
};

struct app_geo_paper_statement {
    const char *paper;
    bool agrees;
    const char *here;
};

/* In the order in which tables show them: cells by training, workers, aggregator and city; uploads
 * by workers, from, store and to. */
struct app_geo_paper {
    struct field_records cells, uploads, statements;
    struct field_list sizes; /* of a gradient in each training */
    const char *train_s;
    uint64_t trainings, clouds, aggregators, stores, cities; /* numbers of them */
};

/* ---- geo.run ---- */

/* A worker, or the functions of a region. */
struct app_geo_run_stage {
    const char *name, *location, *on;
    const void *offer; /* struct app_offer, of a worker on a cloud */
};
struct app_geo_run_plan {
    const char *name;
    uint64_t workers;
    double rounds;
    const char *topology, *function, *store;
    int64_t cost_microusd; /* of the whole training, as time_s */
    double time_s, round_usd, round_s;
    struct field_records stages; /* struct app_geo_run_stage */
};

/* Members of other events are none. */
struct app_geo_run_event {
    const char *event; /* "started"; "round": all workers have its result; "log" */
    int64_t run;
    int64_t round, rounds; /* from 0; of all */
    double time_s;
    json_t *detail; /* of a line of the event log */
};

struct app_geo_failure {
    const char *stage, *reason;
    int64_t job;
};

struct app_geo_report {
    const char *event; /* "run"; "planned": a dry run, where all but the plan is none */
    const void *plan;  /* struct app_geo_run_plan, of a dry run */
    int64_t run;
    const char *name, *reason, *topology, *function, *store;
    unsigned state;                /* enum run_state */
    struct field_records failures; /* struct app_geo_failure */
    /* None where no round was finished. */
    const char *model; /* "@niser.model:1"; "" = none */
    double rounds, round_s, planned_round_s;
    const void *phases, *planned_phases;   /* struct geo_phases */
    const void *counts, *forecast_counts;  /* struct geo_counts */
    const void *bill, *forecast, *planned; /* struct geo_bill */
};

/* ---- geo.deploy, geo.destroy ---- */

/* What was done about a resource, or, of a dry run, a call that would be made. */
struct app_geo_deployed_item {
    const char *location, *kind, *name; /* none of a call */
    const char *done;                   /* "created", "unchanged", "deleted" */
    const char *call;                   /* of a dry run: method, URL and body, without secrets */
};
struct app_geo_function {
    const char *name, *location, *product, *store;
    uint64_t workers; /* that write to the store: workers, or regions */
    int64_t memory_mb, timeout_s, disk_mb;
    int64_t max_memory_mb, max_timeout_s, max_disk_mb; /* of the platform */
    double second_usd, request_usd;                    /* of one invocation */
};
struct app_geo_deployed {
    const char *name, *deployment;
    bool dry_run;
    const char *topology;           /* NULL of geo.destroy */
    struct field_records functions; /* struct app_geo_function */
};

/* ---- averaging files ---- */

/* Not in the table: the files are the caller's, and the process forks. */
extern const struct operation aggregate_operation; /* answers with struct app_aggregated */

struct app_aggregated {
    const char *out;
    uint64_t files;
    bool weighted;
    uint64_t dropped; /* files at either end, of each number */
    uint64_t tensors, copied, numbers, nonfinite, bytes;
    bool trimmed;
};

#endif
