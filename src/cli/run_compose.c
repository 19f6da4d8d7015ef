#include "base/mem.h"
#include "broker/advance.h"
#include "broker/code.h"
#include "cli/command.h"
#include "cli/job_parts.h"
#include "cli/lake_open.h"
#include "cli/lake_progress.h"
#include "cli/run_parts.h"
#include "lake/put.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a job gets at least, where the plan's machine is not known to have more. */
#define MEMORY_STEP_MB 256

struct compose {
    const struct cli_plan *plan;
    const struct command_args *args;
    struct lake *lake;
    struct arena *arena;
    struct job_room machine;
    struct run *run;
    bool too_large; /* the arena's bound */
};

static const char *keep(struct compose *c, const char *s)
{
    const char *kept = s ? arena_dup(c->arena, s) : NULL;

    c->too_large = c->too_large || (s && !kept);
    return kept;
}

static void *room_for(struct compose *c, size_t n, size_t size)
{
    void *room = arena_alloc(c->arena, n + 1, size);

    c->too_large = c->too_large || !room;
    return room;
}

/* ---- inputs ---- */

/* Paths of a pipeline file begin where the file lies. New string. */
static char *from_file(const struct compose *c, const char *path)
{
    const char *file = c->plan->spec->file, *slash = strrchr(file, '/');

    if (path[0] == '/' || !slash)
        return mem_dup(path);
    return mem_printf("%.*s/%s", (int)(slash - file), file, path);
}

/* Where a local input lies in the lake: an absolute path as it is, any other below the pipeline's
 * name, so that it is the same wherever the file lies. New string, NULL on failure. */
static char *lake_path_of(const struct compose *c, const char *path, struct err *e)
{
    AUTO_MEM char *name = run_set_name(c->plan->spec->name, "", "");
    AUTO_MEM char *below = NULL;

    if (path[0] == '/')
        return lake_open_absolute(path, e);
    name[strlen(name) - 1] = '\0'; /* its dot */
    below = mem_printf("/%s/%s", name, path);
    return lake_open_absolute(below, e);
}

static int store_local(struct compose *c, const char *path, const char **ref_out, struct err *e)
{
    AUTO_MEM char *source = from_file(c, path);
    AUTO_MEM char *destination = lake_path_of(c, path, e);
    struct lake_progress_line line;
    struct lake_put_summary summary;
    struct stat st;

    if (!destination)
        return -1;
    if (stat(source, &st) < 0)
        return err_set(e, ERR_NOTFOUND, "input %s is not there", source);
    const char *const sources[] = {source};
    struct lake_put_options options = {.sources = sources,
                                       .n_sources = 1,
                                       .destination = destination,
                                       .progress = lake_progress_begin(&line, "storing")};
    int result = lake_put(c->lake, &options, NULL, NULL, &summary, e);
    lake_progress_end(&line);
    if (result < 0)
        return -1;
    AUTO_MEM char *ref = mem_printf("%s%s", destination, S_ISDIR(st.st_mode) ? "/" : "");
    *ref_out = keep(c, ref);
    return 0;
}

static int compose_input(struct compose *c,
                         const struct spec_stage *stage,
                         const struct spec_input *in,
                         struct run_input *out,
                         struct err *e)
{
    const struct spec *spec = c->plan->spec;

    switch (in->source) {
    case SPEC_FROM_STAGE:
        *out =
            (struct run_input){.stage = in->stage,
                               .output = keep(c, spec->stages[in->stage].outputs[in->output].name)};
        return 0;
    case SPEC_FROM_LAKE:
        out->ref = keep(c, strncmp(in->from, "lake:", 5) == 0 ? in->from + 5 : in->from);
        return 0;
    case SPEC_FROM_LOCAL:
        return store_local(c, in->from, &out->ref, e) < 0 ? err_wrap(e, "stage %s", stage->name)
                                                          : 0;
    case SPEC_FROM_URI:
        break;
    }
    return err_set(e, ERR_USAGE,
                   "%s:%zu: stage %s: %s cannot be fetched here: put a copy into the lake and name "
                   "it as lake:/path",
                   spec->file, in->line, stage->name, in->from);
}

static int compose_inputs(struct compose *c,
                          const struct spec_stage *stage,
                          struct run_stage_plan *out,
                          struct err *e)
{
    struct run_input *inputs = room_for(c, stage->n_inputs, sizeof *inputs);

