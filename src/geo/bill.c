#include "geo/bill.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the events cost ---- */

static void add_requests(const struct geo_problem *p,
                         const struct geo_event *v,
                         struct geo_account *a)
{
    const struct geo_store *at = &p->sites[v->kind == GEO_EVENT_PUT ? v->to : v->from].store;
    double rate = at->usd_per_read;

    if (v->kind == GEO_EVENT_PUT) {
        a->counts.writes += v->requests;
        rate = at->usd_per_write;
    } else if (v->kind == GEO_EVENT_LIST) {
        a->counts.lists += v->requests;
        rate = at->usd_per_list;
    } else {
        a->counts.reads += v->requests;
        a->counts.failed_polls += v->kind == GEO_EVENT_POLL ? v->requests : 0;
    }
    a->usd.requests_usd += v->requests * rate;
}

static void add_move(const struct geo_problem *p, const struct geo_event *v, struct geo_account *a)
{
    a->usd.transfer_usd += v->bytes / GEO_BILLED_GB * geo_link(p, v->from, v->to)->usd_per_gb;
    if (v->from != v->to)
        a->counts.wan_bytes += v->bytes;
}

/* From then until the end; a delete takes back what is left of it. */
static void add_storage(const struct geo_problem *p,
                        const struct geo_event *v,
                        double end_s,
                        struct geo_account *a)
{
    double gb_months = v->bytes / GEO_BILLED_GB * (end_s - v->end_s) / GEO_MONTH_S;

    a->usd.storage_usd += (v->kind == GEO_EVENT_PUT ? gb_months : -gb_months) *
                          p->sites[v->to].store.usd_per_gb_month;
}

static void add_invocation(const struct geo_problem *p,
                           const struct geo_event *v,
                           struct geo_account *a)
{
    const struct geo_function *f = &p->sites[v->from].function;

    a->counts.invocations++;
    a->usd.faas_usd += geo_billed_s(f, v->end_s - v->start_s) * f->usd_per_s + f->usd_per_request;
}

static void add_cost(const struct geo_problem *p,
                     const struct geo_event *v,
                     double end_s,
                     struct geo_account *a)
{
    switch (v->kind) {
    case GEO_EVENT_PUT:
        add_storage(p, v, end_s, a);
        add_requests(p, v, a);
        add_move(p, v, a);
        break;
    case GEO_EVENT_GET:
    case GEO_EVENT_POLL:
    case GEO_EVENT_LIST:
        add_requests(p, v, a);
        add_move(p, v, a);
        break;
    case GEO_EVENT_DELETE:
        add_storage(p, v, end_s, a);
        break;
    case GEO_EVENT_INVOKE:
        add_invocation(p, v, a);
        break;
    case GEO_EVENT_AGGREGATE:
        a->aggregates++;
        break;
    case GEO_EVENT_TRANSFER:
        add_move(p, v, a);
        break;
    case GEO_EVENT_TRAIN:
    case GEO_EVENT_KINDS:
        break;
    }
}

/* ---- rounds and phases ---- */

struct worker_sum {
    double first_s, last_s; /* of all its events */
    unsigned rounds;        /* up to this one it read the result */
    double read_s;          /* when it had the last of them */
    double train_s, upload_s, download_s;
};

struct round_sum {
    double began_s;
    double barrier_s; /* the last worker's upload is through */
    double done_s;    /* the last mean is written */
    unsigned readers;
};

struct sums {
    struct worker_sum *workers;
    struct round_sum *rounds;
    size_t n_rounds;
    double first_s, last_s;
};

static void sums_clear(struct sums *s)
{
    free(s->workers);
    free(s->rounds);
}

static void sum_worker(struct sums *s, const struct geo_event *v)
{
    struct worker_sum *w = &s->workers[v->worker];
    struct round_sum *r = &s->rounds[v->round];
    double took_s = v->end_s - v->start_s;

    w->first_s = fmin(w->first_s, v->start_s);
    w->last_s = fmax(w->last_s, v->end_s);
    if (v->kind == GEO_EVENT_TRAIN) {
        w->train_s += took_s;
        r->began_s = fmin(r->began_s, v->start_s);
    } else if (v->kind == GEO_EVENT_PUT) {
        w->upload_s += took_s;
        r->barrier_s = fmax(r->barrier_s, v->end_s);
    } else if (v->kind == GEO_EVENT_GET) {
        w->download_s += took_s;
        w->read_s = fmax(w->read_s, v->end_s);
        /* One that was restarted may read it once more. */
        r->readers += v->round >= w->rounds;
        w->rounds = v->round >= w->rounds ? v->round + 1 : w->rounds;
    }
}

