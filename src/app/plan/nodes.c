/* nodes: machines of clouds that must be near each other, chosen from the catalog without a
 * pipeline: those of training clusters, and those of regions that a geo plan names. */
#include "app/core/app.h"
#include "app/plan/plan.h"
#include "base/json.h"
#include "base/mem.h"
#include "catalog/catalog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int app_plan_open_nodes(struct app *app, struct app_plan *p, const char *on, struct err *e)
{
    p->config = app_config(app, e);
    p->catalog = p->config ? catalog_open(p->config->home, e) : NULL;
    return p->catalog ? app_plan_limit_clouds(app, p, on, e) : -1;
}

/* ---- requests as records keep them ---- */

#define KEEPS_REGION "keeps_region"

char *app_plan_nodes_request(bool keeps_region)
{
    AUTO_JSON json_t *request = json_pack("{s:b}", KEEPS_REGION, keeps_region);

    return json_dumps(request, JSON_COMPACT);
}

/* NULL: it is none of nodes. Borrowed from *root, which the caller frees. */
static const json_t *keeps_region(const char *request, json_t **root)
{
    *root = json_loads(request, 0, NULL);
    return json_object_get(*root, KEEPS_REGION);
}

bool app_plan_request_is_of_nodes(const char *request)
{
    AUTO_JSON json_t *root = NULL;

    return keeps_region(request, &root) != NULL;
}

bool app_plan_request_keeps_region(const char *request)
{
    AUTO_JSON json_t *root = NULL;

    return json_is_true(keeps_region(request, &root));
}

/* ---- choosing ---- */

/* The cheapest offer of one node in one region; kind NULL = none. */
struct found {
    const struct catalog_kind *kind;
    const struct catalog_offer *offer;
    double usd;
};

static bool suits(const struct catalog *c,
                  const struct app_plan_node *n,
                  const struct catalog_kind *k)
{
    if (n->cloud && strcmp(n->cloud, catalog_text(c, k->cloud)) != 0)
        return false;
    if (n->instance_type)
        return strcmp(n->instance_type, catalog_text(c, k->instance_type)) == 0;
    return (n->cpus <= 0 || k->vcpus >= n->cpus) &&
           (n->memory_gb <= 0 || k->memory_gib >= n->memory_gb);
}

/* found: one for each place. */
static void look_for(const struct app_plan *p, const struct app_plan_node *n, struct found *found)
{
    const struct catalog *c = p->catalog;
    const union {
        const struct app_plan *from;
        void *to; /* which app_plan_allows only reads */
    } context = {p};

    for (size_t i = 0; i < c->n_kinds; i++) {
        const struct catalog_kind *k = &c->kinds[i];
        if (!suits(c, n, k))
            continue;
        for (size_t j = 0; j < k->n_offers; j++) {
            const struct catalog_offer *o = &c->offers[k->first_offer + j];
            const char *region = catalog_text(c, c->places[o->place].region);
            double usd = n->spot ? o->spot_usd : o->price_usd;
            struct found *best = &found[o->place];
            if ((best->kind && !(usd < best->usd)) || isnan(usd) ||
                (n->region && strcmp(n->region, region) != 0) ||
                !app_plan_allows(context.to, k, o, n->spot))
                continue;
            *best = (struct found){k, o, usd};
        }
    }
}

/* What all nodes cost per hour at this place; INFINITY: it has not all of them. */
static double price_at(const struct found *found,
                       const struct app_plan_node *nodes,
                       size_t n,
                       size_t place,
                       size_t n_places)
{
    double usd = 0;

    for (size_t i = 0; i < n; i++) {
        const struct found *f = &found[i * n_places + place];
        usd += f->kind ? f->usd * nodes[i].count : (double)INFINITY;
    }
    return usd;
}

static int nowhere(const struct app_plan_node *nodes, size_t n, struct err *e)
{
    const char *region = nodes[0].region;
    const char *first = nodes[0].instance_type, *last = nodes[n - 1].instance_type;
    bool two = first && last && strcmp(first, last) != 0;

    return err_set(e, ERR_NOFIT, "%s%.60s offers %.60s%s%.60s%s that may be used",
                   region ? "no cloud in " : "no region", region ? region : "",
                   first ? first : "a machine of the size", two ? " beside " : "", two ? last : "",
                   nodes[0].spot ? ", spot," : "");
}

int app_plan_nodes(const struct app_plan *p,
                   const struct app_plan_node *nodes,
                   size_t n,
                   struct job_offer *out,
                   struct err *e)
{
    size_t n_places = p->catalog->n_places, best = SIZE_MAX;
    AUTO_MEM struct found *found = mem_zero(n * n_places + 1, sizeof *found);
    double least = (double)INFINITY;

    for (size_t i = 0; i < n; i++)
        look_for(p, &nodes[i], found + i * n_places);
    for (size_t place = 0; place < n_places; place++) {
        double usd = price_at(found, nodes, n, place, n_places);
        if (usd < least) {
            least = usd;
            best = place;
        }
    }
    if (best == SIZE_MAX)
        return nowhere(nodes, n, e);
    for (size_t i = 0; i < n; i++) {
        const struct found *f = &found[i * n_places + best];
        app_plan_fill_offer(p->catalog, f->kind, f->offer, nodes[i].spot, &out[i]);
    }
    return 0;
}