    for (size_t i = 0; inputs && i < stage->n_inputs; i++)
        if (compose_input(c, stage, &stage->inputs[i], &inputs[i], e) < 0)
            return -1;
    out->inputs = inputs;
    out->n_inputs = stage->n_inputs;
    return 0;
}

/* ---- code, command, variables ---- */

static int compose_code(struct compose *c,
                        const struct spec_stage *stage,
                        struct run_stage_plan *out,
                        struct err *e)
{
    AUTO_CLEAR(code) struct code code = {0};

    if (!stage->workdir)
        return 0;
    if (stage->workdir_ref)
        return err_set(e, ERR_USAGE,
                       "%s:%zu: stage %s: workdir %s: name a directory here; repositories are not "
                       "fetched yet",
                       c->plan->spec->file, stage->line, stage->name, stage->workdir);
    AUTO_MEM char *path = from_file(c, stage->workdir);
    if (code_store(c->lake, c->plan->config->home, path, &code, e) < 0)
        return err_wrap(e, "stage %s: workdir", stage->name);
    out->code = keep(c, code.ref);
    return 0;
}

/* setup first, and the stage only if it went well; both as shell text, as they stand. */
static void compose_command(struct compose *c,
                            const struct spec_stage *stage,
                            struct run_stage_plan *out)
{
    const char **words = room_for(c, 6, sizeof *words);
    size_t n = 0;

    if (!words)
        return;
    words[n++] = "bash";
    words[n++] = "-c";
    if (stage->setup) {
        words[n++] = "bash -e -c \"$1\" && exec bash -c \"$2\"";
        words[n++] = keep(c, stage->name);
        words[n++] = keep(c, stage->setup);
    }
    words[n++] = keep(c, stage->run ? stage->run : "true");
    out->command = words;
    out->n_command = n;
}

/* --env before the environment; the last of several counts. */
static const char *value_given(const struct compose *c, const char *key)
{
    const char *value = getenv(key);
    size_t n = strlen(key);

    for (size_t i = 0; i < c->args->n_given; i++) {
        const struct command_given *g = &c->args->given[i];
        if (!strcmp(g->option->name, "--env") && !strncmp(g->value, key, n) && g->value[n] == '=')
            value = g->value + n + 1;
    }
    return value;
}

/* A variable of the file may be replaced by --env, and must be given where the file has none. */
static int compose_envs(struct compose *c,
                        const struct spec_stage *stage,
                        struct run_stage_plan *out,
                        struct err *e)
{
    struct run_pair *envs = room_for(c, stage->n_envs + 5, sizeof *envs);

    if (!envs)
        return 0;
    for (size_t i = 0; i < stage->n_envs; i++) {
        const struct spec_pair *pair = &stage->envs[i];
        const char *value = value_given(c, pair->key);
        if (!value || (pair->value && getenv(pair->key) == value))
            value = pair->value;
        if (!value)
            return err_set(e, ERR_USAGE, "%s:%zu: stage %s: %s has no value: --env %s=VALUE",
                           c->plan->spec->file, stage->line, stage->name, pair->key, pair->key);
        envs[out->n_envs++] = (struct run_pair){keep(c, pair->key), keep(c, value)};
    }
    /* What tasks of SkyPilot look for; here a stage has one node. */
    envs[out->n_envs++] = (struct run_pair){"SKYPILOT_NODE_RANK", "0"};
    envs[out->n_envs++] = (struct run_pair){"SKYPILOT_NODE_IPS", "127.0.0.1"};
    envs[out->n_envs++] = (struct run_pair){"SKYPILOT_NUM_NODES", "1"};
    envs[out->n_envs++] = (struct run_pair){"SKYPILOT_NUM_GPUS_PER_NODE", "0"};
    out->envs = envs;
    return 0;
}

/* ---- what was planned, what there is ---- */

static void compose_size(struct compose *c, const struct plan_stage *s, struct run_stage_plan *out)
{
    double cpus = s->kind->vcpus, memory_mb = floor(s->kind->memory_gib * 1024);
    const struct job_room *here = &c->machine;

    out->cpus = cpus > 0 && cpus < here->cpus ? cpus : here->cpus;
    out->memory_mb = memory_mb > 0 && memory_mb < (double)here->memory_mb ? (uint64_t)memory_mb
                                                                          : here->memory_mb;
    if (out->memory_mb < MEMORY_STEP_MB)
        out->memory_mb = MEMORY_STEP_MB;
    AUTO_MEM char *note = mem_dup("");
    if (cpus > here->cpus || memory_mb > (double)here->memory_mb || s->nodes > 1) {
        free(note);
        note = mem_printf("planned %u x %g vCPU with %g GB, given %g vCPU with %.1f GB", s->nodes,
                          cpus, s->kind->memory_gib, out->cpus, (double)out->memory_mb / 1024);
    }
    out->note = keep(c, note);
}

