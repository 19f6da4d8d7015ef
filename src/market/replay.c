#include "market/replay.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/money.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ---- the job ---- */

/* What is left of the speed once checkpoints, preemptions and ends of leases took their part. */
static double expected_share(const struct market_job *j, size_t i)
{
    const struct market_scene *s = j->scene;
    double tau = j->checkpoint_s[i], write_s = j->switching.write_s;
    double share = isfinite(tau) ? tau / (tau + write_s) : 1;
    double loss_s = j->switching.restart_s + (isfinite(tau) ? (tau + write_s) / 2 : 0);

    share *= fmax(0.01, 1 - s->preemptions_per_s[i] * loss_s);
    if (isfinite(s->lease_max_s[i]))
        share *= 1 - (j->switching.restart_s + write_s) / s->lease_max_s[i];
    return share;
}

static double *lowest_later(const struct market_job *j)
{
    const struct market_scene *s = j->scene;
    double *lowest = arena_zero(j->arena, s->n_events + 1, sizeof *lowest);

    lowest[s->n_events] = (double)INFINITY;
    for (size_t k = s->n_events; k-- > 0;) {
        lowest[k] = lowest[k + 1];
        for (size_t c = 0; c < s->n_classes; c++) {
            double speed = j->speed[s->class_offer[c]];
            if (speed > 0)
                lowest[k] = fmin(lowest[k], s->class_usd_per_s[k * s->n_classes + c] / speed);
        }
    }
    return lowest;
}

struct market_job *market_job_new(const struct market_scene *scene, const struct market_job_wish *w)
{
    struct market_job *j = mem_zero(1, sizeof *j);
    size_t cells = scene->n_places * scene->n_places;

    j->arena = arena_new(SIZE_MAX);
    j->scene = scene;
    j->speed = arena_zero(j->arena, scene->n_offers, sizeof *j->speed);
    j->checkpoint_s = arena_zero(j->arena, scene->n_offers, sizeof *j->checkpoint_s);
    j->work_per_s = arena_zero(j->arena, scene->n_offers, sizeof *j->work_per_s);
    j->move_usd = arena_zero(j->arena, cells, sizeof *j->move_usd);
    for (size_t i = 0; w->move_usd_of && i < cells; i++)
        j->move_usd[i] = w->move_usd_of[i];
    j->switching = (struct market_switching){.restart_s = w->restart_s,
                                             .write_s = w->write_s,
                                             .move_s = w->move_s,
                                             .n_places = scene->n_places,
                                             .move_usd = j->move_usd};
    for (size_t i = 0; i < scene->n_offers; i++) {
        double speed = w->speed_of_gpu[scene->gpu[i]] * scene->gpus_used[i];
        j->speed[i] = speed > 0 ? speed : 0;
        j->checkpoint_s[i] = isnan(w->checkpoint_s)
                                 ? market_checkpoint_s(scene->preemptions_per_s[i], w->write_s)
                                 : w->checkpoint_s;
        j->work_per_s[i] = j->speed[i] * expected_share(j, i);
    }
    j->lowest_later = lowest_later(j);
    return j;
}

void market_job_free(struct market_job *j)
{
    if (!j)
        return;
    arena_free(j->arena);
    free(j);
}

void market_log_clear(struct market_log *log)
{
    free(log->leases);
    *log = (struct market_log){0};
}

/* ---- a stay on one offer ---- */

struct market_stay market_stay_of(
    const struct market_job *j, size_t offer, double begin_s, double ready_s, bool foresees)
{
    const struct market_switching *sw = &j->switching;

    return (struct market_stay){.speed = j->speed[offer],
                                .tau_s = foresees ? (double)INFINITY : j->checkpoint_s[offer],
                                .write_s = sw->write_s,
                                .begin_s = begin_s,
                                .ready_s = ready_s,
                                .max_s = j->scene->lease_max_s[offer],
                                .renew_s = sw->restart_s + sw->write_s};
}

static double work_after(const struct market_stay *t, double s)
{
    if (s <= 0)
        return 0;
    if (!isfinite(t->tau_s))
        return s * t->speed;
    double full = floor(s / (t->tau_s + t->write_s));
    double rest = s - full * (t->tau_s + t->write_s);
    return t->speed * (full * t->tau_s + fmin(rest, t->tau_s));
}

/* Of that, what is in a checkpoint. */
static double saved_after(const struct market_stay *t, double s)
{
    if (s <= 0 || !isfinite(t->tau_s))
        return 0;
    return t->speed * floor(s / (t->tau_s + t->write_s)) * t->tau_s;
}

static double time_for(const struct market_stay *t, double work)
{
    double s = work / t->speed;

    if (!isfinite(t->tau_s) || work <= 0)
        return s;
    return s + t->write_s * (ceil(s / t->tau_s) - 1); /* the last stretch needs none */
}

