/* geo_paper: the two trainings of "Towards Geo-Distributed Training of ML Models in a Multi-Cloud
 * Environment" (ICPE 2024 Companion) in its 48 cells each, and what the paper says of them beside
 * what comes out here. Its figures have no numbers, so its statements are what can be held against
 * ours. */
#include "base/buf.h"
#include "base/mem.h"
#include "cli/geo/geo_parts.h"
#include "geo/facts.h"
#include "geo/link.h"
#include "view/table.h"

#include <math.h>
#include <string.h>

enum { CITIES = 4, WORKER_CLOUDS = 3, COMBOS = 4, CASES = 2, MUMBAI = 0, LONDON = 1, OREGON = 2 };
enum { AWS, AZURE, GCP };
enum { LAMBDA_S3, LAMBDA_GCS, GCF_S3, GCF_GCS };
enum { S3, GCS, STORES };
#define MAX_STATEMENTS 16

static const char *const cities[CITIES] = {"Mumbai", "London", "Oregon", "Sydney"};
static const char *const clouds[WORKER_CLOUDS] = {"aws", "azure", "gcp"};
static const char *const regions[WORKER_CLOUDS][CITIES] = {
    [AWS] = {"ap-south-1", "eu-west-2", "us-west-2", "ap-southeast-2"},
    [AZURE] = {"centralindia", "uksouth", "westus2", "australiaeast"},
    [GCP] = {"asia-south1", "europe-west2", "us-west1", "australia-southeast1"},
};
static const struct {
    const char *name;
    int function, store;
} combos[COMBOS] = {
    [LAMBDA_S3] = {"Lambda + S3", AWS, AWS},
    [LAMBDA_GCS] = {"Lambda + GCS", AWS, GCP},
    [GCF_S3] = {"GCF + S3", GCP, AWS},
    [GCF_GCS] = {"GCF + GCS", GCP, GCP},
};
static const struct {
    const char *name;
    int cloud;
} stores[STORES] = {[S3] = {"S3", AWS}, [GCS] = {"GCS", GCP}};
/* The paper gives the gradients' sizes; the time of a mini-batch only as about 14 s in all. */
static const struct {
    const char *name, *size;
} cases[CASES] = {{"NISER", "17MB"}, {"sentiment analysis", "49MB"}};
#define TRAIN_S "9"

struct statement {
    const char *paper;
    bool agrees;
    char here[120];
};

struct paper {
    const struct geo_world *w;
    struct geo_placement cells[CASES][WORKER_CLOUDS][COMBOS][CITIES];
    /* Of an upload of NISER's gradient: from a cloud's machine in a city to a store in a city. */
    double mbps[WORKER_CLOUDS][CITIES][STORES][CITIES];
    struct statement statements[MAX_STATEMENTS];
    size_t n_statements;
};

/* ---- the cells ---- */

/* Workers of one cloud, so many in each city. */
static struct geo_problem *problem_of(
    const struct paper *p, int use, int cloud, unsigned per_city, struct err *e)
{
    AUTO(spec_geo) struct spec_geo *spec = spec_geo_new(cases[use].name);
    AUTO_CLEAR(buf) struct buf places;

    buf_init(&places, 4096);
    for (unsigned i = 0; i < per_city * CITIES; i++)
        buf_printf(&places, "%s%s:%s", i ? "," : "", clouds[cloud], regions[cloud][i % CITIES]);
    if (spec_geo_set_workers(spec, buf_str(&places), e) < 0 ||
        spec_geo_set(spec, "model.size", cases[use].size, e) < 0 ||
        spec_geo_set(spec, "train.seconds", TRAIN_S, e) < 0)
        return NULL;
    return geo_problem_new(spec, p->w->catalog, p->w->facts, p->w->config, e);
}

static size_t site_at(const struct geo_problem *problem, int cloud, int city)
{
    size_t i = 0;

    while (i < problem->n_sites && (strcmp(problem->sites[i].cloud, clouds[cloud]) != 0 ||
                                    strcmp(problem->sites[i].region, regions[cloud][city]) != 0))
        i++;
    return i;
}