static void sum_events(const struct geo_problem *p, const struct geo_events *events, struct sums *s)
{
    *s = (struct sums){.first_s = (double)INFINITY};
    for (size_t i = 0; i < events->n; i++) {
        const struct geo_event *v = &events->all[i];
        s->n_rounds = v->round >= s->n_rounds ? v->round + 1 : s->n_rounds;
        s->first_s = fmin(s->first_s, v->start_s);
        s->last_s = fmax(s->last_s, v->end_s);
    }
    s->workers = mem_zero(p->n_workers, sizeof *s->workers);
    s->rounds = mem_zero(s->n_rounds + 1, sizeof *s->rounds);
    for (size_t i = 0; i < p->n_workers; i++)
        s->workers[i].first_s = (double)INFINITY;
    for (size_t i = 0; i < s->n_rounds; i++)
        s->rounds[i].began_s = (double)INFINITY;
    for (size_t i = 0; i < events->n; i++) {
        const struct geo_event *v = &events->all[i];
        if (v->worker != GEO_EVENT_NO_WORKER)
            sum_worker(s, v);
        else if (v->kind == GEO_EVENT_AGGREGATE)
            s->rounds[v->round].done_s = fmax(s->rounds[v->round].done_s, v->end_s);
    }
}

static double mean(double sum, double n)
{
    return n > 0 ? sum / n : 0;
}

/* A worker's round is over when it has the result: it begins with the next while others still read,
 * so that from the first one's beginning to the last one's end would count some time twice. */
static void find_phases(const struct geo_problem *p, const struct sums *s, struct geo_account *a)
{
    struct geo_phases *phases = &a->phases;
    double aggregate_s = 0;

    for (size_t i = 0; i < s->n_rounds; i++) {
        const struct round_sum *r = &s->rounds[i];
        if (r->readers < p->n_workers || !isfinite(r->began_s))
            continue;
        a->rounds++;
        aggregate_s += fmax(r->done_s - r->barrier_s, 0);
    }
    for (size_t i = 0; i < p->n_workers; i++) {
        phases->train_s += s->workers[i].train_s;
        phases->upload_s += s->workers[i].upload_s;
        phases->download_s += s->workers[i].download_s;
        a->round_s += mean(s->workers[i].read_s - s->workers[i].first_s, s->workers[i].rounds);
    }
    double n = a->rounds * (double)p->n_workers;
    a->round_s = mean(a->round_s, (double)p->n_workers);
    phases->train_s = mean(phases->train_s, n);
    phases->upload_s = mean(phases->upload_s, n);
    phases->download_s = mean(phases->download_s, n);
    phases->aggregate_s = mean(aggregate_s, a->rounds);
    phases->wait_s =
        a->round_s - phases->train_s - phases->upload_s - phases->aggregate_s - phases->download_s;
}

int geo_account(const struct geo_problem *p,
                const struct geo_events *events,
                struct geo_account *out,
                struct err *e)
{
    AUTO_CLEAR(sums) struct sums s;

    *out = (struct geo_account){0};
    sum_events(p, events, &s);
    find_phases(p, &s, out);
    if (out->rounds < 1)
        return err_set(e, ERR_USAGE, "no round was finished by all %zu workers", p->n_workers);
    out->time_s = s.last_s - s.first_s;
    for (size_t i = 0; i < events->n; i++)
        add_cost(p, &events->all[i], s.last_s, out);
    for (size_t i = 0; i < p->n_workers; i++)
        out->usd.vm_usd += p->workers[i].usd_per_hour *
                           geo_machine_s(s.workers[i].last_s - s.workers[i].first_s) / 3600;
    return 0;
}

/* ---- how fast workers, links and aggregators were ---- */

/* Clocks of workers tick in milliseconds: a wait of 4.99 polls was one of 5. */
#define TICK_SLACK 0.02

void geo_pace_free(struct geo_pace *pace)
{
    if (!pace)
        return;
    free(pace->workers);
    free(pace->sites);
    free(pace);
}

struct pace_sum {
    double upload_s, download_s, polls, sends, reads;
    double first_s, read_s; /* its first event, its last result */
    /* Of the round it is in. */
    double looked_s; /* when it looked for the result first */
    double looks, look_s;
};

/* A5, round by round: how often somebody looks in vain who looks again when `poll_s` are over. */
static void sum_wait(struct pace_sum *w, const struct geo_event *get, double poll_s)
{
    if (w->looks > 0) {
        double every_s = poll_s + w->look_s / w->looks;
        double waited_s = get->start_s - w->looked_s;
        w->polls += every_s > 0 ? floor(fmax(waited_s, 0) / every_s + TICK_SLACK) : w->looks;
    }
    w->looks = w->look_s = 0;
}

