/* envs: the values of stages' variables and secrets: from the file, the request and the caller's
 * environment. compose.c calls it. */
#include "app/run/compose.h"
#include "base/mem.h"
#include "base/shell.h"
#include "broker/pipeline/advance.h"

#include <string.h>

static const char *spell(const struct app_run_draft *c, const char *field, char option[static 64])
{
    return answer_spell(c->order->answer, field, option);
}

/* The value in the last KEY=VALUE of list; KEY alone means the caller's environment. NULL = none.
 */
static const char *value_given(const struct app *app,
                               const struct field_list *list,
                               const char *key)
{
    const char *value = NULL;
    size_t n = strlen(key);

    for (size_t i = 0; i < list->n; i++) {
        const char *text = list->items[i];
        if (strncmp(text, key, n) != 0)
            continue;
        if (text[n] == '=')
            value = text + n + 1;
        else if (!text[n])
            value = app_variable(app, key);
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

/* Refuses names of variables that the broker sets. */
static int check_own(const struct app_run_draft *c,
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

static bool is_declared(const struct spec_stage *stage, const char *key)
{
    for (size_t i = 0; i < stage->n_envs; i++)
        if (!strcmp(stage->envs[i].key, key))
            return true;
    return is_secret(stage, key);
}

static bool is_declared_anywhere(const struct spec *spec, const char *key)
{
    for (size_t i = 0; i < spec->n_stages; i++)
        if (is_declared(&spec->stages[i], key))
            return true;
    return false;
}

void app_run_warn_envs(const struct app *app, const struct app_plan *p, const struct answer *out)
{
    const struct field_list *list = &p->request.env;
    char option[64];

    for (size_t i = 0; i < list->n; i++) {
        AUTO_MEM char *key = mem_printf("%.*s", (int)strcspn(list->items[i], "="), list->items[i]);
        /* Tradewind's own are refused later. */
        if (!is_declared_anywhere(p->spec, key) && !advance_env_is_own(key))
            app_notice(app, "%s %.64s: no stage declares it in envs: all stages get it",
                       answer_spell(out, "env", option), key);
    }
}

/* Variables of the request that no stage declares: every stage gets them. */
static int add_given(struct app_run_draft *c,
                     struct run_pair *envs,
                     struct run_stage_plan *out,
                     struct err *e)
{
    const struct field_list *list = &c->plan->request.env;
    char option[64];

    for (size_t i = 0; i < list->n; i++) {
        const char *text = list->items[i];
        size_t n = strcspn(text, "=");
        AUTO_MEM char *key = mem_printf("%.*s", (int)n, text);
        if (!shell_is_variable(text, n))
            return err_set(e, ERR_USAGE,
                           "%s %.64s: a name has letters, digits and _, no digit first",
                           spell(c, "env", option), key);
        if (advance_env_is_own(key))
            return err_set(e, ERR_USAGE, "%s %.64s: tradewind sets it itself: use another name",
                           spell(c, "env", option), key);
        bool known = is_declared_anywhere(c->plan->spec, key);
        for (size_t k = 0; k < out->n_envs; k++)
            known = known || !envs[k].key || !strcmp(envs[k].key, key);
        if (!known)
            envs[out->n_envs++] = (struct run_pair){
                app_run_draft_keep(c, key), app_run_draft_keep(c, value_given(c->app, list, key))};
    }
    return 0;
}

/* A value of the request replaces the file's; a variable without a value needs one. */
int app_run_draft_envs(struct app_run_draft *c,
                       const struct spec_stage *stage,
                       struct run_stage_plan *out,
                       struct err *e)
{
    const struct field_list *list = &c->plan->request.env;
    struct run_pair *envs = app_run_draft_alloc(c, stage->n_envs + list->n, sizeof *envs);
    char option[64];

    if (check_own(c, stage, stage->envs, stage->n_envs, e) < 0 ||
        check_own(c, stage, stage->secrets, stage->n_secrets, e) < 0)
        return -1;
    for (size_t i = 0; envs && i < stage->n_envs; i++) {
        const struct spec_pair *pair = &stage->envs[i];
        const char *value = value_given(c->app, list, pair->key);
        if (is_secret(stage, pair->key))
            continue;
        if (!value)
            value = pair->value ? pair->value : app_variable(c->app, pair->key);
        if (!value)
            return err_set(e, ERR_USAGE, "%s:%zu: stage %s: %s has no value: give %s %s=VALUE",
                           c->plan->spec->file, stage->line, stage->name, pair->key,
                           spell(c, "env", option), pair->key);
        envs[out->n_envs++] =
            (struct run_pair){app_run_draft_keep(c, pair->key), app_run_draft_keep(c, value)};
    }
    out->envs = envs;
    return envs ? add_given(c, envs, out, e) : 0;
}

/* ---- secrets ---- */

/* No message shows the text after the '='. */
static int check_given(const struct app_run_draft *c, struct err *e)
{
    const struct field_list *list = &c->order->secrets;
    char option[64];

    for (size_t i = 0; i < list->n; i++) {
        const char *text = list->items[i];
        size_t n = strcspn(text, "=");
        if (!shell_is_variable(text, n))
            return err_set(e, ERR_USAGE,
                           "%s: write NAME, whose value is in the environment, or NAME=VALUE; "
                           "a name has letters, digits and _",
                           spell(c, "secrets", option));
        AUTO_MEM char *name = mem_printf("%.*s", (int)n, text);
        if (!text[n] && !app_variable(c->app, name))
            return err_set(e, ERR_USAGE, "%s %.64s: the environment has no such variable",
                           spell(c, "secrets", option), name);
    }
    return 0;
}

static void add_secret(struct app_run_draft *c,
                       const char *stage,
                       const char *name,
                       const char *value,
                       const char **names,
                       struct run_stage_plan *out)
{
    c->secrets = mem_room(c->secrets, c->n_secrets, &c->cap_secrets, sizeof *c->secrets);
    c->secrets[c->n_secrets++] =
        (struct run_secret){stage, app_run_draft_keep(c, name), app_run_draft_keep(c, value)};
    names[out->n_secrets++] = c->secrets[c->n_secrets - 1].name;
}

/* Secrets of the request that the file does not name: every stage gets them. */
static void add_others(struct app_run_draft *c, const char **names, struct run_stage_plan *out)
{
    const struct field_list *list = &c->order->secrets;

    for (size_t i = 0; i < list->n; i++) {
        const char *text = list->items[i];
        AUTO_MEM char *name = mem_printf("%.*s", (int)strcspn(text, "="), text);
        bool known = false;
        for (size_t k = 0; k < out->n_secrets; k++)
            known = known || !names[k] || !strcmp(names[k], name);
        if (!known)
            add_secret(c, out->name, name, value_given(c->app, list, name), names, out);
    }
}

int app_run_draft_secrets(struct app_run_draft *c,
                          const struct spec_stage *stage,
                          struct run_stage_plan *out,
                          struct err *e)
{
    const struct field_list *list = &c->order->secrets;
    const char **names = app_run_draft_alloc(c, stage->n_secrets + list->n, sizeof *names);

    if (check_given(c, e) < 0)
        return -1;
    for (size_t i = 0; names && i < stage->n_secrets; i++) {
        const struct spec_pair *pair = &stage->secrets[i];
        const char *value = value_given(c->app, list, pair->key);
        if (!value)
            value = value_given(c->app, &c->plan->request.env, pair->key);
        if (!value)
            value = pair->value ? pair->value : app_variable(c->app, pair->key);
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
