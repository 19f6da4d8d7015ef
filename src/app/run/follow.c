#include "app/run/follow.h"

#include "app/market/market.h"
#include "base/buf.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "market/import.h"
#include "market/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOME_CLOUD "aws"
#define HOME_REGION "us-east-1"
#define NOTE_MAX_BYTES 400

void app_run_follow_clear(struct app_run_follow *m)
{
    union {
        const struct market_job *from;
        struct market_job *to;
    } job;

    for (size_t i = 0; i < m->n; i++) {
        job.from = m->trades[i].job;
        market_job_free(job.to);
        free(m->may_use[i]);
        free(m->notes[i]);
    }
    free(m->trades);
    free(m->may_use);
    free(m->notes);
    app_live_clear(&m->live);
}

static int open_live(struct app *app,
                     struct app_run_follow *m,
                     const struct app_plan *p,
                     const struct app_run_follow_request *q,
                     const struct answer *answer,
                     struct err *e)
{
    char option[64], other[64];
    const struct app_plan_settings *set = &p->settings;
    struct app_live_start at = {.cloud = set->cloud ? set->cloud : HOME_CLOUD,
                                .region = set->region ? set->region : HOME_REGION,
                                .deadline_after_s = set->goal.deadline_s,
                                .seed = q->seed};

    if (strcmp(at.cloud, HOME_CLOUD) != 0 && !set->region)
        return err_set(e, ERR_USAGE, "%s %s: say in which region it begins: %s",
                       answer_spell(answer, "cloud", option), at.cloud,
                       answer_spell(answer, "region", other));
    if (app_market_start(q->start, answer, &at.at_s, e) < 0)
        return -1;
    m->start_s = at.at_s;
    return app_live_open_at(app, &m->live, &q->follow, &at, answer, e);
}

/* ---- the speed of a stage ---- */

/* Work per second on one GPU of this type, in the units of the estimate; NaN = not covered. */
static double speed_on(const struct app_plan *p,
                       const struct spec_estimate *x,
                       const char *model,
                       const char *gpu)
{
    if (x->kind == SPEC_ESTIMATE_ITERATIONS)
        return throughputs_get(p->throughputs, model, gpu);
    for (size_t i = 0; i < x->n_rates; i++)
        if (catalog_same_accelerator(x->rates[i].name, gpu))
            return x->kind == SPEC_ESTIMATE_WORK ? x->rates[i].value : 1 / x->rates[i].value;
    return (double)NAN;
}

static double work_of(const struct spec_estimate *x)
{
    if (x->kind == SPEC_ESTIMATE_ITERATIONS)
        return x->iterations;
    return x->kind == SPEC_ESTIMATE_WORK ? x->work : 1;
}

/* Why a stage cannot follow prices; NULL = it can. */
static const char *why_not(const struct spec_stage *s, enum market_gpu_use use)
{
    const struct spec_estimate *x = &s->estimate;

    if (s->num_nodes > 1)
        return "it has several nodes";
    if (x->kind == SPEC_ESTIMATE_PROFILE || x->kind == SPEC_ESTIMATE_GUESS ||
        (x->kind == SPEC_ESTIMATE_SECONDS && !x->n_rates))
        return "its estimate does not tell GPUs apart";
    for (size_t i = 0; i < s->n_alternatives; i++) {
        const struct spec_resources *r = &s->alternatives[i];
        if (r->use_spot == 0)
            return "it wants machines on demand";
        for (size_t k = 0; k < r->n_accelerators; k++)
            if (fabs(r->accelerators[k].count - 1) > 0)
                return "it wants other than one GPU";
    }
    for (size_t i = 0; i < x->n_rates && x->kind == SPEC_ESTIMATE_WORK; i++)
        if (use == MARKET_GPU_WHOLE && x->rates[i].parallel < 1)
            return "its work does not scale to whole machines";
    return NULL;
}

/* ---- offers that a stage may use ---- */

static bool same_or_any(const char *wanted, const char *name)
{
    return !wanted || strcasecmp(wanted, name) == 0;
}

static bool allows(const struct spec_resources *r, const struct market_offer *o)
{
    bool gpu = !r->n_accelerators;

    for (size_t i = 0; i < r->n_accelerators; i++)
        gpu |= catalog_same_accelerator(r->accelerators[i].name, o->gpu);
    return gpu && same_or_any(r->cloud, o->cloud) && same_or_any(r->zone, o->zone) &&
           same_or_any(r->instance_type, o->instance_type) &&
           (!r->region || strcasecmp(market_region(o->cloud, r->region), o->region) == 0);
}

/* Marks the offers that a stage may use; false when there is none. */
static bool allow(const struct spec_stage *s, const struct market_scene *scene, bool *may_use)
{
    bool any = false;

    for (size_t i = 0; i < scene->n_offers; i++)
        for (size_t k = 0; k < s->n_alternatives; k++) {
            may_use[i] |= allows(&s->alternatives[k], scene->offers[i]);
            any |= may_use[i];
        }
    return any;
}