static void sum_pace(struct pace_sum *w, const struct geo_event *v, double poll_s)
{
    double took_s = v->end_s - v->start_s;

    w->first_s = fmin(w->first_s, v->start_s);
    if (v->kind == GEO_EVENT_PUT) {
        w->upload_s += took_s;
        w->sends++;
        w->looks = w->look_s = 0;
    } else if (v->kind == GEO_EVENT_POLL) {
        w->looked_s = w->looks > 0 ? w->looked_s : v->start_s;
        w->looks++;
        w->look_s += took_s;
    } else if (v->kind == GEO_EVENT_GET) {
        w->download_s += took_s;
        w->read_s = fmax(w->read_s, v->end_s);
        w->reads++;
        sum_wait(w, v, poll_s);
    }
}

static void find_workers(const struct geo_problem *p,
                         const struct geo_events *events,
                         double rounds,
                         struct geo_pace *pace)
{
    AUTO_MEM struct pace_sum *sums = mem_zero(p->n_workers, sizeof *sums);

    for (size_t i = 0; i < p->n_workers; i++)
        sums[i].first_s = (double)INFINITY;
    for (size_t i = 0; i < events->n; i++)
        if (events->all[i].worker != GEO_EVENT_NO_WORKER)
            sum_pace(&sums[events->all[i].worker], &events->all[i], p->poll_s);
    for (size_t i = 0; i < p->n_workers; i++)
        pace->workers[i] =
            (struct geo_worker_pace){.round_s = mean(sums[i].read_s - sums[i].first_s, rounds),
                                     .upload_s = mean(sums[i].upload_s, sums[i].sends),
                                     .download_s = mean(sums[i].download_s, sums[i].reads),
                                     .polls = mean(sums[i].polls, sums[i].reads)};
}

static void find_sizes(const struct geo_events *events, struct geo_pace *pace)
{
    double sent = 0, sends = 0, read = 0, reads = 0;

    for (size_t i = 0; i < events->n; i++) {
        const struct geo_event *v = &events->all[i];
        if (v->worker == GEO_EVENT_NO_WORKER)
            continue;
        sent += v->kind == GEO_EVENT_PUT ? v->bytes : 0;
        sends += v->kind == GEO_EVENT_PUT;
        read += v->kind == GEO_EVENT_GET ? v->bytes : 0;
        reads += v->kind == GEO_EVENT_GET;
    }
    pace->sent_bytes = mean(sent, sends);
    pace->mean_bytes = mean(read, reads);
}

/* Each invocation is rounded up before the mean is taken, as it is billed. Who averages not asks
 * the store for nothing but its list, unless it met another's claim. */
static void find_functions(const struct geo_problem *p,
                           const struct geo_events *events,
                           double rounds,
                           struct geo_pace *pace)
{
    AUTO_MEM double *looks = mem_zero(p->n_sites, sizeof *looks);
    AUTO_MEM double *works = mem_zero(p->n_sites, sizeof *works);
    bool is_work = false;

    for (size_t i = 0; i < events->n; i++) {
        const struct geo_event *v = &events->all[i];
        struct geo_function_pace *at = &pace->sites[v->from];
        if (v->worker != GEO_EVENT_NO_WORKER)
            continue;
        if (v->kind == GEO_EVENT_INVOKE) {
            double billed_s = geo_billed_s(&p->sites[v->from].function, v->end_s - v->start_s);
            is_work = v->bytes > 0;
            *(is_work ? &at->work_s : &at->look_s) += billed_s;
            (is_work ? works : looks)[v->from]++;
        } else if (!is_work && v->kind == GEO_EVENT_GET) {
            at->met_reads += v->requests / rounds;
        } else if (!is_work && v->kind == GEO_EVENT_PUT) {
            pace->sites[v->to].met_writes += v->requests / rounds;
        }
    }
    for (size_t i = 0; i < p->n_sites; i++) {
        pace->sites[i].look_s = mean(pace->sites[i].look_s, looks[i]);
        pace->sites[i].work_s = mean(pace->sites[i].work_s, works[i]);
    }
}

/* Bytes that were written, and how long they lay there. */
struct lain {
    double bytes, byte_s;
};

static void add_lain(struct lain *l, double bytes, double seconds)
{
    l->bytes += fmax(bytes, 0);
    l->byte_s += bytes * seconds;
}

struct stay {
    /* Of each round: when the invocation began that wrote its result, which is the last of those
     * that average. It may end before others: who told it waits for its answer. */
    double *begun_s;
    double last_s;
    size_t n_rounds;
};

static void find_ends(const struct geo_events *events, struct stay *s)
{
    for (size_t i = 0; i < events->n; i++) {
        const struct geo_event *v = &events->all[i];
        s->n_rounds = v->round >= s->n_rounds ? v->round + 1 : s->n_rounds;
        s->last_s = fmax(s->last_s, v->end_s);
    }
    s->begun_s = mem_zero(s->n_rounds + 1, sizeof *s->begun_s);
    for (size_t i = 0; i < events->n; i++) {
        const struct geo_event *v = &events->all[i];
        if (v->kind == GEO_EVENT_AGGREGATE)
            s->begun_s[v->round] = fmax(s->begun_s[v->round], v->start_s);
    }
}

