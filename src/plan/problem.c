/* Lays a pipeline out as a plan_problem: eligible offers by site, datasets and their transfers.
 * plan.h declares its functions. */
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/money.h"
#include "plan/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define UNKNOWN_GBIT 1.0
#define MONTH_S (730.0 * 3600)
#define ARENA_CAP_BYTES ((size_t)256 << 20)

/* ---- datasets ---- */

static bool same_dataset(const void *datasets, uint32_t i, const void *input)
{
    const struct dataset *d = (const struct dataset *)datasets + i;
    const struct spec_input *in = input;
    size_t producer = in->source == SPEC_FROM_STAGE ? in->stage : NONE;

    return d->producer == producer && !strcmp(d->from, in->from);
}

/* The dataset of an input, added when it is new: a pipeline may have ten thousand inputs. NULL when
 * the arena is full. */
static struct dataset *dataset_for(struct plan_problem *p,
                                   struct map *by_name,
                                   const struct spec_input *in)
{
    uint64_t hash = hash_text(in->from);
    uint32_t known = map_find(by_name, hash, same_dataset, p->datasets, in);

    if (known != MAP_NONE)
        return &p->datasets[known];
    map_add(by_name, hash, (uint32_t)p->n_datasets);
    struct dataset *d = &p->datasets[p->n_datasets++];
    *d = (struct dataset){
        .from = in->from,
        .producer = in->source == SPEC_FROM_STAGE ? in->stage : NONE,
        .size_gb = in->size_gb,
        .place = in->place,
        .readers = arena_alloc(p->arena, p->n_stages, sizeof *d->readers),
    };
    return d->readers ? d : NULL;
}

static void note_parent(struct pstage *stage, size_t producer)
{
    if (producer == NONE)
        return;
    for (size_t i = 0; i < stage->n_parents; i++)
        if (stage->parents[i] == producer)
            return;
    stage->parents[stage->n_parents++] = producer;
}

static int collect_inputs(struct plan_problem *p, struct map *by_name, size_t s)
{
    struct pstage *stage = &p->stages[s];
    size_t n = stage->spec->n_inputs;

    stage->datasets = arena_alloc(p->arena, n, sizeof *stage->datasets);
    stage->parents = arena_alloc(p->arena, n, sizeof *stage->parents);
    if (!stage->datasets || !stage->parents)
        return -1;
    for (size_t k = 0; k < n; k++) {
        struct dataset *d = dataset_for(p, by_name, &stage->spec->inputs[k]);
        if (!d)
            return -1;
        d->readers[d->n_readers++] = s;
        stage->datasets[stage->n_datasets++] = (size_t)(d - p->datasets);
        note_parent(stage, d->producer);
    }
    return 0;
}

/* Readers are added in topological order: the first at a location pays (see costmodel.c). */
static int collect_datasets(struct plan_problem *p)
{
    AUTO(map) struct map *by_name = map_new();
    size_t n_inputs = 0;

    for (size_t s = 0; s < p->n_stages; s++)
        n_inputs += p->stages[s].spec->n_inputs;
    if (!(p->datasets = arena_alloc(p->arena, n_inputs, sizeof *p->datasets)))
        return -1;
    for (size_t i = 0; i < p->n_stages; i++)
        if (collect_inputs(p, by_name, p->world.spec->topological[i]) < 0)
            return -1;
    return 0;
}

static double move_seconds(const struct catalog_move *m, double size_gb)
{
    double gbit = isnan(m->gbit_per_s) ? UNKNOWN_GBIT : m->gbit_per_s;

    return 8 * size_gb / gbit + m->rtt_ms / 1000;
}

static void price_produced(const struct plan_problem *p, struct dataset *d)
{
    const struct catalog *c = p->world.catalog;
    const struct catalog_move *moves = c->moves;

    for (size_t i = 0; i < c->n_moves; i++) {
        d->microusd[i] = costmodel_tiered_microusd(c, &moves[i], d->size_gb);
        d->seconds[i] = move_seconds(&moves[i], d->size_gb);
    }
}

