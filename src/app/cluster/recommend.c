/* recommend: the operation cluster.recommend, which `tradewind cluster recommend` calls. */
#include "app/cluster/cluster.h"

#include <math.h>

/* ---- the request ---- */

struct recommend_request {
    struct app_cluster_request cluster;
    unsigned algorithm, objective; /* enum cluster_algorithm, enum cluster_objective, each + 1 */
};

static const char *const algorithm_choices[] = {NULL,       "model-opt", "cost-opt",
                                                "time-opt", "scala-opt", "scala-opt-m"};
static const char *const objective_choices[] = {NULL, "cost", "time"};

/* clang-format off */
#define RECOMMEND(TYPE, member) FIELD(TYPE, struct recommend_request, member)
static const struct field request_fields[] = {
    CLUSTER_FILE_FIELDS(struct recommend_request, cluster.),
    {"budget_usd", RECOMMEND(REAL, cluster.budget_usd), .unit = "USD",
     .option = "--budget", .value = "USD", .help = "Limit the price of the cluster per hour."},
    {"max_workers", RECOMMEND(INT, cluster.max_workers), .value = "N",
     .help = "Limit the number of workers."},
    {"algorithm", RECOMMEND(ENUM, algorithm), FIELD_CHOICES(algorithm_choices),
     .preset = "model-opt", .help = "Algorithm; default model-opt."},
    {"objective", RECOMMEND(ENUM, objective),
     FIELD_CHOICES(objective_choices), .preset = "cost",
     .help = "Objective of model-opt: minimize the dollars (the default) or the time of the "
             "work."},
    CLUSTER_TYPE_FIELDS(struct recommend_request, cluster.),
    {"share", RECOMMEND(REAL, cluster.share), .value = "SHARE",
     .help = "Share of the server's network that workers may use; default 0.95."},
    {"catalog", RECOMMEND(TEXT, cluster.catalog), .is_local = true, .value = "DIR",
     .help = "Use the CSV files in this directory instead of the catalog in use."},
};
/* clang-format on */

/* ---- the answer ---- */

static const char *const limit_choices[] = {[CLUSTER_BY_NETWORK + 1] = "network",
                                            [CLUSTER_BY_BUDGET + 1] = "budget",
                                            [CLUSTER_BY_MAX + 1] = "max_workers",
                                            [CLUSTER_UNMEASURED + 1] = "unmeasured"};

static bool has_no_answer(const void *record)
{
    return !((const struct app_cluster_algorithm *)record)->has_answer;
}

/* clang-format off */
#define PREDICTED(TYPE, member) FIELD(TYPE, struct app_cluster_predicted, member)
static const struct field predicted_fields[] = {
    {"throughput", PREDICTED(REAL, throughput), .help = "Iterations per second."},
    {"time_s", PREDICTED(DURATION, time_s), .unit = "s", .help = "Time of the work."},
    {"cost_usd", PREDICTED(REAL, cost_usd), .unit = "USD", .help = "Cost of the work."},
};
static const struct record predicted_record =
    RECORD("cluster_predicted", struct app_cluster_predicted, predicted_fields);

#define CHOICE_FIELDS(type, at, absent)                                                            \
    {"server_type", FIELD(TEXT, type, at server_type), .is_absent = (absent),                      \
     .help = "Instance type of the server."},                                                      \
    {"worker_type", FIELD(TEXT, type, at worker_type), .is_absent = (absent),                      \
     .help = "Instance type of the workers."},                                                     \
    {"workers", FIELD(INT, type, at workers), .is_absent = (absent),                               \
     .help = "Number of workers."},                                                                \
    {"location", FIELD(TEXT, type, at location), .is_absent = (absent),                               \
     .help = "Location of the cluster."},                                                          \
    {"usd_per_hour", FIELD(MONEY, type, at microusd_per_hour), .is_absent = (absent),              \
     .unit = "USD", .help = "Price of the cluster per hour."},                                     \
    {"predicted", FIELD(RECORD, type, at predicted), .is_absent = (absent),                        \
     .record = &predicted_record, .help = "Predicted throughput, time and cost."},                 \
    {"limited_by", FIELD(ENUM, type, at limited_by), FIELD_CHOICES(limit_choices),                 \
     .is_absent = (absent), .help = "Why the cluster has no more workers."}

static const struct field choice_fields[] = {CHOICE_FIELDS(struct app_cluster_choice, , NULL)};
static const struct record choice_record =
    RECORD("cluster_choice", struct app_cluster_choice, choice_fields);