/* Inputs are what workers write, and means that are not the round's last; an aggregator deletes its
 * inputs first. What was not deleted lies there until the end. */
static void find_stays(const struct geo_problem *p,
                       const struct geo_events *events,
                       struct geo_pace *pace)
{
    AUTO_MEM struct lain *inputs = mem_zero(p->n_sites, sizeof *inputs);
    AUTO_MEM double *sent_up = mem_zero(p->n_sites, sizeof *sent_up);
    AUTO_MEM struct lain *results = mem_zero(p->n_sites, sizeof *results);
    struct stay s = {0};

    find_ends(events, &s);
    for (size_t i = 0; i < events->n; i++) {
        const struct geo_event *v = &events->all[i];
        double left_s = s.last_s - v->end_s;
        if (v->kind == GEO_EVENT_DELETE) {
            bool of_inputs = i > 0 && events->all[i - 1].kind == GEO_EVENT_AGGREGATE;
            add_lain(of_inputs ? &inputs[v->to] : &results[v->to], -v->bytes, left_s);
        }
        if (v->kind != GEO_EVENT_PUT)
            continue;
        bool is_result = v->worker == GEO_EVENT_NO_WORKER && v->start_s >= s.begun_s[v->round];
        add_lain(is_result ? &results[v->to] : &inputs[v->to], v->bytes, left_s);
        if (v->worker == GEO_EVENT_NO_WORKER && !is_result && v->bytes > 0) {
            pace->sites[v->from].up_bytes += v->bytes;
            sent_up[v->from]++;
        }
    }
    for (size_t i = 0; i < p->n_sites; i++) {
        pace->sites[i].input_s = mean(inputs[i].byte_s, inputs[i].bytes);
        pace->sites[i].result_s = mean(results[i].byte_s, results[i].bytes);
        pace->sites[i].up_bytes = mean(pace->sites[i].up_bytes, sent_up[i]);
    }
    free(s.begun_s);
}

struct geo_pace *geo_pace_new(const struct geo_problem *p,
                              const struct geo_events *events,
                              const struct geo_account *account)
{
    struct geo_pace *pace = mem_zero(1, sizeof *pace);

    /* One write for the claim (fed/round.h), and what goes to regions goes there at once. */
    pace->claims = 1;
    pace->pushed = true;
    pace->round_s = account->round_s;
    pace->workers = mem_zero(p->n_workers, sizeof *pace->workers);
    pace->sites = mem_zero(p->n_sites, sizeof *pace->sites);
    find_workers(p, events, account->rounds, pace);
    find_sizes(events, pace);
    find_functions(p, events, account->rounds, pace);
    find_stays(p, events, pace);
    return pace;
}

/* ---- the model at the measured pace ---- */

static void scale(struct geo_bill *usd, struct geo_counts *counts, double rounds)
{
    usd->faas_usd *= rounds;
    usd->requests_usd *= rounds;
    usd->storage_usd *= rounds;
    usd->transfer_usd *= rounds;
    counts->reads *= rounds;
    counts->writes *= rounds;
    counts->lists *= rounds;
    counts->invocations *= rounds;
    counts->failed_polls *= rounds;
    counts->wan_bytes *= rounds;
}

bool geo_forecast(const struct geo_problem *p,
                  const struct geo_placement *at,
                  const struct geo_pace *pace,
                  const struct geo_account *account,
                  struct geo_bill *usd_out,
                  struct geo_counts *counts_out)
{
    AUTO_MEM struct geo_worker *workers = mem_zero(p->n_workers, sizeof *workers);
    struct geo_problem paced = *p;
    struct geo_placement round;

    memcpy(workers, p->workers, p->n_workers * sizeof *workers);
    for (size_t i = 0; i < p->n_workers; i++)
        workers[i].train_s = account->phases.train_s;
    paced.workers = workers;
    paced.pace = pace;
    paced.rounds = account->rounds;
    paced.retries = 0;
    if (!geo_evaluate(&paced, at->topology, at->function, at->store, &round))
        return false;
    *usd_out = round.bill;
    *counts_out = round.counts;
    scale(usd_out, counts_out, account->rounds);
    usd_out->transfer_usd += geo_data_usd(&paced);
    usd_out->vm_usd = 0;
    for (size_t i = 0; i < p->n_workers; i++)
        usd_out->vm_usd += p->workers[i].usd_per_hour *
                           geo_machine_s(account->rounds * pace->workers[i].round_s) / 3600;
    return true;
}