static int evaluate_at(const struct geo_problem *problem,
                       enum spec_geo_topology topology,
                       int combo,
                       int city,
                       struct geo_placement *out,
                       struct err *e)
{
    size_t function = site_at(problem, combos[combo].function, city);
    size_t store = site_at(problem, combos[combo].store, city);

    if (function == problem->n_sites || store == problem->n_sites ||
        !geo_evaluate(problem, topology, function, store, out))
        return err_set(e, ERR_NOFIT, "%s in %s: the catalog in use has no price for it",
                       combos[combo].name, cities[city]);
    return 0;
}

/* Bytes per second of one worker's upload, connection and all. */
static double upload_rate(const struct geo_problem *p, const struct geo_worker *w, size_t store)
{
    const struct geo_link *link = geo_link(p, w->site, store);
    double request_s = geo_link_request_s(link, &p->sites[store].store, p->size_bytes,
                                          p->connections, w->bytes_per_s);

    return p->size_bytes / (geo_link_handshake_s(link) + request_s);
}

static int fill_bandwidths(struct paper *p, struct err *e)
{
    for (int cloud = 0; cloud < WORKER_CLOUDS; cloud++) {
        AUTO(geo_problem) struct geo_problem *problem = problem_of(p, 0, cloud, 1, e);
        if (!problem)
            return -1;
        for (int i = 0; i < CITIES * STORES * CITIES; i++) {
            int from = i / (STORES * CITIES), kind = i / CITIES % STORES, to = i % CITIES;
            size_t store = site_at(problem, stores[kind].cloud, to);
            if (store == problem->n_sites)
                return err_set(e, ERR_NOFIT, "%s in %s: the catalog in use has no price for it",
                               stores[kind].name, cities[to]);
            p->mbps[cloud][from][kind][to] =
                upload_rate(problem, &problem->workers[from], store) * 8 / 1e6;
        }
    }
    return 0;
}

static int fill_cells(struct paper *p, struct err *e)
{
    for (int use = 0; use < CASES; use++)
        for (int cloud = 0; cloud < WORKER_CLOUDS; cloud++) {
            AUTO(geo_problem) struct geo_problem *problem = problem_of(p, use, cloud, 1, e);
            if (!problem)
                return -1;
            for (int combo = 0; combo < COMBOS; combo++)
                for (int city = 0; city < CITIES; city++)
                    if (evaluate_at(problem, SPEC_GEO_CENTRAL, combo, city,
                                    &p->cells[use][cloud][combo][city], e) < 0)
                        return -1;
        }
    return 0;
}

static double usd_of(const struct geo_placement *c)
{
    return geo_bill_usd(&c->bill);
}

static double s_of(const struct geo_placement *c)
{
    return c->round_s;
}

struct cell_name {
    int cloud, combo, city;
};

static struct cell_name least(const struct paper *p,
                              int use,
                              double (*figure)(const struct geo_placement *))
{
    struct cell_name best = {0, 0, 0};

    for (int i = 0; i < WORKER_CLOUDS * COMBOS * CITIES; i++) {
        struct cell_name at = {i / (COMBOS * CITIES), i / CITIES % COMBOS, i % CITIES};
        if (figure(&p->cells[use][at.cloud][at.combo][at.city]) <
            figure(&p->cells[use][best.cloud][best.combo][best.city]))
            best = at;
    }
    return best;
}

/* ---- the statements ---- */

static struct statement *add(struct paper *p, const char *paper, bool agrees)
{
    struct statement *s = &p->statements[p->n_statements++];

    s->paper = paper;
    s->agrees = agrees;
    return s;
}

