#include "app/admin/bill.h"

#include "app/admin/admin.h"
#include "app/core/app.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "broker/core/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 1000000

enum bill_by { BY_USER = 1, BY_PROJECT, BY_RUN, BY_CLOUD };
static const char *const by_texts[] = {NULL, "user", "project", "run", "cloud"};

struct bill_request {
    const char *month;
    enum bill_by by;
};

/* clang-format off */
static const struct field request_fields[] = {
    {"month", FIELD(TEXT, struct bill_request, month), .value = "MONTH",
     .help = "Month of UTC, as in 2026-11 (default: the current one)."},
    {"by", FIELD(ENUM, struct bill_request, by), FIELD_CHOICES(by_texts), .preset = "run",
     .help = "What a line is of: user, project, run or cloud (default run)."},
};

#define HEAD(TYPE, member) FIELD(TYPE, struct admin_bill, member)
static const struct field bill_fields[] = {
    {"month", HEAD(TEXT, month), .help = "Month of UTC."},
    {"by", HEAD(TEXT, by), .help = "What a line is of."},
    {"jobs", HEAD(INT, jobs), .help = "Jobs of the month."},
    {"machines", HEAD(INT, machines), .help = "Machines that no job's record bills."},
    {"measured_usd", HEAD(MONEY, measured_microusd), .unit = "USD",
     .help = "Time on hosts and machines at their own prices."},
    {"modelled_usd", HEAD(MONEY, modelled_microusd), .unit = "USD",
     .help = "Run time on this machine at unit prices, or at the price of the planned machine."},
    {"cost_usd", HEAD(MONEY, microusd), .unit = "USD", .help = "Both together."},
};

#define LINE(TYPE, member) FIELD(TYPE, struct admin_bill_line, member)
static const struct field line_fields[] = {
    {"name", LINE(TEXT, name), .heading = "for", .cut_rank = 1, .least_width = 12,
     .help = "User, project, run or cloud."},
    {"jobs", LINE(INT, jobs), .heading = "jobs", .help = "Jobs of the line."},
    {"machine_s", LINE(DURATION, machine_s), .unit = "s", .heading = "machine time",
     .help = "Time of all jobs and machines of the line."},
    {"measured_usd", LINE(MONEY, measured_microusd), .unit = "USD", .heading = "measured",
     .help = "Time on hosts and machines at their own prices."},
    {"modelled_usd", LINE(MONEY, modelled_microusd), .unit = "USD", .heading = "modelled",
     .help = "Run time on this machine at unit prices, or at the price of the planned machine."},
    {"cost_usd", LINE(MONEY, microusd), .unit = "USD", .heading = "cost", .help = "Both together."},
};
/* clang-format on */

struct billing {
    enum bill_by by;
    struct admin_bill head;
    struct admin_bill_line *lines;
    size_t n, cap;
    struct map *map;
    struct arena *arena; /* of names */
};

static void billing_clear(struct billing *b)
{
    free(b->lines);
    map_free(b->map);
}

static void add(int64_t *to, int64_t microusd)
{
    if (__builtin_add_overflow(*to, microusd, to))
        *to = INT64_MAX;
}

static bool same_line(const void *lines, uint32_t number, const void *key)
{
    return strcmp(((const struct admin_bill_line *)lines)[number].name, key) == 0;
}

static char *line_name(const struct billing *b, const struct admin_charge *charge)
{
    switch (b->by) {
    case BY_USER:
        return mem_dup(*charge->user ? charge->user : "machines without a job");
    case BY_PROJECT:
        return mem_dup(*charge->project ? charge->project : "machines without a job");
    case BY_CLOUD:
        return mem_dup(charge->cloud);
    case BY_RUN:
        break;
    }
    if (!charge->run)
        return mem_dup(charge->job ? "jobs without a run" : "machines without a job");
    return mem_printf("run %lld", (long long)charge->run);
}

