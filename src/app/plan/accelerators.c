/* Accelerators that no offer of the catalog has: among alternatives the others would hide a typo.
 * `plan` and `run` call it. */
#include "app/plan/plan.h"
#include "base/mem.h"
#include "base/nearest.h"

#include <stdlib.h>
#include <string.h>

/* Stages often list the same ones: those found in the catalog are looked up once. */
#define KNOWN_MAX 64
struct known {
    const char *names[KNOWN_MAX];
    size_t n;
};

static bool is_listed(const struct catalog *c, const char *name, struct known *known)
{
    for (size_t i = 0; i < known->n; i++)
        if (strcmp(known->names[i], name) == 0)
            return true;
    for (size_t i = 0; i < c->n_kinds; i++)
        if (catalog_same_accelerator(name, catalog_text(c, c->kinds[i].accelerator))) {
            if (known->n < KNOWN_MAX)
                known->names[known->n++] = name;
            return true;
        }
    return false;
}

static const char *nearest_listed(const struct catalog *c, const char *name)
{
    AUTO_MEM const char **names = mem_zero(c->n_kinds + 1, sizeof *names);

    for (size_t i = 0; i < c->n_kinds; i++)
        names[i] = catalog_text(c, c->kinds[i].accelerator);
    return nearest(name, names, c->n_kinds);
}

static void look_at(const struct app *app,
                    const struct app_plan *p,
                    const struct spec_stage *s,
                    struct known *known)
{
    for (size_t i = 0; i < s->n_alternatives; i++)
        for (size_t k = 0; k < s->alternatives[i].n_accelerators; k++) {
            const char *name = s->alternatives[i].accelerators[k].name;
            if (is_listed(p->catalog, name, known))
                continue;
            const char *close = nearest_listed(p->catalog, name);
            app_notice(app, "warning: %s:%zu: stage %s: the catalog has no accelerator %.60s%s%s%s",
                       p->spec->file, s->alternatives[i].line, s->name, name,
                       close ? "; did you mean " : "", close ? close : "", close ? "?" : "");
        }
}

void app_plan_warn_of_accelerators(const struct app *app, const struct app_plan *p)
{
    struct known known = {.n = 0};

    for (size_t i = 0; i < p->spec->n_stages && plan_found(&p->answer); i++)
        look_at(app, p, &p->spec->stages[i], &known);
}
