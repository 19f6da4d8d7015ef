/* open: the training file with the settings of a request, and the prices and links it is planned
 * with, which all operations of this room begin with. */
#include "app/geo/geo.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "geo/events.h"
#include "geo/facts.h"
#include "spec/config.h"

#include <math.h>
#include <string.h>

const char *const app_geo_topology_choices[5] = {NULL, "central", "regional", "fanout", "any"};
const char *const app_geo_objective_choices[3] = {NULL, "cost", "time"};

void app_geo_clear(struct app_geo *g)
{
    geo_problem_free(g->problem);
    spec_geo_free(g->spec);
    geo_facts_free(g->facts);
    catalog_free(g->catalog);
}

const char *app_geo_site_text(const struct geo_site *site, char out[static 128])
{
    snprintf(out, 128, "%s/%s", site->cloud, site->region);
    return out;
}

/* ---- settings ---- */

/* A setting of the file, and the request's value that goes before it. */
struct setting {
    const char *name, *field;
    const char *text; /* NULL = the number */
    double number;    /* NAN = none */
};

static double whole(int64_t v)
{
    return v == FIELD_NONE ? (double)NAN : (double)v;
}

static int take_settings(struct spec_geo *s,
                         const struct app_geo_request *q,
                         const struct answer *answer,
                         struct err *e)
{
    const struct setting settings[] = {
        {"model.size", "size", q->size, (double)NAN},
        {"rounds", "rounds", NULL, whole(q->rounds)},
        {"train.seconds", "train_s", NULL, q->train_s},
        {"topology", "topology", app_geo_topology_choices[q->topology], (double)NAN},
        {"aggregator.function", "function", q->function, (double)NAN},
        {"aggregator.store", "store", q->store, (double)NAN},
        {"compression", "compression", q->compression, (double)NAN},
        {"connections", "connections", NULL, whole(q->connections)},
        {"quorum", "quorum", NULL, q->quorum},
    };
    char option[64];

    if (q->workers && spec_geo_set_workers(s, q->workers, e) < 0)
        return err_wrap(e, "%s", answer_spell(answer, "workers", option));
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const struct setting *x = &settings[i];
        AUTO_MEM char *number = isnan(x->number) ? NULL : mem_printf("%.17g", x->number);
        const char *value = x->text ? x->text : number;
        if (value && spec_geo_set(s, x->name, value, e) < 0)
            return err_wrap(e, "%s", answer_spell(answer, x->field, option));
    }
    return 0;
}

static int check_runs(const struct spec_geo *s, struct err *e)
{
    if (!s->run)
        return err_set(e, ERR_USAGE, "%s: nothing to run: write train: {run: COMMAND}", s->file);
    if (s->rounds > GEO_EVENT_ROUNDS_MAX)
        return err_set(e, ERR_USAGE, "%s: more than %d rounds cannot be run", s->file,
                       GEO_EVENT_ROUNDS_MAX);
    return 0;
}

/* ---- opening ---- */

static struct spec_geo *read_spec(const struct app_geo_request *q, struct err *e)
{
    if (q->text)
        return spec_geo_parse(q->file ? q->file : "training", q->text, strlen(q->text), e);
    return q->file ? spec_geo_load(q->file, e) : spec_geo_new("training");
}

int app_geo_open_prices(struct app_geo *g, struct app *app, const char *catalog, struct err *e)
{
    g->config = app_config(app, e);
    if (!g->config)
        return -1;
    g->catalog = catalog ? catalog_open_dir(catalog, e) : catalog_open(g->config->home, e);
    g->facts = g->catalog ? geo_facts_builtin(e) : NULL;
    return g->facts ? 0 : -1;
}

int app_geo_open(struct app_geo *g,
                 struct app *app,
                 const struct app_geo_request *q,
                 bool must_run,
                 const struct answer *answer,
                 struct err *e)
{
    g->spec = read_spec(q, e);
    if (!g->spec || take_settings(g->spec, q, answer, e) < 0 ||
        (must_run && check_runs(g->spec, e) < 0) || spec_geo_check(g->spec, e) < 0 ||
        app_geo_open_prices(g, app, q->catalog, e) < 0)
        return -1;
    g->problem = geo_problem_new(g->spec, g->catalog, g->facts, g->config, e);
    return g->problem ? 0 : -1;
}

struct geo_question app_geo_question(const struct app_geo *g, const struct app_geo_request *q)
{
    return (struct geo_question){g->spec->topology, g->spec->function, g->spec->store,
                                 (enum geo_objective)(q->objective - 1)};
}
