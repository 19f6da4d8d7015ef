/* Plans a simulated run again without the locations that refused machines. simulate_stage.c
 * calls it. */
#include "base/mem.h"
#include "broker/sim/internal.h"

#include <stdlib.h>
#include <string.h>

/* What was refused may be had again after this long. */
#define BLOCK_MS ((int64_t)3600 * 1000)
/* More plans than this lead nowhere. */
#define REPLANS_MAX 1000

bool simulate_block_meets(const struct simulate_block *b,
                          const char *provider,
                          const char *region,
                          const char *zone,
                          const char *instance_type,
                          const char *accelerator,
                          bool spot)
{
    if (b->spot != spot || strcmp(b->provider, provider) != 0)
        return false;
    if (*b->instance_type ? strcmp(b->instance_type, instance_type) != 0
                          : strcmp(b->accelerator, accelerator) != 0)
        return false;
    switch (b->scope) {
    case CLOUD_ACCOUNT:
        return true;
    case CLOUD_REGION:
        return strcmp(b->region, region) == 0;
    case CLOUD_ZONE:
        break;
    }
    return strcmp(b->region, region) == 0 && strcmp(b->zone, zone) == 0;
}

static void forget_old(struct sim *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n_blocks; i++)
        if (s->block_until_ms[i] > sim_now(s)) {
            s->blocks[kept] = s->blocks[i];
            s->block_until_ms[kept++] = s->block_until_ms[i];
        }
    s->n_blocks = kept;
}

int sim_plan_block(struct sim *s,
                   const struct simulate_stage *where,
                   const struct cloud_error *why,
                   struct err *e)
{
    bool is_quota = why->failure == CLOUD_QUOTA;
    struct simulate_block b = {.failure = why->failure,
                               .scope = why->scope,
                               .provider = arena_dup(s->arena, where->provider),
                               .region = arena_dup(s->arena, where->region),
                               .zone = arena_dup(s->arena, where->zone),
                               .instance_type =
                                   is_quota ? "" : arena_dup(s->arena, where->instance_type),
                               .accelerator = arena_dup(s->arena, where->accelerator),
                               .spot = where->spot};

    if (!b.provider || !b.region || !b.zone || !b.instance_type || !b.accelerator)
        return err_set(e, ERR_IO, "too many refusals to remember");
    s->blocks = mem_room(s->blocks, s->n_blocks, &s->cap_blocks, sizeof *s->blocks);
    s->block_until_ms =
        mem_room(s->block_until_ms, s->n_blocks, &s->cap_until, sizeof *s->block_until_ms);
    s->block_until_ms[s->n_blocks] = sim_now(s) + BLOCK_MS;
    s->blocks[s->n_blocks++] = b;
    return 0;
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
