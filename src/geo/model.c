#include "geo/model.h"

#include "base/mem.h"
#include "base/money.h"
#include "base/number.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Larger objects have to be uploaded in parts of at most this, and no part but the last is smaller
 * than that, nor is a range of a download. */
#define PART_BYTES 5e9
#define PART_LEAST_BYTES (5 * 1048576.0)
/* A gradient is 4 bytes a value; int8 sends one, top-k a value and its index. */
#define INT8_SHARE 0.25
#define TOPK_BYTES_PER_BYTE 2
/* Machines are billed by the second, and a minute at least. */
#define VM_LEAST_S 60.0
/* So that 0.3 / 0.001 is 300 steps and not 301. */
#define STEP_SLACK 1e-9
/* Linux receives into 6 MiB by default, of which half is usable as window. */
#define WINDOW_BYTES (3 * 1048576.0)
/* Ten segments of 1460 bytes: the window a connection begins with (RFC 6928). */
#define FIRST_WINDOW_BYTES 14600.0
/* One round trip for TCP, one for TLS 1.3. */
#define HANDSHAKE_ROUND_TRIPS 2

/* ---- a transfer between two sites over TCP and TLS ---- */

double geo_link_rate(const struct geo_link *link,
                     const struct geo_store *store,
                     unsigned connections,
                     double machine_bytes_per_s)
{
    double one = fmin(WINDOW_BYTES / link->rtt_s, store->connection_bytes_per_s);

    return fmin(connections * one, fmin(link->bytes_per_s, machine_bytes_per_s));
}

double geo_link_handshake_s(const struct geo_link *link)
{
    return HANDSHAKE_ROUND_TRIPS * link->rtt_s;
}

double geo_link_slow_start_s(const struct geo_link *link,
                             double bytes,
                             double rate,
                             unsigned connections)
{
    double window = FIRST_WINDOW_BYTES * connections, full = rate * link->rtt_s, sent = 0;
    double flights = 0;

    while (window < full && sent < bytes) {
        sent += window;
        window *= 2;
        flights++;
    }
    /* Over before the window is full: a round trip for each flight. */
    return flights * link->rtt_s - fmin(sent, bytes) / rate;
}

double geo_link_request_s(const struct geo_link *link,
                          const struct geo_store *store,
                          double bytes,
                          unsigned connections,
                          double machine_bytes_per_s)
{
    double rate = geo_link_rate(link, store, connections, machine_bytes_per_s);

    return link->rtt_s + store->request_s + geo_link_slow_start_s(link, bytes, rate, connections) +
           bytes / rate;
}

/* ---- bills and sizes ---- */

double geo_bill_usd(const struct geo_bill *b)
{
    return b->vm_usd + b->faas_usd + b->requests_usd + b->storage_usd + b->transfer_usd;
}

double geo_merged_bytes(const struct geo_problem *p, size_t n)
{
    if (p->pace)
        return n > 1 ? p->pace->mean_bytes : p->pace->sent_bytes;
    switch (p->compression) {
    case SPEC_GEO_INT8:
        return p->size_bytes * INT8_SHARE;
    case SPEC_GEO_TOPK:
        /* Workers choose different values: their sum has as many as all of them together. */
        return fmin(p->size_bytes, TOPK_BYTES_PER_BYTE * p->topk * (double)n * p->size_bytes);
    case SPEC_GEO_PLAIN:
        break;
    }
    return p->size_bytes;
}

double geo_sent_bytes(const struct geo_problem *p)
{
    return geo_merged_bytes(p, 1);
}

/* ---- what is counted ---- */

struct tally {
    const struct geo_problem *p;
    struct geo_placement *out;
    bool is_possible;
};

static void add_move(struct tally *t, size_t from, size_t to, double bytes)
{
    const struct geo_link *link = geo_link(t->p, from, to);

    t->is_possible &= link->exists;
    t->out->bill.transfer_usd += bytes / GEO_BILLED_GB * link->usd_per_gb;
    if (from != to)
        t->out->counts.wan_bytes += bytes;
}

static void add_requests(struct tally *t, size_t site, double reads, double writes, double lists)
{
    const struct geo_store *store = &t->p->sites[site].store;
    double times = 1 + t->p->retries;

    t->out->counts.reads += reads * times;
    t->out->counts.writes += writes * times;
    t->out->counts.lists += lists * times;
    t->out->bill.requests_usd +=
        times *
        (reads * store->usd_per_read + writes * store->usd_per_write + lists * store->usd_per_list);
}

