#include "geo/problem.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "catalog/catalog.h"
#include "geo/facts.h"
#include "spec/config.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_MAX_BYTES ((size_t)64 << 20)
#define BYTES_PER_MBIT 125000.0
#define BYTES_PER_GBIT 125000000.0
#define MB_PER_GB 1024.0
#define BYTES_PER_MB 1048576.0
/* Of the memory that holds temporary files, the aggregator itself has this (B16: 64 gradients). */
#define PROGRAM_MB 128
/* Within a site: the rate is that of machine and store. */
#define NEAR_RTT_S 0.001
/* Of links without a measurement: half around the world, and the rate that the planner takes. */
#define GUESSED_RTT_S 0.15
#define GUESSED_GBIT 1.0
/* A worker that names no machine has this. */
#define DEFAULT_VCPUS 2
#define DEFAULT_MEMORY_GIB 8
#define MAX_SUGGESTIONS 256

struct building {
    const struct spec_geo *spec;
    const struct catalog *catalog;
    const struct geo_facts *facts;
    const struct config *config;
    struct geo_problem *p;
    size_t cap_sites;
};

/* ---- sites ---- */

static bool fill_store(const struct building *b, struct geo_site *site)
{
    const struct geo_store_fact *fact = geo_facts_store(b->facts, site->cloud);
    struct catalog_storage_tariff t;

    if (!fact || !catalog_storage_tariff(b->catalog, site->cloud, site->region, &t) ||
        isnan(t.usd_per_1000_read) || isnan(t.usd_per_1000_write) || isnan(t.usd_per_1000_list))
        return false;
    site->store = (struct geo_store){
        .usd_per_gb_month = t.usd_per_gb_month,
        .usd_per_read = t.usd_per_1000_read / 1000,
        .usd_per_write = t.usd_per_1000_write / 1000,
        .usd_per_list = t.usd_per_1000_list / 1000,
        .keys_per_list = fact->keys_per_list,
        .multipart_requests = fact->multipart_requests,
        .connection_bytes_per_s = fact->connection_mbps * BYTES_PER_MBIT,
        .request_s = fact->request_s,
    };
    return true;
}

static bool fill_function(const struct building *b, struct geo_site *site)
{
    const struct geo_function_fact *f = geo_facts_function(b->facts, site->cloud, site->region);

    if (!f)
        return false;
    double step_gb = f->memory_step_mb / MB_PER_GB;
    double gb = ceil(b->spec->memory_gb / step_gb - 1e-9) * step_gb;
    site->function = (struct geo_function){
        .usd_per_s = gb * (f->usd_per_gb_s + f->cpu_per_gb * f->usd_per_cpu_s),
        .usd_per_request = f->usd_per_request,
        .step_s = f->billing_step_ms / 1000,
        .trigger_s = f->trigger_s,
        .cold_s = f->cold_s,
        .max_s = f->max_s,
        .disk_bytes = f->max_disk_mb > 0 ? f->max_disk_mb * BYTES_PER_MB
                                         : fmax(gb * MB_PER_GB - PROGRAM_MB, 1) * BYTES_PER_MB,
        .is_too_large = gb * MB_PER_GB > f->max_memory_mb,
    };
    return true;
}

static size_t site_of(struct building *b, const char *cloud, const char *region)
{
    struct geo_problem *p = b->p;
    size_t i = 0;

    while (i < p->n_sites &&
           (strcmp(p->sites[i].cloud, cloud) != 0 || strcmp(p->sites[i].region, region) != 0))
        i++;
    if (i < p->n_sites)
        return i;
    struct geo_site *site = &p->sites[p->n_sites++];
    site->cloud = arena_dup(p->arena, cloud);
    site->region = arena_dup(p->arena, region);
    site->has_function = fill_function(b, site);
    site->has_store = fill_store(b, site);
    return i;
}

/* ---- links ---- */

