/* What a run would read from outside the directory of its pipeline file: shown before the question.
 * start.c calls it. */
#include "app/run/compose.h"
#include "base/mem.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define READ(TYPE, member) FIELD(TYPE, struct app_run_read_source, member)
static const struct field read_fields[] = {
    {"stage", READ(TEXT, stage), .help = "Name of the stage."},
    {"source", READ(TEXT, source), .help = "File, directory or URI that is read."},
    {"target", READ(TEXT, target), .help = "Where file_mounts puts it; none for inputs.",
     .omit_none = true},
};
/* clang-format on */
const struct record app_run_read_source_record =
    RECORD("run_read_source", struct app_run_read_source, read_fields);

/* New string. */
static char *directory_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    AUTO_MEM char *directory =
        slash ? mem_printf("%.*s", (int)(slash - file) + 1, file) : mem_dup(".");

    return realpath(directory, NULL);
}

static bool is_below(const char *path, const char *directory)
{
    size_t n = strlen(directory);

    return !strcmp(directory, "/") ||
           (strncmp(path, directory, n) == 0 && (path[n] == '/' || !path[n]));
}

/* The source as it is shown, in the arena; NULL: it is below the directory, or of the lake. */
static const char *source_of(struct app_run_draft *c,
                             const struct spec_input *in,
                             const char *below)
{
    if (in->source == SPEC_FROM_URI)
        return app_run_draft_keep(c, in->from);
    if (in->source != SPEC_FROM_LOCAL)
        return NULL;
    AUTO_MEM char *path = app_run_draft_path(c, in->from);
    AUTO_MEM char *real = realpath(path, NULL);
    return real && below && is_below(real, below) ? NULL
                                                  : app_run_draft_keep(c, real ? real : path);
}

/* Rows of one input: one per path at which file_mounts puts it, else one. */
static size_t add(struct app_run_read_source *list,
                  const struct spec_stage *stage,
                  size_t input,
                  const char *source)
{
    size_t n = 0;

    for (size_t i = 0; i < stage->n_mounts; i++)
        if (stage->mounts[i].input == input)
            list[n++] = (struct app_run_read_source){stage->name, source, stage->mounts[i].target};
    if (n == 0)
        list[n++] = (struct app_run_read_source){stage->name, source, NULL};
    return n;
}

int app_run_list_reads(struct app *app,
                       const struct app_plan *p,
                       struct answer *out,
                       struct field_records *reads,
                       struct err *e)
{
    struct app_run_draft c = {.app = app, .plan = p, .arena = out->arena};
    AUTO_MEM char *below = directory_of(p->spec->file);
    size_t n = 0, room = 1;

    for (size_t i = 0; i < p->spec->n_stages; i++)
        room += p->spec->stages[i].n_inputs + p->spec->stages[i].n_mounts;
    struct app_run_read_source *list = answer_alloc(out, room, sizeof *list, e);
    for (size_t i = 0; list && i < p->spec->n_stages; i++)
        for (size_t k = 0; k < p->spec->stages[i].n_inputs; k++) {
            const struct spec_stage *stage = &p->spec->stages[i];
            const char *source = source_of(&c, &stage->inputs[k], below);
            if (source)
                n += add(list + n, stage, k, source);
        }
    if (c.too_large)
        return err_set(e, ERR_NOFIT, "the pipeline has too many inputs");
    *reads = (struct field_records){list, n};
    return list ? 0 : -1;
}
