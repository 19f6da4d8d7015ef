/* from: prices from the lists that clouds publish. The operation catalog.update calls it. */
#include "app/catalog/catalog.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "catalog/feed/feed.h"
#include "catalog/import.h"
#include "catalog/rows.h"
#include "spec/config.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define CHANGE(TYPE, key, text) {#key, FIELD(TYPE, struct app_catalog_change, key), .help = (text)}
static const struct field change_fields[] = {
    CHANGE(TEXT, region, "Region."),
    CHANGE(TEXT, zone, "Zone."),
    CHANGE(TEXT, instance_type, "Instance type."),
    CHANGE(TEXT, market, "on-demand or spot."),
    CHANGE(REAL, was_usd_per_hour, "Price before."),
    CHANGE(REAL, now_usd_per_hour, "Price afterwards."),
};
static const struct record change_record =
    RECORD("price_change", struct app_catalog_change, change_fields);

#define CLOUD(TYPE, key, ...) {#key, FIELD(TYPE, struct app_catalog_updated_cloud, key), __VA_ARGS__}
static const struct field cloud_fields[] = {
    CLOUD(TEXT, cloud, .help = "Name of the cloud."),
    CLOUD(LIST, regions, .help = "Regions that were read."),
    CLOUD(COUNT, items, .help = "Items of its price list."),
    CLOUD(COUNT, items_dropped, .help = "Items that were not used."),
    CLOUD(RECORDS, dropped, .record = &app_catalog_drop_record,
          .help = "Items that were not used, by reason."),
    CLOUD(COUNT, offers, .help = "Offers of the cloud afterwards."),
    CLOUD(COUNT, added, .help = "New offers."),
    CLOUD(COUNT, changed, .help = "Offers with a new price."),
    CLOUD(COUNT, unchanged, .help = "Offers with the price they had."),
    CLOUD(COUNT, gone, .help = "Offers that the list no longer has."),
    CLOUD(COUNT, kept, .help = "Offers that stay, as the list does not tell their price."),
    CLOUD(COUNT, elsewhere, .help = "Offers of regions that were not read, which stay."),
    CLOUD(LIST, notes, .help = "What stayed as it was, and why."),
    CLOUD(RECORDS, largest, .record = &change_record, .help = "Largest changes of prices."),
    CLOUD(TEXT, date, .help = "Date of the cloud's prices afterwards."),
    CLOUD(TEXT, source, .help = "Source of the cloud's prices afterwards."),
};
const struct record app_catalog_updated_cloud_record =
    RECORD("catalog_updated_cloud", struct app_catalog_updated_cloud, cloud_fields);

#define CALL(TYPE, key, ...) {#key, FIELD(TYPE, struct app_catalog_call, key), __VA_ARGS__}
static const struct field call_fields[] = {
    CALL(TEXT, method, .help = "GET or POST."),
    CALL(TEXT, url, .help = "Address, without its query."),
    CALL(TEXT, action, .omit_none = true, .help = "Action of EC2."),
    CALL(COUNT, count, .help = "Number of calls."),
};
/* clang-format on */
const struct record app_catalog_call_record =
    RECORD("catalog_call", struct app_catalog_call, call_fields);

/* ---- what to read ---- */

struct from {
    struct app *app;
    struct answer *out;
    const struct config *config;
    const struct app_catalog_from *request;
    struct feed *feed;
    struct feed_list lists[FEED_N_CLOUDS];
    struct feed_changes changes[FEED_N_CLOUDS];
    size_t n;
    char date[32];
    struct app_catalog_updated done;
};

static void from_clear(struct from *f)
{
    for (size_t i = 0; i < f->n; i++)
        feed_list_clear(&f->lists[i]);
    feed_free(f->feed);
}

static int find_cloud(const char *name, enum feed_cloud *out, struct err *e)
{
    for (unsigned i = 0; i < FEED_N_CLOUDS; i++)
        if (strcmp(name, feed_cloud_texts[i]) == 0) {
            *out = i;
            return 0;
        }
    return err_set(e, ERR_USAGE,
                   "--from %.60s: no price list of that cloud is known; write aws, "
                   "azure or gcp",
                   name);
}

