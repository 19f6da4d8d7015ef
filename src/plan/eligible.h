/* eligible: the conditions on offers, for choosing them and for explaining why none is left. */
#ifndef PLAN_ELIGIBLE_H
#define PLAN_ELIGIBLE_H

#include "plan/internal.h"

/* The conditions an offer must meet, in the order in which an empty set is explained. */
enum condition {
    HAS_ACCELERATOR,
    HAS_TYPE,
    HAS_CPUS,
    HAS_MEMORY,
    IN_CLOUD,
    IN_REGION,
    CONFIGURED, /* in a region that the configuration file allows */
    IN_ZONE,
    FOR_SALE,
    WITHIN_HOURLY,
    CONDITIONS
};

/* o NULL: a question about the kind alone, true where the condition is about offers. */
bool eligible_meets(const struct plan_world *w,
                    const struct spec_resources *r,
                    const struct catalog_kind *k,
                    const struct catalog_offer *o,
                    enum condition condition);
bool eligible_is_asked(const struct plan_world *w,
                       const struct spec_resources *r,
                       enum condition condition);
double eligible_hourly_limit(const struct plan_world *w, const struct spec_resources *r);

/* Accelerators as pipeline files spell them against those that the catalog lists.
 * Comparing names is slow, and a catalog has thousands of kinds but some eighty names: each name
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

#endif
