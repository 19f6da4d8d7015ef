/* The conditions on offers, for choosing them and for explaining why none is left. problem.c and
 * explain.c use it. */
#include "base/mem.h"
#include "plan/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool in_range(double value, const struct spec_range *r)
{
    if (r->min <= 0 && isinf(r->max))
        return true;
    return value >= r->min && value <= r->max; /* false for an unknown value */
}

static bool same_or_any(const char *asked, const char *listed)
{
    return !asked || !strcmp(asked, listed);
}

/* Clouds are written AWS as often as aws. */
static bool same_cloud_or_any(const char *asked, const char *listed)
{
    return !asked || !strcasecmp(asked, listed);
}

static bool has_accelerator(const struct spec_resources *r,
                            const struct catalog *c,
                            const struct catalog_kind *k)
{
    const char *listed = catalog_text(c, k->accelerator);

    if (!r->n_accelerators)
        return true;
    for (size_t i = 0; i < r->n_accelerators; i++)
        if (r->accelerators[i].count == k->accelerator_count &&
            catalog_same_accelerator(r->accelerators[i].name, listed))
            return true;
    return false;
}

static bool region_asked(const struct plan_world *w,
                         const struct spec_resources *r,
                         const char *region)
{
    return same_or_any(r->region, region) && same_or_any(w->region, region);
}

/* Azure numbers the zones of a region, and AWS names them twice: us-east-1a is use1-az6, say. */
static bool is_zone_of(const struct spec_resources *r, const char *region)
{
    bool says_no_region = r->zone[strspn(r->zone, "0123456789")] == 0 || strstr(r->zone, "-az");

    return !strncmp(r->zone, region, strlen(region)) || (r->region && says_no_region);
}

/* An offer without a zone is sold in every zone of its region. */
static bool zone_asked(const struct spec_resources *r, const char *region, const char *zone)
{
    return !r->zone || (*zone ? !strcmp(r->zone, zone) : is_zone_of(r, region));
}

const char *plan_zone(const struct catalog *c,
                      const struct spec_stage *spec,
                      const struct plan_stage *s)
{
    const char *region = catalog_text(c, c->places[s->place].region);
    const char *zone = catalog_text(c, s->offer->zone);

    for (size_t i = 0; i < spec->n_alternatives && !*zone; i++) {
        const struct spec_resources *r = &spec->alternatives[i];
        if (r->zone && same_or_any(r->region, region) && is_zone_of(r, region))
            return r->zone;
    }
    return zone;
}

static bool region_configured(const struct plan_world *w, const char *cloud, const char *region)
{
    for (size_t i = 0; i < w->config->n_regions; i++) {
        const struct config_regions *only = &w->config->regions[i];
        if (strcasecmp(only->cloud, cloud))
            continue;
        for (size_t k = 0; k < only->n; k++)
            if (!strcmp(only->regions[k], region))
                return true;
        return false;
    }
    return true;
}

static bool market_allowed(const struct plan_world *w, const struct spec_resources *r, bool spot)
{
    if (r->use_spot >= 0)
        return spot == (r->use_spot == 1);
    return w->market == PLAN_ANY_MARKET || spot == (w->market == PLAN_SPOT);
}

double eligible_hourly_limit(const struct plan_world *w, const struct spec_resources *r)
{
    return fmin(r->max_hourly_usd, w->max_hourly_usd);
}

static double price_of(const struct catalog_offer *o, bool spot)
{
    return spot ? o->spot_usd : o->price_usd;
}

static bool sold_within(const struct plan_world *w,
                        const struct spec_resources *r,
                        const struct catalog_offer *o,
                        double limit_usd)
{
    for (int spot = 0; spot < 2; spot++)
        if (market_allowed(w, r, spot) && catalog_priced(price_of(o, spot)) &&
            price_of(o, spot) <= limit_usd)
            return true;
    return false;
}

bool eligible_meets(const struct plan_world *w,
                    const struct spec_resources *r,
                    const struct catalog_kind *k,
                    const struct catalog_offer *o,
                    enum condition condition)
{
    const struct catalog *c = w->catalog;
    const struct catalog_place *place = o ? &c->places[o->place] : NULL;

