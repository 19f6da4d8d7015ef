#include "market/scene.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX ((size_t)32 << 20)
#define EVENTS_MAX ((size_t)4 << 20)
/* GCP's preemptible machines live a day at most. */
#define GCP_LEASE_MAX_S 86400.0

/* ---- preemptions ---- */

/* Above 0 and at most 1, by seed, offer and number alone. */
static double draw(uint64_t seed, uint64_t offer, uint64_t number)
{
    const uint64_t key[] = {seed, offer, number};

    return (double)((hash_xxh3(key, sizeof key) >> 11) + 1) * 0x1p-53;
}

static uint64_t name_hash(const struct market_offer *o)
{
    const uint64_t key[] = {hash_text(o->cloud), hash_text(o->region), hash_text(o->zone),
                            hash_text(o->instance_type)};

    return hash_xxh3(key, sizeof key);
}

double market_preemptions_measured(const struct market *m, const struct market_offer *o)
{
    double ended[2] = {0, 0}, alive_s[2] = {0, 0}; /* [0] of the cloud, [1] with the same GPU */

    for (size_t i = 0; i < m->n_offers; i++) {
        const struct market_offer *other = &m->offers[i];
        if (strcmp(other->cloud, o->cloud) != 0)
            continue;
        size_t like = strcmp(other->gpu, o->gpu) == 0;
        for (size_t k = 0; k < other->n_spells; k++)
            for (size_t g = 0; g <= like; g++) {
                ended[g] += other->spells[k].ended;
                alive_s[g] += other->spells[k].end_s - other->spells[k].begin_s;
            }
    }
    size_t g = alive_s[1] > 0;
    return alive_s[g] > 0 ? ended[g] / alive_s[g] * 3600 : (double)NAN;
}

double market_checkpoint_s(double preemptions_per_s, double write_s)
{
    if (!(preemptions_per_s > 0))
        return (double)INFINITY;
    double mean_s = 1 / preemptions_per_s;
    /* Daly 2006, higher-order estimate; from write_s = 2 M on, the mean itself. */
    if (write_s >= 2 * mean_s)
        return mean_s;
    double x = sqrt(write_s / (2 * mean_s));
    double s = sqrt(2 * write_s * mean_s) * (1 + x / 3 + x * x / 9) - write_s;
    return fmax(s, 1); /* writes that take no time would be done all the time */
}

/* ---- events ---- */

struct times {
    double *at_s;
    size_t n, cap;
    const struct market_scene_wish *wish;
};

static void add_time(struct times *t, double at_s)
{
    if (at_s < t->wish->begin_s || at_s > t->wish->end_s || t->n > EVENTS_MAX)
        return;
    t->at_s = mem_room(t->at_s, t->n, &t->cap, sizeof *t->at_s);
    t->at_s[t->n++] = at_s;
}

/* Every moment at which an offer is taken back: whole seconds, from the beginning of its history
 * on, so that the window does not matter. */
static void each_preemption(const struct market_scene_wish *w,
                            size_t i,
                            void (*met)(void *context, double at_s),
                            void *context)
{
    double per_s = w->preemptions_per_h[i] / 3600;
    double at_s = w->offers[i]->begin_s;
    uint64_t name = name_hash(w->offers[i]);

    if (!(per_s > 0))
        return;
    for (uint64_t k = 0; k < EVENTS_MAX; k++) {
        at_s += ceil(-log(draw(w->seed, name, k)) / per_s);
        if (!(at_s <= w->end_s))
            return;
        met(context, at_s);
    }
}

static void note_time(void *context, double at_s)
{
    add_time(context, at_s);
}

static int gather_times(struct times *t, struct err *e)
{
    const struct market_scene_wish *w = t->wish;

    add_time(t, w->begin_s);
    add_time(t, w->end_s);
    for (size_t i = 0; i < w->n_starts; i++)
        add_time(t, w->starts_s[i]);
    for (size_t i = 0; i < w->n_offers; i++) {
        for (double at_s = w->begin_s; at_s <= w->end_s && t->n <= EVENTS_MAX;) {
            at_s = market_next_change(w->offers[i], at_s);
            add_time(t, at_s);
        }
        each_preemption(w, i, note_time, t);
    }
    double first = w->look_s > 0 ? ceil(w->begin_s / w->look_s) : 0;
    for (size_t k = 0; w->look_s > 0 && t->n <= EVENTS_MAX; k++) {
        double at_s = (first + (double)k) * w->look_s;
        if (at_s > w->end_s)
            break;
        add_time(t, at_s);
    }
    if (t->n > EVENTS_MAX)
        return err_set(e, ERR_NOFIT, "more than %zu events; take fewer regions or clouds",
                       EVENTS_MAX);
    t->n = number_sort_unique(t->at_s, t->n);
    return 0;
}