static const struct field algorithm_fields[] = {
    CHOICE_FIELDS(struct app_cluster_algorithm, choice., has_no_answer),
    {"algorithm", FIELD(TEXT, struct app_cluster_algorithm, algorithm), .help = "Algorithm."},
};
static const struct record algorithm_record =
    RECORD("cluster_algorithm", struct app_cluster_algorithm, algorithm_fields);

#define RECOMMENDED(TYPE, member) FIELD(TYPE, struct app_cluster_recommended, member)
static const struct field recommended_fields[] = {
    {"algorithm", RECOMMENDED(TEXT, algorithm), .help = "Algorithm."},
    CHOICE_FIELDS(struct app_cluster_recommended, best., NULL),
    {"frontier", RECOMMENDED(RECORDS, frontier), .record = &choice_record,
     .help = "Clusters of the Pareto frontier, cheapest first."},
    {"algorithms", RECOMMENDED(RECORDS, algorithms), .record = &algorithm_record,
     .help = "Answers of the other algorithms at one location."},
    {"name", RECOMMENDED(TEXT, name), .help = "Name of the training."},
    {"objective", RECOMMENDED(ENUM, objective), FIELD_CHOICES(objective_choices),
     .help = "Objective of model-opt."},
    {"work", RECOMMENDED(REAL, work), .help = "Number of iterations."},
    {"locations", RECOMMENDED(COUNT, locations), .help = "Number of locations considered."},
};

#define CONSIDERED(TYPE, member) FIELD(TYPE, struct app_cluster_choice, member)
static const struct field considered_fields[] = {
    {"type", CONSIDERED(TEXT, worker_type), .help = "Instance type of the workers."},
    {"location", CONSIDERED(TEXT, location), .help = "Location."},
    {"workers", CONSIDERED(INT, workers),
     .help = "Number of workers of the best cluster; 0 = none is possible."},
    {"limited_by", CONSIDERED(ENUM, limited_by), FIELD_CHOICES(limit_choices),
     .help = "Why there are no more workers; unmeasured: the rates of the type are not known."},
    /* Of a cluster that is possible. */
    {"server_type", CONSIDERED(TEXT, server_type), .omit_none = true,
     .help = "Instance type of the server."},
    {"usd_per_hour", CONSIDERED(MONEY, microusd_per_hour), .unit = "USD", .omit_none = true,
     .help = "Price of the cluster per hour."},
    {"throughput", CONSIDERED(REAL, throughput), .omit_none = true,
     .help = "Iterations per second."},
};
/* clang-format on */

/* ---- the operation ---- */

/* A search, and where its answer goes. */
struct search {
    const struct cluster_problem *problem;
    const char **locations; /* of the problem's places; NULL = not said */
    enum cluster_objective objective;
    struct answer *out;
};

static int name_locations(struct search *s, struct err *e)
{
    const struct cluster_problem *p = s->problem;

    s->locations = answer_alloc(s->out, p->n_places, sizeof *s->locations, e);
    for (size_t i = 0; s->locations && i < p->n_places; i++)
        if (p->places[i].cloud &&
            !(s->locations[i] =
                  answer_text(s->out, e, "%s/%s", p->places[i].cloud, p->places[i].region)))
            return -1;
    return s->locations ? 0 : -1;
}

/* p NULL: without its prediction. */
static struct app_cluster_choice choice_of(const struct search *s,
                                           const struct cluster_choice *c,
                                           struct app_cluster_predicted *p)
{
    const struct cluster_place *at = &s->problem->places[c->place];
    bool has_work = !isnan(s->problem->work);

    if (p)
        *p = (struct app_cluster_predicted){.throughput = c->throughput,
                                            .time_s = has_work ? c->time_s : (double)NAN,
                                            .cost_usd = has_work ? c->cost_usd : (double)NAN};
    return (struct app_cluster_choice){
        .server_type = at->servers[c->server].name,
        .worker_type = at->workers[c->worker].name,
        .location = s->locations[c->place],
        .workers = c->workers,
        .microusd_per_hour = c->usd_per_hour_micro,
        .throughput = c->throughput,
        .predicted = p,
        .limited_by = (unsigned)c->limited_by + 1,
    };
}

