#include "market/offline.h"

#include "base/money.h"
#include "scene_case.h"
#include "tap.h"

#include <math.h>

/* ---- every way there is, by trying them all; its own arithmetic ---- */

struct way {
    const struct scene_case *c;
    double best_usd;
};

struct state {
    size_t event, offer; /* SIZE_MAX = none */
    uint32_t place;      /* of the checkpoint, UINT32_MAX = not begun */
    bool left;
    double usd, work, idle_s; /* until it works */
    double age_s;
};

static void try_all(struct way *w, struct state s);

/* Goes on to the next event, an hour, a start-up or a renewal at a time. */
static void go_on(struct way *w, struct state s)
{
    const struct market_scene *scene = w->c->scene;
    double now_s = scene->at_s[s.event], end_s = scene->at_s[s.event + 1];

    while (s.offer != SIZE_MAX && now_s < end_s) {
        double speed = w->c->job->speed[s.offer], life_s = scene->lease_max_s[s.offer];
        double usd_per_s = market_scene_usd(scene, s.event, s.offer);
        double piece_s = fmin(end_s - now_s, life_s - s.age_s);
        if (s.idle_s > 0)
            piece_s = fmin(piece_s, s.idle_s);
        else
            piece_s = fmin(piece_s, (w->c->work - s.work) / speed);
        s.usd += piece_s * usd_per_s;
        now_s += piece_s;
        s.age_s += piece_s;
        if (s.idle_s > 0)
            s.idle_s -= piece_s;
        else
            s.work += piece_s * speed;
        if (s.work >= w->c->work * (1 - 1e-12)) {
            if (now_s <= w->c->deadline_s + 1e-6 && s.usd < w->best_usd)
                w->best_usd = s.usd;
            return;
        }
        if (s.age_s >= life_s) {
            s.age_s = 0;
            s.idle_s = w->c->job_wish.restart_s + w->c->job_wish.write_s;
        }
    }
    s.event++;
    try_all(w, s);
}

static void rent(struct way *w, struct state s, size_t i)
{
    const struct market_scene *scene = w->c->scene;
    const struct market_job_wish *j = &w->c->job_wish;

    s.idle_s = j->restart_s;
    if (s.offer != SIZE_MAX || s.left)
        s.idle_s += j->write_s;
    if (s.place != UINT32_MAX) {
        s.usd += w->c->move_usd[s.place * scene->n_places + scene->place[i]];
        if (s.place != scene->place[i])
            s.idle_s += j->move_s;
    }
    s.offer = i;
    s.place = scene->place[i];
    s.left = false;
    s.age_s = 0;
    go_on(w, s);
}

static void try_all(struct way *w, struct state s)
{
    const struct market_scene *scene = w->c->scene;
    bool all_sold = true, pauses = isfinite(w->c->deadline_s);

    if (s.event + 1 >= scene->n_events || s.usd >= w->best_usd ||
        scene->at_s[s.event] >= w->c->deadline_s)
        return;
    size_t row = s.event * scene->n_offers;
    for (size_t i = 0; i < scene->n_offers; i++)
        all_sold &= !isnan(market_price(scene->offers[i], scene->at_s[s.event]));
    if (s.offer != SIZE_MAX && scene->taken_back[row + s.offer])
        s.offer = SIZE_MAX;
    for (size_t i = 0; i < scene->n_offers; i++)
        if (i != s.offer && scene->can_start[row + i] && w->c->job->speed[i] > 0)
            rent(w, s, i);
    if (s.offer != SIZE_MAX || pauses || !all_sold)
        go_on(w, s);
    if (s.offer != SIZE_MAX && pauses) {
        s.offer = SIZE_MAX;
        s.left = true;
        go_on(w, s);
    }
}

static double exhaustive(const struct scene_case *c)
{
    struct way w = {c, (double)INFINITY};

    try_all(&w, (struct state){.offer = SIZE_MAX, .place = UINT32_MAX});
    return w.best_usd;
}

/* ---- the checks ---- */

static struct market_offline_question question(const struct scene_case *c)
{
    return (struct market_offline_question){
        .job = c->job, .work = c->work, .deadline_s = c->deadline_s, .upper_usd = (double)INFINITY};
}

/* An answer with its leases. */
struct solved {
    struct market_offline_answer a;
    size_t leases;
};

static struct solved solve(struct market_offline *o, struct market_offline_question q)
{
    struct market_log log = {0};
    struct solved s;

    q.log = &log;
    s.a = market_offline_solve(o, &q);
    s.leases = log.n;
    market_log_clear(&log);
    return s;
}

/* How far from the least cost, which has no rounding, an exact answer's bill may be: it has at most
 * two lines a lease, the lease and the move there, each rounded to a micro-dollar, so by half a one
 * at most. Of ways that differ by less than that either may be found. */
