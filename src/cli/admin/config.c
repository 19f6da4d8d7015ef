#include "spec/config.h"

#include "base/json.h"
#include "base/number.h"
#include "cli/core/commands.h"

#include <stdio.h>
#include <string.h>

/* "catalog.update" is a group of "catalog.update.0"; NULL when key is not under group. */
static const char *below(const char *key, const char *group)
{
    size_t n = strlen(group);

    return strncmp(key, group, n) == 0 && key[n] == '.' ? key + n + 1 : NULL;
}

static bool is_index(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

static bool has_group(const struct config *c, const char *key)
{
    for (size_t i = 0; i < c->n_settings; i++)
        if (below(c->settings[i].key, key))
            return true;
    return false;
}

/* A list prints its items, a group its settings. False when nothing is under key. */
static bool print_group(const struct config *c, const char *key)
{
    bool any = false;

    for (size_t i = 0; i < c->n_settings; i++) {
        const char *rest = below(c->settings[i].key, key);
        if (!rest)
            continue;
        any = true;
        if (is_index(rest))
            printf("%s\n", c->settings[i].value);
        else
            printf("%s: %s\n", c->settings[i].key, c->settings[i].value);
    }
    return any;
}

static json_t *setting_json(const struct config_setting *s)
{
    json_t *item = json_object();
    double number;

    json_object_set_new(item, "key", json_text(s->key));
    json_object_set_new(
        item, "value", number_parse(s->value, &number) ? json_number(number) : json_text(s->value));
    json_object_set_new(item, "origin", json_string(config_origin_text(s->origin)));
    if (s->origin == CONFIG_FILE)
        json_object_set_new(item, "line", json_integer((json_int_t)s->line));
    return item;
}

/* All settings, or those of a group. */
static int show_json(const struct config *c, const char *group, struct err *e)
{
    AUTO_JSON json_t *root = json_object();
    json_t *list = json_array();

    for (size_t i = 0; i < c->n_settings; i++)
        if (!group || below(c->settings[i].key, group))
            json_array_append_new(list, setting_json(&c->settings[i]));
    json_object_set_new(root, "file", json_text(c->file));
    json_object_set_new(root, "settings", list);
    return json_write(stdout, root, e);
}

static int run_get(const struct command_args *args, struct err *e)
{
    const char *key = args->operands[0];
    AUTO(config) struct config *c = config_load(NULL, e);

    if (!c)
        return -1;
    const struct config_setting *s = config_find(c, key);
    if (s && command_has(args, "--json")) {
        AUTO_JSON json_t *item = setting_json(s);
        return json_write(stdout, item, e);
    }
    if (s) {
        printf("%s\n", s->value);
        return 0;
    }
    if (command_has(args, "--json") && has_group(c, key))
        return show_json(c, key, e);
    if (print_group(c, key))
        return 0;
    if (config_check_key(key, e) < 0)
        return -1;
    return err_set(e, ERR_NOTFOUND, "%s is not set in %s, and has no default", key, c->file);
}

static int run_set(const struct command_args *args, struct err *e)
{
    AUTO(config) struct config *c = config_load(NULL, e);

    return c ? config_set(c, args->operands[0], args->operands[1], e) : -1;
}

static void show_text(const struct config *c, bool with_origin)
{
    int width = 0;

    for (size_t i = 0; with_origin && i < c->n_settings; i++) {
        const struct config_setting *s = &c->settings[i];
        int n = (int)(strlen(s->key) + strlen(s->value));
        if (n > width && n < 60)
            width = n;
    }
    for (size_t i = 0; i < c->n_settings; i++) {
        const struct config_setting *s = &c->settings[i];
        int n = printf("%s: %s", s->key, s->value);
        if (with_origin && s->origin == CONFIG_FILE)
            printf("%*s  file (%s:%zu)", width + 2 > n ? width + 2 - n : 0, "", c->file, s->line);
        else if (with_origin)
            printf("%*s  %s", width + 2 > n ? width + 2 - n : 0, "", config_origin_text(s->origin));
        printf("\n");
    }
}

static int run_show(const struct command_args *args, struct err *e)
{
    AUTO(config) struct config *c = config_load(NULL, e);

    if (!c)
        return -1;
    if (command_has(args, "--json"))
        return show_json(c, NULL, e);
    show_text(c, command_has(args, "--origin"));
    return 0;
}

static const struct command_option get_options[] = {
    {.name = "--json",
     .help = "Print an object with key, value and origin; of a group, all of it."},
    {0},
};

const struct command command_config_get = {
    .name = "config get",
    .operands = "KEY",
    .summary = "Print one setting",
    .details =
        "Prints the value that is in force, be it from the file or the default. A list prints "
        "one item a line; a group (plan) prints all of its settings.",
    .example = "tradewind config get plan.boot_s",
    .options = get_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_get,
};

const struct command command_config_set = {
    .name = "config set",
    .operands = "KEY VALUE",
    .summary = "Change one setting in the configuration file",
    .details = "The value is checked before anything is written; comments and layout of the file "
               "stay. Lists and maps are written as in YAML: '[a, b]', '{aws: 0.02}'.",
    .example = "tradewind config set plan.preemptions_per_hour.aws 0.05",
    .min_operands = 2,
    .max_operands = 2,
    .run = run_set,
};

static const struct command_option show_options[] = {
    {.name = "--origin",
     .help = "Say where each value comes from: default, file, environment or flag."},
    {.name = "--json", .help = "Print one JSON object; origins are always in it."},
    {0},
};

const struct command command_config_show = {
    .name = "config show",
    .summary = "Print all settings",
    .details = "Every setting that is in force, sorted by name.",
    .example = "tradewind config show --origin",
    .options = show_options,
    .run = run_show,
};
