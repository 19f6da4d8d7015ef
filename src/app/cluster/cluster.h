/* cluster: operations on training clusters of a parameter server and workers: recommend one, run
 * one, measure the rates of one worker. */
#ifndef APP_CLUSTER_CLUSTER_H
#define APP_CLUSTER_CLUSTER_H

#include "app/core/operation.h"
#include "app/run/compose.h"
#include "cluster/measured.h"
#include "cluster/recommend.h"
#include "spec/cluster.h"

#define CLUSTER_OPERATIONS(X) X(cluster_recommend) X(cluster_start) X(cluster_measure)
CLUSTER_OPERATIONS(OPERATION_DECLARE)

/* ---- the cluster file and settings over it ---- */

struct app_cluster_request {
    const char *file;                     /* path; a name when there is a text */
    const char *text;                     /* of the file; NULL = read it */
    double budget_usd, work, share;       /* NAN = as the file says, as for all below */
    int64_t max_workers;                  /* FIELD_NONE */
    const char *type, *server, *location; /* NULL */
    const char *catalog;                  /* directory of CSV files; NULL = the one in use */
};

/* The file with the settings of a request, the measured rates and the catalog. */
struct app_cluster {
    struct spec_cluster *spec;
    const struct config *config; /* borrowed from the app */
    struct catalog *catalog;
    struct cluster_measured *measured; /* NULL = nothing was measured */
    bool chooses;                      /* the request names types or a location */
};
int app_cluster_open(struct app_cluster *c,
                     struct app *app,
                     const struct app_cluster_request *q,
                     const struct answer *answer, /* for errors that spell fields */
                     struct err *e);
void app_cluster_clear(struct app_cluster *c);

/* clang-format off */
#define CLUSTER_FILE_FIELDS(type_, at)                                                             \
    {"file", FIELD(TEXT, type_, at file), .is_local = true,                                        \
     .operand = true, .value = "FILE",                                                             \
     .help = "Path of the cluster file."},                                                         \
    {"cluster", FIELD(TEXT, type_, at text), .is_remote_only = true,                               \
     .help = "Text of the cluster file; file then is its name in messages."}
#define CLUSTER_TYPE_FIELDS(type_, at)                                                             \
    {"type", FIELD(TEXT, type_, at type), .value = "TYPE",                                         \
     .help = "Instance type of the workers."},                                                     \
    {"server", FIELD(TEXT, type_, at server), .value = "TYPE",                                     \
     .help = "Instance type of the server."},                                                      \
    {"location", FIELD(TEXT, type_, at location), .value = "LOCATION", .former = "--place",        \
     .help = "Location whose prices count, as in aws/eu-west-2."},                                 \
    {"work", FIELD(REAL, type_, at work), .value = "N", .help = "Number of iterations to do."}
/* clang-format on */

/* ---- cluster.recommend ---- */

struct app_cluster_predicted {
    double throughput;       /* iterations per second; NAN = not known, as below */
    double time_s, cost_usd; /* of the work; NAN also when the work is not given */
};

struct app_cluster_choice {
    const char *server_type, *worker_type;
    const char *location; /* NULL = not said */
    int64_t workers;
    int64_t microusd_per_hour;
    double throughput;     /* iterations per second; NAN = not known */
    const void *predicted; /* struct app_cluster_predicted; NULL for items */
    unsigned limited_by;   /* enum cluster_limit + 1 */
};

/* The answer of one of the algorithms. */
struct app_cluster_algorithm {
    const char *algorithm;
    bool has_answer;
    struct app_cluster_choice choice; /* when it has */
};

/* The items of the answer are the best choice with each type at each location: struct
 * app_cluster_choice. */
struct app_cluster_recommended {
    const char *algorithm;
    struct app_cluster_choice best;
    struct field_records frontier;   /* struct app_cluster_choice, cheapest first */
    struct field_records algorithms; /* struct app_cluster_algorithm, at one location */
    const char *name;
    unsigned objective; /* enum cluster_objective + 1, of model-opt; 0 = another algorithm */
    double work;        /* NAN = not given */
    uint64_t locations; /* number of them */
};

/* ---- cluster.start ---- */

