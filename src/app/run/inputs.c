/* inputs: stores the data and the code of stages in the lake, from this machine and from elsewhere.
 * compose.c calls it. */
#include "app/core/lake_open.h"
#include "app/run/compose.h"
#include "app/run/fetch.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/program.h"
#include "broker/core/staging.h"
#include "broker/pipeline/advance.h"
#include "broker/pipeline/code.h"
#include "lake/core/path.h"
#include "lake/put/put.h"

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
                                       .progress = app_lake_progress(&progress)};
    if (lake_put(c->lake, &options, NULL, NULL, &summary, e) < 0)
        return -1;
    AUTO_MEM char *escaped = lake_path_escape(destination);
    AUTO_MEM char *ref = mem_printf("%s%s", escaped, S_ISDIR(st.st_mode) ? "/" : "");
    *ref_out = app_run_draft_keep(c, ref);
    return 0;
}

/* ---- before anything is stored ---- */

static bool is_repository(const char *workdir)
{
    return strstr(workdir, "://") || !strncmp(workdir, "git@", 4);
}

static int check_repository(const struct app_run_draft *c,
                            const struct spec_stage *stage,
                            struct err *e)
{
    const char *argv[] = {"git", "--version", NULL};
    AUTO_CLEAR(buf) struct buf out;
    struct program_run run = {.argv = argv, .out = &out};

    buf_init(&out, 4096);
    if (stage->workdir_ref && stage->workdir_ref[0] == '-')
        return err_set(e, ERR_USAGE, "%s:%zu: stage %s: workdir: \"%.60s\" is not a ref of git",
                       c->plan->spec->file, stage->line, stage->name, stage->workdir_ref);
    int ran = program_run(&run, e);
    if (ran != 0)
        return ran < 0 ? -1 : 0;
    return err_set(e, ERR_USAGE,
                   "%s:%zu: stage %s: workdir %s: git is not installed; clone it yourself and name "
                   "the directory",
                   c->plan->spec->file, stage->line, stage->name, stage->workdir);
}

static int check_workdir(const struct app_run_draft *c,
                         const struct spec_stage *stage,
                         struct err *e)
{
    AUTO_MEM char *path = app_run_draft_path(c, stage->workdir);
    struct stat found;

    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return 0;
    return err_set(e, ERR_USAGE, "%s:%zu: stage %s: workdir %s: there is no such directory",
                   c->plan->spec->file, stage->line, stage->name, path);
}

int app_run_draft_check_inputs(const struct app_run_draft *c,
                               const struct spec_stage *stage,
                               struct err *e)
{
    for (size_t i = 0; i < stage->n_inputs; i++) {
        const struct spec_input *in = &stage->inputs[i];
        if (in->source == SPEC_FROM_URI && !app_run_fetch_can(in->from))
            return err_set(e, ERR_USAGE,
                           "%s:%zu: stage %s: %s cannot be fetched, only s3://, https:// and "
                           "http:// can: put a copy into the lake and name it as lake:/path",
                           c->plan->spec->file, in->line, stage->name, in->from);
    }
    if (stage->workdir && (stage->workdir_ref || is_repository(stage->workdir)))
        return check_repository(c, stage, e);
    return stage->workdir ? check_workdir(c, stage, e) : 0;
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

/* ---- code ---- */

static int run_git(const char *const *argv, const char *url, struct err *e)
{
    static const char *const env[] = {"GIT_TERMINAL_PROMPT=0", NULL};
    AUTO_CLEAR(buf) struct buf out;
    struct program_run run = {.argv = argv, .env = env, .out = &out};

    buf_init(&out, 65536);
    if (program_run(&run, e) < 0)
        return -1;
    return run.status == 0
               ? 0
               : err_set(e, ERR_USAGE, "%s cannot be fetched: git: %s", url, run.complaint);
}

/* Fetches one commit without its history. Options of git end before values of the file. */
static int clone_into(const char *url, const char *ref, const char *dir, struct err *e)
{
    const char *const init[] = {"git", "init", "-q", "--", dir, NULL};
    const char *const fetch[] = {"git", "-C", dir, "fetch", "-q", "--depth",
                                 "1",   "--", url, ref,     NULL};
    const char *const checkout[] = {"git", "-C", dir, "checkout", "-q", "FETCH_HEAD", NULL};

    return run_git(init, url, e) < 0 || run_git(fetch, url, e) < 0 ? -1 : run_git(checkout, url, e);
}

static int store_clone(struct app_run_draft *c,
                       const struct spec_stage *stage,
                       struct code *out,
                       struct err *e)
{
    const char *home = c->plan->config->home, *url = stage->workdir;
    AUTO_CLEAR(staging) struct staging staging = {.lock = -1};
    size_t n = strlen(url);

    while (n && url[n - 1] == '/')
        n--;
    n -= n > 4 && !strncmp(url + n - 4, ".git", 4) ? 4 : 0;
    size_t name = n;
    while (name && url[name - 1] != '/' && url[name - 1] != ':')
        name--;
    if (file_make_dirs(home, 0700, e) < 0 || staging_open(home, &staging, e) < 0)
        return -1;
    AUTO_MEM char *dir = mem_printf("%s/%.*s", staging.path, n > name ? (int)(n - name) : 4,
                                    n > name ? url + name : "code");
    if (clone_into(url, stage->workdir_ref ? stage->workdir_ref : "HEAD", dir, e) < 0)
        return -1;
    return code_store(c->lake, home, dir, out, e);
}

int app_run_draft_code(struct app_run_draft *c,
                       const struct spec_stage *stage,
                       struct run_stage_plan *out,
                       struct err *e)
{
    AUTO_CLEAR(code) struct code code = {0};

    if (!stage->workdir)
        return 0;
    AUTO_MEM char *path = app_run_draft_path(c, stage->workdir);
    bool far = stage->workdir_ref || is_repository(stage->workdir);
    if ((far ? store_clone(c, stage, &code, e)
             : code_store(c->lake, c->plan->config->home, path, &code, e)) < 0)
        return err_wrap(e, "stage %s: workdir", stage->name);
    out->code = app_run_draft_keep(c, code.ref);
    out->commit = app_run_draft_keep(c, code.commit);
    out->dirty = code.dirty;
    return 0;
}
