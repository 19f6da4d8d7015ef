/* Domains: which sites of each stage a solver may still use. plan.c makes them, exact.c branches
 * over them. */
#include "base/mem.h"
#include "plan/internal.h"

#include <stdlib.h>
#include <string.h>

struct domain domain_copy(const struct plan_problem *p, const struct domain *from)
{
    struct domain d = {.sites = mem_zero(p->n_stages, sizeof *d.sites),
                       .n = mem_zero(p->n_stages, sizeof *d.n),
                       .only = mem_zero(p->n_stages, sizeof *d.only)};

    for (size_t s = 0; s < p->n_stages; s++) {
        d.n[s] = from->n[s];
        d.only[s] = from->only[s];
        d.sites[s] = mem_zero(d.n[s], sizeof **d.sites);
        memcpy(d.sites[s], from->sites[s], d.n[s] * sizeof **d.sites);
    }
    return d;
}

struct domain domain_all(const struct plan_problem *p)
{
    struct domain d = {.sites = mem_zero(p->n_stages, sizeof *d.sites),
                       .n = mem_zero(p->n_stages, sizeof *d.n),
                       .only = mem_zero(p->n_stages, sizeof *d.only)};

    for (size_t s = 0; s < p->n_stages; s++) {
        d.n[s] = p->stages[s].n_sites;
        d.sites[s] = mem_zero(d.n[s], sizeof **d.sites);
        for (size_t i = 0; i < d.n[s]; i++)
            d.sites[s][i] = i;
    }
    return d;
}

void domain_keep(const struct plan_problem *p,
                 struct domain *d,
                 size_t stage,
                 bool (*wanted)(const struct plan_problem *p,
                                const struct site *s,
                                const void *ctx),
                 const void *ctx)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->n[stage]; i++)
        if (wanted(p, &p->stages[stage].sites[d->sites[stage][i]], ctx))
            d->sites[stage][kept++] = d->sites[stage][i];
    d->n[stage] = kept;
}

void domain_clear(const struct plan_problem *p, struct domain *d)
{
    for (size_t s = 0; s < p->n_stages; s++)
        free(d->sites[s]);
    free(d->sites);
    free(d->n);
    free(d->only);
}
