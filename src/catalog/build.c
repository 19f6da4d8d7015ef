/* Makes a snapshot of rows: strings, kinds, offers, moves and storage. Importing, opening a
 * directory and tools/mkcatalog.c call it. */
#include "base/mem.h"
#include "catalog/catalog.h"
#include "catalog/intern.h"
#include "catalog/internal.h"
#include "catalog/rows.h"
#include "catalog/snapshot.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- transfer rows: rules, their tiers, and the moves between locations ---- */

struct build_moves {
    struct catalog_rule *rules;
    struct catalog_move *moves;
    size_t n_moves; /* and of rules */
    struct catalog_tier *tiers;
    size_t n_tiers;
};

struct sorted_transfer {
    struct catalog_rule rule;
    const struct catalog_transfer_row *row;
};

static int compare_rules(const struct catalog_rule *a, const struct catalog_rule *b)
{
    const uint32_t x[] = {a->src_cloud, a->src_region, a->dst_cloud, a->dst_region};
    const uint32_t y[] = {b->src_cloud, b->src_region, b->dst_cloud, b->dst_region};

    for (size_t i = 0; i < 4; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

static int compare_transfers(const void *a, const void *b)
{
    const struct sorted_transfer *x = a, *y = b;
    int c = compare_rules(&x->rule, &y->rule);

    if (c)
        return c;
    if (x->row->tier_from_gb != y->row->tier_from_gb)
        return x->row->tier_from_gb < y->row->tier_from_gb ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int tier_twice(const struct catalog_rows *rows,
                      const struct catalog_transfer_row *t,
                      struct err *e)
{
    return err_set(e, ERR_USAGE, "%s:%u: a second price from %s/%s to %s/%s at tier_from_gb %g",
                   catalog_rows_text(rows, t->file), t->line, catalog_rows_text(rows, t->src_cloud),
                   catalog_rows_text(rows, t->src_region), catalog_rows_text(rows, t->dst_cloud),
                   catalog_rows_text(rows, t->dst_region), t->tier_from_gb);
}

/* The tiers of one rule, sorted; the lowest reaches down to 0 and gives speed and rtt. */
static void add_move(struct build_moves *out, const struct sorted_transfer *s, size_t n)
{
    const struct catalog_transfer_row *lowest = s[0].row;

    out->rules[out->n_moves] = s[0].rule;
    out->moves[out->n_moves++] = (struct catalog_move){
        .gbit_per_s = lowest->gbit_per_s,
        .rtt_ms = isnan(lowest->rtt_ms) ? 0 : lowest->rtt_ms,
        .first_tier = (uint32_t)out->n_tiers,
        .n_tiers = (uint32_t)n,
    };
    for (size_t i = 0; i < n; i++)
        out->tiers[out->n_tiers++] =
            (struct catalog_tier){i ? s[i].row->tier_from_gb : 0, s[i].row->usd_per_gb};
}

/* offsets: where the string table has the interned texts. A tier that stands twice is ERR_USAGE. */
static int build_moves(const struct catalog_rows *rows,
                       const uint32_t *offsets,
                       struct build_moves *out,
                       struct err *e)
{
    size_t n = rows->n_transfers;
    AUTO_MEM struct sorted_transfer *sorted = mem_zero(n, sizeof *sorted);

    for (size_t i = 0; i < n; i++) {
        const struct catalog_transfer_row *t = &rows->transfers[i];
        sorted[i] = (struct sorted_transfer){{offsets[t->src_cloud], offsets[t->src_region],
                                              offsets[t->dst_cloud], offsets[t->dst_region]},
                                             t};
    }
    qsort(sorted, n, sizeof *sorted, compare_transfers);
    out->rules = mem_zero(n, sizeof *out->rules);
    out->moves = mem_zero(n, sizeof *out->moves);
    out->tiers = mem_zero(n, sizeof *out->tiers);
    for (size_t i = 0, tiers; i < n; i += tiers) {
        for (tiers = 1; i + tiers < n; tiers++) {
            if (compare_rules(&sorted[i].rule, &sorted[i + tiers].rule) != 0)
                break;
            const struct sorted_transfer *s = &sorted[i + tiers];
            if (s[-1].row->tier_from_gb == s[0].row->tier_from_gb)
                return tier_twice(rows, s->row, e);
        }
        add_move(out, &sorted[i], tiers);
    }
    return 0;
}

static void build_moves_clear(struct build_moves *m)
{
    free(m->rules);
    free(m->moves);
    free(m->tiers);
}

struct candidate {
    const struct match_rule *rule;
    uint64_t src_match;
    uint32_t move;
};

static uint32_t best_move(const struct candidate *candidates,
                          size_t n,
                          const struct match_end *src,
                          const struct match_end *dst)
{
    uint64_t best = 0;
    uint32_t move = SNAPSHOT_NO_MOVE;

    for (size_t i = 0; i < n; i++) {
        uint64_t rank = match_rank(candidates[i].rule, candidates[i].src_match, src, dst);
        if (rank > best) {
            best = rank;
            move = candidates[i].move;
        }
    }
    return move;
}

/* matrix[src * n_places + dst] = the move of the most specific rule, or SNAPSHOT_NO_MOVE. */
static void build_moves_matrix(const struct build_moves *m,
                               const char *strings,
                               const struct catalog_place *places,
                               size_t n_places,
                               uint32_t *matrix)
{
    AUTO_MEM struct match_rule *rules = mem_zero(m->n_moves, sizeof *rules);
    AUTO_MEM struct candidate *candidates = mem_zero(m->n_moves, sizeof *candidates);
    AUTO_MEM struct match_end *ends = mem_zero(n_places, sizeof *ends);

    for (size_t i = 0; i < m->n_moves; i++)
        match_prepare(strings, &m->rules[i], &rules[i]);
    for (size_t i = 0; i < n_places; i++)
        ends[i] = (struct match_end){places[i].cloud, places[i].region, strings + places[i].region,
                                     strcmp(strings + places[i].cloud, "local") == 0};
    for (size_t src = 0; src < n_places; src++) {
        size_t n = 0;
        for (size_t i = 0; i < m->n_moves; i++) {
            uint64_t match = match_source(&rules[i], &ends[src]);
            if (match)
                candidates[n++] = (struct candidate){&rules[i], match, (uint32_t)i};
        }
        for (size_t dst = 0; dst < n_places; dst++)
            *matrix++ = best_move(candidates, n, &ends[src], &ends[dst]);
    }
}

/* ---- the snapshot ---- */

/* An offer's position in the order of a snapshot; texts are string offsets. */
struct sorted_offer {
    uint64_t type; /* cloud, instance type */
    uint64_t zone; /* region, zone */
    const struct catalog_offer_row *row;
    uint32_t accelerator;
};

struct build {
    const struct catalog_rows *rows;
    const char *name;
    uint32_t *offsets; /* of interned texts in the string table */
    char *strings;
    size_t strings_size;
    struct sorted_offer *offers;
    size_t n_offers;
    uint64_t *places; /* cloud, region */
    size_t n_places;
    struct catalog_kind *kinds;
    size_t n_kinds, cap_kinds;
    struct build_moves moves;
};

static void build_clear(struct build *b)
{
    free(b->offsets);
    free(b->strings);
    free(b->offers);
    free(b->places);
    free(b->kinds);
    build_moves_clear(&b->moves);
}

static void mark_used(const struct catalog_rows *rows, bool *used)
{
    used[0] = used[rows->origin] = used[rows->date] = true;
    for (size_t i = 0; i < rows->n_offers; i++) {
        const struct catalog_offer_row *o = &rows->offers[i];
        used[o->cloud] = used[o->region] = used[o->zone] = used[o->instance_type] =
            used[o->accelerator] = true;
    }
    for (size_t i = 0; i < rows->n_transfers; i++) {
        const struct catalog_transfer_row *t = &rows->transfers[i];
        used[t->src_cloud] = used[t->src_region] = used[t->dst_cloud] = used[t->dst_region] = true;
    }
    for (size_t i = 0; i < rows->n_storage; i++) {
        const struct catalog_storage_row *s = &rows->storage[i];
        used[s->cloud] = used[s->region] = used[s->class] = true;
    }
    for (size_t i = 0; i < rows->n_sources; i++) {
        const struct catalog_source_row *s = &rows->sources[i];
        used[s->cloud] = used[s->source] = used[s->date] = true;
    }
}

struct named {
    const char *text;
    uint32_t id;
};

static int compare_named(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->text, ((const struct named *)b)->text);
}

static int build_strings(struct build *b, struct err *e)
{
    size_t n = catalog_intern_count(b->rows->texts), n_used = 0, size = 0;
    AUTO_MEM bool *used = mem_zero(n, sizeof *used);
    AUTO_MEM struct named *sorted = mem_zero(n, sizeof *sorted);

    mark_used(b->rows, used);
    for (size_t id = 0; id < n; id++) {
        if (!used[id])
            continue;
        sorted[n_used] = (struct named){catalog_rows_text(b->rows, (uint32_t)id), (uint32_t)id};
        size += strlen(sorted[n_used++].text) + 1;
    }
    if (size > UINT32_MAX)
        return err_set(e, ERR_USAGE, "%s: names longer than 4 GiB together", b->name);
    qsort(sorted, n_used, sizeof *sorted, compare_named);
    b->offsets = mem_zero(n, sizeof *b->offsets);
    b->strings = mem_zero(size, 1);
    for (size_t i = 0; i < n_used; i++) {
        size_t len = strlen(sorted[i].text) + 1;
        b->offsets[sorted[i].id] = (uint32_t)b->strings_size;
        memcpy(b->strings + b->strings_size, sorted[i].text, len);
        b->strings_size += len;
    }
    return 0;
}

static uint64_t pair(const struct build *b, uint32_t high, uint32_t low)
{
    return (uint64_t)b->offsets[high] << 32 | b->offsets[low];
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int compare_sorted(const void *a, const void *b)
{
    const struct sorted_offer *x = a, *y = b;

    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return (x->zone > y->zone) - (x->zone < y->zone);
}

/* Unknown first, and equal to itself. */
static int compare_number(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(b) - isnan(a);
    return (a > b) - (a < b);
}

static int compare_machines(const struct sorted_offer *x, const struct sorted_offer *y)
{
    const struct catalog_offer_row *a = x->row, *b = y->row;
    int c = compare_number(a->vcpus, b->vcpus);

    if (!c)
        c = compare_number(a->memory_gib, b->memory_gib);
    if (!c)
        c = (x->accelerator > y->accelerator) - (x->accelerator < y->accelerator);
    if (!c)
        c = compare_number(a->accelerator_count, b->accelerator_count);
    return c ? c : compare_number(a->network_gbps, b->network_gbps);
}

static int compare_by_machine(const void *a, const void *b)
{
    int c = compare_machines(a, b);

    return c ? c : compare_sorted(a, b);
}

static void build_places(struct build *b)
{
    b->places = mem_zero(b->n_offers, sizeof *b->places);
    for (size_t i = 0; i < b->n_offers; i++) {
        const struct catalog_offer_row *o = b->offers[i].row;
        uint64_t place = pair(b, o->cloud, o->region);
        if (!b->n_places || b->places[b->n_places - 1] != place)
            b->places[b->n_places++] = place;
    }
    qsort(b->places, b->n_places, sizeof *b->places, compare_u64);
    size_t n = 0;
    for (size_t i = 0; i < b->n_places; i++) {
        if (!n || b->places[n - 1] != b->places[i])
            b->places[n++] = b->places[i];
    }
    b->n_places = n;
}

static void add_kind(struct build *b, size_t first, size_t n)
{
    const struct catalog_offer_row *o = b->offers[first].row;

    b->kinds = mem_room(b->kinds, b->n_kinds, &b->cap_kinds, sizeof *b->kinds);
    b->kinds[b->n_kinds++] = (struct catalog_kind){
        .cloud = b->offsets[o->cloud],
        .instance_type = b->offsets[o->instance_type],
        .accelerator = b->offsets[o->accelerator],
        .first_offer = (uint32_t)first,
        .n_offers = (uint32_t)n,
        .vcpus = o->vcpus,
        .memory_gib = o->memory_gib,
        .accelerator_count = o->accelerator_count,
        .network_gbps = o->network_gbps,
    };
}

/* One instance type is one kind of machine, unless its rows say different things about it. */
static void build_kinds_of_type(struct build *b, size_t first, size_t n)
{
    struct sorted_offer *o = b->offers + first;
    size_t same = 1;

    while (same < n && compare_machines(&o[0], &o[same]) == 0)
        same++;
    if (same == n) {
        add_kind(b, first, n);
        return;
    }
    qsort(o, n, sizeof *o, compare_by_machine);
    for (size_t i = 0; i < n; i += same) {
        for (same = 1; i + same < n && compare_machines(&o[i], &o[i + same]) == 0; same++)
            ;
        add_kind(b, first + i, same);
    }
}

static int build_offers(struct build *b, struct err *e)
{
    const struct catalog_rows *rows = b->rows;

    b->offers = mem_zero(rows->n_offers, sizeof *b->offers);
    for (size_t i = 0; i < rows->n_offers; i++) {
        const struct catalog_offer_row *o = &rows->offers[i];
        if (!catalog_priced(o->price_usd) && !catalog_priced(o->spot_usd))
            continue;
        b->offers[b->n_offers++] =
            (struct sorted_offer){pair(b, o->cloud, o->instance_type), pair(b, o->region, o->zone),
                                  o, b->offsets[o->accelerator]};
    }
    if (!b->n_offers)
        return err_set(e, ERR_USAGE, "%s: no offer has a price", b->name);
    qsort(b->offers, b->n_offers, sizeof *b->offers, compare_sorted);
    build_places(b);
    if (b->n_places > SNAPSHOT_PLACES_MAX)
        return err_set(e, ERR_USAGE, "%s: offers in %zu regions, more than %d", b->name,
                       b->n_places, SNAPSHOT_PLACES_MAX);
    for (size_t i = 0, n; i < b->n_offers; i += n) {
        for (n = 1; i + n < b->n_offers && b->offers[i].type == b->offers[i + n].type; n++)
            ;
        build_kinds_of_type(b, i, n);
    }
    return 0;
}

static void fill_places(const struct build *b, struct catalog_place *out)
{
    for (size_t i = 0; i < b->n_places; i++)
        out[i] = (struct catalog_place){(uint32_t)(b->places[i] >> 32), (uint32_t)b->places[i]};
}

static void fill_offers(const struct build *b, struct catalog_offer *out)
{
    size_t place = 0;

    for (size_t i = 0; i < b->n_offers; i++) {
        const struct catalog_offer_row *o = b->offers[i].row;
        uint64_t key = pair(b, o->cloud, o->region);
        if (b->places[place] != key) {
            const uint64_t *at =
                bsearch(&key, b->places, b->n_places, sizeof *b->places, compare_u64);
            place = (size_t)(at - b->places);
        }
        out[i] = (struct catalog_offer){
            .place = (uint32_t)place,
            .zone = b->offsets[o->zone],
            .price_usd = o->price_usd,
            .spot_usd = o->spot_usd,
            .preemptions = o->preemptions,
        };
    }
}

static int compare_storage(const void *a, const void *b)
{
    const struct snapshot_storage *x = a, *y = b;

    if (x->cloud != y->cloud)
        return x->cloud < y->cloud ? -1 : 1;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    return compare_number(x->usd_per_gb_month, y->usd_per_gb_month);
}

static void fill_storage(const struct build *b, struct snapshot_storage *out)
{
    for (size_t i = 0; i < b->rows->n_storage; i++) {
        const struct catalog_storage_row *s = &b->rows->storage[i];
        out[i] = (struct snapshot_storage){
            .cloud = b->offsets[s->cloud],
            .region = b->offsets[s->region],
            .class = b->offsets[s->class],
            .usd_per_gb_month = s->usd_per_gb_month,
            .usd_per_1000_read = s->usd_per_1000_read,
            .usd_per_1000_write = s->usd_per_1000_write,
            .usd_per_1000_list = s->usd_per_1000_list,
        };
    }
    qsort(out, b->rows->n_storage, sizeof *out, compare_storage);
}

static double storage_of(const struct build *b,
                         const struct catalog_place *place,
                         const struct snapshot_storage *rows)
{
    const struct snapshot_storage *s =
        storage_best(b->strings, rows, b->rows->n_storage, b->strings + place->cloud,
                     b->strings + place->region);

    return s ? s->usd_per_gb_month : (double)NAN;
}

static int compare_sources(const void *a, const void *b)
{
    const struct snapshot_source *x = a, *y = b;

    return (x->cloud > y->cloud) - (x->cloud < y->cloud);
}

static void fill_sources(const struct build *b, struct snapshot_source *out)
{
    for (size_t i = 0; i < b->rows->n_sources; i++) {
        const struct catalog_source_row *s = &b->rows->sources[i];
        out[i] = (struct snapshot_source){b->offsets[s->cloud], b->offsets[s->source],
                                          b->offsets[s->date]};
    }
    qsort(out, b->rows->n_sources, sizeof *out, compare_sources);
}

static void fill(const struct build *b, const struct snapshot_header *h, char *bytes)
{
#define AT(id) ((void *)(bytes + h->sections[id].offset))
    struct catalog_place *places = AT(SNAPSHOT_PLACES);
    struct snapshot_storage *storage = AT(SNAPSHOT_STORAGE);
    double *place_storage = AT(SNAPSHOT_PLACE_STORAGE);

    memcpy(bytes, h, sizeof *h);
    memcpy(AT(SNAPSHOT_STRINGS), b->strings, b->strings_size);
    fill_places(b, places);
    memcpy(AT(SNAPSHOT_KINDS), b->kinds, b->n_kinds * sizeof *b->kinds);
    fill_offers(b, AT(SNAPSHOT_OFFERS));
    if (b->moves.n_moves) {
        memcpy(AT(SNAPSHOT_MOVES), b->moves.moves, b->moves.n_moves * sizeof *b->moves.moves);
        memcpy(AT(SNAPSHOT_TIERS), b->moves.tiers, b->moves.n_tiers * sizeof *b->moves.tiers);
        memcpy(AT(SNAPSHOT_RULES), b->moves.rules, b->moves.n_moves * sizeof *b->moves.rules);
    }
    build_moves_matrix(&b->moves, b->strings, places, b->n_places, AT(SNAPSHOT_MATRIX));
    fill_storage(b, storage);
    for (size_t i = 0; i < b->n_places; i++)
        place_storage[i] = storage_of(b, &places[i], storage);
    fill_sources(b, AT(SNAPSHOT_SOURCES));
    *(struct snapshot_meta *)AT(SNAPSHOT_META) =
        (struct snapshot_meta){b->offsets[b->rows->origin], b->offsets[b->rows->date]};
#undef AT
}

int catalog_build(const struct catalog_rows *rows,
                  const char *name,
                  void **bytes_out,
                  size_t *len_out,
                  struct err *e)
{
    AUTO_CLEAR(build) struct build b = {.rows = rows, .name = name};
    struct snapshot_header h;

    if (catalog_rows_check(rows, e) < 0)
        return err_wrap(e, "%s", name);
    if (build_strings(&b, e) < 0 || build_offers(&b, e) < 0 ||
        build_moves(rows, b.offsets, &b.moves, e) < 0)
        return -1;
    const size_t counts[SNAPSHOT_N_SECTIONS] = {
        [SNAPSHOT_STRINGS] = b.strings_size,   [SNAPSHOT_PLACES] = b.n_places,
        [SNAPSHOT_KINDS] = b.n_kinds,          [SNAPSHOT_OFFERS] = b.n_offers,
        [SNAPSHOT_MOVES] = b.moves.n_moves,    [SNAPSHOT_TIERS] = b.moves.n_tiers,
        [SNAPSHOT_RULES] = b.moves.n_moves,    [SNAPSHOT_MATRIX] = b.n_places * b.n_places,
        [SNAPSHOT_PLACE_STORAGE] = b.n_places, [SNAPSHOT_STORAGE] = rows->n_storage,
        [SNAPSHOT_SOURCES] = rows->n_sources,  [SNAPSHOT_META] = 1,
    };
    if (snapshot_lay_out(counts, &h, e) < 0)
        return err_wrap(e, "%s", name);
    char *bytes = mem_zero(h.size, 1);
    fill(&b, &h, bytes);
    snapshot_seal(bytes);
    *bytes_out = bytes;
    *len_out = h.size;
    return 0;
}
