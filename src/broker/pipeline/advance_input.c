/* Makes the input set of a stage from references and the outputs of earlier stages, and tells what
 * is in it. advance_job.c and stagecache.c call it. */
#include "base/mem.h"
#include "broker/core/details.h"
#include "broker/pipeline/advance.h"
#include "broker/pipeline/internal.h"
#include "lake/set/set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void refs_clear(struct refs *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->texts[i]);
    free(r->texts);
}

static void add_ref(struct refs *r, char *text)
{
    r->texts = mem_room(r->texts, r->n, &r->cap, sizeof *r->texts);
    r->texts[r->n++] = text;
}

/* An output is a directory of the set that its stage's job made, or a file there. New string. */
static char *ref_of_output(struct advance *a, const struct run_input *in, struct err *e)
{
    const struct run_stage *from = &a->run->stages[in->stage];
    struct job_outcome found;

    if (advance_read_job(a, from->job, &found, e) < 0)
        return NULL;
    if (!found.output_set[0]) {
        err_set(e, ERR_NOTFOUND, "stage %s left nothing in $TRADEWIND_OUTPUT", from->plan.name);
        return NULL;
    }
    if (!in->output[0])
        return mem_dup(found.output_set);
    return mem_printf("/%s/%s%s%s", from->plan.output, in->output,
                      job_output_is_file(in->output) ? "" : "/", found.output_set);
}

/* The same of what is named outright. */
static char *ref_of(struct advance *a, const struct run_input *in, struct err *e)
{
    return in->ref ? mem_dup(in->ref) : ref_of_output(a, in, e);
}

int advance_refs(struct advance *a, size_t i, struct refs *out, struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;

    for (size_t k = 0; k < p->n_inputs; k++) {
        char *ref = ref_of(a, &p->inputs[k], e);
        if (!ref)
            return -1;
        add_ref(out, ref);
    }
    return 0;
}

int advance_make_input(
    struct advance *a, size_t i, const struct refs *refs, char **ref_out, struct err *e)
{
    AUTO_MEM char *name =
        advance_set_name(a->run->name, a->run->stages[i].plan.name, RUN_INPUT_SUFFIX);
    struct lake_set set;

    *ref_out = NULL;
    if (refs->n == 0)
        return 0;
    if (lake_set_create(a->lake,
                        &(struct lake_set_request){.name = name,
                                                   .refs = (const char *const *)refs->texts,
                                                   .n_refs = refs->n},
                        &set, e) < 0)
        return -1;
    *ref_out = lake_ref_of_set(name, set.number);
    return 0;
}

/* ---- repeating a job ---- */

static int swap_input(struct advance *a,
                      const struct lake_ref *base,
                      const struct lake_swap *swaps,
                      size_t n,
                      char **input_out,
                      struct err *e)
{
    AUTO_MEM char *old = lake_ref_of_set(base->set_name, base->number);
    struct lake_set set;

    /* The input is itself one of those that are replaced. */
    for (size_t k = 0; k < n; k++) {
        if (strcmp(swaps[k].old_set, old) == 0) {
            *input_out = mem_printf("%s%s", base->path[1] ? base->path : "", swaps[k].new_set);
            return 0;
        }
    }
    if (lake_set_swap(a->lake, base, swaps, n, &set, e) < 0)
        return -1;
    AUTO_MEM char *ref = lake_ref_of_set(base->set_name, set.number);
    *input_out = mem_printf("%s%s", base->path[1] ? base->path : "", ref);
    return 0;
}

int advance_repeat_input(struct advance *a, size_t i, char **input_out, struct err *e)
{
    const struct run_stage_plan *p = &a->run->stages[i].plan;
    AUTO_CLEAR(lake_ref) struct lake_ref base = {0};
    AUTO_CLEAR(refs) struct refs now = {0};
    int there = 0;

    if (!p->input)
        return 0;
    if (p->restores && (there = advance_is_there(a->lake, p->input, e)) < 0)
        return -1;
    if (there || p->n_swaps == 0) {
        *input_out = mem_dup(p->input);
        return 0;
    }
    if (lake_resolve(a->lake, p->input, LAKE_READ, &base, e) < 0)
        return -1;
    AUTO_MEM struct lake_swap *swaps = mem_zero(p->n_swaps, sizeof *swaps);
    for (size_t k = 0; k < p->n_swaps; k++) {
        /* What stands in place of a set version that the recorded input held. */
        char *ref = ref_of(a, &p->swaps[k].now, e);
        if (!ref)
            return -1;
        add_ref(&now, ref);
        swaps[k] = (struct lake_swap){p->swaps[k].set, ref};
    }
    return swap_input(a, &base, swaps, p->n_swaps, input_out, e);
}

/* ---- what the input is ---- */

static int hash_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    char number[24];
    int n = snprintf(number, sizeof number, "#%" PRId64, entry->number);

    (void)e;
    sha256_add(context, entry->path, strlen(entry->path));
    sha256_add(context, number, (size_t)n + 1);
    return 0;
}

int advance_hash_input(struct advance *a, const struct refs *refs, struct sha256 *h, struct err *e)
{
    for (size_t i = 0; i < refs->n; i++) {
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        if (lake_resolve(a->lake, refs->texts[i], LAKE_READ, &ref, e) < 0 ||
            lake_every_file(a->lake, &ref, hash_entry, h, e) < 0)
            return -1;
    }
    return 0;
}

int advance_input_texts(struct advance *a, const struct refs *refs, struct refs *out, struct err *e)
{
    AUTO(sha256) struct sha256 *h = sha256_new();

    for (size_t i = 0; i < refs->n; i++) {
        const struct refs one = {.texts = refs->texts + i, .n = 1};
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        char hex[SHA256_HEX];
        if (lake_resolve(a->lake, refs->texts[i], LAKE_READ, &ref, e) < 0 ||
            advance_hash_input(a, &one, h, e) < 0)
            return -1;
        struct sha256_digest digest = sha256_take(h);
        AUTO_MEM char *text = lake_ref_text(&ref);
        add_ref(out, mem_printf("%s %s", text, sha256_text(&digest, hex)));
    }
    return 0;
}

int advance_is_there(struct lake *l, const char *text, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake_gone gone;

    if (lake_resolve(l, text, LAKE_READ, &ref, NULL) < 0)
        return 0;
    return lake_set_gone(l, &ref, &gone, e) < 0 ? -1 : gone.files == 0;
}
