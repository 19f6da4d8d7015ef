/* import: price histories in the formats of their sources, merged into one market. Bytes in, bytes
 * out; the caller reads and writes files. Unusable rows are dropped and counted, oddities of used
 * rows are counted; a file without any history is an error. */
#ifndef MARKET_IMPORT_H
#define MARKET_IMPORT_H

#include "base/auto.h"
#include "base/err.h"
#include "market/series.h"

#include <stdbool.h>
#include <stddef.h>

struct catalog;

/* Why a row is not in the market. */
enum market_drop {
    MARKET_DROP_DUPLICATE, /* the same record again */
    MARKET_DROP_CONFLICT, /* another price for the same offer and time: the earlier import counts */
    MARKET_DROP_PRICE,    /* negative, zero or no number */
    MARKET_DROP_TIME,     /* no time, or none that exists */
    MARKET_DROP_MALFORMED, /* fields missing, or not what they should be */
    MARKET_DROP_PRODUCT,   /* not Linux/UNIX, whose prices the others are not comparable with */
    MARKET_N_DROPS
};
extern const char *const market_drop_texts[MARKET_N_DROPS];

/* What is odd about rows that are used. */
enum market_note {
    MARKET_NOTE_ORDER,   /* against the order of its file; sorted in */
    MARKET_NOTE_ZONE,    /* a time with another zone than UTC; converted */
    MARKET_NOTE_NO_ZONE, /* a time without a zone; taken as UTC */
    MARKET_NOTE_GAP,     /* more than two days since the record before, where one a day is usual */
    MARKET_NOTE_WITHDRAWN, /* not for sale from then on */
    MARKET_NOTE_SPIKE,     /* at least three times the price on both sides of it */
    MARKET_NOTE_GPU,       /* of an instance type whose accelerators are not known */
    MARKET_NOTE_FAILED,    /* a machine that could not be started */
    MARKET_NOTE_CUT,       /* a life that ends with the log, not with a preemption */
    MARKET_N_NOTES
};
extern const char *const market_note_texts[MARKET_N_NOTES];

struct market_file_report {
    char *path;
    enum market_feed feed;
    size_t rows_read, rows_kept; /* rows_kept = rows_read - all dropped */
    size_t dropped[MARKET_N_DROPS], notes[MARKET_N_NOTES];
    size_t n_spells;
    size_t bad_line;    /* of the first row that was dropped for what it says; 0 = none */
    char bad_text[160]; /* what is wrong with it */
};

struct market_source {
    const char *name; /* what messages call it; tells Azure's region and a sweep's time, too */
    char *text;       /* whole content, a NUL behind it; cut up while reading */
    size_t len;
    enum market_feed feed;      /* MARKET_N_FEEDS = see what it is */
    const char *cloud, *region; /* NULL = by what the file or its name says */
};

/* What a file is by how it begins; MARKET_N_FEEDS when it is no history. */
enum market_feed market_import_guess(const char *text, size_t len);

/* "2020-02-20", "2020-02-20T22:06:16Z": seconds since 1970; without a zone, UTC. */
bool market_parse_time(const char *text, double *out_s);

struct market_import;

/* The catalog tells which accelerators a machine has, where our own table does not; NULL = none. It
 * must outlive the import. */
struct market_import *market_import_new(const struct catalog *catalog);
void market_import_free(struct market_import *im);
AUTO_DEFINE(market_import)

/* What was imported before; first of all. */
int market_import_market(struct market_import *im, const struct market *m, struct err *e);
/* One more file. ERR_USAGE with file and line when it is no such history or has no usable row; the
 * import is good for nothing then. Duplicates are counted at the end. */
int market_import_file(struct market_import *im, const struct market_source *from, struct err *e);
/* The same for records that come one by one, such as those of AWS's API: `name` is that of
 * the report to which the records that follow count. */
struct market_record {
    const char *zone, *instance_type, *product, *usd_per_hour, *time; /* as AWS writes them */
};
void market_import_begin(struct market_import *im, const char *name);
int market_import_record(struct market_import *im, const struct market_record *r, struct err *e);
/* Everything as the bytes of one market (market/store.h), the caller's to free. The same rows give
 * the same bytes, in whatever order they came. */
void *market_import_finish(struct market_import *im, size_t *len_out, struct err *e);

/* A report per file, in their order; borrowed. Complete after market_import_finish. */
const struct market_file_report *market_import_reports(const struct market_import *im, size_t *n);

#endif
