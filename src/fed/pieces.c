/* The content of matching files, cut into pieces that are averaged one by one. Neighbours
 * of one type that are neighbours in every file are cut together, so that many small tensors cost
 * no more than a large one. */
#include "base/arena.h"
#include "base/mem.h"
#include "fed/internal.h"

#include <assert.h>
#include <stdlib.h>

/* For the places of all tensors in all inputs. */
#define PLACES_MAX ((size_t)256 << 20)

/* Tensors that follow one another in every input. */
struct fed_run {
    enum fed_dtype dtype;
    size_t tensor; /* the first of them, in first->tensors */
    uint64_t offset, bytes;
    size_t first_piece;
    size_t piece_bytes;
};

struct fed_pieces *fed_pieces_new(const struct fed_file *first, size_t n_inputs, struct err *e)
{
    AUTO(fed_pieces) struct fed_pieces *p = mem_zero(1, sizeof *p);
    size_t all;

    p->arena = arena_new(PLACES_MAX);
    p->first = first;
    p->n_inputs = n_inputs;
    p->at = arena_alloc(p->arena, n_inputs, sizeof *p->at);
    p->tensors = arena_alloc(p->arena, first->n + 1, sizeof *p->tensors);
    p->runs = arena_alloc(p->arena, first->n + 1, sizeof *p->runs);
    uint64_t *places = __builtin_mul_overflow(n_inputs, first->n + 1, &all)
                           ? NULL
                           : arena_alloc(p->arena, all, sizeof *places);
    if (!p->at || !p->tensors || !p->runs || !places) {
        err_set(e, ERR_USAGE, "%zu files with %zu tensors each are too many at once", n_inputs,
                first->n);
        return NULL;
    }
    for (size_t i = 0; i < n_inputs; i++)
        p->at[i] = places + i * (first->n + 1);
    return TAKE(p);
}

void fed_pieces_free(struct fed_pieces *p)
{
    if (!p)
        return;
    arena_free(p->arena);
    free(p);
}

static int by_place(const void *a, const void *b)
{
    return fed_tensor_by_place(*(const struct fed_tensor *const *)a,
                               *(const struct fed_tensor *const *)b);
}

static bool follows(const struct fed_pieces *p, const struct fed_run *run, size_t tensor)
{
    const struct fed_tensor *t = &p->first->tensors[tensor];

    if (t->dtype != run->dtype)
        return false;
    for (size_t i = 0; i < p->n_inputs; i++)
        if (p->at[i][tensor] != p->at[i][run->tensor] + run->bytes)
            return false;
    return true;
}

static void add_to_runs(struct fed_pieces *p, const struct fed_tensor *t)
{
    size_t tensor = (size_t)(t - p->first->tensors);
    struct fed_run *last = p->n_runs ? &p->runs[p->n_runs - 1] : NULL;

    assert(p->runs);
    if (!t->bytes)
        return;
    if (last && follows(p, last, tensor))
        last->bytes += t->bytes;
    else
        p->runs[p->n_runs++] = (struct fed_run){
            .dtype = t->dtype, .tensor = tensor, .offset = t->offset, .bytes = t->bytes};
}

int fed_pieces_cut(struct fed_pieces *p, size_t max_bytes, struct err *e)
{
    uint64_t n = 0;

    assert(max_bytes && max_bytes % 8 == 0);
    for (size_t i = 0; i < p->first->n; i++)
        p->tensors[i] = &p->first->tensors[i];
    if (p->first->n)
        qsort(p->tensors, p->first->n, sizeof *p->tensors, by_place);
    for (size_t i = 0; i < p->first->n; i++)
        add_to_runs(p, p->tensors[i]);
    for (size_t i = 0; i < p->n_runs; i++) {
        p->runs[i].first_piece = (size_t)n;
        p->runs[i].piece_bytes = max_bytes;
        n += (p->runs[i].bytes - 1) / max_bytes + 1;
    }
    if (n > SIZE_MAX / 2)
        return err_set(e, ERR_USAGE, "too large for this machine");
    p->n = (size_t)n;
    return 0;
}

struct fed_piece fed_piece_get(const struct fed_pieces *p, size_t i)
{
    size_t low = 0, high = p->n_runs;

    assert(i < p->n);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(p->runs[middle].first_piece <= i ? &low : &high) = middle;
    }
    const struct fed_run *run = &p->runs[low];
    uint64_t skipped = (uint64_t)(i - run->first_piece) * run->piece_bytes;
    uint64_t left = run->bytes - skipped;
    size_t bytes = left < run->piece_bytes ? (size_t)left : run->piece_bytes;
    return (struct fed_piece){.dtype = run->dtype,
                              .count = bytes / fed_dtype_bytes(run->dtype),
                              .offset = run->offset + skipped,
                              .run = run};
}

uint64_t fed_piece_at(const struct fed_pieces *p, const struct fed_piece *piece, size_t input)
{
    return p->at[input][piece->run->tensor] + (piece->offset - piece->run->offset);
}

const struct fed_tensor *fed_piece_tensor(const struct fed_pieces *p,
                                          const struct fed_piece *piece,
                                          size_t i,
                                          uint64_t *within_out)
{
    size_t each = fed_dtype_bytes(piece->dtype), k = 0;
    uint64_t offset = piece->offset + (uint64_t)i * each;

    while (k + 1 < p->first->n && p->tensors[k + 1]->offset <= offset)
        k++;
    *within_out = (offset - p->tensors[k]->offset) / each;
    return p->tensors[k];
}
