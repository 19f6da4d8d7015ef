/* A stage's plan as JSON text, which is how runs.c stores it. */
#include "base/arena.h"
#include "base/json.h"
#include "broker/core/runs.h"

#include <string.h>

/* ---- writing ---- */

static json_t *texts(const char *const *list, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_text(list[i]));
    return array;
}

static json_t *needs_json(const struct run_stage_plan *p)
{
    json_t *array = json_array();

    for (size_t i = 0; i < p->n_needs; i++)
        json_array_append_new(array, json_integer((json_int_t)p->needs[i]));
    return array;
}

static json_t *input_json(const struct run_input *in)
{
    return in->ref ? json_pack("{s:s}", "ref", in->ref)
                   : json_pack("{s:I, s:s}", "stage", (json_int_t)in->stage, "output", in->output);
}

static json_t *inputs_json(const struct run_stage_plan *p)
{
    json_t *array = json_array();

    for (size_t i = 0; i < p->n_inputs; i++)
        json_array_append_new(array, input_json(&p->inputs[i]));
    return array;
}

static json_t *swaps_json(const struct run_stage_plan *p)
{
    json_t *array = json_array();

    for (size_t i = 0; i < p->n_swaps; i++) {
        json_t *swap = input_json(&p->swaps[i].now);
        json_object_set_new(swap, "set", json_text(p->swaps[i].set));
        json_array_append_new(array, swap);
    }
    return array;
}

static json_t *envs_json(const struct run_pair *envs, size_t n)
{
    json_t *object = json_object();

    for (size_t i = 0; i < n; i++)
        json_object_set_new(object, envs[i].key, json_text(envs[i].value));
    return object;
}

static void set_text(json_t *object, const char *key, const char *s)
{
    json_object_set_new(object, key, s ? json_text(s) : json_null());
}

char *run_plan_text(const struct run_stage_plan *p)
{
    AUTO_JSON json_t *o = json_object();

    set_text(o, "name", p->name);
    json_object_set_new(o, "needs", needs_json(p));
    json_object_set_new(o, "command", texts(p->command, p->n_command));
    json_object_set_new(o, "inputs", inputs_json(p));
    set_text(o, "code", p->code);
    if (p->all_code)
        json_object_set_new(o, "all_code", json_true());
    if (p->n_picks)
        json_object_set_new(o, "picks", texts(p->picks, p->n_picks));
    set_text(o, "output", p->output);
    json_object_set_new(o, "outputs", texts(p->outputs, p->n_outputs));
    if (p->image)
        set_text(o, "image", p->image);
    if (p->n_mounts)
        json_object_set_new(o, "mounts", envs_json(p->mounts, p->n_mounts));
    if (p->commit && p->commit[0])
        set_text(o, "commit", p->commit);
    json_object_set_new(o, "dirty", json_boolean(p->dirty));
    json_object_set_new(o, "envs", envs_json(p->envs, p->n_envs));
    if (p->n_submitter)
        json_object_set_new(o, "submitter_env", envs_json(p->submitter, p->n_submitter));
    json_object_set_new(o, "secrets", texts(p->secrets, p->n_secrets));
    json_object_set_new(o, "cpus", json_number(p->cpus));
    json_object_set_new(o, "memory_mb", json_integer((json_int_t)p->memory_mb));
    json_object_set_new(o, "time_limit_s", json_number(p->time_limit_s));
    json_object_set_new(o, "checkpoint_s", json_number(p->checkpoint_s));
    if (p->json_metrics)
        json_object_set_new(o, "json_metrics", json_true());
    json_object_set_new(o, "gpus_per_node", json_number(p->gpus_per_node));
    if (p->gpus) {
        json_object_set_new(o, "gpus", json_integer(p->gpus));
        set_text(o, "gpu_type", p->gpu_type);
        json_object_set_new(o, "devices", texts(p->devices, p->n_devices));
    }
    json_object_set_new(o, "continues", json_integer(p->continues));
    if (p->repeats) {
        json_object_set_new(o, "repeats", json_integer(p->repeats));
        set_text(o, "input", p->input);
        set_text(o, "restores", p->restores);
        json_object_set_new(o, "swaps", swaps_json(p));
    }
    set_text(o, "note", p->note);
    if (p->on)
        set_text(o, "on", p->on);
    if (p->serves)
        json_object_set_new(o, "serves", json_true());
    set_text(o, "place", p->place);
    set_text(o, "instance_type", p->instance_type);
    json_object_set_new(o, "spot", json_boolean(p->spot));
    json_object_set_new(o, "nodes", json_integer(p->nodes));
    json_object_set_new(o, "price_usd_per_hour", json_number(p->price_usd_per_hour));
    if (p->servers) {
        json_object_set_new(o, "servers", json_integer(p->servers));
        set_text(o, "server_on", p->server_on);
        json_object_set_new(o, "server_usd_per_hour", json_number(p->server_usd_per_hour));
        json_object_set_new(o, "elastic", json_boolean(p->elastic));
        json_object_set_new(o, "batch", json_number(p->batch));
    }
    json_object_set_new(o, "planned_s", json_number(p->planned_s));
    json_object_set_new(o, "planned_microusd", json_integer(p->planned_microusd));
    if (p->offer.provider[0])
        json_object_set_new(o, "offer", job_offer_json(&p->offer));
    if (p->server_offer.provider[0])
        json_object_set_new(o, "server_offer", job_offer_json(&p->server_offer));
    return json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
}

