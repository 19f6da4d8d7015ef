/* Stages that follow a market: the run's clock stops at every step of prices, the policy is asked
 * where the stage should be, and machines are launched, terminated and lost like any others. The
 * market itself is the sim cloud's: this file hears of a loss from the cloud's answers. */
#include "base/mem.h"
#include "base/money.h"
#include "broker/sim/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct trade {
    const struct simulate_trade *asked;
    struct market_view view; /* what the policy sees; offer: where the stage is */
    struct market_stay stay; /* there */
    double end_s;            /* when the work is done there */
    double done;             /* work, when the stay began */
    size_t event;            /* the last one that the policy was asked at; SIZE_MAX = never */
};

static int64_t to_ms(double at_s)
{
    return at_s < (double)INT64_MAX / 1000 ? llround(at_s * 1000) : INT64_MAX;
}

static double now_s(const struct sim *s)
{
    return (double)sim_now(s) / 1000;
}

/* ---- the market as a cloud ---- */

/* How much of the machine the job takes. */
static double gpus_of(const struct simulate_market *m, const struct market_offer *o)
{
    return m->use == MARKET_GPU_SHARE ? 1 : o->gpus;
}

static size_t find_offer(const struct simulate_market *market, const struct cloud_machine *m)
{
    const struct market_scene *s = market->scene;

    for (size_t i = 0; m->spot && i < s->n_offers; i++) {
        const struct market_offer *o = s->offers[i];
        if (!strcmp(o->cloud, m->provider) && !strcmp(o->region, m->region) &&
            !strcmp(o->zone, m->zone) && !strcmp(o->instance_type, m->instance_type))
            return fabs(gpus_of(market, o) - m->accelerators) > 0 ? MARKET_NO_OFFER : i;
    }
    return MARKET_NO_OFFER;
}

static bool knows(void *context, const struct cloud_machine *m)
{
    return find_offer(context, m) != MARKET_NO_OFFER;
}

static double usd_per_hour(void *context, const struct cloud_machine *m, int64_t at_ms)
{
    const struct simulate_market *market = context;
    const struct market_scene *s = market->scene;

    return market_scene_usd(s, market_scene_event(s, (double)at_ms / 1000), find_offer(market, m)) *
           3600;
}

static double paid_usd(void *context, const struct cloud_machine *m, int64_t until_ms)
{
    const struct simulate_market *market = context;
    size_t offer = find_offer(market, m);

    return market_scene_paid(market->scene, offer, (double)until_ms / 1000) -
           market_scene_paid(market->scene, offer, (double)m->launched_ms / 1000);
}

static int64_t taken_ms(void *context, const struct cloud_machine *m)
{
    const struct simulate_market *market = context;
    const struct market_scene *s = market->scene;
    size_t offer = find_offer(market, m);
    size_t event = market_scene_event(s, (double)m->launched_ms / 1000);
    size_t taken = market_scene_next_taken(s, offer, event);
    int64_t lost_ms = taken == SIZE_MAX ? INT64_MAX : to_ms(s->at_s[taken]);
    int64_t ends_ms = to_ms((double)m->launched_ms / 1000 + s->lease_max_s[offer]);

    return lost_ms < ends_ms ? lost_ms : ends_ms;
}

const struct cloud_market *trade_cloud(struct sim *s)
{
    const struct simulate_market *m = s->o->market;

    if (!m)
        return NULL;
    /* The context is only read. */
    union {
        const void *from;
        void *to;
    } context = {.from = m};
    s->cloud_market = (struct cloud_market){.context = context.to,
                                            .knows = knows,
                                            .usd_per_hour = usd_per_hour,
                                            .paid_usd = paid_usd,
                                            .taken_ms = taken_ms,
                                            .boot_s = m->restart_s};
    return &s->cloud_market;
}

/* ---- a stage in it ---- */

bool trade_wanted(const struct sim *s, size_t i)
{
    return s->o->market && s->o->market->stages[i].job;
}

