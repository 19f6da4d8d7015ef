/* What the clouds of a simulated run do with one stage, as events of the table in
 * broker/core/job_life.c: machines launched, refused, booted, lost; work done. Called by
 * simulate.c. */
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/sim/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* After this long without a useful answer of the cloud the stage fails. */
#define ASK_LIMIT_MS ((int64_t)30 * 60 * 1000)
/* A machine that is not up after this long never will be. */
#define BOOT_LIMIT_MS ((int64_t)30 * 60 * 1000)
/* Losses of machines after which a stage fails. */
#define LOSSES_MAX 1000
/* Failed boots after which a stage fails. */
#define DUDS_MAX 10
/* The shortest billed time, as in plans. */
#define BILL_MIN_S 60.0

void stage_settle_cost(struct sim *s, struct stage_life *g)
{
    int64_t cost = g->gang ? sim_gang_cost(g->gang, sim_now(s)) : 0;

    if (!g->gang)
        return;
    g->spent_microusd += cost - g->gang->told_microusd;
    g->gang->told_microusd = cost;
}

int stage_drop_gang(struct sim *s, struct stage_life *g, const char *reason, struct err *e)
{
    stage_settle_cost(s, g);
    return g->gang ? sim_gang_return(s, TAKE(g->gang), reason, e) : 0;
}

/* ---- money ---- */

bool stage_can_spend(struct sim *s, int64_t microusd)
{
    char spent[32], most[32];
    int64_t so_far = sim_spent(s, sim_now(s));

    if (s->o->max_microusd < 0 || so_far + microusd <= s->o->max_microusd)
        return true;
    sim_stop(s, RUN_STOPPED, "the spending limit of %s is reached: %s so far",
             money_text(s->o->max_microusd, most), money_text(so_far, spent));
    return false;
}

int stage_charge(struct sim *s, struct stage_life *g, int64_t microusd, struct err *e)
{
    if (!microusd)
        return 0;
    g->spent_microusd += microusd;
    s->ended_microusd += microusd;
    return machine_charge(&s->world->provisioner, g->gang->nodes[0].facts.token, microusd, e);
}

/* ---- losing machines ---- */

/* What was saved of the work when the machines went away. */
static void keep_checkpoint(struct sim *s, size_t i, int64_t lost_ms)
{
    struct stage_life *g = &s->lives[i];
    double each_s = s->o->run->stages[i].plan.checkpoint_s;
    double worked_s = (double)(lost_ms - g->work_ms) / 1000;

    if (g->state != LIFE_RUNNING || !(each_s > 0) || !(worked_s > 0) || !(g->work_s > 0))
        return;
    double saved_s = floor(worked_s / each_s) * each_s;
    g->left = fmax(g->left - saved_s / g->work_s, 0);
}

static int lose(struct sim *s, size_t i, const struct machine *gone, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    int64_t lost_ms = gone->facts.ended_ms ? gone->facts.ended_ms : sim_now(s);
    char after[32];

    keep_checkpoint(s, i, lost_ms);
    AUTO_MEM char *why = mem_printf(
        "%s in %s/%s: %s after %s; %.0f %% of the work is left", gone->facts.instance_type,
        gone->facts.provider, gone->facts.region, *gone->reason ? gone->reason : "gone",
        time_text((double)(lost_ms - gone->facts.launched_ms) / 1000, after), 100 * g->left);
    if (stage_drop_gang(s, g, "the stage lost a machine", e) < 0)
        return -1;
    if (++g->losses >= LOSSES_MAX)
        return stage_give_up(s, i, STAGE_FAILED, why, e);
    return sim_plan_again(s, i, why, e);
}

/* ---- provisioning ---- */

