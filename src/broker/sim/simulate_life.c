/* Drives the stages of a simulated run through the table of broker/core/job_life.c, with actions in
 * virtual time. Called by simulate.c, simulate_stage.c, simulate_gang.c and simulate_market.c. */
#include "base/mem.h"
#include "broker/sim/internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define TAU 6.283185307179586

/* Lognormal with mean 1, by the stage alone: a machine that is slow for it stays so. */
static double noise_of(const struct sim *s, size_t i)
{
    const char *name = s->o->run->stages[i].plan.name;
    double u = 1 - sim_draw(s, "noise", name, 0), v = sim_draw(s, "noise", name, 1);
    double normal = sqrt(-2 * log(u)) * cos(TAU * v), sigma = s->o->noise;

    return exp(sigma * normal - sigma * sigma / 2);
}

static bool fits(const struct gang *g, const struct simulate_stage *p)
{
    const struct cloud_machine *f = &g->nodes[0].facts;

    return g->n == p->nodes && f->spot == p->spot && !strcmp(f->provider, p->provider) &&
           !strcmp(f->region, p->region) && !strcmp(f->zone, p->zone) &&
           !strcmp(f->instance_type, p->instance_type);
}

/* Machines that another stage has just left are cheaper than new ones: they are up. */
static struct gang *take_free(struct sim *s, size_t i)
{
    for (struct gang **at = &s->free; *at; at = &(*at)->next)
        if (fits(*at, &s->o->stages[i])) {
            struct gang *g = *at;
            *at = g->next;
            g->next = NULL;
            return g;
        }
    return NULL;
}

/* ---- actions in virtual time: each sets the event that follows at once ---- */

typedef int action_fn(struct sim *s, size_t i, enum life_event *next, struct err *e);

static int record_launch(struct sim *s, size_t i, enum life_event *next, struct err *e)
{
    struct stage_life *g = &s->lives[i];

    g->begun_ms = g->asked_ms = sim_now(s);
    s->active[s->n_active++] = i;
    if (sim_set_stage(s, i, STAGE_GOING, "", e) < 0 || sim_tell_stage(s, i, STAGE_GOING, "", e) < 0)
        return -1;
    if (trade_wanted(s, i)) {
        trade_start(s, i);
        return 0;
    }
    g->gang = take_free(s, i);
    if (g->gang)
        *next = EVENT_REUSED;
    for (unsigned node = 0; g->gang && node < g->gang->n; node++)
        if (machine_hand_over(&s->world->provisioner, g->gang->nodes[node].facts.token, (int64_t)i,
                              e) < 0)
            return -1;
    return 0;
}

/* Provisioning and booting happen when the stage is due (stage_step). */
static int provision(struct sim *s, size_t i, enum life_event *next, struct err *e)
{
    (void)next;
    (void)e;
    s->lives[i].wake_ms = sim_now(s);
    return 0;
}

/* The nodes of a simulated gang are one stage: complete as soon as all machines are up. A market's
 * time to start counts as part of the stay there. */
static int gather(struct sim *s, size_t i, enum life_event *next, struct err *e)
{
    struct stage_life *g = &s->lives[i];

    (void)e;
    if (g->state != LIFE_BOOTING || g->trade)
        *next = EVENT_GANG_COMPLETE;
    else
        g->asked_ms = g->wake_ms = sim_now(s);
    return 0;
}

static int fetch(struct sim *s, size_t i, enum life_event *next, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    const struct simulate_stage *p = &s->o->stages[i];

    if (!g->trade && !stage_can_spend(s, p->transfer_microusd + p->storage_microusd))
        return 0; /* the run is stopping */
    *next = EVENT_FETCHED;
    return g->trade ? 0 : stage_charge(s, g, p->transfer_microusd, e);
}

static int start(struct sim *s, size_t i, enum life_event *next, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    const struct simulate_stage *p = &s->o->stages[i];

    (void)next;
    (void)e;
    if (g->trade)
        return 0;
    g->tries = 0;
    g->work_s = p->work_s * noise_of(s, i);
    g->work_ms = sim_now(s) + llround((p->setup_s + p->input_s) * 1000);
    g->finish_ms = g->work_ms + llround(g->left * g->work_s * 1000);
    g->wake_ms = g->finish_ms;
    return 0;
}

static int store(struct sim *s, size_t i, enum life_event *next, struct err *e)
{
    struct stage_life *g = &s->lives[i];

    if (stage_charge(s, g, s->o->stages[i].storage_microusd, e) < 0)
        return -1;
    (void)next;
    g->end = STAGE_FINISHED;
    return 0;
}

