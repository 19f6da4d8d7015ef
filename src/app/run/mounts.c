/* Containers and mounts of stages: refused where they cannot be had, else composed. compose.c and
 * start.c call it. */
#include "app/job/image.h"
#include "app/run/compose.h"
#include "app/run/fetch.h"
#include "base/mem.h"
#include "lake/core/ref.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- before the run ---- */

static bool is_empty(const char *path)
{
    DIR *d = opendir(path);
    size_t n = 0;

    if (!d)
        return false;
    while (n < 3 && readdir(d))
        n++;
    closedir(d);
    return n < 3; /* . and .. */
}

static int check_mount(const struct app_run_draft *c,
                       const struct spec_stage *stage,
                       const struct spec_mount *m,
                       struct err *e)
{
    const struct spec_input *in = m->input == SIZE_MAX ? NULL : &stage->inputs[m->input];
    struct stat st = {0};

    if (!in)
        return err_set(e, ERR_USAGE,
                       "%s:%zu: stage %s: file_mounts: %s has no source: a bucket for it is not "
                       "made; declare what the stage writes in outputs",
                       c->plan->spec->file, m->line, stage->name, m->target);
    if (in->source != SPEC_FROM_LOCAL)
        return 0;
    AUTO_MEM char *path = app_run_draft_path(c, in->from);
    if (stat(path, &st) == 0 && !(S_ISDIR(st.st_mode) && is_empty(path)))
        return 0;
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_USAGE,
                       "%s:%zu: stage %s: file_mounts: %s: %s is an empty directory, of which the "
                       "lake has no record: put a file into it",
                       c->plan->spec->file, m->line, stage->name, m->target, path);
    return err_set(e, ERR_USAGE, "%s:%zu: stage %s: file_mounts: %s: %s: %s", c->plan->spec->file,
                   m->line, stage->name, m->target, path, strerror(errno));
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Alternatives of a stage differ in machines, not in what they run. */
static int find_image(const struct app_run_draft *c,
                      const struct spec_stage *stage,
                      const char **out,
                      struct err *e)
{
    *out = c->order->image ? c->order->image : stage->alternatives[0].image;
    for (size_t i = 1; !c->order->image && i < stage->n_alternatives; i++)
        if (!same(*out, stage->alternatives[i].image))
            return err_set(e, ERR_USAGE,
                           "%s:%zu: stage %s: its alternatives have different images: write "
                           "image_id beside any_of, not in it",
                           c->plan->spec->file, stage->alternatives[i].line, stage->name);
    return 0;
}

static int check_stage(const struct app_run_draft *c, const struct spec_stage *stage, struct err *e)
{
    bool here = c->order->location->n_hosts == 0 && !c->order->location->is_cloud;
    const char *image;
    int result = app_run_draft_check_code(c, stage, e);

    if (result == 0)
        result = find_image(c, stage, &image, e);
    for (size_t i = 0; result == 0 && i < stage->n_mounts; i++)
        result = check_mount(c, stage, &stage->mounts[i], e);
    if (result < 0 || !here || (!image && !stage->n_mounts))
        return result;
    if ((image ? app_job_check_image(image, e) : app_job_check_mounts(e)) < 0)
        return err_wrap(e, "%s:%zu: stage %s", c->plan->spec->file, stage->line, stage->name);
    return 0;
}

int app_run_check_stages(struct app *app,
                         const struct app_plan *p,
                         const struct app_run_order *order,
                         struct err *e)
{
    const struct app_run_draft c = {.app = app, .plan = p, .order = order};

    for (size_t i = 0; i < p->spec->n_stages; i++)
        if (check_stage(&c, &p->spec->stages[i], e) < 0)
            return -1;
    return 0;
}

/* ---- composing ---- */

int app_run_draft_image(struct app_run_draft *c,
                        const struct spec_stage *stage,
                        struct run_stage_plan *out,
                        struct err *e)
{
    const char *image;

    if (find_image(c, stage, &image, e) < 0)
        return -1;
    out->image = app_run_draft_keep(c, image);
    return 0;
}

static char *path_in_lake(struct app_run_draft *c, const char *from, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    if (lake_resolve(c->lake, strncmp(from, "lake:", 5) == 0 ? from + 5 : from, LAKE_READ, &ref,
                     e) < 0)
        return NULL;
    return mem_dup(ref.path);
}

/* Where a mount's data lies below $TRADEWIND_INPUT. New string. */
static char *source_of(struct app_run_draft *c,
                       const struct spec_stage *stage,
                       const struct spec_mount *m,
                       struct err *e)
{
    const struct spec_input *in = &stage->inputs[m->input];

    if (in->source == SPEC_FROM_URI)
        return app_run_fetch_path(in->from);
    char *path = in->source == SPEC_FROM_LAKE ? path_in_lake(c, in->from, e)
                                              : app_run_draft_lake_path(c, in->from, e);
    if (path && stage->n_inputs > 1 && !strcmp(path, "/")) {
        err_set(e, ERR_USAGE,
                "%s:%zu: stage %s: file_mounts: %s: %s is a whole set, and the stage has other "
                "inputs: name a directory of the set",
                c->plan->spec->file, m->line, stage->name, m->target, in->from);
        free(path);
        return NULL;
    }
    return path;
}

static int by_key(const void *a, const void *b)
{
    const struct run_pair *x = a, *y = b;

    return strcmp(x->key, y->key);
}

int app_run_draft_mounts(struct app_run_draft *c,
                         const struct spec_stage *stage,
                         struct run_stage_plan *out,
                         struct err *e)
{
    struct run_pair *mounts = app_run_draft_alloc(c, stage->n_mounts, sizeof *mounts);

    for (size_t i = 0; mounts && i < stage->n_mounts; i++) {
        if (check_mount(c, stage, &stage->mounts[i], e) < 0)
            return -1;
        AUTO_MEM char *source = source_of(c, stage, &stage->mounts[i], e);
        if (!source)
            return -1;
        mounts[i] = (struct run_pair){app_run_draft_keep(c, stage->mounts[i].target),
                                      app_run_draft_keep(c, source)};
    }
    if (mounts && !c->too_large)
        qsort(mounts, stage->n_mounts, sizeof *mounts, by_key);
    out->mounts = mounts;
    out->n_mounts = mounts ? stage->n_mounts : 0;
    return 0;
}
