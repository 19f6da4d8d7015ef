/* list: the operation job.list. `tradewind job ls` calls it. */
#include "app/job/job.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/machine/bill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT 50
#define LIMIT_MAX 1e15

enum job_order { ORDER_ID = 1, ORDER_QUEUED, ORDER_RUNTIME, ORDER_COST, ORDER_STATE };
static const char *const orders[] = {NULL, "id", "queued", "runtime", "cost", "state"};

struct list_request {
    const char *state, *user, *name;
    int64_t run;
    enum job_order sort;
    int64_t limit;
    bool all;
};

/* clang-format off */
#define LIST(TYPE, member) FIELD(TYPE, struct list_request, member)
static const struct field list_fields[] = {
    {"state", LIST(TEXT, state), .value = "STATE,...",
     .help = "Only jobs that are queued, launching, fetching, running, storing, unsaved, "
             "finished, failed, killed or lost."},
    {"user", LIST(TEXT, user), .value = "USER", .help = "Only jobs of this user."},
    {"name", LIST(TEXT, name), .value = "NAME", .help = "Only jobs of this name."},
    {"run", LIST(INT, run), .value = "ID", .least = 1, .most = LIMIT_MAX,
     .help = "Only jobs of this run of a pipeline."},
    {"sort", LIST(ENUM, sort), FIELD_CHOICES(orders), .preset = "id",
     .value = "id|queued|runtime|cost|state",
     .help = "Order: the newest, longest or most expensive first (default id)."},
    {"limit", LIST(INT, limit), .value = "N", .least = 1, .most = LIMIT_MAX,
     .help = "At most N jobs (default 50)."},
    {"all", LIST(BOOL, all), .letter = 'a', .help = "All jobs, without limit."},
};
/* clang-format on */

struct listing {
    struct app *app;
    struct answer *out;
    const struct open_bills *bills;
    uint64_t limit; /* 0 = none */
    uint64_t n;
    enum job_order order;
    /* In orders other than that of the ids: */
    struct sort_key {
        int64_t id;
        double key;
    } * sorted;
    size_t n_sorted, cap_sorted;
};

static int show(void *context, const struct lake_job *recorded, struct err *e)
{
    struct listing *s = context;
    AUTO_CLEAR(app_job) struct app_job item = {0};
    struct lake_job job = *recorded;

    if (s->limit && s->n >= s->limit) {
        s->out->more = true;
        return 0;
    }
    s->n++;
    bill_show(s->bills, &job);
    app_job_fill(&item, &job);
    return answer_listed(s->out, &item, e);
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

static int note_key(void *context, const struct lake_job *job, struct err *e)
{
    struct listing *s = context;

    if (app_check_cancelled(s->app, e) < 0)
        return -1;
    s->sorted = mem_room(s->sorted, s->n_sorted, &s->cap_sorted, sizeof *s->sorted);
    struct lake_job now = *job;
    bill_show(s->bills, &now);
    s->sorted[s->n_sorted++] = (struct sort_key){job->id, key_of(s->order, &now)};
    return 0;
}

/* By key, the newest first among equals. */
static int by_key(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;

    if (x->key < y->key || x->key > y->key)
        return x->key < y->key ? -1 : 1;
    return x->id > y->id ? -1 : x->id < y->id;
}

static int show_sorted(struct listing *s, const struct lake_job_filter *filter, struct err *e)
{
    struct lake_job_filter all = *filter;

    all.limit = 0;
    if (lake_job_list(app_lake(s->app, e), &all, note_key, s, e) < 0)
        return -1;
    if (s->n_sorted)
        qsort(s->sorted, s->n_sorted, sizeof *s->sorted, by_key);
    for (size_t i = 0; i < s->n_sorted && !s->out->more; i++) {
        AUTO(arena) struct arena *arena = arena_new(LAKE_JOB_ARENA_MAX);
        struct lake_job job;
        if (app_job_load(s->app, s->sorted[i].id, arena, &job, e) < 0 || show(s, &job, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- job.list ---- */

static int read_states(const char *text, unsigned *out, struct err *e)
{
    AUTO_MEM char *words = mem_dup(text);

    for (char *rest = words, *word; (word = strsep(&rest, ","));) {
        enum lake_job_state state;
        if (lake_job_state_parse(word, &state, e) < 0)
            return -1;
        *out |= 1U << state;
    }
    return 0;
}

static int read_filter(const struct list_request *q,
                       const struct answer *out,
                       struct lake_job_filter *f,
                       uint64_t *limit_out,
                       struct err *e)
{
    char all[64], limit[64];

    if (q->all && q->limit != FIELD_NONE)
        return err_set(e, ERR_USAGE, "%s and %s exclude each other", answer_spell(out, "all", all),
                       answer_spell(out, "limit", limit));
    *limit_out = q->all ? 0 : q->limit == FIELD_NONE ? LIMIT_DEFAULT : (uint64_t)q->limit;
    *f = (struct lake_job_filter){.user = q->user,
                                  .name = q->name,
                                  .run = q->run == FIELD_NONE ? 0 : q->run,
                                  .newest_first = true,
                                  .limit = *limit_out ? *limit_out + 1 : 0};
    if (q->state && read_states(q->state, &f->states, e) < 0)
        return err_wrap(e, "%s", answer_spell(out, "state", all));
    return 0;
}

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct list_request *q = request;
    AUTO_CLEAR(open_bills) struct open_bills bills = {0};
    struct listing s = {.app = app, .out = out, .bills = &bills, .order = q->sort};
    struct lake_job_filter filter;
    const char *home;
    struct lake *l;

    if (read_filter(q, out, &filter, &s.limit, e) < 0 || !(home = app_home(app, e)) ||
        !(l = app_lake(app, e)) || open_bills_read(home, time_epoch_ms(), &bills, e) < 0)
        return -1;
    int result =
        s.order == ORDER_ID ? lake_job_list(l, &filter, show, &s, e) : show_sorted(&s, &filter, e);
    free(s.sorted);
    return result;
}

const struct operation job_list_operation = {
    .name = "job.list",
    .summary = "List jobs, the newest first.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct list_request, list_fields),
    .item = &app_job_record,
    .is_live = true,
    .run = run_list,
};
