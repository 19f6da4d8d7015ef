#include "geo/link.h"

#include <math.h>

/* Linux receives into 6 MiB by default, of which half is usable as window. */
#define WINDOW_BYTES (3 * 1048576.0)
/* Ten segments of 1460 bytes: the window a connection begins with (RFC 6928). */
#define FIRST_WINDOW_BYTES 14600.0
/* One round trip for TCP, one for TLS 1.3. */
#define HANDSHAKE_ROUND_TRIPS 2

double geo_link_rate(const struct geo_link *link,
                     const struct geo_store *store,
                     unsigned connections,
                     double machine_bytes_per_s)
{
    double one = fmin(WINDOW_BYTES / link->rtt_s, store->connection_bytes_per_s);

    return fmin(connections * one, fmin(link->bytes_per_s, machine_bytes_per_s));
}

double geo_link_handshake_s(const struct geo_link *link)
{
    return HANDSHAKE_ROUND_TRIPS * link->rtt_s;
}

double geo_link_slow_start_s(const struct geo_link *link,
                             double bytes,
                             double rate,
                             unsigned connections)
{
    double window = FIRST_WINDOW_BYTES * connections, full = rate * link->rtt_s, sent = 0;
    double flights = 0;

    while (window < full && sent < bytes) {
        sent += window;
        window *= 2;
        flights++;
    }
    /* Over before the window is full: a round trip for each flight. */
    return flights * link->rtt_s - fmin(sent, bytes) / rate;
}

double geo_link_request_s(const struct geo_link *link,
                          const struct geo_store *store,
                          double bytes,
                          unsigned connections,
                          double machine_bytes_per_s)
{
    double rate = geo_link_rate(link, store, connections, machine_bytes_per_s);

    return link->rtt_s + store->request_s + geo_link_slow_start_s(link, bytes, rate, connections) +
           bytes / rate;
}
