/* measured: measured rates of one worker of a type, by command and batch size.
 *
 * A CSV of rows command,batch,type,mbps,per_s,workers: Mbit/s through the worker's network
 * interface, both ways together, and its iterations per second, beside one server and this number
 * of workers (one by default). Each measurement appends a row; of several for the same key the one
 * with the fewest workers counts, of these the last: many workers share the server's network. The
 * caller opens the file. */
#ifndef CLUSTER_MEASURED_H
#define CLUSTER_MEASURED_H

#include "base/auto.h"
#include "base/err.h"

#include <stddef.h>

#define CLUSTER_MEASURED_FILE "measured.csv" /* in the home directory */
#define CLUSTER_MEASURED_MAX_BYTES ((size_t)16 << 20)

struct cluster_measured {
    struct arena *arena;
    struct cluster_measured_row {
        const char *type;
        double mbps, per_s;
        double workers;
    } * rows;
    size_t n, cap;
};

struct buf;
struct csv;

/* The rows of one command and batch size (0 = rows without one). A fault is ERR_USAGE with name
 * and line. */
struct cluster_measured *cluster_measured_read(struct csv *csv,
                                               const char *command,
                                               double batch,
                                               struct err *e);
void cluster_measured_free(struct cluster_measured *m);
AUTO_DEFINE(cluster_measured)

struct cluster_measurement {
    const char *command;
    double batch; /* 0 = not said */
    struct cluster_measured_row row;
};
/* The text that a table grows by: the row in the order of the table's header, which csv is about to
 * read; with csv NULL there is no table yet, and the header comes first. ERR_USAGE: the table lacks
 * a column that the row needs. */
int cluster_measured_put(struct csv *csv,
                         const struct cluster_measurement *m,
                         struct buf *out,
                         struct err *e);

/* NULL when that type was not measured; m may be NULL. */
const struct cluster_measured_row *cluster_measured_of(const struct cluster_measured *m,
                                                       const char *type);

#endif
