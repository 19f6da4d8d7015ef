/* The rows of all files packed into one market: sorted, each record once, with running sums.
 * import.c calls it. */
#include "base/arena.h"
#include "base/mem.h"
#include "market/internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAP_S (2 * DAY_S)
#define SPIKE_TIMES 3

struct pack {
    struct market_import *im;
    struct arena *arena; /* of all arrays but text_at */
    uint32_t *order;     /* of offers, by their texts */
    struct import_row *rows, *on_demand;
    struct import_spell *spells;
    size_t *first_row, *first_on_demand, *first_spell; /* per offer, one more at the end */
    struct catalog_intern *texts;                      /* in the order the file has them */
    uint32_t *text_at;                                 /* offsets */
    size_t n_texts, cap_text_at, text_bytes;
    struct market_stored_offer *offers;
    struct market_point *points;
    struct market_on_demand *prices;
    struct market_spell *lives;
    size_t n_offers, n_points, n_prices, n_lives;
};

static const char *text_of(const struct market_import *im, uint32_t id)
{
    return catalog_intern_text(im->texts, id);
}

static int compare_offers(const void *a, const void *b, void *context)
{
    const struct market_import *im = context;
    const struct import_offer *x = &im->offers[*(const uint32_t *)a];
    const struct import_offer *y = &im->offers[*(const uint32_t *)b];
    int by = strcmp(text_of(im, x->cloud), text_of(im, y->cloud));

    by = by ? by : strcmp(text_of(im, x->region), text_of(im, y->region));
    by = by ? by : strcmp(text_of(im, x->instance_type), text_of(im, y->instance_type));
    return by ? by : strcmp(text_of(im, x->zone), text_of(im, y->zone));
}

/* Earlier imports first, so that they count; of one file's two prices for one time the lower. */
static int compare_rows(const void *a, const void *b)
{
    const struct import_row *x = a, *y = b;

    if (x->at_s < y->at_s || x->at_s > y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (isnan(x->usd_per_hour) || isnan(y->usd_per_hour))
        return isnan(x->usd_per_hour) - isnan(y->usd_per_hour);
    return (x->usd_per_hour > y->usd_per_hour) - (x->usd_per_hour < y->usd_per_hour);
}

static int compare_spells(const void *a, const void *b)
{
    const struct import_spell *x = a, *y = b;

    if (x->spell.begin_s < y->spell.begin_s || x->spell.begin_s > y->spell.begin_s)
        return x->spell.begin_s < y->spell.begin_s ? -1 : 1;
    return x->file < y->file ? -1 : x->file > y->file;
}

/* Where each offer's items begin when they are put together: `count` of items with an offer each at
 * the beginning of `size` bytes. */
static size_t *starts_of(const struct pack *p, const void *items, size_t count, size_t size)
{
    size_t n_offers = p->im->n_offers;
    size_t *first = arena_zero(p->arena, n_offers + 2, sizeof *first);

    for (size_t i = 0; i < count; i++) {
        uint32_t offer;
        memcpy(&offer, (const char *)items + i * size, sizeof offer);
        first[offer + 2]++;
    }
    for (size_t i = 2; i < n_offers + 2; i++)
        first[i] += first[i - 1];
    return first;
}

/* The items of each offer together, in the order they came: first[o] .. first[o + 1] afterwards. */
static void *gather(
    const struct pack *p, const void *items, size_t count, size_t size, size_t **first)
{
    char *sorted = arena_zero(p->arena, count + 1, size);
    size_t *next = starts_of(p, items, count, size);

    for (size_t i = 0; i < count; i++) {
        const char *item = (const char *)items + i * size;
        uint32_t offer;
        memcpy(&offer, item, sizeof offer);
        memcpy(sorted + next[offer + 1]++ * size, item, size);
    }
    *first = next;
    return sorted;
}

static bool is_sorted(const struct import_row *rows, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (compare_rows(&rows[i - 1], &rows[i]) > 0)
            return false;
    return true;
}

static void sort_rows(struct import_row *rows, size_t n)
{
    if (!is_sorted(rows, n))
        qsort(rows, n, sizeof *rows, compare_rows);
}

/* Each time once; what goes is counted where it came from. Returns how many stay. */
static size_t drop_repeats(struct market_import *im, struct import_row *rows, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        const struct import_row *last = kept ? &rows[kept - 1] : NULL;
        if (!last || last->at_s < rows[i].at_s) {
            rows[kept++] = rows[i];
            continue;
        }
        bool same = market_same_price(last->usd_per_hour, rows[i].usd_per_hour);
        im->reports[rows[i].file].dropped[same ? MARKET_DROP_DUPLICATE : MARKET_DROP_CONFLICT]++;
    }
    return kept;
}

