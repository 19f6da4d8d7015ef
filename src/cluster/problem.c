#include "cluster/problem.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/nearest.h"
#include "catalog/catalog.h"
#include "cluster/measured.h"
#include "spec/cluster.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_MAX_BYTES ((size_t)256 << 20)
#define MBPS_PER_GBPS 1000
#define MAX_SUGGESTIONS 4096
#define RATE_OF_VCPU "vcpu" /* among the file's types */

struct building {
    const struct spec_cluster *spec;
    const struct catalog *catalog;
    const struct cluster_measured *measured;
    struct cluster_problem *p;
    size_t *place_of; /* of a location of the catalog; SIZE_MAX = not wanted */
    /* The kind whose offers are being taken, with no price yet. */
    size_t kind;
    struct cluster_type of_kind;
};

/* ---- one type ---- */

static void scale(double figure, double times, double *out)
{
    if (isnan(*out) && !isnan(figure) && times > 0)
        *out = figure * times;
}

/* By accelerator, or by vCPU where there is none. */
static void fill_scaled(const struct building *b,
                        const struct catalog_kind *kind,
                        struct cluster_type *t)
{
    const char *accelerator = catalog_text(b->catalog, kind->accelerator);

    for (size_t i = 0; i < b->spec->n_types; i++) {
        const struct spec_cluster_type *said = &b->spec->types[i];
        bool fits = *accelerator ? catalog_same_accelerator(said->name, accelerator)
                                 : strcmp(said->name, RATE_OF_VCPU) == 0;
        double times = *accelerator ? kind->accelerator_count : kind->vcpus;
        if (!fits)
            continue;
        scale(said->mbps, times, &t->mbps);
        scale(said->per_s, times, &t->per_s);
    }
}

/* Without a price. kind NULL: the catalog has no such type. */
static struct cluster_type make_type(const struct building *b,
                                     const char *name,
                                     const struct spec_cluster_type *said,
                                     const struct catalog_kind *kind)
{
    struct cluster_type t = {name, 0, (double)NAN, (double)NAN, (double)NAN};

    if (said) {
        t.network_mbps = said->network_mbps;
        t.mbps = said->mbps;
        t.per_s = said->per_s;
    }
    const struct cluster_measured_row *row = cluster_measured_of(b->measured, name);
    if (row && isnan(t.mbps) && isnan(t.per_s)) {
        t.mbps = row->mbps;
        t.per_s = row->per_s;
    }
    if (kind) {
        fill_scaled(b, kind, &t);
        scale(kind->network_gbps, MBPS_PER_GBPS, &t.network_mbps);
    }
    return t;
}

/* The file's price goes before the catalog's. Never 0: budgets are divided by it. */
static int64_t price_of(const struct spec_cluster_type *said, double usd_per_hour)
{
    bool is_said = said && !isnan(said->usd_per_hour);
    int64_t price = money_from_usd(is_said ? said->usd_per_hour : usd_per_hour);

    return price + (price == 0);
}

static bool is_listed(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return n == 0;
}

/* ---- locations ---- */

static void add_type(const struct building *b,
                     struct cluster_place *at,
                     const struct cluster_type *t,
                     bool has_accelerator)
{
    const struct spec_cluster *s = b->spec;

    /* Unless it is asked for, a server has no accelerators: they would lie idle. */
    if (is_listed(s->servers, s->n_servers, t->name) && (s->n_servers || !has_accelerator))
        at->servers[at->n_servers++] = *t;
    if (is_listed(s->workers, s->n_workers, t->name))
        at->workers[at->n_workers++] = *t;
}

/* Calls add for every kind at every location, at its lowest price there. Offers of one location
 * stand together. */
static void each_offer(struct building *b,
                       void (*add)(struct building *b, size_t place, size_t kind, double usd))
{
    const struct catalog *c = b->catalog;

    for (size_t k = 0; k < c->n_kinds; k++) {
        const struct catalog_kind *kind = &c->kinds[k];
        const struct catalog_offer *offers = c->offers + kind->first_offer;
        for (uint32_t i = 0; i < kind->n_offers;) {
            uint32_t place = offers[i].place;
            double usd = (double)INFINITY;
            for (; i < kind->n_offers && offers[i].place == place; i++)
                if (catalog_priced(offers[i].price_usd))
                    usd = fmin(usd, offers[i].price_usd);
            if (isfinite(usd) && b->place_of[place] != SIZE_MAX)
                add(b, b->place_of[place], k, usd);
        }
    }
}

static void count_offer(struct building *b, size_t place, size_t kind, double usd)
{
    (void)kind;
    (void)usd;
    b->p->places[place].n_workers++;
}

