#include "app/run/gpus.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)16 << 20)
#define TEXT_BYTES 400

/* clang-format off */
#define LACK(TYPE, member) FIELD(TYPE, struct app_run_lack, member)
static const struct field lack_fields[] = {
    {"stage", LACK(TEXT, stage), .help = "Name of the stage."},
    {"accelerators", LACK(TEXT, accelerators), .help = "Accelerators that it asks for."},
    {"there", LACK(TEXT, there), .help = "What is there instead."},
};
/* clang-format on */
const struct record app_run_lack_record = RECORD("run_lack", struct app_run_lack, lack_fields);

/* ---- what a stage asks for ---- */

/* Fractions share a GPU where that can be; here they are whole. */
static struct gpus_wish wish_of(const struct spec_accelerator *a)
{
    struct gpus_wish w = {.n = (unsigned)fmax(ceil(a->count), 1)};

    snprintf(w.type, sizeof w.type, "%s", a->name);
    return w;
}

/* Some alternative of the stage does without. */
static bool may_do_without(const struct spec_stage *s)
{
    for (size_t i = 0; i < s->n_alternatives; i++)
        if (s->alternatives[i].n_accelerators == 0)
            return true;
    return false;
}

static const char *asked(const struct spec_stage *s, struct arena *arena)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, TEXT_BYTES);
    for (size_t i = 0; i < s->n_alternatives; i++)
        for (size_t k = 0; k < s->alternatives[i].n_accelerators; k++) {
            const struct spec_accelerator *a = &s->alternatives[i].accelerators[k];
            buf_printf(&b, "%s%.60s:%g", b.len ? " or " : "", a->name, a->count);
        }
    return arena_dup(arena, buf_str(&b));
}

/* ---- what there is ---- */

struct looking {
    const struct app *app;
    const struct app_plan *plan;
    const struct app_run_location *location;
    struct gpus here;
    bool looked;
    struct app_run_gpus *out;
};

static int find(struct looking *l,
                const struct gpus_wish *wish,
                unsigned nodes,
                struct app_job_gpus *out,
                struct err *e)
{
    if (l->location->n_hosts) {
        const struct app_job_gpus_order order = {
            .on = l->location->on, .wish = *wish, .nodes = nodes};
        return app_job_gpus_hosts(l->plan->config, &order, l->out->arena, out, e);
    }
    if (!l->looked)
        app_job_gpus_find(l->app, &l->here);
    l->looked = true;
    return app_job_gpus_here(&l->here, wish, nodes, l->out->arena, out, e);
}

static const char *there(const struct looking *l)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, TEXT_BYTES);
    if (l->location->n_hosts) {
        buf_printf(&b, "the hosts of %.60s have too few or none", l->location->on);
    } else {
        buf_puts(&b, "this machine has ");
        gpus_put(&l->here, &b);
    }
    return arena_dup(l->out->arena, buf_str(&b));
}

static int note_lack(struct looking *l, const struct spec_stage *s, struct err *e)
{
    struct field_records *lacks = &l->out->lacks;
    struct app_run_lack *list = arena_alloc(l->out->arena, lacks->n + 1, sizeof *list);

    if (!list)
        return err_set(e, ERR_NOFIT, "the pipeline has too many stages");
    if (lacks->n)
        memcpy(list, lacks->items, lacks->n * sizeof *list);
    list[lacks->n] = (struct app_run_lack){.stage = s->name,
                                           .accelerators = asked(s, l->out->arena),
                                           .there = there(l),
                                           .line = s->line};
    *lacks = (struct field_records){list, lacks->n + 1};
    return 0;
}

/* Those of the planned machine. */
static struct app_job_gpus planned_gpus(const struct looking *l, size_t i)
{
    const struct catalog_kind *kind = l->plan->answer.plan.stages[i].kind;

    if (!(kind->accelerator_count > 0))
        return (struct app_job_gpus){.gpu_type = ""};
    return (struct app_job_gpus){
        .gpus = (unsigned)fmax(ceil(kind->accelerator_count), 1),
        .gpu_type = arena_dup(l->out->arena, catalog_text(l->plan->catalog, kind->accelerator))};
}

/* The first of its accelerators that is there. */
static int look_at(struct looking *l, size_t i, struct err *e)
{
    const struct spec_stage *s = &l->plan->spec->stages[i];
    unsigned nodes = l->plan->answer.plan.stages[i].nodes;
    bool asks = false;

    if (l->location->is_cloud) {
        l->out->stages[i] = planned_gpus(l, i);
        return 0;
    }
    for (size_t k = 0; k < s->n_alternatives; k++)
        for (size_t m = 0; m < s->alternatives[k].n_accelerators; m++) {
            const struct gpus_wish wish = wish_of(&s->alternatives[k].accelerators[m]);
            struct err ignored = {0};
            asks = true;
            if (find(l, &wish, nodes, &l->out->stages[i], &ignored) == 0)
                return 0;
        }
    l->out->stages[i] = (struct app_job_gpus){0};
    return asks && !may_do_without(s) ? note_lack(l, s, e) : 0;
}

struct app_run_gpus *app_run_gpus_new(const struct app *app,
                                      const struct app_plan *p,
                                      const struct app_run_location *location,
                                      struct err *e)
{
    AUTO(app_run_gpus) struct app_run_gpus *g = mem_zero(1, sizeof *g);
    struct looking l = {.app = app, .plan = p, .location = location, .out = g};

    g->arena = arena_new(ARENA_BYTES);
    g->stages = mem_zero(p->spec->n_stages + 1, sizeof *g->stages);
    for (size_t i = 0; plan_found(&p->answer) && i < p->spec->n_stages; i++)
        if (look_at(&l, i, e) < 0)
            return NULL;
    return TAKE(g);
}

void app_run_gpus_free(struct app_run_gpus *g)
{
    if (!g)
        return;
    arena_free(g->arena);
    free(g->stages);
    free(g);
}

bool app_run_gpus_lack(const struct app_run_gpus *g, const char *stage)
{
    const struct app_run_lack *list = g->lacks.items;

    for (size_t i = 0; i < g->lacks.n; i++)
        if (!strcmp(list[i].stage, stage))
            return true;
    return false;
}

int app_run_gpus_check(const struct app_run_gpus *g,
                       const struct app_plan *p,
                       bool without,
                       const struct answer *answer,
                       struct err *e)
{
    const struct app_run_lack *first = g->lacks.items;
    char option[64];

    if (without || g->lacks.n == 0)
        return 0;
    return err_set(e, ERR_NOFIT,
                   "%s:%zu: stage %s asks for %s, and %s: %s runs it without, --on GROUP on hosts",
                   p->spec->file, first->line, first->stage, first->accelerators, first->there,
                   answer_spell(answer, "without_gpus", option));
}