double market_stay_renewals(const struct market_stay *s, double now_s)
{
    return isfinite(s->max_s) ? floor((now_s - s->begin_s) / s->max_s) : 0;
}

/* Work until the n-th renewal, n >= 1. */
static double work_until_renewal(const struct market_stay *s, double n)
{
    return work_after(s, s->begin_s + s->max_s - s->ready_s) +
           (n - 1) * work_after(s, s->max_s - s->renew_s);
}

/* Since when it works, after n renewals. */
static double working_since(const struct market_stay *s, double n)
{
    return n > 0 ? s->begin_s + n * s->max_s + s->renew_s : s->ready_s;
}

double market_stay_work(const struct market_stay *s, double now_s)
{
    double n = market_stay_renewals(s, now_s);

    return (n > 0 ? work_until_renewal(s, n) : 0) + work_after(s, now_s - working_since(s, n));
}

double market_stay_saved(const struct market_stay *s, double now_s)
{
    double n = market_stay_renewals(s, now_s);

    return (n > 0 ? work_until_renewal(s, n) : 0) + saved_after(s, now_s - working_since(s, n));
}

double market_stay_until(const struct market_stay *s, double work)
{
    double n = 0, before = 0;

    if (isfinite(s->max_s)) {
        double first = work_until_renewal(s, 1);
        double each = work_after(s, s->max_s - s->renew_s);
        if (work > first && !(each > 0))
            return (double)INFINITY;
        if (work > first)
            n = ceil((work - first) / each);
        before = n > 0 ? work_until_renewal(s, n) : 0;
    }
    return working_since(s, n) + time_for(s, work - before);
}

/* ---- the way ---- */

struct progress {
    const struct market_replay *replay;
    const struct market_job *job;
    const struct market_scene *scene;
    struct market_view view;
    struct market_stay stay;
    size_t lease_event;    /* at which it began */
    double done_before;    /* work when the lease began */
    int64_t move_microusd; /* of the move to where it is */
    struct market_bill bill;
};

/* Every machine is a line of the bill: one that was launched again when its lease ended by itself
 * is another one. */
static int64_t paid_microusd(const struct progress *t, size_t to_event, double end_s)
{
    const struct market_scene *s = t->scene;
    size_t i = t->view.offer, n = (size_t)market_stay_renewals(&t->stay, end_s);
    double before = s->paid_usd[t->lease_event * s->n_offers + i];
    int64_t microusd = 0;

    for (size_t k = 1; k <= n; k++) {
        double then = market_scene_paid(s, i, t->stay.begin_s + (double)k * t->stay.max_s);
        microusd += money_from_usd(then - before);
        before = then;
    }
    return microusd + money_from_usd(market_scene_paid_from(s, to_event, i, end_s) - before);
}

/* Releases the instance, or loses it; to_event: the last one not later than end_s. */
static void end_lease(struct progress *t, size_t to_event, double end_s, double work_done)
{
    int64_t microusd = paid_microusd(t, to_event, end_s);

    t->bill.cost_microusd += microusd;
    t->bill.preemptions += (size_t)market_stay_renewals(&t->stay, end_s);
    if (t->replay->log) {
        struct market_log *log = t->replay->log;
        log->leases = mem_room(log->leases, log->n, &log->cap, sizeof *log->leases);
        log->leases[log->n++] = (struct market_lease){t->view.offer, t->stay.begin_s, end_s,
                                                      microusd + t->move_microusd};
    }
    t->view.checkpoint = t->view.place[t->view.offer];
    t->view.offer_before = t->view.offer;
    t->view.offer = MARKET_NO_OFFER;
    t->done_before = work_done;
}

static void lose_machine(struct progress *t, size_t event)
{
    double now_s = t->scene->at_s[event];
    double work = market_stay_work(&t->stay, now_s);
    double kept = t->replay->foresees ? work : market_stay_saved(&t->stay, now_s);

    t->bill.preemptions++;
    t->bill.work_lost += work - kept;
    end_lease(t, event, now_s, t->done_before + kept);
    t->view.left = false;
}

static void leave(struct progress *t, size_t event)
{
    double now_s = t->scene->at_s[event];

    end_lease(t, event, now_s, t->done_before + market_stay_work(&t->stay, now_s));
    t->view.left = true;
}

