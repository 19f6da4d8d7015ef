#include "broker/core/details.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

/* ---- to text ---- */

static int add_text(json_t *root, const char *key, const char *text, struct err *e)
{
    if (!text || !*text)
        return 0;
    if (json_object_set_new(root, key, json_string(text)) < 0)
        return err_set(e, ERR_USAGE, "%s is not UTF-8 text",
                       strcmp(key, "pattern") == 0 ? "the command" : key);
    return 0;
}

static int add_envs(json_t *root, const struct job_details *d, struct err *e)
{
    json_t *envs = json_object();

    json_object_set_new(root, "env", envs);
    for (size_t i = 0; i < d->n_envs; i++) {
        const struct spec_pair *env = &d->envs[i];
        if (json_object_set_new(envs, env->key, json_string(env->value ? env->value : "")) < 0)
            return err_set(e, ERR_USAGE,
                           "the environment variable %.64s is not UTF-8 text; pass it in a file",
                           env->key);
    }
    return 0;
}

static int add_secrets(json_t *root, const struct job_details *d, struct err *e)
{
    json_t *names = json_array();

    json_object_set_new(root, "secrets", names);
    for (size_t i = 0; i < d->n_secrets; i++)
        if (json_array_append_new(names, json_string(d->secrets[i].key)) < 0)
            return err_set(e, ERR_USAGE, "the name of a secret is not UTF-8 text");
    return 0;
}

static int add_outputs(json_t *root, const struct job_details *d, struct err *e)
{
    json_t *names = json_array();

    json_object_set_new(root, "outputs", names);
    for (size_t i = 0; i < d->n_outputs; i++)
        if (json_array_append_new(names, json_string(d->outputs[i])) < 0)
            return err_set(e, ERR_USAGE, "the name of an output is not UTF-8 text");
    return 0;
}

char *job_details_text(const struct job_details *d, struct err *e)
{
    AUTO_JSON json_t *root = json_object();

    if (add_text(root, "on", d->on && *d->on ? d->on : "local", e) < 0 ||
        add_text(root, "stage", d->stage, e) < 0 ||
        add_text(root, "commit", d->git_commit, e) < 0 ||
        add_text(root, "pattern", d->pattern, e) < 0 ||
        add_text(root, "restores", d->restores, e) < 0 || add_text(root, "gang", d->gang, e) < 0 ||
        (d->n_envs && add_envs(root, d, e) < 0) || (d->n_secrets && add_secrets(root, d, e) < 0) ||
        (d->n_outputs && add_outputs(root, d, e) < 0))
        return NULL;
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

static const char *get_text(const json_t *root, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(root, key));

    return text ? text : otherwise;
}

static int read_envs(struct job_details *d, struct err *e)
{
    json_t *envs = json_object_get(d->root, "env"), *value;
    const char *key;

    if (!envs)
        return 0;
    if (!json_is_object(envs))
        return err_set(e, ERR_IO, "details of a job: \"env\" is not an object");
    d->envs = mem_zero(json_object_size(envs) + 1, sizeof *d->envs);
    json_object_foreach(envs, key, value)
    {
        if (!json_is_string(value))
            return err_set(e, ERR_IO, "details of a job: \"env\": %.64s is not a string", key);
        d->envs[d->n_envs++] = (struct spec_pair){.key = key, .value = json_string_value(value)};
    }
    return 0;
}

static int read_secrets(struct job_details *d, struct err *e)
{
    json_t *names = json_object_get(d->root, "secrets"), *name;
    size_t i;

    if (!names)
        return 0;
    if (!json_is_array(names))
        return err_set(e, ERR_IO, "details of a job: \"secrets\" is not a list");
    d->secrets = mem_zero(json_array_size(names) + 1, sizeof *d->secrets);
    json_array_foreach(names, i, name)
    {
        if (!json_is_string(name))
            return err_set(e, ERR_IO, "details of a job: \"secrets\": a name is not a string");
        d->secrets[d->n_secrets++] = (struct spec_pair){.key = json_string_value(name)};
    }
    return 0;
}

static int read_outputs(struct job_details *d, struct err *e)
{
    json_t *names = json_object_get(d->root, "outputs"), *name;
    size_t i;

    d->outputs = mem_zero(json_array_size(names) + 1, sizeof *d->outputs);
    json_array_foreach(names, i, name)
    {
        const char *text = json_string_value(name);
        if (!text || !*text || strchr(text, '/') || text[0] == '.')
            return err_set(e, ERR_IO, "details of a job: \"outputs\": a name is not a plain one");
        d->outputs[d->n_outputs++] = text;
    }
    return 0;
}

int job_details_parse(const char *text, struct job_details *out, struct err *e)
{
    json_error_t wrong;

    *out = (struct job_details){0};
    if (strlen(text) > JOB_DETAILS_MAX)
        return err_set(e, ERR_IO, "details of a job: longer than %zu MiB", JOB_DETAILS_MAX >> 20);
    out->root = json_loads(text, 0, &wrong);
    if (!json_is_object(out->root)) {
        job_details_clear(out);
        return err_set(e, ERR_IO, "details of a job: not a JSON object");
    }
    if (read_envs(out, e) < 0 || read_secrets(out, e) < 0 || read_outputs(out, e) < 0) {
        job_details_clear(out);
        return -1;
    }
    out->on = get_text(out->root, "on", "local");
    out->stage = get_text(out->root, "stage", "");
    out->git_commit = get_text(out->root, "commit", "");
    out->pattern = get_text(out->root, "pattern", "");
    out->restores = get_text(out->root, "restores", "");
    out->gang = get_text(out->root, "gang", "");
    out->git_dirty = json_is_true(json_object_get(out->root, "dirty"));
    out->price_usd_per_hour = json_number_value(json_object_get(out->root, "price_usd_per_hour"));
    out->continues = json_integer_value(json_object_get(out->root, "continues"));
    out->rank = (unsigned)json_integer_value(json_object_get(out->root, "rank"));
    out->nodes = (unsigned)json_integer_value(json_object_get(out->root, "nodes"));
    out->servers = (unsigned)json_integer_value(json_object_get(out->root, "servers"));
    out->elastic = json_is_true(json_object_get(out->root, "elastic"));
    out->checkpoint_s = json_number_value(json_object_get(out->root, "checkpoint_s"));
    return 0;
}

void job_details_clear(struct job_details *d)
{
    json_decref(d->root);
    free(d->envs);
    free(d->secrets);
    free(d->outputs);
    *d = (struct job_details){0};
}

/* ---- patterns ---- */

/* "-r" and "--rate" are options, "-" and "-1.5" are not. */
static bool is_option(const char *word)
{
    double number;

    return word[0] == '-' && word[1] && !number_parse(word, &number);
}

char *job_pattern(const char *const *command, size_t n)
{
    AUTO_CLEAR(buf) struct buf b;
    bool options = true;

    buf_init(&b, 2 * JOB_DETAILS_MAX);
    for (size_t i = 0; i < n; i++) {
        options = options && strcmp(command[i], "--") != 0;
        bool option = i > 0 && options && is_option(command[i]);
        size_t name = option ? strcspn(command[i], "=") : strlen(command[i]);
        buf_puts(&b, i ? " " : "");
        buf_add(&b, command[i], name);
        if (command[i][name])
            buf_puts(&b, "={}");
        else if (option && i + 1 < n && !is_option(command[i + 1])) {
            buf_puts(&b, " {}");
            i++;
        }
    }
    return mem_dup(buf_str(&b));
}