/* Whether the configuration lets plans use the region. */
static bool is_planned(const struct config *c, const char *cloud, const char *region)
{
    for (size_t i = 0; i < c->n_regions; i++) {
        const struct config_regions *r = &c->regions[i];
        bool found = strcmp(r->cloud, cloud) != 0;
        for (size_t k = 0; k < r->n && !found; k++)
            found = strcmp(r->regions[k], region) == 0;
        if (!found)
            return false;
    }
    return true;
}

/* Of "aws:us-east-1" the region, where that is the cloud's; NULL where it is another's. */
static const char *region_of(const struct from *f, const char *text, const char *cloud)
{
    size_t n = strcspn(text, ":/");

    if (!text[n])
        return f->request->clouds.n == 1 ? text : NULL;
    return strncmp(text, cloud, n) == 0 && !cloud[n] ? text + n + 1 : NULL;
}

static bool is_listed(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static int check_regions(const struct from *f, struct err *e)
{
    const struct field_list *regions = &f->request->regions, *clouds = &f->request->clouds;

    for (size_t i = 0; i < regions->n; i++) {
        const char *text = regions->items[i], *region = NULL;
        for (size_t k = 0; k < clouds->n && !region; k++)
            region = region_of(f, text, clouds->items[k]);
        if (!region)
            return err_set(e, ERR_USAGE,
                           "--region %.80s: write CLOUD:REGION, with a cloud of --from", text);
        if (!feed_region_good(region))
            return err_set(e, ERR_USAGE, "--region %.80s: not a name of a region", text);
    }
    return 0;
}

/* The regions of the request, else those of the catalog in use that may be planned with. */
static int choose_regions(const struct from *f,
                          const struct catalog *c,
                          enum feed_cloud cloud,
                          struct feed_list *out,
                          struct err *e)
{
    const struct field_list *asked = &f->request->regions;
    const char *name = feed_cloud_texts[cloud];
    const char **names = answer_alloc(f->out, asked->n + c->n_places + 1, sizeof *names, e);
    size_t n = 0;

    if (!names)
        return -1;
    for (size_t i = 0; i < asked->n; i++) {
        const char *region = region_of(f, asked->items[i], name);
        if (region && !is_listed(names, n, region))
            names[n++] = region;
    }
    for (size_t i = 0, none = n == 0; none && i < c->n_places; i++) {
        const char *region = catalog_text(c, c->places[i].region);
        if (strcmp(catalog_text(c, c->places[i].cloud), name) == 0 && feed_region_good(region) &&
            is_planned(f->config, name, region))
            names[n++] = region;
    }
    if (!n)
        return err_set(e, ERR_USAGE,
                       "the catalog in use has no region of %s to update: name one with --region",
                       name);
    feed_list_init(out, cloud, names, n);
    return 0;
}

static int choose(struct from *f, struct err *e)
{
    AUTO(catalog) struct catalog *c = app_catalog_open(f->app, e);
    const struct field_list *clouds = &f->request->clouds;
    bool taken[FEED_N_CLOUDS] = {false};

    if (!c)
        return -1;
    for (size_t i = 0; i < clouds->n; i++) {
        enum feed_cloud cloud;
        if (find_cloud(clouds->items[i], &cloud, e) < 0)
            return -1;
        if (taken[cloud])
            return err_set(e, ERR_USAGE, "--from %s stands twice", clouds->items[i]);
        taken[cloud] = true;
    }
    if (check_regions(f, e) < 0)
        return -1;
    for (unsigned cloud = 0; cloud < FEED_N_CLOUDS; cloud++) {
        if (!taken[cloud])
            continue;
        if (choose_regions(f, c, cloud, &f->lists[f->n], e) < 0)
            return -1;
        f->n++;
    }
    return 0;
}

/* ---- reading ---- */

static void show(void *context, const char *text)
{
    app_status(context, "%s", text);
}

static bool is_cancelled(void *context)
{
    return app_cancelled(context);
}

static int open_feed(struct from *f, struct err *e)
{
    const struct config_endpoints *own = &f->config->catalog_endpoints;
    const struct feed_settings settings = {
        .aws_pricing = app_variable_or(f->app, "AWS_ENDPOINT_URL_PRICING", own->aws_pricing),
        .aws_ec2 = app_variable_or(f->app, "AWS_ENDPOINT_URL_EC2", own->aws_ec2),
        .azure = app_variable_or(f->app, "AZURE_RETAIL_PRICES_ENDPOINT", own->azure),
        .gcp = app_variable_or(f->app, "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDBILLING", own->gcp),
        .gcp_key = app_variable_or(f->app, "GOOGLE_API_KEY", NULL),
        .may_be_exposed = app_is_insecure(f->app),
        .status = show,
        .cancelled = is_cancelled,
        .context = f->app,
    };

    f->feed = feed_new(&settings, e);
    return f->feed ? 0 : -1;
}

/* ---- the report ---- */

static int put_largest(const struct from *f,
                       const struct catalog_rows *rows,
                       const struct feed_changes *changes,
                       struct field_records *into,
                       struct err *e)
{
    for (size_t i = 0; i < changes->n_largest; i++) {
        const struct feed_change *c = &changes->largest[i];
        const struct app_catalog_change change = {
            .region = answer_text(f->out, e, "%s", catalog_rows_text(rows, c->region)),
            .zone = c->zone ? answer_text(f->out, e, "%s", catalog_rows_text(rows, c->zone)) : NULL,
            .instance_type =
                answer_text(f->out, e, "%s", catalog_rows_text(rows, c->instance_type)),
            .market = c->spot ? "spot" : "on-demand",
            .was_usd_per_hour = c->was_usd,
            .now_usd_per_hour = c->now_usd,
        };
        if (!change.region || !change.instance_type || (c->zone && !change.zone) ||
            answer_push(f->out, into, &change, sizeof change, e) < 0)
            return -1;
    }
    return 0;
}

/* A note on the spot prices of the regions with the same reason, the first of which is `first`. */
static char *spot_note(const struct from *f,
                       const struct feed_list *list,
                       size_t first,
                       struct err *e)
{
    const char *why = list->regions[first].why_not;
    char *names = NULL;
    size_t n = 0;

    for (size_t i = first; i < list->n_regions; i++) {
        if (!list->regions[i].why_not || strcmp(list->regions[i].why_not, why) != 0)
            continue;
        n++;
        names = answer_text(f->out, e, "%s%s%s", names ? names : "", names ? ", " : "",
                            list->regions[i].name);
        if (!names)
            return NULL;
    }
    return n == list->n_regions
               ? answer_text(f->out, e, "spot prices stay as they were: %s", why)
               : answer_text(f->out, e, "spot prices of %s stay as they were: %s", names, why);
}

static int put_notes(const struct from *f,
                     const struct feed_list *list,
                     struct field_list *into,
                     struct err *e)
{
    const char **notes = answer_alloc(f->out, list->n_regions, sizeof *notes, e);
    size_t n = 0;

    for (size_t i = 0; notes && i < list->n_regions; i++) {
        const char *why = list->regions[i].why_not;
        bool said = !why;
        for (size_t k = 0; k < i && !said; k++)
            said = list->regions[k].why_not && strcmp(list->regions[k].why_not, why) == 0;
        if (said)
            continue;
        notes[n] = spot_note(f, list, i, e);
        if (!notes[n++])
            return -1;
    }
    *into = (struct field_list){notes, n};
    return notes ? 0 : -1;
}

/* Everything but what the new catalog tells. */
static int put_cloud(struct from *f, size_t at, const struct catalog_rows *rows, struct err *e)
{
    const struct feed_list *list = &f->lists[at];
    const struct feed_changes *c = &f->changes[at];
    const char **regions = answer_alloc(f->out, list->n_regions, sizeof *regions, e);
    struct app_catalog_updated_cloud cloud = {
        .cloud = feed_cloud_texts[list->cloud],
        .regions = {regions, list->n_regions},
        .items = list->items,
        .offers = c->offers,
        .added = c->added,
        .changed = c->changed,
        .unchanged = c->same,
        .gone = c->gone,
        .kept = c->kept,
        .elsewhere = c->elsewhere,
    };

    if (!regions)
        return -1;
    for (size_t i = 0; i < list->n_regions; i++)
        regions[i] = list->regions[i].name;
    for (unsigned d = 0; d < FEED_N_DROPS; d++) {
        const struct app_catalog_drop drop = {feed_drop_texts[d], list->dropped[d]};
        cloud.items_dropped += drop.count;
        if (drop.count && answer_push(f->out, &cloud.dropped, &drop, sizeof drop, e) < 0)
            return -1;
    }
    if (put_notes(f, list, &cloud.notes, e) < 0 || put_largest(f, rows, c, &cloud.largest, e) < 0)
        return -1;
    f->done.imported.rows_read += cloud.items;
    f->done.imported.rows_dropped += cloud.items_dropped;
    f->done.imported.rows_kept = f->done.imported.rows_read - f->done.imported.rows_dropped;
    f->done.imported.offers += cloud.offers;
    return answer_push(f->out, &f->done.clouds, &cloud, sizeof cloud, e);
}

static int fill(void *context, const struct catalog *old, struct catalog_rows *rows, struct err *e)
{
    struct from *f = context;

    for (size_t i = 0; i < f->n; i++)
        if (feed_merge(&f->lists[i], old, f->date, rows, &f->changes[i], e) < 0)
            return err_wrap(e, "price list of %s", feed_cloud_texts[f->lists[i].cloud]);
    for (size_t i = 0; i < f->n; i++)
        if (put_cloud(f, i, rows, e) < 0)
            return -1;
    return 0;
}

static int put_calls(struct from *f, struct err *e)
{
    size_t n;
    const struct feed_call *calls = feed_calls(f->feed, &n);

    for (size_t i = 0; i < n; i++) {
        const struct app_catalog_call call = {calls[i].method, calls[i].url,
                                              app_catalog_known(calls[i].action), calls[i].count};
        if (answer_push(f->out, &f->done.calls, &call, sizeof call, e) < 0)
            return -1;
    }
    return 0;
}

static int put_sources(struct from *f, const struct catalog *built, struct err *e)
{
    struct app_catalog_updated_cloud *clouds =
        answer_alloc(f->out, f->done.clouds.n, sizeof *clouds, e);

    if (!clouds)
        return -1;
    memcpy(clouds, f->done.clouds.items, f->done.clouds.n * sizeof *clouds);
    for (size_t i = 0; i < f->done.clouds.n; i++)
        catalog_source(built, clouds[i].cloud, &clouds[i].source, &clouds[i].date);
    f->done.clouds.items = clouds;
    return 0;
}

int app_catalog_update_from(struct app *app,
                            const struct app_catalog_from *from,
                            struct answer *out,
                            struct err *e)
{
    const struct config *config = app_config(app, e);
    AUTO_CLEAR(from)
    struct from f = {
        .app = app, .out = out, .config = config, .request = from, .done.dry_run = from->dry_run};

    if (!config || app_today(app, f.date, e) < 0 || choose(&f, e) < 0 || open_feed(&f, e) < 0)
        return -1;
    for (size_t i = 0; i < f.n; i++)
        if (feed_fetch(f.feed, &f.lists[i], e) < 0)
            return -1;
    const struct catalog_update how = {.home = config->home,
                                       .date = f.date,
                                       .dry_run = from->dry_run,
                                       .fill = fill,
                                       .context = &f};
    AUTO(catalog) struct catalog *built = catalog_update(&how, e);
    if (!built || put_calls(&f, e) < 0 || put_sources(&f, built, e) < 0)
        return -1;
    const struct app_catalog_size size = {from->dry_run ? built->origin : "imported",
                                          built->n_offers, built->n_places};
    f.done.imported.catalog = &size;
    return answer_head(out, &f.done, e);
}