/* How a dataset that lies at a fixed location gets to dst: NULL with *within set when it is there
 * already, NULL without when it cannot. */
static const struct catalog_move *fixed_move(const struct plan_problem *p,
                                             const struct dataset *d,
                                             size_t dst,
                                             bool *within)
{
    const struct catalog *c = p->world.catalog;
    const struct catalog_place *to = &c->places[dst];
    bool same_cloud = !strcasecmp(d->place.cloud, catalog_text(c, to->cloud));

    *within =
        same_cloud && (!d->place.region || !strcmp(d->place.region, catalog_text(c, to->region)));
    if (*within)
        return NULL;
    size_t src = d->place.region ? catalog_find_place(c, d->place.cloud, d->place.region) : NONE;
    return src == NONE ? catalog_move_from(c, d->place.cloud, d->place.region, dst)
                       : catalog_move(c, src, dst);
}

static void price_fixed(const struct plan_problem *p, struct dataset *d)
{
    bool local = !strcmp(d->place.cloud, "local");

    for (size_t dst = 0; dst < p->world.catalog->n_places; dst++) {
        bool within;
        const struct catalog_move *m = fixed_move(p, d, dst, &within);
        if (within) {
            d->seconds[dst] = d->size_gb * p->local_s_per_gb;
        } else if (m) {
            d->microusd[dst] =
                local ? 0 : costmodel_tiered_microusd(p->world.catalog, m, d->size_gb);
            d->seconds[dst] = move_seconds(m, d->size_gb);
        } else if (local) {
            d->seconds[dst] = 8 * d->size_gb / p->world.config->uplink_gbit;
        } else {
            d->microusd[dst] = NEVER;
        }
    }
}

static int price_datasets(struct plan_problem *p)
{
    for (size_t i = 0; i < p->n_datasets; i++) {
        struct dataset *d = &p->datasets[i];
        bool fixed = d->producer == NONE;
        size_t n = fixed ? p->world.catalog->n_places : p->world.catalog->n_moves;
        d->microusd = arena_alloc(p->arena, n, sizeof *d->microusd);
        d->seconds = arena_alloc(p->arena, n, sizeof *d->seconds);
        if (!d->microusd || !d->seconds)
            return -1;
        (fixed ? price_fixed : price_produced)(p, d);
    }
    return 0;
}

static int too_large(const struct plan_problem *p, struct err *e)
{
    return err_set(e, ERR_NOFIT,
                   "%s: too large to plan as a whole; narrow it down with --cloud or --region",
                   p->world.spec->file);
}

/* ---- sites ---- */

/* Choices of one location while they are collected: none is worse than another in price, preemption
 * rate and run time at once. Cost and finish grow with each of the three whatever the inputs
 * take, so what is dropped here can never be needed for an optimal cost or time. */
struct skyline {
    struct choice *items;
    size_t n, cap;
};

struct collector {
    struct skyline *by_place;
    const struct catalog_kind *all_kinds;
    size_t n_eligible;
    uint32_t *kinds; /* room for all */
    size_t n_kinds;
};

static void collect_choice(void *ctx, const struct choice *c)
{
    struct collector *col = ctx;
    struct skyline *sky = &col->by_place[c->offer->place];

    uint32_t kind = (uint32_t)(c->kind - col->all_kinds);

    col->n_eligible++;
    if (!col->n_kinds || col->kinds[col->n_kinds - 1] != kind)
        col->kinds[col->n_kinds++] = kind;
    for (size_t i = 0; i < sky->n; i++)
        if (costmodel_no_worse(&sky->items[i], c)) {
            /* What rejects one rejects the next: keep it in front. */
            struct choice front = sky->items[i];
            sky->items[i] = sky->items[0];
            sky->items[0] = front;
            return;
        }
    size_t kept = 0;
    for (size_t i = 0; i < sky->n; i++)
        if (!costmodel_no_worse(c, &sky->items[i]))
            sky->items[kept++] = sky->items[i];
    sky->n = kept;
    sky->items = mem_room(sky->items, sky->n, &sky->cap, sizeof *sky->items);
    sky->items[sky->n++] = *c;
}