static void add_storage(struct tally *t, size_t site, double bytes, double seconds)
{
    t->out->bill.storage_usd += bytes / GEO_BILLED_GB * t->p->sites[site].store.usd_per_gb_month *
                                fmax(seconds, 0) / GEO_MONTH_S;
}

double geo_billed_s(const struct geo_function *f, double seconds)
{
    return ceil(seconds / f->step_s - STEP_SLACK) * f->step_s;
}

double geo_machine_s(double seconds)
{
    return fmax(ceil(seconds - STEP_SLACK), VM_LEAST_S);
}

/* n invocations of which one does the work; those that events cause twice only look. */
static void add_invocations(struct tally *t, size_t site, size_t n, double look_s, double work_s)
{
    const struct geo_function *f = &t->p->sites[site].function;
    double looks = (double)n * (1 + t->p->retries) - 1;
    /* Measured ones are means of what was billed. */
    double look_billed_s = t->p->pace ? look_s : geo_billed_s(f, look_s);
    double work_billed_s = t->p->pace ? work_s : geo_billed_s(f, work_s);

    t->out->counts.invocations += looks + 1;
    t->out->bill.faas_usd +=
        (looks * look_billed_s + work_billed_s) * f->usd_per_s + (looks + 1) * f->usd_per_request;
    t->out->cold_usd += (double)n * geo_billed_s(f, f->cold_s) * f->usd_per_s;
}

/* Connections that are of use. */
static unsigned streams(const struct geo_problem *p, double bytes)
{
    return (unsigned)fmax(1, fmin(p->connections, floor(bytes / PART_LEAST_BYTES)));
}

/* Requests that writing one object takes. */
static double write_requests(const struct geo_store *store, double bytes, unsigned connections)
{
    double parts = fmax(connections, ceil(bytes / PART_BYTES));

    return parts > 1 ? parts + store->multipart_requests : 1;
}

/* ---- one aggregator ---- */

/* n objects arrive at a store; the function that sees enough of them writes their mean to target.
 */
struct gathering {
    size_t function, store, target;
    const double *arrival_s, *in_bytes;
    size_t n, needed;
    double out_bytes;
    bool is_pushed; /* the mean goes elsewhere than to target: fan_out has it */
    bool is_region; /* not the one with the last word */
    /* The answers. */
    double barrier_s; /* enough have arrived */
    double done_s;    /* the mean is written */
};

static double arrival_of(const double *arrival_s, size_t n, size_t needed)
{
    double last_s = 0;

    for (size_t i = 0; i < n; i++)
        last_s = fmax(last_s, arrival_s[i]);
    if (needed == n)
        return last_s;
    AUTO_MEM double *sorted = mem_zero(n, sizeof *sorted);
    memcpy(sorted, arrival_s, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, number_compare);
    return sorted[needed - 1];
}

/* Of what is averaged. Fewer than all are needed only where all are of one size. */
static double needed_bytes(const struct gathering *g)
{
    double bytes = 0;

    for (size_t i = 0; i < g->needed; i++)
        bytes += g->in_bytes[i];
    return bytes;
}

/* Lists, reads what it needs over the same connection, averages, and writes. */
static double work_s(const struct tally *t, const struct gathering *g, double look_s)
{
    const struct geo_problem *p = t->p;
    const struct geo_store *store = &p->sites[g->store].store;
    const struct geo_link *in = geo_link(p, g->store, g->function);
    const struct geo_link *out = geo_link(p, g->function, g->target);
    double bytes = needed_bytes(g), rate = geo_link_rate(in, store, 1, (double)INFINITY);
    double read_s = (double)g->needed * (in->rtt_s + store->request_s) + bytes / rate +
                    geo_link_slow_start_s(in, bytes, rate, 1);
    double write_s =
        geo_link_request_s(out, &p->sites[g->target].store, g->out_bytes, 1, (double)INFINITY);

    if (g->target != g->store)
        write_s += geo_link_handshake_s(out);
    return look_s + read_s + bytes / p->average_bytes_per_s + write_s;
}

