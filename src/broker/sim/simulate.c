#include "broker/sim/simulate.h"

#include "base/mem.h"
#include "base/money.h"
#include "broker/sim/internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So long after the last stage machines may refuse to go before they are left to a sweep. */
#define SETTLE_MS ((int64_t)2 * 3600 * 1000)

/* ---- telling ---- */

static double seconds_since(const struct sim *s, int64_t from_ms)
{
    return (double)(sim_now(s) - from_ms) / 1000;
}

int sim_tell_stage(
    struct sim *s, size_t i, enum run_stage_state state, const char *why, struct err *e)
{
    const struct stage_life *g = &s->lives[i];
    struct simulate_event event = {.kind = SIMULATE_STAGE,
                                   .at_s = seconds_since(s, s->begin_ms),
                                   .stage = i,
                                   .state = state,
                                   .took_s = g->begun_ms ? seconds_since(s, g->begun_ms) : 0,
                                   .cost_microusd = g->spent_microusd,
                                   .text = why};

    return s->o->tell ? s->o->tell(s->o->context, &event, e) : 0;
}

int sim_set_stage(
    struct sim *s, size_t i, enum run_stage_state state, const char *why, struct err *e)
{
    if (machines_flush(s->o->machines, e) < 0)
        return -1;
    return runs_set_stage(s->o->runs, s->o->run->id, i, state, 0, why, e);
}

int sim_note(struct sim *s, size_t stage, struct err *e, const char *fmt, ...)
{
    char text[2 * MACHINE_REASON_BYTES];
    struct simulate_event event = {
        .kind = SIMULATE_NOTE, .at_s = seconds_since(s, s->begin_ms), .stage = stage, .text = text};
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return s->o->tell ? s->o->tell(s->o->context, &event, e) : 0;
}

void sim_stop(struct sim *s, enum run_state state, const char *fmt, ...)
{
    va_list ap;

    if (s->is_stopping)
        return;
    s->is_stopping = true;
    s->end_state = state;
    va_start(ap, fmt);
    vsnprintf(s->reason, sizeof s->reason, fmt, ap);
    va_end(ap);
}

/* ---- what happens now ---- */

static int by_index(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return x < y ? -1 : x > y;
}

/* Those that may start, in the order of the file. */
static int start_ready(struct sim *s, struct err *e)
{
    size_t n = s->n_ready;

    if (n > 1)
        qsort(s->ready, n, sizeof *s->ready, by_index);
    s->n_ready = 0;
    for (size_t k = 0; k < n; k++)
        if (s->lives[s->ready[k]].state == LIFE_WAITING &&
            stage_fire(s, s->ready[k], EVENT_TURN, e) < 0)
            return -1;
    return 0;
}

/* 1: something was due. */
static int step_active(struct sim *s, struct err *e)
{
    bool was_due = false;
    size_t kept = 0;

    for (size_t k = 0; k < s->n_active && !s->is_stopping; k++) {
        size_t i = s->active[k];
        if (!life_is_final(s->lives[i].state) && stage_is_due(s, i)) {
            was_due = true;
            if (stage_step(s, i, e) < 0)
                return -1;
        }
    }
    for (size_t k = 0; k < s->n_active; k++)
        if (!life_is_final(s->lives[s->active[k]].state))
            s->active[kept++] = s->active[k];
    s->n_active = kept;
    return was_due;
}

static int return_free(struct sim *s, struct err *e)
{
    while (s->free) {
        struct gang *g = s->free;
        s->free = g->next;
        if (sim_gang_return(s, g, "its stage is over", e) < 0)
            return -1;
    }
    return 0;
}

/* Everything that is due at this moment, until nothing is. */
static int step_all(struct sim *s, struct err *e)
{
    int due = 1;

    while (due > 0 && !s->is_stopping) {
        if (start_ready(s, e) < 0)
            return -1;
        due = step_active(s, e);
        s->cloud_event = false;
        if (due < 0)
            return -1;
    }
    return return_free(s, e) < 0 ? -1 : leave_due(s, e);
}

/* ---- the clock ---- */

static int64_t next_ms(struct sim *s, bool *from_cloud)
{
    int64_t next = leave_next_ms(s);
    bool watching = false;

    for (size_t k = 0; k < s->n_active; k++) {
        size_t i = s->active[k];
        next = s->lives[i].wake_ms < next ? s->lives[i].wake_ms : next;
        watching = watching || stage_watches(s, i);
    }
    int64_t cloud_ms = watching ? cloud_next_ms(s->world->cloud) : INT64_MAX;
    *from_cloud = cloud_ms <= next && cloud_ms != INT64_MAX;
    return *from_cloud ? cloud_ms : next;
}

/* The last moment until which everything can be paid for. */
static int64_t affordable_ms(const struct sim *s, int64_t until_ms)
{
    int64_t good = sim_now(s), bad = until_ms;

    if (s->o->max_microusd < 0 || sim_spent(s, until_ms) <= s->o->max_microusd)
        return until_ms;
    while (bad - good > 1) {
        int64_t mid = good + (bad - good) / 2;
        if (sim_spent(s, mid) <= s->o->max_microusd)
            good = mid;
        else
            bad = mid;
    }
    return good;
}