static void note_oddities(struct market_import *im,
                          const struct import_offer *o,
                          const struct import_row *rows,
                          size_t n)
{
    bool every_day = o->feed == MARKET_FEED_AWS || o->feed == MARKET_FEED_AZURE;

    for (size_t i = 1; i < n; i++) {
        size_t *notes = im->reports[rows[i].file].notes;
        double usd = rows[i].usd_per_hour;
        notes[MARKET_NOTE_GAP] += every_day && rows[i].at_s - rows[i - 1].at_s > GAP_S;
        notes[MARKET_NOTE_SPIKE] += i + 1 < n && usd >= SPIKE_TIMES * rows[i - 1].usd_per_hour &&
                                    usd >= SPIKE_TIMES * rows[i + 1].usd_per_hour;
    }
}

static void put_point(struct pack *p, size_t first, double at_s, double usd)
{
    struct market_point *point = &p->points[p->n_points++];

    *point = (struct market_point){.at_s = at_s, .usd_per_hour = usd};
    if (point == &p->points[first])
        return;
    const struct market_point *before = point - 1;
    double lasted_s = isnan(before->usd_per_hour) ? 0 : at_s - before->at_s;
    point->sold_s = before->sold_s + lasted_s;
    point->paid_usd = before->paid_usd;
    if (lasted_s > 0)
        point->paid_usd += lasted_s / 3600 * before->usd_per_hour;
}