/* Within the limits of its platform. What was measured did fit. */
static bool fits(const struct geo_problem *p,
                 const struct geo_function *f,
                 double busy_s,
                 double out_bytes)
{
    if (p->pace)
        return true;
    return !f->is_too_large && (f->max_s <= 0 || busy_s <= f->max_s) &&
           (f->disk_bytes <= 0 || out_bytes <= f->disk_bytes);
}

static void gather(struct tally *t, struct gathering *g)
{
    const struct geo_problem *p = t->p;
    const struct geo_site *at = &p->sites[g->function];
    const struct geo_store *store = &p->sites[g->store].store;
    const struct geo_store *target = &p->sites[g->target].store;
    const struct geo_link *link = geo_link(p, g->function, g->store);
    double look_s = geo_link_handshake_s(link) + link->rtt_s + store->request_s;
    double n = (double)g->n;

    t->is_possible &= at->has_function && p->sites[g->store].has_store &&
                      p->sites[g->target].has_store && link->exists;
    double busy_s = work_s(t, g, look_s);
    if (p->pace) {
        look_s = p->pace->sites[g->function].look_s;
        busy_s = p->pace->sites[g->function].work_s;
    }
    t->is_possible &= fits(p, &at->function, busy_s, g->out_bytes);
    g->barrier_s = arrival_of(g->arrival_s, g->n, g->needed);
    g->done_s = g->barrier_s + at->function.trigger_s + busy_s;
    add_invocations(t, g->function, g->n, look_s, busy_s);
    add_requests(t, g->store, (double)g->needed, 0, n * ceil(n / store->keys_per_list));
    add_requests(t, g->store, 0, p->pace ? p->pace->claims : 0, 0);
    /* Others may be late: it lists once more, and a region writes "done" (fed/round.h). */
    if (p->pace && g->needed < g->n)
        add_requests(t, g->store, 0, g->is_region, ceil(n / store->keys_per_list));
    add_move(t, g->store, g->function, needed_bytes(g));
    if (!g->is_pushed) {
        add_requests(t, g->target, 0, write_requests(target, g->out_bytes, 1), 0);
        add_move(t, g->function, g->target, g->out_bytes);
    }
    for (size_t i = 0; i < g->n; i++)
        add_storage(t, g->store, g->in_bytes[i],
                    p->pace ? p->pace->sites[g->store].input_s : g->done_s - g->arrival_s[i]);
}

/* ---- one round ---- */

/* What a worker goes through. */
struct way {
    size_t upload_to, download_from;
    double upload_s, arrival_s;
    double aggregate_s;
    double ready_s; /* when the result can be read where it reads */
    double fan_s;   /* of that, from the global store to its region's */
    double download_s;
    bool counts; /* it is within the quorum */
};

struct round {
    struct tally t;
    struct way *ways;
    double done_s; /* the global result is written */
};

static void upload(struct round *r, size_t i, size_t store)
{
    const struct geo_problem *p = r->t.p;
    const struct geo_worker *w = &p->workers[i];
    const struct geo_link *link = geo_link(p, w->site, store);
    const struct geo_store *to = &p->sites[store].store;
    double bytes = geo_sent_bytes(p);
    struct way *way = &r->ways[i];

    way->upload_to = store;
    way->upload_s = geo_link_handshake_s(link) +
                    geo_link_request_s(link, to, bytes, streams(p, bytes), w->bytes_per_s);
    if (p->pace)
        way->upload_s = p->pace->workers[i].upload_s;
    way->arrival_s = w->train_s + way->upload_s;
    add_requests(&r->t, store, 0, write_requests(to, bytes, streams(p, bytes)), 0);
    add_move(&r->t, w->site, store, bytes);
}

/* Half a poll late on average; the connection is open from the polls before. */
static void download(struct round *r, size_t i, size_t store, double ready_s)
{
    const struct geo_problem *p = r->t.p;
    const struct geo_worker *w = &p->workers[i];
    const struct geo_link *link = geo_link(p, store, w->site);
    double bytes = geo_merged_bytes(p, p->n_workers);
    struct way *way = &r->ways[i];

    way->download_from = store;
    way->ready_s = ready_s;
    way->download_s = p->poll_s / 2 + geo_link_request_s(link, &p->sites[store].store, bytes,
                                                         streams(p, bytes), w->bytes_per_s);
    double polls = floor(fmax(ready_s - way->arrival_s, 0) / (p->poll_s + link->rtt_s));
    if (p->pace) {
        const struct geo_worker_pace *pace = &p->pace->workers[i];
        way->download_s = pace->download_s;
        polls = pace->polls;
    }
    r->t.out->counts.failed_polls += polls;
    add_requests(&r->t, store, streams(p, bytes) + polls, 0, 0);
    add_move(&r->t, store, w->site, bytes);
}

