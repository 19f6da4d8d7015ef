#include "catalog/build_moves.h"

#include "base/mem.h"
#include "catalog/snapshot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

int build_moves(const struct catalog_rows *rows,
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

void build_moves_clear(struct build_moves *m)
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

void build_moves_matrix(const struct build_moves *m,
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
