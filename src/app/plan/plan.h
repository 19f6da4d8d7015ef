/* plan: operations that plan a pipeline, and the planning that runs, clusters and geo runs share.
 */
#ifndef APP_PLAN_PLAN_H
#define APP_PLAN_PLAN_H

#include "app/core/operation.h"
#include "base/arena.h"
#include "base/auto.h"
#include "base/err.h"
#include "broker/core/offer.h"
#include "plan/plan.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* solve answers with struct app_plan_report, check with struct app_plan_checked. */
#define PLAN_OPERATIONS(X) X(plan_solve) X(plan_check)
PLAN_OPERATIONS(OPERATION_DECLARE)

/* A pipeline file and its findings. */
struct app_plan_finding {
    int64_t line; /* 0 = the file as a whole */
    const char *severity, *text;
};
struct app_plan_checked {
    bool valid;
    struct field_records findings; /* struct app_plan_finding, in file order */
    const char *file;              /* NULL = the request has its text alone */
    uint64_t stages;
};

/* What every request that plans a pipeline says. A request struct that holds one as its member
 * `plan` lists PLAN_PIPELINE_FIELDS(struct run_request, plan.) and the lists below it. */
struct plan_request {
    const char *file;     /* path of the pipeline file as the user named it; "-" = standard input */
    const char *pipeline; /* its text; NULL = read file */
    /* The goal. */
    const char *objective;         /* NULL = as the file says */
    double budget_usd, deadline_s; /* NAN = as the file says */
    unsigned market;               /* enum plan_market + 1 */
    const char *cloud, *region;    /* NULL = any */
    double max_hourly_usd;         /* NAN = no limit */
    unsigned risk;                 /* 1 = none, 2 = p95 */
    unsigned solver;               /* enum plan_solver + 1 */
    double solve_limit_s;
    const char *simplify; /* "1%"; NULL = as configured */
    /* The world. */
    const char *catalog;     /* directory of CSV files; NULL = the catalog in use */
    const char *throughputs; /* file; NULL = as configured */
    struct field_list env;   /* KEY=VALUE */
    const char *base_dir; /* where relative inputs of `pipeline` start; NULL = nowhere; no field */
};
extern const struct record app_plan_request_record;
extern const char *const app_plan_market_choices[4];
extern const char *const app_plan_risk_choices[3];
extern const char *const app_plan_solver_choices[4];

/* clang-format off */
#define PLAN_PIPELINE_FIELDS(type, at)                                                             \
    {"file", FIELD(TEXT, type, at file), .is_local = true,                                         \
     .operand = true, .value = "PIPELINE",                                                         \
     .help = "Path of the pipeline file."},                                                        \
    {"pipeline", FIELD(TEXT, type, at pipeline), .is_remote_only = true,                           \
     .help = "Text of the pipeline file; file then is its name in messages."}

/* The objective, its constraints, and the search. */
#define PLAN_GOAL_FIELDS(type, at)                                                                 \
    {"objective", FIELD(TEXT, type, at objective), .value = "cost|time|value|weighted:W",          \
     .help = "Minimize dollars (the default), time, dollars x hours, or W x hours + (1-W) x "      \
             "dollars."},                                                                          \
    {"budget_usd", FIELD(REAL, type, at budget_usd), .option = "--budget", .value = "USD",         \
     .unit = "USD", .most = HUGE_VAL, .help = "Limit the cost of the plan."},                      \
    {"deadline_s", FIELD(DURATION, type, at deadline_s), .option = "--deadline", .unit = "s",      \
     .value = "DURATION", .most = HUGE_VAL,                                                        \
     .help = "Limit the time of the plan: 90s, 10m, 3h, 2d; a bare number is seconds."},           \
    {"market", FIELD(ENUM, type, at market), FIELD_CHOICES(app_plan_market_choices),                   \
     .preset = "on-demand",                                                                        \
     .help = "Market of stages that do not set use_spot; default on-demand."},                     \
    {"cloud", FIELD(TEXT, type, at cloud), .value = "CLOUD", .least = 1, .most = 200,              \
     .help = "Plan within this cloud only."},                                                      \
    {"region", FIELD(TEXT, type, at region), .value = "REGION", .least = 1, .most = 200,           \
     .help = "Plan within regions of this name only."},                                            \
    {"max_hourly_usd", FIELD(REAL, type, at max_hourly_usd), .option = "--max-hourly",             \
     .value = "USD", .unit = "USD", .most = HUGE_VAL,                                              \
     .help = "Use no instance that costs more per hour."},                                         \
    {"risk", FIELD(ENUM, type, at risk), FIELD_CHOICES(app_plan_risk_choices), .preset = "none",       \
     .help = "p95: hold the deadline against the high end of the estimates."},\
    {"solver", FIELD(ENUM, type, at solver), FIELD_CHOICES(app_plan_solver_choices),                   \
     .preset = "exact",                                                                            \
     .help = "Search algorithm; exact, the default, proves its plan."},                            \
    {"solve_limit_s", FIELD(DURATION, type, at solve_limit_s), .option = "--solve-limit",          \
     .unit = "s", .value = "DURATION", .most = HUGE_VAL, .preset = "10",                           \
     .help = "Limit the whole planning (default 10 s); a plan cut short has a lower bound."},          \
    {"simplify", FIELD(TEXT, type, at simplify), .value = "PERCENT", .least = 1, .most = 20,       \
     .help = "Take the plan with the fewest clouds, then the fewest regions, whose objective is "  \
             "at most so much above the optimum, as in 1%."}

