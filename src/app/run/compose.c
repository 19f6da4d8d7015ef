#include "app/run/compose.h"

#include "base/mem.h"
#include "base/money.h"
#include "broker/pipeline/advance.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *app_run_draft_keep(struct app_run_draft *c, const char *s)
{
    const char *kept = s ? arena_dup(c->arena, s) : NULL;

    c->too_large = c->too_large || (s && !kept);
    return kept;
}

void *app_run_draft_alloc(struct app_run_draft *c, size_t n, size_t size)
{
    void *room = arena_alloc(c->arena, n + 1, size);

    c->too_large = c->too_large || !room;
    return room;
}

char *app_run_draft_path(const struct app_run_draft *c, const char *path)
{
    const char *file = c->plan->spec->file, *slash = strrchr(file, '/');
    const char *home = app_variable(c->app, "HOME");

    if (path[0] == '~' && (path[1] == '/' || !path[1]) && home)
        return mem_printf("%s%s", home, path + 1);
    if (path[0] == '/' || !slash)
        return mem_dup(path);
    return mem_printf("%.*s/%s", (int)(slash - file), file, path);
}

/* setup runs first, and the stage only if setup succeeded; both are shell text. */
static void compose_command(struct app_run_draft *c,
                            const struct spec_stage *stage,
                            struct run_stage_plan *out)
{
    const char **words = app_run_draft_alloc(c, 6, sizeof *words);
    size_t n = 0;

    if (!words)
        return;
    words[n++] = "bash";
    words[n++] = "-c";
    if (stage->setup) {
        words[n++] = "bash -e -c \"$1\" && exec bash -c \"$2\"";
        words[n++] = app_run_draft_keep(c, stage->name);
        words[n++] = app_run_draft_keep(c, stage->setup);
    }
    words[n++] = app_run_draft_keep(c, stage->run ? stage->run : "true");
    out->command = words;
    out->n_command = n;
}

/* ---- planned resources and those of the location ---- */

/* The smaller of two sizes; an unknown size is no bound. */
static double least(double planned, double there)
{
    bool is_planned = planned > 0 && isfinite(planned);

    return !is_planned ? there : there > 0 && there < planned ? there : planned;
}

static void compose_gpus(struct app_run_draft *c,
                         const struct app_job_gpus *gpus,
                         struct run_stage_plan *out)
{
    const char **devices = app_run_draft_alloc(c, gpus->n_devices, sizeof *devices);

    out->gpus = gpus->gpus;
    out->gpu_type = app_run_draft_keep(c, gpus->gpu_type);
    for (size_t i = 0; devices && i < gpus->n_devices; i++)
        devices[i] = app_run_draft_keep(c, gpus->devices[i]);
    out->devices = devices;
    out->n_devices = devices ? gpus->n_devices : 0;
}

static int compose_size(struct app_run_draft *c,
                        const struct spec_stage *stage,
                        const struct plan_stage *s,
                        struct run_stage_plan *out,
                        struct err *e)
{
    double cpus = s->kind->vcpus, memory_mb = floor(s->kind->memory_gib * 1024);
    const struct app_job_gpus *gpus = &c->gpus->stages[stage - c->plan->spec->stages];
    struct app_run_room room;

    if (app_run_location_room(c->order->location, s->nodes, gpus, &room, e) < 0)
        return err_wrap(e, "%s:%zu: stage %s", c->plan->spec->file, stage->line, stage->name);
    out->cpus = fmax(least(cpus, room.cpus), APP_JOB_CPU_STEP);
    out->memory_mb =
        (uint64_t)fmax(least(memory_mb, (double)room.memory_mb), APP_JOB_MEMORY_STEP_MB);
    compose_gpus(c, gpus, out);
    out->gpus_per_node = gpus->gpus ? gpus->gpus : room.gpus;
    if (c->order->location->n_hosts)
        out->price_usd_per_hour = room.price_usd_per_hour * s->nodes;
    bool lacks = gpus->gpus == 0 && app_run_gpus_lack(c->gpus, stage->name);
    AUTO_MEM char *note = mem_dup(lacks ? "without its accelerators" : "");
    if (cpus > out->cpus || memory_mb > (double)out->memory_mb) {
        free(note);
        note = mem_printf("planned %u x %g vCPU with %g GB, given %u x %g vCPU with %.1f GB%s",
                          s->nodes, cpus, s->kind->memory_gib, s->nodes, out->cpus,
                          (double)out->memory_mb / 1024, lacks ? ", without its accelerators" : "");
    }
    out->note = app_run_draft_keep(c, note);
    return 0;
}