static struct admin_bill_line *line_of(struct billing *b, const struct admin_charge *charge)
{
    AUTO_MEM char *name = line_name(b, charge);
    uint64_t hash = hash_text(name);
    uint32_t at = map_find(b->map, hash, same_line, b->lines, name);

    if (at != MAP_NONE)
        return &b->lines[at];
    const char *kept = arena_dup(b->arena, name);
    if (b->n == LINES_MAX || !kept)
        return NULL;
    b->lines = mem_room(b->lines, b->n, &b->cap, sizeof *b->lines);
    map_add(b->map, hash, (uint32_t)b->n);
    b->lines[b->n] = (struct admin_bill_line){.name = kept};
    return &b->lines[b->n++];
}

static int add_charge(void *context, const struct admin_charge *charge, struct err *e)
{
    struct billing *b = context;
    struct admin_bill_line *line = line_of(b, charge);

    if (!line)
        return err_set(e, ERR_NOFIT, "the bill has more than %d lines", LINES_MAX);
    line->jobs += charge->job != 0;
    b->head.jobs += charge->job != 0;
    b->head.machines += charge->job == 0;
    line->machine_s += (double)(charge->until_ms - charge->from_ms) / 1000;
    add(&line->microusd, charge->microusd);
    add(&b->head.microusd, charge->microusd);
    add(charge->is_measured ? &line->measured_microusd : &line->modelled_microusd,
        charge->microusd);
    add(charge->is_measured ? &b->head.measured_microusd : &b->head.modelled_microusd,
        charge->microusd);
    return 0;
}

/* The expensive first; of equals by name. */
static int compare_lines(const void *a, const void *b)
{
    const struct admin_bill_line *x = a, *y = b;

    if (x->microusd != y->microusd)
        return x->microusd < y->microusd ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* "run 3 (words)" where the run is known. */
static void name_run(struct runs *runs, struct arena *a, struct admin_bill_line *line)
{
    long long id;
    struct run run = {0};
    struct err ignored;

    if (sscanf(line->name, "run %lld", &id) != 1 || runs_get(runs, id, &run, &ignored) < 0)
        return;
    if (run.name && *run.name) {
        const char *named = arena_printf(a, "run %lld (%s)", id, run.name);
        line->name = named ? named : line->name;
    }
    run_clear(&run);
}

static int run_bill(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct bill_request *q = request;
    AUTO_CLEAR(billing) struct billing b = {.by = q->by, .map = map_new(), .arena = out->arena};
    struct admin_month month;
    char option[64];

    if (admin_month_read(q->month, time_epoch_ms(), &month, e) < 0)
        return err_wrap(e, "%s", answer_spell(out, "month", option));
    if (admin_each_charge(app, &month, add_charge, &b, e) < 0)
        return err_wrap(e, "bill of %s", month.text);
    if (b.n)
        qsort(b.lines, b.n, sizeof *b.lines, compare_lines);
    b.head.month = month.text;
    b.head.by = by_texts[q->by];
    if (answer_head(out, &b.head, e) < 0)
        return -1;
    struct runs *runs = q->by == BY_RUN && b.n ? app_runs(app, e) : NULL;
    if (q->by == BY_RUN && b.n && !runs)
        return -1;
    for (size_t i = 0; i < b.n; i++) {
        if (runs)
            name_run(runs, out->arena, &b.lines[i]);
        if (answer_item(out, &b.lines[i], e) < 0)
            return -1;
    }
    return 0;
}

const struct operation bill_get_operation = {
    .name = "bill.get",
    .summary = "Sum up what the jobs and machines of a month cost, measured and modelled.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct bill_request, request_fields),
    .answer = RECORD_AT("bill", struct admin_bill, bill_fields),
    .item = RECORD_AT("bill_line", struct admin_bill_line, line_fields),
    .items_name = "lines",
    .is_live = true,
    .run = run_bill,
};