static int by_price(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;

    return x->price_usd < y->price_usd ? -1 : x->price_usd > y->price_usd;
}

static int64_t storage_cost(const struct plan_problem *p, const struct spec_stage *s, size_t place)
{
    double price = catalog_storage_usd(p->world.catalog, place);
    int64_t sum = 0;

    for (size_t i = 0; i < s->n_outputs && !isnan(price); i++)
        sum += money_from_usd(
            fmin(s->outputs[i].size_gb * price * s->outputs[i].keep_s / MONTH_S, MONEY_MAX_USD));
    return sum;
}

/* False when an input cannot get to the location. */
static bool fixed_inputs(const struct plan_problem *p,
                         const struct pstage *stage,
                         struct site *site)
{
    for (size_t i = 0; i < stage->n_datasets; i++) {
        const struct dataset *d = &p->datasets[stage->datasets[i]];
        if (d->producer != NONE)
            continue;
        if (d->microusd[site->place] == NEVER)
            return false;
        site->fixed_input_s = fmax(site->fixed_input_s, d->seconds[site->place]);
        if (d->n_readers == 1)
            site->fixed_microusd += d->microusd[site->place];
    }
    return true;
}

static int add_site(struct plan_problem *p, struct pstage *stage, size_t place, struct skyline *sky)
{
    const struct catalog *c = p->world.catalog;
    struct site site = {.place = place, .n_choices = sky->n};

    site.boot_s = config_boot_s(p->world.config, catalog_text(c, c->places[place].cloud));
    site.storage_microusd = storage_cost(p, stage->spec, place);
    if (!fixed_inputs(p, stage, &site))
        return 0;
    site.choices = arena_alloc(p->arena, sky->n, sizeof *site.choices);
    if (!site.choices)
        return -1;
    qsort(sky->items, sky->n, sizeof *sky->items, by_price);
    memcpy(site.choices, sky->items, sky->n * sizeof *site.choices);
    stage->site_places[stage->n_sites] = place;
    stage->sites[stage->n_sites++] = site;
    return 0;
}

static int collect_sites(struct plan_problem *p, size_t s, struct err *e)
{
    size_t n_places = p->world.catalog->n_places;
    struct pstage *stage = &p->stages[s];
    AUTO_MEM struct skyline *by_place = mem_zero(n_places, sizeof *by_place);
    const struct catalog *c = p->world.catalog;
    AUTO_MEM uint32_t *kinds = mem_zero(c->n_kinds, sizeof *kinds);
    struct collector col = {.by_place = by_place, .all_kinds = c->kinds, .kinds = kinds};
    int result = 0;

    eligible_each(p, s, NULL, 0, collect_choice, &col);
    stage->n_eligible = col.n_eligible;
    stage->sites = arena_alloc(p->arena, n_places, sizeof *stage->sites);
    stage->site_places = arena_alloc(p->arena, n_places, sizeof *stage->site_places);
    if (!stage->sites || !stage->site_places)
        result = -1;
    for (size_t i = 0; i < n_places && result == 0; i++)
        if (by_place[i].n)
            result = add_site(p, stage, i, &by_place[i]);
    for (size_t i = 0; i < n_places; i++)
        free(by_place[i].items);
    stage->kinds = arena_alloc(p->arena, col.n_kinds, sizeof *kinds);
    if (stage->kinds)
        memcpy(stage->kinds, kinds, col.n_kinds * sizeof *kinds);
    stage->n_kinds = col.n_kinds;
    if (result < 0 || !stage->kinds)
        return too_large(p, e);
    return col.n_eligible ? 0 : eligible_explain_none(p, s, e);
}

