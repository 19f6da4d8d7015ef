/* problem: a training across regions in plain figures: locations of workers, prices and speeds of
 * machines, functions, stores and links. The model uses no other input, so that a test can write
 * one down by hand. */
#ifndef GEO_PROBLEM_H
#define GEO_PROBLEM_H

#include "base/auto.h"
#include "base/err.h"
#include "spec/geo.h"

#include <stdbool.h>
#include <stddef.h>

struct catalog;
struct config;
struct geo_facts;

/* Providers bill storage and transfer by 2^30 bytes, and call that a GB. */
#define GEO_BILLED_GB 1073741824.0

/* A function with the memory it was given. */
struct geo_function {
    double usd_per_s; /* memory and CPU together */
    double usd_per_request;
    double step_s; /* every invocation is rounded up to it */
    double trigger_s, cold_s;
    /* Limits of its platform, 0 = none. */
    double max_s;      /* of one invocation */
    double disk_bytes; /* of temporary files, which have to hold the mean */
    bool is_too_large; /* it has less memory than was asked for */
};

struct geo_store {
    double usd_per_gb_month;
    double usd_per_read, usd_per_write, usd_per_list; /* of one request */
    double keys_per_list, multipart_requests;
    double connection_bytes_per_s;
    double request_s;
};

struct geo_site {
    const char *cloud, *region;
    bool has_function, has_store; /* else the struct means nothing */
    struct geo_function function;
    struct geo_store store;
};

/* From one site to another. */
struct geo_link {
    bool exists; /* somebody sells the way */
    double usd_per_gb;
    double bytes_per_s; /* of all connections together; INFINITY within a site */
    double rtt_s;
};

struct geo_worker {
    size_t site;
    double usd_per_hour;
    double bytes_per_s; /* its own network; INFINITY = not known */
    double train_s;
    double boot_s;
    double data_bytes; /* fetched from data_site before it can train */
    size_t data_site;
    bool data_cached;
};

/* What was measured in a training that ran; geo/bill.h makes it. Means over the rounds. */
struct geo_pace {
    double round_s;
    double sent_bytes; /* of a gradient */
    double mean_bytes; /* of the result */
    double claims;     /* writes of an aggregator besides the result */
    bool pushed;       /* fan-out: the result went straight to the regions */
    struct geo_worker_pace {
        double round_s; /* its own, from result to result: T_vm of equation 3 for each round */
        double upload_s, download_s;
        double polls; /* that found nothing, by A5 for the wait of each round */
    } * workers;
    struct geo_function_pace {
        /* Billed time of an invocation that only lists; of one that averages. */
        double look_s, work_s;
        double up_bytes; /* of a mean that it sends to the global store; 0 = it sent none */
        /* Of the store there: how long inputs and results lie in it, and requests a round of
         * invocations that met another's claim (A13). */
        double input_s, result_s, met_reads, met_writes;
    } * sites;
};

struct geo_problem {
    struct arena *arena; /* owns all that follows; NULL when a test wrote it down */
    struct geo_site *sites;
    size_t n_sites;
    struct geo_link *links; /* from site i to site j: links[i * n_sites + j] */
    struct geo_worker *workers;
    size_t n_workers;
    double size_bytes;
    enum spec_geo_compression compression;
    double topk;
    double quorum;
    unsigned connections;
    double poll_s;
    double retries;
    double average_bytes_per_s; /* that a function averages */
    double rounds, rounds_per_epoch;
    const struct geo_pace *pace; /* measured times count instead of links; NULL = none */
};

/* Joins what the file says with the prices of the catalog and, where it has none, those of the
 * facts. ERR_USAGE (file, line) when the region or instance type of a worker is not known,
 * ERR_NOFIT when the region does not offer the type. */
struct geo_problem *geo_problem_new(const struct spec_geo *spec,
                                    const struct catalog *catalog,
                                    const struct geo_facts *facts,
                                    const struct config *config,
                                    struct err *e);
/* Only what does not depend on locations: sizes, counts, compression, quorum and the like. */
void geo_problem_set(struct geo_problem *p, const struct spec_geo *spec);
void geo_problem_free(struct geo_problem *p);
AUTO_DEFINE(geo_problem)

static inline const struct geo_link *geo_link(const struct geo_problem *p, size_t from, size_t to)
{
    return &p->links[from * p->n_sites + to];
}

#endif
