/* code: stores the working directories of stages in the lake, each once. compose.c calls it. */
#include "app/core/code_text.h"
#include "app/run/compose.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/program.h"
#include "broker/core/staging.h"
#include "broker/pipeline/codefiles.h"
#include "net/http.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What ends a word of shell text. */
#define SHELL_BREAKS " \t\r\n;&|<>()\"'`$="
#define WORD_MAX 256

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
    if (http_check_exposed(stage->workdir, app_is_insecure(c->app), e) < 0)
        return err_wrap(e, "%s:%zu: stage %s: workdir", c->plan->spec->file, stage->line,
                        stage->name);
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

static int unmatched(const struct app_run_draft *c,
                     const struct spec_stage *stage,
                     const char *pattern,
                     struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "%s:%zu: stage %s: code: %.200s names no file of workdir %.200s that .gitignore "
                   "and .tradewindignore leave in",
                   c->plan->spec->file, stage->code_line, stage->name, pattern, stage->workdir);
}

static int check_picks(const struct app_run_draft *c, const struct spec_stage *stage, struct err *e)
{
    AUTO_MEM char *path = app_run_draft_path(c, stage->workdir);
    const char *pattern;

    if (code_check(path, stage->code, stage->n_code, &pattern, e) < 0)
        return -1;
    return pattern ? unmatched(c, stage, pattern, e) : 0;
}

static bool is_far(const struct spec_stage *stage)
{
    return stage->workdir_ref || is_repository(stage->workdir);
}

int app_run_draft_check_code(const struct app_run_draft *c,
                             const struct spec_stage *stage,
                             struct err *e)
{
    if (!stage->workdir)
        return 0;
    if (is_far(stage))
        return check_repository(c, stage, e);
    if (check_workdir(c, stage, e) < 0)
        return -1;
    return stage->n_code ? check_picks(c, stage, e) : 0;
}

/* The first word of shell text that is a file below the directory of the pipeline's file; new
 * string, NULL = none. */
static char *file_beside(const struct app_run_draft *c, const char *text)
{
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, SHELL_BREAKS);
        AUTO_MEM char *word = mem_printf("%.*s", (int)n, at);
        AUTO_MEM char *path = app_run_draft_path(c, word);
        struct stat found;
        if (n > 0 && n < WORD_MAX && word[0] != '/' && word[0] != '~' && stat(path, &found) == 0 &&
            S_ISREG(found.st_mode))
            return TAKE(word);
        at += n;
        at += strspn(at, SHELL_BREAKS);
    }
    return NULL;
}

void app_run_warn_code(struct app *app, const struct app_plan *p)
{
    const struct app_run_draft c = {.app = app, .plan = p};

    for (size_t i = 0; i < p->spec->n_stages; i++) {
        const struct spec_stage *stage = &p->spec->stages[i];
        AUTO_MEM char *name = stage->workdir || !stage->run ? NULL : file_beside(&c, stage->run);
        if (name)
            app_notice(app,
                       "%s:%zu: stage %s names %s, which it will not find: it has no workdir; "
                       "workdir: . gives it the files beside the pipeline's",
                       p->spec->file, stage->line, stage->name, name);
    }
}

/* ---- from elsewhere ---- */

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

/* ---- once for all stages ---- */

struct app_run_code {
    char *workdir, *git_ref; /* as the file has them; git_ref NULL = none */
    struct code code;
};

void app_run_codes_clear(struct app_run_codes *codes)
{
    for (size_t i = 0; i < codes->n; i++) {
        free(codes->items[i].workdir);
        free(codes->items[i].git_ref);
        code_clear(&codes->items[i].code);
    }
    free(codes->items);
    *codes = (struct app_run_codes){0};
}

static bool same_text(const char *one, const char *other)
{
    return one && other ? !strcmp(one, other) : one == other;
}

static const struct code *find_stored(const struct app_run_codes *codes,
                                      const struct spec_stage *stage)
{
    for (size_t i = 0; i < codes->n; i++)
        if (same_text(codes->items[i].workdir, stage->workdir) &&
            same_text(codes->items[i].git_ref, stage->workdir_ref))
            return &codes->items[i].code;
    return NULL;
}

/* NULL: e. Stages share what is stored, also when somebody saves a file meanwhile. */
static const struct code *store_once(struct app_run_draft *c,
                                     const struct spec_stage *stage,
                                     struct err *e)
{
    struct app_run_codes *codes = c->order->codes ? c->order->codes : &c->codes;
    const struct code *found = find_stored(codes, stage);
    AUTO_MEM char *path = app_run_draft_path(c, stage->workdir);

    if (found)
        return found;
    codes->items = mem_room(codes->items, codes->n, &codes->cap, sizeof *codes->items);
    struct app_run_code *made = &codes->items[codes->n];
    *made = (struct app_run_code){0};
    app_status(c->app, "storing the code of %.60s", stage->workdir);
    if ((is_far(stage) ? store_clone(c, stage, &made->code, e)
                       : code_store(c->lake, c->plan->config->home, path, &made->code, e)) < 0) {
        code_clear(&made->code);
        return NULL;
    }
    made->workdir = mem_dup(stage->workdir);
    made->git_ref = stage->workdir_ref ? mem_dup(stage->workdir_ref) : NULL;
    codes->n++;
    app_tell_code(c->app, stage->workdir, &made->code);
    return &made->code;
}

/* What of it decides whether the stage is run again. */
static int compose_picks(struct app_run_draft *c,
                         const struct spec_stage *stage,
                         const struct code *code,
                         struct run_stage_plan *out,
                         struct err *e)
{
    struct codefiles_cache cache = {0};

    out->all_code = stage->all_code;
    if (!stage->n_code)
        return 0;
    const struct codefiles *files = codefiles_of(c->lake, &cache, code->ref, e);
    const char *pattern = files ? codefiles_unmatched(files, stage->code, stage->n_code) : NULL;
    codefiles_cache_clear(&cache);
    if (!files || pattern)
        return pattern ? unmatched(c, stage, pattern, e) : -1;
    const char **picks = app_run_draft_alloc(c, stage->n_code, sizeof *picks);
    for (size_t i = 0; picks && i < stage->n_code; i++)
        picks[i] = app_run_draft_keep(c, stage->code[i]);
    out->picks = picks;
    out->n_picks = picks ? stage->n_code : 0;
    return 0;
}

int app_run_draft_code(struct app_run_draft *c,
                       const struct spec_stage *stage,
                       struct run_stage_plan *out,
                       struct err *e)
{
    if (!stage->workdir)
        return 0;
    const struct code *code = store_once(c, stage, e);
    if (!code)
        return err_wrap(e, "stage %s: workdir", stage->name);
    out->code = app_run_draft_keep(c, code->ref);
    out->commit = app_run_draft_keep(c, code->commit);
    out->dirty = code->dirty;
    return compose_picks(c, stage, code, out, e);
}
