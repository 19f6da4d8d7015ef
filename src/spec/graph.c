/* Names become indices; the stages become a DAG with one topological order. spec.c calls it. */
#include "base/mem.h"
#include "base/nearest.h"
#include "spec/reader.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct graph {
    struct reader *r;
    struct spec *spec;
    size_t *by_name; /* stage indices, sorted by name, then file order */
    bool *needed;    /* of the stage at hand, by index */
};

static int by_name_then_index(const void *a, const void *b, void *stages)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const struct spec_stage *all = stages;
    int order = strcmp(all[x].name, all[y].name);

    return order ? order : x < y ? -1 : x > y;
}

static void index_names(struct graph *g)
{
    const struct spec_stage *stages = g->spec->stages;
    size_t n = g->spec->n_stages;

    for (size_t i = 0; i < n; i++)
        g->by_name[i] = i;
    qsort_r(g->by_name, n, sizeof *g->by_name, by_name_then_index, g->spec->stages);
    for (size_t i = 1, first = 0; i < n; i++) {
        const struct spec_stage *stage = &stages[g->by_name[i]];
        if (strcmp(stages[g->by_name[first]].name, stage->name) != 0)
            first = i;
        else
            reader_error(g->r, stage->line, "two stages are named %s: the first is on line %zu",
                         reader_quote(g->r, stage->name), stages[g->by_name[first]].line);
    }
}

/* The stage whose name is the first len bytes of text, or SIZE_MAX. */
static size_t find_stage(const struct graph *g, const char *text, size_t len)
{
    size_t low = 0, high = g->spec->n_stages;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *name = g->spec->stages[g->by_name[middle]].name;
        int order = strncmp(name, text, len);
        if (order == 0 && name[len])
            order = 1;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == g->spec->n_stages)
        return SIZE_MAX;
    const char *name = g->spec->stages[g->by_name[low]].name;
    return strlen(name) == len && strncmp(name, text, len) == 0 ? g->by_name[low] : SIZE_MAX;
}

static void need(struct graph *g, size_t stage, size_t needed, size_t line)
{
    if (stage == needed)
        reader_error(g->r, line, "needs itself");
    else
        g->needed[needed] = true;
}

static void unknown_stage(struct graph *g, const char *name, size_t line)
{
    AUTO_MEM const char **names = mem_zero(g->spec->n_stages, sizeof *names);

    for (size_t i = 0; i < g->spec->n_stages; i++)
        names[i] = g->spec->stages[i].name;
    const char *close = nearest(name, names, g->spec->n_stages);
    if (close)
        reader_error(g->r, line, "needs: no stage is named %s: did you mean %s?",
                     reader_quote(g->r, name), close);
    else
        reader_error(g->r, line, "needs: no stage is named %s", reader_quote(g->r, name));
}

static void need_named(struct graph *g, size_t stage, const struct yaml_node *node, size_t line)
{
    struct reader_value v = {g->r, "needs", line, node};
    const char *name;

    if (!reader_name(&v, &name))
        return;
    size_t found = find_stage(g, name, strlen(name));
    if (found == SIZE_MAX)
        unknown_stage(g, name, line);
    else if (g->needed[found])
        reader_warn(g->r, line, "needs: %s is listed twice", reader_quote(g->r, name));
    else
        need(g, stage, found, line);
}

static void read_needs(struct graph *g, size_t stage)
{
    const struct draft *draft = &g->r->drafts[stage];

    if (!draft->needs) {
        if (stage > 0 && !g->r->parallel)
            g->needed[stage - 1] = true;
    } else if (draft->needs->kind == YAML_SCALAR) {
        need_named(g, stage, draft->needs, draft->needs_line);
    } else {
        for (size_t i = 0; i < draft->needs->n; i++)
            need_named(g, stage, draft->needs->items[i], draft->needs->items[i]->line);
    }
}

