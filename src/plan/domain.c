/* Domains: which sites of each stage a solver may still use. plan.c makes them, exact.c branches
 * over them. */
#include "base/mem.h"
#include "plan/internal.h"

#include <stdlib.h>
#include <string.h>

/* Empty, with room for all sites. */
static struct domain domain_new(const struct plan_problem *p)
{
    struct domain d = {.n_stages = p->n_stages,
                       .sites = mem_zero(p->n_stages, sizeof *d.sites),
                       .n = mem_zero(p->n_stages, sizeof *d.n),
                       .only = mem_zero(p->n_stages, sizeof *d.only)};

    for (size_t s = 0; s < p->n_stages; s++)
        d.sites[s] = mem_zero(p->stages[s].n_sites, sizeof **d.sites);
    return d;
}

struct domain domain_copy(const struct plan_problem *p, const struct domain *from)
{
    struct domain d = domain_new(p);

    for (size_t s = 0; s < p->n_stages; s++) {
        d.n[s] = from->n[s];
        d.only[s] = from->only[s];
        memcpy(d.sites[s], from->sites[s], d.n[s] * sizeof **d.sites);
    }
    return d;
}

struct domain domain_all(const struct plan_problem *p)
{
    struct domain d = domain_new(p);

    for (size_t s = 0; s < p->n_stages; s++)
        for (size_t i = 0; i < p->stages[s].n_sites; i++)
            d.sites[s][d.n[s]++] = i;
    return d;
}

void domain_clear(struct domain *d)
{
    for (size_t s = 0; s < d->n_stages; s++)
        free(d->sites[s]);
    free(d->sites);
    free(d->n);
    free(d->only);
}
