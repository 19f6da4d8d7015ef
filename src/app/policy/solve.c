/* solve: the operation policy.solve, which `tradewind policy solve` calls. */
#include "app/policy/policy.h"
#include "base/time.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
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
     .value = "FILE", .preset = "problem", .help = "Name of the problem in messages."},
    {"problem", FIELD(TEXT, struct solve_request, problem), .is_remote_only = true,
     .is_local = true, .required = true, .most = (double)POLICY_FILE_BYTES_MAX,
     .help = "The problem, as JSON text."},
    POLICY_KIND_FIELD(struct solve_request),
    {"form", FIELD(ENUM, struct solve_request, form), FIELD_CHOICES(forms),
     .help = "Of min-cost-slo: new shares in every window between deadlines and price steps (the "
             "default), or one share for the whole time to a job's deadline."},
    {"columns", FIELD(INT, struct solve_request, columns), .value = "N", .least = 1,
     .most = POLICY_PAIRS_MAX, .preset = "200000",
     .help = "Merge windows until the linear program has at most N columns (default: 200000)."},
};
/* clang-format on */
static const struct record request_record =
    RECORD("policy_solve", struct solve_request, request_fields);
_Static_assert(POLICY_COLUMNS_DEFAULT == 200000, "the preset and the help of columns say so");

/* ---- the answer ---- */

/* object[job][type] = value; both are there or made. */
static void set_use(json_t *object,
                    const struct app_policy_solved *r,
                    const struct policy_use *u,
                    double value)
{
    const char *job = r->problem->jobs[u->job].name;
    json_t *types = json_object_get(object, job);

    if (!types) {
        types = json_object();
        json_object_set_new(object, job, types);
    }
    json_object_set_new(types, r->problem->types[u->type].name, json_number(value));
}

static json_t *shares_json(const void *record)
{
    const struct app_policy_solved *r = record;
    json_t *shares = r->answer->has_shares ? json_object() : json_null();

    for (size_t i = 0; r->answer->has_shares && i < r->answer->n_uses; i++)
        set_use(shares, r, &r->answer->uses[i], r->answer->uses[i].share);
    return shares;
}

static json_t *hours_json(const void *record)
{
    const struct app_policy_solved *r = record;
    const struct policy_answer *a = r->answer;
    json_t *list = a->has_hours ? json_array() : json_null();
    size_t i = 0;

    for (size_t k = 0; a->has_hours && k < a->n_windows; k++) {
        json_t *jobs = json_object();
        for (; i < a->n_uses && a->uses[i].window == k; i++)
            set_use(jobs, r, &a->uses[i], a->uses[i].hours);
        json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "from_h",
                                              json_number(a->windows[k].from_h), "to_h",
                                              json_number(a->windows[k].to_h), "jobs", jobs));
    }
    return list;
}

static json_t *windows_json(const void *record)
{
    const struct app_policy_solved *r = record;

    return json_integer((json_int_t)r->answer->windows_exact);
}

static json_t *shortfall_json(const void *record)
{
    const struct app_policy_solved *r = record;
    json_t *o = json_object();

    for (size_t m = 0; m < r->answer->n_jobs; m++)
        if (r->answer->shortfall[m] > 0)
            json_object_set_new(o, r->problem->jobs[m].name, json_number(r->answer->shortfall[m]));
    return o;
}

static json_t *idle_json(const void *record)
{
    static const char *const whys[] = {
        [POLICY_NOWHERE] = "nowhere",
        [POLICY_OUTBID] = "outbid",
    };
    const struct app_policy_solved *r = record;
    json_t *o = json_object();

    for (size_t m = 0; r->answer->idle && m < r->answer->n_jobs; m++)
        if (r->answer->idle[m] != POLICY_HAS_SHARE)
            json_object_set_new(o, r->problem->jobs[m].name, json_string(whys[r->answer->idle[m]]));
    return o;
}

static json_t *shadow_json(const void *record)
{
    const struct app_policy_solved *r = record;
    json_t *o = json_object();

    for (size_t j = 0; j < r->answer->n_types; j++)
        json_object_set_new(o, r->problem->types[j].name, json_number(r->answer->shadow_price[j]));
    return o;
}

static json_t *at_most_json(const void *record)
{
    return json_boolean(((const struct app_policy_solved *)record)->answer->shadow_at_most);
}

static bool is_feasible(const void *record)
{
    return ((const struct app_policy_solved *)record)->answer->status != POLICY_INFEASIBLE;
}

