/* What may be chosen from: the file before the measurements before the catalog. */
#include "cluster/problem.h"

#include "base/csv.h"
#include "catalog/catalog.h"
#include "cluster/measured.h"
#include "spec/cluster.h"
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static struct catalog *catalog;

static struct cluster_problem *problem(const char *text,
                                       const struct cluster_measured *measured,
                                       struct err *e)
{
    AUTO(spec_cluster) struct spec_cluster *s = spec_cluster_parse("t", text, strlen(text), e);

    return s ? cluster_problem_new(s, catalog, measured, e) : NULL;
}

static const struct cluster_type *find(const struct cluster_type *types, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

static void by_place(void)
{
    struct err e = {0};
    AUTO(cluster_problem)
    struct cluster_problem *p =
        problem("place: aws/ap-southeast-1\nbudget: 2\nshare: 0.8\nwork: 10\n"
                "types: {vcpu: {mbps: 5, per_s: 0.5}, T4: {mbps: 90, per_s: 4},\n"
                "  c4.xlarge: {price: 0.2, mbps: 70}, own: {price: 1.5, mbps: 8, per_s: 1}}\n",
                NULL, &e);

    CHECK(p && p->n_places == 1 && p->budget_microusd == 2000000 && p->max_workers == 10000 &&
              p->share == 0.8 && p->work == 10,
          "one place, the budget in micro-dollars: %s", e.text);
    if (!p)
        return;
    const struct cluster_place *at = &p->places[0];
    const struct cluster_type *m4 = find(at->workers, at->n_workers, "m4.large");
    CHECK(m4 && m4->price_microusd == 125000 && m4->mbps == 10 && m4->per_s == 1,
          "the catalog's price, rates per vCPU");
    const struct cluster_type *c4 = find(at->workers, at->n_workers, "c4.xlarge");
    CHECK(c4 && c4->price_microusd == 200000 && c4->mbps == 70 && c4->per_s == 2,
          "what the file says of a type goes before, one by one");
    const struct cluster_type *gpu = find(at->workers, at->n_workers, "g4dn.12xlarge");
    CHECK(gpu && gpu->mbps == 360 && gpu->per_s == 16, "four T4 are four times one");
    CHECK(!find(at->servers, at->n_servers, "g4dn.12xlarge"), "which is no server unasked");
    CHECK(find(at->workers, at->n_workers, "own") && find(at->servers, at->n_servers, "own"),
          "a type that only the file prices");
    CHECK(find(at->workers, at->n_workers, "c5n.18xlarge") &&
              !find(at->servers, at->n_servers, "c5n.18xlarge"),
          "a server that leaves no money for a worker is none unasked");
    const struct cluster_type *wide = find(at->servers, at->n_servers, "c4.8xlarge");
    CHECK(wide && wide->network_mbps == 10000, "networks are the catalog's");
}

static void measured(void)
{
    static const char rows[] =
        "command,batch,type,mbps,per_s\nx,,m4.large,33,3\nx,,c4.xlarge,44,4\n";
    struct err e = {0};
    AUTO(csv) struct csv *csv = csv_from_memory("m", rows, strlen(rows));
    AUTO(cluster_measured) struct cluster_measured *m = cluster_measured_read(csv, "x", 0, &e);
    AUTO(cluster_problem)
    struct cluster_problem *p =
        problem("place: aws/ap-southeast-1\nbudget: 2\ntypes: {vcpu: {mbps: "
                "5, per_s: 1}, c4.xlarge: {mbps: 70, per_s: 7}}\n",
                m, &e);
    const struct cluster_place *at = p ? &p->places[0] : NULL;
    const struct cluster_type *m4 = at ? find(at->workers, at->n_workers, "m4.large") : NULL;
    const struct cluster_type *c4 = at ? find(at->workers, at->n_workers, "c4.xlarge") : NULL;

    CHECK(m4 && m4->mbps == 33 && m4->per_s == 3, "what was measured goes before rates per vCPU");
    CHECK(c4 && c4->mbps == 70 && c4->per_s == 7, "and the file before what was measured");
}

static void alone(void)
{
    struct err e = {0};
    AUTO(cluster_problem)
    struct cluster_problem *p = problem("server: {type: s}\nworkers: {type: w, max: 3}\n"
                                        "types: {s: {price: 1}, w: {price: 2}, x: {price: 9}}\n",
                                        NULL, &e);

    CHECK(p && p->n_places == 1 && !p->places[0].cloud && p->places[0].n_servers == 1 &&
              p->places[0].n_workers == 1 && p->max_workers == 3 && p->budget_microusd == INT64_MAX,
          "a file that prices all it names needs no catalog: %s", e.text);
    AUTO(cluster_problem) struct cluster_problem *all = problem("budget: 2\n", NULL, &e);
    CHECK(all && all->n_places == catalog->n_places, "without a place, all of them");
}

int main(void)
{
    struct err e = {0};

    catalog = catalog_open("/nonexistent", &e);
    CHECK(catalog, "the built-in catalog");
    by_place();
    measured();
    alone();
    catalog_free(catalog);
    return TAP_DONE();
}
