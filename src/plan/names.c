#include "plan/names.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct name_index *name_index_new(const struct catalog *c)
{
    const struct catalog_kind *kinds = catalog_kinds(c);
    struct name_index *x = mem_zero(1, sizeof *x);
    size_t last = 0;

    x->of_kind = mem_zero(catalog_n_kinds(c), sizeof *x->of_kind);
    for (size_t k = 0; k < catalog_n_kinds(c); k++) {
        /* Neighbours tend to have the same. */
        size_t i = x->n_listed && x->listed[last] == kinds[k].accelerator ? last : 0;
        while (i < x->n_listed && x->listed[i] != kinds[k].accelerator)
            i++;
        if (i == x->n_listed) {
            x->listed = mem_room(x->listed, x->n_listed, &x->cap_listed, sizeof *x->listed);
            x->listed[x->n_listed++] = kinds[k].accelerator;
        }
        x->of_kind[k] = (uint32_t)i;
        last = i;
    }
    return x;
}

void name_index_free(struct name_index *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < x->n_asked; i++) {
        free(x->asked[i].name);
        free(x->asked[i].same);
    }
    free(x->asked);
    free(x->listed);
    free(x->of_kind);
    free(x);
}

const bool *names_same_as(struct name_index *x, const struct catalog *c, const char *asked)
{
    for (size_t i = 0; i < x->n_asked; i++)
        if (!strcmp(x->asked[i].name, asked))
            return x->asked[i].same;
    x->asked = mem_room(x->asked, x->n_asked, &x->cap_asked, sizeof *x->asked);
    struct asked_name *added = &x->asked[x->n_asked++];
    added->name = mem_dup(asked);
    added->same = mem_zero(x->n_listed, sizeof *added->same);
    for (size_t i = 0; i < x->n_listed; i++) {
        const char *listed = catalog_text(c, x->listed[i]);
        added->same[i] = *listed && catalog_same_accelerator(asked, listed);
    }
    return added->same;
}
