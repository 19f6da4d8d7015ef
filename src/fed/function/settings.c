#include "fed/function/settings.h"

#include "base/mem.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct lookup {
    const char *(*look)(void *context, const char *name);
    void *context;
};

/* NULL when it is not set, or empty. */
static const char *find(const struct lookup *l, const char *name)
{
    const char *value = l->look(l->context, name);

    return value && *value ? value : NULL;
}

static int read_number(
    const struct lookup *l, const char *name, double least, double most, double *out, struct err *e)
{
    const char *text = find(l, name);
    double value;

    if (!text)
        return 0;
    if (!number_parse(text, &value) || !(value >= least && value <= most))
        return err_set(e, ERR_USAGE, "%s=%.60s: write a number from %g to %g", name, text, least,
                       most);
    *out = value;
    return 0;
}

static int read_switch(const struct lookup *l, const char *name, bool *out, struct err *e)
{
    const char *text = find(l, name);

    if (text && strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return err_set(e, ERR_USAGE, "%s=%.60s: write 1 or 0", name, text);
    *out = text && *text == '1';
    return 0;
}

static char *own(const char *text)
{
    return text ? mem_dup(text) : NULL;
}

/* "s3://BUCKET/PREFIX": both, as new strings; of a directory neither. */
static void split_url(const char *url, char **bucket_out, char **prefix_out)
{
    const char *bucket = strncmp(url, "s3://", 5) == 0 ? url + 5 : NULL;
    size_t n = bucket ? strcspn(bucket, "/") : 0;
    const char *prefix = bucket && bucket[n] ? bucket + n + 1 : "";
    size_t prefix_n = strlen(prefix);

    *bucket_out = bucket ? mem_printf("%.*s", (int)n, bucket) : NULL;
    if (prefix_n && prefix[prefix_n - 1] == '/')
        prefix_n--;
    *prefix_out = mem_printf("%.*s", (int)prefix_n, prefix);
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

static int read_store(struct function_settings *s, const struct lookup *l, struct err *e)
{
    const char *url = find(l, "TRADEWIND_STORE");

    if (!url)
        return err_set(e, ERR_USAGE,
                       "TRADEWIND_STORE is not set: write s3://BUCKET/PREFIX or dir:/PATH");
    s->aggregator.store = open_named("TRADEWIND_STORE", url, find(l, "TRADEWIND_STORE_ENDPOINT"),
                                     find(l, "TRADEWIND_STORE_REGION"), e);
    split_url(url, &s->bucket, &s->prefix);
    return s->aggregator.store ? 0 : -1;
}

static int read_workers(struct function_settings *s, const struct lookup *l, struct err *e)
{
    double workers = 0, quorum = 0, lease_s = FED_LEASE_S;

    if (read_number(l, "TRADEWIND_WORKERS", 1, FED_WORKERS_MAX, &workers, e) < 0 ||
        read_number(l, "TRADEWIND_QUORUM", 0, FED_WORKERS_MAX, &quorum, e) < 0 ||
        read_number(l, "TRADEWIND_LEASE_S", 0.001, 86400, &lease_s, e) < 0 ||
        read_switch(l, "TRADEWIND_KEEP_MEANS", &s->aggregator.keep_means, e) < 0 ||
        read_switch(l, "TRADEWIND_WEIGHTED", &s->aggregator.weighted, e) < 0 ||
        read_switch(l, "TRADEWIND_FINITE", &s->aggregator.only_finite, e) < 0)
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

static int read_up(struct function_settings *s, const struct lookup *l, struct err *e)
{
    const char *url = find(l, "TRADEWIND_UP_STORE");
    double index = -1;

    if (!url)
        return 0;
    if (read_number(l, "TRADEWIND_UP_WORKER", 0, FED_WORKERS_MAX - 1, &index, e) < 0)
        return -1;
    if (index < 0 || index != floor(index))
        return err_set(e, ERR_USAGE,
                       "TRADEWIND_UP_WORKER: write the region's number, from 0, beside "
                       "TRADEWIND_UP_STORE");
    s->up.prefix = "";
    s->up.store = open_named("TRADEWIND_UP_STORE", url, find(l, "TRADEWIND_UP_ENDPOINT"),
                             find(l, "TRADEWIND_UP_REGION"), e);
    if (!s->up.store)
        return -1;
    split_url(url, &s->up_bucket, &s->up_prefix);
    s->up_event_url = own(find(l, "TRADEWIND_UP_EVENT_URL"));
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

static int read_fanout(struct function_settings *s, const struct lookup *l, struct err *e)
{
    const char *text = find(l, "TRADEWIND_FANOUT");
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

int function_settings_read(struct function_settings *s,
                           const char *(*look)(void *context, const char *name),
                           void *context,
                           struct err *e)
{
    const struct lookup l = {look, context};

    *s = (struct function_settings){0};
    if (read_workers(s, &l, e) < 0 || read_store(s, &l, e) < 0 || read_up(s, &l, e) < 0 ||
        read_fanout(s, &l, e) < 0)
        return -1;
    s->event_log = own(find(&l, "TRADEWIND_EVENT_LOG"));
    s->token = own(find(&l, "TRADEWIND_EVENT_TOKEN"));
    return 0;
}

void function_settings_clear(struct function_settings *s)
{
    store_free(s->aggregator.store);
    store_free(s->up.store);
    for (size_t i = 0; i < s->aggregator.n_fanout; i++)
        store_free(s->fanout[i].store);
    free(s->fanout);
    free(s->bucket);
    free(s->prefix);
    free(s->up_event_url);
    free(s->up_bucket);
    free(s->up_prefix);
    free(s->event_log);
    free(s->token);
    *s = (struct function_settings){0};
}
