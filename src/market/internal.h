/* internal: declarations shared by the files that import histories, and by those of the offline
 * optimum. */
#ifndef MARKET_INTERNAL_H
#define MARKET_INTERNAL_H

#include "catalog/intern.h"
#include "market/import.h"
#include "market/offline.h"
#include "market/store.h"

#include <stdint.h>

/* ---- import ---- */

struct csv;

#define MARKET_ROWS_MAX ((size_t)20 << 20)
#define MARKET_OFFERS_MAX ((size_t)1 << 20)
#define MARKET_TEXT_MAX_BYTES ((size_t)64 << 20)
#define MARKET_NAME_MAX_BYTES 128
/* Ten times the most expensive instance; eleven years of it are below MONEY_MAX_USD. */
#define MARKET_PRICE_MAX_USD 1e4
#define DAY_S 86400.0

struct import_offer {
    uint32_t cloud, region, zone, instance_type; /* interned */
    uint32_t feed;
    uint32_t last_file; /* whose row came last, and when that was */
    double last_s;
};

/* file: index of the report it came from; 0 = was imported before. */
struct import_row {
    uint32_t offer, file;
    double at_s, usd_per_hour; /* NaN = withdrawn */
};
struct import_spell {
    uint32_t offer, file;
    struct market_spell spell;
};

struct market_import {
    const struct catalog *catalog;
    struct catalog_intern *texts;
    struct import_offer *offers;
    size_t n_offers, cap_offers;
    struct map *by_names; /* to indices of offers */
    struct import_row *rows, *on_demand;
    size_t n_rows, cap_rows, n_on_demand, cap_on_demand;
    struct import_spell *spells;
    size_t n_spells, cap_spells;
    struct market_sweep *sweeps; /* cloud: interned */
    size_t n_sweeps, cap_sweeps;
    struct market_file_report *reports; /* [0] stands for what was there */
    size_t n_reports, cap_reports;
};

/* Where in which file reading is. */
struct import_at {
    struct market_import *im;
    const struct market_source *from;
    struct market_file_report *report;
    size_t line;
};

/* Counts a row that is dropped and returns 0; the line of the first one and what is wrong with it
 * stay in the report. */
