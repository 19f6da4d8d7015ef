/* solve: the operation policy.solve, which `tradewind policy solve` calls, and the list of
 * operations on policies. */
#include "app/policy/internal.h"
#include "base/buf.h"
#include "base/csv.h"
#include "base/time.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const app_policy_kinds[POLICY_KINDS + 1] = {
    [POLICY_MAX_THROUGHPUT + 1] = "max-throughput",
    [POLICY_THROUGHPUT_PER_DOLLAR + 1] = "throughput-per-dollar",
    [POLICY_MIN_COST + 1] = "min-cost",
    [POLICY_MIN_COST_SLO + 1] = "min-cost-slo",
    [POLICY_MIN_MAKESPAN + 1] = "min-makespan",
};

struct solve_request {
    const char *file, *problem;
    unsigned policy; /* enum policy_kind + 1 */
    unsigned form;   /* enum policy_form + 1; 0 = the default */
    int64_t columns;
};

static const char *const forms[] = {
    NULL,
    [POLICY_WINDOWS + 1] = "windows",
    [POLICY_RATE + 1] = "rate",
};

/* clang-format off */
static const struct field request_fields[] = {
    {"file", FIELD(TEXT, struct solve_request, file), .operand = true, .is_local = true,
     .value = "FILE", .help = "Path of the problem, a JSON file."},
    {"problem", FIELD(TEXT, struct solve_request, problem), .is_remote_only = true,
     .is_local = true, .most = (double)POLICY_FILE_BYTES_MAX,
     .help = "Text of the problem; file then is its name in messages."},
    POLICY_KIND_FIELD(struct solve_request),
    {"form", FIELD(ENUM, struct solve_request, form), FIELD_CHOICES(forms),
     .help = "Of min-cost-slo: new shares in every window between deadlines and price steps (the "
             "default), or one share for the whole time to a job's deadline."},
    {"columns", FIELD(INT, struct solve_request, columns), .value = "N", .least = 1,
     .most = POLICY_PAIRS_MAX, .preset = "200000",
     .help = "Merge windows until the linear program has at most N columns (default: 200000)."},
};
/* clang-format on */
_Static_assert(POLICY_COLUMNS_DEFAULT == 200000, "the preset and the help of columns say so");

/* ---- texts of requests ---- */

void app_policy_text_clear(struct app_policy_text *t)
{
    free(t->read);
}

int app_policy_read(const char *text,
                    const char *path,
                    const char *field,
                    const struct answer *out,
                    struct app_policy_text *t,
                    struct err *e)
{
    char option[64];

    *t = (struct app_policy_text){.name = path ? path : field, .bytes = text};
    if (text)
        t->len = strlen(text);
    else if (path)
        t->bytes = t->read = gzip_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path,
                                       POLICY_FILE_BYTES_MAX, &t->len, e);
    else
        err_set(e, ERR_USAGE, "%s: is missing", answer_spell(out, field, option));
    return t->bytes ? 0 : -1;
}

/* ---- the answer ---- */

/* object[job][type] = value; both are there or made. */
static void set_use(json_t *object, const struct app_policy_use *u, double value)
{
    json_t *types = json_object_get(object, u->job);

    if (!types) {
        types = json_object();
        json_object_set_new(object, u->job, types);
    }
    json_object_set_new(types, u->type, json_number(value));
}

static json_t *shares_json(const void *record)
{
    const struct app_policy_solved *r = record;
    const struct app_policy_use *uses = r->uses.items;
    json_t *shares = r->has_shares ? json_object() : json_null();

    for (size_t i = 0; r->has_shares && i < r->uses.n; i++)
        set_use(shares, &uses[i], uses[i].share);
    return shares;
}

static json_t *hours_json(const void *record)
{
    const struct app_policy_solved *r = record;
    const struct app_policy_use *uses = r->uses.items;
    json_t *list = r->has_hours ? json_array() : json_null();
    size_t i = 0;

    for (size_t k = 0; r->has_hours && k < r->n_windows; k++) {
        json_t *jobs = json_object();
        for (; i < r->uses.n && uses[i].from_h <= r->windows[k].from_h; i++)
            set_use(jobs, &uses[i], uses[i].hours);
        json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "from_h",
                                              json_number(r->windows[k].from_h), "to_h",
                                              json_number(r->windows[k].to_h), "jobs", jobs));
    }
    return list;
}

