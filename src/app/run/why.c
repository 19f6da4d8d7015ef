/* why: says whether a stage would be run again, and what changed since it last finished. The
 * operation run.start calls it. */
#include "app/run/start.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "broker/pipeline/stagecache.h"

#include <string.h>

/* clang-format off */
static const struct field why_fields[] = {
    {"stage", FIELD(TEXT, struct app_run_why, stage), .help = "Name of the stage."},
    {"reused", FIELD(BOOL, struct app_run_why, is_reused),
     .help = "Whether the output of an earlier job would be reused."},
    {"job", FIELD(INT, struct app_run_why, job),
     .help = "That job; of a stage that would be run, its last one that finished."},
    {"changes", FIELD(LIST, struct app_run_why, changes),
     .help = "What changed since that job finished."},
    {"code", FIELD(TEXT, struct app_run_why, code),
     .help = "Which files of its code decide."},
    {"used", FIELD(LIST, struct app_run_why, used), .omit_none = true,
     .help = "The files that the job was seen to use."},
};
/* clang-format on */
const struct record app_run_why_record = RECORD("run_why", struct app_run_why, why_fields);

int app_run_find_stage(const struct spec *spec,
                       const char *name,
                       const struct answer *out,
                       size_t *found,
                       struct err *e)
{
    AUTO_MEM const char **names = mem_zero(spec->n_stages + 1, sizeof *names);
    char option[64];

    for (size_t i = 0; i < spec->n_stages; i++) {
        names[i] = spec->stages[i].name;
        if (!strcmp(names[i], name)) {
            *found = i;
            return 0;
        }
    }
    const char *close = nearest(name, names, spec->n_stages);
    return err_set(e, ERR_USAGE, "%s: the pipeline has no stage %.60s%s%s%s",
                   answer_spell(out, "why", option), name, close ? "; did you mean " : "",
                   close ? close : "", close ? "?" : "");
}

/* The stages that it needs, however far. */
static void mark_needed(const struct spec *spec, size_t stage, bool *needed)
{
    needed[stage] = true;
    for (size_t n = spec->n_stages; n-- > 0;) {
        const struct spec_stage *s = &spec->stages[spec->topological[n]];
        for (size_t k = 0; needed[spec->topological[n]] && k < s->n_needs; k++)
            needed[s->needs[k]] = true;
    }
}

const struct app_run_why *app_run_ask_why(struct app *app,
                                          const struct spec *spec,
                                          struct run *run,
                                          size_t at,
                                          const struct answer *out,
                                          struct err *e)
{
    struct app_run_why *why = answer_alloc(out, 1, sizeof *why, e);
    AUTO_MEM bool *needed = mem_zero(spec->n_stages + 1, sizeof *needed);
    struct stagecache_answer answer = {0};
    struct lake *l = app_lake(app, e);
    struct runs *runs = l ? app_runs(app, e) : NULL;

    if (!why || !runs)
        return NULL;
    mark_needed(spec, at, needed);
    for (size_t n = 0; n < spec->n_stages; n++) {
        size_t i = spec->topological[n];
        struct stagecache_answer *to = i == at ? &answer : &(struct stagecache_answer){0};
        if (needed[i] && stagecache_ask(l, runs, run, i, out->arena, to, e) < 0) {
            err_wrap(e, "stage %s", run->stages[i].plan.name);
            return NULL;
        }
    }
    int64_t job = answer.job ? answer.job : answer.last;
    *why = (struct app_run_why){.stage = run->stages[at].plan.name,
                                .is_reused = answer.job != 0,
                                .job = job ? job : FIELD_NONE,
                                .changes = {answer.lines, answer.n_lines},
                                .code = answer.counts,
                                .used = {answer.used, answer.n_used}};
    return why;
}