static void state_least(struct paper *p)
{
    struct cell_name cheap[CASES], fast[CASES];

    for (int use = 0; use < CASES; use++) {
        cheap[use] = least(p, use, usd_of);
        fast[use] = least(p, use, s_of);
    }
    bool cheap_agrees = true, fast_agrees = true;
    for (int use = 0; use < CASES; use++) {
        cheap_agrees &=
            cheap[use].cloud == AWS && cheap[use].combo == LAMBDA_S3 && cheap[use].city == OREGON;
        fast_agrees &=
            fast[use].cloud == GCP && fast[use].combo == LAMBDA_S3 && fast[use].city == MUMBAI;
    }
    struct statement *s = add(
        p, "least cost: workers at AWS, Lambda + S3 in Oregon, in both trainings", cheap_agrees);
    snprintf(s->here, sizeof s->here, "%s, %s in %s; %s, %s in %s", clouds[cheap[0].cloud],
             combos[cheap[0].combo].name, cities[cheap[0].city], clouds[cheap[1].cloud],
             combos[cheap[1].combo].name, cities[cheap[1].city]);
    s = add(p, "least time: workers at GCP, Lambda + S3 in Mumbai, in both trainings", fast_agrees);
    snprintf(s->here, sizeof s->here, "%s, %s in %s; %s, %s in %s", clouds[fast[0].cloud],
             combos[fast[0].combo].name, cities[fast[0].city], clouds[fast[1].cloud],
             combos[fast[1].combo].name, cities[fast[1].city]);
}

/* Section 6.1, of Fig. 4. */
static void state_bandwidths(struct paper *p)
{
    double within = (double)INFINITY, between = 0;
    int far_s3 = 0, far_of = 0, near_s3 = 0, near_of = 0;

    for (int i = 0; i < WORKER_CLOUDS * CITIES * CITIES; i++) {
        int from = i / CITIES % CITIES, to = i % CITIES;
        double(*at)[CITIES] = p->mbps[i / (CITIES * CITIES)][from];
        bool s3_is_faster = at[S3][to] > at[GCS][to];
        far_of += from != to;
        near_of += from == to;
        far_s3 += from != to && s3_is_faster;
        near_s3 += from == to && s3_is_faster;
        for (int kind = 0; kind < STORES && from == to; kind++)
            within = fmin(within, at[kind][to]);
        for (int kind = 0; kind < STORES && from != to; kind++)
            between = fmax(between, at[kind][to]);
    }
    struct statement *s =
        add(p, "uploads within a city are faster than between cities (Fig. 4)", within > between);
    snprintf(s->here, sizeof s->here, "%.0f Mbit/s at least within one, %.0f at most between two",
             within, between);
    s = add(p, "between cities S3 is faster than GCS, from any cloud (Fig. 4)", far_s3 == far_of);
    snprintf(s->here, sizeof s->here, "in %d of %d", far_s3, far_of);
    s = add(p, "within a city S3 is faster than GCS in most cases (Fig. 4)", 2 * near_s3 > near_of);
    snprintf(s->here, sizeof s->here, "in %d of %d", near_s3, near_of);
}

static void state_total(struct paper *p)
{
    double low = (double)INFINITY, high = 0, aws = 0, gcp = 0;

    for (int city = 0; city < CITIES; city++) {
        double s = s_of(&p->cells[0][GCP][GCF_GCS][city]);
        low = fmin(low, s);
        high = fmax(high, s);
        gcp += s / CITIES;
        aws += s_of(&p->cells[0][AWS][LAMBDA_S3][city]) / CITIES;
    }
    struct statement *s =
        add(p, "all at GCP: about 14 s whatever the region (Fig. 5a)", low >= 13 && high <= 15);
    snprintf(s->here, sizeof s->here, "%.1f to %.1f s, of which %s s of training are assumed", low,
             high, TRAIN_S);
    s = add(p, "all at AWS takes least, all at GCP most (Fig. 5)", aws < gcp);
    snprintf(s->here, sizeof s->here, "%.1f s at AWS, %.1f s at GCP, mean of the cities", aws, gcp);
}

static void state_wait(struct paper *p)
{
    const struct geo_phases *f = &p->cells[0][GCP][GCF_GCS][LONDON].phases;
    struct statement *s =
        add(p, "waiting is the longest phase, then sending (Fig. 5)",
            f->wait_s > f->train_s && f->wait_s > f->upload_s && f->wait_s > f->aggregate_s);

    snprintf(s->here, sizeof s->here,
             "train %.1f, upload %.1f, wait %.1f, aggregate %.1f, download %.1f s", f->train_s,
             f->upload_s, f->wait_s, f->aggregate_s, f->download_s);
}

