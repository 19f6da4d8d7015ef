/* Datasets: one size and one location each, however many stages read them; then sizes along the
 * stages. spec.c calls it. */
#include "base/mem.h"
#include "spec/reader.h"
#include "spec/value.h"

#include <errno.h>
#include <fts.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Entries of all local inputs together that are looked at. */
#define MAX_DISK_ENTRIES 1000000

char *disk_path(const char *path, const char *base_dir)
{
    const char *home = getenv("HOME");

    if (path[0] == '~' && (path[1] == '/' || !path[1]) && home)
        return mem_printf("%s%s", home, path + 1);
    if (path[0] == '/')
        return mem_dup(path);
    return mem_printf("%s/%s", base_dir, path);
}

int disk_size(const char *path, size_t *entries_left, double *bytes_out, bool *is_cut)
{
    AUTO_MEM char *root = mem_dup(path);
    char *const roots[] = {root, NULL};
    /* The user may name a link; what lies below is not chased around the disk. */
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    int result = 0;

    *bytes_out = 0;
    *is_cut = false;
    if (!walk)
        return -1;
    while ((entry = fts_read(walk))) {
        if ((entry->fts_info == FTS_NS || entry->fts_info == FTS_SLNONE) &&
            entry->fts_level == FTS_ROOTLEVEL) {
            errno = entry->fts_errno ? entry->fts_errno : ENOENT;
            result = -1;
            break;
        }
        if (*entries_left == 0) {
            *is_cut = true;
            break;
        }
        *entries_left -= entry->fts_info != FTS_DP;
        if (entry->fts_info == FTS_F)
            *bytes_out += (double)entry->fts_statp->st_size;
        *is_cut |= entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR;
    }
    int saved = errno;
    fts_close(walk);
    errno = saved;
    return result;
}

/* One mention of a dataset that no stage makes. */
struct mention {
    struct draft_input *input;
    size_t stage, rank;
};

