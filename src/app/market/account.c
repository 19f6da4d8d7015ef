#include "app/market/account.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "catalog/feed/feed.h"
#include "market/import.h"
#include "spec/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY_S 86400
/* AWS keeps 90 days. A price may be published late: the end of what was asked is asked again. */
#define OVERLAP_S 3600
#define ALL_TYPES "*"

/* ---- what was asked for ----
 *
 * HOME/market/asked.json: {REGION: {TYPE: [from, to]}}, seconds since 1970; the type "*" is all. */

static char *path_of(const char *home)
{
    return mem_printf("%s/market/asked.json", home);
}

/* What cannot be read was never asked: then all is asked again. New reference. */
static json_t *load(const char *home)
{
    AUTO_MEM char *path = path_of(home);
    json_t *asked = json_load_file(path, 0, NULL);

    if (json_is_object(asked))
        return asked;
    json_decref(asked);
    return json_object();
}

int app_market_account_keep(const char *home, const json_t *asked, struct err *e)
{
    AUTO_MEM char *path = path_of(home);
    char *text = json_dumps(asked, JSON_SORT_KEYS | JSON_INDENT(1));
    int result = text ? file_replace(path, text, strlen(text), FILE_OWN, e)
                      : err_set(e, ERR_IO, "write %s: no memory", path);

    free(text);
    return result;
}

void app_market_account_forget(const char *home)
{
    AUTO_MEM char *path = path_of(home);

    unlink(path);
}

struct range {
    int64_t from_s, to_s;
};

static bool read_range(const json_t *types, const char *type, struct range *out)
{
    const json_t *pair = json_object_get(types, type);

    out->from_s = json_integer_value(json_array_get(pair, 0));
    out->to_s = json_integer_value(json_array_get(pair, 1));
    return out->from_s > 0 && out->to_s >= out->from_s;
}

/* From when on a type, or all of them, has to be asked for, when all since from_s is wanted. */
static int64_t unknown_since(const json_t *types, const char *type, int64_t from_s, int64_t now_s)
{
    const char *const names[] = {type, ALL_TYPES};
    int64_t since_s = from_s;

    for (size_t i = 0; i < 2; i++) {
        struct range r;
        if (read_range(types, names[i], &r) && r.from_s <= from_s && r.to_s <= now_s &&
            r.to_s - OVERLAP_S > since_s)
            since_s = r.to_s - OVERLAP_S;
    }
    return since_s;
}

/* The type was asked for from since_s until now, and before that what the ranges that reach since_s
 * say of it. */
static void note_range(json_t *types, const char *type, int64_t since_s, int64_t now_s)
{
    const char *const names[] = {type, ALL_TYPES};
    int64_t from_s = since_s;

    for (size_t i = 0; i < 2; i++) {
        struct range r;
        if (read_range(types, names[i], &r) && r.to_s >= since_s && r.from_s < from_s)
            from_s = r.from_s;
    }
    json_object_set_new(types, type, json_pack("[I, I]", (json_int_t)from_s, (json_int_t)now_s));
}

/* ---- asking ---- */

struct asking {
    const struct app_market_account *account;
    struct feed *feed;
    struct market_import *rows;
    json_t *asked;
    int64_t now_s;
};

static int take(void *context, const struct feed_spot_price *p, struct err *e)
{
    const struct asking *a = context;
    const struct market_record record = {p->zone, p->instance_type, p->product, p->usd_per_hour,
                                         p->time};

    return market_import_record(a->rows, &record, e);
}

static int ask_region(struct asking *a, const char *region, struct err *e)
{
    const struct field_list *names = &a->account->types;
    static const char *const all[] = {ALL_TYPES};
    const char *const *types = names->n ? names->items : all;
    size_t n_types = names->n ? names->n : 1;
    int64_t from_s = a->now_s - (int64_t)(a->account->days * DAY_S), since_s = a->now_s;
    json_t *known = json_object_get(a->asked, region);

    if (!json_is_object(known)) {
        known = json_object();
        json_object_set_new(a->asked, region, known);
    }
    for (size_t i = 0; i < n_types; i++) {
        int64_t unknown_s = unknown_since(known, types[i], from_s, a->now_s);
        since_s = unknown_s < since_s ? unknown_s : since_s;
    }
    const struct feed_spot_query q = {.region = region,
                                      .types = names->items,
                                      .n_types = names->n,
                                      .from_s = since_s,
                                      .to_s = a->now_s};
    AUTO_MEM char *name = mem_printf("aws %s", region);
    market_import_begin(a->rows, name);
    if (feed_spot(a->feed, &q, take, a, e) < 0)
        return err_wrap(e, "spot prices of %s", region);
    for (size_t i = 0; i < n_types; i++)
        note_range(known, types[i], since_s, a->now_s);
    return 0;
}

/* The region of the request, those that the configuration plans with, or the account's. */
static int ask(struct asking *a, struct err *e)
{
    const struct config *c = a->account->config;
    const char *region = a->account->region;
    bool configured = false;

    for (size_t i = 0; i < c->n_regions && !region; i++) {
        const struct config_regions *r = &c->regions[i];
        for (size_t k = 0; strcmp(r->cloud, "aws") == 0 && k < r->n; k++, configured = true)
            if (ask_region(a, r->regions[k], e) < 0)
                return -1;
    }
    if (configured)
        return 0;
    if (!region && feed_account_region(a->feed, &region, e) < 0)
        return -1;
    if (!region)
        return err_set(e, ERR_USAGE, "of which region? name one with --region");
    if (!feed_region_good(region))
        return err_set(e, ERR_USAGE, "region %.80s: not a name of a region of AWS", region);
    return ask_region(a, region, e);
}

static void show(void *context, const char *text)
{
    app_status(context, "%s", text);
}

static bool is_cancelled(void *context)
{
    return app_cancelled(context);
}

int app_market_account_import(const struct app_market_account *a,
                              struct market_import *rows,
                              json_t **asked_out,
                              struct err *e)
{
    const struct feed_settings settings = {
        .aws_ec2 =
            app_variable_or(a->app, "AWS_ENDPOINT_URL_EC2", a->config->catalog_endpoints.aws_ec2),
        .may_be_exposed = app_is_insecure(a->app),
        .status = show,
        .cancelled = is_cancelled,
        .context = a->app,
    };
    AUTO(feed) struct feed *feed = feed_new(&settings, e);
    AUTO_JSON json_t *asked = a->anew ? json_object() : load(a->config->home);
    struct asking asking = {
        .account = a, .feed = feed, .rows = rows, .asked = asked, .now_s = time_epoch_ms() / 1000};

    if (!feed || ask(&asking, e) < 0)
        return -1;
    *asked_out = TAKE(asked);
    return 0;
}