static size_t find_output(const struct spec_stage *stage, const char *name)
{
    for (size_t i = 0; i < stage->n_outputs; i++)
        if (strcmp(stage->outputs[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

static bool is_on_disk(const struct reader *r, const char *path)
{
    if (!r->base_dir)
        return false;
    AUTO_MEM char *full = disk_path(path, r->base_dir);
    return access(full, F_OK) == 0;
}

static void no_such_output(struct graph *g,
                           const struct draft_input *input,
                           const struct spec_stage *stage,
                           const char *name)
{
    AUTO_MEM const char **names = mem_zero(stage->n_outputs, sizeof *names);

    for (size_t i = 0; i < stage->n_outputs; i++)
        names[i] = stage->outputs[i].name;
    const char *close = nearest(name, names, stage->n_outputs);
    if (close)
        reader_error(g->r, input->line, "input %s: stage %s has no output %s: did you mean %s.%s?",
                     reader_quote(g->r, input->from), stage->name, reader_quote(g->r, name),
                     stage->name, close);
    else
        reader_error(g->r, input->line,
                     "input %s: stage %s has no output %s: add it to the outputs of %s, or write "
                     "./%s for a file",
                     reader_quote(g->r, input->from), stage->name, reader_quote(g->r, name),
                     stage->name, input->from);
}

/* Both names may hold dots: the first dot that separates a stage from one of its outputs counts. */
static bool refers_to_stage(struct graph *g, struct draft_input *input)
{
    const char *missing = NULL;
    size_t of = SIZE_MAX;

    for (const char *dot = strchr(input->from, '.'); dot; dot = strchr(dot + 1, '.')) {
        size_t stage = find_stage(g, input->from, (size_t)(dot - input->from));
        if (stage == SIZE_MAX)
            continue;
        size_t output = find_output(&g->spec->stages[stage], dot + 1);
        if (output != SIZE_MAX) {
            input->is_known = true;
            input->source = SPEC_FROM_STAGE;
            input->stage = stage;
            input->output = output;
            return true;
        }
        if (!missing) {
            missing = dot + 1;
            of = stage;
        }
    }
    if (!missing || is_on_disk(g->r, input->from))
        return false;
    no_such_output(g, input, &g->spec->stages[of], missing);
    return true;
}

static const struct {
    const char *name;
    const char *cloud; /* NULL: the scheme does not say where the data lies */
} schemes[] = {
    {"s3", "aws"}, {"gs", "gcp"},        {"az", "azure"}, {"https", NULL},      {"http", NULL},
    {"hf", NULL},  {"r2", "cloudflare"}, {"oci", "oci"},  {"nebius", "nebius"}, {"cos", "ibm"},
};

#define N_SCHEMES (sizeof schemes / sizeof *schemes)

static bool unknown_scheme(struct reader *r, const struct draft_input *input, size_t len)
{
    const char *names[N_SCHEMES];
    const char *given = reader_printf(r, "%.*s", (int)(len < 40 ? len : 40), input->from);

    for (size_t i = 0; i < N_SCHEMES; i++)
        names[i] = schemes[i].name;
    const char *close = given ? nearest(given, names, N_SCHEMES) : NULL;
    if (close)
        reader_error(r, input->line, "input %s: unknown scheme, did you mean %s://?",
                     reader_quote(r, input->from), close);
    else
        reader_error(r, input->line, "input %s: unknown scheme, use s3, gs, az, https or a path",
                     reader_quote(r, input->from));
    return false;
}

/* Azure's buckets are also named by their web address. */
static bool is_azure_blob(const char *uri)
{
    const char *host = strstr(uri, "://") + 3;
    const char *blob = strstr(host, ".blob.core.windows.net");

    return blob && blob < host + strcspn(host, "/");
}

/* No lake reference begins so. */
static bool is_plainly_path(const char *text)
{
    return !strncmp(text, "./", 2) || !strncmp(text, "../", 3) || !strncmp(text, "~/", 2);
}

/* A reference other than to an output of a stage. False after an error. */
static bool classify(struct reader *r, struct draft_input *input)
{
    const char *colon = strstr(input->from, "://");

    if (colon) {
        size_t len = (size_t)(colon - input->from);
        for (size_t i = 0; i < N_SCHEMES; i++)
            if (strlen(schemes[i].name) == len &&
                strncasecmp(schemes[i].name, input->from, len) == 0) {
                input->source = SPEC_FROM_URI;
                input->cloud = schemes[i].cloud;
                if (!input->cloud && input->is_mount && is_azure_blob(input->from))
                    input->cloud = "azure";
                return true;
            }
        return unknown_scheme(r, input, len);
    }
    bool is_lake =
        strncmp(input->from, "lake:", 5) == 0 ||
        (!input->is_mount && !is_plainly_path(input->from) && strpbrk(input->from, "@#"));
    input->source = is_lake ? SPEC_FROM_LAKE : SPEC_FROM_LOCAL;
    return true;
}

static void classify_inputs(struct graph *g, size_t stage)
{
    struct draft *draft = &g->r->drafts[stage];

    for (size_t i = 0; i < draft->n_inputs; i++) {
        struct draft_input *input = &draft->inputs[i];
        if (input->is_mount || !refers_to_stage(g, input))
            input->is_known = classify(g->r, input);
        else if (input->is_known && input->has_place)
            reader_error(g->r, input->line, "input %s: is where stage %s runs: remove its location",
                         reader_quote(g->r, input->from), g->spec->stages[input->stage].name);
        if (input->is_known && input->source == SPEC_FROM_STAGE)
            need(g, stage, input->stage, input->line);
    }
}

static void settle_needs(struct graph *g, struct spec_stage *stage)
{
    size_t n = 0;

    for (size_t i = 0; i < g->spec->n_stages; i++)
        n += g->needed[i];
    stage->needs = reader_alloc(g->r, n, sizeof *stage->needs);
    for (size_t i = 0; stage->needs && i < g->spec->n_stages; i++)
        if (g->needed[i])
            stage->needs[stage->n_needs++] = i;
}

/* Follows unfinished needs until a stage comes up again, and names the way round. */
static void report_cycle(struct graph *g, const bool *done, size_t from)
{
    const struct spec_stage *stages = g->spec->stages;
    AUTO_MEM size_t *next = mem_zero(g->spec->n_stages, sizeof *next);
    AUTO_MEM bool *seen = mem_zero(g->spec->n_stages, sizeof *seen);
    char way[300];
    size_t used = 0;

    while (!seen[from]) {
        const struct spec_stage *stage = &stages[from];
        size_t i = 0;
        seen[from] = true;
        while (done[stage->needs[i]])
            i++;
        from = next[from] = stage->needs[i];
    }
    size_t at = from;
    do {
        int n = snprintf(way + used, sizeof way - used, "%s (line %zu) needs ", stages[at].name,
                         stages[at].line);
        used += n > 0 ? (size_t)n : 0;
        at = next[at];
    } while (at != from && used < sizeof way);
    if (used < sizeof way)
        reader_error(g->r, stages[from].line, "stages need each other: %s%s", way,
                     stages[from].name);
    else
        reader_error(g->r, stages[from].line, "stages need each other: %s...", way);
}

/* The first stage in file order whose needs are done comes next. */
static void sort_topologically(struct graph *g)
{
    size_t n = g->spec->n_stages;
    size_t *order = reader_alloc(g->r, n, sizeof *order);
    AUTO_MEM bool *done = mem_zero(n, sizeof *done);
    size_t placed = 0;

    while (order && placed < n) {
        size_t ready = SIZE_MAX, waiting = SIZE_MAX;
        for (size_t i = 0; i < n && ready == SIZE_MAX; i++) {
            const struct spec_stage *stage = &g->spec->stages[i];
            size_t k = 0;
            if (done[i])
                continue;
            while (k < stage->n_needs && done[stage->needs[k]])
                k++;
            if (k == stage->n_needs)
                ready = i;
            else if (waiting == SIZE_MAX)
                waiting = i;
        }
        if (ready == SIZE_MAX) {
            report_cycle(g, done, waiting);
            break;
        }
        done[ready] = true;
        order[placed++] = ready;
    }
    g->spec->topological = placed == n ? order : NULL;
}

void spec_graph_resolve(struct reader *r)
{
    struct spec *spec = r->spec;
    struct graph g = {.r = r, .spec = spec};

    g.by_name = mem_zero(spec->n_stages, sizeof *g.by_name);
    g.needed = mem_zero(spec->n_stages, sizeof *g.needed);
    index_names(&g);
    for (size_t i = 0; i < spec->n_stages; i++) {
        r->stage = spec->stages[i].name;
        memset(g.needed, 0, spec->n_stages * sizeof *g.needed);
        read_needs(&g, i);
        classify_inputs(&g, i);
        settle_needs(&g, &spec->stages[i]);
    }
    r->stage = NULL;
    if (!r->is_full)
        sort_topologically(&g);
    free(g.by_name);
    free(g.needed);
}
