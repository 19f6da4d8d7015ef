#include "broker/core/details.h"

#include "base/json.h"
#include "base/mem.h"
#include "broker/core/gpus.h"

#include <stdlib.h>
#include <string.h>

const char *const job_submitter_names[JOB_SUBMITTER_NAMES] = {
    "PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES",
};

/* The texts: what each is called in JSON, and its value where there is none. */
static const struct {
    const char *key;
    size_t at;
    const char *missing;
} texts[] = {
    {"on", offsetof(struct job_details, on), "local"},
    {"stage", offsetof(struct job_details, stage), ""},
    {"because", offsetof(struct job_details, because), ""},
    {"commit", offsetof(struct job_details, git_commit), ""},
    {"restores", offsetof(struct job_details, restores), ""},
    {"gang", offsetof(struct job_details, gang), ""},
    {"image", offsetof(struct job_details, image), ""},
    {"gpu_type", offsetof(struct job_details, gpu_type), ""},
    {"request", offsetof(struct job_details, request), ""},
};
#define N_TEXTS (sizeof texts / sizeof *texts)

/* ---- to text ---- */

static int add_texts(json_t *root, const struct job_details *d, struct err *e)
{
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *text = *(const char *const *)(const void *)((const char *)d + texts[i].at);
        text = text && *text ? text : texts[i].missing;
        if (*text && json_object_set_new(root, texts[i].key, json_string(text)) < 0)
            return err_set(e, ERR_USAGE, "%s is not UTF-8 text", texts[i].key);
    }
    return 0;
}

static int add_envs(
    json_t *root, const char *key, const struct spec_pair *list, size_t n, struct err *e)
{
    json_t *envs = json_object();

    json_object_set_new(root, key, envs);
    for (size_t i = 0; i < n; i++) {
        const struct spec_pair *env = &list[i];
        if (json_object_set_new(envs, env->key, json_string(env->value ? env->value : "")) < 0)
            return err_set(e, ERR_USAGE,
                           "the environment variable %.64s is not UTF-8 text; pass it in a file",
                           env->key);
    }
    return 0;
}

static int add_names(
    json_t *root, const char *key, const char *const *list, size_t n, struct err *e)
{
    json_t *names = json_array();

    json_object_set_new(root, key, names);
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(names, json_string(list[i])) < 0)
            return err_set(e, ERR_USAGE, "a name in the list of %s is not UTF-8 text", key);
    return 0;
}

char *job_details_text(const struct job_details *d, struct err *e)
{
    AUTO_JSON json_t *root = json_object();

    if (add_texts(root, d, e) < 0 ||
        (d->n_envs && add_envs(root, "env", d->envs, d->n_envs, e) < 0) ||
        (d->n_submitter && add_envs(root, "submitter_env", d->submitter, d->n_submitter, e) < 0) ||
        (d->n_mounts && add_envs(root, "mounts", d->mounts, d->n_mounts, e) < 0) ||
        (d->n_secrets && add_names(root, "secrets", d->secrets, d->n_secrets, e) < 0) ||
        (d->n_outputs && add_names(root, "outputs", d->outputs, d->n_outputs, e) < 0) ||
        (d->n_inputs && add_names(root, "inputs", d->inputs, d->n_inputs, e) < 0) ||
        (d->n_devices && add_names(root, "devices", d->devices, d->n_devices, e) < 0))
        return NULL;
    if (d->offer.provider[0])
        json_object_set_new(root, "offer", job_offer_json(&d->offer));
    if (d->gpus)
        json_object_set_new(root, "gpus", json_integer(d->gpus));
    if (d->learn)
        json_object_set_new(root, "learn", json_true());
    if (d->json_metrics)
        json_object_set_new(root, "json_metrics", json_true());
    if (d->git_dirty)
        json_object_set_new(root, "dirty", json_true());
    if (d->checkpoint_s > 0)
        json_object_set_new(root, "checkpoint_s", json_number(d->checkpoint_s));
    if (d->price_usd_per_hour > 0)
        json_object_set_new(root, "price_usd_per_hour", json_number(d->price_usd_per_hour));
    if (d->continues > 0)
        json_object_set_new(root, "continues", json_integer(d->continues));
    if (d->nodes > 1) {
        json_object_set_new(root, "rank", json_integer(d->rank));
        json_object_set_new(root, "nodes", json_integer(d->nodes));
        if (d->servers)
            json_object_set_new(root, "servers", json_integer(d->servers));
        if (d->elastic)
            json_object_set_new(root, "elastic", json_true());
    }
    char *text = json_dumps(root, JSON_COMPACT);
    if (text && strlen(text) <= JOB_DETAILS_MAX)
        return text;
    free(text);
    err_set(e, ERR_USAGE, "environment and command are longer than %zu MiB together; pass a file",
            JOB_DETAILS_MAX >> 20);
    return NULL;
}

/* ---- from text ---- */

static int read_envs(const struct job_details *d,
                     const char *name,
                     struct spec_pair **out,
                     size_t *n_out,
                     struct err *e)
{
    json_t *envs = json_object_get(d->root, name), *value;
    const char *key;

