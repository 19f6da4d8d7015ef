#include "broker/learn/models.h"

#include "base/mem.h"
#include "broker/learn/profile.h"

#include <stdlib.h>
#include <string.h>

struct loaded {
    char *name;
    struct broker_profile *profile; /* NULL = no stage names it */
    char **words;                   /* the template's own values: what usual points into */
    struct fit_value usual[FIT_FEATURES_MAX];
    size_t n_usual;
};

struct broker_models {
    const char *home;
    struct lake *lake;
    const struct spec *spec;
    struct loaded *items;
    size_t n, cap;
    struct estimate_model *models;
    struct estimate_models all;
};

/* Whether a stage is estimated by this profile; NULL = by any. */
static bool is_wanted(const struct spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n_stages; i++) {
        const struct spec_estimate *estimate = &spec->stages[i].estimate;
        if (estimate->kind == SPEC_ESTIMATE_PROFILE &&
            (!name || strcmp(estimate->profile, name) == 0))
            return true;
    }
    return false;
}

bool broker_models_wanted(const struct spec *spec)
{
    return is_wanted(spec, NULL);
}

/* A pipeline need not repeat the value of an argument that is no list in the template. */
static void note_usual(struct loaded *loaded)
{
    const struct broker_profile *p = loaded->profile;
    size_t n;
    const char *const *features = fit_features(p->fit, &n);

    loaded->words = template_command(p->template, 0);
    for (size_t i = 0; i < n; i++) {
        const struct template_arg *arg = template_find_arg(p->template, features[i]);
        if (arg && !arg->listed)
            loaded->usual[loaded->n_usual++] = fit_value_read(
                features[i], template_value(arg, (const char *const *)loaded->words));
    }
}

/* Too few runs are not an error here: the estimate names the stage that lacks a model. */
static struct broker_profile *load(struct broker_models *m, const char *name, struct err *e)
{
    AUTO(broker_profile) struct broker_profile *p = broker_profile_load(m->home, name, e);

    if (p && m->lake && broker_profile_refresh(m->home, m->lake, p, e) < 0 && e->kind != ERR_NOFIT)
        return NULL;
    return TAKE(p);
}

static int add_profile(void *context, const char *name, struct err *e)
{
    struct broker_models *m = context;
    struct loaded loaded = {0};

    if (is_wanted(m->spec, name)) {
        loaded.profile = load(m, name, e);
        if (!loaded.profile)
            return -1;
        if (loaded.profile->fit)
            note_usual(&loaded);
    }
    loaded.name = mem_dup(name);
    m->items = mem_room(m->items, m->n, &m->cap, sizeof *m->items);
    m->items[m->n++] = loaded;
    return 0;
}

struct broker_models *broker_models_load(const char *home,
                                         struct lake *l,
                                         const struct spec *spec,
                                         struct err *e)
{
    AUTO(broker_models) struct broker_models *m = mem_zero(1, sizeof *m);

    m->home = home;
    m->lake = l;
    m->spec = spec;
    if (broker_models_wanted(spec) && broker_profile_each(home, add_profile, m, e) < 0)
        return NULL;
    m->models = mem_zero(m->n + 1, sizeof *m->models);
    for (size_t i = 0; i < m->n; i++) {
        const struct loaded *loaded = &m->items[i];
        m->models[i] = (struct estimate_model){
            .name = loaded->name,
            .fit = loaded->profile ? loaded->profile->fit : NULL,
            .usual = loaded->usual,
            .n_usual = loaded->n_usual,
        };
    }
    m->all = (struct estimate_models){m->models, m->n};
    return TAKE(m);
}

void broker_models_free(struct broker_models *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n; i++) {
        free(m->items[i].name);
        broker_profile_free(m->items[i].profile);
        template_words_free(m->items[i].words);
    }
    free(m->items);
    free(m->models);
    free(m);
}

const struct estimate_models *broker_models_get(const struct broker_models *m)
{
    return m ? &m->all : NULL;
}