void trade_start(struct sim *s, size_t i)
{
    struct stage_life *g = &s->lives[i];
    const struct simulate_trade *asked = &s->o->market->stages[i];
    const struct market_scene *scene = s->o->market->scene;

    g->trade = arena_zero(s->arena, 1, sizeof *g->trade);
    *g->trade = (struct trade){.asked = asked,
                               .event = SIZE_MAX,
                               .view = {.n_offers = scene->n_offers,
                                        .work_per_s = asked->job->work_per_s,
                                        .place = scene->place,
                                        .switching = &asked->job->switching,
                                        .offer = MARKET_NO_OFFER,
                                        .offer_before = MARKET_NO_OFFER,
                                        .checkpoint = MARKET_NOWHERE,
                                        .deadline_s = asked->deadline_s}};
}

static const struct market_offer *offer_of(const struct sim *s, size_t offer)
{
    return s->o->market->scene->offers[offer];
}

/* "$1.0500/h"; yours to free. */
static char *price_text(const struct sim *s, size_t event, size_t offer)
{
    double usd = market_scene_usd(s->o->market->scene, event, offer) * 3600;

    return isnan(usd) ? mem_dup("not for sale") : mem_printf("$%.4f/h", usd);
}

/* "p3.2xlarge in aws/us-east-1a at $1.0500/h"; yours to free. */
static char *offer_text(const struct sim *s, size_t event, size_t offer)
{
    const struct market_offer *o = offer_of(s, offer);
    AUTO_MEM char *price = price_text(s, event, offer);

    return mem_printf("%s in %s/%s at %s", o->instance_type, o->cloud,
                      *o->zone ? o->zone : o->region, price);
}

static double work_left(const struct sim *s, const struct trade *t)
{
    double left = t->asked->work - t->done;

    return t->view.offer == MARKET_NO_OFFER ? left : left - market_stay_work(&t->stay, now_s(s));
}

static double percent_left(const struct sim *s, const struct trade *t)
{
    return 100 * fmax(work_left(s, t), 0) / t->asked->work;
}

/* ---- machines ---- */

/* Where the stage is from now on, as its record and its orders have it. */
static void set_place(struct sim *s, size_t i, size_t event, size_t offer)
{
    const struct market_offer *o = offer_of(s, offer);

    s->o->stages[i] = (struct simulate_stage){
        .provider = o->cloud,
        .region = o->region,
        .zone = o->zone,
        .instance_type = o->instance_type,
        .accelerator = o->gpu,
        .accelerators = gpus_of(s->o->market, o),
        .spot = true,
        .nodes = 1,
        .price_usd_per_hour = market_scene_usd(s->o->market->scene, event, offer) * 3600};
}

/* 1: it is there; 0: the stage is given up. */
static int launch_machine(struct sim *s, size_t i, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    struct machine_order order;
    struct cloud_error why;
    char token[65];

    stage_order(s, i, 0, token, &order);
    g->gang = sim_gang_new(1);
    g->attempt++;
    if (machine_launch(&s->world->provisioner, &order, &g->gang->nodes[0], &why) == 0) {
        s->machines++;
        return stage_fire(s, i, EVENT_PROVISIONED, e) < 0 ? -1 : 1;
    }
    if (why.err.kind == ERR_IO || why.err.kind == ERR_RETRY)
        return err_set(e, why.err.kind, "%s", why.err.text);
    return stage_give_up(s, i, STAGE_FAILED, why.err.text, e);
}

/* How its machine is; *lost: the cloud took it back, and when. -1 when the records failed. */
static int look_at_machine(struct sim *s, size_t i, int64_t *lost_ms, struct err *e)
{
    struct machine *m = &s->lives[i].gang->nodes[0];
    struct cloud_error why;

    *lost_ms = 0;
    if (machine_look(&s->world->provisioner, m, &why) < 0)
        return err_set(e, why.err.kind, "%s", why.err.text);
    if (m->state == MACHINE_GONE)
        *lost_ms = m->facts.ended_ms ? m->facts.ended_ms : sim_now(s);
    return 0;
}

