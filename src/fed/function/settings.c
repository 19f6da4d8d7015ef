/* The settings of the aggregator, from its environment. `tradewind-aggregator --help`
 * lists the variables, docs/geo-function.md describes them. */
#include "base/mem.h"
#include "base/number.h"
#include "fed/function/invoke.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NULL when it is not set, or empty. */
static const char *find(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static int read_number(const char *name, double least, double most, double *out, struct err *e)
{
    const char *text = find(name);
    double value;

    if (!text)
        return 0;
    if (!number_parse(text, &value) || !(value >= least && value <= most))
        return err_set(e, ERR_USAGE, "%s=%.60s: write a number from %g to %g", name, text, least,
                       most);
    *out = value;
    return 0;
}

static int read_switch(const char *name, bool *out, struct err *e)
{
    const char *text = find(name);

    if (text && strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return err_set(e, ERR_USAGE, "%s=%.60s: write 1 or 0", name, text);
    *out = text && *text == '1';
    return 0;
}

static char *own(const char *text)
{
    return text ? mem_dup(text) : NULL;
}

static struct store *open_named(
    const char *name, const char *url, const char *endpoint, const char *region, struct err *e)
{
    struct store_settings settings = {
        .url = url,
        .endpoint = endpoint,
        .region = region,
        .path_style = -1,
    };
    struct store *s = store_open(&settings, e);

    if (!s)
        err_wrap(e, "%s", name);
    return s;
}

/* ---- parts ---- */

static int read_store(struct function_settings *s, struct err *e)
{
    const char *url = find("TRADEWIND_STORE");

    if (!url)
        return err_set(e, ERR_USAGE,
                       "TRADEWIND_STORE is not set: write s3://BUCKET/PREFIX, "
                       "gs://BUCKET/PREFIX, az://ACCOUNT/CONTAINER/PREFIX or dir:/PATH");
    s->aggregator.store = open_named("TRADEWIND_STORE", url, find("TRADEWIND_STORE_ENDPOINT"),
                                     find("TRADEWIND_STORE_REGION"), e);
    return s->aggregator.store ? 0 : -1;
}

static int read_workers(struct function_settings *s, struct err *e)
{
    double workers = 0, quorum = 0, lease_s = FED_LEASE_S;

    if (read_number("TRADEWIND_WORKERS", 1, FED_WORKERS_MAX, &workers, e) < 0 ||
        read_number("TRADEWIND_QUORUM", 0, FED_WORKERS_MAX, &quorum, e) < 0 ||
        read_number("TRADEWIND_LEASE_S", 0.001, 86400, &lease_s, e) < 0 ||
        read_switch("TRADEWIND_KEEP_MEANS", &s->aggregator.keep_means, e) < 0 ||
        read_switch("TRADEWIND_WEIGHTED", &s->aggregator.weighted, e) < 0 ||
        read_switch("TRADEWIND_FINITE", &s->aggregator.only_finite, e) < 0)
        return -1;
    if (workers != floor(workers) || workers < 1)
        return err_set(e, ERR_USAGE, "TRADEWIND_WORKERS: write how many workers there are");
    /* A share: as many as it takes to reach it. */
    if (quorum > 0 && quorum < 1)
        quorum = ceil(quorum * workers - 1e-9);
    if (quorum != floor(quorum) || quorum > workers)
        return err_set(e, ERR_USAGE,
                       "TRADEWIND_QUORUM: write a number up to the workers (%.0f), or a share "
                       "below 1",
                       workers);
    s->aggregator.workers = (unsigned)workers;
    s->aggregator.quorum = (unsigned)quorum;
    s->aggregator.lease_s = lease_s;
    return 0;
}

static int read_up(struct function_settings *s, struct err *e)
{
    const char *url = find("TRADEWIND_UP_STORE");
    double index = -1;

    if (!url)
        return 0;
    if (read_number("TRADEWIND_UP_WORKER", 0, FED_WORKERS_MAX - 1, &index, e) < 0)
        return -1;
    if (index < 0 || index != floor(index))
        return err_set(e, ERR_USAGE,
                       "TRADEWIND_UP_WORKER: write the region's number, from 0, beside "
                       "TRADEWIND_UP_STORE");
    s->up.prefix = "";
    s->up.store = open_named("TRADEWIND_UP_STORE", url, find("TRADEWIND_UP_ENDPOINT"),
                             find("TRADEWIND_UP_REGION"), e);
    if (!s->up.store)
        return -1;
    s->up_event_url = own(find("TRADEWIND_UP_EVENT_URL"));
    s->aggregator.up = &s->up;
    s->aggregator.up_index = (unsigned)index;
    return 0;
}

/* URL[|ENDPOINT[|REGION]] */
static struct store *open_one(char *text, struct err *e)
{
    char *endpoint = strchr(text, '|'), *region = NULL;

    if (endpoint) {
        *endpoint++ = '\0';
        region = strchr(endpoint, '|');
    }
    if (region)
        *region++ = '\0';
    return open_named("TRADEWIND_FANOUT", text, endpoint && *endpoint ? endpoint : NULL,
                      region && *region ? region : NULL, e);
}

static int read_fanout(struct function_settings *s, struct err *e)
{
    const char *text = find("TRADEWIND_FANOUT");
    AUTO_MEM char *copy = own(text);
    size_t most = 1;

    if (!text)
        return 0;
    if (s->aggregator.up)
        return err_set(e, ERR_USAGE,
                       "TRADEWIND_FANOUT and TRADEWIND_UP_STORE are of different aggregators: the "
                       "global one, and a region's");
    for (const char *c = text; *c; c++)
        most += *c == ',';
    s->fanout = mem_zero(most, sizeof *s->fanout);
    char *rest = copy;
    for (char *one; (one = strsep(&rest, ","));) {
        struct store *store = open_one(one, e);
        if (!store)
            return -1;
        s->fanout[s->aggregator.n_fanout++] = (struct fed_place){store, ""};
    }
    s->aggregator.fanout = s->fanout;
    return 0;
}

int function_settings_read(struct function_settings *s, struct err *e)
{
    *s = (struct function_settings){0};
    if (read_workers(s, e) < 0 || read_store(s, e) < 0 || read_up(s, e) < 0 ||
        read_fanout(s, e) < 0)
        return -1;
    s->event_log = own(find("TRADEWIND_EVENT_LOG"));
    s->token = own(find("TRADEWIND_EVENT_TOKEN"));
    return 0;
}

void function_settings_clear(struct function_settings *s)
{
    store_free(s->aggregator.store);
    store_free(s->up.store);
    for (size_t i = 0; i < s->aggregator.n_fanout; i++)
        store_free(s->fanout[i].store);
    free(s->fanout);
    free(s->up_event_url);
    free(s->event_log);
    free(s->token);
    *s = (struct function_settings){0};
}
