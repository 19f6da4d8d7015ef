/* lake_alias: moving names of set versions. */
#include "base/auto.h"
#include "base/json.h"
#include "cli/core/commands.h"
#include "app/core/lake_open.h"
#include "lake/set/set.h"
#include "view/json_list.h"
#include "view/table.h"

struct listing {
    bool json;
    struct json_list list;
    struct table *table;
    size_t n;
};

static int list_alias(
    void *context, const char *set, const char *alias, int64_t number, struct err *e)
{
    struct listing *s = context;

    s->n++;
    if (s->json) {
        json_t *item = json_object();
        json_object_set_new(item, "set", json_text(set));
        json_object_set_new(item, "alias", json_text(alias));
        json_object_set_new(item, "version", json_integer(number));
        return json_list_add(&s->list, item, e);
    }
    table_printf(s->table, "@%s:%s", set, alias);
    table_printf(s->table, "@%s:%lld", set, (long long)number);
    return 0;
}

static int list(struct lake *l, bool json, struct err *e)
{
    static const struct table_column columns[] = {{.title = "name"}, {.title = "means"}};
    AUTO(table) struct table *table = table_new(columns, 2);
    struct listing s = {.json = json, .table = table};
    struct text_look look = text_look_for(stdout);

    json_list_begin(&s.list, stdout);
    if (lake_alias_list(l, list_alias, &s, e) < 0)
        return -1;
    if (json)
        return json_list_end(&s.list, e);
    if (s.n > 0)
        table_print(table, stdout, 0, TEXT_COLUMNS, &look);
    else
        printf("There are no moving names; tradewind alias @SET:3 NAME makes one.\n");
    return 0;
}

static int give(struct lake *l, const char *const *operands, bool json, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    if (lake_resolve(l, operands[0], LAKE_READ, &ref, e) < 0 ||
        lake_alias_set(l, &ref, operands[1], e) < 0)
        return -1;
    if (json) {
        AUTO_JSON json_t *root = json_object();
        json_object_set_new(root, "set", json_text(ref.set_name));
        json_object_set_new(root, "alias", json_text(operands[1]));
        json_object_set_new(root, "version", json_integer(ref.number));
        return json_write(stdout, root, e);
    }
    printf("@%s:%s means @%s:%lld\n", ref.set_name, operands[1], ref.set_name,
           (long long)ref.number);
    return 0;
}

static int run_alias(const struct command_args *args, struct err *e)
{
    const char *removed = command_value(args, "--remove");
    bool json = command_has(args, "--json");

    if (args->n_operands == 1 || (removed && args->n_operands > 0))
        return err_set(e, ERR_USAGE,
                       "alias takes a set version and a name (alias @SET:3 NAME), --remove "
                       "@SET:NAME, or nothing to list them");
    AUTO(lake) struct lake *l = lake_open_here(e);
    if (!l)
        return -1;
    if (!removed)
        return args->n_operands == 0 ? list(l, json, e) : give(l, args->operands, json, e);
    if (lake_alias_remove(l, removed, e) < 0)
        return -1;
    if (json) {
        AUTO_JSON json_t *root = json_object();
        json_object_set_new(root, "removed", json_text(removed));
        return json_write(stdout, root, e);
    }
    printf("%s is gone; the set version it meant stays\n", removed);
    return 0;
}

static const struct command_option alias_options[] = {
    {.name = "--remove", .value = "@SET:NAME", .help = "Forget a name; the set version stays."},
    {.name = "--json", .help = "Print set, alias and version; of a list, an array of them."},
    {0},
};

const struct command command_alias = {
    .name = "alias",
    .operands = "[@SET:VERSION NAME]",
    .summary = "Give a set version a name that can move, as in @S:prod",
    .details = "The name means that version until it is given to another one. Without operands "
               "all names are listed.",
    .example = "tradewind alias @train:3 prod",
    .options = alias_options,
    .max_operands = 2,
    .run = run_alias,
};
