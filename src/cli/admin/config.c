/* config: the commands that show and change the configuration. */
#include "app/admin/admin.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Longer lines do not push the column of origins out. */
#define WIDTH_MAX 60

static bool is_index(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

/* ---- config get ---- */

static void print_value(struct operate_text *t, const void *record)
{
    fprintf(t->out, "%s\n", ((const struct admin_setting *)record)->text);
}

/* A list prints its items, a group its settings. */
static void print_member(struct operate_text *t, const void *record)
{
    const struct admin_setting *s = record;

    if (is_index(s->key + strlen(t->args->operands[0]) + 1))
        fprintf(t->out, "%s\n", s->text);
    else
        fprintf(t->out, "%s: %s\n", s->key, s->text);
}

static int run_get(const struct command_args *args, struct err *e)
{
    static const struct command_text one = {.head = print_value},
                                     group = {.head = operate_print_nothing, .item = print_member};
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    AUTO_JSON json_t *request = operate_request(args, &config_get_operation, e);

    if (!request)
        return -1;
    if (admin_config_is_group(operate_app(terminal), args->operands[0]))
        return operate_call(args, terminal, &config_list_operation, request, &group, e);
    return operate_call(args, terminal, &config_get_operation, request, &one, e);
}

const struct command command_config_get = {
    .name = "config get",
    .operands = "KEY",
    .summary = "Print one setting",
    .details = "Prints the value in force, from the file or the default. A list prints one item "
               "per line; a group (plan) prints all of its settings.",
    .example = "tradewind config get plan.boot_s",
    .operation = &config_get_operation,
    .run = run_get,
};

/* ---- config set ---- */

const struct command command_config_set = {
    .name = "config set",
    .operands = "KEY VALUE",
    .summary = "Change one setting in the configuration file",
    .details = "Tradewind checks the value before it writes anything; comments and layout of the "
               "file stay. Write lists and maps as in YAML: '[a, b]', '{aws: 0.02}'.",
    .example = "tradewind config set plan.preemptions_per_hour.aws 0.05",
    .operation = &config_set_operation,
};

/* ---- config show ---- */

/* Settings are kept until the widest is known. */
struct lines {
    const char *file;
    struct line {
        const char *text, *origin;
    } * items;
    size_t n, cap;
    int width;
};

static void begin_lines(struct operate_text *t, const void *record)
{
    struct lines *all = t->state;

    all->file = arena_dup(t->arena, ((const struct admin_settings *)record)->file);
}

static const char *origin_text(const struct operate_text *t,
                               const struct lines *all,
                               const struct admin_setting *s)
{
    static const char *const texts[] = {
        [ADMIN_DEFAULT] = "default", [ADMIN_ENVIRONMENT] = "environment", [ADMIN_FLAG] = "flag"};

    return s->origin == ADMIN_FILE
               ? arena_printf(t->arena, "file (%s:%" PRId64 ")", all->file, s->line)
               : texts[s->origin];
}

static void add_line(struct operate_text *t, const void *record)
{
    struct lines *all = t->state;
    const struct admin_setting *s = record;
    char *text = arena_printf(t->arena, "%s: %s", s->key, s->text);

    if (!text) {
        err_set(&t->error, ERR_NOFIT, "the configuration is too large to show");
        return;
    }
    int n = (int)strlen(text);
    all->width = n > all->width && n < WIDTH_MAX ? n : all->width;
    all->items = mem_room(all->items, all->n, &all->cap, sizeof *all->items);
    all->items[all->n++] = (struct line){text, origin_text(t, all, s)};
}

static void print_lines(struct operate_text *t)
{
    struct lines *all = t->state;
    bool with_origin = command_has(t->args, "--origin");

    for (size_t i = 0; i < all->n; i++)
        if (with_origin)
            fprintf(t->out, "%-*s  %s\n", all->width, all->items[i].text, all->items[i].origin);
        else
            fprintf(t->out, "%s\n", all->items[i].text);
    free(all->items);
}

static const struct command_option show_options[] = {
    {.name = "--origin",
     .help = "Show where each value comes from: default, file, environment or flag."},
    {0},
};

const struct command command_config_show = {
    .name = "config show",
    .summary = "Print all settings in force, sorted by name",
    .example = "tradewind config show --origin",
    .options = show_options,
    .operation = &config_list_operation,
    .text = &(const struct command_text){.head = begin_lines,
                                         .item = add_line,
                                         .end = print_lines,
                                         .state_size = sizeof(struct lines)},
};