static void take_offer(struct building *b, size_t place, size_t k, double usd)
{
    const struct catalog_kind *kind = &b->catalog->kinds[k];
    const char *name = catalog_text(b->catalog, kind->instance_type);
    const struct spec_cluster_type *said = spec_cluster_type(b->spec, name);

    /* Offers come kind by kind, and of each there are dozens. */
    if (!b->of_kind.name || b->kind != k)
        b->of_kind = make_type(b, name, said, kind);
    b->kind = k;
    b->of_kind.price_microusd = price_of(said, usd);
    add_type(b, &b->p->places[place], &b->of_kind, *catalog_text(b->catalog, kind->accelerator));
}

static bool has_type(const struct cluster_type *types, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(types[i].name, name) == 0)
            return true;
    return false;
}

/* Types that only the file prices are sold everywhere. */
static void add_own_types(struct building *b, struct cluster_place *at)
{
    for (size_t i = 0; i < b->spec->n_types; i++) {
        const struct spec_cluster_type *said = &b->spec->types[i];
        if (isnan(said->usd_per_hour) || has_type(at->workers, at->n_workers, said->name) ||
            has_type(at->servers, at->n_servers, said->name))
            continue;
        const char *name = arena_dup(b->p->arena, said->name);
        struct cluster_type t = make_type(b, name ? name : "", said, NULL);
        t.price_microusd = price_of(said, said->usd_per_hour);
        add_type(b, at, &t, false);
    }
}

/* No catalog is needed when the file prices all that it names. */
static bool is_self_contained(const struct spec_cluster *s)
{
    bool all = s->n_servers && s->n_workers && !s->place.cloud;

    for (size_t i = 0; i < s->n_servers + s->n_workers && all; i++) {
        const struct spec_cluster_type *t =
            spec_cluster_type(s, i < s->n_servers ? s->servers[i] : s->workers[i - s->n_servers]);
        all = t && !isnan(t->usd_per_hour);
    }
    return all;
}

/* What stands before a complaint; nothing where an option said it, and no line did. */
static char *where_of(const struct spec_cluster *s, size_t line)
{
    return line ? mem_printf("%s:%zu: ", s->file, line) : mem_dup("");
}

static int list_places(struct building *b, struct err *e)
{
    const struct spec_cluster *s = b->spec;
    struct cluster_problem *p = b->p;
    size_t n = b->catalog->n_places;
    bool alone = is_self_contained(s);

    p->places = arena_alloc(p->arena, n + 1, sizeof *p->places);
    b->place_of = arena_alloc(p->arena, n + 1, sizeof *b->place_of);
    if (!p->places || !b->place_of)
        return err_set(e, ERR_USAGE, "%s: the catalog has too many locations", s->file);
    for (size_t i = 0; i < n; i++) {
        const struct catalog_place *at = &b->catalog->places[i];
        const char *cloud = catalog_text(b->catalog, at->cloud);
        const char *region = catalog_text(b->catalog, at->region);
        b->place_of[i] = SIZE_MAX;
        if (alone || (s->place.cloud &&
                      (strcmp(s->place.cloud, cloud) != 0 || strcmp(s->place.region, region) != 0)))
            continue;
        b->place_of[i] = p->n_places;
        p->places[p->n_places++] = (struct cluster_place){.cloud = cloud, .region = region};
    }
    if (alone)
        p->n_places = 1;
    if (p->n_places)
        return 0;
    AUTO_MEM char *where = where_of(s, s->place_line);
    return err_set(
        e, ERR_USAGE,
        "%slocation: the catalog has no offer at %s/%s: tradewind catalog list shows the "
        "locations",
        where, s->place.cloud, s->place.region);
}

/* ---- names ---- */

static bool is_sold_somewhere(const struct building *b, const char *name)
{
    const struct spec_cluster_type *said = spec_cluster_type(b->spec, name);

    if (said && !isnan(said->usd_per_hour))
        return true;
    for (size_t i = 0; i < b->catalog->n_kinds; i++)
        if (strcmp(catalog_text(b->catalog, b->catalog->kinds[i].instance_type), name) == 0)
            return true;
    return false;
}

static int unknown_name(
    const struct building *b, const char *name, const char *field, size_t line, struct err *e)
{
    AUTO_MEM const char **known = mem_zero(MAX_SUGGESTIONS, sizeof *known);
    size_t n_known = 0;

    for (size_t k = 0; k < b->catalog->n_kinds && n_known < MAX_SUGGESTIONS; k++)
        known[n_known++] = catalog_text(b->catalog, b->catalog->kinds[k].instance_type);
    const char *close = nearest(name, known, n_known);
    AUTO_MEM char *where = where_of(b->spec, line);
    return err_set(e, ERR_USAGE,
                   "%s%s: %.60s is in no catalog: %s%s%sgive its price, as in types: {NAME: "
                   "{price: 1.5}}",
                   where, field, name, close ? "did you mean " : "", close ? close : "",
                   close ? "? Or " : "");
}

static int check_names(const struct building *b,
                       const char *const *names,
                       size_t n,
                       const char *field,
                       size_t line,
                       struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (!is_sold_somewhere(b, names[i]))
            return unknown_name(b, names[i], field, line, e);
    return 0;
}

