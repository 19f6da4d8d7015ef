/* layout: the aggregators of a training, where they run, and the prefixes they read and write. */
#include "app/geo/internal.h"
#include "app/run/location.h"
#include "base/mem.h"
#include "net/http.h"
#include "spec/config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* On hosts, whose free ports are not known beforehand. */
#define FIRST_PORT 8750

static const struct spec_geo_site *said_of(const struct app_geo_run *g, size_t site)
{
    const struct geo_site *s = &g->geo.problem->sites[site];

    return spec_geo_site(g->geo.spec, s->cloud, s->region);
}

const char *app_geo_run_on(const struct app_geo_run *g, size_t site, bool function)
{
    const struct spec_geo_site *said = said_of(g, site);
    const char *on = said ? function ? said->function_on : said->on : NULL;

    /* Workers need the address of a function before it runs. */
    return on ? on : function && g->is_cloud ? "local" : g->on;
}

/* ---- stores ---- */

/* A prefix of a site's store. Workers on this machine need no store: a directory of the home
 * serves. */
static int place_prefix(
    struct app_geo_run *g, size_t site, const char *name, struct app_geo_prefix *out, struct err *e)
{
    const struct spec_geo_site *said = said_of(g, site);
    const struct geo_site *at = &g->geo.problem->sites[site];

    *out = (struct app_geo_prefix){.site = site, .endpoint = "", .region = ""};
    if (said && said->store) {
        size_t n = strlen(said->store);
        out->url = arena_printf(g->arena, "%s%s%s/%s", said->store,
                                n && said->store[n - 1] == '/' ? "" : "/", g->token, name);
        out->endpoint = said->endpoint ? said->endpoint : "";
        out->region = said->region ? said->region : "";
        return http_check_exposed(out->endpoint, g->is_insecure, e) < 0
                   ? err_wrap(e, "%s: the store at %s/%s", g->geo.spec->file, at->cloud, at->region)
                   : 0;
    }
    if (g->is_deployed)
        return err_set(e, ERR_USAGE,
                       "%s: the function at %s/%s needs a store there: write sites: {%s/%s: "
                       "{store: BUCKET_URL}}",
                       g->geo.spec->file, at->cloud, at->region, at->cloud, at->region);
    for (size_t i = 0; i < g->geo.problem->n_workers; i++)
        if (strcmp(app_geo_run_on(g, g->geo.problem->workers[i].site, false), "local") != 0)
            return err_set(e, ERR_USAGE,
                           "%s: workers on other machines need a store at %s/%s: write sites: "
                           "{%s/%s: {store: s3://BUCKET/PREFIX}}",
                           g->geo.spec->file, at->cloud, at->region, at->cloud, at->region);
    out->url = arena_printf(g->arena, "dir:%s/geo/%s/%s", g->geo.config->home, g->token, name);
    return 0;
}

/* ---- addresses of functions ---- */

static int free_port(unsigned *out, struct err *e)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = s >= 0 && bind(s, (struct sockaddr *)&a, n) == 0 &&
                getsockname(s, (struct sockaddr *)&a, &n) == 0;

    if (s >= 0)
        close(s);
    *out = ntohs(a.sin_port);
    return good ? 0 : err_set(e, ERR_IO, "no free port on this machine");
}

/* "root@gpu1.lab" is at gpu1.lab. */
static const char *host_address(const char *host)
{
    const char *at = strrchr(host, '@');

    return at ? at + 1 : host;
}

/* The group of a function has a single host: workers need its address before it runs. */
static int place_address(struct app_geo_run *g,
                         struct app_geo_aggregator *a,
                         size_t index,
                         struct err *e)
{
    const struct spec_geo_site *said = said_of(g, a->site);
    const char *on = app_geo_run_on(g, a->site, true), *address = said ? said->address : NULL;
    const struct geo_site *site = &g->geo.problem->sites[a->site];
    struct app_run_location location;