static void classify_places(struct plan_problem *p)
{
    AUTO_MEM bool *used = mem_zero(p->world.catalog->n_places, sizeof *used);

    for (size_t s = 0; s < p->n_stages; s++)
        for (size_t k = 0; k < p->stages[s].n_sites; k++)
            used[p->stages[s].sites[k].place] = true;
    p->classes = classes_new(p->world.catalog, used);
}

struct plan_problem *plan_problem_new(const struct plan_world *world,
                                      struct guess_list *guesses,
                                      struct err *e)
{
    AUTO(plan_problem) struct plan_problem *p = mem_zero(1, sizeof *p);

    p->arena = arena_new(ARENA_CAP_BYTES);
    p->world = *world;
    p->names = name_index_new(world->catalog);
    p->n_stages = world->spec->n_stages;
    p->stages = arena_alloc(p->arena, p->n_stages, sizeof *p->stages);
    p->local_s_per_gb = 8 / world->config->local_gbit;
    for (size_t s = 0; s < p->n_stages; s++) {
        p->stages[s].spec = &world->spec->stages[s];
        if (estimate_check(world->spec, p->stages[s].spec, world->throughputs, world->models,
                           guesses, e) < 0)
            return NULL;
    }
    if (collect_datasets(p) < 0 || price_datasets(p) < 0) {
        too_large(p, e);
        return NULL;
    }
    for (size_t s = 0; s < p->n_stages; s++)
        if (collect_sites(p, s, e) < 0)
            return NULL;
    classify_places(p);
    return TAKE(p);
}

void plan_problem_free(struct plan_problem *p)
{
    if (!p)
        return;
    name_index_free(p->names);
    classes_free(p->classes);
    arena_free(p->arena);
    free(p);
}

const size_t *plan_stage_places(const struct plan_problem *p, size_t stage, size_t *n_out)
{
    *n_out = p->stages[stage].n_sites;
    return p->stages[stage].site_places;
}

/* ---- what a plan rests on ---- */

static void note_speed(const struct plan_problem *p,
                       const struct dataset *d,
                       const struct plan *plan,
                       size_t dst,
                       struct guess_list *guesses)
{
    const struct catalog *c = p->world.catalog;
    const struct catalog_place *places = c->places;
    const struct catalog_move *m;
    const char *cloud = d->place.cloud, *region = d->place.region;
    bool within = false;

    if (d->producer == NONE) {
        m = fixed_move(p, d, dst, &within);
    } else {
        size_t src = plan->stages[d->producer].place;
        cloud = catalog_text(c, places[src].cloud);
        region = catalog_text(c, places[src].region);
        within = src == dst;
        m = within ? NULL : catalog_move(c, src, dst);
    }
    if (within || !m || !isnan(m->gbit_per_s))
        return;
    AUTO_MEM char *what =
        mem_printf("speed from %s/%s to %s/%s", cloud, region ? region : "*",
                   catalog_text(c, places[dst].cloud), catalog_text(c, places[dst].region));
    guess_add(guesses, what, "1 Gbit/s", "the transfer table has no speed for it");
}

void plan_note_guesses(const struct plan_problem *p,
                       const struct plan *plan,
                       struct guess_list *guesses)
{
    const struct catalog *c = p->world.catalog;

    for (size_t s = 0; s < plan->n_stages; s++) {
        const struct pstage *stage = &p->stages[s];
        size_t place = plan->stages[s].place;
        estimate_guess_outside(stage->spec, plan->stages[s].kind, p->world.models, guesses);
        for (size_t i = 0; i < stage->n_datasets; i++)
            note_speed(p, &p->datasets[stage->datasets[i]], plan, place, guesses);
        bool keeps = false;
        for (size_t i = 0; i < stage->spec->n_outputs; i++)
            keeps = keeps || stage->spec->outputs[i].keep_s > 0;
        if (!keeps || !isnan(catalog_storage_usd(c, place)))
            continue;
        AUTO_MEM char *what =
            mem_printf("storage price in %s/%s", catalog_text(c, c->places[place].cloud),
                       catalog_text(c, c->places[place].region));
        guess_add(guesses, what, "$0", "the storage table has no row for it");
    }
}