/* ---- entering and leaving offers ---- */

static void end_stay(struct trade *t, double work, bool left)
{
    struct market_view *v = &t->view;

    t->done += work;
    v->checkpoint = v->place[v->offer];
    v->offer_before = v->offer;
    v->offer = MARKET_NO_OFFER;
    v->left = left;
}

/* The stage releases the machine by its own choice: its checkpoint is written first. */
static int leave_offer(struct sim *s, size_t i, const char *reason, struct err *e)
{
    struct trade *t = s->lives[i].trade;

    end_stay(t, market_stay_work(&t->stay, now_s(s)), true);
    if (stage_drop_gang(s, &s->lives[i], reason, e) < 0)
        return -1;
    return stage_next_attempt(s, i, EVENT_STOPPED, e);
}

static int lose_offer(struct sim *s, size_t i, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    struct trade *t = g->trade;
    const struct market_offer *o = offer_of(s, t->view.offer);

    end_stay(t, market_stay_saved(&t->stay, now_s(s)), false);
    g->losses++;
    s->preemptions++;
    if (sim_note(s, i, e, "%s in %s/%s is reclaimed; %.1f %% is left", o->instance_type, o->cloud,
                 *o->zone ? o->zone : o->region, percent_left(s, t)) < 0)
        return -1;
    if (stage_drop_gang(s, g, "reclaimed by the cloud", e) < 0)
        return -1;
    return stage_next_attempt(s, i, EVENT_LOST, e);
}

/* A lease that ends by itself is no loss: the same again, at once. */
static int renew_offer(struct sim *s, size_t i, struct err *e)
{
    struct trade *t = s->lives[i].trade;
    size_t event = market_scene_event(s->o->market->scene, now_s(s));
    AUTO_MEM char *what = offer_text(s, event, t->view.offer);

    s->preemptions++;
    if (sim_note(s, i, e, "the longest lease of its cloud is over; again %s", what) < 0 ||
        stage_drop_gang(s, &s->lives[i], "its longest lease is over", e) < 0 ||
        stage_next_attempt(s, i, EVENT_LOST, e) < 0)
        return -1;
    set_place(s, i, event, t->view.offer);
    return launch_machine(s, i, e) < 0 ? -1 : 0;
}

static int take_offer(struct sim *s, size_t i, size_t event, size_t offer, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    struct trade *t = g->trade;
    struct market_view *v = &t->view;
    const struct market_switching *sw = v->switching;
    AUTO_MEM char *what = offer_text(s, event, offer);

    if (v->offer != MARKET_NO_OFFER) {
        AUTO_MEM char *here = price_text(s, event, v->offer);
        AUTO_MEM char *there = price_text(s, event, offer);
        AUTO_MEM char *why = mem_printf("moved from %s to %s", here, there);
        if (leave_offer(s, i, why, e) < 0)
            return -1;
    }
    int64_t move = money_from_usd(market_move_usd(sw, v->checkpoint, v->place[offer]));
    if (!stage_can_spend(s, move))
        return 0;
    set_place(s, i, event, offer);
    int there = launch_machine(s, i, e);
    if (there <= 0)
        return there;
    s->switches += v->offer_before != MARKET_NO_OFFER && v->offer_before != offer;
    v->ready_s = now_s(s) + market_start_s(sw, v->checkpoint, v->place[offer], v->left);
    v->offer = offer;
    v->left = false;
    t->stay = market_stay_of(t->asked->job, offer, now_s(s), v->ready_s, false);
    t->end_s = market_stay_until(&t->stay, t->asked->work - t->done);
    if (stage_charge(s, g, move, e) < 0)
        return -1;
    const char *how = v->offer_before == MARKET_NO_OFFER ? "starts on"
                      : v->offer_before == offer         ? "continues on"
                                                         : "moves to";
    return sim_note(s, i, e, "%s %s; %.1f %% is left", how, what, percent_left(s, t));
}