static int compose_plan(struct app_run_draft *c,
                        const struct spec_stage *stage,
                        const struct plan_stage *s,
                        struct run_stage_plan *out,
                        struct err *e)
{
    const struct catalog *catalog = c->plan->catalog;
    AUTO_MEM char *place = app_plan_place_text(catalog, s->place, s->offer);

    out->place = app_run_draft_keep(c, place);
    out->instance_type = app_run_draft_keep(c, catalog_text(catalog, s->kind->instance_type));
    out->spot = s->spot;
    out->nodes = s->nodes;
    out->price_usd_per_hour = s->price_usd_per_hour * s->nodes;
    out->planned_s = s->setup_s + s->run_s;
    out->planned_microusd = s->compute_microusd + s->transfer_microusd + s->storage_microusd;
    if (c->order->location->is_cloud) {
        app_plan_offer(c->plan, (size_t)(stage - c->plan->spec->stages), &out->offer);
        out->offer.keep_warm_s = c->order->keep_warm_s;
    }
    return compose_size(c, stage, s, out, e);
}

static void compose_outputs(struct app_run_draft *c,
                            const struct spec_stage *stage,
                            struct run_stage_plan *out)
{
    const char **names = app_run_draft_alloc(c, stage->n_outputs, sizeof *names);
    AUTO_MEM char *set = advance_set_name(c->plan->spec->name, stage->name, "");

    for (size_t i = 0; names && i < stage->n_outputs; i++)
        names[i] = app_run_draft_keep(c, stage->outputs[i].name);
    out->outputs = names;
    out->n_outputs = stage->n_outputs;
    out->output = stage->n_outputs ? app_run_draft_keep(c, set) : NULL;
}

static int check_outputs(const struct app_run_draft *c,
                         const struct spec_stage *stage,
                         struct err *e)
{
    for (size_t i = 0; i < stage->n_outputs; i++) {
        const struct spec_output *o = &stage->outputs[i];
        if (strchr(o->name, '/'))
            return err_set(e, ERR_USAGE,
                           "%s:%zu: stage %s: output %s: outputs go to the lake here; give it a "
                           "name without '/'",
                           c->plan->spec->file, o->line, stage->name, o->name);
        if (o->name[0] == '.')
            return err_set(e, ERR_USAGE,
                           "%s:%zu: stage %s: output \"%s\": it names a directory; give it a name "
                           "that does not begin with '.'",
                           c->plan->spec->file, o->line, stage->name, o->name);
    }
    return 0;
}

/* Refuses stages whose sets would have the same name: a set's name has fewer characters to choose
 * from than a stage's. */
static int check_sets(const struct app_run_draft *c, size_t i, struct err *e)
{
    const struct spec_stage *stages = c->plan->spec->stages;
    AUTO_MEM char *input = advance_set_name(c->plan->spec->name, stages[i].name, RUN_INPUT_SUFFIX);
    const char *output = c->run->stages[i].plan.output;

    for (size_t k = 0; k < c->plan->spec->n_stages; k++) {
        const char *other = c->run->stages[k].plan.output;
        bool same =
            other && k != i &&
            ((output && !strcmp(output, other)) || (stages[i].n_inputs && !strcmp(input, other)));
        if (same)
            return err_set(e, ERR_USAGE,
                           "%s:%zu: stage %s: its data and the output of stage %s (line %zu) would "
                           "both be the set %s: rename one of them",
                           c->plan->spec->file, stages[i].line, stages[i].name, stages[k].name,
                           stages[k].line, other);
    }
    return 0;
}

/* ---- resuming ---- */

/* The last job of this stage in the resumed run: an unfinished job may have saved a checkpoint. A
 * gang of another size divides its work differently. */
static int64_t job_to_continue(const struct app_run_draft *c, const struct run_stage_plan *p)
{
    const struct run *last = c->order->resumed;

    for (size_t i = 0; last && p->checkpoint_s > 0 && i < last->n_stages; i++) {
        const struct run_stage *s = &last->stages[i];
        bool done = s->state == STAGE_FINISHED || s->state == STAGE_REUSED;
        unsigned nodes = s->plan.nodes > 1 ? s->plan.nodes : 1;
        if (!strcmp(s->plan.name, p->name) && !done && nodes == (p->nodes > 1 ? p->nodes : 1))
            return s->job ? s->job : s->plan.continues;
    }
    return 0;
}

/* ---- stages ---- */

int app_run_draft_stage(struct app_run_draft *c,
                        const struct spec_stage *stage,
                        struct run_stage_plan *out,
                        struct err *e)
{
    size_t *needs = app_run_draft_alloc(c, stage->n_needs, sizeof *needs);