void stage_order(
    const struct sim *s, size_t i, unsigned node, char token[static 65], struct machine_order *out)
{
    const struct simulate_stage *p = &s->o->stages[i];

    snprintf(token, 65, "s%zu-a%u-n%u", i, s->lives[i].attempt, node);
    *out = (struct machine_order){
        .stage = (int64_t)i,
        .attempt = s->lives[i].attempt,
        .request = {.token = token,
                    .run = s->o->run->id,
                    .provider = p->provider,
                    .region = p->region,
                    .zone = p->zone,
                    .instance_type = p->instance_type,
                    .spot = p->spot,
                    .max_price_usd_per_hour = (double)INFINITY,
                    .price_usd_per_hour = p->price_usd_per_hour,
                    .bill_min_s = BILL_MIN_S,
                    .cpus = isfinite(p->cpus) ? p->cpus : 0,
                    .memory_gb = isfinite(p->memory_gb) ? p->memory_gb : 0,
                    .accelerator = *p->accelerator ? p->accelerator : NULL,
                    .accelerators = isfinite(p->accelerators) ? p->accelerators : 0}};
}

/* These machines cannot be had, or do not come up: others then. */
static int refuse(
    struct sim *s, size_t i, const struct cloud_error *refused, const char *why, struct err *e)
{
    if (stage_drop_gang(s, &s->lives[i], why, e) < 0)
        return -1;
    sim_plan_block(s, &s->o->stages[i], refused);
    return sim_plan_again(s, i, why, e);
}

static int wait_longer(
    struct sim *s, size_t i, const char *token, const struct cloud_error *why, struct err *e)
{
    struct stage_life *g = &s->lives[i];

    if (sim_now(s) - g->asked_ms >= ASK_LIMIT_MS)
        return stage_give_up(s, i, STAGE_FAILED, why->err.text, e);
    g->wake_ms = sim_now(s) + backoff_ms(s, token, g->tries++, why);
    return stage_fire(s, i, EVENT_RETRY_LATER, e);
}

/* What happened, without who called whom about which token. */
static const char *plain(const char *text, const char *token)
{
    const char *at = strstr(text, token);
    size_t n = strlen(token);

    return at && at[n] == ':' && at[n + 1] == ' ' ? at + n + 2 : text;
}

static int launch_failed(
    struct sim *s, size_t i, const char *token, const struct cloud_error *why, struct err *e)
{
    switch (why->failure) {
    case CLOUD_QUOTA:
    case CLOUD_CAPACITY:
    case CLOUD_UNSUPPORTED:
        return refuse(s, i, why, plain(why->err.text, token), e);
    case CLOUD_AUTH:
    case CLOUD_PERMISSION:
        sim_stop(s, RUN_FAILED, "%s: %s", s->o->stages[i].provider, plain(why->err.text, token));
        return 0;
    case CLOUD_THROTTLE:
    case CLOUD_TRANSIENT:
    case CLOUD_NOT_FOUND:
    case CLOUD_UNKNOWN:
        return wait_longer(s, i, token, why, e);
    case CLOUD_FINE:
    case CLOUD_CONFLICT:
    case CLOUD_INVALID:
        break;
    }
    if (why->err.kind == ERR_IO || why->err.kind == ERR_RETRY)
        return err_set(e, why->err.kind, "%s", why->err.text);
    sim_stop(s, RUN_FAILED, "%s", why->err.text);
    return 0;
}

static int launch_nodes(struct sim *s, size_t i, struct err *e)
{
    struct stage_life *g = &s->lives[i];

    for (unsigned node = 0; node < g->gang->n; node++) {
        struct machine *m = &g->gang->nodes[node];
        struct machine_order order;
        struct cloud_error why;
        char token[65];
        if (m->state > MACHINE_INTENDED)
            continue;
        stage_order(s, i, node, token, &order);
        if (machine_launch(&s->world->provisioner, &order, m, &why) < 0)
            return launch_failed(s, i, token, &why, e);
        s->machines++;
        g->tries = 0;
    }
    return stage_fire(s, i, EVENT_PROVISIONED, e);
}

static int provision(struct sim *s, size_t i, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    const struct simulate_stage *p = &s->o->stages[i];

    if (!g->gang) {
        double usd = p->nodes * p->price_usd_per_hour * BILL_MIN_S / 3600;
        if (!stage_can_spend(s, money_from_usd(fmin(usd, MONEY_MAX_USD))))
            return 0;
        g->gang = sim_gang_new(p->nodes);
        g->asked_ms = sim_now(s);
    }
    return launch_nodes(s, i, e);
}

/* ---- booting, working ---- */

/* How its machines are. *lost: one that is gone. *up: all of them are. -1 when the records failed.
 */
