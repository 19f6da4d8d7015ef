/* model: cost and time of one round for one placement of function and store, and of the whole
 * training. docs/geo.md has the equations. */
#ifndef GEO_MODEL_H
#define GEO_MODEL_H

#include "base/err.h"
#include "geo/problem.h"

#include <stdint.h>

/* Means over the workers; they add up to the round. */
struct geo_phases {
    double train_s, upload_s;
    double wait_s;      /* for other workers, and for the last to be served */
    double aggregate_s; /* from the event to the result, in all levels */
    double download_s;  /* half a poll, the way to the region if there is one, and the bytes */
};

/* Dollars per round: rates, since a request costs less than a micro-dollar. */
struct geo_bill {
    double vm_usd, faas_usd, requests_usd, storage_usd, transfer_usd;
};

/* Counts per round. */
struct geo_counts {
    double reads, writes, lists, invocations;
    double failed_polls; /* among the reads */
    double wan_bytes;    /* that leave their site */
};

struct geo_placement {
    enum spec_geo_topology topology;
    size_t function, store; /* sites; of the global ones where there are regional ones too */
    double round_s;
    struct geo_phases phases;
    struct geo_bill bill;
    struct geo_counts counts;
    /* Once: new instances of functions begin cold. */
    double cold_s, cold_usd;
};

double geo_bill_usd(const struct geo_bill *b);

/* A month of storage is 730 hours. */
#define GEO_MONTH_S 2628000.0
/* What an invocation bills: rounded up to the step. */
double geo_billed_s(const struct geo_function *f, double seconds);
/* What a machine bills: by the second, and a minute at least. */
double geo_machine_s(double seconds);
/* Of moving training data that lies elsewhere, in all rounds. */
double geo_data_usd(const struct geo_problem *p);

/* Bytes that one worker sends, and those of the mean of n workers' gradients. */
double geo_sent_bytes(const struct geo_problem *p);
double geo_merged_bytes(const struct geo_problem *p, size_t n);

/* False when the placement is impossible: a site has no function or store, or a link no price. */
bool geo_evaluate(const struct geo_problem *p,
                  enum spec_geo_topology topology,
                  size_t function,
                  size_t store,
                  struct geo_placement *out);

/* The time of a transfer between two sites over TCP and TLS. */

/* Bytes per second of so many connections to a store: each is held by its window and by the
 * store, all of them by the link and by the network of the machine. */
double geo_link_rate(const struct geo_link *link,
                     const struct geo_store *store,
                     unsigned connections,
                     double machine_bytes_per_s);

/* TCP's and TLS 1.3's, before a connection carries anything. */
double geo_link_handshake_s(const struct geo_link *link);

/* What the transfer takes longer than bytes / rate because windows begin small. */
double geo_link_slow_start_s(const struct geo_link *link,
                             double bytes,
                             double rate,
                             unsigned connections);

/* One request that carries so many bytes over a connection that is open: round trip, the store's
 * own time, slow start, and the bytes. */
double geo_link_request_s(const struct geo_link *link,
                          const struct geo_store *store,
                          double bytes,
                          unsigned connections,
                          double machine_bytes_per_s);

/* The whole training: machines begin, fetch their data, and train all rounds. */
struct geo_total {
    double time_s;
    int64_t vm_microusd, faas_microusd, requests_microusd, storage_microusd, transfer_microusd;
    int64_t total_microusd; /* their sum */
};

/* ERR_USAGE when it costs more than an amount of money can hold. */
int geo_total(const struct geo_problem *p,
              const struct geo_placement *placement,
              struct geo_total *out,
              struct err *e);

#endif
