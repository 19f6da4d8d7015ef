/* spec/geo: the file that describes a geo-distributed training, read and checked. docs/geo.md
 * describes each field. */
#ifndef SPEC_GEO_H
#define SPEC_GEO_H

#include "base/auto.h"
#include "base/err.h"
#include "spec/place.h"

#include <stdbool.h>
#include <stddef.h>

/* Past these a figure is taken for a slip. */
#define SPEC_GEO_MAX_WORKERS 1000
#define SPEC_GEO_MAX_ROUNDS 1e9
#define SPEC_GEO_MAX_CONNECTIONS 64 /* as many as the speeds of links were measured with */

/* How gradients come together: at one store; in each region and then at one store, from which all
 * workers read; or so that the result goes out once per region. */
enum spec_geo_topology { SPEC_GEO_CENTRAL, SPEC_GEO_REGIONAL, SPEC_GEO_FANOUT, SPEC_GEO_ANY };

enum spec_geo_compression { SPEC_GEO_PLAIN, SPEC_GEO_INT8, SPEC_GEO_TOPK };

/* Workers of one entry, all alike. */
struct spec_geo_worker {
    struct spec_place place;
    const char *instance_type; /* NULL = 2 vCPU, 8 GB of that cloud */
    unsigned count;
    double train_s;               /* per round; NaN = as the file says for all */
    const char *data;             /* where its training data lies; NULL = not said */
    double data_bytes;            /* 0 = not said */
    struct spec_place data_place; /* cloud NULL = the worker's own location */
    bool data_cached;             /* fetched once, not once an epoch */
    size_t line;                  /* 0 = from the command line */
};

/* What stands for a location when the training is run: hosts of the configuration and a store. */
struct spec_geo_site {
    struct spec_place place;
    const char *on;          /* a host group, or "local", for its workers; NULL = not said */
    const char *function_on; /* the same for its function */
    const char *address;     /* at which workers reach the function; NULL = that of its host */
    unsigned port;           /* of the function; 0 = not said */
    const char *store;       /* a bucket's URL or dir:/PATH; NULL = not said */
    const char *endpoint, *region; /* of a bucket; NULL = as its cloud has it */
    size_t line;
};

struct spec_geo {
    struct arena *arena; /* owns everything below */
    const char *file;
    const char *name;
    double size_bytes; /* what each worker sends per round */
    double rounds, rounds_per_epoch;
    const char *run;     /* NULL = for planning only */
    const char *workdir; /* that a worker runs in, from where the file lies; NULL = none */
    double train_s;      /* per round; NaN = not said */
    struct spec_geo_worker *workers;
    size_t n_workers;                  /* entries */
    struct spec_place function, store; /* NULL parts = any */
    double memory_gb;                  /* of the function, as the providers count it */
    double average_mb_per_s;           /* that the function averages */
    enum spec_geo_topology topology;
    enum spec_geo_compression compression;
    double topk;          /* share of the values that is sent */
    double quorum;        /* share of the workers that must arrive */
    unsigned connections; /* of one upload or download */
    double poll_s;
    double retries;                /* share of requests and events that come twice */
    double same_region_usd_per_gb; /* for what stays in a region */
    bool weighted;                 /* the mean is weighted by samples */
    struct spec_geo_site *sites;
    size_t n_sites;
};

/* Defaults only: what the command line says goes on top. */
struct spec_geo *spec_geo_new(const char *name);
struct spec_geo *spec_geo_load(const char *path, struct err *e);
struct spec_geo *spec_geo_parse(const char *name, const char *text, size_t len, struct err *e);
void spec_geo_free(struct spec_geo *s);
AUTO_DEFINE(spec_geo)

/* One setting as on the command line, by its name in the file ("model.size", "quorum"). */
int spec_geo_set(struct spec_geo *s, const char *name, const char *value, struct err *e);
/* "aws:ap-south-1,gcp:europe-west2": these instead of the file's, one worker each. */
int spec_geo_set_workers(struct spec_geo *s, const char *list, struct err *e);
/* Nothing that planning needs is missing. */
int spec_geo_check(const struct spec_geo *s, struct err *e);

/* What the file says of that location; NULL = nothing. */
const struct spec_geo_site *spec_geo_site(const struct spec_geo *s,
                                          const char *cloud,
                                          const char *region);

/* As written in files and on the command line. */
const char *spec_geo_topology_text(enum spec_geo_topology topology);

#endif
