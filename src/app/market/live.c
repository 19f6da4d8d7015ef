#include "app/market/live.h"

#include "app/market/internal.h"
#include "base/csv.h"
#include "base/mem.h"
#include "base/number.h"
#include "market/series.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0
#define RESTART_S 300.0
#define CHECKPOINT_GB 0.4
/* To and from object storage, one stream. */
#define CHECKPOINT_GB_PER_S 0.1
/* Jobs begun in the last days could not end in time. */
#define STARTS_NOT_LAST 5
#define STARTS_MAX 4000
#define GAP_PERCENT 0.1
/* Some ten milliseconds a start; who wants no gap at all waits for as long as it takes. */
#define REPLAY_EFFORT 10000
#define RATES_MAX_BYTES ((size_t)16 << 20)

const char *const market_follow_policies[4] = {
    [MARKET_GREEDY] = "greedy", [MARKET_MARGIN] = "margin", [MARKET_THRESHOLD] = "threshold"};
const char *const market_follow_uses[4] = {[MARKET_GPU_SHARE + 1] = "share",
                                           [MARKET_GPU_WHOLE + 1] = "whole",
                                           [MARKET_GPU_ALONE + 1] = "alone"};
const char *const market_replay_modes[3] = {
    [MARKET_REPLAY_PAPER] = "paper", [MARKET_REPLAY_MARKET] = "market"};

/* ---- the request ---- */

static int read_policy(struct app_live *c,
                       const struct market_follow *f,
                       const struct answer *out,
                       struct err *e)
{
    struct market_policy *p = &c->question.policy;
    char policy[64], other[64];

    *p = (struct market_policy){.kind = f->policy ? f->policy : MARKET_MARGIN,
                                .margin = isnan(f->margin) ? 1 : f->margin,
                                .usd_per_work = f->worth_usd_per_hour / 3600};
    if (!isnan(f->worth_usd_per_hour) && p->kind != MARKET_THRESHOLD)
        return err_set(e, ERR_USAGE, "%s is for %s threshold",
                       answer_spell(out, "worth_usd_per_hour", other),
                       answer_spell(out, "policy", policy));
    if (p->kind == MARKET_THRESHOLD && !isfinite(c->question.deadline_after_s))
        return err_set(e, ERR_USAGE,
                       "%s threshold waits for better prices: give it a deadline, as in %s 10d",
                       answer_spell(out, "policy", policy), answer_spell(out, "deadline_s", other));
    return 0;
}

static void read_costs(struct app_live *c, const struct market_follow *f)
{
    c->restart_s = isnan(f->restart_s) ? RESTART_S : f->restart_s;
    c->checkpoint_s = f->checkpoint_s;
    c->checkpoint_gb = f->checkpoint_gb;
}

static void read_question(struct app_live *c, const struct market_replay_request *r)
{
    struct market_live_question *q = &c->question;
    double gap = isnan(r->gap_percent) ? GAP_PERCENT : r->gap_percent;

    q->deadline_after_s = isnan(r->deadline_s) ? (double)INFINITY : r->deadline_s;
    q->gap = gap / 100;
    q->effort = gap > 0 ? REPLAY_EFFORT : 0;
}

/* ---- preemptions from a file ---- */

struct rate {
    const char *names[4]; /* cloud, region, zone, instance type; "" = any */
    double per_hour;
};
struct rates {
    struct arena *arena; /* of the rates */
    struct rate *rates;
    size_t n, cap;
};

static int add_rate(struct rates *r,
                    struct csv *csv,
                    const struct csv_field *fields,
                    size_t n,
                    const size_t *at,
                    struct err *e)
{
    struct rate rate = {.per_hour = -1};
    bool fits = true;

    if (at[4] >= n || !number_parse(fields[at[4]].text, &rate.per_hour) || rate.per_hour < 0 ||
        rate.per_hour > 3600)
        return err_set(e, ERR_USAGE, "%s:%zu: per_hour is not a number from 0 to 3600",
                       csv_name(csv), csv_line(csv));
    for (size_t k = 0; k < 4; k++)
        fits &= (rate.names[k] = arena_dup(r->arena, at[k] < n ? fields[at[k]].text : "")) != NULL;
    r->rates = arena_room(r->arena, r->rates, r->n, &r->cap, sizeof *r->rates);
    if (!fits || !r->rates)
        return err_set(e, ERR_NOFIT, "%s: too many rows", csv_name(csv));
    rate.names[1] = market_region(rate.names[0], rate.names[1]);
    r->rates[r->n++] = rate;
    return 0;
}

