/* profile_show: what profiles know. */
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/job/profile_parts.h"
#include "view/json_list.h"
#include "view/table.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* ---- profile show, profile fit ---- */

static int show(const struct command_args *args,
                const struct job_desk *desk,
                const struct broker_profile *p,
                struct err *e)
{
    if (!command_has(args, "--json"))
        return profile_print(desk->lake, p, e);
    AUTO_JSON json_t *o = profile_json(desk->lake, p, e);
    return o ? json_write(stdout, o, e) : -1;
}

static int run_show(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};

    if (job_desk_open(&desk, e) < 0)
        return -1;
    AUTO(broker_profile)
    struct broker_profile *p = broker_profile_load(desk.home, args->operands[0], e);
    return p ? show(args, &desk, p, e) : -1;
}

static int run_fit(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};

    if (job_desk_open(&desk, e) < 0)
        return -1;
    AUTO(broker_profile)
    struct broker_profile *p = broker_profile_load(desk.home, args->operands[0], e);
    if (!p || broker_profile_learn(desk.home, desk.lake, p, e) < 0)
        return -1;
    return show(args, &desk, p, e);
}

static const struct command_option show_options[] = {
    {.name = "--json",
     .help = "Print {name, template, runs, done, model, box, cpus, memories_mb}; model is {kind, "
             "coefficients, loo_error, r2, runs}, or null."},
    {0},
};

const struct command command_profile_show = {
    .name = "profile show",
    .operands = "NAME",
    .summary = "Show a profile and what was learned from it",
    .details = "Runs are the jobs that it asked for. The model may know more: every finished job "
               "of the command counts.",
    .example = "tradewind profile show mnist",
    .options = show_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_show,
};

const struct command command_profile_fit = {
    .name = "profile fit",
    .operands = "NAME",
    .summary = "Learn again, from every finished run of the command",
    .details = "Runs that nobody profiled count as well: all finished jobs whose command is the "
               "profile's with other values. An option without a list that is not the same in all "
               "of them is learned, too.",
    .example = "tradewind profile fit mnist",
    .options = show_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_fit,
};

/* ---- profile ls ---- */

struct listing {
    const struct job_desk *desk;
    struct table *table; /* NULL = as JSON */
    struct json_list *list;
    size_t n;
};

static int list_one(void *context, const char *name, struct err *e)
{
    struct listing *listing = context;
    struct lake *l = listing->desk->lake;
    AUTO(broker_profile)
    struct broker_profile *p = broker_profile_load(listing->desk->home, name, e);
    struct profile_count count;

    if (!p)
        return -1;
    listing->n++;
    if (!listing->table) {
        json_t *o = profile_json(l, p, e);
        return o ? json_list_add(listing->list, o, e) : -1;
    }
    if (profile_count_jobs(l, name, &count, e) < 0)
        return -1;
    AUTO_MEM char *text = template_text(p->template);
    table_put(listing->table, name);
    table_printf(listing->table, "%zu", count.runs);
    table_printf(listing->table, "%zu", count.done);
    table_put(listing->table, p->fit ? fit_kind(p->fit) : "-");
    if (p->fit)
        table_printf(listing->table, "%.1f %%", 100 * fit_loo_error(p->fit));
    else
        table_put(listing->table, "-");
    table_put(listing->table, text);
    return 0;
}

static int list_as_json(struct listing *listing, struct err *e)
{
    struct json_list list;

    json_list_begin(&list, stdout);
    listing->list = &list;
    if (broker_profile_each(listing->desk->home, list_one, listing, e) < 0)
        return -1;
    return json_list_end(&list, e);
}

static int run_ls(const struct command_args *args, struct err *e)
{
    static const struct table_column columns[] = {
        {.title = "profile", .cut_rank = 2, .least = 12},
        {.title = "jobs", .right = true},
        {.title = "done", .right = true},
        {.title = "model"},
        {.title = "error", .right = true},
        {.title = "command", .cut_rank = 1, .least = 20},
    };
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    struct listing listing = {.desk = &desk};
    const struct text_look look = text_look_for(stdout);

    if (job_desk_open(&desk, e) < 0)
        return -1;
    if (command_has(args, "--json"))
        return list_as_json(&listing, e);
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    listing.table = table;
    if (broker_profile_each(desk.home, list_one, &listing, e) < 0)
        return -1;
    if (listing.n)
        table_print(table, stdout, 0, TEXT_COLUMNS, &look);
    else
        fprintf(stderr, "no profiles yet: tradewind profile NAME -- COMMAND makes one\n");
    return 0;
}

