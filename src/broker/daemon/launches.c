#include "broker/daemon/launches.h"

#include "base/mem.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rate {
    char provider[32], region[64];
    double free_ms; /* when all turns that were given are paid for, one after the other */
};

struct launches {
    struct cloud_finds *finds;
    pthread_mutex_t lock; /* guards what follows */
    struct rate *rates;
    size_t n, cap;
};

struct launches *launches_new(void)
{
    struct launches *l = mem_zero(1, sizeof *l);

    pthread_mutex_init(&l->lock, NULL);
    l->finds = cloud_finds_new();
    return l;
}

void launches_free(struct launches *l)
{
    if (!l)
        return;
    cloud_finds_free(l->finds);
    pthread_mutex_destroy(&l->lock);
    free(l->rates);
    free(l);
}

struct cloud_finds *launches_finds(struct launches *l)
{
    return l->finds;
}

/* With the lock held. */
static struct rate *rate_of(struct launches *l, const char *provider, const char *region)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->rates[i].provider, provider) && !strcmp(l->rates[i].region, region))
            return &l->rates[i];
    l->rates = mem_room(l->rates, l->n, &l->cap, sizeof *l->rates);
    struct rate *r = &l->rates[l->n++];
    *r = (struct rate){0};
    snprintf(r->provider, sizeof r->provider, "%s", provider);
    snprintf(r->region, sizeof r->region, "%s", region);
    return r;
}

int64_t launches_turn_ms(
    struct launches *l, const char *provider, const char *region, double per_s, int64_t now_ms)
{
    double each_ms = 1000 / per_s, now = (double)now_ms;

    pthread_mutex_lock(&l->lock);
    struct rate *r = rate_of(l, provider, region);
    double turn = fmax(now, r->free_ms - (LAUNCHES_AT_ONCE - 1) * each_ms);
    r->free_ms = fmax(now, r->free_ms) + each_ms;
    pthread_mutex_unlock(&l->lock);
    return (int64_t)ceil(turn);
}