size_t market_scene_event(const struct market_scene *s, double at_s)
{
    size_t low = 0, high = s->n_events;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->at_s[middle] <= at_s)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double market_scene_paid(const struct market_scene *s, size_t offer, double at_s)
{
    return market_scene_paid_from(s, market_scene_event(s, at_s), offer, at_s);
}

size_t market_scene_next_taken(const struct market_scene *s, size_t offer, size_t event)
{
    size_t low = s->first_taken[offer], high = s->first_taken[offer + 1];

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->taken[middle] <= event)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->first_taken[offer + 1] ? s->taken[low] : SIZE_MAX;
}

double market_to_ms(double at_s)
{
    return isfinite(at_s) ? (double)llround(at_s * 1000) / 1000 : at_s;
}

/* ---- offers ---- */

static uint32_t find_place(struct market_scene *s, const struct market_offer *o)
{
    for (size_t p = 0; p < s->n_places; p++)
        if (strcmp(s->places[p]->cloud, o->cloud) == 0 &&
            strcmp(s->places[p]->region, o->region) == 0)
            return (uint32_t)p;
    s->places[s->n_places] = o;
    return (uint32_t)s->n_places++;
}

static uint32_t find_gpu(struct market_scene *s, const char *gpu)
{
    for (size_t g = 0; g < s->n_gpus; g++)
        if (strcmp(s->gpus[g], gpu) == 0)
            return (uint32_t)g;
    s->gpus[s->n_gpus] = gpu;
    return (uint32_t)s->n_gpus++;
}

static uint32_t find_class(struct market_scene *s, size_t i)
{
    for (size_t c = 0; c < s->n_classes; c++) {
        size_t other = s->class_offer[c];
        if (s->gpu[other] == s->gpu[i] && !(fabs(s->gpus_used[other] - s->gpus_used[i]) > 0))
            return (uint32_t)c;
    }
    s->class_offer[s->n_classes] = i;
    return (uint32_t)s->n_classes++;
}

static void add_offer(struct market_scene *s, const struct market_scene_wish *w, size_t i)
{
    const struct market_offer *o = w->offers[i];

    s->offers[i] = o;
    s->place[i] = find_place(s, o);
    s->gpu[i] = find_gpu(s, o->gpu);
    s->gpus_used[i] = w->use == MARKET_GPU_WHOLE ? o->gpus : 1;
    s->speed_class[i] = find_class(s, i);
    s->preemptions_per_s[i] = w->preemptions_per_h[i] / 3600;
    s->lease_max_s[i] = strcmp(o->cloud, "gcp") == 0 ? GCP_LEASE_MAX_S : (double)INFINITY;
}

/* One offer's column. Probes say whether a machine can be started; one that runs goes on. */
static void fill_prices(struct market_scene *s, const struct market_scene_wish *w, size_t i)
{
    const struct market_offer *o = s->offers[i];
    double part = w->use == MARKET_GPU_SHARE ? 1 / o->gpus : 1;
    double paid = 0, known = (double)NAN;

    for (size_t k = 0; k < s->n_events; k++) {
        size_t cell = k * s->n_offers + i;
        double usd = market_price(o, s->at_s[k]) * part / 3600;
        if (k && !isnan(s->usd_per_s[cell - s->n_offers]))
            paid += s->usd_per_s[cell - s->n_offers] * (s->at_s[k] - s->at_s[k - 1]);
        if (!isnan(usd))
            s->can_start[cell] = 1;
        else if (o->feed != MARKET_FEED_GCP && !isnan(known))
            s->taken_back[cell] = 1;
        s->scarce[k] |= isnan(usd);
        known = isnan(usd) && o->feed == MARKET_FEED_GCP ? known : usd;
        s->usd_per_s[cell] = known;
        s->paid_usd[cell] = paid;
    }
}