static int pause_stage(struct sim *s, size_t i, size_t event, struct err *e)
{
    struct trade *t = s->lives[i].trade;
    AUTO_MEM char *price = price_text(s, event, t->view.offer);
    AUTO_MEM char *why = mem_printf("waits for better prices than %s", price);

    if (sim_note(s, i, e, "%s; %.1f %% is left", why, percent_left(s, t)) < 0)
        return -1;
    return leave_offer(s, i, why, e);
}

/* ---- steps ---- */

/* The policy is asked once at each event, and where the stage begins. */
static int ask(struct sim *s, size_t i, size_t event, struct err *e)
{
    struct trade *t = s->lives[i].trade;
    const struct market_scene *scene = s->o->market->scene;
    struct market_view *v = &t->view;

    t->event = event;
    v->now_s = now_s(s);
    v->next_look_s = scene->at_s[event + 1];
    v->usd_per_s = scene->usd_per_s + event * scene->n_offers;
    v->may_start = scene->can_start + event * scene->n_offers;
    v->work_left = work_left(s, t);
    struct market_action a = market_decide(&t->asked->policy, v);
    v->decisions_made++;
    if (a.act == MARKET_TAKE && a.offer != v->offer)
        return take_offer(s, i, event, a.offer, e);
    if (a.act == MARKET_PAUSE && v->offer != MARKET_NO_OFFER)
        return pause_stage(s, i, event, e);
    return 0;
}

/* The machine goes back right after it is written down that the stage is finished. */
static int arrive(struct sim *s, size_t i, struct err *e)
{
    struct stage_life *g = &s->lives[i];

    stage_settle_cost(s, g);
    struct gang *gang = TAKE(g->gang);
    int result = stage_fire(s, i, EVENT_AGENT_ENDED, e);
    if (result < 0) {
        sim_gang_free(gang);
        return -1;
    }
    return sim_gang_return(s, gang, "its stage is over", e);
}

/* 1: the stage is over. */
static int watch_machine(struct sim *s, size_t i, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    struct trade *t = g->trade;
    const struct market_scene *scene = s->o->market->scene;
    int64_t lost_ms;

    if (!g->gang)
        return 0;
    if (look_at_machine(s, i, &lost_ms, e) < 0)
        return -1;
    if (t->end_s <= (lost_ms ? (double)lost_ms / 1000 : now_s(s)))
        return arrive(s, i, e) < 0 ? -1 : 1;
    if (!lost_ms)
        return 0;
    size_t event = market_scene_event(scene, now_s(s));
    bool by_itself = lost_ms - g->gang->nodes[0].facts.launched_ms == to_ms(t->stay.max_s) &&
                     !(scene->taken_back[event * scene->n_offers + t->view.offer] &&
                       to_ms(scene->at_s[event]) == lost_ms);
    return by_itself ? renew_offer(s, i, e) : lose_offer(s, i, e);
}

int trade_step(struct sim *s, size_t i, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    struct trade *t = g->trade;
    const struct market_scene *scene = s->o->market->scene;
    size_t event = market_scene_event(scene, now_s(s));
    int over = watch_machine(s, i, e);

    if (over || life_is_final(g->state))
        return over < 0 ? -1 : 0;
    if (event + 1 >= scene->n_events)
        return stage_give_up(s, i, STAGE_FAILED,
                             "the price histories end before the work is done: start earlier, or "
                             "import later prices",
                             e);
    if (event != t->event && ask(s, i, event, e) < 0)
        return -1;
    if (s->is_stopping || life_is_final(g->state))
        return 0;
    /* Of an end within the millisecond of the event at which it was decided. */
    if (g->gang && to_ms(t->end_s) <= sim_now(s))
        return arrive(s, i, e);
    g->wake_ms = to_ms(scene->at_s[event + 1]);
    if (g->gang && to_ms(t->end_s) < g->wake_ms)
        g->wake_ms = to_ms(t->end_s);
    return 0;
}