static void take(struct progress *t, size_t event, size_t offer)
{
    struct market_view *v = &t->view;
    const struct market_switching *sw = &t->job->switching;
    double now_s = t->scene->at_s[event];

    if (v->offer != MARKET_NO_OFFER)
        leave(t, event);
    assert(t->scene->can_start[event * t->scene->n_offers + offer]);
    double ready_s = now_s + market_start_s(sw, v->checkpoint, v->place[offer], v->left);
    t->move_microusd = money_from_usd(market_move_usd(sw, v->checkpoint, v->place[offer]));
    t->bill.cost_microusd += t->move_microusd;
    t->bill.moves_microusd += t->move_microusd;
    if (t->bill.first == MARKET_NO_OFFER)
        t->bill.first = offer;
    else
        t->bill.switches += offer != v->offer_before;
    t->stay = market_stay_of(t->job, offer, now_s, ready_s, t->replay->foresees);
    t->lease_event = event;
    v->offer = offer;
    v->ready_s = ready_s;
    v->left = false;
}

static void look(struct progress *t, size_t event)
{
    const struct market_scene *s = t->scene;
    struct market_view *v = &t->view;
    size_t row = event * s->n_offers;

    v->now_s = s->at_s[event];
    v->next_look_s = s->at_s[event + 1];
    v->usd_per_s = s->usd_per_s + row;
    v->may_start = s->can_start + row;
    if (v->offer != MARKET_NO_OFFER && s->taken_back[row + v->offer])
        lose_machine(t, event);
    v->work_left = t->replay->work - t->done_before;
    if (v->offer != MARKET_NO_OFFER)
        v->work_left -= market_stay_work(&t->stay, v->now_s);
    struct market_action a = t->replay->decide(t->replay->policy, v);
    v->decisions_made++;
    if (a.act == MARKET_TAKE && a.offer != v->offer)
        take(t, event, a.offer);
    else if (a.act == MARKET_PAUSE && v->offer != MARKET_NO_OFFER)
        leave(t, event);
}

/* Whether the job is done before the next event. */
static bool arrive(struct progress *t, size_t event)
{
    if (t->view.offer == MARKET_NO_OFFER)
        return false;
    double end_s = market_stay_until(&t->stay, t->replay->work - t->done_before);
    if (end_s > t->scene->at_s[event + 1])
        return false;
    /* Rounding may put the end a hair before the event at which it was decided. */
    end_s = fmax(market_to_ms(end_s), t->scene->at_s[event]);
    t->bill.finished = true;
    t->bill.finish_s = end_s;
    end_lease(t, event + (end_s >= t->scene->at_s[event + 1]), end_s, t->replay->work);
    return true;
}

static struct progress begin(const struct market_replay *replay)
{
    const struct market_job *j = replay->job;

    return (struct progress){.replay = replay,
                             .job = j,
                             .scene = j->scene,
                             .bill.first = MARKET_NO_OFFER,
                             .view = {.n_offers = j->scene->n_offers,
                                      .work_per_s = j->work_per_s,
                                      .place = j->scene->place,
                                      .switching = &j->switching,
                                      .offer = MARKET_NO_OFFER,
                                      .offer_before = MARKET_NO_OFFER,
                                      .checkpoint = MARKET_NOWHERE,
                                      .deadline_s = replay->deadline_s}};
}

struct market_bill market_replay_run(const struct market_replay *replay)
{
    struct progress t = begin(replay);
    size_t last = t.scene->n_events - 1;

    for (size_t k = replay->start; k < last; k++) {
        look(&t, k);
        if (arrive(&t, k))
            return t.bill;
    }
    t.bill.finish_s = t.scene->at_s[last];
    if (t.view.offer != MARKET_NO_OFFER)
        leave(&t, last);
    return t.bill;
}

static struct market_action decide_by_policy(const void *policy, const struct market_view *v)
{
    return market_decide(policy, v);
}

struct market_bill market_replay_policy(struct market_replay replay, const struct market_policy *p)
{
    replay.decide = decide_by_policy;
    replay.policy = p;
    return market_replay_run(&replay);
}

/* ---- one offer for all the way ---- */

struct market_bill market_replay_fixed(const struct market_replay *replay, size_t offer)
{
    const struct market_scene *s = replay->job->scene;
    struct progress t = begin(replay);
    size_t last = s->n_events - 1, k = replay->start;

    for (;;) {
        while (k < last && !s->can_start[k * s->n_offers + offer])
            k++;
        t.bill.finish_s = s->at_s[last];
        if (k == last)
            return t.bill;
        take(&t, k, offer);
        double end_s = market_stay_until(&t.stay, replay->work - t.done_before);
        size_t lost = market_scene_next_taken(s, offer, k);
        if (lost < last && end_s > s->at_s[lost]) {
            lose_machine(&t, k = lost);
            continue;
        }
        t.bill.finished = end_s <= s->at_s[last];
        t.bill.finish_s = fmin(market_to_ms(end_s), s->at_s[last]);
        end_lease(&t, market_scene_event(s, t.bill.finish_s), t.bill.finish_s, replay->work);
        return t.bill;
    }
}