json_t *app_policy_map(const struct record *r, const struct field_records *list, const char *value)
{
    const struct field *key = record_field(r, "name"), *f = record_field(r, value);
    json_t *map = json_object();

    for (size_t i = 0; i < list->n; i++) {
        const char *item = (const char *)list->items + i * r->size;
        if (field_is_shown(f, item))
            json_object_set_new(map, *(const char *const *)field_at(key, item),
                                field_json(f, item));
    }
    return map;
}

static void deadline_cell(const void *record, struct buf *out)
{
    const struct app_policy_need *job = record;

    if (isnan(job->deadline_h))
        buf_puts(out, "none");
    else
        buf_printf(out, "%.4g h", job->deadline_h);
}

static void window_cell(const void *record, struct buf *out)
{
    const struct app_policy_use *u = record;

    if (isfinite(u->to_h))
        buf_printf(out, "%.4g h to %.4g h", u->from_h, u->to_h);
    else
        buf_printf(out, "from %.4g h", u->from_h);
}

/* clang-format off */
#define NEED(TYPE, key, ...) {#key, FIELD(TYPE, struct app_policy_need, key), __VA_ARGS__}
static const struct field need_fields[] = {
    NEED(TEXT, name, .help = "Job.", .heading = "job", .cut_rank = 1, .least_width = 10),
    NEED(REAL, gang, .help = "Instances that the job takes at once."),
    NEED(REAL, deadline_h, .unit = "h", .heading = "deadline", .cell = deadline_cell,
         .help = "Deadline; null = none."),
    NEED(REAL, shortfall, .heading = "not done", .digits = 2, .suffix = " %", .scale = 100,
         .omit_none = true, .help = "Part of its iterations that misses the deadline."),
    NEED(TEXT, without_share, .omit_none = true,
         .help = "Why the job has no share: nowhere (no type has room) or outbid."),
};
static const struct record need_record = RECORD("policy_need", struct app_policy_need, need_fields);

static const struct field type_fields[] = {
    {"name", FIELD(TEXT, struct app_policy_type, name), .help = "Type."},
    {"shadow_price", FIELD(REAL, struct app_policy_type, shadow_price),
     .help = "Improvement of the objective by one more instance."},
};
static const struct record type_record = RECORD("policy_type", struct app_policy_type, type_fields);

static json_t *shortfall_json(const void *record)
{
    return app_policy_map(&need_record, &((const struct app_policy_solved *)record)->jobs,
                          "shortfall");
}

static json_t *idle_json(const void *record)
{
    return app_policy_map(&need_record, &((const struct app_policy_solved *)record)->jobs,
                          "without_share");
}

static json_t *shadow_json(const void *record)
{
    return app_policy_map(&type_record, &((const struct app_policy_solved *)record)->types,
                          "shadow_price");
}

static bool is_feasible(const void *record)
{
    return !((const struct app_policy_solved *)record)->reason;
}

/* clang-format off */
#define USE(TYPE, key, ...) {#key, FIELD(TYPE, struct app_policy_use, key), __VA_ARGS__}
static const struct field use_fields[] = {
    USE(REAL, from_h, .unit = "h", .heading = "window", .is_detail = true, .left = true,
        .cell = window_cell, .help = "Begin of the window."),
    USE(REAL, to_h, .unit = "h", .help = "Its end; null = none."),
    USE(TEXT, job, .heading = "job", .cut_rank = 1, .least_width = 10, .help = "Job."),
    USE(REAL, gang, .heading = "gang", .help = "Instances that the job takes at once."),
    USE(TEXT, type, .heading = "type", .cut_rank = 2, .least_width = 10, .help = "Type."),
    USE(REAL, share, .heading = "share", .digits = 2, .suffix = " %", .scale = 100,
        .help = "Share of the time; null in a window without end."),
    USE(REAL, hours, .unit = "h", .heading = "for", .is_detail = true, .digits = 2, .suffix = " h",
        .help = "Hours; null for policies without windows."),
};
static const struct record use_record = RECORD("policy_use", struct app_policy_use, use_fields);