static int look_at_gang(
    struct sim *s, size_t i, const struct machine **lost, bool *up, struct err *e)
{
    struct stage_life *g = &s->lives[i];

    *lost = NULL;
    *up = true;
    for (unsigned node = 0; node < g->gang->n && !*lost; node++) {
        struct machine *m = &g->gang->nodes[node];
        struct cloud_error why;
        if (machine_look(&s->world->provisioner, m, &why) < 0) {
            if (why.failure == CLOUD_INVALID)
                return err_set(e, why.err.kind, "%s", why.err.text);
            if (why.failure == CLOUD_AUTH || why.failure == CLOUD_PERMISSION)
                sim_stop(s, RUN_FAILED, "%s", why.err.text);
            /* A machine that is not visible yet will be an event; other faults pass. */
            if (why.failure != CLOUD_NOT_FOUND)
                g->wake_ms = sim_now(s) + backoff_ms(s, m->facts.token, g->tries++, &why);
            *up = false;
        } else {
            *up = *up && m->state == MACHINE_RUNNING;
            *lost = m->state == MACHINE_GONE ? m : NULL;
        }
    }
    return 0;
}

/* Each failed boot costs half an hour of time and of the machine's price: the tries are limited. */
static int boot_failed(struct sim *s, size_t i, struct err *e)
{
    static const struct cloud_error dud = {.failure = CLOUD_CAPACITY, .scope = CLOUD_ZONE};
    const struct simulate_stage *p = &s->o->stages[i];
    struct stage_life *g = &s->lives[i];
    char limit[32];
    AUTO_MEM char *why = mem_printf("%s in %s/%s is not up after %s", p->instance_type, p->provider,
                                    p->region, time_text((double)BOOT_LIMIT_MS / 1000, limit));

    if (++g->duds < DUDS_MAX)
        return refuse(s, i, &dud, why, e);
    AUTO_MEM char *end =
        mem_printf("%s; that makes %d boots that failed, and no more are tried", why, DUDS_MAX);
    if (stage_drop_gang(s, g, why, e) < 0)
        return -1;
    return stage_give_up(s, i, STAGE_FAILED, end, e);
}

static int boot(struct sim *s, size_t i, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    const struct machine *lost;
    bool up;

    g->wake_ms = g->asked_ms + BOOT_LIMIT_MS;
    if (look_at_gang(s, i, &lost, &up, e) < 0)
        return -1;
    if (lost)
        return lose(s, i, lost, e);
    if (up)
        return stage_fire(s, i, EVENT_GANG_COMPLETE, e);
    if (sim_now(s) < g->asked_ms + BOOT_LIMIT_MS)
        return 0;
    return boot_failed(s, i, e);
}

/* On-demand machines are not taken back: there is nothing to look for. */
static int work(struct sim *s, size_t i, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    const struct machine *lost = NULL;
    bool up = true;

    if (g->gang->nodes[0].facts.spot) {
        g->wake_ms = g->finish_ms;
        if (look_at_gang(s, i, &lost, &up, e) < 0)
            return -1;
        /* Taken after the work was done, and before that could be seen. */
        if (lost && lost->facts.ended_ms >= g->finish_ms)
            lost = NULL;
        else if (lost)
            return lose(s, i, lost, e);
    }
    if (sim_now(s) < g->finish_ms || !up)
        return 0;
    return stage_fire(s, i, EVENT_AGENT_ENDED, e);
}

int stage_step(struct sim *s, size_t i, struct err *e)
{
    const struct stage_life *g = &s->lives[i];

    if (g->trade)
        return trade_step(s, i, e);
    if (g->state == LIFE_PROVISIONING)
        return provision(s, i, e);
    return g->state == LIFE_BOOTING ? boot(s, i, e) : g->state == LIFE_RUNNING ? work(s, i, e) : 0;
}

bool stage_watches(const struct sim *s, size_t i)
{
    const struct stage_life *g = &s->lives[i];

    return g->state == LIFE_BOOTING || (g->state == LIFE_RUNNING && g->gang->nodes[0].facts.spot);
}

bool stage_is_due(const struct sim *s, size_t i)
{
    const struct stage_life *g = &s->lives[i];

    return g->wake_ms <= sim_now(s) || (s->cloud_event && stage_watches(s, i));
}
