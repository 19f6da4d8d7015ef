/* cluster recommend: how many workers of which type a training cluster should have. */
#include "cli/cluster/cluster_parts.h"
#include "cli/core/commands.h"

#include <string.h>

struct asked {
    enum cluster_algorithm algorithm;
    enum cluster_objective objective;
};

static int read_algorithm(const struct command_args *args, struct asked *a, struct err *e)
{
    const char *text = command_value(args, "--algorithm");
    const char *objective = command_value(args, "--objective");

    a->objective = objective && strcmp(objective, "time") == 0 ? CLUSTER_TIME : CLUSTER_COST;
    if (objective && a->objective == CLUSTER_COST && strcmp(objective, "cost") != 0)
        return err_set(e, ERR_USAGE, "--objective: \"%.40s\" is neither cost nor time", objective);
    for (int i = CLUSTER_MODEL_OPT; i <= CLUSTER_SCALA_OPT_M; i++) {
        a->algorithm = (enum cluster_algorithm)i;
        if (!text || strcmp(text, cluster_algorithm_text(a->algorithm)) == 0)
            break;
        if (i == CLUSTER_SCALA_OPT_M)
            return err_set(e, ERR_USAGE,
                           "--algorithm: \"%.40s\" is none: use model-opt, cost-opt, time-opt, "
                           "scala-opt or scala-opt-m",
                           text);
    }
    if (a->algorithm == CLUSTER_SCALA_OPT_M && !command_has(args, "--type"))
        return err_set(e, ERR_USAGE, "scala-opt-m is for a type of your choice: give --type");
    return 0;
}

/* What the other rules would say, where there is one place for them to look at. */
static size_t ask_rules(const struct cluster_problem *p,
                        const struct asked *a,
                        struct cluster_rule rules[static CLUSTER_RULES])
{
    size_t n = 0;

    for (int i = CLUSTER_MODEL_OPT; i <= CLUSTER_SCALA_OPT && p->n_places == 1; i++) {
        AUTO_CLEAR(cluster_answer) struct cluster_answer answer = {0};
        struct cluster_rule *r = &rules[n++];
        r->algorithm = (enum cluster_algorithm)i;
        r->has_answer = cluster_recommend(p, r->algorithm, a->objective, &answer, NULL) == 0;
        r->choice = answer.best;
    }
    return n;
}

static int run_recommend(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(cluster_desk) struct cluster_desk d = {0};
    struct asked a = {0};
    AUTO_CLEAR(cluster_answer) struct cluster_answer answer = {0};
    struct cluster_rule rules[CLUSTER_RULES];

    if (read_algorithm(args, &a, e) < 0 || cluster_desk_open(&d, args, e) < 0)
        return -1;
    AUTO(cluster_problem)
    struct cluster_problem *p = cluster_problem_new(d.spec, d.catalog, d.measured, e);
    if (!p || cluster_recommend(p, a.algorithm, a.objective, &answer, e) < 0)
        return -1;
    const struct cluster_view view = {
        .spec = d.spec,
        .problem = p,
        .algorithm = a.algorithm,
        .objective = a.objective,
        .answer = &answer,
        .rules = rules,
        .n_rules = ask_rules(p, &a, rules),
    };
    if (command_has(args, "--json"))
        return cluster_write_json(&view, stdout, e);
    cluster_print(&view, stdout);
    return 0;
}

static const struct command_option options[] = {
    {.name = "--budget", .value = "USD", .help = "The cluster may cost so much per hour."},
    {.name = "--max-workers", .value = "N", .help = "It may have so many workers."},
    {.name = "--algorithm",
     .value = "model-opt|cost-opt|time-opt|scala-opt|scala-opt-m",
     .help = "The rule to follow; model-opt unless said."},
    {.name = "--objective",
     .value = "cost|time",
     .help = "What model-opt makes least: dollars for the work (the default) or its time."},
    {.name = "--type", .value = "TYPE", .help = "Workers are of this type."},
    {.name = "--server", .value = "TYPE", .help = "The server is of this type."},
    {.name = "--place", .value = "PLACE", .help = "The cluster stands here: aws/eu-west-2."},
    {.name = "--work", .value = "N", .help = "How many iterations are to be done."},
    {.name = "--share",
     .value = "SHARE",
     .help = "How much of the server's network may be used; 0.95 unless said."},
    {.name = "--catalog",
     .value = "DIR",
     .help = "Use the CSV files in this directory instead of the catalog in use."},
    {.name = "--json",
     .help = "Print {algorithm, server_type, worker_type, workers, place, usd_per_hour, "
             "predicted: {throughput, time_s, cost_usd}, limited_by, frontier, "
             "algorithms, considered}."},
    {0},
};

const struct command command_cluster_recommend = {
    .name = "cluster recommend",
    .operands = "FILE",
    .summary = "Find how many workers of which type a training should have",
    .details =
        "A parameter server holds the model, and workers send it gradients over its network. More "
        "workers are faster until that network is full; from then on they only cost. model-opt "
        "predicts this from what one worker does alone, and finds the cluster of least cost or "
        "least time among all servers, types and numbers.\n"
        "\n"
        "cost-opt takes as many of the cheapest type as the budget pays, time-opt of the dearest; "
        "scala-opt takes the type of which the fewest fill the server's network; scala-opt-m does "
        "so "
        "for the type of --type.\n"
        "\n"
        "When no cluster is within budget and network, the exit code is 5.",
    .example = "tradewind cluster recommend examples/cluster/cifar.yaml",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_recommend,
};
