#include "cli/admin/machines_parts.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "view/json_list.h"
#include "view/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int machines_records_open(struct config **config_out, struct machines **out, struct err *e)
{
    *config_out = config_load(NULL, e);
    if (!*config_out || file_make_dirs((*config_out)->home, 0700, e) < 0)
        return -1;
    *out = machines_open((*config_out)->home, e);
    return *out ? 0 : -1;
}

char *machines_place(const struct cloud_machine *f)
{
    bool zoned = *f->zone && strncmp(f->zone, f->region, strlen(f->region)) == 0;
    const char *slash = *f->provider && *f->region ? "/" : "";

    if (*f->zone && !zoned)
        return mem_printf("%s%s%s/%s", f->provider, slash, f->region, f->zone);
    return mem_printf("%s%s%s", f->provider, slash, zoned ? f->zone : f->region);
}

const char *machines_kind(const struct cloud_machine *f)
{
    return *f->instance_type ? f->instance_type : f->address;
}

json_t *machines_json(const struct machine *m, int64_t now_ms)
{
    const struct cloud_machine *f = &m->facts;
    char since[32], expires[32];
    json_t *o = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:b, s:s, s:s, s:I, s:I, s:o, s:s, s:s, s:o, s:s}", "cloud",
        m->cloud, "provider", json_text(f->provider), "region", json_text(f->region), "zone",
        json_text(f->zone), "instance_type", json_text(f->instance_type), "spot", f->spot, "state",
        machine_state_text(m->state), "since", time_iso(m->since_ms, since), "run",
        (json_int_t)f->run, "job", (json_int_t)f->job, "stage",
        m->stage < 0 ? json_null() : json_integer((json_int_t)m->stage), "token", f->token, "id",
        f->id, "reason", json_text(m->reason), "expires_at", time_iso(f->expires_ms, expires));

    json_object_set_new(o, "price_usd_per_hour", json_number(f->price_usd_per_hour));
    json_object_set_new(o, "cost_usd", json_usd(machine_cost_microusd(m, now_ms)));
    json_object_set_new(o, "data_usd", json_usd(m->data_microusd));
    return o;
}

/* ---- machines ls ---- */

static const struct command_option ls_options[] = {
    {.name = "--all", .help = "Also those that are gone.", .letter = 'a'},
    {.name = "--json", .help = "Print a JSON array."},
    {0},
};

static const struct table_column ls_columns[] = {
    {"cloud", false, 0, 0}, {"machine", false, 2, 8}, {"where", false, 1, 8},
    {"state", false, 0, 0}, {"since", true, 0, 0},    {"cost", true, 0, 0},
    {"run", true, 0, 0},    {"job", true, 0, 0},
};

struct listing {
    bool json;
    struct json_list list;
    struct table *table;
    size_t n;
};

static void put_number(struct table *t, int64_t number)
{
    if (number)
        table_printf(t, "%" PRId64, number);
    else
        table_put(t, "");
}

static int list_one(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct listing *l = context;
    AUTO_MEM char *place = machines_place(&m->facts);
    char text[32];

    l->n++;
    if (l->json)
        return json_list_add(&l->list, machines_json(m, now_ms), e);
    table_put(l->table, m->cloud);
    table_printf(l->table, "%s%s", machines_kind(&m->facts), m->facts.spot ? " (spot)" : "");
    table_put(l->table, place);
    table_put(l->table, machine_state_text(m->state));
    double age_s = (double)(now_ms - m->since_ms) / 1000;
    /* Rehearsals that are over have left the present behind. */
    table_put(l->table, age_s < 0 ? "" : time_text(age_s, text));
    table_put(l->table, money_text(machine_cost_microusd(m, now_ms) + m->data_microusd, text));
    put_number(l->table, m->facts.run);
    put_number(l->table, m->facts.job);
    return 0;
}

static int ls(const struct command_args *args, struct err *e)
{
    AUTO(config) struct config *c = NULL;
    AUTO(machines) struct machines *records = NULL;
    AUTO(table) struct table *t = table_new(ls_columns, sizeof ls_columns / sizeof *ls_columns);
    struct listing l = {.json = command_has(args, "--json"), .table = t};
    struct machine_filter which = {.world = -1, .with_gone = command_has(args, "--all")};
    const struct text_look look = text_look_for(stdout);

    if (machines_records_open(&c, &records, e) < 0)
        return -1;
    if (l.json)
        json_list_begin(&l.list, stdout);
    if (machines_each(records, &which, list_one, &l, e) < 0)
        return -1;
    if (l.json)
        return json_list_end(&l.list, e);
    if (l.n)
        table_print(t, stdout, 0, TEXT_COLUMNS, &look);
    else
        puts(which.with_gone ? "No machine was ever rented." : "No machine is rented.");
    return 0;
}

const struct command command_machines_ls = {
    .name = "machines ls",
    .summary = "Machines that are rented, what they cost so far, and what for",
    .details = "A machine is listed from the moment before it is asked for until its cloud has "
               "confirmed that it is gone; with --all, also after that. Those of a rehearsal on "
               "sim live by a clock of their own.",
    .example = "tradewind machines ls --all",
    .options = ls_options,
    .run = ls,
};