/* ---- reading ---- */

struct reading {
    struct arena *arena;
    const json_t *object;
    bool bad;
};

static const char *keep(struct reading *r, const char *s)
{
    const char *kept = s ? arena_dup(r->arena, s) : NULL;

    r->bad = r->bad || (s && !kept);
    return kept;
}

static const char *text_of(struct reading *r, const char *key)
{
    return keep(r, json_string_value(json_object_get(r->object, key)));
}

static double number_of(const struct reading *r, const char *key)
{
    return json_number_value(json_object_get(r->object, key));
}

static json_int_t whole_of(const struct reading *r, const char *key)
{
    return json_integer_value(json_object_get(r->object, key));
}

/* Room for the items of a list; none counts as bad when there should be some. */
static void *room_for(struct reading *r, const json_t *list, size_t size, size_t *n_out)
{
    *n_out = json_is_object(list) ? json_object_size(list) : json_array_size(list);
    void *room = arena_alloc(r->arena, *n_out + 1, size);
    if (!room) {
        r->bad = true;
        *n_out = 0;
    }
    return room;
}

static const char *const *texts_of(struct reading *r, const char *key, size_t *n_out)
{
    const json_t *list = json_object_get(r->object, key);
    const char **out = room_for(r, list, sizeof *out, n_out);

    for (size_t i = 0; i < *n_out; i++) {
        out[i] = keep(r, json_string_value(json_array_get(list, i)));
        r->bad = r->bad || !out[i];
    }
    return out;
}

static void read_needs(struct reading *r, struct run_stage_plan *p)
{
    const json_t *list = json_object_get(r->object, "needs");
    size_t *needs = room_for(r, list, sizeof *needs, &p->n_needs);

    for (size_t i = 0; i < p->n_needs; i++)
        needs[i] = (size_t)json_integer_value(json_array_get(list, i));
    p->needs = needs;
}

static struct run_input input_of(struct reading *r, const json_t *item)
{
    return (struct run_input){
        .ref = keep(r, json_string_value(json_object_get(item, "ref"))),
        .stage = (size_t)json_integer_value(json_object_get(item, "stage")),
        .output = keep(r, json_string_value(json_object_get(item, "output"))),
    };
}

static void read_inputs(struct reading *r, struct run_stage_plan *p)
{
    const json_t *list = json_object_get(r->object, "inputs");
    struct run_input *inputs = room_for(r, list, sizeof *inputs, &p->n_inputs);

    for (size_t i = 0; i < p->n_inputs; i++)
        inputs[i] = input_of(r, json_array_get(list, i));
    p->inputs = inputs;
}

