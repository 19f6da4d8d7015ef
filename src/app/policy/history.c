/* history: prices of the types of a trace out of the imported price histories, for simulate.c. */
#include "app/market/market.h"
#include "app/policy/internal.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "market/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_S 3600.0

struct history {
    const struct market *market;
    const char *region; /* NULL = all */
    double start_s;
    struct policy_steps steps;
    double end_h; /* up to which every type has a price */
};

static void history_clear(struct history *h)
{
    policy_steps_clear(&h->steps);
}

/* Offers of the instance type of that name or, where there are none, those with that GPU. */
static size_t offers_of(const struct history *h,
                        const char *type,
                        bool by_type,
                        const struct market_offer **out)
{
    size_t n = 0;

    for (size_t i = 0; i < h->market->n_offers; i++) {
        const struct market_offer *o = &h->market->offers[i];
        bool is_it = by_type ? strcmp(o->instance_type, type) == 0
                             : *o->gpu && catalog_same_accelerator(type, o->gpu);
        if (is_it && o->n_points && o->gpus > 0 && app_market_is_at(o, h->region))
            out[n++] = o;
    }
    return n;
}

static int add_steps(struct history *h,
                     size_t type,
                     const struct market_cheapest *list,
                     size_t n,
                     double gpus,
                     struct err *e)
{
    double known_s = h->start_s;

    for (size_t i = 0; i < n; i++) {
        if (list[i].to_s <= h->start_s || list[i].from_s > known_s)
            continue;
        if (!list[i].offer)
            break;
        const struct policy_step step = {
            .at_h = fmax(0, (list[i].from_s - h->start_s) / HOUR_S),
            .usd_per_hour = list[i].usd_per_gpu_hour * gpus,
            .type = type,
        };
        if (policy_steps_add(&h->steps, &step, e) < 0)
            return -1;
        known_s = list[i].to_s;
    }
    h->end_h = fmin(h->end_h, (known_s - h->start_s) / HOUR_S);
    return 0;
}

static int add_type(struct history *h, const char *name, size_t type, struct err *e)
{
    AUTO_MEM const struct market_offer **offers = mem_zero(h->market->n_offers + 1, sizeof *offers);
    size_t n = offers_of(h, name, true, offers), n_list;
    double gpus = n ? offers[0]->gpus : 1;
    char then[32];

    if (!n)
        n = offers_of(h, name, false, offers);
    if (!n)
        return err_set(e, ERR_NOTFOUND,
                       "type \"%.60s\": no history of such an instance type or GPU%s%s; `tradewind "
                       "market ls` lists them",
                       name, h->region ? " in " : "", h->region ? h->region : "");
    AUTO_MEM struct market_cheapest *list = market_cheapest_of(offers, n, &n_list);
    size_t before = h->steps.n;
    if (add_steps(h, type, list, n_list, gpus, e) < 0)
        return -1;
    return h->steps.n > before ? 0
                               : err_set(e, ERR_NOFIT,
                                         "type \"%.60s\" has no price in the histories at %s; "
                                         "choose another start",
                                         name, app_market_time(h->start_s, then));
}

static int by_time(const void *a, const void *b)
{
    const struct policy_step *x = a, *y = b;

    return (x->at_h > y->at_h) - (x->at_h < y->at_h);
}

/* Drops the steps above the limit of a simulation: prices are known up to the first of them. */
static void cut(struct history *h)
{
    struct policy_step *list = h->steps.list;
    size_t kept = 0, moments = 0;

    qsort(list, h->steps.n, sizeof *list, by_time);
    for (; kept < h->steps.n && list[kept].at_h < h->end_h; kept++) {
        moments += list[kept].at_h > (kept ? list[kept - 1].at_h : 0);
        if (moments > POLICY_INTERVALS_MAX) {
            h->end_h = list[kept].at_h;
            break;
        }
    }
    h->steps.n = kept;
}

int app_policy_take_history(struct app *app,
                            const char *region,
                            double start_s,
                            struct policy_file *file,
                            double *end_h_out,
                            struct err *e)
{
    AUTO(market) struct market *market = app_market_open(app, e);
    AUTO_CLEAR(history)
    struct history h = {
        .market = market, .region = region, .start_s = start_s, .end_h = (double)INFINITY};

    if (!market)
        return -1;
    for (size_t j = 0; j < file->problem.n_types; j++)
        if (add_type(&h, file->problem.types[j].name, j, e) < 0)
            return -1;
    cut(&h);
    *end_h_out = h.end_h;
    return policy_steps_use(&h.steps, file, e);
}