static int put_choices(const struct search *s,
                       const struct cluster_choice *choices,
                       size_t n,
                       struct field_records *out,
                       struct err *e)
{
    struct app_cluster_choice *items = answer_alloc(s->out, n, sizeof *items, e);
    struct app_cluster_predicted *predicted = answer_alloc(s->out, n, sizeof *predicted, e);

    if (!items || !predicted)
        return -1;
    for (size_t i = 0; i < n; i++)
        items[i] = choice_of(s, &choices[i], &predicted[i]);
    *out = (struct field_records){items, n};
    return 0;
}

/* The answers of all algorithms that need no type of the user's, where there is one location. */
static int put_algorithms(const struct search *s, struct field_records *out, struct err *e)
{
    struct app_cluster_algorithm *items =
        answer_alloc(s->out, CLUSTER_SCALA_OPT_M, sizeof *items, e);
    struct app_cluster_predicted *predicted =
        answer_alloc(s->out, CLUSTER_SCALA_OPT_M, sizeof *predicted, e);

    if (!items || !predicted)
        return -1;
    out->items = items;
    for (int i = CLUSTER_MODEL_OPT; i < CLUSTER_SCALA_OPT_M && s->problem->n_places == 1; i++) {
        AUTO_CLEAR(cluster_answer) struct cluster_answer answer = {0};
        struct app_cluster_algorithm *a = &items[out->n];
        enum cluster_algorithm algorithm = (enum cluster_algorithm)i;
        a->algorithm = cluster_algorithm_text(algorithm);
        a->has_answer = cluster_recommend(s->problem, algorithm, s->objective, &answer, NULL) == 0;
        if (a->has_answer)
            a->choice = choice_of(s, &answer.best, &predicted[out->n]);
        out->n++;
    }
    return 0;
}

static int answer_all(struct search *s,
                      const struct spec_cluster *spec,
                      enum cluster_algorithm algorithm,
                      const struct cluster_answer *answer,
                      struct err *e)
{
    struct app_cluster_predicted best;
    struct app_cluster_recommended r = {
        .algorithm = cluster_algorithm_text(algorithm),
        .name = spec->name,
        .objective = algorithm == CLUSTER_MODEL_OPT ? (unsigned)s->objective + 1 : 0,
        .work = s->problem->work,
        .locations = s->problem->n_places,
    };

    if (name_locations(s, e) < 0 ||
        put_choices(s, answer->frontier, answer->n_frontier, &r.frontier, e) < 0 ||
        put_algorithms(s, &r.algorithms, e) < 0)
        return -1;
    for (size_t i = 0; i < answer->n_considered; i++) {
        struct app_cluster_choice c = choice_of(s, &answer->considered[i], NULL);
        if (!c.workers) {
            c.server_type = NULL;
            c.microusd_per_hour = FIELD_NONE;
            c.throughput = (double)NAN;
        }
        if (answer_item(s->out, &c, e) < 0)
            return -1;
    }
    r.best = choice_of(s, &answer->best, &best);
    return answer_head(s->out, &r, e);
}

static int run_recommend(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct recommend_request *q = request;
    enum cluster_algorithm algorithm = (enum cluster_algorithm)(q->algorithm - 1);
    AUTO_CLEAR(app_cluster) struct app_cluster c = {0};
    AUTO_CLEAR(cluster_answer) struct cluster_answer answer = {0};
    struct search s = {.objective = (enum cluster_objective)(q->objective - 1), .out = out};
    char option[64];

    if (algorithm == CLUSTER_SCALA_OPT_M && !q->cluster.type)
        return err_set(e, ERR_USAGE, "scala-opt-m is for a type of your choice: give %s",
                       answer_spell(out, "type", option));
    if (app_cluster_open(&c, app, &q->cluster, out, e) < 0)
        return -1;
    AUTO(cluster_problem)
    struct cluster_problem *p = cluster_problem_new(c.spec, c.catalog, c.measured, e);
    s.problem = p;
    if (!p || cluster_recommend(p, algorithm, s.objective, &answer, e) < 0)
        return -1;
    return answer_all(&s, c.spec, algorithm, &answer, e);
}

const struct operation cluster_recommend_operation = {
    .name = "cluster.recommend",
    .summary = "Recommend the number and type of workers of a training cluster.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct recommend_request, request_fields),
    .answer =
        RECORD_AT("cluster_recommendation", struct app_cluster_recommended, recommended_fields),
    .item = RECORD_AT("cluster_considered", struct app_cluster_choice, considered_fields),
    .items_name = "considered",
    .run = run_recommend,
};
