/* Learns the model of a profile from the recorded jobs of its template. `profile`,
 * `autoprovision` and the planner call it. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "broker/learn/profile.h"
#include "lake/job/job.h"

#include <stdlib.h>
#include <string.h>

/* Values of the arguments of FIT_RUNS_MAX jobs. */
#define RUNS_BYTES_MAX ((size_t)256 << 20)
/* An option without a list that has more different texts than this is a name, as of a file. */
#define TEXTS_MAX 8

/* ---- jobs of the template ---- */

struct run {
    const char *name; /* "job 7" */
    double cpus, memory_mb, runtime_s;
    const char **values; /* of all arguments of the template; NULL = not usable */
};

struct runs {
    struct arena *arena;
    const struct template *template;
    struct template_arg *args; /* of the template, or the columns of imported runs alone */
    size_t n_args;
    struct run *items;
    size_t n, cap;
};

static void runs_clear(struct runs *r)
{
    arena_free(r->arena);
    free(r->items);
}

static int take_run(void *context, const struct lake_job *job, struct err *e)
{
    struct runs *r = context;
    const char *const *command = job->asked.command;
    struct run run = {.cpus = job->asked.cpus,
                      .memory_mb = (double)job->asked.memory_mb,
                      .runtime_s = job->runtime_s};

    bool usable = run.cpus > 0 && run.memory_mb > 0 && run.runtime_s > 0;
    if (r->n >= FIT_RUNS_MAX || !usable ||
        !template_matches(r->template, command, job->asked.n_command))
        return 0;
    run.name = arena_printf(r->arena, "job %lld", (long long)job->id);
    run.values = arena_alloc(r->arena, r->template->n_args + 1, sizeof *run.values);
    for (size_t i = 0; run.name && run.values && i < r->template->n_args; i++) {
        run.values[i] = arena_dup(r->arena, template_value(&r->template->args[i], command));
        if (!run.values[i])
            run.name = NULL;
    }
    if (!run.name || !run.values)
        return err_set(e, ERR_NOFIT, "the arguments of the runs take more than %zu MiB",
                       RUNS_BYTES_MAX >> 20);
    r->items = mem_room(r->items, r->n, &r->cap, sizeof *r->items);
    r->items[r->n++] = run;
    return 0;
}

/* ---- features ---- */

/* How many different values there are, up to limit; *numbers_out: all are numbers of a model. */
static size_t count_different(const struct runs *r, size_t arg, size_t limit, bool *numbers_out)
{
    size_t firsts[TEXTS_MAX + 1], n = 0;

    *numbers_out = true;
    for (size_t i = 0; i < r->n; i++) {
        const char *text = r->items[i].values[arg];
        size_t k = 0;
        *numbers_out = *numbers_out && !fit_value_read("x", text).text;
        while (k < n && strcmp(r->items[firsts[k]].values[arg], text) != 0)
            k++;
        if (k == n && n < limit)
            firsts[n++] = i;
    }
    return n;
}

static bool is_feature(const struct runs *r, size_t arg)
{
    const struct template_arg *a = &r->args[arg];
    bool numbers;

    if (a->listed)
        return true;
    if (!a->option || strlen(a->key) > FIT_NAME_MAX_BYTES)
        return false;
    size_t n = count_different(r, arg, TEXTS_MAX + 1, &numbers);
    return n > 1 && (numbers || n <= TEXTS_MAX);
}

/* Indices of the arguments that are features: those with lists first, as many as a model takes. */
static size_t choose_features(const struct runs *r, size_t chosen[static FIT_FEATURES_MAX - 2])
{
    size_t n = 0;

    for (int listed = 1; listed >= 0; listed--)
        for (size_t i = 0; i < r->n_args && n < FIT_FEATURES_MAX - 2; i++)
            if (r->args[i].listed == (bool)listed && is_feature(r, i))
                chosen[n++] = i;
    return n;
}

/* The runs as a fit takes them; both arrays are the caller's to free. */
static size_t lay_out(const struct runs *r,
                      struct fit_run **runs_out,
                      struct fit_value **values_out)
{
    size_t chosen[FIT_FEATURES_MAX - 2], n = choose_features(r, chosen), width = n + 2;
    struct fit_run *runs = mem_zero(r->n + 1, sizeof *runs);
    struct fit_value *values = mem_zero(r->n * width + 1, sizeof *values);