static int read_rates(struct rates *r, const char *path, struct err *e)
{
    static const char *const columns[] = {"cloud", "region", "zone", "instance_type", "per_hour"};
    AUTO(csv) struct csv *csv = csv_open(path, RATES_MAX_BYTES, e);
    const struct csv_field *fields;
    size_t at[5], n;
    int got;

    if (!csv || csv_header(csv, columns, 5, at, e) < 0)
        return -1;
    if (at[4] == SIZE_MAX)
        return err_set(e, ERR_USAGE, "%s: there is no column per_hour", path);
    while ((got = csv_next(csv, &fields, &n, e)) == 1)
        if (add_rate(r, csv, fields, n, at, e) < 0)
            return -1;
    return got;
}

/* The first row that fits. */
static double rate_of(const void *context, const struct market_offer *o)
{
    const struct rates *r = context;
    const char *const names[] = {o->cloud, o->region, o->zone, o->instance_type};

    for (size_t i = 0; i < r->n; i++) {
        bool fits = true;
        for (size_t k = 0; k < 4; k++)
            fits &= !*r->rates[i].names[k] || strcmp(r->rates[i].names[k], names[k]) == 0;
        if (fits)
            return r->rates[i].per_hour;
    }
    return (double)NAN;
}

static int read_preemptions(struct market_live_wish *w,
                            struct rates *r,
                            const char *text,
                            const struct answer *out,
                            struct err *e)
{
    char field[64];

    w->preemptions_per_h = (double)NAN;
    if (!text || strcmp(text, "measured") == 0)
        return 0;
    if (number_parse(text, &w->preemptions_per_h))
        return w->preemptions_per_h >= 0 && w->preemptions_per_h <= 3600
                   ? 0
                   : err_set(e, ERR_USAGE, "%s %s is not between 0 and 3600 per hour",
                             answer_spell(out, "preemptions", field), text);
    if (read_rates(r, text, e) < 0)
        return err_wrap(e, "%s (a number, \"measured\" or a file)",
                        answer_spell(out, "preemptions", field));
    w->preemptions_of = rate_of;
    w->context = r;
    return 0;
}

/* ---- starts ---- */

/* Midnights on which the region has prices of the reference. */
static int read_starts(struct app_live *c,
                       const char *text,
                       const struct answer *out,
                       struct err *e)
{
    double begin_s = (double)INFINITY, end_s = -(double)INFINITY;
    struct market_starts starts;
    char field[64];

    if (app_market_starts(text, out, &starts, e) < 0)
        return -1;
    for (size_t i = 0; i < c->market->n_offers; i++) {
        const struct market_offer *o = &c->market->offers[i];
        if (!o->n_points || strcmp(o->cloud, c->cloud) != 0 || strcmp(o->region, c->region) != 0 ||
            strcmp(o->gpu, MARKET_REFERENCE_GPU) != 0)
            continue;
        begin_s = fmin(begin_s, o->begin_s);
        end_s = fmax(end_s, o->end_s);
    }
    double last = ceil(end_s / DAY_S) - 1 - STARTS_NOT_LAST;
    double first = fmax(ceil(begin_s / DAY_S), last + 1 - (double)starts.last);
    if (starts.until_s > 0) { /* days that were asked for are tried, covered or not */
        first = ceil(starts.from_s / DAY_S);
        last = floor(starts.until_s / DAY_S);
    } else if (!(first <= last)) {
        return err_set(e, ERR_NOFIT, "%s:%s has no %s history of more than %d days", c->cloud,
                       c->region, MARKET_REFERENCE_GPU, STARTS_NOT_LAST);
    }
    if (last - first >= STARTS_MAX)
        return err_set(e, ERR_USAGE, "%s: more than %d days", answer_spell(out, "starts", field),
                       STARTS_MAX);
    /* Two times of one day may have no midnight between them. */
    c->n_starts = (size_t)fmax(last - first + 1, 0);
    c->starts_s = mem_zero(c->n_starts + 1, sizeof *c->starts_s);
    for (size_t i = 0; i < c->n_starts; i++)
        c->starts_s[i] = (first + (double)i) * DAY_S;
    return 0;
}

/* ---- all of it ---- */

void app_live_clear(struct app_live *c)
{
    market_live_free(c->live);
    market_tables_free(c->tables);
    throughputs_free(c->speeds);
    market_free(c->market);
    free(c->clouds);
    free(c->starts_s);
}

static int read_clouds(char *list,
                       const char **clouds,
                       struct market_live_wish *w,
                       const struct answer *out,
                       struct err *e)
{
    char field[64];

    w->clouds = list ? clouds : NULL;
    for (char *rest = list, *one; (one = strsep(&rest, ","));) {
        if (!*one || w->n_clouds == 16)
            return err_set(e, ERR_USAGE, "%s: name clouds, joined by commas: aws,azure",
                           answer_spell(out, "clouds", field));
        clouds[w->n_clouds++] = one;
    }
    return 0;
}