    switch (condition) {
    case HAS_ACCELERATOR:
        return has_accelerator(r, c, k);
    case HAS_TYPE:
        return same_or_any(r->instance_type, catalog_text(c, k->instance_type));
    case HAS_CPUS:
        return in_range(k->vcpus, &r->cpus);
    case HAS_MEMORY:
        return in_range(k->memory_gib, &r->memory_gb);
    case IN_CLOUD:
        return same_cloud_or_any(r->cloud, catalog_text(c, k->cloud)) &&
               same_cloud_or_any(w->cloud, catalog_text(c, k->cloud));
    case IN_REGION:
        return !place || region_asked(w, r, catalog_text(c, place->region));
    case CONFIGURED:
        return !place ||
               region_configured(w, catalog_text(c, place->cloud), catalog_text(c, place->region));
    case IN_ZONE:
        return !o || zone_asked(r, catalog_text(c, place->region), catalog_text(c, o->zone));
    case FOR_SALE:
        return !o || sold_within(w, r, o, (double)INFINITY);
    case WITHIN_HOURLY:
        return !o || sold_within(w, r, o, eligible_hourly_limit(w, r));
    case CONDITIONS:
        break;
    }
    return true;
}

bool eligible_is_asked(const struct plan_world *w, const struct spec_resources *r, enum condition c)
{
    switch (c) {
    case HAS_ACCELERATOR:
        return r->n_accelerators > 0;
    case HAS_TYPE:
        return r->instance_type != NULL;
    case HAS_CPUS:
        return r->cpus.min > 0 || !isinf(r->cpus.max);
    case HAS_MEMORY:
        return r->memory_gb.min > 0 || !isinf(r->memory_gb.max);
    case IN_CLOUD:
        return r->cloud || w->cloud;
    case IN_REGION:
        return r->region || w->region;
    case CONFIGURED:
        return w->config->n_regions > 0;
    case IN_ZONE:
        return r->zone != NULL;
    case FOR_SALE:
        return true;
    case WITHIN_HOURLY:
        return !isinf(eligible_hourly_limit(w, r));
    case CONDITIONS:
        break;
    }
    return false;
}

/* ---- names ---- */

struct name_index *name_index_new(const struct catalog *c)
{
    const struct catalog_kind *kinds = c->kinds;
    struct name_index *x = mem_zero(1, sizeof *x);
    size_t last = 0;

    x->of_kind = mem_zero(c->n_kinds, sizeof *x->of_kind);
    for (size_t k = 0; k < c->n_kinds; k++) {
        /* Neighbours tend to have the same. */
        size_t i = x->n_listed && x->listed[last] == kinds[k].accelerator ? last : 0;
        while (i < x->n_listed && x->listed[i] != kinds[k].accelerator)
            i++;
        if (i == x->n_listed) {
            x->listed = mem_room(x->listed, x->n_listed, &x->cap_listed, sizeof *x->listed);
            x->listed[x->n_listed++] = kinds[k].accelerator;
        }
        x->of_kind[k] = (uint32_t)i;
        last = i;
    }
    return x;
}

void name_index_free(struct name_index *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < x->n_asked; i++) {
        free(x->asked[i].name);
        free(x->asked[i].same);
    }
    free(x->asked);
    free(x->listed);
    free(x->of_kind);
    free(x);
}

/* Per listed name: is it what was asked for? Borrowed from the index. */
static const bool *names_same_as(struct name_index *x, const struct catalog *c, const char *asked)
{
    for (size_t i = 0; i < x->n_asked; i++)
        if (!strcmp(x->asked[i].name, asked))
            return x->asked[i].same;
    x->asked = mem_room(x->asked, x->n_asked, &x->cap_asked, sizeof *x->asked);
    struct asked_name *added = &x->asked[x->n_asked++];
    added->name = mem_dup(asked);
    added->same = mem_zero(x->n_listed, sizeof *added->same);
    for (size_t i = 0; i < x->n_listed; i++) {
        const char *listed = catalog_text(c, x->listed[i]);
        added->same[i] = *listed && catalog_same_accelerator(asked, listed);
    }
    return added->same;
}