static void fill_classes(struct market_scene *s)
{
    size_t cells = s->n_events * s->n_classes;

    s->class_usd_per_s = arena_zero(s->arena, cells, sizeof *s->class_usd_per_s);
    for (size_t i = 0; i < cells; i++)
        s->class_usd_per_s[i] = (double)INFINITY;
    for (size_t k = 0; k < s->n_events; k++)
        for (size_t i = 0; i < s->n_offers; i++) {
            double *low = &s->class_usd_per_s[k * s->n_classes + s->speed_class[i]];
            *low = fmin(*low, market_scene_usd(s, k, i));
        }
}

static void list_taken(struct market_scene *s)
{
    size_t n = 0, cells = s->n_events * s->n_offers;

    for (size_t i = 0; i < cells; i++)
        n += s->taken_back[i];
    s->taken = arena_zero(s->arena, n + 1, sizeof *s->taken);
    s->first_taken = arena_zero(s->arena, s->n_offers + 1, sizeof *s->first_taken);
    n = 0;
    for (size_t i = 0; i < s->n_offers; i++) {
        s->first_taken[i] = n;
        for (size_t k = 0; k < s->n_events; k++)
            if (s->taken_back[k * s->n_offers + i])
                s->taken[n++] = k;
    }
    s->first_taken[s->n_offers] = n;
}

struct marks {
    struct market_scene *scene;
    size_t offer;
};

static void note_preemption(void *context, double at_s)
{
    const struct marks *m = context;
    size_t k = market_scene_event(m->scene, at_s);

    if (m->scene->at_s[k] >= at_s)
        m->scene->taken_back[k * m->scene->n_offers + m->offer] = 1;
}

static void allocate(struct market_scene *s)
{
    size_t n = s->n_offers, cells = s->n_events * n;

    s->offers = arena_zero(s->arena, n, sizeof *s->offers);
    s->place = arena_zero(s->arena, n, sizeof *s->place);
    s->gpu = arena_zero(s->arena, n, sizeof *s->gpu);
    s->speed_class = arena_zero(s->arena, n, sizeof *s->speed_class);
    s->class_offer = arena_zero(s->arena, n, sizeof *s->class_offer);
    s->gpus_used = arena_zero(s->arena, n, sizeof *s->gpus_used);
    s->preemptions_per_s = arena_zero(s->arena, n, sizeof *s->preemptions_per_s);
    s->lease_max_s = arena_zero(s->arena, n, sizeof *s->lease_max_s);
    s->places = arena_zero(s->arena, n, sizeof *s->places);
    s->gpus = arena_zero(s->arena, n, sizeof *s->gpus);
    s->usd_per_s = arena_zero(s->arena, cells, sizeof *s->usd_per_s);
    s->paid_usd = arena_zero(s->arena, cells, sizeof *s->paid_usd);
    s->can_start = arena_zero(s->arena, cells, sizeof *s->can_start);
    s->taken_back = arena_zero(s->arena, cells, sizeof *s->taken_back);
    s->scarce = arena_zero(s->arena, s->n_events, sizeof *s->scarce);
}

struct market_scene *market_scene_new(const struct market_scene_wish *w, struct err *e)
{
    struct times t = {.wish = w};

    if (!w->n_offers || !(w->begin_s < w->end_s)) {
        err_set(e, ERR_NOFIT, "no offers, or no time that the histories of all clouds cover");
        return NULL;
    }
    AUTO(market_scene) struct market_scene *s = mem_zero(1, sizeof *s);
    s->arena = arena_new(SIZE_MAX);
    int gathered = gather_times(&t, e);
    s->at_s = t.at_s;
    if (gathered < 0)
        return NULL;
    s->n_events = t.n;
    s->n_offers = w->n_offers;
    if (s->n_events > CELLS_MAX / s->n_offers) {
        err_set(e, ERR_NOFIT, "%zu offers with %zu events are too many; take fewer regions",
                s->n_offers, s->n_events);
        return NULL;
    }
    allocate(s);
    for (size_t i = 0; i < s->n_offers; i++) {
        add_offer(s, w, i);
        fill_prices(s, w, i);
        each_preemption(w, i, note_preemption, &(struct marks){s, i});
    }
    fill_classes(s);
    list_taken(s);
    return TAKE(s);
}

void market_scene_free(struct market_scene *s)
{
    if (!s)
        return;
    free(s->at_s);
    arena_free(s->arena);
    free(s);
}
