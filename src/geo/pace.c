/* Measures from a run's events how fast its workers, links and aggregators were. The forecast
 * beside the bill uses it. */
#include "geo/bill.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

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

static double mean(double sum, double n)
{
    return n > 0 ? sum / n : 0;
}

/* ---- workers ---- */

struct worker_sum {
    double upload_s, download_s, polls, sends, reads;
    double first_s, read_s; /* its first event, its last result */
    /* Of the round it is in. */
    double looked_s; /* when it looked for the result first */
    double looks, look_s;
};

/* A5, round by round: how often somebody looks in vain who looks again when `poll_s` are over. */
static void sum_wait(struct worker_sum *w, const struct geo_event *get, double poll_s)
{
    if (w->looks > 0) {
        double every_s = poll_s + w->look_s / w->looks;
        double waited_s = get->start_s - w->looked_s;
        w->polls += every_s > 0 ? floor(fmax(waited_s, 0) / every_s + TICK_SLACK) : w->looks;
    }
    w->looks = w->look_s = 0;
}

static void sum_worker(struct worker_sum *w, const struct geo_event *v, double poll_s)
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
    AUTO_MEM struct worker_sum *sums = mem_zero(p->n_workers, sizeof *sums);

    for (size_t i = 0; i < p->n_workers; i++)
        sums[i].first_s = (double)INFINITY;
    for (size_t i = 0; i < events->n; i++)
        if (events->all[i].worker != GEO_EVENT_NO_WORKER)
            sum_worker(&sums[events->all[i].worker], &events->all[i], p->poll_s);
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

/* ---- functions ---- */

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

/* ---- stores ---- */

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
 * inputs first. What nobody deleted lies there until the end. */
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
