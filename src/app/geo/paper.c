/* paper: the operation geo.paper, which `tradewind geo plan --paper` calls: the two trainings of
 * "Towards Geo-Distributed Training of ML Models in a Multi-Cloud Environment" (ICPE 2024
 * Companion) in its 48 cells each, and its statements beside the results of the model. The paper's
 * figures have no numbers, so that only statements can be compared. */
#include "app/geo/geo.h"
#include "base/buf.h"
#include "base/mem.h"
#include "geo/facts.h"

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
#define NISER_SIZE "17MB"
#define SENTIMENT_SIZE "49MB"
/* The paper gives the gradients' sizes; the time of a mini-batch only as about 14 s in all. */
static const struct {
    const char *name, *size;
} cases[CASES] = {{"NISER", NISER_SIZE}, {"sentiment analysis", SENTIMENT_SIZE}};
#define TRAIN_S "9"

struct statement {
    const char *paper;
    bool agrees;
    char here[120];
};

struct paper {
    const struct app_geo *prices;
    struct geo_placement cells[CASES][WORKER_CLOUDS][COMBOS][CITIES];
    /* Of an upload of NISER's gradient: from a cloud's machine in a city to a store in a city. */
    double mbps[WORKER_CLOUDS][CITIES][STORES][CITIES];
    struct statement statements[MAX_STATEMENTS];
    size_t n_statements;
};

/* ---- the cells ---- */

/* Workers of one cloud, per_city in each city. */
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
    return geo_problem_new(spec, p->prices->catalog, p->prices->facts, p->prices->config, e);
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

/* ---- the answer ---- */

/* clang-format off */
#define CELL(TYPE, member) FIELD(TYPE, struct app_geo_paper_cell, member)
static const struct field cell_fields[] = {
    {"training", CELL(TEXT, training), .help = "Training of the paper."},
    {"workers", CELL(TEXT, workers), .help = "Cloud of the workers."},
    {"aggregator", CELL(TEXT, aggregator), .help = "Function and store."},
    {"city", CELL(TEXT, city), .help = "City of the aggregator."},
    {"cost_usd_per_round", CELL(REAL, cost_usd), .unit = "USD", .help = "Cost of a mini-batch."},
    {"time_s_per_round", CELL(DURATION, time_s), .unit = "s", .help = "Time of a mini-batch."},
};
static const struct record cell_record =
    RECORD("geo_paper_cell", struct app_geo_paper_cell, cell_fields);

#define UPLOAD(TYPE, member) FIELD(TYPE, struct app_geo_paper_upload, member)
static const struct field upload_fields[] = {
    {"workers", UPLOAD(TEXT, workers), .help = "Cloud of the worker."},
    {"from", UPLOAD(TEXT, from), .help = "City of the worker."},
    {"store", UPLOAD(TEXT, store), .help = "Store."},
    {"to", UPLOAD(TEXT, to), .help = "City of the store."},
    {"mbps", UPLOAD(REAL, mbps), .unit = "Mbit/s", .help = "Rate of an upload."},
};
static const struct record upload_record =
    RECORD("geo_paper_upload", struct app_geo_paper_upload, upload_fields);

#define STATEMENT(TYPE, member) FIELD(TYPE, struct app_geo_paper_statement, member)
static const struct field statement_fields[] = {
    {"paper", STATEMENT(TEXT, paper), .help = "Statement of the paper."},
    {"agrees", STATEMENT(BOOL, agrees), .help = "Whether the model agrees."},
    {"here", STATEMENT(TEXT, here), .help = "Result of the model."},
};
static const struct record statement_record =
    RECORD("geo_paper_statement", struct app_geo_paper_statement, statement_fields);

#define PAPER(TYPE, member) FIELD(TYPE, struct app_geo_paper, member)
static const struct field paper_fields[] = {
    {"cells", PAPER(RECORDS, cells), .record = &cell_record, .help = "Cells of the paper's tables."},
    {"bandwidths", PAPER(RECORDS, uploads), .record = &upload_record, .help = "Rates of uploads."},
    {"statements", PAPER(RECORDS, statements), .record = &statement_record,
     .help = "Statements of the paper."},
    {"sizes", PAPER(LIST, sizes), .help = "Size of a gradient in each training."},
    {"train_s", PAPER(TEXT, train_s), .unit = "s",
     .help = "Training time of a worker per mini-batch."},
    {"trainings", PAPER(COUNT, trainings), .help = "Number of trainings."},
    {"clouds", PAPER(COUNT, clouds), .help = "Number of clouds of the workers."},
    {"aggregators", PAPER(COUNT, aggregators), .help = "Number of aggregators."},
    {"stores", PAPER(COUNT, stores), .help = "Number of stores."},
    {"cities", PAPER(COUNT, cities), .help = "Number of cities."},
};
/* clang-format on */

