/* The machines of a run on paper: where it was, from when to when, and why it went on elsewhere. */
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/machine/machines.h"
#include "cli/run/run_parts.h"
#include "spec/config.h"
#include "view/table.h"

#include <stdio.h>
#include <string.h>

/* More than these are for programs to read. */
#define ROWS_MAX 60

struct showing {
    const struct run *run;
    struct table *table;
    json_t *list; /* NULL = the table */
    size_t n;
};

static const char *stage_name(const struct run *r, int64_t stage)
{
    return stage >= 0 && (size_t)stage < r->n_stages ? r->stages[stage].plan.name : "";
}

static json_t *end_json(const struct machine *m)
{
    char at[32];

    return m->facts.ended_ms ? json_string(time_iso_ms(m->facts.ended_ms, at)) : json_null();
}

static json_t *machine_json(const struct run *r, const struct machine *m, int64_t now_ms)
{
    const struct cloud_machine *f = &m->facts;
    char from[32];

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:s, s:o, s:o, s:o, s:o, s:o}", "stage",
                     json_text(stage_name(r, m->stage)), "provider", json_text(f->provider),
                     "region", json_text(f->region), "zone", json_text(f->zone), "instance_type",
                     json_text(f->instance_type), "spot", (int)f->spot, "from",
                     time_iso_ms(f->launched_ms, from), "to", end_json(m), "price_usd_per_hour",
                     json_number(f->price_usd_per_hour), "cost_usd",
                     json_usd(machine_cost_microusd(m, now_ms)), "data_usd",
                     json_usd(m->data_microusd), "reason", json_text(m->reason));
}

static void put_machine(struct table *t, const struct machine *m, int64_t now_ms)
{
    const struct cloud_machine *f = &m->facts;
    int64_t end_ms = f->ended_ms ? f->ended_ms : now_ms;
    char text[32];

    time_iso(f->launched_ms, text);
    text[strlen("2020-03-01T06:00")] = 0;
    text[strlen("2020-03-01")] = ' ';
    table_put(t, text);
    table_put(t, f->instance_type);
    table_printf(t, "%s/%s", f->provider, *f->zone ? f->zone : f->region);
    table_put(t, time_text((double)(end_ms - f->launched_ms) / 1000, text));
    table_put(t, money_text(machine_cost_microusd(m, now_ms) + m->data_microusd, text));
    table_put(t, m->reason);
}

static int show_one(void *context, const struct machine *m, int64_t now_ms, struct err *e)
{
    struct showing *s = context;

    (void)e;
    if (!m->facts.launched_ms)
        return 0; /* was never there */
    if (s->list)
        json_array_append_new(s->list, machine_json(s->run, m, now_ms));
    else if (m->facts.metered_ms && s->n++ < ROWS_MAX)
        put_machine(s->table, m, now_ms);
    return 0;
}

static int show_all(const struct config *c, struct showing *s, struct err *e)
{
    const struct machine_filter mine = {.run = s->run->id, .with_gone = true};
    AUTO(machines) struct machines *records = machines_open(c->home, e);

    return records ? machines_each(records, &mine, show_one, s, e) : -1;
}

int run_machines_print(const struct config *c, const struct run *r, FILE *out, struct err *e)
{
    static const struct table_column columns[] = {
        {.title = "from (UTC)"},
        {.title = "machine", .cut_rank = 2, .least = 8},
        {.title = "where", .cut_rank = 1, .least = 8},
        {.title = "for", .right = true},
        {.title = "cost", .right = true},
        {.title = "until"},
    };
    struct text_look look = text_look_for(out);
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    struct showing s = {.run = r, .table = t};

    if (show_all(c, &s, e) < 0)
        return -1;
    if (!s.n)
        return 0;
    fputs("\nWhere prices led it:\n\n", out);
    table_print(t, out, 2, TEXT_COLUMNS, &look);
    if (s.n > ROWS_MAX)
        fprintf(out, "  and %zu more, which --json lists\n", s.n - ROWS_MAX);
    return 0;
}

json_t *run_machines_json(const struct config *c, const struct run *r, struct err *e)
{
    AUTO_JSON json_t *list = json_array();
    struct showing s = {.run = r, .list = list};

    return show_all(c, &s, e) < 0 ? NULL : TAKE(list);
}
