/* spec/cluster: the file that describes a training cluster, read and checked. docs/cluster.md
 * describes each field. */
#ifndef SPEC_CLUSTER_H
#define SPEC_CLUSTER_H

#include "base/auto.h"
#include "base/err.h"
#include "spec/place.h"
#include "spec/spec.h"

#include <stddef.h>

/* Past these a figure is taken for a slip. */
#define SPEC_CLUSTER_MAX_WORKERS 10000
#define SPEC_CLUSTER_MAX_USD 1e6

/* What the file knows of a type; NaN = it does not say. */
struct spec_cluster_type {
    const char *name;    /* an instance type; for mbps and per_s also an accelerator, or "vcpu" */
    double usd_per_hour; /* instead of the catalog's */
    double network_mbps; /* of its link; instead of the catalog's */
    double mbps;         /* that one worker sends and receives */
    double per_s;        /* iterations of one worker alone */
    size_t line;
};

struct spec_cluster {
    struct arena *arena; /* owns everything below */
    const char *file;
    const char *name;
    const char *run;      /* NULL = for planning only */
    double batch;         /* 0 = not said */
    const char **servers; /* types; none = any */
    const char **workers; /* types; none = any */
    size_t n_servers, n_workers;
    size_t servers_line, workers_line, place_line; /* 0 = the command line */
    double max_workers;                            /* NaN = not said */
    double budget_usd;                             /* per hour; NaN = not said */
    double work;                                   /* iterations; NaN = not said */
    double share;                                  /* of the server's link that may be used */
    struct spec_place place;                       /* NULL parts = any */
    struct spec_cluster_type *types;
    size_t n_types;
    /* What runs on it, as a pipeline of one stage (SPEC_CLUSTER_STAGE): run, setup, workdir, envs,
     * secrets, inputs, outputs, checkpoint. Sizes of local inputs are not looked for. */
    struct spec *pipeline;
};
#define SPEC_CLUSTER_STAGE "train"
/* Of a file that names no output. */
#define SPEC_CLUSTER_OUTPUT "model"

struct spec_cluster *spec_cluster_load(const char *path, struct err *e);
struct spec_cluster *spec_cluster_parse(const char *name,
                                        const char *text,
                                        size_t len,
                                        struct err *e);
void spec_cluster_free(struct spec_cluster *s);
AUTO_DEFINE(spec_cluster)

/* One setting as on the command line, by its name in the file ("budget", "server.type"). */
int spec_cluster_set(struct spec_cluster *s, const char *name, const char *value, struct err *e);
/* What the file says of a type, or NULL. */
const struct spec_cluster_type *spec_cluster_type(const struct spec_cluster *s, const char *name);

#endif