static void compose_plan(struct compose *c, const struct plan_stage *s, struct run_stage_plan *out)
{
    const struct catalog *catalog = c->plan->catalog;
    AUTO_MEM char *place = cli_plan_place_text(catalog, s->place, s->offer);

    out->place = keep(c, place);
    out->instance_type = keep(c, catalog_text(catalog, s->kind->instance_type));
    out->spot = s->spot;
    out->nodes = s->nodes;
    out->price_usd_per_hour = s->price_usd_per_hour * s->nodes;
    out->planned_s = s->setup_s + s->run_s;
    out->planned_microusd = s->compute_microusd + s->transfer_microusd + s->storage_microusd;
    compose_size(c, s, out);
}

static void compose_outputs(struct compose *c,
                            const struct spec_stage *stage,
                            struct run_stage_plan *out)
{
    const char **names = room_for(c, stage->n_outputs, sizeof *names);
    AUTO_MEM char *set = run_set_name(c->plan->spec->name, stage->name, "");

    for (size_t i = 0; names && i < stage->n_outputs; i++)
        names[i] = keep(c, stage->outputs[i].name);
    out->outputs = names;
    out->n_outputs = stage->n_outputs;
    out->output = stage->n_outputs ? keep(c, set) : NULL;
}

static int check_outputs(const struct compose *c, const struct spec_stage *stage, struct err *e)
{
    for (size_t i = 0; i < stage->n_outputs; i++)
        if (strchr(stage->outputs[i].name, '/'))
            return err_set(e, ERR_USAGE,
                           "%s:%zu: stage %s: output %s: outputs go to the lake here; give it a "
                           "name without '/'",
                           c->plan->spec->file, stage->outputs[i].line, stage->name,
                           stage->outputs[i].name);
    if (stage->n_secrets)
        return err_set(e, ERR_USAGE,
                       "%s:%zu: stage %s: secrets are not handed to jobs yet: use a file or an "
                       "environment of the machine",
                       c->plan->spec->file, stage->line, stage->name);
    return 0;
}

static int compose_stage(struct compose *c, size_t i, struct run_stage_plan *out, struct err *e)
{
    const struct spec_stage *stage = &c->plan->spec->stages[i];
    size_t *needs = room_for(c, stage->n_needs, sizeof *needs);

    out->name = keep(c, stage->name);
    if (needs && stage->n_needs)
        memcpy(needs, stage->needs, stage->n_needs * sizeof *needs);
    out->needs = needs;
    out->n_needs = stage->n_needs;
    out->checkpoint_s = stage->checkpoint_s;
    if (check_outputs(c, stage, e) < 0)
        return -1;
    compose_command(c, stage, out);
    compose_outputs(c, stage, out);
    compose_plan(c, &c->plan->answer.plan.stages[i], out);
    if (compose_envs(c, stage, out, e) < 0 || compose_inputs(c, stage, out, e) < 0)
        return -1;
    return compose_code(c, stage, out, e);
}

int run_compose(const struct cli_plan *p,
                const struct command_args *args,
                struct lake *l,
                struct arena *arena,
                struct run *out,
                struct err *e)
{
    struct compose c = {.plan = p,
                        .args = args,
                        .lake = l,
                        .arena = arena,
                        .machine = job_local_room(),
                        .run = out};
    size_t n = p->spec->n_stages;

    out->name = keep(&c, p->spec->name);
    out->file = keep(&c, p->spec->file);
    out->planned_s = p->answer.plan.time_s;
    out->planned_microusd = p->answer.plan.cost_microusd;
    out->stages = room_for(&c, n, sizeof *out->stages);
    for (size_t i = 0; out->stages && i < n; i++)
        if (compose_stage(&c, i, &out->stages[i].plan, e) < 0)
            return -1;
    out->n_stages = n;
    return c.too_large ? err_set(e, ERR_USAGE, "%s is too large a pipeline", p->spec->file) : 0;
}
