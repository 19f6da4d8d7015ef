#include "market/import.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "market/internal.h"
#include "market/series.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const market_drop_texts[MARKET_N_DROPS] = {
    [MARKET_DROP_DUPLICATE] = "the same record again",
    [MARKET_DROP_CONFLICT] = "another price for an offer and time that have one",
    [MARKET_DROP_PRICE] = "negative, zero or no price",
    [MARKET_DROP_TIME] = "no time that exists",
    [MARKET_DROP_MALFORMED] = "malformed",
    [MARKET_DROP_PRODUCT] = "not for Linux/UNIX",
};

const char *const market_note_texts[MARKET_N_NOTES] = {
    [MARKET_NOTE_ORDER] = "against the order of the file (sorted in)",
    [MARKET_NOTE_ZONE] = "in another time zone (converted to UTC)",
    [MARKET_NOTE_NO_ZONE] = "without a time zone (taken as UTC)",
    [MARKET_NOTE_GAP] = "more than two days after the record before",
    [MARKET_NOTE_WITHDRAWN] = "not for sale from then on",
    [MARKET_NOTE_SPIKE] = "three times the price on both sides of it (a typing error?)",
    [MARKET_NOTE_GPU] = "of an instance type whose accelerators are not known",
    [MARKET_NOTE_FAILED] = "instance that could not be launched",
    [MARKET_NOTE_CUT] = "life cut off by the end of the log",
};

static struct market_file_report *add_report(struct market_import *im,
                                             const char *path,
                                             enum market_feed feed)
{
    im->reports = mem_room(im->reports, im->n_reports, &im->cap_reports, sizeof *im->reports);
    struct market_file_report *r = &im->reports[im->n_reports++];
    *r = (struct market_file_report){.path = mem_dup(path), .feed = feed};
    return r;
}

struct market_import *market_import_new(const struct catalog *catalog)
{
    struct market_import *im = mem_zero(1, sizeof *im);

    im->catalog = catalog;
    im->texts = catalog_intern_new(MARKET_TEXT_MAX_BYTES);
    im->by_names = map_new();
    add_report(im, "", MARKET_FEED_CSV);
    return im;
}

void market_import_free(struct market_import *im)
{
    if (!im)
        return;
    for (size_t i = 0; i < im->n_reports; i++)
        free(im->reports[i].path);
    free(im->reports);
    catalog_intern_free(im->texts);
    free(im->offers);
    map_free(im->by_names);
    free(im->rows);
    free(im->on_demand);
    free(im->spells);
    free(im->sweeps);
    free(im);
}

const struct market_file_report *market_import_reports(const struct market_import *im, size_t *n)
{
    *n = im->n_reports - 1;
    return im->reports + 1;
}

int import_drop(struct import_at *at, enum market_drop why, const char *fmt, ...)
{
    struct market_file_report *r = at->report;
    va_list args;

    r->dropped[why]++;
    if (r->bad_line)
        return 0;
    r->bad_line = at->line ? at->line : 1;
    va_start(args, fmt);
    vsnprintf(r->bad_text, sizeof r->bad_text, fmt, args);
    va_end(args);
    return 0;
}

bool import_name_good(const char *text)
{
    size_t len = strlen(text), line;

    return len <= MARKET_NAME_MAX_BYTES && utf8_first_bad(text, len, &line) == len &&
           !strpbrk(text, "\t\r\n");
}

static uint64_t hash_offer(const struct import_offer *o)
{
    const uint32_t key[4] = {o->cloud, o->region, o->zone, o->instance_type};

    return hash_xxh3(key, sizeof key);
}

static bool same_offer(const void *offers, uint32_t i, const void *key)
{
    const struct import_offer *a = (const struct import_offer *)offers + i, *b = key;

    return a->cloud == b->cloud && a->region == b->region && a->zone == b->zone &&
           a->instance_type == b->instance_type;
}

static uint32_t intern(struct market_import *im, const char *text)
{
    return catalog_intern(im->texts, text, strlen(text));
}

uint32_t import_offer(struct market_import *im,
                      const struct import_names *names,
                      enum market_feed feed,
                      struct err *e)
{
    struct import_offer o = {
        .cloud = intern(im, names->cloud),
        .region = intern(im, market_region(names->cloud, names->region)),
        .zone = intern(im, names->zone),
        .instance_type = intern(im, names->instance_type),
        .feed = (uint32_t)feed,
    };

    if (o.cloud == CATALOG_INTERN_FULL || o.region == CATALOG_INTERN_FULL ||
        o.zone == CATALOG_INTERN_FULL || o.instance_type == CATALOG_INTERN_FULL ||
        im->n_offers == MARKET_OFFERS_MAX) {
        err_set(e, ERR_USAGE, "more than %zu offers, or too long names", MARKET_OFFERS_MAX);
        return IMPORT_NO_OFFER;
    }
    uint64_t hash = hash_offer(&o);
    uint32_t known = map_find(im->by_names, hash, same_offer, im->offers, &o);
    if (known != MAP_NONE)
        return known;
    im->offers = mem_room(im->offers, im->n_offers, &im->cap_offers, sizeof *im->offers);
    im->offers[im->n_offers] = o;
    map_add(im->by_names, hash, (uint32_t)im->n_offers);
    return (uint32_t)im->n_offers++;
}