static int put_cells(const struct paper *p,
                     struct answer *a,
                     struct field_records *out,
                     struct err *e)
{
    size_t n = CASES * WORKER_CLOUDS * COMBOS * CITIES;
    struct app_geo_paper_cell *items = answer_alloc(a, n, sizeof *items, e);

    for (size_t i = 0; items && i < n; i++) {
        size_t use = i / (WORKER_CLOUDS * COMBOS * CITIES);
        size_t cloud = i / (COMBOS * CITIES) % WORKER_CLOUDS;
        size_t combo = i / CITIES % COMBOS, city = i % CITIES;
        const struct geo_placement *c = &p->cells[use][cloud][combo][city];
        items[i] = (struct app_geo_paper_cell){cases[use].name, clouds[cloud], combos[combo].name,
                                               cities[city],    usd_of(c),     s_of(c)};
    }
    *out = (struct field_records){items, n};
    return items ? 0 : -1;
}

static int put_uploads(const struct paper *p,
                       struct answer *a,
                       struct field_records *out,
                       struct err *e)
{
    size_t n = WORKER_CLOUDS * CITIES * STORES * CITIES;
    struct app_geo_paper_upload *items = answer_alloc(a, n, sizeof *items, e);

    for (size_t i = 0; items && i < n; i++) {
        size_t cloud = i / (CITIES * STORES * CITIES), from = i / (STORES * CITIES) % CITIES;
        size_t store = i / CITIES % STORES, to = i % CITIES;
        items[i] = (struct app_geo_paper_upload){clouds[cloud], cities[from], stores[store].name,
                                                 cities[to], p->mbps[cloud][from][store][to]};
    }
    *out = (struct field_records){items, n};
    return items ? 0 : -1;
}

static int put_statements(const struct paper *p,
                          struct answer *a,
                          struct field_records *out,
                          struct err *e)
{
    struct app_geo_paper_statement *items = answer_alloc(a, p->n_statements, sizeof *items, e);

    for (size_t i = 0; items && i < p->n_statements; i++)
        items[i] = (struct app_geo_paper_statement){p->statements[i].paper, p->statements[i].agrees,
                                                    p->statements[i].here};
    *out = (struct field_records){items, p->n_statements};
    return items ? 0 : -1;
}

/* ---- the operation ---- */

static int state_all(struct paper *p, struct err *e)
{
    if (fill_cells(p, e) < 0 || fill_bandwidths(p, e) < 0)
        return -1;
    state_bandwidths(p);
    state_least(p);
    state_total(p);
    state_wait(p);
    state_gcp_slower(p);
    state_same_cloud(p);
    return state_hierarchy(p, e);
}

struct paper_request {
    const char *catalog;
};

static int run_paper(struct app *app, const void *request, struct answer *out, struct err *e)
{
    static const char *const sizes[CASES] = {NISER_SIZE, SENTIMENT_SIZE};
    const struct paper_request *q = request;
    AUTO_CLEAR(app_geo) struct app_geo g = {0};
    AUTO_MEM struct paper *p = mem_zero(1, sizeof *p);
    struct app_geo_paper answer = {.sizes = {sizes, CASES},
                                   .train_s = TRAIN_S,
                                   .trainings = CASES,
                                   .clouds = WORKER_CLOUDS,
                                   .aggregators = COMBOS,
                                   .stores = STORES,
                                   .cities = CITIES};

    p->prices = &g;
    if (app_geo_open_prices(&g, app, q->catalog, e) < 0 || state_all(p, e) < 0 ||
        put_cells(p, out, &answer.cells, e) < 0 || put_uploads(p, out, &answer.uploads, e) < 0 ||
        put_statements(p, out, &answer.statements, e) < 0)
        return -1;
    return answer_head(out, &answer, e);
}

static const struct field request_fields[] = {
    {"catalog", FIELD(TEXT, struct paper_request, catalog), .is_local = true, .value = "DIR",
     .help = "Plan with the CSV files in this directory instead of the catalog in use."},
};

const struct operation geo_paper_operation = {
    .name = "geo.paper",
    .summary = "Plan the trainings of the paper that the model comes from, and compare statements.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct paper_request, request_fields),
    .answer = RECORD_AT("geo_paper", struct app_geo_paper, paper_fields),
    .run = run_paper,
};