#define SOLVED(TYPE, key, ...) {#key, FIELD(TYPE, struct app_policy_solved, key), __VA_ARGS__}
static const struct field solved_fields[] = {
    SOLVED(TEXT, policy, .help = "Policy."),
    SOLVED(TEXT, status, .help = "optimal, feasible (windows were merged) or infeasible."),
    SOLVED(REAL, objective, .help = "Value of the objective; null when infeasible."),
    SOLVED(TEXT, unit, .help = "Unit of the objective."),
    SOLVED(REAL, bound, .help = "Bound of the objective: no feasible answer is better."),
    {"shares", .type = FIELD_JSON, .json = shares_json,
     .help = "By job and type: share of the time; null for policies with windows."},
    {"hours", .type = FIELD_JSON, .json = hours_json,
     .help = "Windows with from_h, to_h and jobs, by job and type: hours; null without windows."},
    {"windows", FIELD(COUNT, struct app_policy_solved, n_windows), .help = "Windows."},
    SOLVED(COUNT, windows_exact, .help = "Windows before merging."),
    {"shortfall", .type = FIELD_JSON, .json = shortfall_json,
     .help = "By job: part of its iterations that misses the deadline."},
    {"without_share", .type = FIELD_JSON, .json = idle_json,
     .help = "By job without a share: nowhere (no type has room) or outbid."},
    {"shadow_prices", .type = FIELD_JSON, .json = shadow_json,
     .help = "By type: improvement of the objective by one more instance."},
    {"shadow_prices_at_most", FIELD(BOOL, struct app_policy_solved, shadow_at_most),
     .help = "Whether shadow prices are upper bounds."},
    SOLVED(TEXT, reason, .omit_none = true, .help = "Why the problem is infeasible, and the fix."),
    SOLVED(REAL, stretch, .is_absent = is_feasible,
           .help = "Factor by which later deadlines make the problem feasible."),
    SOLVED(REAL, budget_needed_usd, .unit = "USD", .is_absent = is_feasible,
           .help = "Smallest budget that suffices."),
    SOLVED(RECORDS, jobs, .record = &need_record, .help = "Jobs, in the order of the problem."),
    SOLVED(RECORDS, types, .record = &type_record, .help = "Types, in the order of the problem."),
    SOLVED(RECORDS, uses, .record = &use_record, .help = "Uses of types, by window and job."),
    SOLVED(REAL, elapsed_ms, .unit = "ms", .help = "Time of the solver."),
};
/* clang-format on */

/* ---- the time it takes ---- */

/* A thread that tells each second how long the solver has been running. */
struct ticker {
    const struct app *app;
    struct timespec began;
    pthread_t thread;
    sem_t ends;
    bool has_thread;
};

static void *tick(void *context)
{
    struct ticker *t = context;
    struct timespec until = t->began;

    until.tv_sec++;
    while (sem_clockwait(&t->ends, CLOCK_MONOTONIC, &until) < 0)
        if (errno == ETIMEDOUT)
            app_status(t->app, "solving: %ld s", (long)(until.tv_sec++ - t->began.tv_sec));
    return NULL;
}

static void ticker_begin(struct ticker *t, const struct app *app)
{
    *t = (struct ticker){.app = app};
    clock_gettime(CLOCK_MONOTONIC, &t->began);
    sem_init(&t->ends, 0, 0);
    /* Without a thread the solver runs all the same. */
    t->has_thread = pthread_create(&t->thread, NULL, tick, t) == 0;
}

static void ticker_end(struct ticker *t)
{
    sem_post(&t->ends);
    if (t->has_thread)
        pthread_join(t->thread, NULL);
    sem_destroy(&t->ends);
}

/* ---- all of it ---- */

static int check_form(const struct solve_request *q, const struct answer *out, struct err *e)
{
    char field[64];

    if (!q->form || q->policy - 1 == POLICY_MIN_COST_SLO)
        return 0;
    return err_set(e, ERR_USAGE, "%s: only min-cost-slo has forms; leave it out",
                   answer_spell(out, "form", field));
}

static int put_jobs(const struct policy_problem *p,
                    const struct policy_answer *a,
                    const struct answer *answer,
                    struct app_policy_solved *out,
                    struct err *e)
{
    static const char *const whys[] = {[POLICY_NOWHERE] = "nowhere", [POLICY_OUTBID] = "outbid"};
    struct app_policy_need *jobs = answer_alloc(answer, a->n_jobs, sizeof *jobs, e);
    struct app_policy_type *types =
        jobs ? answer_alloc(answer, a->n_types, sizeof *types, e) : NULL;