/* Of what rates are told by: vCPUs, or an accelerator that something has. */
static bool is_scaled_by(const struct building *b, const char *name)
{
    if (!strcmp(name, RATE_OF_VCPU))
        return true;
    for (size_t i = 0; i < b->catalog->n_kinds; i++)
        if (catalog_same_accelerator(name,
                                     catalog_text(b->catalog, b->catalog->kinds[i].accelerator)))
            return true;
    return false;
}

/* A slip in a name would leave out what is known of it, without a word. */
static int check_types(const struct building *b, struct err *e)
{
    for (size_t i = 0; i < b->spec->n_types; i++) {
        const struct spec_cluster_type *t = &b->spec->types[i];
        if (!is_sold_somewhere(b, t->name) && !is_scaled_by(b, t->name))
            return unknown_name(b, t->name, "types", t->line, e);
    }
    return 0;
}

/* ---- all of it ---- */

/* Drops servers that the file does not name and that leave no money for a worker; the cheapest
 * stays, for the message. */
static void drop_expensive_servers(const struct cluster_problem *p, struct cluster_place *at)
{
    int64_t worker = INT64_MAX, cheapest = INT64_MAX;
    size_t n = 0;

    for (size_t i = 0; i < at->n_workers; i++)
        if (at->workers[i].price_microusd < worker)
            worker = at->workers[i].price_microusd;
    for (size_t i = 0; i < at->n_servers; i++)
        if (at->servers[i].price_microusd < cheapest)
            cheapest = at->servers[i].price_microusd;
    for (size_t i = 0; i < at->n_servers; i++) {
        int64_t price = at->servers[i].price_microusd;
        if (price == cheapest || price <= p->budget_microusd - worker)
            at->servers[n++] = at->servers[i];
    }
    at->n_servers = n;
}

static int fill_places(struct building *b, struct err *e)
{
    struct cluster_problem *p = b->p;
    size_t n_servers = 0, n_workers = 0;

    each_offer(b, count_offer);
    for (size_t i = 0; i < p->n_places; i++) {
        struct cluster_place *at = &p->places[i];
        size_t cap = at->n_workers + b->spec->n_types + 1;
        at->n_workers = 0;
        at->servers = arena_alloc(p->arena, cap, sizeof *at->servers);
        at->workers = arena_alloc(p->arena, cap, sizeof *at->workers);
        if (!at->servers || !at->workers)
            return err_set(e, ERR_USAGE, "%s: too many types", b->spec->file);
    }
    each_offer(b, take_offer);
    for (size_t i = 0; i < p->n_places; i++) {
        add_own_types(b, &p->places[i]);
        if (b->spec->n_servers == 0)
            drop_expensive_servers(p, &p->places[i]);
        n_servers += p->places[i].n_servers;
        n_workers += p->places[i].n_workers;
    }
    if (n_servers && n_workers)
        return 0;
    return err_set(e, ERR_NOFIT, "no cluster: none of the types for %s is sold%s%s%s%s",
                   n_servers ? "workers" : "the server", b->spec->place.cloud ? " at " : "",
                   b->spec->place.cloud ? b->spec->place.cloud : "",
                   b->spec->place.cloud ? "/" : "",
                   b->spec->place.cloud ? b->spec->place.region : "");
}

struct cluster_problem *cluster_problem_new(const struct spec_cluster *spec,
                                            const struct catalog *catalog,
                                            const struct cluster_measured *measured,
                                            struct err *e)
{
    AUTO(cluster_problem) struct cluster_problem *p = mem_zero(1, sizeof *p);
    struct building b = {.spec = spec, .catalog = catalog, .measured = measured, .p = p};

    p->arena = arena_new(ARENA_MAX_BYTES);
    p->budget_microusd = isnan(spec->budget_usd) ? INT64_MAX : money_from_usd(spec->budget_usd);
    p->max_workers =
        isnan(spec->max_workers) ? SPEC_CLUSTER_MAX_WORKERS : (unsigned)spec->max_workers;
    p->share = spec->share;
    p->work = spec->work;
    if (isnan(spec->budget_usd) && isnan(spec->max_workers)) {
        err_set(e, ERR_USAGE,
                "%s: the size of the cluster has no limit: write budget: 2.0 (USD per hour) or "
                "workers: {max: 6}, or give --budget or --max-workers",
                spec->file);
        return NULL;
    }
    if (check_names(&b, spec->servers, spec->n_servers, "server", spec->servers_line, e) < 0 ||
        check_names(&b, spec->workers, spec->n_workers, "workers", spec->workers_line, e) < 0 ||
        check_types(&b, e) < 0 || list_places(&b, e) < 0 || fill_places(&b, e) < 0)
        return NULL;
    return TAKE(p);
}

void cluster_problem_free(struct cluster_problem *p)
{
    if (!p)
        return;
    arena_free(p->arena);
    free(p);
}