/* clang-format off */
static const struct field solved_fields[] = {
    {"policy", FIELD(TEXT, struct app_policy_solved, policy), .help = "Policy."},
    {"status", FIELD(TEXT, struct app_policy_solved, status),
     .help = "optimal, feasible (windows were merged) or infeasible."},
    {"objective", FIELD(REAL, struct app_policy_solved, objective),
     .help = "Value of the objective; null when infeasible."},
    {"unit", FIELD(TEXT, struct app_policy_solved, unit), .help = "Unit of the objective."},
    {"bound", FIELD(REAL, struct app_policy_solved, bound),
     .help = "Bound of the objective: no feasible answer is better."},
    {"shares", .type = FIELD_JSON, .json = shares_json,
     .help = "By job and type: share of the time; null for policies with windows."},
    {"hours", .type = FIELD_JSON, .json = hours_json,
     .help = "Windows with from_h, to_h and jobs, by job and type: hours; null without windows."},
    {"windows_exact", .type = FIELD_COUNT, .json = windows_json,
     .help = "Windows before merging."},
    {"shortfall", .type = FIELD_JSON, .json = shortfall_json,
     .help = "By job: part of its iterations that misses the deadline."},
    {"without_share", .type = FIELD_JSON, .json = idle_json,
     .help = "By job without a share: nowhere (no type has room) or outbid."},
    {"shadow_prices", .type = FIELD_JSON, .json = shadow_json,
     .help = "By type: improvement of the objective by one more instance."},
    {"shadow_prices_at_most", .type = FIELD_BOOL, .json = at_most_json,
     .help = "Whether shadow prices are upper bounds."},
    {"reason", FIELD(TEXT, struct app_policy_solved, reason), .is_absent = is_feasible,
     .help = "Why the problem is infeasible, and the fix."},
    {"stretch", FIELD(REAL, struct app_policy_solved, stretch), .is_absent = is_feasible,
     .help = "Factor by which later deadlines make the problem feasible."},
    {"budget_needed_usd", FIELD(REAL, struct app_policy_solved, budget_needed_usd),
     .unit = "USD", .is_absent = is_feasible, .help = "Smallest budget that suffices."},
    {"elapsed_ms", FIELD(REAL, struct app_policy_solved, elapsed_ms), .unit = "ms",
     .help = "Time of the solver."},
};
/* clang-format on */
static const struct record solved_record =
    RECORD("policy_solved", struct app_policy_solved, solved_fields);

/* ---- the time it takes ---- */

/* A thread that tells each second how long the solver has been running. */
struct ticker {
    const struct app *app;
    double began_s;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t ends;
    bool is_over;
};

static void *tick(void *context)
{
    struct ticker *t = context;
    struct timespec until;

    pthread_mutex_lock(&t->lock);
    while (!t->is_over) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        if (pthread_cond_timedwait(&t->ends, &t->lock, &until) == ETIMEDOUT)
            app_status(t->app, "solving: %.0f s", time_monotonic_s() - t->began_s);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void ticker_begin(struct ticker *t, const struct app *app)
{
    pthread_condattr_t monotonic;

    *t = (struct ticker){.app = app, .began_s = time_monotonic_s()};
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->ends, &monotonic);
    pthread_condattr_destroy(&monotonic);
    /* Without a thread the solver runs all the same. */
    t->is_over = pthread_create(&t->thread, NULL, tick, t) != 0;
}

static void ticker_end(struct ticker *t)
{
    pthread_mutex_lock(&t->lock);
    bool has_thread = !t->is_over;
    t->is_over = true;
    pthread_cond_signal(&t->ends);
    pthread_mutex_unlock(&t->lock);
    if (has_thread)
        pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->ends);
    pthread_mutex_destroy(&t->lock);
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

static int answer_solved(const struct policy_problem *problem,
                         const struct policy_answer *a,
                         enum policy_kind kind,
                         double elapsed_ms,
                         struct answer *out,
                         struct err *e)
{
    static const char *const statuses[] = {
        [POLICY_OPTIMAL] = "optimal",
        [POLICY_FEASIBLE] = "feasible",
        [POLICY_INFEASIBLE] = "infeasible",
    };
    const struct app_policy_solved solved = {
        .problem = problem,
        .answer = a,
        .kind = kind,
        .elapsed_ms = elapsed_ms,
        .policy = policy_kind_name(kind),
        .status = statuses[a->status],
        .unit = policy_unit(kind),
        .reason = a->reason,
        .objective = a->objective,
        .bound = a->bound,
        .stretch = a->stretch,
        .budget_needed_usd = a->budget_needed_usd,
    };

    return answer_head(out, &solved, e);
}

static int run_solve(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct solve_request *q = request;
    AUTO_CLEAR(policy_file) struct policy_file file = {0};
    AUTO_CLEAR(policy_answer) struct policy_answer answer = {0};
    enum policy_kind kind = (enum policy_kind)(q->policy - 1);
    enum policy_form form = q->form ? (enum policy_form)(q->form - 1) : POLICY_WINDOWS;
    struct ticker ticker;

    if (check_form(q, out, e) < 0)
        return -1;
    if (policy_read(q->problem, strlen(q->problem), &file, e) < 0)
        return err_wrap(e, "%s", q->file);
    file.problem.columns_max = (size_t)q->columns;
    ticker_begin(&ticker, app);
    int solved = policy_solve(&file.problem, kind, form, &answer, e);
    ticker_end(&ticker);
    if (solved < 0)
        return err_wrap(e, "%s", q->file);
    return answer_solved(&file.problem, &answer, kind, (time_monotonic_s() - ticker.began_s) * 1e3,
                         out, e);
}

const struct operation policy_solve_operation = {
    .name = "policy.solve",
    .summary = "Divide instances with quotas among many jobs, with a proof of optimality.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &request_record,
    .answer = &solved_record,
    .run = run_solve,
};
