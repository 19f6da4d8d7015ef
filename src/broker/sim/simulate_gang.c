/* The machines of one stage in a simulation, of which all are launched or none is used; and plans
 * without the locations that refused machines. simulate_stage.c calls it. */
#include "base/hash.h"
#include "base/mem.h"
#include "broker/sim/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waits of calls that are repeated, and of throttled ones. */
#define BACKOFF_S 1.0
#define BACKOFF_MAX_S 20.0
#define THROTTLED_S 5.0
#define THROTTLED_MAX_S 60.0
/* 2^6 seconds are past both limits. */
#define DOUBLINGS_MAX 6
/* What is being deleted is looked at again after this long. */
#define GOING_MS ((int64_t)15 * 1000)
#define ABSENT_MS ((int64_t)30 * 1000)
/* So often a machine may refuse to go before that is said. */
#define TRIES_TOLD 3

/* What was refused may be had again after this long. */
#define BLOCK_MS ((int64_t)3600 * 1000)
/* More plans than this lead nowhere. */
#define REPLANS_MAX 1000

double sim_draw(const struct sim *s, const char *purpose, const char *name, unsigned number)
{
    AUTO_MEM char *key = mem_printf("%016" PRIx64 " %s %s %u", s->o->seed, purpose, name, number);

    return (double)(hash_text(key) >> 11) * 0x1p-53;
}

int64_t backoff_ms(const struct sim *s,
                   const char *token,
                   unsigned tries,
                   const struct cloud_error *why)
{
    bool throttled = why->failure == CLOUD_THROTTLE;
    double most_s = (throttled ? THROTTLED_S : BACKOFF_S) *
                    (double)(1u << (tries < DOUBLINGS_MAX ? tries : DOUBLINGS_MAX));

    most_s = fmin(most_s, throttled ? THROTTLED_MAX_S : BACKOFF_MAX_S);
    double wait_s = fmax(sim_draw(s, "wait", token, tries) * most_s, why->retry_after_s);
    /* Never none: a call that fails for ever must meet the time limit. */
    return 1 + llround(wait_s * 1000);
}

/* ---- gangs ---- */

struct gang *sim_gang_new(unsigned n)
{
    struct gang *g = mem_zero(1, sizeof *g);

    g->nodes = mem_zero(n, sizeof *g->nodes);
    g->n = n;
    return g;
}

void sim_gang_free(struct gang *g)
{
    if (!g)
        return;
    free(g->nodes);
    free(g);
}

int64_t sim_gang_cost(const struct gang *g, int64_t now_ms)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < g->n; i++)
        sum += machine_cost_microusd(&g->nodes[i], now_ms);
    return sum;
}

int sim_gang_return(struct sim *s, struct gang *g, const char *reason, struct err *e)
{
    int result = 0;

    for (unsigned i = 0; i < g->n && result == 0; i++) {
        struct machine *m = &g->nodes[i];
        if (!m->state)
            continue; /* not asked for yet */
        snprintf(m->reason, sizeof m->reason, "%s", reason);
        result = leave(s, m, e);
    }
    sim_gang_free(g);
    return result;
}

int64_t sim_spent(const struct sim *s, int64_t at_ms)
{
    int64_t sum = s->ended_microusd;

    for (size_t i = 0; i < s->n_active; i++) {
        const struct gang *g = s->lives[s->active[i]].gang;
        sum += g ? sim_gang_cost(g, at_ms) : 0;
    }
    for (const struct gang *g = s->free; g; g = g->next)
        sum += sim_gang_cost(g, at_ms);
    for (size_t i = 0; i < s->n_leaving; i++)
        sum += machine_cost_microusd(&s->leaving[i].machine, at_ms);
    return sum;
}

/* ---- on the way back ---- */

/* -1 when the records failed; the next try deals with the cloud's faults. */
static int try_leaving(struct sim *s, struct leaving *l, struct err *e)
{
    struct machine *m = &l->machine;
    struct cloud_error why;
    int result = m->state == MACHINE_DELETING && m->facts.ended_ms
                     ? machine_look(&s->world->provisioner, m, &why)
                     : machine_release(&s->world->provisioner, m, m->reason, &why);

    if (result == 0) {
        l->tries = 0;
        l->wake_ms = sim_now(s) + (m->facts.ended_ms ? GOING_MS : ABSENT_MS);
        return 0;
    }
    if (why.failure == CLOUD_INVALID)
        return err_set(e, why.err.kind, "%s", why.err.text);
    l->wake_ms = sim_now(s) + (why.failure == CLOUD_NOT_FOUND
                                   ? ABSENT_MS
                                   : backoff_ms(s, m->facts.token, l->tries, &why));
    if (++l->tries == TRIES_TOLD)
        return sim_note(s, (size_t)m->stage, e, "%s is not terminated yet and bills on: %s",
                        m->facts.instance_type, why.err.text);
    return 0;
}

/* True when it is over and the entry is free. */
static bool drop_gone(struct sim *s, size_t i)
{
    const struct machine *m = &s->leaving[i].machine;

    if (m->state != MACHINE_GONE)
        return false;
    s->ended_microusd += machine_cost_microusd(m, sim_now(s));
    s->leaving[i] = s->leaving[--s->n_leaving];
    return true;
}