static size_t quorum_of(const struct geo_problem *p, size_t n)
{
    double needed = ceil(p->quorum * (double)n - STEP_SLACK);

    return needed < 1 ? 1 : (size_t)needed;
}

static void central(struct round *r)
{
    const struct geo_problem *p = r->t.p;
    struct geo_placement *out = r->t.out;
    AUTO_MEM double *arrival_s = mem_zero(p->n_workers, sizeof *arrival_s);
    AUTO_MEM double *in_bytes = mem_zero(p->n_workers, sizeof *in_bytes);

    for (size_t i = 0; i < p->n_workers; i++) {
        upload(r, i, out->store);
        arrival_s[i] = r->ways[i].arrival_s;
        in_bytes[i] = geo_sent_bytes(p);
    }
    struct gathering g = {
        .function = out->function,
        .store = out->store,
        .target = out->store,
        .arrival_s = arrival_s,
        .in_bytes = in_bytes,
        .n = p->n_workers,
        .needed = quorum_of(p, p->n_workers),
        .out_bytes = geo_merged_bytes(p, p->n_workers),
    };
    gather(&r->t, &g);
    r->done_s = g.done_s;
    out->cold_s = p->sites[out->function].function.cold_s;
    for (size_t i = 0; i < p->n_workers; i++) {
        struct way *way = &r->ways[i];
        way->aggregate_s = g.done_s - g.barrier_s;
        way->counts = way->arrival_s <= g.barrier_s;
        download(r, i, out->store, g.done_s);
    }
}

/* What arrives at the global store, of each region. */
struct mean {
    double arrival_s, bytes;
};

/* The workers of one site: into its own store, through its own function, to the global store. */
static struct mean gather_region(struct round *r, size_t site)
{
    const struct geo_problem *p = r->t.p;
    AUTO_MEM double *arrival_s = mem_zero(p->n_workers, sizeof *arrival_s);
    AUTO_MEM double *in_bytes = mem_zero(p->n_workers, sizeof *in_bytes);
    struct gathering g = {
        .function = site, .store = site, .target = r->t.out->store, .is_region = true};

    for (size_t i = 0; i < p->n_workers; i++)
        if (p->workers[i].site == site) {
            upload(r, i, site);
            in_bytes[g.n] = geo_sent_bytes(p);
            arrival_s[g.n++] = r->ways[i].arrival_s;
        }
    g.arrival_s = arrival_s;
    g.in_bytes = in_bytes;
    g.needed = quorum_of(p, g.n);
    g.out_bytes = p->pace && p->pace->sites[site].up_bytes > 0 ? p->pace->sites[site].up_bytes
                                                               : geo_merged_bytes(p, g.n);
    gather(&r->t, &g);
    r->t.out->cold_s = fmax(r->t.out->cold_s, p->sites[site].function.cold_s);
    for (size_t i = 0; i < p->n_workers; i++)
        if (p->workers[i].site == site) {
            r->ways[i].aggregate_s = g.done_s - g.barrier_s;
            r->ways[i].counts = r->ways[i].arrival_s <= g.barrier_s;
        }
    return (struct mean){g.done_s, g.out_bytes};
}

static size_t list_regions(const struct geo_problem *p, size_t *sites)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_workers; i++) {
        size_t k = 0;
        while (k < n && sites[k] != p->workers[i].site)
            k++;
        if (k == n)
            sites[n++] = p->workers[i].site;
    }
    return n;
}

static bool is_pushed(const struct geo_problem *p, const struct geo_placement *at)
{
    return p->pace && p->pace->pushed && at->topology == SPEC_GEO_FANOUT;
}