/* The catalog, the speeds and the variables of the pipeline. */
#define PLAN_WORLD_FIELDS(type, at)                                                                \
    {"catalog", FIELD(TEXT, type, at catalog), .is_local = true,                                   \
     .value = "DIR",                                                                               \
     .help = "Plan with the CSV files in this directory instead of the catalog in use."},          \
    {"throughputs", FIELD(TEXT, type, at throughputs), .is_local = true,                           \
     .value = "FILE",                                                                              \
     .help = "Table of iterations per second that overrides the built-in one."},                   \
    {"env", FIELD(LIST, type, at env), .value = "KEY=VALUE",                                       \
     .help = "Value of a variable of the pipeline; planning itself needs none."}
/* clang-format on */

/* A goal and the limits that apply to all offers, as the solver takes them. */
struct app_plan_settings {
    struct spec_goal goal;
    enum plan_market market;
    const char *cloud, *region; /* NULL = any; borrowed */
    double max_hourly_usd;
    bool risk_p95;
    enum plan_solver solver;
    size_t pinned_stage, pinned_place; /* SIZE_MAX = none */
    double simplify;                   /* margin above the optimum, 0.01 = 1 %; 0 = none */
};

struct app_plan_single {
    const char *cloud; /* borrowed from the catalog */
    struct plan_point point;
};

/* A plan beside the plan, with the options to type for it. */
struct app_plan_suggestion {
    const char *kind;    /* "simpler", "sooner", "cheaper" */
    const char *options; /* "--deadline 2h30m" */
    struct plan_point point;
    int64_t delta_microusd; /* to the plan */
    double delta_s;
    struct plan_simplicity simplicity; /* of a simpler one */
};
#define APP_PLAN_SUGGESTIONS_MAX 2

#define APP_PLAN_CLOUDS_MAX 8
/* Everything about one pipeline that has been asked and answered. */
struct app_plan {
    struct plan_request request; /* a copy in arena */
    struct spec *spec;
    const struct config *config; /* borrowed from the app */
    struct catalog *catalog;
    struct throughputs *throughputs;
    struct broker_models *models;
    struct arena *arena; /* the texts of the request and of guesses */
    struct guess_list guesses;
    struct app_plan_settings settings;
    double solve_limit_s;  /* for everything, from app_plan_open on */
    double (*now_s)(void); /* monotonic clock; NULL = the machine's */
    double begun_s;        /* when app_plan_open was called */
    double side_end_s;     /* when side questions end; 0 = none has been asked */
    bool asks_further;     /* plans beside the plan will be asked for: they get half of the limit */
    struct plan_problem *problem;
    struct plan_answer answer;
    bool limits_leave_nothing;       /* infeasible: its cheapest and fastest are without them */
    struct app_plan_single *singles; /* ascending cost */
    size_t n_singles;
    bool singles_complete;  /* false: the time for side questions ended first */
    bool is_simplified;     /* settings.simplify: a simpler plan took the place of the optimum */
    bool simplify_complete; /* false: there may be a simpler one, the search ended at its limit */
    struct plan_point optimum;
    struct app_plan_suggestion suggestions[APP_PLAN_SUGGESTIONS_MAX];
    size_t n_suggestions;
    const char *clouds[APP_PLAN_CLOUDS_MAX]; /* plan with these alone; NULL after the last; none =
                                              * with all */
    /* Offers that clouds refuse are left out; NULL = all may be used. */
    bool (*allows)(void *context, const struct job_offer *offer);
    void *allows_context;
};