static void read_swaps(struct reading *r, struct run_stage_plan *p)
{
    const json_t *list = json_object_get(r->object, "swaps");
    struct run_swap *swaps = room_for(r, list, sizeof *swaps, &p->n_swaps);

    for (size_t i = 0; i < p->n_swaps; i++) {
        const json_t *item = json_array_get(list, i);
        swaps[i] = (struct run_swap){keep(r, json_string_value(json_object_get(item, "set"))),
                                     input_of(r, item)};
        r->bad = r->bad || !swaps[i].set;
    }
    p->swaps = swaps;
}

static const struct run_pair *read_envs(struct reading *r, const char *name, size_t *n_out)
{
    json_t *object = json_object_get(r->object, name);
    struct run_pair *envs = room_for(r, object, sizeof *envs, n_out);
    const char *key;
    json_t *value;
    size_t i = 0;

    json_object_foreach(object, key, value)
    {
        if (i < *n_out)
            envs[i++] =
                (struct run_pair){.key = keep(r, key), .value = keep(r, json_string_value(value))};
    }
    return envs;
}

int run_plan_parse(struct arena *arena, const char *text, struct run_stage_plan *out, struct err *e)
{
    AUTO_JSON json_t *object = json_loads(text, 0, NULL);
    struct reading r = {.arena = arena, .object = object, .bad = !json_is_object(object)};

    if (!r.bad) {
        *out = (struct run_stage_plan){
            .name = text_of(&r, "name"),
            .code = text_of(&r, "code"),
            .all_code = json_is_true(json_object_get(object, "all_code")),
            .output = text_of(&r, "output"),
            .image = text_of(&r, "image"),
            .commit = text_of(&r, "commit"),
            .dirty = json_is_true(json_object_get(object, "dirty")),
            .repeats = whole_of(&r, "repeats"),
            .input = text_of(&r, "input"),
            .restores = text_of(&r, "restores"),
            .note = text_of(&r, "note"),
            .on = text_of(&r, "on"),
            .serves = json_is_true(json_object_get(object, "serves")),
            .place = text_of(&r, "place"),
            .instance_type = text_of(&r, "instance_type"),
            .cpus = number_of(&r, "cpus"),
            .memory_mb = (uint64_t)whole_of(&r, "memory_mb"),
            .time_limit_s = number_of(&r, "time_limit_s"),
            .checkpoint_s = number_of(&r, "checkpoint_s"),
            .json_metrics = json_is_true(json_object_get(object, "json_metrics")),
            .gpus_per_node = number_of(&r, "gpus_per_node"),
            .gpus = (unsigned)whole_of(&r, "gpus"),
            .gpu_type = text_of(&r, "gpu_type"),
            .continues = whole_of(&r, "continues"),
            .spot = json_is_true(json_object_get(object, "spot")),
            .nodes = (unsigned)whole_of(&r, "nodes"),
            .price_usd_per_hour = number_of(&r, "price_usd_per_hour"),
            .servers = (unsigned)whole_of(&r, "servers"),
            .server_on = text_of(&r, "server_on"),
            .server_usd_per_hour = number_of(&r, "server_usd_per_hour"),
            .elastic = json_is_true(json_object_get(object, "elastic")),
            .batch = number_of(&r, "batch"),
            .planned_s = number_of(&r, "planned_s"),
            .planned_microusd = whole_of(&r, "planned_microusd"),
        };
        job_offer_read(json_object_get(object, "offer"), &out->offer);
        job_offer_read(json_object_get(object, "server_offer"), &out->server_offer);
        out->command = texts_of(&r, "command", &out->n_command);
        out->picks = texts_of(&r, "picks", &out->n_picks);
        out->outputs = texts_of(&r, "outputs", &out->n_outputs);
        out->devices = texts_of(&r, "devices", &out->n_devices);
        out->secrets = texts_of(&r, "secrets", &out->n_secrets);
        read_needs(&r, out);
        read_inputs(&r, out);
        read_swaps(&r, out);
        out->envs = read_envs(&r, "envs", &out->n_envs);
        out->mounts = read_envs(&r, "mounts", &out->n_mounts);
        out->submitter = read_envs(&r, "submitter_env", &out->n_submitter);
    }
    return r.bad ? err_set(e, ERR_IO, "the record of a stage is damaged") : 0;
}