static void state_gcp_slower(struct paper *p)
{
    int slower = 0, of = 0;

    for (int i = 0; i < CASES * WORKER_CLOUDS * CITIES; i++) {
        struct geo_placement(*row)[CITIES] =
            p->cells[i / (WORKER_CLOUDS * CITIES)][i / CITIES % WORKER_CLOUDS];
        of++;
        slower += s_of(&row[GCF_GCS][i % CITIES]) > s_of(&row[LAMBDA_S3][i % CITIES]);
    }
    struct statement *s = add(p, "GCF + GCS is slower in most cases", 2 * slower > of);
    snprintf(s->here, sizeof s->here, "slower than Lambda + S3 in %d of %d", slower, of);
}

static void state_same_cloud(struct paper *p)
{
    int cheaper = 0, of = 0;

    for (int use = 0; use < CASES; use++)
        for (int city = 0; city < CITIES; city++) {
            struct geo_placement(*aws)[CITIES] = p->cells[use][AWS];
            struct geo_placement(*gcp)[CITIES] = p->cells[use][GCP];
            of += 2;
            cheaper += usd_of(&aws[LAMBDA_S3][city]) < usd_of(&aws[GCF_GCS][city]);
            cheaper += usd_of(&gcp[GCF_GCS][city]) < usd_of(&gcp[LAMBDA_S3][city]);
        }
    struct statement *s =
        add(p, "workers, function and store of one cloud cost least", 2 * cheaper > of);
    snprintf(s->here, sizeof s->here, "cheaper than function and store of the other in %d of %d",
             cheaper, of);
}

static int state_hierarchy(struct paper *p, struct err *e)
{
    for (unsigned per_city = 1; per_city <= 2; per_city++) {
        AUTO(geo_problem) struct geo_problem *problem = problem_of(p, 0, AWS, per_city, e);
        struct geo_placement one = {0}, levels = {0};
        if (!problem || evaluate_at(problem, SPEC_GEO_CENTRAL, LAMBDA_S3, LONDON, &one, e) < 0 ||
            evaluate_at(problem, SPEC_GEO_REGIONAL, LAMBDA_S3, LONDON, &levels, e) < 0)
            return -1;
        double more = (usd_of(&one) / usd_of(&levels) - 1) * 100;
        double apart =
            ((usd_of(&one) - one.bill.vm_usd) / (usd_of(&levels) - levels.bill.vm_usd) - 1) * 100;
        struct statement *s = add(
            p,
            per_city == 1 ? "London, AWS: central costs 50 % more than regional (Fig. 8)"
                          : "with two workers in each city: central costs 50 % more than regional",
            apart > 40 && apart < 60);
        snprintf(s->here, sizeof s->here, "%+.0f %% without the machines, %+.0f %% with them",
                 apart, more);
        if (per_city > 1)
            continue;
        s = add(p, "one aggregator is faster than regional ones and a global one (Fig. 8)",
                one.round_s < levels.round_s);
        snprintf(s->here, sizeof s->here, "%.1f s against %.1f s", one.round_s, levels.round_s);
    }
    return 0;
}

/* ---- the tables ---- */

static void print_case(const struct paper *p, int use, const struct text_look *look)
{
    struct table_column columns[2 + CITIES] = {{.title = "workers"}, {.title = "aggregator"}};

    for (int city = 0; city < CITIES; city++)
        columns[2 + city] = (struct table_column){.title = cities[city], .right = true};
    AUTO(table) struct table *t = table_new(columns, 2 + CITIES);
    for (int cloud = 0; cloud < WORKER_CLOUDS; cloud++) {
        if (cloud)
            table_rule(t);
        for (int combo = 0; combo < COMBOS; combo++) {
            table_put(t, combo ? "" : clouds[cloud]);
            table_put(t, combos[combo].name);
            for (int city = 0; city < CITIES; city++) {
                const struct geo_placement *c = &p->cells[use][cloud][combo][city];
                table_printf(t, "$%.6f %5.2f s", usd_of(c), s_of(c));
            }
        }
    }
    printf("%s: %s a gradient, %s s of training, one worker in each city; per mini-batch\n",
           cases[use].name, cases[use].size, TRAIN_S);
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
    printf("\n");
}