static void add_row(struct market_import *im, const struct import_row *row)
{
    im->rows = mem_room(im->rows, im->n_rows, &im->cap_rows, sizeof *im->rows);
    im->rows[im->n_rows++] = *row;
}

static uint32_t file_of(const struct import_at *at)
{
    return (uint32_t)(at->report - at->im->reports);
}

int import_price(struct import_at *at, uint32_t offer, double at_s, double usd, struct err *e)
{
    struct market_import *im = at->im;
    struct import_offer *o = &im->offers[offer];
    uint32_t file = file_of(at);
    bool newest_first = at->report->feed == MARKET_FEED_AWS;

    if (im->n_rows == MARKET_ROWS_MAX)
        return err_set(e, ERR_USAGE, "%s: more than %zu records", at->from->name, MARKET_ROWS_MAX);
    if (o->last_file == file && (newest_first ? at_s > o->last_s : at_s < o->last_s))
        at->report->notes[MARKET_NOTE_ORDER]++;
    o->last_file = file;
    o->last_s = at_s;
    /* A log of lives may have come first. */
    if (o->feed == MARKET_FEED_KEEPALIVE)
        o->feed = (uint32_t)at->report->feed;
    at->report->notes[MARKET_NOTE_WITHDRAWN] += isnan(usd) ? 1 : 0;
    add_row(im, &(struct import_row){offer, file, at_s, usd});
    return 0;
}

void import_on_demand(struct import_at *at, uint32_t offer, double at_s, double usd)
{
    struct market_import *im = at->im;
    struct import_row *last = im->n_on_demand ? &im->on_demand[im->n_on_demand - 1] : NULL;

    /* Histories repeat it at every record. */
    if (last && last->offer == offer && last->file == file_of(at) && last->at_s <= at_s &&
        market_same_price(last->usd_per_hour, usd))
        return;
    im->on_demand =
        mem_room(im->on_demand, im->n_on_demand, &im->cap_on_demand, sizeof *im->on_demand);
    im->on_demand[im->n_on_demand++] = (struct import_row){offer, file_of(at), at_s, usd};
}

void import_spell(struct import_at *at, uint32_t offer, const struct market_spell *spell)
{
    struct market_import *im = at->im;

    im->spells = mem_room(im->spells, im->n_spells, &im->cap_spells, sizeof *im->spells);
    im->spells[im->n_spells++] = (struct import_spell){offer, file_of(at), *spell};
    at->report->n_spells++;
    at->report->notes[MARKET_NOTE_CUT] += spell->ended < 1;
}

void import_sweep(struct market_import *im, double at_s, const char *cloud)
{
    im->sweeps = mem_room(im->sweeps, im->n_sweeps, &im->cap_sweeps, sizeof *im->sweeps);
    im->sweeps[im->n_sweeps++] = (struct market_sweep){.at_s = at_s, .cloud = intern(im, cloud)};
}

bool import_parse_price(struct import_at *at, const char *text, double *out)
{
    const char *figure = text + (*text == '$');

    if (number_parse(figure, out) && *out > 0 && *out <= MARKET_PRICE_MAX_USD)
        return true;
    return import_drop(at, MARKET_DROP_PRICE,
                       "\"%.40s\" is not a price above 0 and up to %g USD per hour", text,
                       MARKET_PRICE_MAX_USD);
}

static int add_offer_again(struct import_at *at, const struct market_offer *o, struct err *e)
{
    const struct import_names names = {o->cloud, o->region, o->zone, o->instance_type};
    uint32_t offer = import_offer(at->im, &names, o->feed, e);

    if (offer == IMPORT_NO_OFFER)
        return -1;
    for (size_t i = 0; i < o->n_points; i++) {
        const struct market_point *p = &o->points[i];
        /* What probes did not bring follows from the sweeps. */
        if (o->feed != MARKET_FEED_GCP || !isnan(p->usd_per_hour))
            add_row(at->im, &(struct import_row){offer, 0, p->at_s, p->usd_per_hour});
    }
    for (size_t i = 0; i < o->n_on_demand; i++)
        import_on_demand(at, offer, o->on_demand[i].at_s, o->on_demand[i].usd_per_hour);
    for (size_t i = 0; i < o->n_spells; i++)
        import_spell(at, offer, &o->spells[i]);
    return 0;
}

int market_import_market(struct market_import *im, const struct market *m, struct err *e)
{
    struct import_at at = {.im = im, .report = &im->reports[0]};

    for (size_t i = 0; i < m->n_offers; i++)
        if (add_offer_again(&at, &m->offers[i], e) < 0)
            return -1;
    for (size_t i = 0; i < m->n_sweeps; i++)
        import_sweep(im, m->sweeps[i].at_s, m->strings + m->sweeps[i].cloud);
    return 0;
}

static bool begins(const char *text, size_t len, const char *with)
{
    size_t n = strlen(with);

    return len >= n && memcmp(text, with, n) == 0;
}