/* Free and volume tiers are the account's, not the training's: the first that costs counts. */
static double first_paid(const struct catalog *c, const struct catalog_move *move)
{
    const struct catalog_tier *tiers = c->tiers + move->first_tier;

    for (uint32_t i = 0; i < move->n_tiers; i++)
        if (tiers[i].usd_per_gb > 0)
            return tiers[i].usd_per_gb;
    return 0;
}

static const struct catalog_move *find_move(const struct catalog *c,
                                            const struct geo_site *from,
                                            const struct geo_site *to)
{
    size_t src = catalog_find_place(c, from->cloud, from->region);
    size_t dst = catalog_find_place(c, to->cloud, to->region);

    if (dst == SIZE_MAX)
        return NULL;
    return src == SIZE_MAX ? catalog_move_from(c, from->cloud, from->region, dst)
                           : catalog_move(c, src, dst);
}

static struct geo_link link_between(const struct building *b, size_t from, size_t to)
{
    const struct geo_site *x = &b->p->sites[from], *y = &b->p->sites[to];

    if (from == to)
        return (struct geo_link){true, b->spec->same_region_usd_per_gb, (double)INFINITY,
                                 NEAR_RTT_S};
    const struct catalog_move *move = find_move(b->catalog, x, y);
    const struct geo_link_fact *fact =
        geo_facts_link(b->facts, x->cloud, x->region, y->cloud, y->region);
    struct geo_link link = {.exists = move || fact,
                            .bytes_per_s = GUESSED_GBIT * BYTES_PER_GBIT,
                            .rtt_s = GUESSED_RTT_S};
    if (fact) {
        link.bytes_per_s = fact->mbps * BYTES_PER_MBIT;
        link.rtt_s = fact->rtt_ms / 1000;
        link.usd_per_gb = fact->usd_per_gb;
    } else if (move) {
        if (!isnan(move->gbit_per_s))
            link.bytes_per_s = move->gbit_per_s * BYTES_PER_GBIT;
        if (move->rtt_ms > 0)
            link.rtt_s = move->rtt_ms / 1000;
    }
    if (move)
        link.usd_per_gb = first_paid(b->catalog, move);
    return link;
}

/* ---- workers ---- */

static const char *place_line(const struct building *b, const struct spec_geo_worker *w)
{
    const char *text = w->line ? arena_printf(b->p->arena, "%s:%zu: ", b->spec->file, w->line)
                               : arena_dup(b->p->arena, "workers: ");

    return text ? text : "";
}

static bool is_known(const struct building *b, const char *cloud, const char *region)
{
    return geo_facts_function(b->facts, cloud, region) ||
           catalog_find_place(b->catalog, cloud, region) != SIZE_MAX;
}

/* The region of that cloud that was meant, or NULL. */
static const char *near_region(const struct building *b, const struct spec_place *place)
{
    const char *names[MAX_SUGGESTIONS];
    size_t n = 0;

    for (size_t i = 0; i < b->facts->n_functions && n < MAX_SUGGESTIONS; i++)
        if (strcmp(b->facts->functions[i].cloud, place->cloud) == 0)
            names[n++] = b->facts->functions[i].region;
    for (size_t i = 0; i < b->catalog->n_places && n < MAX_SUGGESTIONS; i++) {
        const struct catalog_place *at = &b->catalog->places[i];
        if (strcmp(catalog_text(b->catalog, at->cloud), place->cloud) == 0)
            names[n++] = catalog_text(b->catalog, at->region);
    }
    return nearest(place->region, names, n);
}

static int check_place(const struct building *b,
                       const struct spec_geo_worker *w,
                       const struct spec_place *place,
                       const char *whose,
                       struct err *e)
{
    if (is_known(b, place->cloud, place->region))
        return 0;
    const char *near = near_region(b, place);
    return err_set(e, ERR_USAGE, "%s%s: nothing is known about %s/%s: %s%s%s%s", place_line(b, w),
                   whose, place->cloud, place->region,
                   near ? "did you mean " : "tradewind catalog list shows the locations",
                   near ? place->cloud : "", near ? "/" : "", near ? near : "");
}