static void print_bandwidths(const struct paper *p, const struct text_look *look)
{
    struct table_column columns[2 + STORES * CITIES] = {{.title = "from"}, {.title = ""}};
    char titles[STORES * CITIES][32];

    for (int i = 0; i < STORES * CITIES; i++) {
        snprintf(titles[i], sizeof *titles, "%s%s%s", i % CITIES ? "" : stores[i / CITIES].name,
                 i % CITIES ? "" : " ", cities[i % CITIES]);
        columns[2 + i] = (struct table_column){.title = titles[i], .right = true};
    }
    AUTO(table) struct table *t = table_new(columns, 2 + STORES * CITIES);
    for (int i = 0; i < WORKER_CLOUDS * CITIES; i++) {
        int cloud = i / CITIES, from = i % CITIES;
        if (cloud && !from)
            table_rule(t);
        table_put(t, from ? "" : clouds[cloud]);
        table_put(t, cities[from]);
        for (int k = 0; k < STORES * CITIES; k++)
            table_printf(t, "%.1f", p->mbps[cloud][from][k / CITIES][k % CITIES]);
    }
    printf("Mbit/s of an upload of %s, from the first byte of its connection on (Fig. 4)\n",
           cases[0].size);
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
    printf("\n");
}

static void print_all(const struct paper *p)
{
    const struct text_look look = text_look_for(stdout);

    for (int use = 0; use < CASES; use++)
        print_case(p, use, &look);
    print_bandwidths(p, &look);
    printf("What the paper says, and what comes out here\n");
    for (size_t i = 0; i < p->n_statements; i++)
        printf("%-9s  %s\n           here: %s\n", p->statements[i].agrees ? "agrees" : "differs",
               p->statements[i].paper, p->statements[i].here);
}

static json_t *cell_json(const struct paper *p, int use, struct cell_name at)
{
    const struct geo_placement *c = &p->cells[use][at.cloud][at.combo][at.city];

    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "training", cases[use].name, "workers",
                     clouds[at.cloud], "aggregator", combos[at.combo].name, "city", cities[at.city],
                     "cost_usd_per_round", json_number(usd_of(c)), "time_s_per_round",
                     json_number(s_of(c)));
}

static json_t *bandwidths_json(const struct paper *p)
{
    json_t *all = json_array();

    for (int i = 0; i < WORKER_CLOUDS * CITIES * STORES * CITIES; i++) {
        int cloud = i / (CITIES * STORES * CITIES), from = i / (STORES * CITIES) % CITIES;
        int kind = i / CITIES % STORES, to = i % CITIES;
        json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:o}", "workers", clouds[cloud],
                                             "from", cities[from], "store", stores[kind].name, "to",
                                             cities[to], "mbps",
                                             json_number(p->mbps[cloud][from][kind][to])));
    }
    return all;
}

static int write_all(const struct paper *p, struct err *e)
{
    json_t *cells = json_array(), *statements = json_array();
    AUTO_JSON json_t *o = json_pack("{s:o, s:o, s:o}", "cells", cells, "bandwidths",
                                    bandwidths_json(p), "statements", statements);

    for (int use = 0; use < CASES; use++)
        for (int i = 0; i < WORKER_CLOUDS * COMBOS * CITIES; i++) {
            struct cell_name at = {i / (COMBOS * CITIES), i / CITIES % COMBOS, i % CITIES};
            json_array_append_new(cells, cell_json(p, use, at));
        }
    for (size_t i = 0; i < p->n_statements; i++)
        json_array_append_new(
            statements, json_pack("{s:s, s:b, s:s}", "paper", p->statements[i].paper, "agrees",
                                  p->statements[i].agrees, "here", p->statements[i].here));
    return json_write(stdout, o, e);
}

int geo_paper(const struct geo_world *w, bool json, struct err *e)
{
    AUTO_MEM struct paper *p = mem_zero(1, sizeof *p);

    p->w = w;
    if (fill_cells(p, e) < 0 || fill_bandwidths(p, e) < 0)
        return -1;
    state_bandwidths(p);
    state_least(p);
    state_total(p);
    state_wait(p);
    state_gcp_slower(p);
    state_same_cloud(p);
    if (state_hierarchy(p, e) < 0)
        return -1;
    if (json)
        return write_all(p, e);
    print_all(p);
    return 0;
}