/* Members that a record of the request does not list are zero. */
struct app_cluster_run_request {
    struct app_cluster_request cluster; /* its budget, share and max_workers do not count */
    const char *on, *server_on;         /* NULL = this machine; beside the workers */
    int64_t workers;                    /* FIELD_NONE = as recommended */
    double cpus;                        /* of each node; NAN = all of its machine */
    const char *memory;                 /* "512", "2GB"; NULL = all of its machine */
    struct field_list env, secrets;
    bool dry_run;
    /* Of cluster.start. */
    bool elastic, no_cache;
    int64_t max_microusd; /* FIELD_NONE = no spending cap */
    /* Of cluster.measure. */
    bool again;
    double seconds;
};

/* Begins as struct app_run_started does. */
struct app_cluster_started {
    const char *event; /* "started"; "planned": a dry run */
    int64_t run;       /* FIELD_NONE unless started; the members below are of a dry run */
    const char *name, *server_type, *worker_type; /* types: "" = not known */
    int64_t workers;
    double cpus, memory_gb; /* of each node */
    bool is_elastic;
    const void *location;                    /* struct app_run_where */
    const void *server_offer, *worker_offer; /* struct app_offer, on a cloud */
    double price_usd_per_hour;               /* of all of them; NAN = not on a cloud */
};

/* A cluster that can be run: its nodes, and where they run. Texts are borrowed from the request. */
struct app_cluster_prepared {
    struct app_cluster_run_request request;
    struct app_cluster cluster;
    struct app_run_location location;        /* of the workers, and of the server unless given */
    struct app_run_location server_location; /* on NULL = the same */
    unsigned workers;
    struct app_run_room room;                    /* of each node */
    const char *server_type, *worker_type;       /* "" = not known */
    int64_t server_microusd, worker_microusd;    /* per hour, of the planned types; 0 = not known */
    double planned_s;                            /* 0 = not known */
    struct job_offer server_offer, worker_offer; /* on a cloud */
    bool measures; /* the run is measured for a while and keeps no output */
    double
        limit_s; /* its nodes end after this time, even when the measuring process died; 0 = none */
};
void app_cluster_prepared_clear(struct app_cluster_prepared *p);

/* Nothing is started or stored. */
int app_cluster_prepare(struct app *app,
                        const struct app_cluster_run_request *q,
                        const struct answer *answer, /* for errors that spell fields */
                        struct app_cluster_prepared *out,
                        struct err *e);
/* Composes a run of one stage, stores it and wakes the broker. */
int app_cluster_start(struct app *app,
                      const struct app_cluster_prepared *p,
                      const struct answer *answer, /* for errors that spell fields */
                      int64_t *id_out,
                      struct err *e);

/* clang-format off */
/* Where the nodes of struct app_cluster_run_request run, and with what. */
#define CLUSTER_NODE_FIELDS                                                                        \
    {"cpus", FIELD(REAL, struct app_cluster_run_request, cpus), .value = "N",                      \
     .help = "CPUs of each node; default: all of its machine."},                                   \
    {"memory", FIELD(TEXT, struct app_cluster_run_request, memory), .value = "MB",                 \
     .help = "Memory of each node; default: all of its machine."},                                 \
    {"env", FIELD(LIST, struct app_cluster_run_request, env), .value = "KEY=VALUE",                \
     .help = "Set a variable of all nodes; overrides one of the file."},                           \
    {"secrets", FIELD(LIST, struct app_cluster_run_request, secrets), .option = "--secret",        \
     .value = "NAME[=VALUE]",                                                                      \
     .help = "Variable that no record and no log shows; NAME alone takes its value from the "      \
             "environment."},                                                                      \
    APP_DRY_RUN_FIELD(struct app_cluster_run_request, dry_run)
/* clang-format on */

/* ---- cluster.measure ---- */

struct app_cluster_measurement {
    const char *command;
    double batch; /* NAN = not said */
    const char *type;
    double mbps, per_s; /* NAN: a dry run, and not measured yet */
    double seconds;     /* NAN = measured before, as run */
    int64_t run;        /* FIELD_NONE */
    bool again;         /* measured now */
    const char *name;   /* of the training */
    const char *on;     /* the hosts */
    const char *file;   /* that has the measurements */
};

#endif
