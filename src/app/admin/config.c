/* config: operations that read and change $TRADEWIND_HOME/config.yaml, for `tradewind config`. */
#include "spec/config.h"
#include "app/admin/admin.h"
#include "base/number.h"

#include <string.h>

/* clang-format off */
static const char *const origins[] = {
    [ADMIN_DEFAULT] = "default", [ADMIN_FILE] = "file", [ADMIN_ENVIRONMENT] = "environment",
    [ADMIN_FLAG] = "flag",
};

static const struct field setting_fields[] = {
    {"key", FIELD(TEXT, struct admin_setting, key), .help = "Dotted name of the setting."},
    {"value", FIELD(JSON, struct admin_setting, value), .help = "Number or text in force."},
    {"origin", FIELD(ENUM, struct admin_setting, origin), FIELD_CHOICES(origins),
     .help = "Where the value comes from."},
    {"line", FIELD(INT, struct admin_setting, line), .omit_none = true,
     .help = "Line of the file that holds it."},
    {"text", FIELD(TEXT, struct admin_setting, text), .help = "The value as the file has it."},
};
static const struct record setting_record =
    RECORD("setting", struct admin_setting, setting_fields);

static const struct field settings_fields[] = {
    {"file", FIELD(TEXT, struct admin_settings, file), .help = "Path of the configuration file."},
};

struct config_request {
    const char *key, *value;
};

static const struct field get_fields[] = {
    {"key", FIELD(TEXT, struct config_request, key), .required = true, .operand = true,
     .help = "Dotted name of the setting."},
};
static const struct field list_fields[] = {
    {"key", FIELD(TEXT, struct config_request, key), .is_remote_only = true,
     .help = "Only the settings below this name."},
};
static const struct field set_fields[] = {
    {"key", FIELD(TEXT, struct config_request, key), .required = true, .operand = true,
     .help = "Dotted name of the setting."},
    {"value", FIELD(TEXT, struct config_request, value), .required = true, .operand = true,
     .help = "Its new value; lists and maps as in YAML: '[a, b]', '{aws: 0.02}'."},
};
/* clang-format on */

/* Whether "catalog.update.0" is below "catalog.update". */
static bool is_below(const char *key, const char *group)
{
    size_t n = strlen(group);

    return strncmp(key, group, n) == 0 && key[n] == '.';
}

bool admin_config_is_group(struct app *app, const char *key)
{
    const struct config *c = app_config(app, NULL);

    for (size_t i = 0; c && i < c->n_settings; i++)
        if (is_below(c->settings[i].key, key))
            return true;
    return false;
}

_Static_assert(CONFIG_DEFAULT + 1 == (int)ADMIN_DEFAULT && CONFIG_FLAG + 1 == (int)ADMIN_FLAG,
               "the same order");

static int answer_setting(const struct config_setting *s,
                          int (*give)(struct answer *out, const void *record, struct err *e),
                          struct answer *out,
                          struct err *e)
{
    double number;
    AUTO_JSON json_t *value =
        number_parse(s->value, &number) ? json_number(number) : json_text(s->value);
    const struct admin_setting setting = {
        .key = s->key,
        .value = value,
        .origin = (enum admin_origin)s->origin + 1,
        .line = s->origin == CONFIG_FILE ? (int64_t)s->line : FIELD_NONE,
        .text = s->value,
    };

    return give(out, &setting, e);
}

static int run_get(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct config_request *q = request;
    const struct config *c = app_config(app, e);
    const struct config_setting *s = c ? config_find(c, q->key) : NULL;

    if (!c)
        return -1;
    if (s)
        return answer_setting(s, answer_head, out, e);
    if (config_check_key(q->key, e) < 0)
        return -1;
    return err_set(e, ERR_NOTFOUND, "%s is not set in %s, and has no default", q->key, c->file);
}

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct config_request *q = request;
    const struct config *c = app_config(app, e);

    if (!c || answer_head(out, &(struct admin_settings){c->file}, e) < 0)
        return -1;
    for (size_t i = 0; i < c->n_settings; i++)
        if ((!q->key || is_below(c->settings[i].key, q->key)) &&
            answer_setting(&c->settings[i], answer_item, out, e) < 0)
            return -1;
    return 0;
}

static int run_set(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct config_request *q = request;
    const struct config *c = app_config(app, e);

    (void)out;
    return c ? config_set(c, q->key, q->value, e) : -1;
}

const struct operation config_get_operation = {
    .name = "config.get",
    .summary = "Show one setting.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct config_request, get_fields),
    .answer = &setting_record,
    .run = run_get,
};

const struct operation config_list_operation = {
    .name = "config.list",
    .summary = "List all settings, sorted by name.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct config_request, list_fields),
    .answer = RECORD_AT("settings", struct admin_settings, settings_fields),
    .item = &setting_record,
    .items_name = "settings",
    .run = run_list,
};

const struct operation config_set_operation = {
    .name = "config.set",
    .summary = "Change one setting in the configuration file.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    REQUEST(struct config_request, set_fields),
    .run = run_set,
};
