/* usage: what a job's machine did while it ran, second by second, as its agent sampled it; and what
 * that and its log say of a training: iterations per second, and Mbit/s. */
#ifndef BROKER_LEARN_USAGE_H
#define BROKER_LEARN_USAGE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Since the point before, or since the start. */
struct usage_point {
    double at_s;                     /* since the start, by the machine's clock */
    double cpus;                     /* busy on average */
    double memory_mb;                /* then */
    double received_mbps, sent_mbps; /* of all interfaces but the loopback */
    double gpu_percent;              /* then, on average of all; < 0 = there is none */
    uint64_t received, sent;         /* bytes since the start */
    uint64_t log_bytes;              /* of its log, until then */
};

struct usage {
    struct usage_point *points; /* of the samples */
    size_t n, cap;
    /* To the last line: */
    double seconds, cpu_s, peak_mb;
    uint64_t received, sent; /* bytes */
};
void usage_clear(struct usage *u);

/* Of state text, whose lines are those of exec/statefile.h; those that cannot be read are skipped.
 */
void usage_parse(const char *text, size_t len, struct usage *out);
/* Of a job below home; none when there is no such file. Of a file larger than USAGE_BYTES_MAX its
 * beginning. */
#define USAGE_BYTES_MAX ((size_t)16 << 20)
int usage_read(const char *home, int64_t job, struct usage *out, struct err *e);
/* The last point alone, cheaply. false: there is none yet. */
bool usage_last(const char *home, int64_t job, struct usage_point *out);

/* What a worker did from its first metric on: iterations are the steps of [TRADEWIND_METRIC] lines,
 * times those of the samples between which they were printed. */
struct usage_rates {
    double mbps;  /* both ways together */
    double per_s; /* iterations */
    double seconds;
};
/* ERR_NOTFOUND says what is missing: metrics, or time. */
int usage_rates(const char *home, int64_t job, struct usage_rates *out, struct err *e);

#endif
