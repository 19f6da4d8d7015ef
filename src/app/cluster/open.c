/* open: the cluster file with the settings of a request, the measured rates and the catalog, which
 * all operations of this room begin with. */
#include "app/cluster/cluster.h"
#include "base/csv.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "spec/config.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

void app_cluster_clear(struct app_cluster *c)
{
    cluster_measured_free(c->measured);
    catalog_free(c->catalog);
    spec_cluster_free(c->spec);
}

/* A setting of the file, and the request's value that goes before it. */
struct setting {
    const char *name, *field;
    const char *text; /* NULL = the number */
    double number;    /* NAN = none */
};

static int take_settings(struct app_cluster *c,
                         const struct app_cluster_request *q,
                         const struct answer *answer,
                         struct err *e)
{
    double max = q->max_workers == FIELD_NONE ? (double)NAN : (double)q->max_workers;
    const struct setting settings[] = {
        {"budget", "budget_usd", NULL, q->budget_usd},
        {"workers.max", "max_workers", NULL, max},
        {"workers.type", "type", q->type, (double)NAN},
        {"server.type", "server", q->server, (double)NAN},
        {"location", "location", q->location, (double)NAN},
        {"work", "work", NULL, q->work},
        {"share", "share", NULL, q->share},
    };
    char option[64];

    c->chooses = q->type || q->server || q->location;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const struct setting *s = &settings[i];
        AUTO_MEM char *number = isnan(s->number) ? NULL : mem_printf("%.17g", s->number);
        const char *value = s->text ? s->text : number;
        if (value && spec_cluster_set(c->spec, s->name, value, e) < 0)
            return err_wrap(e, "%s", answer_spell(answer, s->field, option));
    }
    return 0;
}

static int read_measured(struct app_cluster *c, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/%s", c->config->home, CLUSTER_MEASURED_FILE);

    if (!c->spec->run || access(path, F_OK) < 0)
        return 0;
    AUTO(csv) struct csv *csv = csv_open(path, CLUSTER_MEASURED_MAX_BYTES, e);
    c->measured = csv ? cluster_measured_read(csv, c->spec->run, c->spec->batch, e) : NULL;
    return c->measured ? 0 : -1;
}

static struct spec_cluster *read_spec(const struct app_cluster_request *q, struct err *e)
{
    if (q->text)
        return spec_cluster_parse(q->file ? q->file : "cluster", q->text, strlen(q->text), e);
    if (q->file)
        return spec_cluster_load(q->file, e);
    err_set(e, ERR_USAGE, "the cluster is missing: give its text or its file");
    return NULL;
}

int app_cluster_open(struct app_cluster *c,
                     struct app *app,
                     const struct app_cluster_request *q,
                     const struct answer *answer,
                     struct err *e)
{
    c->spec = read_spec(q, e);
    if (!c->spec || take_settings(c, q, answer, e) < 0)
        return -1;
    c->config = app_config(app, e);
    if (!c->config || read_measured(c, e) < 0)
        return -1;
    c->catalog = q->catalog ? catalog_open_dir(q->catalog, e) : catalog_open(c->config->home, e);
    return c->catalog ? 0 : -1;
}