/* Lowest price on demand of a kind at a location; INFINITY = not sold there. */
static double price_at(const struct catalog *c, const struct catalog_kind *kind, size_t place)
{
    double usd = (double)INFINITY;

    for (uint32_t i = 0; i < kind->n_offers; i++) {
        const struct catalog_offer *offer = &c->offers[kind->first_offer + i];
        if (offer->place == place && catalog_priced(offer->price_usd))
            usd = fmin(usd, offer->price_usd);
    }
    return usd;
}

/* What a worker is when its file does not say. */
static const char *default_type(const char *cloud)
{
    static const struct {
        const char *cloud, *type;
    } types[] = {{"aws", "m5.large"}, {"gcp", "e2-standard-2"}, {"azure", "Standard_D2s_v5"}};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].cloud, cloud) == 0)
            return types[i].type;
    return NULL;
}

/* Azure's names are often written without what they begin with. */
static bool is_named(const char *listed, const char *asked)
{
    static const char prefix[] = "Standard_";

    return strcmp(listed, asked) == 0 || (strncmp(listed, prefix, sizeof prefix - 1) == 0 &&
                                          strcmp(listed + sizeof prefix - 1, asked) == 0);
}

struct machine {
    double usd_per_hour, network_gbps;
    bool is_known; /* the catalog has the type, be it elsewhere */
};

/* type NULL = the cheapest that has enough. */
static struct machine find_machine(const struct building *b,
                                   const struct spec_place *place,
                                   const char *type)
{
    const struct catalog *c = b->catalog;
    size_t at = catalog_find_place(c, place->cloud, place->region);
    struct machine found = {(double)INFINITY, (double)NAN, false};

    for (size_t i = 0; i < c->n_kinds; i++) {
        const struct catalog_kind *kind = &c->kinds[i];
        if (strcmp(catalog_text(c, kind->cloud), place->cloud) != 0)
            continue;
        if (type ? !is_named(catalog_text(c, kind->instance_type), type)
                 : !(kind->vcpus >= DEFAULT_VCPUS && kind->memory_gib >= DEFAULT_MEMORY_GIB))
            continue;
        double usd = at == SIZE_MAX ? (double)INFINITY : price_at(c, kind, at);
        found.is_known = true;
        if (usd < found.usd_per_hour) {
            found.usd_per_hour = usd;
            found.network_gbps = kind->network_gbps;
        }
    }
    if (!isfinite(found.usd_per_hour) && type) {
        const struct geo_machine_fact *fact =
            geo_facts_machine(b->facts, place->cloud, place->region, type);
        if (fact)
            found = (struct machine){fact->usd_per_hour, fact->network_gbps, true};
    }
    return found;
}

static int find_worker_machine(const struct building *b,
                               const struct spec_geo_worker *w,
                               struct machine *out,
                               struct err *e)
{
    const char *type = w->instance_type ? w->instance_type : default_type(w->place.cloud);

    *out = find_machine(b, &w->place, type);
    if (isfinite(out->usd_per_hour))
        return 0;
    if (!type)
        return err_set(e, ERR_NOFIT, "%sno machine with %d vCPU and %d GB is sold at %s/%s",
                       place_line(b, w), DEFAULT_VCPUS, DEFAULT_MEMORY_GIB, w->place.cloud,
                       w->place.region);
    if (!out->is_known)
        return err_set(e, ERR_USAGE,
                       "%sinstance_type: %s has no machine %s: tradewind catalog list --cloud %s "
                       "shows them",
                       place_line(b, w), w->place.cloud, type, w->place.cloud);
    return err_set(
        e, ERR_NOFIT,
        "%s%s is not sold at %s/%s: another instance_type, another location, or a catalog "
        "that has it",
        place_line(b, w), type, w->place.cloud, w->place.region);
}