static const struct command_option ls_options[] = {
    {.name = "--json", .help = "Print an array of what profile show --json prints."},
    {0},
};

const struct command command_profile_ls = {
    .name = "profile ls",
    .summary = "List profiles, their jobs and how well they predict",
    .example = "tradewind profile ls",
    .options = ls_options,
    .run = run_ls,
};

/* ---- profile predict ---- */

static int print_prediction(const struct command_args *args,
                            const struct broker_profile *p,
                            const struct fit_prediction *got,
                            struct err *e)
{
    char predicted[32], low[32], high[32];

    if (command_has(args, "--json")) {
        AUTO_JSON json_t *o = json_object();
        json_object_set_new(o, "predicted_s", json_number(got->predicted_s));
        json_object_set_new(o, "low_s", json_number(got->low_s));
        json_object_set_new(o, "high_s", json_number(got->high_s));
        json_object_set_new(o, "outside", json_number(got->outside));
        json_object_set_new(o, "outside_by", profile_outside_json(p, got));
        return json_write(stdout, o, e);
    }
    printf("%s, 95 of 100 runs between %s and %s\n", time_text(got->predicted_s, predicted),
           time_text(got->low_s, low), time_text(got->high_s, high));
    profile_print_outside(stdout, p, got);
    return 0;
}

static double within(const struct profile_sizes *sizes, double value)
{
    return fmin(fmax(value, sizes->values[0]), sizes->values[sizes->n - 1]);
}

static int read_size(const struct command_args *args,
                     double *cpus,
                     double *memory_mb,
                     struct err *e)
{
    uint64_t mb;

    if (job_read_cpus(args, cpus, e) < 0 || job_read_memory(args, &mb, e) < 0)
        return -1;
    *memory_mb = (double)mb;
    return 0;
}

static int run_predict(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    AUTO_CLEAR(profile_settings) struct profile_settings settings = {0};
    AUTO_CLEAR(profile_values) struct profile_values values = {0};
    struct fit_prediction got;
    double cpus, memory_mb;

    if (profile_settings_read(args, &settings, e) < 0 ||
        read_size(args, &cpus, &memory_mb, e) < 0 || job_desk_open(&desk, e) < 0)
        return -1;
    AUTO(broker_profile) struct broker_profile *p = profile_open(args, &desk, e);
    if (!p || broker_profile_values(p, settings.items, settings.n, &values, e) < 0)
        return -1;
    if (!command_has(args, "--cpus"))
        cpus = within(&p->cpus, cpus);
    if (!command_has(args, "--memory"))
        memory_mb = within(&p->mems_mb, memory_mb);
    if (profile_predict(p, &values, cpus, memory_mb, &got, e) < 0)
        return -1;
    return print_prediction(args, p, &got, e);
}

static const struct command_option predict_options[] = {
    {.name = "--values",
     .value = "KEY=VALUE",
     .repeatable = true,
     .help = "What an argument of the command is to be, as in epoch=20; several with commas or "
             "blanks between them."},
    {.name = "--cpus",
     .value = "N",
     .help = "On so many CPUs, in halves; 1 unless given, or what was profiled next to it."},
    {.name = "--memory",
     .value = "SIZE",
     .help = "With so much memory, as in 512 or 2GB; 1GB unless given, or what was profiled next "
             "to it."},
    {.name = "--json",
     .help = "Print {predicted_s, low_s, high_s, outside, outside_by}: outside is the largest "
             "factor beyond the runs, 1 within."},
    {0},
};

const struct command command_profile_predict = {
    .name = "profile predict",
    .operands = "NAME [KEY=VALUE...]",
    .summary = "Tell how long a command would take, and how sure that is",
    .details = "The time is the median; 95 of 100 such runs lie in the interval. Where it is asked "
               "for more, or less, than any run had, that is said: out there the interval knows "
               "of chance only, not of what the runs do not show.",
    .example = "tradewind profile predict mnist --values epoch=20 --cpus 2",
    .options = predict_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_predict,
};