/* The result goes to the store of one region, for all of its workers. */
static void fan_out(struct round *r, size_t site)
{
    const struct geo_problem *p = r->t.p;
    /* Who pushes reads nothing back. */
    size_t global = is_pushed(p, r->t.out) ? r->t.out->function : r->t.out->store;
    const struct geo_link *link = geo_link(p, global, site);
    const struct geo_store *store = &p->sites[site].store;
    double bytes = geo_merged_bytes(p, p->n_workers);
    double fan_s =
        geo_link_handshake_s(link) + geo_link_request_s(link, store, bytes, 1, (double)INFINITY);

    add_move(&r->t, global, site, bytes);
    add_requests(&r->t, site, 0, write_requests(store, bytes, 1), 0);
    for (size_t i = 0; i < p->n_workers; i++)
        if (p->workers[i].site == site) {
            r->ways[i].fan_s = fan_s;
            download(r, i, site, r->done_s + fan_s);
        }
}

static void hierarchical(struct round *r)
{
    const struct geo_problem *p = r->t.p;
    struct geo_placement *out = r->t.out;
    AUTO_MEM size_t *regions = mem_zero(p->n_workers, sizeof *regions);
    AUTO_MEM double *arrival_s = mem_zero(p->n_workers, sizeof *arrival_s);
    AUTO_MEM double *in_bytes = mem_zero(p->n_workers, sizeof *in_bytes);
    size_t n_regions = list_regions(p, regions);

    for (size_t k = 0; k < n_regions; k++) {
        struct mean m = gather_region(r, regions[k]);
        arrival_s[k] = m.arrival_s;
        in_bytes[k] = m.bytes;
    }
    struct gathering g = {
        .function = out->function,
        .store = out->store,
        .target = out->store,
        .arrival_s = arrival_s,
        .in_bytes = in_bytes,
        .n = n_regions,
        .needed = n_regions,
        .out_bytes = geo_merged_bytes(p, p->n_workers),
        .is_pushed = is_pushed(p, out),
    };
    gather(&r->t, &g);
    r->done_s = g.done_s;
    out->cold_s += p->sites[out->function].function.cold_s;
    for (size_t i = 0; i < p->n_workers; i++)
        r->ways[i].aggregate_s += g.done_s - g.barrier_s;
    for (size_t k = 0; k < n_regions && out->topology == SPEC_GEO_FANOUT; k++)
        fan_out(r, regions[k]);
    for (size_t i = 0; i < p->n_workers && out->topology == SPEC_GEO_REGIONAL; i++)
        download(r, i, out->store, r->done_s);
}

/* It stays until the next one takes its place. */
static void add_result(struct round *r, size_t site)
{
    const struct geo_problem *p = r->t.p;

    add_storage(&r->t, site, geo_merged_bytes(p, p->n_workers),
                p->pace ? p->pace->sites[site].result_s : r->t.out->round_s);
}

/* The round ends when the last of the quorum has read; then phases and what time bills. */
static void close_round(struct round *r)
{
    const struct geo_problem *p = r->t.p;
    struct geo_placement *out = r->t.out;
    struct geo_phases *phases = &out->phases;
    double n = 0;

    for (size_t i = 0; i < p->n_workers; i++)
        if (r->ways[i].counts)
            out->round_s = fmax(out->round_s, r->ways[i].ready_s + r->ways[i].download_s);
    if (p->pace)
        out->round_s = p->pace->round_s;
    for (size_t i = 0; i < p->n_workers; i++) {
        const struct way *way = &r->ways[i];
        out->bill.vm_usd += p->workers[i].usd_per_hour * out->round_s / 3600;
        if (!way->counts)
            continue;
        n++;
        phases->train_s += p->workers[i].train_s;
        phases->upload_s += way->upload_s;
        phases->aggregate_s += way->aggregate_s;
        phases->download_s += way->fan_s + way->download_s;
    }
    assert(n > 0);
    phases->train_s /= n;
    phases->upload_s /= n;
    phases->aggregate_s /= n;
    phases->download_s /= n;
    phases->wait_s = out->round_s - phases->train_s - phases->upload_s - phases->aggregate_s -
                     phases->download_s;
    for (size_t i = 0; p->pace && i < p->n_sites; i++)
        add_requests(&r->t, i, p->pace->sites[i].met_reads, p->pace->sites[i].met_writes, 0);
    if (!is_pushed(p, out))
        add_result(r, out->store);
    if (out->topology != SPEC_GEO_FANOUT)
        return;
    AUTO_MEM size_t *regions = mem_zero(p->n_workers, sizeof *regions);
    size_t n_regions = list_regions(p, regions);
    for (size_t k = 0; k < n_regions; k++)
        add_result(r, regions[k]);
}