/* The machines of a finished stage are free for others. */
static int finish(struct sim *s, size_t i, struct err *e)
{
    struct stage_life *g = &s->lives[i];

    stage_settle_cost(s, g);
    g->left = 0;
    s->unfinished--;
    if (sim_set_stage(s, i, STAGE_FINISHED, "", e) < 0)
        return -1;
    if (g->gang) {
        g->gang->next = s->free;
        s->free = TAKE(g->gang);
    }
    for (size_t k = s->first_dependent[i]; k < s->first_dependent[i + 1]; k++)
        if (--s->lives[s->dependents[k]].needs_left == 0)
            s->ready[s->n_ready++] = s->dependents[k];
    return sim_tell_stage(s, i, STAGE_FINISHED, "", e);
}

static int skip_dependents(struct sim *s, size_t i, struct err *e)
{
    AUTO_MEM char *why = mem_printf("stage %s did not finish", s->o->run->stages[i].plan.name);

    for (size_t k = s->first_dependent[i]; k < s->first_dependent[i + 1]; k++) {
        size_t d = s->dependents[k];
        if (s->lives[d].state == LIFE_WAITING && stage_give_up(s, d, STAGE_SKIPPED, why, e) < 0)
            return -1;
    }
    return 0;
}

static int end(struct sim *s, size_t i, enum life_event *next, struct err *e)
{
    struct stage_life *g = &s->lives[i];
    const char *why = TAKE(g->why);

    (void)next;
    if (g->end == STAGE_GOING)
        return 0;
    if (g->end == STAGE_FINISHED)
        return finish(s, i, e);
    if (stage_drop_gang(s, g, why, e) < 0)
        return -1;
    s->unfinished--;
    s->has_failed |= g->end == STAGE_FAILED;
    if (sim_set_stage(s, i, g->end, why, e) < 0 || sim_tell_stage(s, i, g->end, why, e) < 0)
        return -1;
    return g->end == STAGE_FAILED || g->end == STAGE_SKIPPED ? skip_dependents(s, i, e) : 0;
}

/* What each action does, and the event that follows at once unless the action sets another. Actions
 * that are missing belong to events that no simulation has: lost connections, new brokers, hosts
 * that are taken. */
static const struct {
    action_fn *run; /* NULL = nothing to do */
    enum life_event next;
    bool known;
} actions[LIFE_ACTIONS] = {
    [ACTION_NONE] = {NULL, EVENT_NONE, true},
    [ACTION_RECORD_LAUNCH] = {record_launch, EVENT_RECORDED, true},
    [ACTION_RECORD_MACHINE] = {NULL, EVENT_RECORDED, true},
    [ACTION_RECORD_OUTCOME] = {NULL, EVENT_RECORDED, true},
    [ACTION_PROVISION] = {provision, EVENT_NONE, true},
    [ACTION_PROVISION_OTHER] = {provision, EVENT_NONE, true},
    [ACTION_GATHER] = {gather, EVENT_NONE, true},
    [ACTION_FETCH] = {fetch, EVENT_NONE, true},
    [ACTION_START] = {start, EVENT_NONE, true},
    [ACTION_CONCLUDE] = {NULL, EVENT_EXIT_OUTPUT, true},
    [ACTION_STORE] = {store, EVENT_STORED, true},
    [ACTION_END] = {end, EVENT_NONE, true},
};

int stage_fire(struct sim *s, size_t i, enum life_event event, struct err *e)
{
    struct stage_life *g = &s->lives[i];

    while (event != EVENT_NONE) {
        const struct life_row *row = life_find(g->state, event);
        assert(row && actions[row->action].known);
        g->state = row->next;
        event = actions[row->action].next;
        if (actions[row->action].run && actions[row->action].run(s, i, &event, e) < 0)
            return -1;
        assert(event == EVENT_NONE || life_raises(row->action, event));
    }
    return 0;
}

int stage_give_up(
    struct sim *s, size_t i, enum run_stage_state state, const char *reason, struct err *e)
{
    struct stage_life *g = &s->lives[i];

    g->end = state;
    g->why = reason;
    return stage_fire(s, i, state == STAGE_FAILED ? EVENT_FAILED : EVENT_STOPPED, e);
}

int stage_next_attempt(struct sim *s, size_t i, enum life_event event, struct err *e)
{
    struct stage_life *g = &s->lives[i];

    g->end = STAGE_GOING;
    if (stage_fire(s, i, event, e) < 0)
        return -1;
    g->state = LIFE_WAITING;
    return stage_fire(s, i, EVENT_TURN_AGAIN, e);
}
