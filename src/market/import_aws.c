/* The reader of `aws ec2 describe-spot-price-history`, and of the records of that API one by one.
 * import.c and `market import --from` call it. */
#include "base/json.h"
#include "market/internal.h"

#include <string.h>

/* The line of a list's item, counted only when something is wrong with it: Jansson does not keep
 * lines. */
static size_t line_of_item(const char *text, size_t wanted)
{
    const char *p = strstr(text, "\"SpotPriceHistory\"");
    size_t line = 1, depth = 0, item = 0;

    for (const char *before = text; before < p; before++)
        line += *before == '\n';
    for (; p && *p; p++) {
        line += *p == '\n';
        if (*p == '"') {
            for (p++; *p && *p != '"'; p++)
                p += *p == '\\' && p[1];
            if (!*p)
                break;
        } else if (*p == '{' || *p == '[') {
            if (depth++ == 1 && item++ == wanted)
                return line;
        } else if (*p == '}' || *p == ']') {
            depth--;
        }
    }
    return line;
}

/* NULL for what is no name. */
static const char *name_of(const char *text)
{
    return text && import_name_good(text) ? text : NULL;
}

static const char *text_of(const json_t *record, const char *key)
{
    return json_string_value(json_object_get(record, key));
}

/* Counts what is wrong with a record at its line. */
static bool read_record(struct import_at *at, const struct market_record *r, struct import_row *out)
{
    const char *zone = name_of(r->zone), *type = name_of(r->instance_type);
    const char *price = name_of(r->usd_per_hour), *time = name_of(r->time);
    const char *product = name_of(r->product);
    char region[64];
    struct err e = {0};

    if (!zone || !type || !price || !time || !*type)
        return import_drop(at, MARKET_DROP_MALFORMED,
                           "AvailabilityZone, InstanceType, SpotPrice and Timestamp must be texts");
    if (product && strncmp(product, "Linux/UNIX", 10) != 0)
        return import_drop(at, MARKET_DROP_PRODUCT, "a price for \"%.40s\"", product);
    if (!import_region_of_zone("aws", zone, region))
        return import_drop(at, MARKET_DROP_MALFORMED, "\"%.40s\" is not an availability zone",
                           zone);
    if (!import_parse_price(at, price, &out->usd_per_hour) ||
        !import_parse_time(at, time, &out->at_s))
        return false;
    const struct import_names names = {at->from->cloud ? at->from->cloud : "aws",
                                       at->from->region ? at->from->region : region, zone, type};
    out->offer = import_offer(at->im, &names, MARKET_FEED_AWS, &e);
    if (out->offer != IMPORT_NO_OFFER)
        return true;
    return import_drop(at, MARKET_DROP_MALFORMED, "%s", e.text);
}

int import_read_aws(struct import_at *at, struct err *e)
{
    json_error_t wrong;
    AUTO_JSON json_t *root = json_loadb(at->from->text, at->from->len, 0, &wrong);

    if (!root)
        return err_set(e, ERR_USAGE, "%s:%d: %s", at->from->name, wrong.line, wrong.text);
    const json_t *records = json_object_get(root, "SpotPriceHistory");
    if (!json_is_array(records))
        return err_set(e, ERR_USAGE, "%s:1: there is no list \"SpotPriceHistory\"", at->from->name);
    for (size_t i = 0; i < json_array_size(records); i++) {
        const json_t *item = json_array_get(records, i);
        const struct market_record record = {
            text_of(item, "AvailabilityZone"), text_of(item, "InstanceType"),
            text_of(item, "ProductDescription"), text_of(item, "SpotPrice"),
            text_of(item, "Timestamp")};
        struct import_row row;
        at->report->rows_read++;
        /* Found for the first bad record alone. */
        bool was_bad = at->report->bad_line > 0;
        if (!read_record(at, &record, &row)) {
            if (!was_bad)
                at->report->bad_line = line_of_item(at->from->text, i);
            continue;
        }
        if (import_price(at, row.offer, row.at_s, row.usd_per_hour, e) < 0)
            return -1;
    }
    return 0;
}

int market_import_record(struct market_import *im, const struct market_record *r, struct err *e)
{
    struct market_file_report *report = &im->reports[im->n_reports - 1];
    const struct market_source from = {.name = report->path};
    struct import_at at = {.im = im, .from = &from, .report = report, .line = ++report->rows_read};
    struct import_row row;

    return read_record(&at, r, &row) ? import_price(&at, row.offer, row.at_s, row.usd_per_hour, e)
                                     : 0;
}