static int by_from_then_rank(const void *a, const void *b)
{
    const struct mention *x = a, *y = b;
    int order = strcmp(x->input->from, y->input->from);

    return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static const char *stage_name(const struct reader *r, const struct mention *m)
{
    return r->spec->stages[m->stage].name;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static const char *place_text(struct reader *r, const struct spec_place *p)
{
    const char *text = reader_printf(r, "%s%s%s", p->cloud ? p->cloud : "*", p->region ? "/" : "",
                                     p->region ? p->region : "");
    return text ? text : "a location";
}

/* The size and location that the mentions give, checked against each other. */
static struct draft_input agree(struct reader *r, const struct mention *mentions, size_t n)
{
    struct draft_input all = *mentions[0].input;
    const struct draft_input *sized = NULL, *placed = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct draft_input *in = mentions[i].input;
        r->stage = stage_name(r, &mentions[i]);
        if (in->has_size && sized && in->size_gb != sized->size_gb)
            reader_error(r, in->line,
                         "input %s: size %.15g GB disagrees with line %zu, which says %.15g GB",
                         reader_quote(r, in->from), in->size_gb, sized->line, sized->size_gb);
        if (in->has_place && placed &&
            (!same_text(in->place.cloud, placed->place.cloud) ||
             !same_text(in->place.region, placed->place.region)))
            reader_error(r, in->line,
                         "input %s: location %s disagrees with line %zu, which says %s",
                         reader_quote(r, in->from), place_text(r, &in->place), placed->line,
                         place_text(r, &placed->place));
        if (in->has_size && !sized)
            sized = in;
        if (in->has_place && !placed)
            placed = in;
        all.is_mount &= in->is_mount;
    }
    all.has_size = sized;
    all.size_gb = sized ? sized->size_gb : 0;
    all.has_place = placed;
    all.place = placed ? placed->place : (struct spec_place){0};
    return all;
}

/* Notes a guess of the stage at hand: of: "size of" something. */
static void guess(
    struct reader *r, const char *of, const char *name, const char *value, const char *why)
{
    const char *what = reader_printf(r, "%s: %s %s", r->stage, of, name);

    if (what)
        guess_add(&r->spec->guesses, what, value, why);
}

/* A local path: looked at, unless it cannot be (no directory to start from, an unset variable). */
static void detect_size(struct reader *r,
                        const struct mention *first,
                        struct draft_input *all,
                        size_t *entries_left)
{
    double bytes;
    bool is_cut;
    char value[64];

    if (all->source != SPEC_FROM_LOCAL || !r->base_dir ||
        (all->is_mount && strchr(all->from, '$'))) {
        guess(r, "size of", all->from, "0 GB", "not given and cannot be detected here");
        return;
    }
    AUTO_MEM char *path = disk_path(all->from, r->base_dir);
    if (disk_size(path, entries_left, &bytes, &is_cut) < 0) {
        const char *why = strerror(errno);
        if (all->is_mount) {
            reader_warn(r, first->input->line, "file_mounts: %s: %s", reader_quote(r, all->from),
                        why);
            guess(r, "size of", all->from, "0 GB", "not on this machine");
        } else {
            reader_error(r, first->input->line,
                         "input %s: %s: give its size to plan without it, or correct the path",
                         reader_quote(r, all->from), why);
        }
        return;
    }
    all->size_gb = bytes / 1e9;
    snprintf(value, sizeof value, "%.6g GB", all->size_gb);
    if (is_cut)
        guess(r, "size of", all->from, value,
              "too many files, or some that cannot be read: counted in part");
}

static void settle_place(struct reader *r, const struct mention *first, struct draft_input *all)
{
    if (!all->has_place && all->source != SPEC_FROM_URI)
        all->place = (struct spec_place){"local", "local"};
    if (!all->place.cloud)
        all->place.cloud = all->cloud;
    if (!all->place.cloud && all->is_mount) {
        all->place = (struct spec_place){"local", "local"};
        guess(r, "location of", all->from, "local", "its address does not name a cloud");
        return;
    }
    if (!all->place.cloud) {
        reader_error(
            r, first->input->line,
            "input %s: needs a location, such as location: aws/us-east-1 or location: local",
            reader_quote(r, all->from));
        return;
    }
    if (!all->place.region)
        guess(r, "location of", all->from, "in the region of the stage that reads it",
              "no region given");
}

/* Gives every mention of one dataset the same size and location. */
static void settle_dataset(struct reader *r,
                           const struct mention *mentions,
                           size_t n,
                           size_t *entries_left)
{
    struct draft_input all = agree(r, mentions, n);

    r->stage = stage_name(r, &mentions[0]);
    settle_place(r, &mentions[0], &all);
    if (!all.has_size)
        detect_size(r, &mentions[0], &all, entries_left);
    for (size_t i = 0; i < n; i++) {
        mentions[i].input->size_gb = all.size_gb;
        mentions[i].input->place = all.place;
    }
    r->stage = NULL;
}

static int by_rank(const void *a, const void *b)
{
    const struct mention *const *x = a, *const *y = b;

    return (*x)->rank < (*y)->rank ? -1 : (*x)->rank > (*y)->rank;
}

/* Datasets in the order in which the file first mentions them, so that guesses come in order. */
static void settle_in_file_order(struct reader *r, struct mention *sorted, size_t n)
{
    AUTO_MEM const struct mention **firsts = mem_zero(n, sizeof(const struct mention *));
    size_t n_firsts = 0, entries_left = MAX_DISK_ENTRIES;

    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(sorted[i].input->from, sorted[i - 1].input->from) != 0)
            firsts[n_firsts++] = &sorted[i];
    qsort(firsts, n_firsts, sizeof(const struct mention *), by_rank);
    for (size_t i = 0; i < n_firsts; i++) {
        size_t group = 1;
        while (firsts[i] + group < sorted + n &&
               strcmp(firsts[i][group].input->from, firsts[i]->input->from) == 0)
            group++;
        settle_dataset(r, firsts[i], group, &entries_left);
    }
}