static int jump(struct sim *s, int64_t to_ms, struct err *e)
{
    if (simulate_world_set(s->world, to_ms, e) < 0)
        return -1;
    if (to_ms - s->renewed_ms < MACHINE_LEASE_MS / 2)
        return 0;
    s->renewed_ms = to_ms;
    return machine_renew(s->o->machines, s->o->run->id, to_ms + MACHINE_LEASE_MS, e);
}

static int go_on(struct sim *s, struct err *e)
{
    char most[32], spent[32];
    bool from_cloud;
    int64_t wanted_ms = next_ms(s, &from_cloud);

    if (wanted_ms == INT64_MAX)
        return err_set(e, ERR_IO, "run %" PRId64 ": no further event is due", s->o->run->id);
    int64_t to_ms = affordable_ms(s, wanted_ms);
    if (jump(s, to_ms, e) < 0)
        return -1;
    if (to_ms < wanted_ms)
        sim_stop(s, RUN_STOPPED, "the spending limit of %s is reached: %s so far",
                 money_text(s->o->max_microusd, most), money_text(sim_spent(s, to_ms), spent));
    s->cloud_event = from_cloud && to_ms == wanted_ms;
    return 0;
}

/* ---- the end ---- */

static int stop_all(struct sim *s, struct err *e)
{
    enum run_stage_state idle = s->end_state == RUN_FAILED ? STAGE_SKIPPED : STAGE_STOPPED;

    for (size_t i = 0; i < s->n; i++) {
        enum life_state state = s->lives[i].state;
        if (!life_is_final(state) &&
            stage_give_up(s, i, state == LIFE_WAITING ? idle : STAGE_STOPPED, s->reason, e) < 0)
            return -1;
    }
    s->n_active = 0;
    return return_free(s, e);
}

/* Until everything is confirmed to be gone. */
static int settle(struct sim *s, struct err *e)
{
    int64_t until_ms = sim_now(s) + SETTLE_MS;

    while (s->n_leaving && sim_now(s) < until_ms) {
        if (jump(s, leave_next_ms(s), e) < 0 || leave_due(s, e) < 0)
            return -1;
    }
    return 0;
}

/* The cloud's own list has the last word: a machine that was not shown for very long may have been
 * taken for missing. A list that cannot be had leaves the world to a sweep. */
static int look_again(struct sim *s, size_t *open_out, struct err *e)
{
    struct machine_cleanup how = {0};
    struct err why = {0};

    if (simulate_world_cleanup(s->world, &how, &why) < 0 && why.kind == ERR_IO)
        return err_set(e, why.kind, "%s", why.text);
    *open_out = how.open;
    return 0;
}

static int drive(struct sim *s, struct err *e)
{
    for (;;) {
        if (s->o->stop && s->o->stop(s->o->context))
            sim_stop(s, RUN_STOPPED, "stopped");
        if (!s->is_stopping && step_all(s, e) < 0)
            return -1;
        if (s->is_stopping)
            return stop_all(s, e);
        if (!s->unfinished)
            return 0;
        if (go_on(s, e) < 0)
            return -1;
    }
}

/* ---- the beginning ---- */

static void link_dependents(struct sim *s)
{
    const struct run *run = s->o->run;
    size_t total = 0;

    for (size_t i = 0; i < s->n; i++)
        total += run->stages[i].plan.n_needs;
    s->dependents = arena_zero(s->arena, total + 1, sizeof *s->dependents);
    s->first_dependent = arena_zero(s->arena, s->n + 2, sizeof *s->first_dependent);
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < run->stages[i].plan.n_needs; k++)
            s->first_dependent[run->stages[i].plan.needs[k] + 2]++;
    for (size_t i = 2; i <= s->n; i++)
        s->first_dependent[i] += s->first_dependent[i - 1];
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < run->stages[i].plan.n_needs; k++)
            s->dependents[s->first_dependent[run->stages[i].plan.needs[k] + 1]++] = i;
}

static bool is_finished(const struct run_stage *stage)
{
    return stage->state == STAGE_FINISHED || stage->state == STAGE_REUSED;
}

static void set_out(struct sim *s)
{
    const struct run *run = s->o->run;

    s->lives = arena_zero(s->arena, s->n + 1, sizeof *s->lives);
    s->active = arena_zero(s->arena, s->n + 1, sizeof *s->active);
    s->ready = arena_zero(s->arena, s->n + 1, sizeof *s->ready);
    link_dependents(s);
    for (size_t i = 0; i < s->n; i++) {
        struct stage_life *g = &s->lives[i];
        bool finished = is_finished(&run->stages[i]);
        g->state = finished ? LIFE_FINISHED : LIFE_WAITING;
        g->left = finished ? 0 : 1;
        for (size_t k = 0; k < run->stages[i].plan.n_needs; k++)
            g->needs_left += !is_finished(&run->stages[run->stages[i].plan.needs[k]]);
        s->unfinished += !finished;
        if (!finished && !g->needs_left)
            s->ready[s->n_ready++] = i;
    }
}