int leave(struct sim *s, const struct machine *m, struct err *e)
{
    s->leaving = mem_room(s->leaving, s->n_leaving, &s->cap_leaving, sizeof *s->leaving);
    s->leaving[s->n_leaving++] = (struct leaving){.machine = *m};
    if (try_leaving(s, &s->leaving[s->n_leaving - 1], e) < 0)
        return -1;
    drop_gone(s, s->n_leaving - 1);
    return 0;
}

int leave_due(struct sim *s, struct err *e)
{
    for (size_t i = 0; i < s->n_leaving;) {
        if (s->leaving[i].wake_ms <= sim_now(s)) {
            if (try_leaving(s, &s->leaving[i], e) < 0)
                return -1;
            if (drop_gone(s, i))
                continue;
        }
        i++;
    }
    return 0;
}

int64_t leave_next_ms(const struct sim *s)
{
    int64_t next_ms = INT64_MAX;

    for (size_t i = 0; i < s->n_leaving; i++)
        if (s->leaving[i].wake_ms < next_ms)
            next_ms = s->leaving[i].wake_ms;
    return next_ms;
}

/* ---- planning again ---- */

bool simulate_block_meets(const struct simulate_block *b, const struct simulate_stage *s)
{
    if (b->spot != s->spot || strcmp(b->provider, s->provider) != 0)
        return false;
    if (*b->instance_type ? strcmp(b->instance_type, s->instance_type) != 0
                          : strcmp(b->accelerator, s->accelerator) != 0)
        return false;
    return b->scope == CLOUD_ACCOUNT ||
           (strcmp(b->region, s->region) == 0 &&
            (b->scope == CLOUD_REGION || strcmp(b->zone, s->zone) == 0));
}

static void forget_old(struct sim *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n_blocks; i++)
        if (s->blocks[i].until_ms > sim_now(s))
            s->blocks[kept++] = s->blocks[i];
    s->n_blocks = kept;
}

void sim_plan_block(struct sim *s,
                    const struct simulate_stage *where,
                    const struct cloud_error *why)
{
    bool is_quota = why->failure == CLOUD_QUOTA;

    s->blocks = arena_room(s->arena, s->blocks, s->n_blocks, &s->cap_blocks, sizeof *s->blocks);
    s->blocks[s->n_blocks++] = (struct simulate_block){
        .failure = why->failure,
        .scope = why->scope,
        .provider = arena_dup(s->arena, where->provider),
        .region = arena_dup(s->arena, where->region),
        .zone = arena_dup(s->arena, where->zone),
        .instance_type = is_quota ? "" : arena_dup(s->arena, where->instance_type),
        .accelerator = arena_dup(s->arena, where->accelerator),
        .spot = where->spot,
        .until_ms = sim_now(s) + BLOCK_MS};
}

/* SIZE_MAX: for all that wait. */
int sim_plan_ask(struct sim *s, size_t i, struct err *e)
{
    AUTO_MEM double *left = mem_zero(s->n + 1, sizeof *left);

    forget_old(s);
    for (size_t k = 0; k < s->n; k++)
        left[k] = s->lives[k].state == LIFE_WAITING || k == i ? s->lives[k].left : 0;
    /* All of the work is saved, but the stage has to end somewhere. */
    if (i != SIZE_MAX && !(left[i] > 0))
        left[i] = 1e-9;
    struct simulate_question q = {.blocks = s->blocks,
                                  .n_blocks = s->n_blocks,
                                  .left = left,
                                  .elapsed_s = (double)(sim_now(s) - s->begin_ms) / 1000,
                                  .spent_microusd = sim_spent(s, sim_now(s))};
    if (!s->o->replan || ++s->replans > REPLANS_MAX)
        return err_set(e, ERR_NOFIT, "there is no other plan");
    return s->o->replan(s->o->context, &q, s->o->stages, e);
}

int sim_plan_again(struct sim *s, size_t i, const char *why, struct err *e)
{
    struct err none = {0};
    struct stage_life *g = &s->lives[i];
    const struct simulate_stage *p = &s->o->stages[i];

    if (sim_plan_ask(s, i, &none) < 0) {
        AUTO_MEM char *reason = mem_printf("%s; and no other plan: %s", why, none.text);
        if (none.kind != ERR_NOFIT)
            return err_set(e, none.kind, "%s", none.text);
        return stage_give_up(s, i, STAGE_FAILED, reason, e);
    }
    g->attempt++;
    g->tries = 0;
    /* A program that ran is lost with its machines; one that did not gets others. */
    if (g->state == LIFE_RUNNING ? stage_next_attempt(s, i, EVENT_LOST, e)
                                 : stage_fire(s, i, EVENT_REPLACED, e))
        return -1;
    return sim_note(s, i, e, "%s; next best: %s%s in %s/%s", why, p->instance_type,
                    p->spot ? " (spot)" : "", p->provider, p->region);
}