static void settle_outside(struct reader *r)
{
    AUTO_MEM struct mention *all = mem_zero(r->n_inputs, sizeof *all);
    size_t n = 0;

    for (size_t s = 0; s < r->spec->n_stages; s++)
        for (size_t i = 0; i < r->drafts[s].n_inputs; i++) {
            struct draft_input *input = &r->drafts[s].inputs[i];
            if (input->is_known && input->source != SPEC_FROM_STAGE) {
                all[n] = (struct mention){input, s, n};
                n++;
            }
        }
    qsort(all, n, sizeof *all, by_from_then_rank);
    settle_in_file_order(r, all, n);
}

static bool has_input(const struct spec_stage *stage, const char *from)
{
    for (size_t i = 0; i < stage->n_inputs; i++)
        if (strcmp(stage->inputs[i].from, from) == 0)
            return true;
    return false;
}

static size_t count_inherited(const struct reader *r, const struct spec_stage *stage)
{
    size_t n = 0;

    for (size_t i = 0; i < stage->n_needs; i++)
        n += r->spec->stages[stage->needs[i]].n_outputs;
    return n;
}

/* Without `inputs`, a stage reads every output of the stages it needs. */
static void inherit_inputs(struct reader *r, struct spec_stage *stage)
{
    for (size_t i = 0; i < stage->n_needs; i++) {
        const struct spec_stage *maker = &r->spec->stages[stage->needs[i]];
        for (size_t k = 0; k < maker->n_outputs && !r->is_full; k++)
            stage->inputs[stage->n_inputs++] = (struct spec_input){
                .from = reader_printf(r, "%s.%s", maker->name, maker->outputs[k].name),
                .source = SPEC_FROM_STAGE,
                .stage = stage->needs[i],
                .output = k,
                .line = stage->line};
    }
}

static void build_inputs(struct reader *r, size_t index)
{
    struct spec_stage *stage = &r->spec->stages[index];
    const struct draft *draft = &r->drafts[index];
    size_t inherited = draft->has_inputs ? 0 : count_inherited(r, stage);

    r->n_inputs += inherited;
    if (r->n_inputs > SPEC_MAX_DATASETS) {
        reader_error(r, stage->line,
                     "more than %d inputs in one file, counting the outputs of the "
                     "stages each needs: list what it reads in inputs",
                     SPEC_MAX_DATASETS);
        return;
    }
    stage->inputs = reader_alloc(r, inherited + draft->n_inputs, sizeof *stage->inputs);
    if (!stage->inputs)
        return;
    if (inherited)
        inherit_inputs(r, stage);
    for (size_t i = 0; i < draft->n_inputs && !r->is_full; i++) {
        const struct draft_input *in = &draft->inputs[i];
        if (in->is_known && !has_input(stage, in->from))
            stage->inputs[stage->n_inputs++] = (struct spec_input){
                in->from, in->source, in->stage, in->output, in->size_gb, in->place, in->line};
    }
}

static size_t find_input(const struct spec_stage *stage, const char *from)
{
    size_t i = 0;

    while (i < stage->n_inputs && strcmp(stage->inputs[i].from, from) != 0)
        i++;
    return i;
}

static void build_mounts(struct reader *r, size_t index)
{
    struct spec_stage *stage = &r->spec->stages[index];
    const struct draft *draft = &r->drafts[index];

    stage->mounts = reader_alloc(r, draft->n_inputs + draft->n_empty, sizeof *stage->mounts);
    for (size_t i = 0; stage->mounts && i < draft->n_inputs; i++) {
        const struct draft_input *in = &draft->inputs[i];
        if (in->is_known && in->target)
            stage->mounts[stage->n_mounts++] =
                (struct spec_mount){in->target, find_input(stage, in->from), in->line};
    }
    for (size_t i = 0; stage->mounts && i < draft->n_empty; i++)
        stage->mounts[stage->n_mounts++] = draft->empty_mounts[i];
}

