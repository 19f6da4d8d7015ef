/* watch: observes a simulation for simulate.c: its events, and its story for charts. */
#include "app/policy/internal.h"
#include "base/mem.h"
#include "base/time.h"

#include <math.h>
#include <stdlib.h>

/* A chart of more shows nothing more. */
#define STORY_MAX 500000

static const char *const whys[ROUNDS_WHYS] = {"arrival", "departure", "price", "quota", "deadline"};

/* ---- events ---- */

static void tell(struct app_policy_watch *w, json_t *event)
{
    const struct app_policy_event item = {event};

    if (w->failed.kind == ERR_NONE)
        answer_item(w->events, &item, &w->failed);
    json_decref(event);
}

static void on_solved(void *context, const struct rounds_solved *s)
{
    struct app_policy_watch *w = context;
    const struct policy_problem *p = w->ask->problem;

    if (!w->events)
        return;
    json_t *why = json_array(), *shares = json_array(), *fills = json_array();
    json_t *shortfall = json_object();
    for (unsigned i = 0; i < ROUNDS_WHYS; i++)
        if (s->why & 1u << i)
            json_array_append_new(why, json_string(whys[i]));
    for (size_t i = 0; i < s->n_claims; i++) {
        const struct rounds_claim *c = &s->claims[i];
        const char *job = p->jobs[c->job].name, *type = p->types[c->type].name;
        json_array_append_new(c->fill ? fills : shares,
                              c->fill ? json_pack("[s, s]", job, type)
                                      : json_pack("[s, s, f]", job, type, c->share));
    }
    for (size_t i = 0; i < s->answer->n_jobs; i++)
        if (s->answer->shortfall[i] > 0)
            json_object_set_new(shortfall, p->jobs[s->jobs[i]].name,
                                json_number(s->answer->shortfall[i]));
    tell(w,
         json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "event", "solve", "at_ms",
                   (json_int_t)s->at_ms, "why", why, "objective", json_number(s->answer->objective),
                   "shortfall_price", json_number(s->answer->shortfall_price), "shares", shares,
                   "fills", fills, "shortfall", shortfall, "merged",
                   s->answer->n_windows < s->answer->windows_exact, "early", s->is_early));
}

static void tell_round(struct app_policy_watch *w,
                       int64_t from_ms,
                       int64_t to_ms,
                       const struct rounds_run *runs,
                       size_t n)
{
    const struct policy_problem *p = w->ask->problem;
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:I, s:I, s:I, s:b, s:b}", "job", p->jobs[runs[i].job].name,
                            "type", p->types[runs[i].type].name, "to_ms", (json_int_t)runs[i].to_ms,
                            "lost_ms", (json_int_t)runs[i].lost_ms, "cost_microusd",
                            (json_int_t)runs[i].cost_microusd, "done", runs[i].done, "preempted",
                            runs[i].preempted));
    tell(w, json_pack("{s:s, s:I, s:I, s:o}", "event", "round", "from_ms", (json_int_t)from_ms,
                      "to_ms", (json_int_t)to_ms, "runs", list));
}

/* ---- the story ---- */

static void note_span(struct app_policy_watch *w, int64_t from_ms, const struct rounds_run *run)
{
    size_t *last = &w->last_span[run->job];

    if (*last && w->spans[*last - 1].type == run->type && w->spans[*last - 1].to_ms == from_ms) {
        w->spans[*last - 1].to_ms = run->to_ms;
        return;
    }
    if (w->n_spans == STORY_MAX)
        return;
    w->spans = mem_room(w->spans, w->n_spans, &w->cap_spans, sizeof *w->spans);
    w->spans[w->n_spans++] = (struct app_policy_span){run->job, run->type, from_ms, run->to_ms};
    *last = w->n_spans;
}

static void note_round(struct app_policy_watch *w,
                       int64_t from_ms,
                       int64_t to_ms,
                       const struct rounds_run *runs,
                       size_t n)
{
    size_t done = w->n_done;

    while (w->n_arrived < w->ask->problem->n_jobs && w->arrivals[w->n_arrived] <= from_ms)
        w->n_arrived++;
    for (size_t i = 0; i < n; i++) {
        note_span(w, from_ms, &runs[i]);
        w->cost_microusd += runs[i].cost_microusd;
        w->n_done += runs[i].done;
    }
    if (w->n_samples == STORY_MAX)
        return;
    w->samples = mem_room(w->samples, w->n_samples, &w->cap_samples, sizeof *w->samples);
    w->samples[w->n_samples++] = (struct app_policy_sample){
        .from_ms = from_ms,
        .to_ms = to_ms,
        .running = n,
        .waiting = w->n_arrived - done - n,
        .cost_microusd = w->cost_microusd,
    };
}

static void on_ran(
    void *context, int64_t from_ms, int64_t to_ms, const struct rounds_run *runs, size_t n)
{
    struct app_policy_watch *w = context;

    if (w->events)
        tell_round(w, from_ms, to_ms, runs, n);
    if (w->wants_story)
        note_round(w, from_ms, to_ms, runs, n);
}

static bool on_stop(void *context, size_t done)
{
    const struct app_policy_watch *w = context;

    app_status(w->app, "%zu of %zu jobs done", done, w->ask->problem->n_jobs);
    return w->failed.kind != ERR_NONE || app_cancelled(w->app);
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void app_policy_watch_init(struct app_policy_watch *w,
                           struct app *app,
                           const struct rounds_ask *ask,
                           struct answer *events,
                           bool wants_story)
{
    size_t n = ask->problem->n_jobs;

    *w = (struct app_policy_watch){
        .app = app,
        .ask = ask,
        .events = events,
        .wants_story = wants_story,
        .last_span = mem_zero(n + 1, sizeof *w->last_span),
        .arrivals = mem_zero(n + 1, sizeof *w->arrivals),
    };
    for (size_t m = 0; m < n; m++)
        w->arrivals[m] = (int64_t)floor(ask->arrival_h[m] * ROUNDS_HOUR_MS + 0.5);
    qsort(w->arrivals, n, sizeof *w->arrivals, by_number);
}

void app_policy_watch_clear(struct app_policy_watch *w)
{
    free(w->last_span);
    free(w->arrivals);
    free(w->spans);
    free(w->samples);
}

struct rounds_watch app_policy_watch_functions(struct app_policy_watch *w)
{
    return (struct rounds_watch){.context = w,
                                 .solved = on_solved,
                                 .ran = on_ran,
                                 .stop = on_stop,
                                 .clock_s = time_monotonic_s};
}