/* ---- filters ---- */

/* One alternative made ready: which locations it allows is looked up once, not once an offer. */
struct filter {
    const struct spec_resources *resources;
    const bool **names; /* per accelerator asked for: by listed name, is it the same? */
    bool asked[CONDITIONS];
    bool *place_allowed;
    bool market[2]; /* on demand, spot */
    double hourly_limit;
};

static void filter_init(struct filter *f,
                        const struct plan_problem *p,
                        const struct spec_resources *r)
{
    const struct plan_world *w = &p->world;
    size_t n = w->catalog->n_places;
    const struct catalog_place *places = w->catalog->places;

    *f = (struct filter){.resources = r,
                         .names = mem_zero(r->n_accelerators, sizeof *f->names),
                         .place_allowed = mem_zero(n, sizeof *f->place_allowed),
                         .market = {market_allowed(w, r, false), market_allowed(w, r, true)},
                         .hourly_limit = eligible_hourly_limit(w, r)};
    for (size_t i = 0; i < r->n_accelerators; i++)
        f->names[i] = names_same_as(p->names, w->catalog, r->accelerators[i].name);
    for (int i = 0; i < CONDITIONS; i++)
        f->asked[i] = eligible_is_asked(w, r, (enum condition)i);
    for (size_t i = 0; i < n; i++) {
        const char *region = catalog_text(w->catalog, places[i].region);
        f->place_allowed[i] =
            region_asked(w, r, region) &&
            region_configured(w, catalog_text(w->catalog, places[i].cloud), region);
    }
}

static void filter_clear(struct filter *f)
{
    free(f->names);
    free(f->place_allowed);
}

static bool filter_accelerator(const struct filter *f, uint32_t name, double count)
{
    const struct spec_resources *r = f->resources;

    for (size_t i = 0; i < r->n_accelerators; i++)
        if (f->names[i][name] && r->accelerators[i].count == count)
            return true;
    return !r->n_accelerators;
}

static bool filter_kind(const struct filter *f,
                        const struct plan_problem *p,
                        const struct catalog_kind *k)
{
    static const enum condition others[] = {HAS_CPUS, HAS_MEMORY, IN_CLOUD, HAS_TYPE};
    const struct plan_world *w = &p->world;

    /* Cheapest test first: most kinds fall at the accelerator. */
    if (!filter_accelerator(f, p->names->of_kind[k - w->catalog->kinds], k->accelerator_count))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (f->asked[others[i]] && !eligible_meets(w, f->resources, k, NULL, others[i]))
            return false;
    return true;
}

static bool filter_offer(const struct filter *f,
                         const struct plan_world *w,
                         const struct catalog_offer *o,
                         bool spot)
{
    double price = price_of(o, spot);

    return f->market[spot] && catalog_priced(price) && price <= f->hourly_limit &&
           f->place_allowed[o->place] &&
           (!f->resources->zone ||
            zone_asked(f->resources, catalog_text(w->catalog, w->catalog->places[o->place].region),
                       catalog_text(w->catalog, o->zone)));
}

struct visitor {
    const size_t *places; /* only these, ascending, or NULL = all */
    size_t n_places;
    void (*visit)(void *ctx, const struct choice *c);
    void *ctx;
};

/* First offer of the kind at the location or behind it: within a kind, offers stand in the order of
 * locations. */
