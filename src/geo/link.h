/* link: the time of a transfer between two sites over TCP and TLS. */
#ifndef GEO_LINK_H
#define GEO_LINK_H

#include "geo/problem.h"

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

#endif