/* A size that a reader gives for an output whose maker gives none is the output's. */
static void adopt_sizes(struct reader *r, const struct draft *draft)
{
    for (size_t i = 0; i < draft->n_inputs; i++) {
        const struct draft_input *in = &draft->inputs[i];
        if (!in->is_known || in->source != SPEC_FROM_STAGE || !in->has_size)
            continue;
        struct draft_size *size = &r->drafts[in->stage].sizes[in->output];
        if (!size->is_said)
            *size = (struct draft_size){.is_said = true, .value = in->size_gb};
    }
}

static void check_given_sizes(struct reader *r, const struct draft *draft)
{
    for (size_t i = 0; i < draft->n_inputs; i++) {
        const struct draft_input *in = &draft->inputs[i];
        if (!in->is_known || in->source != SPEC_FROM_STAGE || !in->has_size)
            continue;
        const struct spec_output *output = &r->spec->stages[in->stage].outputs[in->output];
        if (fabs(in->size_gb - output->size_gb) > 1e-9 * (1 + output->size_gb))
            reader_error(r, in->line,
                         "input %s: size %.15g GB disagrees with line %zu, which makes it %.15g GB",
                         reader_quote(r, in->from), in->size_gb, output->line, output->size_gb);
    }
}

static void size_outputs(struct reader *r, size_t index, double total_gb)
{
    struct spec_stage *stage = &r->spec->stages[index];

    for (size_t i = 0; i < stage->n_outputs; i++) {
        const struct draft_size *size = &r->drafts[index].sizes[i];
        struct spec_output *output = &stage->outputs[i];

        output->size_gb = size->is_factor ? size->value * total_gb : size->value;
        if (!size->is_said)
            guess(r, "size of", output->name, "0 GB", "not given");
        if (output->size_gb > VALUE_MAX_GB) {
            reader_error(r, output->line, "output %s: %.15g times %.15g GB of input is over 1e9 GB",
                         reader_quote(r, output->name), size->value, total_gb);
            output->size_gb = 0;
        }
        if (size->is_factor && stage->n_inputs == 0)
            reader_warn(r, output->line, "output %s: %.15gx of no input is 0 GB",
                        reader_quote(r, output->name), size->value);
    }
}

static void size_stage(struct reader *r, size_t index)
{
    struct spec_stage *stage = &r->spec->stages[index];
    double total_gb = 0;

    r->stage = stage->name;
    check_given_sizes(r, &r->drafts[index]);
    for (size_t i = 0; i < stage->n_inputs; i++) {
        struct spec_input *in = &stage->inputs[i];
        if (in->source == SPEC_FROM_STAGE)
            in->size_gb = r->spec->stages[in->stage].outputs[in->output].size_gb;
        total_gb += in->size_gb;
    }
    if (r->drafts[index].work_is_input || stage->estimate.kind == SPEC_ESTIMATE_GUESS)
        stage->estimate.work = total_gb;
    size_outputs(r, index, total_gb);
    r->stage = NULL;
}

void datasets_resolve(struct reader *r)
{
    settle_outside(r);
    if (!r->spec->topological)
        return;
    for (size_t i = 0; i < r->spec->n_stages; i++) {
        r->stage = r->spec->stages[i].name;
        build_inputs(r, i);
        if (!r->is_full && r->spec->stages[i].inputs)
            build_mounts(r, i);
        adopt_sizes(r, &r->drafts[i]);
        r->stage = NULL;
    }
    for (size_t i = 0; i < r->spec->n_stages && !r->is_full; i++)
        size_stage(r, r->spec->topological[i]);
}