void app_plan_free(struct app_plan *p);
AUTO_DEFINE(app_plan)

/* Reads the pipeline and what it is planned with; warnings are notices. */
int app_plan_open(struct app_plan *p,
                  struct app *app,
                  const struct plan_request *q,
                  const struct answer *out, /* whose errors spell the fields */
                  struct err *e);
/* Lays out the problem and asks for the plan; spec, catalog and the rest stand ready. */
int app_plan_ask(struct app_plan *p, bool pareto, struct err *e);

/* The question that settings ask, to be refined by the caller. */
struct plan_query app_plan_query(const struct app_plan *p, const struct app_plan_settings *s);
/* ---- for machines of clouds ---- */

/* `on` of plans that any cloud may carry out; else it is a cloud's name. */
#define APP_PLAN_ANY_CLOUD "cloud"
/* Plans with clouds on the network alone: with those of `on` that there are credentials for.
 * ERR_DENIED: there are none. */
int app_plan_limit_clouds(struct app *app, struct app_plan *p, const char *on, struct err *e);
bool app_plan_allows_cloud(const struct app_plan *p, const char *cloud);
/* Whether the plan may use this offer in that market: context is a struct app_plan. As `allows` of
 * struct plan_world. */
bool app_plan_allows(void *context,
                     const struct catalog_kind *kind,
                     const struct catalog_offer *offer,
                     bool spot);
/* A machine of the catalog as records have it. */
void app_plan_fill_offer(const struct catalog *c,
                         const struct catalog_kind *kind,
                         const struct catalog_offer *offer,
                         bool spot,
                         struct job_offer *out);
/* The offer of a stage that is planned. */
void app_plan_offer(const struct app_plan *p, size_t stage, struct job_offer *out);
/* The request as JSON, with the text of the pipeline. New string; NULL: e. */
char *app_plan_request_text(const struct app_plan *p, const char *on, struct err *e);
/* app_plan_open and app_plan_limit_clouds with such a text. Texts are in the arena. */
int app_plan_open_recorded(
    struct app *app, struct app_plan *p, const char *text, struct arena *arena, struct err *e);

/* Machines that must be near each other: of one region. */
struct app_plan_node {
    const char *cloud, *region; /* NULL = any */
    const char *instance_type;  /* NULL = any of at least this size */
    double cpus, memory_gb;     /* 0 = any */
    bool spot;
    unsigned count;
};
/* The catalog and the clouds of `on`, for app_plan_nodes. */
int app_plan_open_nodes(struct app *app, struct app_plan *p, const char *on, struct err *e);
/* What a record has of them instead of the request of a plan. New string. */
char *app_plan_nodes_request(bool keeps_region);
bool app_plan_request_is_of_nodes(const char *request);
bool app_plan_request_keeps_region(const char *request);
/* The offers of the region where all together cost least, one for each of the n. ERR_NOFIT: none
 * has all of them. */
int app_plan_nodes(const struct app_plan *p,
                   const struct app_plan_node *nodes,
                   size_t n,
                   struct job_offer *out,
                   struct err *e);

/* The best plan within each cloud that offers something for every stage, as far as the time for
 * side questions allows. Cannot fail: there is a plan already. */
void app_plan_ask_singles(struct app_plan *p);
/* Other plans worth a line, as far as the time for side questions allows. Cannot fail, either. */
void app_plan_suggest(struct app_plan *p);
/* ---- answers: texts are borrowed from the plan or live in the arena of the answer ---- */

struct app_plan_accelerators {
    const char *name;
    double count;
};

/* What a stage runs on; the figures are those of one node. */
struct app_plan_machine {
    const char *name; /* of the stage; NULL = there is no plan with the stage there */
    const char *cloud, *region;
    const char *zone; /* "" = not said */
    const char *instance_type, *market;
    int64_t nodes;
    double vcpus, memory_gib; /* NAN = unknown */
    const void *accelerators; /* struct app_plan_accelerators; NULL = none */
    double price_usd_per_hour;
    const char *price_date; /* of the cloud's prices, "2026-08-22"; NULL = unknown */
};

