/* build_moves: transfer rows to rules, their tiers, and the table of moves between locations. */
#ifndef CATALOG_BUILD_MOVES_H
#define CATALOG_BUILD_MOVES_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "catalog/match.h"
#include "catalog/rows.h"

#include <stddef.h>
#include <stdint.h>

struct build_moves {
    struct catalog_rule *rules;
    struct catalog_move *moves;
    size_t n_moves; /* and of rules */
    struct catalog_tier *tiers;
    size_t n_tiers;
};

/* offsets: where the string table has the interned texts. A tier that stands twice is ERR_USAGE. */
int build_moves(const struct catalog_rows *rows,
                const uint32_t *offsets,
                struct build_moves *out,
                struct err *e);
void build_moves_clear(struct build_moves *m);

/* matrix[src * n_places + dst] = the move of the most specific rule, or SNAPSHOT_NO_MOVE. */
void build_moves_matrix(const struct build_moves *m,
                        const char *strings,
                        const struct catalog_place *places,
                        size_t n_places,
                        uint32_t *matrix);

#endif
