#include "app/market/job.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/time.h"
#include "market/import.h"
#include "market/region.h"
#include "spec/place.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GPUS_MAX 32

static int bad_work(const char *text, struct err *e)
{
    return err_set(
        e, ERR_USAGE,
        "\"%s\" is no work: write \"4 V100-days\", \"96 V100-hours\" or \"1e6 iterations\"", text);
}

int app_market_work_parse(const char *text, struct app_market_work *out, struct err *e)
{
    const char *p;

    *out = (struct app_market_work){0};
    if (!number_prefix(text, &p, &out->amount) || !(out->amount > 0) || out->amount > 1e15)
        return bad_work(text, e);
    p += strspn(p, " ");
    if (strcmp(p, "iterations") == 0) {
        snprintf(out->unit, sizeof out->unit, "iterations");
        return 0;
    }
    const char *dash = strrchr(p, '-');
    size_t n = dash ? (size_t)(dash - p) : 0;
    if (n == 0 || n >= sizeof out->gpu)
        return bad_work(text, e);
    snprintf(out->gpu, sizeof out->gpu, "%.*s", (int)n, p);
    if (strcmp(dash, "-days") == 0 || strcmp(dash, "-day") == 0)
        snprintf(out->unit, sizeof out->unit, "days");
    else if (strcmp(dash, "-hours") == 0 || strcmp(dash, "-hour") == 0)
        snprintf(out->unit, sizeof out->unit, "hours");
    else
        return bad_work(text, e);
    return 0;
}

int app_market_work_iterations(const struct app_market_work *work,
                               const struct throughputs *speeds,
                               const char *model,
                               double *out,
                               struct err *e)
{
    if (!*work->gpu) {
        *out = work->amount;
        return 0;
    }
    double per_s = throughputs_get(speeds, model, work->gpu);
    if (!(per_s > 0))
        return err_set(e, ERR_NOFIT, "%s has no throughput on %s", model, work->gpu);
    *out = work->amount * (strcmp(work->unit, "days") == 0 ? 86400 : 3600) * per_s;
    return 0;
}

char *app_market_model(const struct throughputs *speeds, const char *asked, struct err *e)
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
    if (found.batch_size > 0)
        return mem_printf("%s (batch size %g)", found.name, found.batch_size);
    return mem_dup(found.name);
}

int app_market_location(const char *text, char **cloud_out, char **region_out, struct err *e)
{
    AUTO(arena) struct arena *a = arena_new(1 << 16);
    struct spec_place place = {"aws", text};

    if (strpbrk(text, ":/") && spec_place_parse(text, a, &place, e) < 0) {
        err_wrap(e, "--region");
        return -1;
    }
    if (!place.cloud || !place.region) {
        err_set(e, ERR_USAGE, "--region %s: write a cloud and its region: aws:us-east-1", text);
        return -1;
    }
    *cloud_out = mem_dup(place.cloud);
    *region_out = mem_dup(market_region(place.cloud, place.region));
    return 0;
}

char *app_market_region(const char *text, struct err *e)
{
    AUTO_MEM char *cloud = NULL, *region = NULL;

    if (app_market_location(text, &cloud, &region, e) < 0)
        return NULL;
    if (strcmp(cloud, "aws") != 0) {
        err_set(e, ERR_USAGE,
                "--region %s: the published evaluation begins in a region of aws; --mode market "
                "begins anywhere",
                text);
        return NULL;
    }
    return TAKE(region);
}

static int bad_starts(const char *text, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "--starts \"%s\": write a number, a day or two: 30, 2020-02-18, "
                   "2020-02-18..2020-03-18",
                   text);
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

int app_market_starts(const char *text, struct market_starts *out, struct err *e)
{
    double n;

    *out = (struct market_starts){0};
    if (!text)
        return 0;
    if (number_parse(text, &n)) {
        if (n < 1 || n > 1e5 || n > floor(n))
            return bad_starts(text, e);
        out->last = (size_t)n;
        return 0;
    }
    const char *dots = strstr(text, "..");
    AUTO_MEM char *from = mem_printf("%.*s", dots ? (int)(dots - text) : 32, text);
    if (!market_parse_time(from, &out->from_s) ||
        !market_parse_time(dots ? dots + 2 : from, &out->until_s) || out->until_s < out->from_s)
        return bad_starts(text, e);
    return 0;
}

size_t app_market_covered(const struct market_paper *p)
{
    size_t n = 0;

    for (size_t i = 0; i < market_paper_n_starts(p); i++)
        n += market_paper_covered(p, i);
    return n;
}

struct market_paper_model *app_market_paper_model(const struct market_paper *p,
                                                  const struct throughputs *speeds,
                                                  const char *model,
                                                  struct err *e)
{
    double per_s[GPUS_MAX] = {0};
    size_t n;
    const char *const *gpus = market_paper_gpus(p, &n);

    for (size_t i = 0; i < n && i < GPUS_MAX; i++)
        per_s[i] = throughputs_get(speeds, model, gpus[i]);
    struct market_paper_model *m = market_paper_model_new(p, per_s, e);
    if (!m)
        err_wrap(e, "%s", model);
    return m;
}
