/* job_ls: many jobs, a line each. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/number.h"
#include "base/time.h"
#include "broker/machine/bill.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/job/job_parts.h"
#include "view/json_list.h"
#include "view/table.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT 50
#define COMMAND_SHOWN 200

enum job_order { ORDER_ID, ORDER_QUEUED, ORDER_RUNTIME, ORDER_COST, ORDER_STATE };

struct listing {
    struct app *app;
    struct lake *l;
    const struct open_bills *bills;
    bool json;
    uint64_t limit; /* 0 = none */
    struct json_list list;
    struct table *table;
    uint64_t n;
    bool more; /* than the limit */
    /* Orders but that of the ids: */
    enum job_order order;
    struct place {
        int64_t id;
        double key;
    } * places;
    size_t n_places, cap_places;
};

/* ---- a line ---- */

/* "2026-11-16 09:31" */
static const char *minute_text(int64_t ms, char out[static 32])
{
    time_iso(ms, out);
    out[10] = ' ';
    out[16] = 0;
    return out;
}

static void add_row(struct table *t, const struct lake_job *job)
{
    AUTO_CLEAR(buf) struct buf command;
    double runtime_s = app_job_runtime_s(job);
    char text[32];

    buf_init(&command, COMMAND_SHOWN);
    job_put_command(&command, job->asked.command, job->asked.n_command);
    table_printf(t, "%lld", (long long)job->id);
    table_put(t, lake_job_state_text(job->state));
    table_put(t, job->user);
    table_printf(t, "%g", job->asked.cpus);
    table_put(t, app_job_memory_text(job->asked.memory_mb, text));
    table_put(t, minute_text(job->queued_ms, text));
    table_put(t, runtime_s < 0 ? "-" : time_text(runtime_s, text));
    table_put(t, job->cost_basis && *job->cost_basis ? money_text(job->cost_microusd, text) : "-");
    table_put(t, job->asked.name ? job->asked.name : "");
    table_put(t, buf_str(&command));
}

static int show(struct listing *s, const struct lake_job *recorded, struct err *e)
{
    AUTO_CLEAR(job_details) struct job_details details = {0};
    struct lake_job job = *recorded;

    if (interrupt_seen())
        return err_set(e, ERR_RETRY, "interrupted");
    if (s->limit && s->n >= s->limit) {
        s->more = true;
        return 0;
    }
    s->n++;
    bill_show(s->bills, &job);
    if (!s->json) {
        add_row(s->table, &job);
        return 0;
    }
    app_job_read_details(&job, &details);
    return json_list_add(&s->list, job_json(&job, &details), e);
}

static int show_listed(void *context, const struct lake_job *job, struct err *e)
{
    return show(context, job, e);
}

/* ---- other orders ---- */

static double key_of(enum job_order order, const struct lake_job *job)
{
    switch (order) {
    case ORDER_QUEUED:
        return -(double)job->queued_ms;
    case ORDER_RUNTIME:
        return -app_job_runtime_s(job);
    case ORDER_COST:
        return -(double)job->cost_microusd;
    case ORDER_STATE:
        return (double)job->state;
    case ORDER_ID:
        break;
    }
    return 0;
}

static int note_place(void *context, const struct lake_job *job, struct err *e)
{
    struct listing *s = context;

    if (interrupt_seen())
        return err_set(e, ERR_RETRY, "interrupted");
    s->places = mem_room(s->places, s->n_places, &s->cap_places, sizeof *s->places);
    struct lake_job now = *job;
    bill_show(s->bills, &now);
    s->places[s->n_places++] = (struct place){job->id, key_of(s->order, &now)};
    return 0;
}

/* By key, the newest first among equals. */
static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->key < y->key || x->key > y->key)
        return x->key < y->key ? -1 : 1;
    return x->id > y->id ? -1 : x->id < y->id;
}

