#include "base/mem.h"
#include "base/number.h"
#include "cli/core/operate.h"
#include "cli/market/market_job.h"
#include "cli/market/market_live.h"
#include "cli/market/market_parts.h"
#include "spec/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int parse_strategies(const char *text, bool *wanted, struct err *e)
{
    if (!text || strcmp(text, "all") == 0) {
        memset(wanted, true, MARKET_N_STRATEGIES * sizeof *wanted);
        return 0;
    }
    AUTO_MEM char *names = mem_dup(text);
    for (char *rest = names, *name; (name = strsep(&rest, ","));) {
        enum market_strategy s;
        if (!market_strategy_parse(name, &s))
            return err_set(e, ERR_USAGE,
                           "--strategies: \"%s\" is none of 1xV100, gpu-type, multi-gpu, "
                           "multi-cloud, dynamic and all",
                           name);
        wanted[s] = true;
    }
    return 0;
}

/* The one model of the user's table need not be named. New string. */
static char *model_of(const struct throughputs *speeds, const char *asked, struct err *e)
{
    if (!asked)
        asked = throughputs_only_model(speeds);
    if (asked)
        return app_market_model(speeds, asked, e);
    err_set(e, ERR_USAGE, "say which model is trained: --model A3C");
    return NULL;
}

void cli_market_asked_clear(struct cli_market_asked *a)
{
    free(a->model);
}

int cli_market_asked_read(struct cli_market_asked *r,
                          const struct command_args *args,
                          const struct throughputs *speeds,
                          struct err *e)
{
    struct app_market_work work;
    double iterations;

    r->work_text = command_value(args, "--work");
    if (!r->work_text)
        r->work_text = "4 V100-days";
    if (app_market_work_parse(r->work_text, &work, e) < 0 ||
        parse_strategies(command_value(args, "--strategies"), r->wanted, e) < 0)
        return -1;
    r->model = model_of(speeds, command_value(args, "--model"), e);
    if (!r->model || app_market_work_iterations(&work, speeds, r->model, &iterations, e) < 0)
        return -1;
    r->reference_days =
        iterations / throughputs_get(speeds, r->model, MARKET_REFERENCE_GPU) / 86400;
    if (strcasecmp(work.gpu, MARKET_REFERENCE_GPU) == 0) /* as written, not there and back */
        r->reference_days = work.amount / (strcmp(work.unit, "days") == 0 ? 1 : 24);
    return isfinite(r->reference_days) ? 0
                                       : err_set(e, ERR_NOFIT, "%s has no throughput on %s",
                                                 r->model, MARKET_REFERENCE_GPU);
}

/* ---- many jobs ---- */

#define MODELS_MAX 1000

void cli_market_range_clear(struct cli_market_range *r)
{
    for (size_t i = 0; i < r->n_models; i++)
        free(r->models[i]);
    free(r->models);
}

static int parse_durations(const char *text, struct cli_market_range *r, struct err *e)
{
    AUTO_MEM char *list = mem_dup(text ? text : "0.125,0.25,0.5,1,2,4,8");

    for (char *rest = list, *one; (one = strsep(&rest, ","));) {
        double days;
        if (!number_parse(one, &days) || !(days > 0) || days > 1e6)
            return err_set(e, ERR_USAGE, "--durations: \"%s\" is no number of V100-days", one);
        if (r->n_durations == CLI_MARKET_DURATIONS_MAX)
            return err_set(e, ERR_USAGE, "--durations: more than %d", CLI_MARKET_DURATIONS_MAX);
        r->durations[r->n_durations++] = days;
    }
    return 0;
}

static int add_model(struct cli_market_range *r,
                     const struct throughputs *speeds,
                     const char *asked,
                     struct err *e)
{
    char *model = app_market_model(speeds, asked, e);

    if (!model)
        return -1;
    r->models = mem_room(r->models, r->n_models, &r->cap_models, sizeof *r->models);
    r->models[r->n_models++] = model;
    return 0;
}

