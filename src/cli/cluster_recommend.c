/* cluster recommend: how many workers of which type a training cluster should have. */
#include "base/csv.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "cli/cluster_parts.h"
#include "cli/commands.h"
#include "cluster/measured.h"
#include "spec/config.h"

#include <string.h>
#include <unistd.h>

struct asked {
    struct spec_cluster *spec;
    struct config *config;
    struct catalog *catalog;
    struct cluster_measured *measured; /* NULL = nothing was */
    enum cluster_algorithm algorithm;
    enum cluster_objective objective;
};

static void asked_clear(struct asked *a)
{
    cluster_measured_free(a->measured);
    catalog_free(a->catalog);
    config_free(a->config);
    spec_cluster_free(a->spec);
}

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

static int take_settings(struct asked *a, const struct command_args *args, struct err *e)
{
    static const struct {
        const char *option, *setting;
    } settings[] = {
        {"--budget", "budget"},     {"--max-workers", "workers.max"},
        {"--type", "workers.type"}, {"--server", "server.type"},
        {"--place", "place"},       {"--work", "work"},
        {"--share", "share"},
    };

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *value = command_value(args, settings[i].option);
        if (value && spec_cluster_set(a->spec, settings[i].setting, value, e) < 0)
            return err_wrap(e, "%s", settings[i].option);
    }
    return 0;
}

/* Of the home directory; there need not be any. */
static int read_measured(struct asked *a, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/%s", a->config->home, CLUSTER_MEASURED_FILE);

    if (!a->spec->run || access(path, F_OK) < 0)
        return 0;
    AUTO(csv) struct csv *csv = csv_open(path, CLUSTER_MEASURED_MAX_BYTES, e);
    a->measured = csv ? cluster_measured_read(csv, a->spec->run, a->spec->batch, e) : NULL;
    return a->measured ? 0 : -1;
}

static int open_all(struct asked *a, const struct command_args *args, struct err *e)
{
    const char *directory = command_value(args, "--catalog");

    if (read_algorithm(args, a, e) < 0)
        return -1;
    a->spec = spec_cluster_load(args->operands[0], e);
    if (!a->spec || take_settings(a, args, e) < 0)
        return -1;
    a->config = config_load(NULL, e);
    if (!a->config || read_measured(a, e) < 0)
        return -1;
    a->catalog = directory ? catalog_open_dir(directory, e) : catalog_open(a->config->home, e);
    return a->catalog ? 0 : -1;
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
    AUTO_CLEAR(asked) struct asked a = {0};
    AUTO_CLEAR(cluster_answer) struct cluster_answer answer = {0};
    struct cluster_rule rules[CLUSTER_RULES];

    if (open_all(&a, args, e) < 0)
        return -1;
    AUTO(cluster_problem)
    struct cluster_problem *p = cluster_problem_new(a.spec, a.catalog, a.measured, e);
    if (!p || cluster_recommend(p, a.algorithm, a.objective, &answer, e) < 0)
        return -1;
    const struct cluster_view view = {
        .spec = a.spec,
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
             "predicted: {throughput, time_s, cost_usd}, limited_by, considered, frontier, "
             "algorithms}."},
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
