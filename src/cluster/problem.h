/* problem: servers and workers to choose from, with prices, networks and rates, location by
 * location. */
#ifndef CLUSTER_PROBLEM_H
#define CLUSTER_PROBLEM_H

#include "base/auto.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct catalog;
struct cluster_measured;
struct spec_cluster;

struct cluster_type {
    const char *name;
    int64_t price_microusd; /* per hour */
    double network_mbps;    /* NaN = not known */
    double mbps, per_s;     /* of one worker, NaN = not known */
};

/* Server and workers stand at one location. */
struct cluster_place {
    const char *cloud, *region; /* NULL = not said: all prices are the file's */
    struct cluster_type *servers, *workers;
    size_t n_servers, n_workers;
};

struct cluster_problem {
    struct arena *arena; /* owns the rest; NULL when a test wrote it down */
    struct cluster_place *places;
    size_t n_places;
    int64_t budget_microusd; /* per hour; INT64_MAX = none */
    unsigned max_workers;    /* at most SPEC_CLUSTER_MAX_WORKERS */
    double share;            /* of the server's network that may be used */
    double work;             /* iterations; NaN = not said */
};

/* Prices and networks are the file's, else the catalog's (on demand). Rates are the file's for the
 * type, else what was measured (may be NULL), else the file's for its accelerators or vCPUs, as
 * often as it has them. ERR_USAGE with file and line for unknown types, ERR_NOFIT when a
 * location has none of them. The catalog must outlive it. */
struct cluster_problem *cluster_problem_new(const struct spec_cluster *spec,
                                            const struct catalog *catalog,
                                            const struct cluster_measured *measured,
                                            struct err *e);
void cluster_problem_free(struct cluster_problem *p);
AUTO_DEFINE(cluster_problem)

#endif
