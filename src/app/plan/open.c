/* open: a pipeline and what it is planned with, read from a request. */
#include "app/plan/internal.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/time.h"
#include "broker/learn/models.h"
#include "estimate/throughput.h"
#include "view/text.h"

#include <stdint.h>
#include <string.h>

#define TEXTS_MAX_BYTES (16u << 20)
#define WARNING_MAX_BYTES 65536

static const struct field request_fields[] = {PLAN_PIPELINE_FIELDS(struct plan_request, ),
                                              PLAN_GOAL_FIELDS(struct plan_request, ),
                                              PLAN_WORLD_FIELDS(struct plan_request, )};
const struct record app_plan_request_record =
    RECORD("request to plan", struct plan_request, request_fields);

static int check_env(const struct plan_request *q, const struct answer *out, struct err *e)
{
    char option[64];

    for (size_t i = 0; i < q->env.n; i++)
        if (!strchr(q->env.items[i], '=') || *q->env.items[i] == '=')
            return err_set(e, ERR_USAGE, "%s %s: write KEY=VALUE", answer_spell(out, "env", option),
                           q->env.items[i]);
    return 0;
}

static void warn_of_findings(const struct app *app, const struct spec *spec)
{
    for (size_t i = 0; i < spec->n_findings; i++)
        app_notice(app, "%s:%zu: warning: %s", spec->file, spec->findings[i].line,
                   spec->findings[i].text);
}

/* The region of this cloud that the name is likely a slip of; NULL when none is. */
static const char *near_region(const struct catalog *c, const char *cloud, const char *region)
{
    const struct catalog_place *places = c->places;
    size_t n = 0;
    AUTO_MEM const char **names = mem_zero(c->n_places + 1, sizeof *names);

    for (size_t i = 0; i < c->n_places; i++)
        if (!strcmp(catalog_text(c, places[i].cloud), cloud))
            names[n++] = catalog_text(c, places[i].region);
    return nearest(region, names, n);
}

static void warn_of_place(const struct app *app,
                          const struct app_plan *p,
                          const struct spec_stage *stage,
                          const struct spec_input *input)
{
    const struct spec_place *at = &input->place;
    const char *near = near_region(p->catalog, at->cloud, at->region);
    AUTO_MEM char *advice = near ? mem_printf("did you mean %s/%s?", at->cloud, near)
                                 : mem_dup("moving it is priced by the general rows");
    AUTO_MEM char *line = mem_printf(
        "%s:%zu: warning: stage %s: input \"%s\": the catalog has no offer at %s/%s: %s",
        p->spec->file, input->line, stage->name, input->from, at->cloud, at->region, advice);
    AUTO_CLEAR(buf) struct buf safe;

    buf_init(&safe, WARNING_MAX_BYTES);
    text_put(&safe, line, SIZE_MAX, true);
    app_notice(app, "%s", buf_str(&safe));
}

/* Data may lie where nothing is for sale; more often the region is misspelt. */
static void warn_of_places(const struct app *app, const struct app_plan *p)
{
    for (size_t i = 0; i < p->spec->n_stages; i++) {
        const struct spec_stage *stage = &p->spec->stages[i];
        for (size_t j = 0; j < stage->n_inputs; j++) {
            const struct spec_place *at = &stage->inputs[j].place;
            if (at->cloud && at->region && strcmp(at->cloud, "local") != 0 &&
                catalog_find_place(p->catalog, at->cloud, at->region) == SIZE_MAX)
                warn_of_place(app, p, stage, &stage->inputs[j]);
        }
    }
}

/* The lake is opened by those alone who need to know what ran. */
static int load_models(struct app_plan *p, struct app *app, struct err *e)
{
    bool wanted = broker_models_wanted(p->spec);
    struct lake *l = wanted ? app_lake(app, e) : NULL;

    if (wanted && !l)
        return -1;
    p->models = broker_models_load(p->config->home, l, p->spec, e);
    return p->models ? 0 : -1;
}

struct spec *app_plan_read_spec(const struct plan_request *q,
                                struct spec_finding **findings_out,
                                size_t *n_out,
                                struct err *e)
{
    if (q->pipeline)
        return spec_parse(q->file ? q->file : "pipeline", q->pipeline, strlen(q->pipeline),
                          q->base_dir, findings_out, n_out, e);
    if (q->file)
        return spec_load(q->file, findings_out, n_out, e);
    err_set(e, ERR_USAGE, "the pipeline is missing: give its text or its file");
    return NULL;
}

int app_plan_open(struct app_plan *p,
                  struct app *app,
                  const struct plan_request *q,
                  const struct answer *out,
                  struct err *e)
{
    char option[64];

    if (!p->now_s)
        p->now_s = time_monotonic_s;
    p->begun_s = p->now_s();
    p->arena = arena_new(TEXTS_MAX_BYTES);
    p->request = *q;
    if (check_env(q, out, e) < 0 ||
        record_keep(&app_plan_request_record, &p->request, p->arena, e) < 0)
        return -1;
    q = &p->request;
    p->solve_limit_s = q->solve_limit_s;
    p->spec = app_plan_read_spec(q, NULL, NULL, e);
    if (!p->spec)
        return -1;
    warn_of_findings(app, p->spec);
    if (app_plan_settings_read(q, &p->spec->goal, answer_spell(out, "objective", option),
                               &p->settings, e) < 0)
        return -1;
    p->config = app_config(app, e);
    if (!p->config)
        return -1;
    if (!q->simplify && p->settings.solver != PLAN_GREEDY)
        p->settings.simplify = p->config->simplify;
    p->catalog = q->catalog ? catalog_open_dir(q->catalog, e) : catalog_open(p->config->home, e);
    if (!p->catalog)
        return -1;
    warn_of_places(app, p);
    p->throughputs = throughputs_load(q->throughputs ? q->throughputs : p->config->throughputs, e);
    return p->throughputs ? load_models(p, app, e) : -1;
}
