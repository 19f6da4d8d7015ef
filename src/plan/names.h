/* names: accelerators as pipeline files spell them against those that the catalog lists. */
#ifndef PLAN_NAMES_H
#define PLAN_NAMES_H

#include "catalog/catalog.h"

/* Comparing names is slow, and a catalog has thousands of kinds but some eighty names: each name
 * asked for is compared once with each name listed, for all stages. */
struct name_index {
    uint32_t *listed; /* text offsets, each once; "" may be among them */
    size_t n_listed, cap_listed;
    uint32_t *of_kind; /* per kind: index of its name */
    struct asked_name {
        char *name;
        bool *same; /* per listed name */
    } * asked;
    size_t n_asked, cap_asked;
};

struct name_index *name_index_new(const struct catalog *c);
void name_index_free(struct name_index *x);

/* Per listed name: is it what was asked for? Borrowed from the index. */
const bool *names_same_as(struct name_index *x, const struct catalog *c, const char *asked);

#endif