static double rounding_usd(const struct solved *s)
{
    return 1e-6 * (double)s->leases + 1e-9;
}

static bool same_usd(const struct solved *s, double usd)
{
    return fabs(money_to_usd(s->a.bill.cost_microusd) - usd) <= rounding_usd(s);
}

/* With all the help it can get: the cost is known. Both are as near to the least cost as said. */
static bool agrees_again(struct market_offline *o,
                         struct market_offline_question q,
                         const struct solved *first)
{
    double usd = q.upper_usd = money_to_usd(first->a.bill.cost_microusd);
    const struct solved again = solve(o, q);

    return again.a.proved && fabs(money_to_usd(again.a.bill.cost_microusd) - usd) <=
                                 rounding_usd(first) + rounding_usd(&again);
}

/* One that may be a part dearer. */
static bool agrees_roughly(struct market_offline *o, struct market_offline_question q, double usd)
{
    q.gap = 0.1;
    q.upper_usd = usd * 1.5;
    const struct market_offline_answer rough = market_offline_solve(o, &q);

    return rough.bound_usd <= usd && money_to_usd(rough.bill.cost_microusd) <= usd / 0.9;
}

static bool is_exact(struct market_offline *o,
                     const struct scene_case *c,
                     double best,
                     const struct solved *found)
{
    const struct market_offline_question q = question(c);

    if (!found->a.proved || found->a.bill.finished != isfinite(best))
        return false;
    if (!found->a.bill.finished)
        return true;
    return same_usd(found, best) && agrees_again(o, q, found) &&
           agrees_roughly(o, q, money_to_usd(found->a.bill.cost_microusd));
}

static void check_exact(struct market_offline *o, enum case_kind kind, const char *name)
{
    size_t wrong = 0, unfinished = 0, several = 0;
    struct scene_case c;

    for (uint64_t seed = 0; seed < 300; seed++) {
        case_random(&c, seed, kind);
        double best = exhaustive(&c);
        const struct solved found = solve(o, question(&c));
        bool good = is_exact(o, &c, best, &found);
        if (!good)
            printf("# %s, seed %d: %.6f, all ways: %.6f\n", name, (int)seed,
                   money_to_usd(found.a.bill.cost_microusd), best);
        wrong += good ? 0 : 1;
        unfinished += isfinite(best) ? 0 : 1;
        several += found.a.bill.switches > 0;
        case_clear(&c);
    }
    CHECK(wrong == 0, "%s: 300 markets as by trying all ways", name);
    CHECK(several >= 20 && unfinished < 200, "%s: %zu of them switch, %zu cannot be done", name,
          several, unfinished);
}

static void check_online(struct market_offline *o, enum case_kind kind, const char *name)
{
    size_t better = 0, runs = 0;
    struct scene_case c;

    for (uint64_t seed = 1000; seed < 1400; seed++) {
        case_random(&c, seed, kind);
        const struct market_offline_question q = question(&c);
        struct market_offline_answer a = market_offline_solve(o, &q);
        int64_t least = a.bill.finished ? a.bill.cost_microusd : INT64_MAX;
        for (enum market_policy_kind p = MARKET_STATIC; p <= MARKET_THRESHOLD; p++) {
            if (p == MARKET_THRESHOLD && !isfinite(c.deadline_s))
                continue;
            const struct market_policy policy = {.kind = p, .margin = 1, .usd_per_work = 0.0004};
            struct market_bill b = market_replay_policy(case_replay(&c), &policy);
            if (!b.finished || b.finish_s > c.deadline_s)
                continue;
            runs++;
            better += b.cost_microusd < least - 30;
            if (b.cost_microusd < least - 30)
                printf("# %s, seed %d, %s: %.6f, offline %.6f\n", name, (int)seed,
                       market_policy_texts[p], money_to_usd(b.cost_microusd),
                       money_to_usd(a.bill.cost_microusd));
        }
        for (size_t i = 0; i < c.n_offers; i++) {
            const struct market_replay replay = case_replay(&c);
            struct market_bill b = market_replay_fixed(&replay, i);
            better += b.finished && b.finish_s <= c.deadline_s && b.cost_microusd < least - 30;
        }
        case_clear(&c);
    }
    CHECK(better == 0 && runs > 300, "%s: none of %zu runs is cheaper than the optimum", name,
          runs);
}

int main(void)
{
    static const char *const names[CASE_N_KINDS] = {"plain", "preempted", "leases", "deadline"};
    AUTO(market_offline) struct market_offline *o = market_offline_new();

    for (size_t kind = 0; kind < CASE_N_KINDS; kind++) {
        check_exact(o, (enum case_kind)kind, names[kind]);
        check_online(o, (enum case_kind)kind, names[kind]);
    }
    return TAP_DONE();
}