/* Whether the first line that is no remark has this word as a column. */
static bool has_column(const char *text, const char *end, const char *column)
{
    size_t len = strlen(column);

    while (text < end && *text == '#') {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        text = newline ? newline + 1 : end;
    }
    for (const char *p = text; p < end && *p && *p != '\n' && *p != '\r';) {
        size_t n = strcspn(p, ",\r\n");
        if (n == len && memcmp(p, column, len) == 0)
            return true;
        p += n + (p[n] == ',');
    }
    return false;
}

enum market_feed market_import_guess(const char *text, size_t len)
{
    const char *end = text + len, *p = text;

    if (begins(p, len, "\xEF\xBB\xBF"))
        p += 3;
    size_t space = strspn(p, " \t\r\n"), rest = (size_t)(end - p) - space;
    if (p[space] == '{')
        return memmem(p, (size_t)(end - p), "\"SpotPriceHistory\"", 18) ? MARKET_FEED_AWS
                                                                        : MARKET_N_FEEDS;
    if (begins(p + space, rest, "Zone: "))
        return MARKET_FEED_GCP;
    if (begins(p + space, rest, "[") && memmem(p, (size_t)(end - p), "nstance ", 8))
        return MARKET_FEED_KEEPALIVE;
    if (has_column(p, end, "az_id") && has_column(p, end, "spot_usd_h"))
        return MARKET_FEED_DAILY;
    if (has_column(p, end, "time") && has_column(p, end, "price_usd_per_hour"))
        return MARKET_FEED_CSV;
    return has_column(p, end, "Date") ? MARKET_FEED_AZURE : MARKET_N_FEEDS;
}

static int (*const readers[MARKET_N_FEEDS])(struct import_at *at, struct err *e) = {
    [MARKET_FEED_AWS] = import_read_aws,     [MARKET_FEED_CSV] = import_read_csv,
    [MARKET_FEED_AZURE] = import_read_azure, [MARKET_FEED_DAILY] = import_read_daily,
    [MARKET_FEED_GCP] = import_read_gcp,     [MARKET_FEED_KEEPALIVE] = import_read_keepalive,
};

static size_t all_dropped(const struct market_file_report *r)
{
    size_t n = 0;

    for (size_t i = 0; i < MARKET_N_DROPS; i++)
        n += r->dropped[i];
    return n;
}

static size_t line_of(const char *text, const char *at)
{
    size_t line = 1;

    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

void market_import_begin(struct market_import *im, const char *name)
{
    add_report(im, name, MARKET_FEED_AWS);
}

int market_import_file(struct market_import *im, const struct market_source *from, struct err *e)
{
    enum market_feed feed =
        from->feed == MARKET_N_FEEDS ? market_import_guess(from->text, from->len) : from->feed;
    struct import_at at = {.im = im, .from = from};

    if (!from->len)
        return err_set(e, ERR_USAGE, "%s:1: the file is empty", from->name);
    /* Readers of lines would take it for the end. */
    const char *nul = memchr(from->text, 0, from->len);
    if (nul)
        return err_set(e, ERR_USAGE, "%s:%zu: a NUL byte; the file is not text", from->name,
                       line_of(from->text, nul));
    if ((from->cloud && (!*from->cloud || !import_name_good(from->cloud))) ||
        (from->region && (!*from->region || !import_name_good(from->region))))
        return err_set(e, ERR_USAGE, "%s: not a name of a cloud or region", from->name);
    if (feed == MARKET_N_FEEDS)
        return err_set(
            e, ERR_USAGE,
            "%s:1: no price history: neither AWS JSON, Azure's days, our CSV, launch probes, a "
            "keep-alive log nor a catalog's daily history",
            from->name);
    at.report = add_report(im, from->name, feed);
    if (readers[feed](&at, e) < 0)
        return -1;
    const struct market_file_report *r = at.report;
    /* An answer of AWS may be an empty list, and logs may tell of nothing but failures; a table
     * that is a header alone is cut off. */
    bool is_table =
        feed == MARKET_FEED_CSV || feed == MARKET_FEED_AZURE || feed == MARKET_FEED_DAILY;
    if (is_table && !r->rows_read)
        return err_set(e, ERR_USAGE, "%s:1: there is not one record in this file", from->name);
    if (r->rows_read && all_dropped(r) == r->rows_read)
        return err_set(e, ERR_USAGE, "%s:%zu: %s; no row of this file can be used", from->name,
                       r->bad_line, r->bad_text);
    return 0;
}

void *market_import_finish(struct market_import *im, size_t *len_out, struct err *e)
{
    size_t probed = import_count_probed(im);

    if (im->n_rows > MARKET_ROWS_MAX || (probed && im->n_sweeps > MARKET_ROWS_MAX / probed)) {
        err_set(e, ERR_USAGE, "more than %zu records", MARKET_ROWS_MAX);
        return NULL;
    }
    void *bytes = import_pack(im, len_out);
    for (size_t i = 1; i < im->n_reports; i++)
        im->reports[i].rows_kept = im->reports[i].rows_read - all_dropped(&im->reports[i]);
    return bytes;
}
