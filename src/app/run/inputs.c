/* inputs: stores the data of stages in the lake, from this machine and from elsewhere. compose.c
 * calls it. */
#include "app/core/lake_open.h"
#include "app/run/compose.h"
#include "app/run/fetch.h"
#include "base/mem.h"
#include "broker/pipeline/advance.h"
#include "lake/core/path.h"
#include "lake/put/put.h"
#include "net/http.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The path of a local input in the lake: an absolute path stays, others go below the pipeline's
 * name, whatever the directory of the file. New string, NULL on failure. */
char *app_run_draft_lake_path(const struct app_run_draft *c, const char *path, struct err *e)
{
    AUTO_MEM char *name = advance_set_name(c->plan->spec->name, "", "");
    AUTO_MEM char *below = NULL;
    AUTO_MEM char *at_home = path[0] == '~' ? app_run_draft_path(c, path) : NULL;

    path = at_home ? at_home : path;
    if (path[0] == '/')
        return app_absolute_path(path, e);
    name[strlen(name) - 1] = '\0'; /* the dot before the stage */
    below = mem_printf("/%s/%s", name, path);
    return app_absolute_path(below, e);
}

static int store_local(struct app_run_draft *c,
                       const char *path,
                       const char **ref_out,
                       struct err *e)
{
    AUTO_MEM char *source = app_run_draft_path(c, path);
    AUTO_MEM char *destination = app_run_draft_lake_path(c, path, e);
    struct app_progress progress = {c->app, "storing"};
    struct lake_put_summary summary;
    struct stat st;

    if (!destination)
        return -1;
    if (stat(source, &st) < 0)
        return err_set(e, ERR_NOTFOUND, "input %s is not there", source);
    const char *const sources[] = {source};
    struct lake_put_options options = {.sources = sources,
                                       .n_sources = 1,
                                       .destination = destination,
                                       .again = "start the run again",
                                       .progress = app_lake_progress(&progress)};
    if (lake_put(c->lake, &options, NULL, NULL, &summary, e) < 0)
        return -1;
    AUTO_MEM char *escaped = lake_path_escape(destination);
    AUTO_MEM char *ref = mem_printf("%s%s", escaped, S_ISDIR(st.st_mode) ? "/" : "");
    *ref_out = app_run_draft_keep(c, ref);
    return 0;
}

/* ---- before anything is stored ---- */

int app_run_draft_check_inputs(const struct app_run_draft *c,
                               const struct spec_stage *stage,
                               struct err *e)
{
    for (size_t i = 0; i < stage->n_inputs; i++) {
        const struct spec_input *in = &stage->inputs[i];
        if (in->source == SPEC_FROM_URI && !app_run_fetch_can(in->from))
            return err_set(
                e, ERR_USAGE,
                "%s:%zu: stage %s: %s cannot be fetched, only s3://, gs://, az://, "
                "https:// and http:// can: put a copy into the lake and name it as lake:/path",
                c->plan->spec->file, in->line, stage->name, in->from);
        if (in->source == SPEC_FROM_URI &&
            http_check_exposed(in->from, app_is_insecure(c->app), e) < 0)
            return err_wrap(e, "%s:%zu: stage %s", c->plan->spec->file, in->line, stage->name);
    }
    return 0;
}

/* ---- inputs ---- */

static int fetch_input(struct app_run_draft *c,
                       const char *uri,
                       const char **ref_out,
                       struct err *e)
{
    AUTO_MEM char *ref = NULL;

    if (app_run_fetch(c->app, uri, &ref, e) < 0)
        return -1;
    *ref_out = app_run_draft_keep(c, ref);
    return 0;
}

static int compose_input(struct app_run_draft *c,
                         const struct spec_stage *stage,
                         const struct spec_input *in,
                         struct run_input *out,
                         struct err *e)
{
    const struct spec *spec = c->plan->spec;

    switch (in->source) {
    case SPEC_FROM_STAGE:
        *out = (struct run_input){
            .stage = in->stage,
            .output = app_run_draft_keep(c, spec->stages[in->stage].outputs[in->output].name)};
        return 0;
    case SPEC_FROM_LAKE:
        out->ref =
            app_run_draft_keep(c, strncmp(in->from, "lake:", 5) == 0 ? in->from + 5 : in->from);
        return 0;
    case SPEC_FROM_LOCAL:
        return store_local(c, in->from, &out->ref, e) < 0 ? err_wrap(e, "stage %s", stage->name)
                                                          : 0;
    case SPEC_FROM_URI:
        return fetch_input(c, in->from, &out->ref, e) < 0 ? err_wrap(e, "stage %s", stage->name)
                                                          : 0;
    }
    return 0;
}

int app_run_draft_inputs(struct app_run_draft *c,
                         const struct spec_stage *stage,
                         struct run_stage_plan *out,
                         struct err *e)
{
    struct run_input *inputs = app_run_draft_alloc(c, stage->n_inputs, sizeof *inputs);

    for (size_t i = 0; inputs && i < stage->n_inputs; i++)
        if (compose_input(c, stage, &stage->inputs[i], &inputs[i], e) < 0)
            return -1;
    out->inputs = inputs;
    out->n_inputs = stage->n_inputs;
    return 0;
}