static int add_workers(struct building *b, const struct spec_geo_worker *w, struct err *e)
{
    const struct spec_place *data = w->data_place.cloud ? &w->data_place : &w->place;
    struct machine machine;

    if (check_place(b, w, &w->place, "location", e) < 0 ||
        check_place(b, w, data, "data.location", e) < 0 ||
        find_worker_machine(b, w, &machine, e) < 0)
        return -1;
    const struct geo_worker worker = {
        .site = site_of(b, w->place.cloud, w->place.region),
        .usd_per_hour = machine.usd_per_hour,
        .bytes_per_s =
            isnan(machine.network_gbps) ? (double)INFINITY : machine.network_gbps * BYTES_PER_GBIT,
        .train_s = isnan(w->train_s) ? b->spec->train_s : w->train_s,
        .boot_s = config_boot_s(b->config, w->place.cloud),
        .data_bytes = w->data_bytes,
        .data_site = site_of(b, data->cloud, data->region),
        .data_cached = w->data_cached,
    };
    for (unsigned i = 0; i < w->count; i++)
        b->p->workers[b->p->n_workers++] = worker;
    return 0;
}

/* ---- all of it ---- */

static int allocate(struct building *b, struct err *e)
{
    struct geo_problem *p = b->p;
    size_t n_workers = 0;

    for (size_t i = 0; i < b->spec->n_workers; i++)
        n_workers += b->spec->workers[i].count;
    /* Every worker's location and that of its data may be new. */
    b->cap_sites = b->facts->n_functions + 2 * b->spec->n_workers;
    p->sites = arena_alloc(p->arena, b->cap_sites, sizeof *p->sites);
    p->workers = arena_alloc(p->arena, n_workers, sizeof *p->workers);
    if (!p->sites || !p->workers)
        return err_set(e, ERR_USAGE, "%s: too many workers", b->spec->file);
    return 0;
}

static int fill_links(struct building *b, struct err *e)
{
    struct geo_problem *p = b->p;

    p->links = arena_alloc(p->arena, p->n_sites * p->n_sites, sizeof *p->links);
    if (!p->links)
        return err_set(e, ERR_USAGE, "%s: too many locations", b->spec->file);
    for (size_t i = 0; i < p->n_sites; i++)
        for (size_t k = 0; k < p->n_sites; k++)
            p->links[i * p->n_sites + k] = link_between(b, i, k);
    return 0;
}

void geo_problem_set(struct geo_problem *p, const struct spec_geo *spec)
{
    p->size_bytes = spec->size_bytes;
    p->compression = spec->compression;
    p->topk = spec->topk;
    p->quorum = spec->quorum;
    p->connections = spec->connections;
    p->poll_s = spec->poll_s;
    p->retries = spec->retries;
    p->average_bytes_per_s = spec->average_mb_per_s * 1e6;
    p->rounds = spec->rounds;
    p->rounds_per_epoch = spec->rounds_per_epoch;
}

struct geo_problem *geo_problem_new(const struct spec_geo *spec,
                                    const struct catalog *catalog,
                                    const struct geo_facts *facts,
                                    const struct config *config,
                                    struct err *e)
{
    AUTO(geo_problem) struct geo_problem *p = mem_zero(1, sizeof *p);
    struct building b = {spec, catalog, facts, config, p, 0};

    p->arena = arena_new(ARENA_MAX_BYTES);
    geo_problem_set(p, spec);
    if (allocate(&b, e) < 0)
        return NULL;
    for (size_t i = 0; i < facts->n_functions; i++)
        site_of(&b, facts->functions[i].cloud, facts->functions[i].region);
    for (size_t i = 0; i < spec->n_workers; i++)
        if (add_workers(&b, &spec->workers[i], e) < 0)
            return NULL;
    return fill_links(&b, e) < 0 ? NULL : TAKE(p);
}

void geo_problem_free(struct geo_problem *p)
{
    if (!p)
        return;
    arena_free(p->arena);
    free(p);
}