    if (app_run_location_find(g->geo.config, on, "on", &location, e) < 0)
        return err_wrap(e, "%s: the function at %s/%s", g->geo.spec->file, site->cloud,
                        site->region);
    if (location.n_hosts > 1)
        return err_set(
            e, ERR_USAGE,
            "%s: the function at %s/%s: group %s has %zu hosts, and workers have to know "
            "which: write sites: {%s/%s: {function_on: GROUP}} with a group of one",
            g->geo.spec->file, site->cloud, site->region, on, location.n_hosts, site->cloud,
            site->region);
    a->port = said && said->port ? said->port + (unsigned)index : FIRST_PORT + (unsigned)index;
    if (location.n_hosts == 0 && !(said && said->port) && free_port(&a->port, e) < 0)
        return -1;
    if (!address && !location.n_hosts && g->is_cloud)
        return err_set(e, ERR_USAGE,
                       "%s: the function at %s/%s runs on this machine: write sites: {%s/%s: "
                       "{address: ADDRESS}}, at which machines of clouds reach it, or function_on: "
                       "GROUP with a host that they reach",
                       g->geo.spec->file, site->cloud, site->region, site->cloud, site->region);
    if (!address)
        address = location.n_hosts ? host_address(location.hosts[0]->host) : "127.0.0.1";
    a->address = address;
    a->event_url = arena_printf(g->arena, "http://%s:%u/", address, a->port);
    if (a->event_url && http_check_exposed(a->event_url, g->is_insecure, e) < 0)
        return err_wrap(e, "%s: the function at %s/%s", g->geo.spec->file, site->cloud,
                        site->region);
    return 0;
}

/* ---- topologies ---- */

static int place_central(struct app_geo_run *g, struct err *e)
{
    struct app_geo_aggregator *a = &g->aggregators[g->n_aggregators++];

    *a = (struct app_geo_aggregator){
        .site = g->at.function, .workers = (unsigned)g->geo.problem->n_workers, .n_targets = 1};
    a->targets = arena_alloc(g->arena, 1, sizeof *a->targets);
    a->targets[0] = g->at.store;
    for (size_t i = 0; i < g->geo.problem->n_workers; i++)
        g->index_of[i] = (unsigned)i;
    return place_prefix(g, g->at.store, "all", &a->in, e);
}

/* Regions in the order of their first workers. */
static int place_regions(struct app_geo_run *g, struct err *e)
{
    const struct geo_problem *p = g->geo.problem;

    for (size_t i = 0; i < p->n_workers; i++) {
        size_t k = 0;
        while (k < g->n_aggregators && g->aggregators[k].site != p->workers[i].site)
            k++;
        struct app_geo_aggregator *a = &g->aggregators[k];
        if (k == g->n_aggregators) {
            AUTO_MEM char *name = mem_printf("region-%zu", k);
            *a = (struct app_geo_aggregator){
                .site = p->workers[i].site, .up_worker = (unsigned)k, .n_targets = 1};
            a->targets = arena_alloc(g->arena, 1, sizeof *a->targets);
            a->targets[0] = g->at.store;
            g->n_aggregators++;
            if (place_prefix(g, a->site, name, &a->in, e) < 0)
                return -1;
        }
        g->gatherer_of[i] = k;
        g->index_of[i] = a->workers++;
    }
    return 0;
}

static int place_hierarchy(struct app_geo_run *g, struct err *e)
{
    if (place_regions(g, e) < 0)
        return -1;
    size_t n = g->n_aggregators++, *up = arena_alloc(g->arena, 1, sizeof *up);
    struct app_geo_aggregator *all = &g->aggregators[n];
    *up = n;
    *all =
        (struct app_geo_aggregator){.site = g->at.function, .workers = (unsigned)n, .n_targets = 1};
    all->targets = arena_alloc(g->arena, n, sizeof *all->targets);
    all->targets[0] = g->at.store;
    for (size_t k = 0; k < n; k++)
        g->aggregators[k].up = up;
    if (g->at.topology == SPEC_GEO_FANOUT) {
        all->fanout = arena_alloc(g->arena, n, sizeof *all->fanout);
        all->n_targets = all->n_fanout = n;
        for (size_t k = 0; k < n; k++) {
            all->targets[k] = g->aggregators[k].in.site;
            all->fanout[k] = g->aggregators[k].in;
        }
    }
    return place_prefix(g, g->at.store, "all", &all->in, e);
}

int app_geo_run_layout(struct app_geo_run *g, struct err *e)
{
    size_t n = g->geo.problem->n_workers;

    g->aggregators = arena_alloc(g->arena, n + 1, sizeof *g->aggregators);
    g->gatherer_of = arena_alloc(g->arena, n, sizeof *g->gatherer_of);
    g->index_of = arena_alloc(g->arena, n, sizeof *g->index_of);
    if (!g->aggregators || !g->gatherer_of || !g->index_of)
        return err_set(e, ERR_USAGE, "%s: too large a training to run", g->geo.spec->file);
    if ((g->at.topology == SPEC_GEO_CENTRAL ? place_central(g, e) : place_hierarchy(g, e)) < 0)
        return -1;
    for (size_t i = 0; i < g->n_aggregators && !g->is_deployed; i++) {
        size_t before = 0;
        for (size_t k = 0; k < i; k++)
            before += g->aggregators[k].site == g->aggregators[i].site;
        if (place_address(g, &g->aggregators[i], before, e) < 0)
            return -1;
    }
    return 0;
}
