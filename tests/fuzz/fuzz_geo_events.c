/* Any bytes as lines of logs: the first byte of each is the number of the worker that tells it, or
 * it is a function's. What is taken has places and workers that exist, and its bill is made of
 * numbers; what is not says why. */
#include "geo/bill.h"

#include "../unit/geo/small_world.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct geo_problem *p, const struct geo_events *all)
{
    struct geo_account a;
    struct err e = {0};

    for (size_t i = 0; i < all->n; i++) {
        const struct geo_event *v = &all->all[i];
        assert(v->from < p->n_sites && v->to < p->n_sites && v->end_s >= v->start_s);
        assert(v->worker == GEO_EVENT_NO_WORKER || v->worker < p->n_workers);
        json_decref(geo_event_json(p, v));
    }
    if (geo_account(p, all, &a, &e) < 0)
        return;
    AUTO(geo_pace) struct geo_pace *pace = geo_pace_new(p, all, &a);
    struct geo_placement at = {.topology = SPEC_GEO_CENTRAL};
    struct geo_bill usd;
    struct geo_counts counts;
    assert(isfinite(geo_bill_usd(&a.usd)) && isfinite(a.round_s));
    if (geo_forecast(p, &at, pace, &a, &usd, &counts))
        assert(isfinite(geo_bill_usd(&usd)));
}

/* Of a world with four workers. */
#define WORKERS 4

static void tell(struct geo_events *told, struct geo_teller *tellers, const char *line, size_t len)
{
    struct err e = {0};
    size_t who = len && *line >= '0' && *line < '0' + WORKERS ? (size_t)(*line - '0') : WORKERS;

    if (len && geo_events_tell(told, &tellers[who], line + 1, len - 1, &e) < 0)
        assert(e.kind == ERR_USAGE && e.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t targets[] = {X, Y};
    struct geo_teller tellers[WORKERS + 1] = {
        {.worker = 0, .targets = targets, .n_targets = 1},
        {.worker = 1, .targets = targets, .n_targets = 1, .since_s = 1},
        {.worker = 2, .site = Y, .targets = targets + 1, .n_targets = 1},
        {.worker = 3, .site = Y, .targets = targets + 1, .n_targets = 1},
        {.worker = GEO_EVENT_NO_WORKER, .site = Y, .targets = targets, .n_targets = 2}};
    AUTO_CLEAR(geo_events) struct geo_events told = {0};
    const char *at = (const char *)data, *end = at + size;
    struct small_world w;

    small_world_init(&w);
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        tell(&told, tellers, at, (size_t)((stop ? stop : end) - at));
        at = stop ? stop + 1 : end;
    }
    check(&w.problem, &told);
    return 0;
}