static int open_live(struct app_live *c,
                     const struct market_follow *f,
                     int64_t seed,
                     const struct answer *out,
                     struct err *e)
{
    const char *clouds[16];
    AUTO(arena) struct arena *arena = arena_new(4 * RATES_MAX_BYTES);
    struct rates rates = {.arena = arena};
    struct market_live_wish w = {.market = c->market,
                                 .cloud = c->cloud,
                                 .region = c->region,
                                 .starts_s = c->starts_s,
                                 .n_starts = c->n_starts,
                                 .looks = isfinite(c->question.deadline_after_s),
                                 .use = f->gpu_use ? f->gpu_use - 1 : MARKET_GPU_SHARE,
                                 .seed = seed == FIELD_NONE ? 1 : (uint64_t)seed};

    /* The names of its clouds are kept as they are given. */
    c->clouds = f->clouds ? mem_dup(f->clouds) : NULL;
    if (read_clouds(c->clouds, clouds, &w, out, e) < 0 ||
        read_preemptions(&w, &rates, f->preemptions, out, e) < 0)
        return -1;
    c->use = w.use;
    c->live = market_live_new(&w, e);
    return c->live ? 0 : -1;
}

int app_live_open(struct app *app,
                  struct app_live *c,
                  const struct market_replay_request *q,
                  const struct answer *out,
                  struct err *e)
{
    read_question(c, q);
    read_costs(c, &q->follow);
    if (read_policy(c, &q->follow, out, e) < 0 ||
        app_market_location(q->region, out, &c->cloud, &c->region, e) < 0)
        return -1;
    c->speeds = throughputs_load(q->throughputs, e);
    c->tables = c->speeds ? market_tables_new(NULL, e) : NULL;
    c->market = c->tables ? app_market_open(app, e) : NULL;
    if (!c->market || read_starts(c, q->starts, out, e) < 0)
        return -1;
    return open_live(c, &q->follow, q->seed, out, e);
}

int app_live_open_at(struct app *app,
                     struct app_live *c,
                     const struct market_follow *follow,
                     const struct app_live_start *start,
                     const struct answer *out,
                     struct err *e)
{
    c->question.deadline_after_s = start->deadline_after_s;
    read_costs(c, follow);
    if (read_policy(c, follow, out, e) < 0)
        return -1;
    c->cloud = start->cloud;
    c->region = market_region(start->cloud, start->region);
    c->starts_s = mem_zero(1, sizeof *c->starts_s);
    c->starts_s[c->n_starts++] = start->at_s;
    c->tables = market_tables_new(NULL, e);
    c->market = c->tables ? app_market_open(app, e) : NULL;
    return c->market ? open_live(c, follow, start->seed, out, e) : -1;
}

/* The size on record of the model's checkpoint; its batch size does not matter. */
static double checkpoint_gb(const struct app_live *c, const char *model)
{
    const struct market_size *sizes = c->tables->sizes;

    if (!isnan(c->checkpoint_gb))
        return c->checkpoint_gb;
    for (size_t i = 0; i < c->tables->n_sizes; i++)
        if (strncasecmp(model, sizes[i].model, strlen(sizes[i].model)) == 0 &&
            strchr(" ", model[strlen(sizes[i].model)]))
            return sizes[i].checkpoint_gb;
    return CHECKPOINT_GB;
}

struct market_job *app_live_job_of(const struct app_live *c,
                                   const char *model,
                                   const double *speed_of_gpu,
                                   double checkpoint_s)
{
    double gb = checkpoint_gb(c, model);
    AUTO_MEM double *moves = market_live_moves(c->live, c->tables, gb);

    return market_job_new(c->live->scene,
                          &(struct market_job_wish){.speed_of_gpu = speed_of_gpu,
                                                    .restart_s = c->restart_s,
                                                    .write_s = gb / CHECKPOINT_GB_PER_S,
                                                    .move_s = gb / CHECKPOINT_GB_PER_S,
                                                    .checkpoint_s = checkpoint_s,
                                                    .move_usd_of = moves});
}

struct market_job *app_live_job(const struct app_live *c, const char *model, struct err *e)
{
    const struct market_scene *s = c->live->scene;
    double reference = throughputs_get(c->speeds, model, MARKET_REFERENCE_GPU);
    AUTO_MEM double *speeds = mem_zero(s->n_gpus, sizeof *speeds);

    if (!(reference > 0)) {
        err_set(e, ERR_NOFIT, "%s has no throughput on %s", model, MARKET_REFERENCE_GPU);
        return NULL;
    }
    for (size_t g = 0; g < s->n_gpus; g++)
        speeds[g] = throughputs_get(c->speeds, model, s->gpus[g]) / reference;
    return app_live_job_of(c, model, speeds, c->checkpoint_s);
}
