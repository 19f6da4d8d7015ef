/* offers: the commands that list offers: catalog list and catalog show. */
#include "app/catalog/catalog.h"
#include "base/buf.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "view/table.h"
#include "view/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define LIMIT_FOR_PEOPLE 50
#define CELL_MAX_BYTES 1024

/* ---- catalog list ---- */

static void keep_count(struct operate_text *t, const void *record)
{
    struct app_catalog_found *found = arena_alloc(t->arena, 1, sizeof *found);

    assert(found);
    *found = *(const struct app_catalog_found *)record;
    t->state = found;
}

static void print_rest(struct operate_text *t)
{
    const struct app_catalog_found *found = t->state;
    char more[32];

    if (found->offers == 0)
        fputs("No offer passes these filters.\n", t->out);
    else if (t->more)
        fprintf(t->out, "%s%s more; `--limit %" PRIu64 "` shows all\n", t->n_items ? "\n" : "",
                text_count((size_t)found->offers - t->n_items, more), found->offers);
}

static const struct command_text list_text = {.head = keep_count, .end = print_rest};

static int run_list(const struct command_args *args, struct err *e)
{
    const struct operation *op = &catalog_list_operation;
    AUTO_JSON json_t *request = operate_request(args, op, e);
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);

    if (!request)
        return -1;
    if (!command_has(args, "--json") && !command_has(args, "--csv") &&
        !json_object_get(request, "limit"))
        json_object_set_new(request, "limit", json_integer(LIMIT_FOR_PEOPLE));
    return operate_call(args, terminal, op, request, &list_text, e);
}

const struct command command_catalog_list = {
    .name = "catalog list",
    .summary = "List offers, cheapest first",
    .details = "Lists the offers of the catalog in use that pass every filter. Prices are US "
               "dollars per hour for the whole instance; \"-\" means not for sale.",
    .example = "tradewind catalog list --accelerator A100:8 --market spot",
    .operation = &catalog_list_operation,
    .run = run_list,
};

/* ---- catalog show ---- */

static const struct field *offer_field(const char *name)
{
    return record_field(catalog_show_operation.item, name);
}

static void put_cell(struct table *t, const struct app_catalog_offer *o, const char *name)
{
    AUTO_CLEAR(buf) struct buf cell;

    buf_init(&cell, CELL_MAX_BYTES);
    field_cell(offer_field(name), o, &cell);
    table_put(t, buf_str(&cell));
}

/* "aws g5.xlarge: 4 vCPUs, 16 GiB, 1 x A10G, 10 Gbit/s" */
static void put_type(struct buf *out, const struct app_catalog_offer *o)
{
    buf_printf(out, "%s %s: ", o->cloud, o->instance_type);
    field_cell(offer_field("vcpus"), o, out);
    buf_puts(out, " vCPUs, ");
    field_cell(offer_field("memory_gib"), o, out);
    buf_puts(out, " GiB");
    if (o->accelerator)
        buf_printf(out, ", %.6g x %s", o->accelerator_count, o->accelerator);
    if (!isnan(o->network_gbps))
        buf_printf(out, ", %.6g Gbit/s", o->network_gbps);
}

/* The instance type of the rows so far; the same name in another cloud is another type. */
struct shown {
    char type[CELL_MAX_BYTES];
    struct table *table;
    size_t n_types;
};

static void print_type(struct shown *s, FILE *out)
{
    const struct text_look look = text_look_for(out);

    if (!s->table)
        return;
    fprintf(out, "%s%s\n\n", s->n_types++ ? "\n" : "", s->type);
    table_print(s->table, out, 0, &look);
    table_free(s->table);
    s->table = NULL;
}

static void add_offer(struct operate_text *t, const void *record)
{
    static const struct table_column columns[] = {
        {.title = "location", .cut_rank = 1, .least = 20},
        {.title = "per hour", .right = true},
        {.title = "spot", .right = true},
    };
    struct shown *s = t->state ? t->state : arena_alloc(t->arena, 1, sizeof *s);
    AUTO_CLEAR(buf) struct buf type;

    assert(s);
    t->state = s;
    buf_init(&type, CELL_MAX_BYTES);
    put_type(&type, record);
    if (strcmp(buf_str(&type), s->type) != 0)
        print_type(s, t->out);
    snprintf(s->type, sizeof s->type, "%s", buf_str(&type));
    if (!s->table)
        s->table = table_new(columns, sizeof columns / sizeof *columns);
    put_cell(s->table, record, "cloud");
    put_cell(s->table, record, "price_usd_per_hour");
    put_cell(s->table, record, "spot_usd_per_hour");
}

static void print_last(struct operate_text *t)
{
    if (t->state)
        print_type(t->state, t->out);
}

const struct command command_catalog_show = {
    .name = "catalog show",
    .operands = "TYPE",
    .summary = "Show an instance type at all its locations",
    .details = "Shows the hardware of the instance type and its price at every location, the "
               "cheapest first. Prices are US dollars per hour; \"-\" means not for sale.",
    .example = "tradewind catalog show g5.xlarge",
    .operation = &catalog_show_operation,
    .text = &(const struct command_text){.item = add_offer, .end = print_last},
};