bool geo_evaluate(const struct geo_problem *p,
                  enum spec_geo_topology topology,
                  size_t function,
                  size_t store,
                  struct geo_placement *out)
{
    AUTO_MEM struct way *ways = mem_zero(p->n_workers, sizeof *ways);
    struct round r = {.t = {p, out, true}, .ways = ways};

    assert(topology != SPEC_GEO_ANY && p->n_workers > 0);
    *out = (struct geo_placement){.topology = topology, .function = function, .store = store};
    if (!p->sites[function].has_function || !p->sites[store].has_store)
        return false;
    for (size_t i = 0; i < p->n_workers && topology != SPEC_GEO_CENTRAL; i++) {
        const struct geo_site *site = &p->sites[p->workers[i].site];
        if (!site->has_function || !site->has_store)
            return false;
    }
    if (topology == SPEC_GEO_CENTRAL)
        central(&r);
    else
        hierarchical(&r);
    close_round(&r);
    return r.t.is_possible;
}

/* ---- the whole training ---- */

static double fetch_s(const struct geo_problem *p, const struct geo_worker *w)
{
    const struct geo_link *link = geo_link(p, w->data_site, w->site);
    const struct geo_site *at = &p->sites[w->data_site];
    /* Where no store is known the link alone holds it back. */
    const struct geo_store any = {.connection_bytes_per_s = link->bytes_per_s};

    if (!(w->data_bytes > 0))
        return 0;
    return geo_link_handshake_s(link) + geo_link_request_s(link, at->has_store ? &at->store : &any,
                                                           w->data_bytes, streams(p, w->data_bytes),
                                                           w->bytes_per_s);
}

static int to_money(double usd, int64_t *microusd_out, struct err *e)
{
    if (!(usd <= MONEY_MAX_USD / 5))
        return err_set(e, ERR_USAGE,
                       "the training costs more than $%g: fewer rounds, workers or bytes",
                       MONEY_MAX_USD / 5);
    *microusd_out = money_from_usd(usd);
    return 0;
}

static double times_fetched(const struct geo_problem *p, const struct geo_worker *w)
{
    return w->data_cached ? 1 : ceil(p->rounds / p->rounds_per_epoch);
}

double geo_data_usd(const struct geo_problem *p)
{
    double usd = 0;

    for (size_t i = 0; i < p->n_workers; i++) {
        const struct geo_worker *w = &p->workers[i];
        usd += times_fetched(p, w) * w->data_bytes / GEO_BILLED_GB *
               geo_link(p, w->data_site, w->site)->usd_per_gb;
    }
    return usd;
}

int geo_total(const struct geo_problem *p,
              const struct geo_placement *placement,
              struct geo_total *out,
              struct err *e)
{
    const struct geo_bill *bill = &placement->bill;
    double begin_s = 0, again_s = 0, usd_per_hour = 0;

    for (size_t i = 0; i < p->n_workers; i++) {
        const struct geo_worker *w = &p->workers[i];
        double once_s = fetch_s(p, w);
        begin_s = fmax(begin_s, w->boot_s + once_s);
        again_s = fmax(again_s, (times_fetched(p, w) - 1) * once_s);
        usd_per_hour += w->usd_per_hour;
    }
    out->time_s = begin_s + again_s + placement->cold_s + p->rounds * placement->round_s;
    double vm_s = geo_machine_s(out->time_s);
    if (to_money(usd_per_hour * vm_s / 3600, &out->vm_microusd, e) < 0 ||
        to_money(bill->faas_usd * p->rounds + placement->cold_usd, &out->faas_microusd, e) < 0 ||
        to_money(bill->requests_usd * p->rounds, &out->requests_microusd, e) < 0 ||
        to_money(bill->storage_usd * p->rounds, &out->storage_microusd, e) < 0 ||
        to_money(bill->transfer_usd * p->rounds + geo_data_usd(p), &out->transfer_microusd, e) < 0)
        return -1;
    out->total_microusd = out->vm_microusd + out->faas_microusd + out->requests_microusd +
                          out->storage_microusd + out->transfer_microusd;
    return 0;
}