    for (size_t i = 0; i < r->n; i++) {
        const struct run *run = &r->items[i];
        struct fit_value *row = values + i * width;
        row[0] = (struct fit_value){.name = FIT_CPUS, .number = run->cpus};
        row[1] = (struct fit_value){.name = FIT_MEMORY, .number = run->memory_mb};
        for (size_t k = 0; k < n; k++)
            row[2 + k] = fit_value_read(r->args[chosen[k]].key, run->values[chosen[k]]);
        runs[i] = (struct fit_run){
            .name = run->name, .values = row, .n_values = width, .runtime_s = run->runtime_s};
    }
    *runs_out = runs;
    *values_out = values;
    return r->n;
}

static struct fit *learn(const struct runs *r, struct err *e)
{
    AUTO_MEM struct fit_run *runs = NULL;
    AUTO_MEM struct fit_value *values = NULL;
    size_t n = lay_out(r, &runs, &values);

    return fit_new(runs, n, e);
}

/* Without a command the columns are its values; with one, a value without a column is as the
 * command has it. */
static void name_args(struct runs *r, const struct broker_profile *p)
{
    const struct profile_runs *imported = &p->imported;

    r->args = r->template->args;
    r->n_args = r->template->n_args;
    if (r->template->n)
        return;
    r->n_args = imported->n_columns;
    r->args = arena_zero(r->arena, r->n_args + 1, sizeof *r->args);
    for (size_t i = 0; i < r->n_args; i++)
        r->args[i] = (struct template_arg){
            .key = arena_dup(r->arena, imported->columns[i]), .listed = true, .option = true};
}

static int take_imported(struct runs *r, const struct broker_profile *p, struct err *e)
{
    const struct profile_runs *imported = &p->imported;
    char **usual = template_command(r->template, 0);
    bool fits = true;

    for (size_t i = 0; i < imported->n && fits; i++) {
        const struct profile_run *from = &imported->items[i];
        struct run run = {.name = from->name,
                          .cpus = from->cpus,
                          .memory_mb = from->memory_mb,
                          .runtime_s = from->runtime_s,
                          .values = arena_alloc(r->arena, r->n_args + 1, sizeof *run.values)};
        for (size_t k = 0; run.values && fits && k < r->n_args; k++) {
            size_t column = profile_runs_column(imported, r->args[k].key);
            run.values[k] =
                arena_dup(r->arena, column < imported->n_columns
                                        ? from->values[column]
                                        : template_value(&r->args[k], (const char *const *)usual));
            fits = run.values[k] != NULL;
        }
        fits = fits && run.values;
        r->items = mem_room(r->items, r->n, &r->cap, sizeof *r->items);
        r->items[r->n++] = run;
    }
    template_words_free(usual);
    return fits ? 0
                : err_set(e, ERR_NOFIT, "the values of the runs take more than %zu MiB",
                          RUNS_BYTES_MAX >> 20);
}

static int take_runs(struct lake *l, const struct broker_profile *p, struct runs *r, struct err *e)
{
    const struct lake_job_filter finished = {.states = 1u << LAKE_JOB_FINISHED,
                                             .newest_first = true};

    r->arena = arena_new(RUNS_BYTES_MAX);
    r->template = p->template;
    name_args(r, p);
    if (take_imported(r, p, e) < 0 || lake_job_list(l, &finished, take_run, r, e) < 0)
        return err_wrap(e, "profile %s", p->name);
    return 0;
}

int broker_profile_left_out(struct lake *l,
                            const struct broker_profile *p,
                            struct profile_check **out,
                            size_t *n_out,
                            struct err *e)
{
    AUTO_CLEAR(runs) struct runs r = {0};
    AUTO_MEM struct fit_run *runs = NULL;
    AUTO_MEM struct fit_value *values = NULL;

    if (take_runs(l, p, &r, e) < 0)
        return -1;
    size_t n = lay_out(&r, &runs, &values);
    AUTO_MEM double *predicted_s = mem_zero(n + 1, sizeof *predicted_s);
    if (fit_left_out(runs, n, predicted_s, e) < 0)
        return err_wrap(e, "profile %s: %zu finished run%s", p->name, n, n == 1 ? "" : "s");
    *out = mem_zero(n + 1, sizeof **out);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = (struct profile_check){r.items[i].cpus, r.items[i].memory_mb,
                                           r.items[i].runtime_s, predicted_s[i]};
    *n_out = n;
    return 0;
}

static int learn_runs(const struct runs *r, struct broker_profile *p, struct err *e)
{
    AUTO(fit) struct fit *fit = learn(r, e);

    if (!fit)
        return err_wrap(e, "profile %s: %zu finished run%s", p->name, r->n, r->n == 1 ? "" : "s");
    fit_free(p->fit);
    p->fit = TAKE(fit);
    return 0;
}