int import_drop(struct import_at *at, enum market_drop why, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct import_names {
    const char *cloud, *region, *zone, *instance_type;
};
#define IMPORT_NO_OFFER UINT32_MAX
/* IMPORT_NO_OFFER with e set when there are too many, or a name is no name. */
uint32_t import_offer(struct market_import *im,
                      const struct import_names *names,
                      enum market_feed feed,
                      struct err *e);
/* Text that may name something: UTF-8 without control characters, not longer than we allow. */
bool import_name_good(const char *text);

/* One record; usd NaN = withdrawn. ERR_USAGE when there are more than we keep. */
int import_price(struct import_at *at, uint32_t offer, double at_s, double usd, struct err *e);
void import_on_demand(struct import_at *at, uint32_t offer, double at_s, double usd);
void import_spell(struct import_at *at, uint32_t offer, const struct market_spell *spell);
/* Launch probes asked for all offers of the cloud then. */
void import_sweep(struct market_import *im, double at_s, const char *cloud);

/* Offers that every sweep of probes says something about. */
size_t import_count_probed(const struct market_import *im);
/* Duplicates out, sums in, everything sorted: the bytes of the market. */
void *import_pack(struct market_import *im, size_t *len_out);

/* The price of a text; NaN and drop counted (false) when it is none. "$" in front is fine. */
bool import_parse_price(struct import_at *at, const char *text, double *out);
/* The time of a text; false and counted when it is none. Zones other than UTC are noted. */
bool import_parse_time(struct import_at *at, const char *text, double *out);
/* Midnight of a date as Americans write it: "2/24/2020". */
bool import_us_date(const char *text, double *out_s);

/* "us-east-1" of "us-east-1d" and of "use1-az4", "us-west1" of "us-west1-b"; false when the text
 * names no zone of that cloud. */
bool import_region_of_zone(const char *cloud, const char *zone, char out[static 64]);

/* The accelerator of a machine, "" and 0 when unknown. Borrowed from tables. */
struct import_gpu {
    const char *name;
    double count;
};
struct import_gpu import_gpu(const struct catalog *catalog, const char *cloud, const char *type);
/* The type with these accelerators that a cloud's histories call by name: "p3.16xlarge"; else
 * "8xV100", written into out. */
const char *import_type_of_gpu(const char *cloud,
                               const char *gpu,
                               double gpus,
                               char out[static 64]);

int import_read_aws(struct import_at *at, struct err *e);
int import_read_csv(struct import_at *at, struct err *e);
int import_read_azure(struct import_at *at, struct err *e);
int import_read_daily(struct import_at *at, struct err *e);
int import_read_gcp(struct import_at *at, struct err *e);
int import_read_keepalive(struct import_at *at, struct err *e);

/* ---- the offline optimum ---- */

/* offline_frame.c reduces the market to the offers that matter, for all questions about a job, and
 * sets the steps of one question; offline_relax.c prices every (event, offer) by a
 * Lagrangian relaxation at the best worth of work; offline.c searches under these bounds. */

/* Choices of the relaxation. */
#define OFFLINE_STAY UINT32_MAX
#define OFFLINE_LEAVE (UINT32_MAX - 1)

/* The price of an impossible choice: no infinity, so that loops over offers take minima by vectors.
 */
#define OFFLINE_NEVER 1e30

/* Offers of a location fill whole lanes; offers that cannot be launched fill up the last one. */
#define OFFLINE_LANES 4

/* Offers at some events: list[first[event]] until first[event + 1]. */
struct offline_list {
    uint32_t *list;
    size_t *first;
    size_t n, cap;
};

/* The scene reduced to the offers that no other offer dominates, by location. */
struct market_reduced {
    struct arena *arena; /* of all arrays but those of the lists */
    const struct market_job *job;
    size_t n_offers, n_places; /* the last place is nowhere, where jobs begin */
    size_t *offers;            /* of the scene; MARKET_NO_OFFER fills up */
    size_t *first;             /* of each place, and after the last */
    uint32_t *place;
    double *speed;
    double *move_usd; /* [from * n_places + to] */
    double *step_usd; /* [event * n_offers + offer]: until the next; OFFLINE_NEVER = not for sale */
    struct offline_list taken;   /* back at the event */
    struct offline_list refused; /* for sale, but none to be had */
};

/* Lower bounds of the remaining cost - worth * work, by the relaxation. */
struct offline_values {
    double *on;    /* [step * n_offers + offer], n_steps + 1 rows: on a machine */
    double *off;   /* [step * n_places + place], the same: without one */
    double *go;    /* [step * n_places + place]: leaving a machine there */
    double *begin; /* [step * n_places + place]: beginning there now, without start-up */
};

/* A question over the events from start to horizon. Events count from 0 = start; offers and places
 * are those of the reduced scene. */
struct offline_frame {
    const struct market_offline_question *q;
    const struct market_job *job;
    const struct market_scene *scene;
    const struct market_reduced *reduced;
    size_t n_steps, n_offers, n_places; /* the last two as in the reduced scene */
    bool may_pause;
    double *class_speed; /* of the scene's classes */
    double *length_s;    /* [step] */
    double *cut_usd;     /* what the last of all steps costs, which the deadline may cut */
    bool *may_wait;      /* [step] */
    bool *can_end;       /* [step]: a way within the cost may be done in it */
    bool *may_end;       /* the same of the part that is looked at; the last of n_steps is one */
    size_t all_steps;
    size_t n_passes; /* of the last bound */

    double worth;        /* USD per unit of work */
    double *worth_per_s; /* [offer] */
    struct offline_values v;
    size_t cells_on, cells_off; /* room */
    /* Of the step being relaxed. */
    double *later; /* [offer]: staying, without what its work is worth */
    double *best;  /* [way * n_places + place]: the least of beginning there */
};

/* How a job comes to a machine: from none, from another one of the place, from elsewhere. */
enum offline_way { OFFLINE_FROM_NONE, OFFLINE_FROM_HERE, OFFLINE_FROM_ELSEWHERE, OFFLINE_N_WAYS };

/* Sets everything above the relaxation, up to the last event at which a way that costs no more than
 * upper_usd may be under way. */
void offline_frame_set(struct offline_frame *f,
                       const struct market_offline_question *q,
                       const struct market_reduced *reduced,
                       double upper_usd);
void offline_frame_clear(struct offline_frame *f);

/* Of the ends, only those from step `from` to step `to` are looked at. */
void offline_frame_part(struct offline_frame *f, size_t from, size_t to);

/* What a step costs on each offer. */
static inline const double *offline_step_usd(const struct offline_frame *f, size_t step)
{
    return step + 1 == f->all_steps ? f->cut_usd
                                    : f->reduced->step_usd + (f->q->start + step) * f->n_offers;
}

static inline bool offline_can_start(const struct offline_frame *f, size_t step, size_t offer)
{
    size_t i = f->reduced->offers[offer];

    return i != MARKET_NO_OFFER &&
           f->scene->can_start[(f->q->start + step) * f->scene->n_offers + i];
}

static inline bool offline_taken_back(const struct offline_frame *f, size_t step, size_t offer)
{
    size_t i = f->reduced->offers[offer];

    return i != MARKET_NO_OFFER &&
           f->scene->taken_back[(f->q->start + step) * f->scene->n_offers + i];
}

/* The best bound over all worths, starting near first_worth, or the first bound above enough. */
double offline_bound(struct offline_frame *f, double first_worth, double enough);

/* By the last relaxation: beginning with a machine, without start-up. */
double offline_begin_usd(const struct offline_frame *f, size_t step, size_t offer);
/* The relaxation's choice with an instance, or without one: the offer to launch, OFFLINE_STAY or
 * OFFLINE_LEAVE. */
uint32_t offline_act_on(const struct offline_frame *f, size_t step, size_t offer);
uint32_t offline_act_off(const struct offline_frame *f, size_t step, size_t place);

#endif