static uint32_t first_at(const struct catalog *c, const struct catalog_kind *k, size_t place)
{
    const struct catalog_offer *offers = c->offers + k->first_offer;
    uint32_t low = 0, high = k->n_offers;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (offers[mid].place < place)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool stands_at(const struct catalog *c,
                      const struct catalog_kind *k,
                      const struct visitor *v)
{
    const struct catalog_offer *offers = c->offers + k->first_offer;

    for (size_t i = 0; i < v->n_places; i++) {
        if (c->places[v->places[i]].cloud != k->cloud)
            continue;
        uint32_t at = first_at(c, k, v->places[i]);
        if (at < k->n_offers && offers[at].place == v->places[i])
            return true;
    }
    return false;
}

static bool wanted_place(const struct visitor *v, size_t place)
{
    for (size_t i = 0; i < v->n_places; i++)
        if (v->places[i] == place)
            return true;
    return !v->places;
}

static void visit_offers(const struct plan_problem *p,
                         const struct spec_stage *stage,
                         const struct catalog_kind *kind,
                         const struct filter *const *filters,
                         size_t n_filters,
                         const struct visitor *v)
{
    const struct plan_world *w = &p->world;
    const char *cloud = catalog_text(w->catalog, kind->cloud);
    struct choice c = {.kind = kind};

    if (!estimate_run(stage, w->catalog, kind, w->throughputs, w->models, &c.estimate))
        return;
    double usual_rate = config_preemptions(w->config, cloud);
    for (uint32_t i = 0; i < kind->n_offers; i++) {
        c.offer = &w->catalog->offers[kind->first_offer + i];
        if (!wanted_place(v, c.offer->place))
            continue;
        for (int spot = 0; spot < 2; spot++) {
            bool wanted = false;
            for (size_t f = 0; f < n_filters && !wanted; f++)
                wanted = filter_offer(filters[f], w, c.offer, spot);
            if (!wanted || (w->allows && !w->allows(w->context, kind, c.offer, spot)))
                continue;
            double rate = isnan(c.offer->preemptions) ? usual_rate : c.offer->preemptions;
            c.spot = spot;
            c.price_usd = price_of(c.offer, spot);
            c.preemptions_h = spot ? rate * stage->num_nodes : 0;
            v->visit(v->ctx, &c);
        }
    }
}

static void visit_filtered(const struct plan_problem *p,
                           const struct pstage *stage,
                           struct filter *filters,
                           size_t n,
                           const struct visitor *v)
{
    const struct catalog *c = p->world.catalog;
    AUTO_MEM const struct filter **passed = mem_zero(n, sizeof *passed);

    size_t n_kinds = stage->kinds ? stage->n_kinds : c->n_kinds;
    for (size_t k = 0; k < n_kinds; k++) {
        const struct catalog_kind *kind = &c->kinds[stage->kinds ? stage->kinds[k] : k];
        size_t n_passed = 0;
        if (v->places && !stands_at(c, kind, v))
            continue;
        for (size_t f = 0; f < n; f++)
            if (filter_kind(&filters[f], p, kind))
                passed[n_passed++] = &filters[f];
        if (n_passed)
            visit_offers(p, stage->spec, kind, passed, n_passed, v);
    }
}

static void note_any(void *ctx, const struct choice *c)
{
    (void)c;
    *(bool *)ctx = true;
}

void eligible_each(const struct plan_problem *p,
                   size_t stage,
                   const size_t *places,
                   size_t n_places,
                   void (*visit)(void *ctx, const struct choice *c),
                   void *ctx)
{
    const struct spec_stage *s = p->stages[stage].spec;
    AUTO_MEM struct filter *filters = mem_zero(s->n_alternatives, sizeof *filters);
    const struct visitor v = {places, n_places, visit, ctx};

    for (size_t i = 0; i < s->n_alternatives; i++)
        filter_init(&filters[i], p, &s->alternatives[i]);
    if (s->ordered) {
        bool any = false;
        const struct visitor look = {NULL, 0, note_any, &any};
        for (size_t i = 0; i < s->n_alternatives && !any; i++) {
            visit_filtered(p, &p->stages[stage], &filters[i], 1, &look);
            if (any)
                visit_filtered(p, &p->stages[stage], &filters[i], 1, &v);
        }
    } else {
        visit_filtered(p, &p->stages[stage], filters, s->n_alternatives, &v);
    }
    for (size_t i = 0; i < s->n_alternatives; i++)
        filter_clear(&filters[i]);
}