int broker_profile_fit(struct lake *l, struct broker_profile *p, struct err *e)
{
    AUTO_CLEAR(runs) struct runs r = {0};

    return take_runs(l, p, &r, e) < 0 ? -1 : learn_runs(&r, p, e);
}

int broker_profile_learn(const char *home, struct lake *l, struct broker_profile *p, struct err *e)
{
    return broker_profile_fit(l, p, e) < 0 ? -1 : broker_profile_keep_fit(home, p, e);
}

int broker_profile_refresh(const char *home,
                           struct lake *l,
                           struct broker_profile *p,
                           struct err *e)
{
    AUTO_CLEAR(runs) struct runs r = {0};

    if (take_runs(l, p, &r, e) < 0)
        return -1;
    if (p->fit && fit_n_runs(p->fit) == r.n)
        return 0;
    if (learn_runs(&r, p, e) == 0)
        return broker_profile_keep_fit(home, p, e);
    return p->fit && e->kind != ERR_IO ? 0 : -1;
}

/* ---- asking the model ---- */

static const char *find_setting(const struct template_setting *settings, size_t n, const char *key)
{
    for (size_t i = n; i-- > 0;)
        if (strcmp(settings[i].key, key) == 0)
            return settings[i].value;
    return NULL;
}

static bool has_feature(const struct fit *fit, const char *key)
{
    size_t n;
    const char *const *features = fit_features(fit, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(features[i], key) == 0)
            return strcmp(key, FIT_CPUS) != 0 && strcmp(key, FIT_MEMORY) != 0;
    return false;
}

static int unknown_setting(const struct broker_profile *p, const char *key, struct err *e)
{
    size_t n;
    const char *const *known = fit_features(p->fit, &n);
    const char *close = nearest(key, known, n);

    if (strcmp(key, FIT_CPUS) == 0 || strcmp(key, FIT_MEMORY) == 0)
        return err_set(e, ERR_USAGE, "%s is not a value of the command, but a size of the machine",
                       key);
    if (template_find_arg(p->template, key))
        return err_set(
            e, ERR_USAGE,
            "%.60s is the same in all runs of profile %s, so that nothing is known about "
            "other values of it",
            key, p->name);
    if (close)
        return err_set(e, ERR_USAGE, "profile %s knows no %.60s; did you mean %s?", p->name, key,
                       close);
    AUTO_CLEAR(buf) struct buf all;
    buf_init(&all, 200);
    for (size_t i = 0; i < n; i++)
        if (has_feature(p->fit, known[i]))
            buf_printf(&all, "%s%s", all.len ? ", " : "", known[i]);
    return err_set(e, ERR_USAGE, "profile %s knows no %.60s, but %s", p->name, key,
                   all.len ? buf_str(&all) : "sizes alone");
}

/* What it is in the template does not count as said. */
static int check_settings(const struct broker_profile *p,
                          const struct profile_values *v,
                          const struct template_setting *settings,
                          size_t n,
                          struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        const struct template_arg *arg = template_find_arg(p->template, settings[i].key);
        bool usual =
            arg && !arg->listed &&
            strcmp(template_value(arg, (const char *const *)v->words), settings[i].value) == 0;
        if (!usual && !has_feature(p->fit, settings[i].key))
            return unknown_setting(p, settings[i].key, e);
    }
    return 0;
}

int broker_profile_values(const struct broker_profile *p,
                          const struct template_setting *settings,
                          size_t n,
                          struct profile_values *out,
                          struct err *e)
{
    size_t n_features;
    const char *const *features = fit_features(p->fit, &n_features);

    *out = (struct profile_values){.words = template_command(p->template, 0)};
    if (check_settings(p, out, settings, n, e) < 0)
        return -1;
    for (size_t i = 0; i < n_features; i++) {
        const struct template_arg *arg = template_find_arg(p->template, features[i]);
        const char *value = find_setting(settings, n, features[i]);
        if (!has_feature(p->fit, features[i]))
            continue;
        if (!value && arg && !arg->listed)
            value = template_value(arg, (const char *const *)out->words);
        if (!value)
            return err_set(e, ERR_USAGE, "profile %s: say what %s is to be: --values %s=...",
                           p->name, features[i], features[i]);
        out->items[out->n++] = fit_value_read(features[i], value);
    }
    return 0;
}

void profile_values_clear(struct profile_values *v)
{
    template_words_free(v->words);
    *v = (struct profile_values){0};
}
