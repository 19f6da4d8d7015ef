/* cloud: machines of clouds for jobs without a pipeline: the cheapest offer that fits a request,
 * and the launches that clouds refused. */
#ifndef APP_JOB_CLOUD_H
#define APP_JOB_CLOUD_H

#include "app/core/operation.h"
#include "broker/core/details.h"
#include "lake/job/job.h"
#include "spec/config.h"

#include <math.h>

/* Whether a job of this `on` is given a machine of a cloud. A host group of the same name comes
 * first. */
bool app_job_is_cloud(const struct config *c, const char *on);

/* The first of the fields spot, region and max_hourly_usd that a request has; NULL = none. */
const char *app_job_market_field(bool spot, const char *region, double max_hourly_usd);
/* ERR_USAGE for such a field of a request that launches nothing. */
int app_job_check_market(const char *field, const struct answer *out, struct err *e);

/* What a machine must have; all nodes of a job are alike. */
struct app_job_wish {
    const char *on; /* "cloud", or a cloud's name */
    double cpus;
    uint64_t memory_mb;
    const char *gpus;      /* "2", "A100:2"; NULL = none */
    unsigned nodes;        /* 0 counts as 1 */
    double time_limit_s;   /* 0 or NAN = none */
    bool spot;             /* spot instances alone */
    const char *region;    /* NULL = any */
    double max_hourly_usd; /* of one machine; NAN = no limit */
};

/* The cheapest offer, and how it was planned, as struct job_details has them. */
struct app_job_planned {
    struct job_offer offer;
    char *request;
    char *price_date; /* "2026-08-22"; NULL = not known */
};
void app_job_planned_clear(struct app_job_planned *p);
int app_job_plan_cloud(struct app *app,
                       const struct app_job_wish *w,
                       const struct answer *out,
                       struct app_job_planned *planned,
                       struct err *e);
/* The same for a recorded job that runs again: by today's prices and refusals. */
int app_job_plan_again(struct app *app,
                       const struct job_details *d,
                       const struct answer *out,
                       struct app_job_planned *planned,
                       struct err *e);
/* Gives the job the whole machine: it is alone there. *d borrows from p. */
void app_job_take_planned(const struct app_job_planned *p,
                          struct lake_job_request *r,
                          struct job_details *d);

/* ---- what it costs ---- */

/* Of all nodes. */
struct app_job_price {
    double low_usd_per_hour, high_usd_per_hour;
    double most_usd; /* at the time limit; NAN without one */
    const char *basis;
    const void *offer; /* struct app_offer; NULL = no machine of a cloud */
};
extern const struct record app_job_price_record;
int app_job_price_planned(const struct app_job_planned *p,
                          unsigned nodes,
                          double time_limit_s, /* 0 or NAN = none */
                          struct arena *arena,
                          struct app_job_price *out,
                          struct err *e);

/* clang-format off */
/* Of requests for machines of clouds: members spot, region and max_hourly_usd. */
#define APP_JOB_MARKET_FIELDS(type, at)                                                            \
    {"spot", FIELD(BOOL, type, at spot),                                                           \
     .help = "Machines of clouds: spot instances alone."},                                         \
    {"region", FIELD(TEXT, type, at region), .value = "REGION", .least = 1, .most = 200,           \
     .help = "Machines of clouds: regions of this name only."},                                    \
    {"max_hourly_usd", FIELD(REAL, type, at max_hourly_usd), .option = "--max-hourly",             \
     .value = "USD", .unit = "USD", .most = HUGE_VAL,                                              \
     .help = "Machines of clouds: no instance that costs more per hour."}
/* clang-format on */

/* ---- in answers ---- */

/* A machine of a cloud that a job or a stage is planned for. */
struct app_offer {
    const char *provider, *region, *zone, *instance_type, *market, *accelerator;
    double accelerators, cpus, memory_gb, price_usd_per_hour;
};
extern const struct record app_offer_record;
/* Of a job whose planned offer was refused: that of the machine which was launched last. */
int app_job_offer_now(struct app *app, int64_t job, struct job_offer *offer, struct err *e);
/* In the arena, with its texts; *out NULL: it is none. */
int app_offer_show(const struct job_offer *o, struct arena *arena, const void **out, struct err *e);

/* ---- what was tried ---- */

/* A launch that a cloud refused. */
struct app_refusal {
    int64_t job, at_ms;
    const char *location, *instance_type, *market, *code, *scope, *reason;
    double took_s;
};
extern const struct record app_refusal_record;
/* Those of a job, or where job is 0 of a run; the oldest first, in the arena. */
int app_job_refusals(struct app *app,
                     int64_t job,
                     int64_t run,
                     struct arena *arena,
                     struct field_records *out,
                     struct err *e);

#endif
