/* job: the job of a replay as requests describe it: its model, work, region and starts. */
#include "app/market/internal.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"
#include "market/import.h"
#include "market/series.h"
#include "spec/place.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define DAY_S 86400.0

int app_market_check_mode(const struct market_replay_request *q,
                          const void *request,
                          const struct answer *out,
                          struct err *e)
{
    static const char *const live_only[] = {
        "policy",    "margin",       "worth_usd_per_hour", "deadline_s",
        "restart_s", "checkpoint_s", "checkpoint_gb",      "preemptions",
        "clouds",    "gpu_use",      "gap_percent",        "seed",
    };
    char name[64], mode[64];

    for (size_t i = 0; i < sizeof live_only / sizeof *live_only; i++)
        if (q->mode != MARKET_REPLAY_MARKET &&
            !field_is_none(record_field(out->request, live_only[i]), request))
            return err_set(e, ERR_USAGE, "%s needs %s market",
                           answer_spell(out, live_only[i], name), answer_spell(out, "mode", mode));
    return 0;
}

static int no_throughput(const char *model, const char *gpu, struct err *e)
{
    return err_set(e, ERR_NOFIT, "%s has no throughput on %s", model, gpu);
}

int app_market_work(const char *text,
                    const struct throughputs *speeds,
                    const char *model,
                    const struct answer *out,
                    double *days_out,
                    struct err *e)
{
    double amount, reference = throughputs_get(speeds, model, MARKET_REFERENCE_GPU);
    char field[64], gpu[64];
    const char *p = text;
    bool is_amount = number_prefix(text, &p, &amount) && amount > 0 && amount <= 1e15;

    p += is_amount ? strspn(p, " ") : 0;
    const char *dash = is_amount ? strrchr(p, '-') : NULL;
    bool is_days = dash && (!strcmp(dash, "-days") || !strcmp(dash, "-day"));
    bool is_hours = dash && (!strcmp(dash, "-hours") || !strcmp(dash, "-hour"));
    bool is_iterations = is_amount && !strcmp(p, "iterations");
    if (!is_iterations &&
        (!(is_days || is_hours) || dash == p || dash - p >= (ptrdiff_t)sizeof gpu))
        return err_set(e, ERR_USAGE,
                       "%s \"%s\" is not an amount of work; write \"4 V100-days\", \"96 "
                       "V100-hours\" or \"1e6 iterations\"",
                       answer_spell(out, "work", field), text);
    if (!(reference > 0))
        return no_throughput(model, MARKET_REFERENCE_GPU, e);
    if (is_iterations) {
        *days_out = amount / reference / DAY_S;
        return 0;
    }
    snprintf(gpu, sizeof gpu, "%.*s", (int)(dash - p), p);
    *days_out = amount / (is_days ? 1 : 24); /* on the reference as written, not there and back */
    double per_s = throughputs_get(speeds, model, gpu);
    if (!(per_s > 0))
        return no_throughput(model, gpu, e);
    if (strcasecmp(gpu, MARKET_REFERENCE_GPU) != 0)
        *days_out = amount * (is_days ? DAY_S : 3600) * per_s / reference / DAY_S;
    return 0;
}

const char *app_market_model(const struct throughputs *speeds,
                             const char *asked,
                             struct arena *arena,
                             struct err *e)
{
    struct throughput_model found;
    const char *batch = strstr(asked, "(batch ");
    bool shortened = batch && isdigit((unsigned char)batch[strlen("(batch ")]);
    AUTO_MEM char *whole = shortened ? mem_printf("%.*s(batch size %s", (int)(batch - asked), asked,
                                                  batch + strlen("(batch "))
                                     : mem_dup(asked);
    size_t n;

    if (!throughputs_find(speeds, whole, &found)) {
        const char *const *names = throughputs_models(speeds, &n);
        const char *close = found.batch_unknown ? NULL : nearest(asked, names, n);
        err_set(e, ERR_NOTFOUND, "no throughput table has \"%s\"%s%s%s", asked,
                close ? "; did you mean \"" : "", close ? close : "", close ? "\"?" : "");
        return NULL;
    }
    const char *name = found.batch_size > 0
                           ? arena_printf(arena, "%s (batch size %g)", found.name, found.batch_size)
                           : arena_dup(arena, found.name);
    if (!name)
        err_set(e, ERR_NOFIT, "the name of the model is too long");
    return name;
}