static int compare_sweeps(const void *a, const void *b)
{
    const struct market_sweep *x = a, *y = b;

    if (x->cloud != y->cloud)
        return x->cloud < y->cloud ? -1 : 1;
    return (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

static void sort_sweeps(struct market_import *im)
{
    size_t kept = 0;

    if (im->n_sweeps)
        qsort(im->sweeps, im->n_sweeps, sizeof *im->sweeps, compare_sweeps);
    for (size_t i = 0; i < im->n_sweeps; i++)
        if (!kept || compare_sweeps(&im->sweeps[kept - 1], &im->sweeps[i]) != 0)
            im->sweeps[kept++] = im->sweeps[i];
    im->n_sweeps = kept;
}

/* An offer that a sweep did not bring could not be started then. */
static void put_points(struct pack *p,
                       const struct import_offer *o,
                       const struct import_row *rows,
                       size_t n)
{
    const struct market_import *im = p->im;
    size_t first = p->n_points, s = o->feed == MARKET_FEED_GCP ? 0 : im->n_sweeps;

    for (size_t i = 0; i <= n; i++) {
        double until_s = i < n ? rows[i].at_s : (double)INFINITY;
        for (;
             s < im->n_sweeps && (im->sweeps[s].cloud != o->cloud || im->sweeps[s].at_s <= until_s);
             s++) {
            if (im->sweeps[s].cloud == o->cloud && im->sweeps[s].at_s < until_s)
                put_point(p, first, im->sweeps[s].at_s, (double)NAN);
        }
        if (i < n)
            put_point(p, first, rows[i].at_s, rows[i].usd_per_hour);
    }
}

static void put_prices(struct pack *p, struct import_row *rows, size_t n)
{
    size_t first = p->n_prices;

    sort_rows(rows, n);
    for (size_t i = 0; i < n; i++) {
        const struct market_on_demand *last =
            p->n_prices > first ? &p->prices[p->n_prices - 1] : NULL;
        if (last && (last->at_s >= rows[i].at_s ||
                     market_same_price(last->usd_per_hour, rows[i].usd_per_hour)))
            continue;
        p->prices[p->n_prices++] = (struct market_on_demand){rows[i].at_s, rows[i].usd_per_hour};
    }
}

/* A log that was imported again when it was longer tells more of the life it ended in. */
static void put_lives(struct pack *p, struct import_spell *spells, size_t n)
{
    size_t first = p->n_lives;

    if (n)
        qsort(spells, n, sizeof *spells, compare_spells);
    for (size_t i = 0; i < n; i++) {
        struct market_spell *last = p->n_lives > first ? &p->lives[p->n_lives - 1] : NULL;
        if (!last || last->begin_s < spells[i].spell.begin_s)
            p->lives[p->n_lives++] = spells[i].spell;
        else if (last->end_s < spells[i].spell.end_s)
            *last = spells[i].spell;
    }
}

static uint32_t put_text(struct pack *p, const char *text)
{
    uint32_t id = catalog_intern(p->texts, text, strlen(text));

    /* Ids count in the order of first use. */
    if (id == p->n_texts) {
        p->text_at = mem_room(p->text_at, p->n_texts, &p->cap_text_at, sizeof *p->text_at);
        p->text_at[p->n_texts++] = (uint32_t)p->text_bytes;
        p->text_bytes += strlen(text) + 1;
    }
    assert(p->text_at && id < p->n_texts);
    return p->text_at[id];
}

static void put_offer(struct pack *p, uint32_t id)
{
    struct market_import *im = p->im;
    const struct import_offer *o = &im->offers[id];
    struct import_row *rows = p->rows + p->first_row[id];
    size_t n = p->first_row[id + 1] - p->first_row[id];
    size_t points = p->n_points, prices = p->n_prices, lives = p->n_lives;

    sort_rows(rows, n);
    n = drop_repeats(im, rows, n);
    note_oddities(im, o, rows, n);
    put_points(p, o, rows, n);
    put_prices(p, p->on_demand + p->first_on_demand[id],
               p->first_on_demand[id + 1] - p->first_on_demand[id]);
    put_lives(p, p->spells + p->first_spell[id], p->first_spell[id + 1] - p->first_spell[id]);
    if (p->n_points == points && p->n_lives == lives)
        return;
    struct import_gpu gpu =
        import_gpu(im->catalog, text_of(im, o->cloud), text_of(im, o->instance_type));
    if (!*gpu.name && n)
        im->reports[rows[n - 1].file].notes[MARKET_NOTE_GPU] += n;
    p->offers[p->n_offers++] = (struct market_stored_offer){
        .cloud = put_text(p, text_of(im, o->cloud)),
        .region = put_text(p, text_of(im, o->region)),
        .zone = put_text(p, text_of(im, o->zone)),
        .instance_type = put_text(p, text_of(im, o->instance_type)),
        .gpu = put_text(p, gpu.name),
        .feed = o->feed,
        .n_points = (uint32_t)(p->n_points - points),
        .n_on_demand = (uint32_t)(p->n_prices - prices),
        .n_spells = (uint32_t)(p->n_lives - lives),
        .gpus = gpu.count,
        .begin_s = p->n_points > points ? p->points[points].at_s : 0,
        .end_s = p->n_points > points ? p->points[p->n_points - 1].at_s : 0,
    };
}

/* Offers of one feed and region reach as far as the last record of any: a price that does not
 * change need not be told again. Sorted by region, so groups are short runs. */
static void reach(struct pack *p)
{
    for (size_t begin = 0, end; begin < p->n_offers; begin = end) {
        double last_s[MARKET_N_FEEDS] = {0};
        struct market_stored_offer *o = &p->offers[begin];
        for (end = begin; end < p->n_offers && p->offers[end].cloud == o->cloud &&
                          p->offers[end].region == o->region;
             end++) {
            const struct market_stored_offer *x = &p->offers[end];
            last_s[x->feed] = fmax(last_s[x->feed], x->end_s);
        }
        for (size_t i = begin; i < end; i++) {
            struct market_stored_offer *x = &p->offers[i];
            bool days = x->feed == MARKET_FEED_AZURE || x->feed == MARKET_FEED_DAILY;
            if (x->n_points)
                x->end_s = last_s[x->feed] + (days ? DAY_S : 0);
        }
    }
}

static char *texts_of(const struct pack *p)
{
    char *texts = mem_zero(p->text_bytes + 1, 1);

    for (uint32_t i = 0; i < catalog_intern_count(p->texts); i++) {
        const char *text = catalog_intern_text(p->texts, i);
        memcpy(texts + p->text_at[i], text, strlen(text) + 1);
    }
    return texts;
}

static void *pack_bytes(struct pack *p, size_t *len_out)
{
    struct market_import *im = p->im;

    for (size_t i = 0; i < im->n_sweeps; i++)
        im->sweeps[i].cloud = put_text(p, text_of(im, im->sweeps[i].cloud));
    AUTO_MEM char *texts = texts_of(p);
    const struct market_pack packed = {
        .parts = {[MARKET_STRINGS] = {texts, p->text_bytes},
                  [MARKET_OFFERS] = {p->offers, p->n_offers},
                  [MARKET_POINTS] = {p->points, p->n_points},
                  [MARKET_ON_DEMAND] = {p->prices, p->n_prices},
                  [MARKET_SPELLS] = {p->lives, p->n_lives},
                  [MARKET_SWEEPS] = {im->sweeps, im->n_sweeps}},
    };
    return market_store_pack(&packed, len_out);
}

static void pack_clear(struct pack *p)
{
    free(p->text_at);
    arena_free(p->arena);
    catalog_intern_free(p->texts);
}

size_t import_count_probed(const struct market_import *im)
{
    size_t n = 0;

    for (size_t i = 0; i < im->n_offers; i++)
        n += im->offers[i].feed == MARKET_FEED_GCP;
    return n;
}

void *import_pack(struct market_import *im, size_t *len_out)
{
    AUTO_CLEAR(pack) struct pack p = {.im = im, .arena = arena_new(SIZE_MAX)};

    sort_sweeps(im);
    p.texts = catalog_intern_new(2 * MARKET_TEXT_MAX_BYTES); /* accelerators, too */
    put_text(&p, "");
    p.order = arena_zero(p.arena, im->n_offers + 1, sizeof *p.order);
    for (size_t i = 0; i < im->n_offers; i++)
        p.order[i] = (uint32_t)i;
    if (im->n_offers)
        qsort_r(p.order, im->n_offers, sizeof *p.order, compare_offers, im);
    p.rows = gather(&p, im->rows, im->n_rows, sizeof *im->rows, &p.first_row);
    p.on_demand =
        gather(&p, im->on_demand, im->n_on_demand, sizeof *im->on_demand, &p.first_on_demand);
    p.spells = gather(&p, im->spells, im->n_spells, sizeof *im->spells, &p.first_spell);
    p.offers = arena_zero(p.arena, im->n_offers + 1, sizeof *p.offers);
    p.points = arena_zero(p.arena, im->n_rows + import_count_probed(im) * im->n_sweeps + 1,
                          sizeof *p.points);
    p.prices = arena_zero(p.arena, im->n_on_demand + 1, sizeof *p.prices);
    p.lives = arena_zero(p.arena, im->n_spells + 1, sizeof *p.lives);
    for (size_t i = 0; i < im->n_offers; i++)
        put_offer(&p, p.order[i]);
    reach(&p);
    return pack_bytes(&p, len_out);
}