    if (!envs)
        return 0;
    if (!json_is_object(envs))
        return err_set(e, ERR_IO, "details of a job: \"%s\" is not an object", name);
    struct spec_pair *list = *out = mem_zero(json_object_size(envs) + 1, sizeof *list);
    json_object_foreach(envs, key, value)
    {
        if (!json_is_string(value))
            return err_set(e, ERR_IO, "details of a job: \"%s\": %.64s is not a string", name, key);
        list[(*n_out)++] = (struct spec_pair){.key = key, .value = json_string_value(value)};
    }
    return 0;
}

/* The texts of a list go to `to`, plain: only names; returns their number, -1 with e. */
static int read_names(
    const struct job_details *d, const char *key, bool plain, const char **to, struct err *e)
{
    const json_t *names = json_object_get(d->root, key);
    size_t n = json_array_size(names);

    if (names && !json_is_array(names))
        return err_set(e, ERR_IO, "details of a job: \"%s\" is not a list", key);
    for (size_t i = 0; i < n; i++) {
        to[i] = json_string_value(json_array_get(names, i));
        if (!to[i] || !*to[i] || (plain && (strchr(to[i], '/') || to[i][0] == '.')))
            return err_set(e, ERR_IO, "details of a job: \"%s\": a name is not a plain one", key);
    }
    return (int)n;
}

static int read_lists(struct job_details *d, struct err *e)
{
    size_t n = json_array_size(json_object_get(d->root, "secrets")) +
               json_array_size(json_object_get(d->root, "outputs")) +
               json_array_size(json_object_get(d->root, "inputs")) +
               json_array_size(json_object_get(d->root, "devices"));

    d->names = mem_zero(n + 1, sizeof *d->names);
    int secrets = read_names(d, "secrets", true, d->names, e);
    int outputs = secrets < 0 ? -1 : read_names(d, "outputs", true, d->names + secrets, e);
    int inputs = outputs < 0 ? -1 : read_names(d, "inputs", false, d->names + secrets + outputs, e);
    if (inputs < 0)
        return -1;
    const char **rest = d->names + secrets + outputs + inputs;
    int devices = read_names(d, "devices", false, rest, e);
    if (devices < 0)
        return -1;
    d->devices = rest;
    d->n_devices = (size_t)devices;
    d->inputs = d->names + secrets + outputs;
    d->n_inputs = (size_t)inputs;
    d->secrets = d->names;
    d->n_secrets = (size_t)secrets;
    d->outputs = d->names + secrets;
    d->n_outputs = (size_t)outputs;
    return 0;
}

int job_details_parse(const char *text, struct job_details *out, struct err *e)
{
    *out = (struct job_details){0};
    if (strlen(text) > JOB_DETAILS_MAX)
        return err_set(e, ERR_IO, "details of a job: longer than %zu MiB", JOB_DETAILS_MAX >> 20);
    out->root = json_loads(text, 0, NULL);
    if (!json_is_object(out->root)) {
        job_details_clear(out);
        return err_set(e, ERR_IO, "details of a job: not a JSON object");
    }
    if (read_envs(out, "env", &out->envs, &out->n_envs, e) < 0 ||
        read_envs(out, "submitter_env", &out->submitter, &out->n_submitter, e) < 0 ||
        read_envs(out, "mounts", &out->mounts, &out->n_mounts, e) < 0 || read_lists(out, e) < 0) {
        job_details_clear(out);
        return -1;
    }
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *found = json_string_value(json_object_get(out->root, texts[i].key));
        *(const char **)(void *)((char *)out + texts[i].at) = found ? found : texts[i].missing;
    }
    job_offer_read(json_object_get(out->root, "offer"), &out->offer);
    out->json_metrics = json_is_true(json_object_get(out->root, "json_metrics"));
    out->git_dirty = json_is_true(json_object_get(out->root, "dirty"));
    out->price_usd_per_hour = json_number_value(json_object_get(out->root, "price_usd_per_hour"));
    out->continues = json_integer_value(json_object_get(out->root, "continues"));
    json_int_t gpus = json_integer_value(json_object_get(out->root, "gpus"));
    out->gpus = gpus > 0 && gpus <= GPUS_WISH_MAX ? (unsigned)gpus : 0;
    out->rank = (unsigned)json_integer_value(json_object_get(out->root, "rank"));
    out->nodes = (unsigned)json_integer_value(json_object_get(out->root, "nodes"));
    out->servers = (unsigned)json_integer_value(json_object_get(out->root, "servers"));
    out->learn = json_is_true(json_object_get(out->root, "learn"));
    out->elastic = json_is_true(json_object_get(out->root, "elastic"));
    out->checkpoint_s = json_number_value(json_object_get(out->root, "checkpoint_s"));
    return 0;
}

bool job_output_is_file(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && dot != name && dot[1];
}

int64_t job_details_continued(const char *text)
{
    AUTO_CLEAR(job_details) struct job_details d = {0};

    return job_details_parse(text, &d, NULL) < 0 ? 0 : d.continues;
}

void job_details_clear(struct job_details *d)
{
    json_decref(d->root);
    free(d->envs);
    free(d->submitter);
    free(d->mounts);
    free(d->names);
    *d = (struct job_details){0};
}