    if (!types)
        return -1;
    for (size_t m = 0; m < a->n_jobs; m++)
        jobs[m] = (struct app_policy_need){
            .name = p->jobs[m].name,
            .gang = p->jobs[m].gang,
            .deadline_h = p->jobs[m].slo_h,
            .shortfall = a->shortfall[m] > 0 ? a->shortfall[m] : (double)NAN,
            .without_share = a->idle ? whys[a->idle[m]] : NULL,
        };
    for (size_t j = 0; j < a->n_types; j++)
        types[j] =
            (struct app_policy_type){.name = p->types[j].name, .shadow_price = a->shadow_price[j]};
    out->jobs = (struct field_records){jobs, a->n_jobs};
    out->types = (struct field_records){types, a->n_types};
    return 0;
}

static int put_uses(const struct policy_problem *p,
                    const struct policy_answer *a,
                    const struct answer *answer,
                    struct field_records *out,
                    struct err *e)
{
    struct app_policy_use *uses = answer_alloc(answer, a->n_uses, sizeof *uses, e);

    for (size_t i = 0; uses && i < a->n_uses; i++) {
        const struct policy_use *u = &a->uses[i];
        const struct policy_window *w = &a->windows[u->window];
        uses[i] = (struct app_policy_use){
            .from_h = w->from_h,
            .to_h = w->to_h,
            .job = p->jobs[u->job].name,
            .type = p->types[u->type].name,
            .gang = p->jobs[u->job].gang,
            .share = isfinite(w->to_h) ? u->share : (double)NAN,
            .hours = a->has_hours ? u->hours : (double)NAN,
        };
    }
    *out = (struct field_records){uses, a->n_uses};
    return uses ? 0 : -1;
}

static int run_solve(struct app *app, const void *request, struct answer *out, struct err *e)
{
    static const char *const statuses[] = {[POLICY_OPTIMAL] = "optimal",
                                           [POLICY_FEASIBLE] = "feasible",
                                           [POLICY_INFEASIBLE] = "infeasible"};
    const struct solve_request *q = request;
    AUTO_CLEAR(app_policy_text) struct app_policy_text text = {0};
    AUTO_CLEAR(policy_file) struct policy_file file = {0};
    AUTO_CLEAR(policy_answer) struct policy_answer a = {0};
    const enum policy_kind kind = (enum policy_kind)(q->policy - 1);
    const enum policy_form form = q->form ? (enum policy_form)(q->form - 1) : POLICY_WINDOWS;
    struct ticker ticker;

    if (check_form(q, out, e) < 0 ||
        app_policy_read(q->problem, q->file, "problem", out, &text, e) < 0)
        return -1;
    if (policy_read(text.bytes, text.len, false, &file, e) < 0)
        return err_wrap(e, "%s", text.name);
    file.problem.columns_max = (size_t)q->columns;
    const double began_s = time_monotonic_s();
    ticker_begin(&ticker, app);
    int solved = policy_solve(&file.problem, kind, form, &a, e);
    ticker_end(&ticker);
    if (solved < 0)
        return err_wrap(e, "%s", text.name);
    struct app_policy_solved solution = {
        .policy = policy_kind_name(kind),
        .status = statuses[a.status],
        .unit = policy_unit(kind),
        .reason = *a.reason ? a.reason : NULL,
        .objective = a.objective,
        .bound = a.bound,
        .stretch = a.stretch,
        .budget_needed_usd = a.budget_needed_usd,
        .elapsed_ms = (time_monotonic_s() - began_s) * 1e3,
        .n_windows = a.n_windows,
        .windows_exact = a.windows_exact,
        .shadow_at_most = a.shadow_at_most,
        .windows = a.windows,
        .has_shares = a.has_shares,
        .has_hours = a.has_hours,
    };
    if (put_jobs(&file.problem, &a, out, &solution, e) < 0 ||
        put_uses(&file.problem, &a, out, &solution.uses, e) < 0)
        return -1;
    return answer_head(out, &solution, e);
}

const struct operation policy_solve_operation = {
    .name = "policy.solve",
    .summary = "Divide instances with quotas among many jobs, with a proof of optimality.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct solve_request, request_fields),
    .answer = RECORD_AT("policy_solved", struct app_policy_solved, solved_fields),
    .run = run_solve,
};