    out->name = app_run_draft_keep(c, stage->name);
    if (needs && stage->n_needs)
        memcpy(needs, stage->needs, stage->n_needs * sizeof *needs);
    out->needs = needs;
    out->n_needs = stage->n_needs;
    out->checkpoint_s = stage->checkpoint_s;
    out->json_metrics = stage->json_metrics;
    if (!out->name || check_outputs(c, stage, e) < 0 ||
        app_run_draft_check_inputs(c, stage, e) < 0 || app_run_draft_check_code(c, stage, e) < 0 ||
        app_run_draft_image(c, stage, out, e) < 0)
        return -1;
    compose_command(c, stage, out);
    compose_outputs(c, stage, out);
    return app_run_draft_envs(c, stage, out, e) < 0 ? -1 : app_run_draft_secrets(c, stage, out, e);
}

int app_run_draft_store(struct app_run_draft *c,
                        const struct spec_stage *stage,
                        struct run_stage_plan *out,
                        struct err *e)
{
    return app_run_draft_inputs(c, stage, out, e) < 0 || app_run_draft_mounts(c, stage, out, e) < 0
               ? -1
               : app_run_draft_code(c, stage, out, e);
}

/* The checks of a stage; those of all stages come before the first byte is stored. */
static int compose_stage(struct app_run_draft *c,
                         size_t i,
                         struct run_stage_plan *out,
                         struct err *e)
{
    const struct spec_stage *stage = &c->plan->spec->stages[i];

    if (app_run_draft_stage(c, stage, out, e) < 0 ||
        compose_plan(c, stage, &c->plan->answer.plan.stages[i], out, e) < 0)
        return -1;
    out->continues = job_to_continue(c, out);
    return 0;
}

static int compose_all(struct app_run_draft *c, struct err *e)
{
    size_t n = c->plan->spec->n_stages;
    struct run *out = c->run;

    out->name = app_run_draft_keep(c, c->plan->spec->name);
    out->file = app_run_draft_keep(c, c->plan->spec->file);
    out->on = c->order->location->on;
    if (c->order->location->is_cloud) {
        AUTO_MEM char *request = app_plan_request_text(c->plan, out->on, e);
        if (!request)
            return -1;
        out->request = app_run_draft_keep(c, request);
    }
    out->planned_s = c->plan->answer.plan.time_s;
    out->planned_microusd = c->plan->answer.plan.cost_microusd;
    out->stages = app_run_draft_alloc(c, n, sizeof *out->stages);
    for (size_t i = 0; out->stages && i < n; i++)
        if (compose_stage(c, i, &out->stages[i].plan, e) < 0)
            return -1;
    for (size_t i = n; out->stages && i-- > 0;)
        if (check_sets(c, i, e) < 0)
            return -1;
    for (size_t i = 0; out->stages && i < n; i++)
        if (app_run_draft_store(c, &c->plan->spec->stages[i], &out->stages[i].plan, e) < 0)
            return -1;
    out->n_stages = n;
    return 0;
}

int app_run_draft_end(struct app_run_draft *c, int result, struct err *e)
{
    struct run_secret *secrets = app_run_draft_alloc(c, c->n_secrets, sizeof *secrets);

    if (secrets && c->n_secrets)
        memcpy(secrets, c->secrets, c->n_secrets * sizeof *secrets);
    c->run->secrets = secrets;
    c->run->n_secrets = c->n_secrets;
    free(c->secrets);
    c->secrets = NULL;
    app_run_codes_clear(&c->codes);
    if (c->too_large)
        return err_set(e, ERR_USAGE, "%s is too large a pipeline", c->plan->spec->file);
    return result;
}

int app_run_compose(struct app *app,
                    const struct app_plan *p,
                    const struct app_run_order *order,
                    struct arena *arena,
                    struct run *out,
                    struct err *e)
{
    struct app_run_draft c = {.app = app,
                              .plan = p,
                              .order = order,
                              .lake = app_lake(app, e),
                              .arena = arena,
                              .gpus = order->gpus,
                              .run = out};
    AUTO(app_run_gpus) struct app_run_gpus *found = NULL;

    if (!c.gpus)
        c.gpus = found = app_run_gpus_new(app, p, order->location, e);
    if (!c.lake || !c.gpus ||
        app_run_gpus_check(c.gpus, p, order->without_gpus, order->answer, e) < 0)
        return -1;
    return app_run_draft_end(&c, compose_all(&c, e), e);
}