static int show_sorted(struct listing *s, const struct lake_job_filter *filter, struct err *e)
{
    struct lake_job_filter all = *filter;

    all.limit = 0;
    if (lake_job_list(s->l, &all, note_place, s, e) < 0)
        return -1;
    if (s->n_places)
        qsort(s->places, s->n_places, sizeof *s->places, by_key);
    for (size_t i = 0; i < s->n_places && !s->more; i++) {
        AUTO_CLEAR(job_record) struct job_record r = {0};
        if (job_record_load(s->app, s->places[i].id, &r, e) < 0 || show(s, &r.job, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- what is asked for ---- */

static int read_states(const char *text, unsigned *out, struct err *e)
{
    AUTO_MEM char *words = mem_dup(text);

    for (char *word = words, *next; word; word = next) {
        enum lake_job_state state;
        next = strchr(word, ',');
        if (next)
            *next++ = 0;
        if (lake_job_state_parse(word, &state, e) < 0)
            return err_wrap(e, "--state");
        *out |= 1U << state;
    }
    return 0;
}

static int read_order(const char *text, enum job_order *out, struct err *e)
{
    static const char *const names[] = {"id", "queued", "runtime", "cost", "state"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum job_order)i;
            return 0;
        }
    return err_set(e, ERR_USAGE, "--sort %.40s: id, queued, runtime, cost or state", text);
}

static int read_whole(const struct command_args *args,
                      const char *option,
                      uint64_t *out,
                      struct err *e)
{
    double value = (double)*out;

    if (command_number(args, option, &value, e) < 0)
        return -1;
    if (!(value >= 1 && value <= 1e15) || value > (double)(uint64_t)value)
        return err_set(e, ERR_USAGE, "%s %s: a whole number from 1 on is wanted", option,
                       command_value(args, option));
    *out = (uint64_t)value;
    return 0;
}

static int read_filter(const struct command_args *args,
                       struct lake_job_filter *f,
                       struct listing *s,
                       struct err *e)
{
    const char *states = command_value(args, "--state"), *sort = command_value(args, "--sort");
    uint64_t run = 1;

    f->user = command_value(args, "--user");
    f->name = command_value(args, "--name");
    f->newest_first = true;
    s->limit = LIMIT_DEFAULT;
    if (command_has(args, "--all") && command_has(args, "--limit"))
        return err_set(e, ERR_USAGE, "--all and --limit exclude each other");
    if ((states && read_states(states, &f->states, e) < 0) ||
        (sort && read_order(sort, &s->order, e) < 0) ||
        read_whole(args, "--limit", &s->limit, e) < 0 || read_whole(args, "--run", &run, e) < 0)
        return -1;
    f->run = command_has(args, "--run") ? (int64_t)run : 0;
    s->limit = command_has(args, "--all") ? 0 : s->limit;
    f->limit = s->limit ? s->limit + 1 : 0;
    return 0;
}

static void print_table(const struct listing *s, bool filtered)
{
    const struct text_look look = text_look_for(stdout);

    if (!s->n) {
        puts(filtered ? "No job is like that."
                      : "There are no jobs; tradewind job submit -- COMMAND makes one.");
        return;
    }
    table_print(s->table, stdout, 0, TEXT_COLUMNS, &look);
    if (s->more)
        printf("These are the first %llu; --all shows all of them.\n", (unsigned long long)s->n);
}

static int run_ls(const struct command_args *args, struct err *e)
{
    static const struct table_column columns[] = {
        {.title = "job", .right = true},
        {.title = "state"},
        {.title = "user", .cut_rank = 2, .least = 6},
        {.title = "cpus", .right = true},
        {.title = "memory", .right = true},
        {.title = "queued"},
        {.title = "runtime", .right = true},
        {.title = "cost", .right = true},
        {.title = "name", .cut_rank = 3, .least = 8},
        {.title = "command", .cut_rank = 1, .least = 12},
    };
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    AUTO_CLEAR(open_bills) struct open_bills bills = {0};
    struct lake_job_filter filter = {0};
    struct listing s = {.bills = &bills, .json = command_has(args, "--json"), .table = table};

    json_list_begin(&s.list, stdout);
    if (read_filter(args, &filter, &s, e) < 0 || job_desk_open(&desk, e) < 0 ||
        open_bills_read(desk.home, time_epoch_ms(), &bills, e) < 0)
        return -1;
    interrupt_watch();
    s.app = desk.app;
    s.l = desk.lake;
    int result = s.order == ORDER_ID ? lake_job_list(s.l, &filter, show_listed, &s, e)
                                     : show_sorted(&s, &filter, e);
    free(s.places);
    if (result < 0)
        return -1;
    if (s.json)
        return json_list_end(&s.list, e);
    print_table(&s, filter.states || filter.user || filter.name || filter.run);
    return 0;
}

static const struct command_option options[] = {
    {.name = "--state",
     .value = "STATE,...",
     .help = "Only those that are queued, launching, fetching, running, storing, finished, failed, "
             "killed or lost."},
    {.name = "--user", .value = "USER", .help = "Only this user's."},
    {.name = "--name", .value = "NAME", .help = "Only those of this name."},
    {.name = "--run", .value = "ID", .help = "Only the stages of this run of a pipeline."},
    {.name = "--sort",
     .value = "id|queued|runtime|cost|state",
     .help = "Newest, longest or dearest first; by id unless given."},
    {.name = "--limit", .value = "N", .help = "The first N of them; 50 unless given."},
    {.name = "--all", .letter = 'a', .help = "All of them."},
    {.name = "--json", .help = "Print an array of what job show prints, without transitions."},
    {0},
};

const struct command command_job_ls = {
    .name = "job ls",
    .summary = "List jobs, the newest first",
    .example = "tradewind job ls --state failed,lost --sort cost",
    .options = options,
    .run = run_ls,
};