/* ---- one stage ---- */

static struct market_job *make_job(struct app_run_follow *m,
                                   const struct app_plan *p,
                                   const struct spec_stage *s,
                                   double *work_out,
                                   struct err *e)
{
    const struct spec_estimate *x = &s->estimate;
    const struct market_scene *scene = m->live.live->scene;
    AUTO_MEM double *speeds = mem_zero(scene->n_gpus, sizeof *speeds);
    AUTO(arena) struct arena *arena = arena_new((size_t)1 << 20);
    const char *model = x->model ? app_market_model(p->throughputs, x->model, arena, e) : "";

    if (!model)
        return NULL;
    double reference = speed_on(p, x, model, MARKET_REFERENCE_GPU);
    if (!(reference > 0)) {
        err_set(e, ERR_NOFIT,
                "stage %s: its estimate says nothing of a %s, which work is counted in: add it",
                s->name, MARKET_REFERENCE_GPU);
        return NULL;
    }
    for (size_t g = 0; g < scene->n_gpus; g++)
        speeds[g] = speed_on(p, x, model, scene->gpus[g]) / reference;
    /* Through days, as replays count: the same rounding gives the same costs. */
    *work_out = work_of(x) / reference / 86400 * 86400;
    double every_s =
        isnan(m->live.checkpoint_s) && s->checkpoint_s > 0 ? s->checkpoint_s : m->live.checkpoint_s;
    return app_live_job_of(&m->live, model, speeds, every_s);
}

static void put_names(struct buf *b, const char *before, const struct market_names *l)
{
    for (size_t i = 0; i < l->n; i++)
        buf_printf(b, "%s%s", i ? ", " : before, l->names[i]);
}

/* The clouds whose prices the stage follows, and those it leaves out; yours to free. */
static char *note_of(const struct app_run_follow *m, const struct market_policy *policy)
{
    AUTO_CLEAR(buf) struct buf b;
    char from[32];
    const struct market_live *l = m->live.live;

    buf_init(&b, NOTE_MAX_BYTES);
    put_names(&b, "follows prices of ", &l->clouds);
    buf_printf(&b, " from %s on: %s", app_market_time(m->start_s, from),
               market_policy_texts[policy->kind]);
    put_names(&b, "; histories do not cover that time of ", &l->left_out);
    put_names(&b, "; preemptions are not recorded of ", &l->unmeasured);
    return mem_dup(buf_str(&b));
}

static int open_stage(struct app_run_follow *m, const struct app_plan *p, size_t i, struct err *e)
{
    const struct spec_stage *s = &p->spec->stages[i];
    const struct market_scene *scene = m->live.live->scene;
    const char *why = why_not(s, m->live.use);
    struct simulate_trade *t = &m->trades[i];

    if (why) {
        m->notes[i] = mem_printf("runs as planned and follows no prices, since %s", why);
        return 0;
    }
    m->may_use[i] = mem_zero(scene->n_offers + 1, sizeof *m->may_use[i]);
    if (!allow(s, scene, m->may_use[i]))
        return err_set(e, ERR_NOFIT,
                       "stage %s: no imported history is of a machine that its resources allow: "
                       "`tradewind market ls` lists them",
                       s->name);
    t->job = make_job(m, p, s, &t->work, e);
    if (!t->job)
        return -1;
    struct market_live_question q = m->live.question;
    q.job = t->job;
    t->policy = market_live_policy(m->live.live, &q, m->start_s);
    t->policy.may_use = m->may_use[i];
    t->deadline_s = m->start_s + q.deadline_after_s;
    m->notes[i] = note_of(m, &t->policy);
    return 0;
}

int app_run_follow_open(struct app *app,
                        struct app_run_follow *m,
                        const struct app_plan *p,
                        const struct app_run_follow_request *q,
                        const struct answer *answer,
                        struct err *e)
{
    char option[64];
    size_t n = p->spec->n_stages, following = 0;

    if (open_live(app, m, p, q, answer, e) < 0)
        return -1;
    m->trades = mem_zero(n + 1, sizeof *m->trades);
    m->may_use = mem_zero(n + 1, sizeof *m->may_use);
    m->notes = mem_zero(n + 1, sizeof *m->notes);
    m->n = n;
    for (size_t i = 0; i < n; i++) {
        if (open_stage(m, p, i, e) < 0)
            return -1;
        following += m->trades[i].job != NULL;
    }
    if (!following)
        return err_set(e, ERR_USAGE,
                       "%s: no stage can follow prices; %s %s. One that can has one node, at "
                       "most one GPU and an estimate by GPU, as in {hours: {V100: 10, K80: 40}}",
                       answer_spell(answer, "start", option), p->spec->stages[0].name, m->notes[0]);
    m->market = (struct simulate_market){.scene = m->live.live->scene,
                                         .use = m->live.use,
                                         .restart_s = m->live.restart_s,
                                         .stages = m->trades};
    return 0;
}
