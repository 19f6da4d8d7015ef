/* list: the operation sweep.list, the sweeps of this home. `tradewind sweep ls` calls it. */
#include "app/sweep/trials.h"
#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".json"

/* clang-format off */
#define LISTED(TYPE, member) FIELD(TYPE, struct app_sweep_listed, member)
static const struct field listed_fields[] = {
    {"name", LISTED(TEXT, name), .help = "Name of the sweep.", .heading = "sweep",
     .cut_rank = 1, .least_width = 12},
    {"search", LISTED(TEXT, search), .help = "One of grid, random, halving.", .heading = "search"},
    {"trials", LISTED(INT, trials), .help = "Its trials.", .heading = "trials"},
    {"finished", LISTED(INT, finished), .help = "Those that finished.", .heading = "finished"},
    {"metric", LISTED(TEXT, metric), .help = "Metric by which trials rank.", .heading = "metric",
     .none = "-"},
    {"value", LISTED(REAL, value), .help = "Metric of the best trial.", .heading = "best value",
     .none = "-"},
    {"cost_usd", LISTED(MONEY, cost_microusd), .unit = "USD", .help = "Cost of all trials.",
     .heading = "cost"},
    {"best", LISTED(TEXT, best), .help = "Set version that the best trial made.",
     .heading = "best output", .cut_rank = 2, .least_width = 12},
};
/* clang-format on */
static const struct record listed_record =
    RECORD("sweep_listed", struct app_sweep_listed, listed_fields);

struct listing {
    struct app *app;
    struct answer *out;
};

/* A sweep whose jobs were all removed is not listed. */
static int list_one(struct listing *s, const char *home, const char *name, struct err *e)
{
    AUTO_CLEAR(sweep_plan) struct sweep_plan plan = {0};
    AUTO_CLEAR(sweep_trials) struct sweep_trials t;
    int64_t finished = 0;

    sweep_trials_init(&t);
    t.adds = true;
    if (sweep_plan_load(home, name, &plan, e) < 0 || sweep_trials_look(&t, s->app, &plan, e) < 0)
        return -1;
    if (!t.n)
        return 0;
    if (sweep_trials_find_metric(&t, s->app, &plan, e) < 0 ||
        sweep_trials_measure(&t, s->app, &plan, e) < 0)
        return -1;
    const struct sweep_trial *best = sweep_trials_best(&t, &plan);
    for (size_t i = 0; i < t.n; i++)
        finished += t.items[i].state == HALVING_ENDED;
    struct app_sweep_listed listed = {.name = name,
                                      .search = plan.search,
                                      .trials = (int64_t)t.n,
                                      .finished = finished,
                                      .metric = plan.metric,
                                      .value = best ? best->value : (double)NAN,
                                      .cost_microusd = t.cost_microusd,
                                      .best = best ? best->output : NULL};
    return answer_listed(s->out, &listed, e);
}

static int see_file(void *context, const char *path, struct err *e)
{
    struct listing *s = context;
    const char *file = strrchr(path, '/') + 1, *home = app_home(s->app, e);
    size_t n = strlen(file), suffix = strlen(SUFFIX);

    if (!home || n <= suffix || strcmp(file + n - suffix, SUFFIX) != 0)
        return home ? 0 : -1;
    AUTO_MEM char *name = mem_printf("%.*s", (int)(n - suffix), file);
    return list_one(s, home, name, e);
}

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    struct listing s = {app, out};
    const char *home = app_home(app, e);
    AUTO_MEM char *directory = home ? mem_printf("%s/sweeps", home) : NULL;

    (void)request;
    if (!home)
        return -1;
    return access(directory, F_OK) < 0 ? 0 : file_walk(directory, 0, see_file, &s, e);
}

const struct operation sweep_list_operation = {
    .name = "sweep.list",
    .summary = "List sweeps.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &record_none,
    .item = &listed_record,
    .is_live = true,
    .run = run_list,
};