int app_market_location(const char *text,
                        const struct answer *out,
                        const char **cloud_out,
                        const char **region_out,
                        struct err *e)
{
    struct spec_place place = {"aws", text};
    char field[64];

    if (strpbrk(text, ":/") && spec_place_parse(text, out->arena, &place, e) < 0)
        return err_wrap(e, "%s", answer_spell(out, "region", field));
    if (!place.cloud || !place.region)
        return err_set(e, ERR_USAGE, "%s %s: write a cloud and its region: aws:us-east-1",
                       answer_spell(out, "region", field), text);
    *cloud_out = place.cloud;
    *region_out = market_region(place.cloud, place.region);
    return 0;
}

int app_market_start(const char *text, const struct answer *out, double *start_s, struct err *e)
{
    char field[64];

    if (market_parse_time(text, start_s) && *start_s > 0)
        return 0;
    return err_set(e, ERR_USAGE,
                   "%s \"%s\" is not a time: write 2020-03-01 or 2020-03-01T06:00:00Z",
                   answer_spell(out, "start", field), text);
}

int app_market_starts(const char *text,
                      const struct answer *out,
                      struct market_starts *starts,
                      struct err *e)
{
    const char *dots = strstr(text, "..");
    AUTO_MEM char *from = mem_printf("%.*s", dots ? (int)(dots - text) : 32, text);
    double n;
    char field[64];

    *starts = (struct market_starts){0};
    if (number_parse(text, &n) && n >= 1 && n <= 1e5 && n <= floor(n)) {
        starts->last = (size_t)n;
        return 0;
    }
    if (market_parse_time(from, &starts->from_s) &&
        market_parse_time(dots ? dots + 2 : from, &starts->until_s) &&
        starts->until_s >= starts->from_s)
        return 0;
    return err_set(e, ERR_USAGE,
                   "%s \"%s\": write a number, a day or two: 30, 2020-02-18, "
                   "2020-02-18..2020-03-18",
                   answer_spell(out, "starts", field), text);
}

/* ---- mode paper ---- */

void app_market_paper_clear(struct app_market_paper *p)
{
    market_paper_free(p->days);
    market_free(p->market);
    throughputs_free(p->speeds);
}

int app_market_paper_open(struct app *app,
                          const struct market_replay_request *q,
                          const struct answer *out,
                          struct app_market_paper *p,
                          struct err *e)
{
    struct market_starts starts;
    const char *cloud;
    char field[64], mode[64];

    if (app_market_starts(q->starts, out, &starts, e) < 0 ||
        app_market_location(q->region, out, &cloud, &p->region, e) < 0)
        return -1;
    if (strcmp(cloud, "aws") != 0)
        return err_set(e, ERR_USAGE,
                       "%s %s: the published evaluation begins in a region of aws; %s market "
                       "begins anywhere",
                       answer_spell(out, "region", field), q->region,
                       answer_spell(out, "mode", mode));
    p->speeds = throughputs_load(q->throughputs, e);
    p->market = p->speeds ? app_market_open(app, e) : NULL;
    p->days = p->market ? market_paper_new(p->market, p->region, &starts, e) : NULL;
    if (!p->days)
        return -1;
    p->n_starts = p->days->n_starts;
    for (size_t i = 0; i < p->n_starts; i++)
        p->n_covered += market_paper_covered(p->days, i);
    return 0;
}

struct market_paper_model *app_market_paper_model(const struct app_market_paper *p,
                                                  const char *model,
                                                  struct err *e)
{
    double per_s[MARKET_PAPER_GPUS_MAX] = {0};

    for (size_t i = 0; i < p->days->n_gpus; i++)
        per_s[i] = throughputs_get(p->speeds, model, p->days->gpus[i]);
    struct market_paper_model *m = market_paper_model_new(p->days, per_s, e);
    if (!m)
        err_wrap(e, "%s", model);
    return m;
}
