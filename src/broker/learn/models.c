#include "broker/learn/models.h"

#include "base/arena.h"
#include "broker/learn/profile.h"

#include <stdint.h>
#include <string.h>

/* A profile that a stage names. */
struct loaded {
    struct broker_profile *profile;
    char **words; /* the template's own values: what usual values point into */
    struct loaded *next;
};

struct broker_models {
    struct arena *arena; /* of all but the members of loaded */
    const char *home;
    struct lake *lake;
    const struct spec *spec;
    struct loaded *loaded;
    struct estimate_model *models;
    size_t cap;
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
static void note_usual(struct arena *a, struct loaded *loaded, struct estimate_model *model)
{
    const struct broker_profile *p = loaded->profile;
    size_t n;
    const char *const *features = fit_features(p->fit, &n);
    struct fit_value *usual = arena_zero(a, n, sizeof *usual);

    loaded->words = template_command(p->template, 0);
    for (size_t i = 0; i < n; i++) {
        const struct template_arg *arg = template_find_arg(p->template, features[i]);
        if (arg && !arg->listed)
            usual[model->n_usual++] = fit_value_read(
                features[i], template_value(arg, (const char *const *)loaded->words));
    }
    model->usual = usual;
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
    struct estimate_model model = {.name = arena_dup(m->arena, name)};

    if (is_wanted(m->spec, name)) {
        struct loaded *loaded = arena_zero(m->arena, 1, sizeof *loaded);
        loaded->next = m->loaded;
        m->loaded = loaded;
        loaded->profile = load(m, name, e);
        if (!loaded->profile)
            return -1;
        model.fit = loaded->profile->fit;
        if (model.fit)
            note_usual(m->arena, loaded, &model);
    }
    m->models = arena_room(m->arena, m->models, m->all.n, &m->cap, sizeof *m->models);
    m->models[m->all.n++] = model;
    m->all.items = m->models;
    return 0;
}

struct broker_models *broker_models_load(const char *home,
                                         struct lake *l,
                                         const struct spec *spec,
                                         struct err *e)
{
    struct arena *a = arena_new(SIZE_MAX);
    AUTO(broker_models) struct broker_models *m = arena_zero(a, 1, sizeof *m);

    *m = (struct broker_models){.arena = a, .home = home, .lake = l, .spec = spec};
    if (broker_models_wanted(spec) && broker_profile_each(home, add_profile, m, e) < 0)
        return NULL;
    return TAKE(m);
}

void broker_models_free(struct broker_models *m)
{
    if (!m)
        return;
    for (struct loaded *loaded = m->loaded; loaded; loaded = loaded->next) {
        broker_profile_free(loaded->profile);
        template_words_free(loaded->words);
    }
    arena_free(m->arena);
}

const struct estimate_models *broker_models_get(const struct broker_models *m)
{
    return m ? &m->all : NULL;
}