/* What an earlier process left in the records of this run. */
struct past {
    struct sim *sim;
    int64_t last_ms;
    struct machine *open;
    size_t n_open, cap_open;
    bool any;
};

static int remember(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct past *p = context;
    struct sim *s = p->sim;

    (void)now_ms;
    (void)e;
    p->any = true;
    s->machines += m->facts.launched_ms != 0;
    p->last_ms = m->since_ms > p->last_ms ? m->since_ms : p->last_ms;
    s->ended_microusd += m->data_microusd;
    if (m->state == MACHINE_GONE)
        s->ended_microusd += machine_cost_microusd(m, m->since_ms);
    else {
        p->open = arena_room(s->arena, p->open, p->n_open, &p->cap_open, sizeof *p->open);
        p->open[p->n_open++] = *m;
    }
    if (m->stage < 0 || (size_t)m->stage >= s->n)
        return 0;
    struct stage_life *g = &s->lives[m->stage];
    if (m->attempt >= g->attempt)
        g->attempt = m->attempt + 1;
    if (!life_is_final(g->state) || !m->facts.launched_ms)
        return 0;
    /* Its output lies where it ran last. */
    struct simulate_stage *where = &s->o->stages[m->stage];
    where->provider = arena_dup(s->arena, m->facts.provider);
    where->region = arena_dup(s->arena, m->facts.region);
    return 0;
}

static int open_world(struct sim *s, int64_t begin_ms, struct err *e)
{
    struct cloud_options options = {.seed = s->o->seed,
                                    .boot_s = s->o->boot_s,
                                    .preemptions_per_hour = s->o->preemptions_per_hour,
                                    .troubles = s->o->troubles,
                                    .market = trade_cloud(s)};

    s->world =
        simulate_world_open(s->o->home, s->o->machines, s->o->run->id, begin_ms, &options, e);
    if (!s->world)
        return -1;
    s->renewed_ms = sim_now(s);
    return 0;
}

/* Continues where an earlier process ended, after terminating its machines: what runs on them is
 * unknown. */
static int take_up(struct sim *s, struct err *e)
{
    struct past past = {.sim = s, .last_ms = s->begin_ms};
    struct machine_filter mine = {.run = s->o->run->id, .with_gone = true};
    struct err none = {0};
    int result = machines_each(s->o->machines, &mine, remember, &past, e);

    if (result == 0)
        result = open_world(s, past.last_ms, e);
    for (size_t i = 0; i < past.n_open && result == 0; i++)
        result = leave(s, &past.open[i], e);
    if (result < 0 || !past.any || !s->unfinished)
        return result;
    if (sim_plan_ask(s, SIZE_MAX, &none) < 0 && none.kind != ERR_NOFIT)
        return err_set(e, none.kind, "%s", none.text);
    return 0;
}

static void sim_clear(struct sim *s)
{
    for (size_t i = 0; i < s->n; i++)
        sim_gang_free(s->lives[i].gang);
    while (s->free) {
        struct gang *g = s->free;
        s->free = g->next;
        sim_gang_free(g);
    }
    free(s->leaving);
    simulate_world_free(s->world);
    arena_free(s->arena);
}

static int end(struct sim *s, struct simulate_result *out, struct err *e)
{
    int64_t run = s->o->run->id;

    out->time_s = seconds_since(s, s->begin_ms);
    if (settle(s, e) < 0 || (!s->n_leaving && look_again(s, &s->n_leaving, e) < 0))
        return -1;
    out->state = s->is_stopping ? s->end_state : s->has_failed ? RUN_FAILED : RUN_FINISHED;
    snprintf(out->reason, sizeof out->reason, "%s",
             s->is_stopping  ? s->reason
             : s->has_failed ? "a stage failed"
                             : "");
    out->machines = s->machines;
    out->switches = s->switches;
    out->preemptions = s->preemptions;
    out->open = s->n_leaving;
    if (machines_flush(s->o->machines, e) < 0 ||
        machines_bill(s->o->machines, run, sim_now(s), &out->compute_microusd, &out->data_microusd,
                      e) < 0 ||
        runs_end(s->o->runs, run, out->state, out->reason, e) < 0)
        return -1;
    return out->open ? 0 : simulate_world_end(s->world, e);
}

int simulate_run(const struct simulate_options *o, struct simulate_result *out, struct err *e)
{
    struct sim s = {.o = o,
                    .n = o->run->n_stages,
                    .begin_ms = o->begin_ms ? o->begin_ms : o->run->created_ms,
                    .arena = arena_new(SIZE_MAX)};
    int result;

    *out = (struct simulate_result){0};
    machines_group(o->machines, true);
    set_out(&s);
    result = take_up(&s, e);
    if (result == 0)
        result = drive(&s, e);
    if (result == 0)
        result = end(&s, out, e);
    /* What is known is written down, also when something else failed. */
    if (machines_flush(o->machines, result < 0 ? NULL : e) < 0)
        result = -1;
    machines_group(o->machines, false);
    sim_clear(&s);
    return result < 0 ? err_wrap(e, "simulate run %" PRId64, o->run->id) : 0;
}