struct app_plan_stage {
    struct app_plan_machine machine;
    double start_s, finish_s, boot_s, setup_s, input_s, run_s;
    int64_t compute_microusd, transfer_microusd, storage_microusd;
    const char *estimate; /* where the run time comes from: "guess", "profile" ... */
};

/* A plan beside the plan: the stage elsewhere (explain), or one setting changed (what_if). */
struct app_plan_other {
    const char *change;              /* what_if: KEY=VALUE */
    struct app_plan_machine machine; /* explain */
    const char *status;
    const char *reason;      /* why there is no plan; NULL = there is one */
    struct plan_point point; /* FIELD_NONE and NAN without a plan, as the differences below */
    int64_t delta_microusd;  /* to the plan */
    double delta_s;
    size_t place; /* explain: of the catalog */
};

/* A plan of the Pareto frontier. */
struct app_plan_pareto {
    struct plan_point point;
    struct field_records stages; /* struct app_plan_stage */
};

struct app_plan_report {
    const char *status, *pipeline, *objective, *solver, *risk;
    double budget_usd, deadline_s; /* INFINITY = none */
    /* Of the plan. */
    struct plan_point point;
    int64_t cost_low_microusd, cost_high_microusd; /* high: FIELD_NONE past all bounds */
    double time_low_s, time_high_s, bound, gap;
    bool tie_break_proven; /* by the second criterion no plan of the same objective is better */
    struct field_records stages;       /* struct app_plan_stage, in the order of the file */
    struct field_records single_cloud; /* struct app_plan_single, ascending cost */
    const char *best_single_cloud;     /* NULL = no single cloud has a plan */
    bool single_cloud_complete;        /* false: the time ended before all clouds were compared */
    uint64_t clouds, regions;          /* that the plan uses */
    double simplify_percent;           /* NAN = the optimum is asked for */
    bool simplify_complete;            /* false: there may be a simpler plan */
    const void *optimum;               /* struct plan_point; NULL = the plan is it */
    struct field_records suggestions;  /* struct app_plan_suggestion */
    /* Where there is no plan. */
    const char *reason;
    bool limit_reached;               /* it may exist: the search ended first */
    const void *cheapest, *fastest;   /* struct plan_point; NULL = no plan at all, or not known */
    int64_t smallest_budget_microusd; /* that the deadline allows; FIELD_NONE = not known */
    double earliest_deadline_s;       /* that the budget allows; INFINITY = not known */
    bool limits_leave_nothing;        /* both are without the limits of all offers */
    /* Of the search. */
    double elapsed_ms;
    uint64_t offers_considered;
    struct field_records guessed; /* struct guess */
    int64_t run_times_guessed;    /* stages */
    /* What else was asked for. */
    struct field_records pareto; /* struct app_plan_pareto, ascending cost; none = not asked for */
    bool pareto_complete, pareto_thinned;
    int64_t pareto_complete_microusd;      /* up to this cost; FIELD_NONE = not even the ends */
    const char *explained;                 /* name of the stage; NULL = not asked for */
    struct field_records explain, what_if; /* struct app_plan_other */
};

extern const struct record app_plan_report_record;

/* A notice for each cloud of the plan whose prices are older than this. */
#define APP_PLAN_PRICES_MAX_DAYS 90
int app_plan_warn_of_prices(const struct app *app, const struct app_plan *p, struct err *e);
/* A notice for each accelerator that stages ask for and no offer has, when there is a plan without
 * it: a typo among alternatives. */
void app_plan_warn_of_accelerators(const struct app *app, const struct app_plan *p);

/* The answer of p, without what else may be asked for. */
int app_plan_report(const struct app_plan *p,
                    struct arena *arena,
                    struct app_plan_report *out,
                    struct err *e);
/* "aws/us-east-1"; with a zone that is not "": "aws/us-east-1a", or "aws/us-east-1/zone" when its
 * name does not begin with the region's. Caller frees. */
char *app_plan_location_text(const char *cloud, const char *region, const char *zone);
/* The same of a place of the catalog, with the zone of an offer; NULL = without. */
char *app_plan_place_text(const struct catalog *c, size_t place, const struct catalog_offer *offer);

#endif