int cli_market_range_read(struct cli_market_range *r,
                          const struct command_args *args,
                          const struct throughputs *speeds,
                          struct err *e)
{
    size_t n;
    const char *const *all = throughputs_models(speeds, &n);

    if (parse_durations(command_value(args, "--durations"), r, e) < 0)
        return -1;
    for (size_t i = 0; i < args->n_given; i++)
        if (strcmp(args->given[i].option->name, "--model") == 0 &&
            add_model(r, speeds, args->given[i].value, e) < 0)
            return -1;
    for (size_t i = 0; !command_has(args, "--model") && i < n && i < MODELS_MAX; i++)
        if (add_model(r, speeds, all[i], e) < 0)
            return -1;
    return 0;
}

/* ---- mode market ---- */

struct market *cli_market_open(struct err *e)
{
    AUTO(config) struct config *config = config_load(NULL, e);

    return config ? app_market_load(config->home, e) : NULL;
}

static const char *const live_only[] = {
    "--policy",        "--margin",      "--worth",  "--deadline", "--restart", "--checkpoint",
    "--checkpoint-gb", "--preemptions", "--clouds", "--gpu-use",  "--gap",     "--seed",
};

int cli_market_is_live(const struct command_args *args, bool *out, struct err *e)
{
    const char *mode = command_value(args, "--mode");

    *out = mode && strcmp(mode, "market") == 0;
    if (mode && !*out && strcmp(mode, "paper") != 0)
        return err_set(e, ERR_USAGE, "--mode \"%s\" is neither paper nor market", mode);
    for (size_t i = 0; !*out && i < sizeof live_only / sizeof *live_only; i++)
        if (command_has(args, live_only[i]))
            return err_set(e, ERR_USAGE, "%s goes with --mode market", live_only[i]);
    return 0;
}

/* clang-format off */
static const struct field follow_fields[] = {MARKET_FOLLOW_FIELDS(struct market_follow, )};
static const struct record follow_record =
    RECORD("follow", struct market_follow, follow_fields);

static const struct field replay_fields[] = {
    MARKET_FOLLOW_FIELDS(struct market_replay_request, follow.),
    {"deadline", FIELD(DURATION, struct market_replay_request, deadline_s), .bare_unit_s = 86400,
     .least = 1e-3, .most = 1e12},
    {"gap", FIELD(REAL, struct market_replay_request, gap_percent), .least = 0, .most = 50},
    {"seed", FIELD(INT, struct market_replay_request, seed), .least = 0, .most = 9007199254740992},
    {"region", FIELD(TEXT, struct market_replay_request, region)},
    {"throughputs", FIELD(TEXT, struct market_replay_request, throughputs)},
    {"starts", FIELD(TEXT, struct market_replay_request, starts)},
};
/* clang-format on */
static const struct record replay_record =
    RECORD("market_replay", struct market_replay_request, replay_fields);

/* Options of the command that are fields of r, decoded into *out. */
static json_t *read_record(const struct command_args *args,
                           const struct record *r,
                           struct arena *arena,
                           void *out,
                           struct err *e)
{
    AUTO_JSON json_t *request = json_object();

    for (size_t i = 0; i < r->n_fields; i++) {
        char name[64];
        const char *option = field_option(&r->fields[i], name);
        for (size_t k = 0; k < args->n_given; k++)
            if (strcmp(args->given[k].option->name, option) == 0 &&
                record_put_text(r, request, r->fields[i].name, args->given[k].value, e) < 0)
                return NULL;
    }
    return record_decode(r, request, FIELD_AS_OPTION, out, arena, e) < 0 ? NULL : TAKE(request);
}

json_t *cli_market_replay_request(const struct command_args *args,
                                  struct arena *arena,
                                  struct market_replay_request *out,
                                  struct err *e)
{
    return read_record(args, &replay_record, arena, out, e);
}

json_t *cli_market_follow(const struct command_args *args,
                          struct arena *arena,
                          struct market_follow *out,
                          struct err *e)
{
    return read_record(args, &follow_record, arena, out, e);
}
