/* Variables and secrets of stages: from the file, the command line, the environment. */
#include "base/mem.h"
#include "base/shell.h"
#include "broker/pipeline/advance.h"
#include "cli/run/run_compose.h"

#include <stdlib.h>
#include <string.h>

/* What the last OPTION KEY=VALUE says; of secrets KEY alone means the environment. NULL = none. */
static const char *value_given(const struct command_args *args, const char *option, const char *key)
{
    const char *value = NULL;
    size_t n = strlen(key);

    for (size_t i = 0; i < args->n_given; i++) {
        const struct command_given *g = &args->given[i];
        if (strcmp(g->option->name, option) != 0 || strncmp(g->value, key, n) != 0)
            continue;
        if (g->value[n] == '=')
            value = g->value + n + 1;
        else if (!g->value[n])
            value = getenv(key);
    }
    return value;
}

static bool is_secret(const struct spec_stage *stage, const char *key)
{
    for (size_t i = 0; i < stage->n_secrets; i++)
        if (!strcmp(stage->secrets[i].key, key))
            return true;
    return false;
}

/* A name that a stage's job gets from us. */
static int check_own(const struct run_compose *c,
                     const struct spec_stage *stage,
                     const struct spec_pair *pairs,
                     size_t n,
                     struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (advance_env_is_own(pairs[i].key))
            return err_set(e, ERR_USAGE,
                           "%s:%zu: stage %s: %s is set by tradewind itself: use another name",
                           c->plan->spec->file, stage->line, stage->name, pairs[i].key);
    return 0;
}

/* Of --env beyond what the file has: every stage gets them. */
static int add_given(struct run_compose *c,
                     const struct spec_stage *stage,
                     struct run_pair *envs,
                     struct run_stage_plan *out,
                     struct err *e)
{
    for (size_t i = 0; i < c->args->n_given; i++) {
        const struct command_given *g = &c->args->given[i];
        if (strcmp(g->option->name, "--env") != 0)
            continue;
        size_t n = strcspn(g->value, "=");
        AUTO_MEM char *key = mem_printf("%.*s", (int)n, g->value);
        if (!shell_is_variable(g->value, n))
            return err_set(e, ERR_USAGE,
                           "--env %.64s: a name has letters, digits and _, no digit first", key);
        if (advance_env_is_own(key))
            return err_set(e, ERR_USAGE, "--env %.64s: tradewind sets it itself: use another name",
                           key);
        bool known = is_secret(stage, key);
        for (size_t k = 0; k < out->n_envs; k++)
            known = known || !envs[k].key || !strcmp(envs[k].key, key);
        if (!known)
            envs[out->n_envs++] = (struct run_pair){
                run_compose_keep(c, key), run_compose_keep(c, value_given(c->args, "--env", key))};
    }
    return 0;
}

/* A variable of the file may be replaced by --env, and must be given where the file has none. */
int run_compose_envs(struct run_compose *c,
                     const struct spec_stage *stage,
                     struct run_stage_plan *out,
                     struct err *e)
{
    struct run_pair *envs = run_compose_room(c, stage->n_envs + c->args->n_given, sizeof *envs);

    if (check_own(c, stage, stage->envs, stage->n_envs, e) < 0 ||
        check_own(c, stage, stage->secrets, stage->n_secrets, e) < 0)
        return -1;
    for (size_t i = 0; envs && i < stage->n_envs; i++) {
        const struct spec_pair *pair = &stage->envs[i];
        const char *value = value_given(c->args, "--env", pair->key);
        if (is_secret(stage, pair->key))
            continue; /* which goes before it */
        if (!value)
            value = pair->value ? pair->value : getenv(pair->key);
        if (!value)
            return err_set(e, ERR_USAGE, "%s:%zu: stage %s: %s has no value: --env %s=VALUE",
                           c->plan->spec->file, stage->line, stage->name, pair->key, pair->key);
        envs[out->n_envs++] =
            (struct run_pair){run_compose_keep(c, pair->key), run_compose_keep(c, value)};
    }
    out->envs = envs;
    return envs ? add_given(c, stage, envs, out, e) : 0;
}

/* ---- secrets ---- */

/* No message shows what stands behind the '='. */
static int check_given(const struct command_args *args, struct err *e)
{
    for (size_t i = 0; i < args->n_given; i++) {
        const char *text = args->given[i].value;
        if (strcmp(args->given[i].option->name, "--secret") != 0)
            continue;
        size_t n = strcspn(text, "=");
        if (!shell_is_variable(text, n))
            return err_set(
                e, ERR_USAGE,
                "--secret: write NAME, whose value is in the environment, or NAME=VALUE; "
                "a name has letters, digits and _");
        AUTO_MEM char *name = mem_printf("%.*s", (int)n, text);
        if (!text[n] && !getenv(name))
            return err_set(e, ERR_USAGE, "--secret %.64s: the environment has no such variable",
                           name);
    }
    return 0;
}

static void add_secret(struct run_compose *c,
                       const char *stage,
                       const char *name,
                       const char *value,
                       const char **names,
                       struct run_stage_plan *out)
{
    c->secrets = mem_room(c->secrets, c->n_secrets, &c->cap_secrets, sizeof *c->secrets);
    c->secrets[c->n_secrets++] =
        (struct run_secret){stage, run_compose_keep(c, name), run_compose_keep(c, value)};
    names[out->n_secrets++] = c->secrets[c->n_secrets - 1].name;
}

/* Of --secret beyond what the file has: every stage gets them. */
static void add_others(struct run_compose *c, const char **names, struct run_stage_plan *out)
{
    for (size_t i = 0; i < c->args->n_given; i++) {
        const struct command_given *g = &c->args->given[i];
        if (strcmp(g->option->name, "--secret") != 0)
            continue;
        AUTO_MEM char *name = mem_printf("%.*s", (int)strcspn(g->value, "="), g->value);
        bool known = false;
        for (size_t k = 0; k < out->n_secrets; k++)
            known = known || !names[k] || !strcmp(names[k], name);
        if (!known)
            add_secret(c, out->name, name, value_given(c->args, "--secret", name), names, out);
    }
}

int run_compose_secrets(struct run_compose *c,
                        const struct spec_stage *stage,
                        struct run_stage_plan *out,
                        struct err *e)
{
    const char **names = run_compose_room(c, stage->n_secrets + c->args->n_given, sizeof *names);

    if (check_given(c->args, e) < 0)
        return -1;
    for (size_t i = 0; names && i < stage->n_secrets; i++) {
        const struct spec_pair *pair = &stage->secrets[i];
        const char *value = value_given(c->args, "--secret", pair->key);
        if (!value)
            value = value_given(c->args, "--env", pair->key);
        if (!value)
            value = pair->value ? pair->value : getenv(pair->key);
        if (!value)
            return err_set(e, ERR_USAGE,
                           "%s:%zu: stage %s: secret %s has no value: set it in the environment",
                           c->plan->spec->file, stage->line, stage->name, pair->key);
        add_secret(c, out->name, pair->key, value, names, out);
    }
    if (names)
        add_others(c, names, out);
    out->secrets = names;
    return 0;
}
