/* cluster_parts: what the files of the cluster commands share. */
#ifndef CLI_CLUSTER_CLUSTER_PARTS_H
#define CLI_CLUSTER_CLUSTER_PARTS_H

#include "app/run/compose.h"
#include "base/json.h"
#include "cli/run/run.h"
#include "cluster/measured.h"
#include "cluster/recommend.h"
#include "spec/cluster.h"
#include "spec/config.h"

#include <stdbool.h>
#include <stdio.h>

struct command_args;

/* Options of the commands that start clusters. */
#define CLI_CLUSTER_ROOM_OPTIONS                                                                   \
    {.name = "--cpus",                                                                             \
     .value = "N",                                                                                 \
     .help = "Processors of each node; all that its machine has unless said."},                    \
    {                                                                                              \
        .name = "--memory", .value = "MB",                                                         \
        .help = "Memory of each node; all that its machine has unless said."                       \
    }

/* The file with the settings of the command line, what was measured of it, and the catalog. */
struct cluster_desk {
    struct spec_cluster *spec;
    struct config *config;
    struct catalog *catalog;
    struct cluster_measured *measured; /* NULL = nothing was */
    bool chooses;                      /* types or a place stand on the command line */
};
/* The file is the first operand. */
int cluster_desk_open(struct cluster_desk *d, const struct command_args *args, struct err *e);
void cluster_desk_clear(struct cluster_desk *d);
/* Again, after something was. */
int cluster_desk_read_measured(struct cluster_desk *d, struct err *e);

/* What one of the rules answers; has_answer false when there is none. */
struct cluster_rule {
    enum cluster_algorithm algorithm;
    bool has_answer;
    struct cluster_choice choice;
};
#define CLUSTER_RULES 4

struct cluster_view {
    const struct spec_cluster *spec;
    const struct cluster_problem *problem;
    enum cluster_algorithm algorithm;
    enum cluster_objective objective;
    const struct cluster_answer *answer;
    const struct cluster_rule *rules; /* to compare with */
    size_t n_rules;
};

/* ---- a cluster that is to run (cluster_order.c) ---- */

struct cluster_order {
    struct app_run_location place;        /* of the workers, and of the server unless said */
    struct app_run_location server_place; /* on NULL = the same */
    unsigned workers;
    struct app_run_room room;                 /* of each node */
    const char *server_type, *worker_type;    /* "" = not known; borrowed from the desk */
    int64_t server_microusd, worker_microusd; /* per hour, of the planned types; 0 = not known */
    double planned_s;                         /* 0 = not known */
    bool elastic;
    bool measures;  /* only to be looked at for a while: it keeps nothing */
    double limit_s; /* its nodes are ended after so long, whoever looks at them or not; 0 = never */
};

/* Who and where, from --on, --server-on and the recommendation for the file. workers: so many; 0 =
 * as many as is recommended. */
int cluster_order_find(const struct cluster_desk *d,
                       const struct command_args *args,
                       unsigned workers,
                       struct cluster_order *out,
                       struct err *e);
/* A run of one stage; everything in *out is in the arena. */
int cluster_order_compose(const struct cluster_desk *d,
                          const struct command_args *args,
                          const struct cluster_order *order,
                          struct app *app,
                          struct arena *arena,
                          struct run *out,
                          struct err *e);

void cluster_print(const struct cluster_view *view, FILE *out);
int cluster_write_json(const struct cluster_view *view, FILE *out, struct err *e);

#endif
