/* facts: prices of functions, latencies of stores and distances between locations: the built-in
 * tables data/geo-*.csv, read into structs. Prices of machines, stores and transfers come from the
 * catalog, and from these tables only where the catalog has none. */
#ifndef GEO_FACTS_H
#define GEO_FACTS_H

#include "base/auto.h"
#include "base/err.h"

#include <stddef.h>

struct geo_function_fact {
    const char *cloud, *region, *product;
    double usd_per_gb_s;      /* of memory */
    double usd_per_cpu_s;     /* of one unit of CPU, as the provider counts them */
    double cpu_per_gb;        /* units that come with a GB of memory */
    double usd_per_request;   /* of one invocation */
    double billing_step_ms;   /* every invocation is rounded up to it */
    double memory_step_mb;    /* memory is rounded up to it; 1024 MB are a GB */
    double trigger_s, cold_s; /* from object to start; what a new instance takes on top */
    /* What the platform allows one invocation. Temporary files of 0 MB: they are in memory. */
    double max_s, max_memory_mb, max_disk_mb;
};

struct geo_store_fact {
    const char *cloud;
    double keys_per_list;      /* that one LIST returns */
    double multipart_requests; /* of an upload in parts, besides the parts */
    double connection_mbps;    /* most of one connection */
    double request_s;          /* until a request is answered, apart from round trip and bytes */
};

struct geo_link_fact {
    const char *src_cloud, *src_region, *dst_cloud, *dst_region;
    double usd_per_gb, mbps, rtt_ms;
};

struct geo_machine_fact {
    const char *cloud, *region, *instance_type;
    double network_gbps, usd_per_hour;
};

struct geo_facts {
    struct arena *arena; /* owns the texts and arrays */
    struct geo_function_fact *functions;
    struct geo_store_fact *stores;
    struct geo_link_fact *links;
    struct geo_machine_fact *machines;
    size_t n_functions, n_stores, n_links, n_machines;
};

struct geo_facts *geo_facts_builtin(struct err *e);
/* The same from tables of one's own: bytes of CSV files in the order of the structs above. A fault
 * is ERR_USAGE with name and line. */
struct geo_facts_text {
    const char *name;
    const char *bytes;
    size_t len;
};
struct geo_facts *geo_facts_read(const struct geo_facts_text texts[static 4], struct err *e);
void geo_facts_free(struct geo_facts *f);
AUTO_DEFINE(geo_facts)

const struct geo_function_fact *geo_facts_function(const struct geo_facts *f,
                                                   const char *cloud,
                                                   const char *region);
const struct geo_store_fact *geo_facts_store(const struct geo_facts *f, const char *cloud);
/* All of these: NULL when there is no row. */
const struct geo_link_fact *geo_facts_link(const struct geo_facts *f,
                                           const char *src_cloud,
                                           const char *src_region,
                                           const char *dst_cloud,
                                           const char *dst_region);
const struct geo_machine_fact *geo_facts_machine(const struct geo_facts *f,
                                                 const char *cloud,
                                                 const char *region,
                                                 const char *instance_type);

#endif
