#include "fed/average.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "fed/internal.h"
#include "fed/kernels.h"
#include "fed/packing.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Of each input at a time, unless told: smaller ones cost calls, larger ones leave the processor's
 * caches. */
#define PIECE_BYTES ((size_t)128 << 10)
/* Beyond each: at distances of a power of two all inputs would fall into the same lines of the
 * first cache. */
#define STAGGER_BYTES ((size_t)64 * 9)
/* Trimming needs a piece of all inputs at once: of all together about this much, of each at least
 * the other. */
#define TRIM_BYTES ((size_t)1 << 20)
#define TRIM_PIECE_LEAST ((size_t)512)
/* So that memory is bounded on any machine; far fewer reach the limit of its memory's speed. */
#define THREADS_MAX 64

/* A piece, and what a thread needs for it. */
struct scratch {
    struct fed_piece piece;
    size_t nonfinite; /* numbers of its mean */
    char *bytes;
    void **in; /* in bytes: room for a piece of each of as many inputs as are taken at a time */
    const void *viewed[FED_GROUP]; /* where they are read: in place, or in `in` */
    double *sum, *rest, *rows;
    void *out;
    struct scratch *next;
};

/* In memory that processes share, where they do the work. */
struct tally {
    _Atomic uint64_t done_bytes, nonfinite;
};

struct work {
    const struct fed_average *a;
    const struct fed_sink *sink;
    const struct fed_kernels *kernels;
    struct fed_source *inputs; /* plain ones, whatever was given */
    struct fed_unpacked **unpacked;
    struct fed_file *first;
    struct fed_pieces *pieces;
    size_t piece_bytes;
    size_t *parts; /* inputs that have part in the mean */
    double *weights;
    size_t n_parts;
    double total;
    size_t drop;
    uint64_t all_bytes;
    struct tally *tally;
    bool in_place;        /* inputs are looked at where they lie */
    pthread_mutex_t lock; /* guards what follows, and calls of progress */
    struct scratch *spare;
};

/* ---- what is asked for ---- */

static int check_weights(const struct fed_average *a, struct err *e)
{
    double total = 0;

    for (size_t i = 0; i < a->n; i++) {
        if (!(a->weights[i] >= 0 && a->weights[i] <= DBL_MAX))
            return err_set(e, ERR_USAGE, "the weight of %s is not a number from 0 up",
                           a->inputs[i].name);
        total += a->weights[i];
    }
    if (!(total > 0 && total <= DBL_MAX))
        return err_set(e, ERR_USAGE, "the weights add up to %s", total > 0 ? "too much" : "0");
    if (a->trim > 0)
        return err_set(e, ERR_USAGE, "a trimmed mean has no weights: every file counts once");
    return 0;
}

static int check_request(const struct fed_average *a, struct err *e)
{
    if (a->n == 0 || a->n > FED_INPUTS_MAX)
        return err_set(e, ERR_USAGE, "%zu files; there must be 1 to %d", a->n, FED_INPUTS_MAX);
    if (!(a->trim >= 0 && a->trim < 0.5))
        return err_set(e, ERR_USAGE, "the share to trim must be from 0 up and below 0.5");
    return a->weights ? check_weights(a, e) : 0;
}

/* Weights are scaled by a power of two, which changes no digit, so that the largest is between 1
 * and 2: sums of large numbers stay within range. */
static void choose_parts(struct work *w)
{
    const struct fed_average *a = w->a;
    double largest = 1;

    w->parts = mem_zero(a->n, sizeof *w->parts);
    w->weights = mem_zero(a->n, sizeof *w->weights);
    for (size_t i = 0; a->weights && i < a->n; i++)
        largest = i == 0 || a->weights[i] > largest ? a->weights[i] : largest;
    for (size_t i = 0; i < a->n; i++) {
        double weight = a->weights ? scalbn(a->weights[i], -ilogb(largest)) : 1;
        if (weight == 0)
            continue;
        w->parts[w->n_parts] = i;
        w->weights[w->n_parts++] = weight;
        w->total += weight;
    }
    /* 0.29 of 100 are 29, though 0.29 * 100 is a little less. */
    w->drop = (size_t)floor(a->trim * (double)a->n + 1e-9);
    if (2 * w->drop >= a->n)
        w->drop = (a->n - 1) / 2;
}

/* ---- what there is ---- */

/* A packed input is read as what it stands for. */
static struct fed_file *open_input(struct work *w, size_t i, struct err *e)
{
    AUTO(fed_file) struct fed_file *f = fed_file_read(w->a->format, &w->a->inputs[i], e);

    w->inputs[i] = w->a->inputs[i];
    if (!f || !f->packing)
        return TAKE(f);
    w->unpacked[i] = fed_unpack(f, &w->a->inputs[i], e);
    if (!w->unpacked[i])
        return NULL;
    w->inputs[i] = *fed_unpacked_source(w->unpacked[i]);
    return fed_file_read(w->a->format, &w->inputs[i], e);
}

static int place_input(struct work *w, size_t i, struct err *e)
{
    AUTO(fed_file) struct fed_file *f = open_input(w, i, e);

    if (!f)
        return -1;
    if (fed_file_match(w->first, w->inputs[0].name, f, w->pieces->at[i], e) < 0)
        return err_wrap(e, "%s", w->inputs[i].name);
    return 0;
}

static int lay_out(struct work *w, struct err *e)
{
    const struct fed_average *a = w->a;

    w->inputs = mem_zero(a->n, sizeof *w->inputs);
    w->unpacked = mem_zero(a->n, sizeof *w->unpacked);
    w->first = open_input(w, 0, e);
    if (!w->first)
        return -1;
    w->pieces = fed_pieces_new(w->first, a->n, e);
    if (!w->pieces)
        return -1;
    for (size_t i = 0; i < w->first->n; i++)
        w->pieces->at[0][i] = w->first->tensors[i].offset;
    for (size_t i = 1; i < a->n; i++)
        if (place_input(w, i, e) < 0)
            return -1;
    w->piece_bytes = a->piece_bytes ? a->piece_bytes : PIECE_BYTES;
    if (w->drop) {
        size_t share = TRIM_BYTES / a->n / 64 * 64;
        w->piece_bytes = share > w->piece_bytes     ? w->piece_bytes
                         : share < TRIM_PIECE_LEAST ? TRIM_PIECE_LEAST
                                                    : share;
    }
    w->all_bytes = (w->inputs[0].size - w->first->data_offset) * a->n;
    return fed_pieces_cut(w->pieces, w->piece_bytes, e);
}

/* ---- room to work in ---- */

static void scratch_free(struct scratch *s)
{
    free(s->bytes);
    free(s->in);
    free(s->sum);
    free(s->rest);
    free(s->rows);
    free(s->out);
    free(s);
}

static struct scratch *scratch_new(const struct work *w)
{
    struct scratch *s = mem_zero(1, sizeof *s);
    /* The smallest numbers have two bytes. */
    size_t most = w->piece_bytes / 2;

    size_t width = w->drop ? w->n_parts : FED_GROUP, stride = w->piece_bytes + STAGGER_BYTES;

    s->bytes = mem_zero(width, stride);
    s->in = mem_zero(width, sizeof *s->in);
    for (size_t i = 0; i < width; i++)
        s->in[i] = s->bytes + i * stride;
    s->out = mem_zero(w->piece_bytes, 1);
    if (w->drop) {
        s->rows = mem_zero(w->n_parts, FED_LANES * sizeof *s->rows);
        return s;
    }
    s->sum = mem_zero(most, sizeof *s->sum);
    s->rest = mem_zero(w->piece_bytes / sizeof(double), sizeof *s->rest);
    return s;
}

static struct scratch *scratch_take(struct work *w)
{
    pthread_mutex_lock(&w->lock);
    struct scratch *s = w->spare;
    if (s)
        w->spare = s->next;
    pthread_mutex_unlock(&w->lock);
    return s ? s : scratch_new(w);
}

static void scratch_give(struct work *w, struct scratch *s)
{
    pthread_mutex_lock(&w->lock);
    s->next = w->spare;
    w->spare = s;
    pthread_mutex_unlock(&w->lock);
}

/* ---- one piece ---- */

static size_t piece_bytes(const struct scratch *s)
{
    return s->piece.count * fed_dtype_bytes(s->piece.dtype);
}

static int read_piece(
    const struct work *w, const struct scratch *s, size_t input, void *bytes, struct err *e)
{
    const struct fed_source *source = &w->inputs[input];
    uint64_t at = fed_piece_at(w->pieces, &s->piece, input);

    return source->read(source->context, at, bytes, piece_bytes(s), e);
}

static void leave_piece(const struct work *w, const struct scratch *s, size_t input)
{
    const struct fed_source *source = &w->inputs[input];

    source->leave(source->context, fed_piece_at(w->pieces, &s->piece, input), piece_bytes(s));
}

/* NULL where it is to be copied: not every processor reads numbers from anywhere. */
static const void *view_piece(const struct work *w, const struct scratch *s, size_t input)
{
    const struct fed_source *source = &w->inputs[input];

    if (!w->in_place || !source->view)
        return NULL;
    const void *bytes =
        source->view(source->context, fed_piece_at(w->pieces, &s->piece, input), piece_bytes(s));
    if ((uintptr_t)bytes % fed_dtype_bytes(s->piece.dtype) == 0)
        return bytes;
    leave_piece(w, s, input);
    return NULL;
}

/* Pieces of n inputs, from the k-th part on, for reading. */
static int open_group(const struct work *w, struct scratch *s, size_t k, size_t n, struct err *e)
{
    for (size_t j = 0; j < n; j++) {
        s->viewed[j] = view_piece(w, s, w->parts[k + j]);
        if (s->viewed[j])
            continue;
        if (read_piece(w, s, w->parts[k + j], s->in[j], e) < 0)
            return -1;
        s->viewed[j] = s->in[j];
    }
    return 0;
}

static void close_group(const struct work *w, const struct scratch *s, size_t k, size_t n)
{
    for (size_t j = 0; j < n; j++)
        if (s->viewed[j] != s->in[j])
            leave_piece(w, s, w->parts[k + j]);
}

/* The name of the tensor that holds number i of the piece; *within_out is its index there. */
static const char *tensor_of(const struct work *w,
                             const struct scratch *s,
                             size_t i,
                             unsigned long long *within_out)
{
    uint64_t within;
    const struct fed_tensor *t = fed_piece_tensor(w->pieces, &s->piece, i, &within);

    *within_out = within;
    return t->name;
}

/* Names input and tensor of the first number that is not finite, if there is one: -1, or 0. */
static int check_finite(
    const struct work *w, const struct scratch *s, size_t input, const void *bytes, struct err *e)
{
    unsigned long long within;
    size_t i = fed_first_nonfinite(s->piece.dtype, bytes, s->piece.count);

    if (i == s->piece.count)
        return 0;
    const char *tensor = tensor_of(w, s, i, &within);
    err_set(e, ERR_USAGE, "the number at index %llu is NaN or infinite", within);
    fed_tensor_error(e, tensor);
    return err_wrap(e, "%s", w->inputs[input].name);
}

/* A number that is not finite makes the mean so; only then all inputs are searched for it. */
static int find_nonfinite(const struct work *w, const struct scratch *s, struct err *e)
{
    unsigned long long within;

    for (size_t k = 0; k < w->n_parts; k++)
        if (read_piece(w, s, w->parts[k], s->in[0], e) < 0 ||
            check_finite(w, s, w->parts[k], s->in[0], e) < 0)
            return -1;
    size_t i = fed_first_nonfinite(s->piece.dtype, s->out, s->piece.count);
    const char *tensor = tensor_of(w, s, i, &within);
    err_set(e, ERR_USAGE, "the sum of the numbers at index %llu is too large", within);
    return fed_tensor_error(e, tensor);
}

static int average_piece(const struct work *w, struct scratch *s, struct err *e)
{
    const struct fed_piece *piece = &s->piece;

    for (size_t i = 0; i < piece->count; i++)
        s->sum[i] = -0.0;
    for (size_t i = 0; piece->dtype == FED_F64 && i < piece->count; i++)
        s->rest[i] = -0.0;
    struct fed_block b = {
        .dtype = piece->dtype,
        .count = piece->count,
        .in = s->viewed,
        .sum = s->sum,
        .rest = s->rest,
        .total = w->total,
        .out = s->out,
    };
    for (size_t k = 0; k < w->n_parts; k += FED_GROUP) {
        b.n_in = w->n_parts - k < FED_GROUP ? w->n_parts - k : FED_GROUP;
        b.weights = w->weights + k;
        if (open_group(w, s, k, b.n_in, e) < 0)
            return -1;
        w->kernels->add(&b);
        close_group(w, s, k, b.n_in);
    }
    s->nonfinite = w->kernels->finish(&b);
    return s->nonfinite && w->a->only_finite ? find_nonfinite(w, s, e) : 0;
}

static int trim_piece(const struct work *w, struct scratch *s, struct err *e)
{
    for (size_t k = 0; k < w->n_parts; k++)
        if (read_piece(w, s, k, s->in[k], e) < 0 ||
            (w->a->only_finite && check_finite(w, s, k, s->in[k], e) < 0))
            return -1;
    const struct fed_block b = {
        .dtype = s->piece.dtype,
        .count = s->piece.count,
        .in = (const void *const *)s->in,
        .n_in = w->n_parts,
        .drop = w->drop,
        .rows = s->rows,
        .out = s->out,
    };
    s->nonfinite = w->kernels->trimmed(&b);
    return 0;
}

/* What is no float is the same in all inputs, or there is no right answer. */
static int copy_piece(const struct work *w, struct scratch *s, struct err *e)
{
    const char *ours = s->out, *theirs = s->in[0];
    unsigned long long within;

    if (read_piece(w, s, 0, s->out, e) < 0)
        return -1;
    for (size_t k = 1; k < w->a->n; k++) {
        if (read_piece(w, s, k, s->in[0], e) < 0)
            return -1;
        if (memcmp(ours, theirs, piece_bytes(s)) == 0)
            continue;
        size_t i = 0;
        while (ours[i] == theirs[i])
            i++;
        const char *tensor = tensor_of(w, s, i / fed_dtype_bytes(s->piece.dtype), &within);
        err_set(
            e, ERR_USAGE,
            "its %s at index %llu is not that of %s; integers are copied when they are the same, "
            "never averaged",
            fed_dtype_name(s->piece.dtype), within, w->inputs[0].name);
        fed_tensor_error(e, tensor);
        return err_wrap(e, "%s", w->inputs[k].name);
    }
    return 0;
}

static bool tell(void *context)
{
    struct work *w = context;

    return !w->a->progress ||
           w->a->progress(w->a->context, atomic_load(&w->tally->done_bytes), w->all_bytes);
}

static int do_piece(void *context, size_t i, struct err *e)
{
    struct work *w = context;
    struct scratch *s = scratch_take(w);

    s->piece = fed_piece_get(w->pieces, i);
    s->nonfinite = 0;
    int result = (!fed_dtype_is_float(s->piece.dtype) ? copy_piece
                  : w->drop                           ? trim_piece
                                                      : average_piece)(w, s, e);
    if (result == 0)
        result = w->sink->write(w->sink->context, s->piece.offset, s->out, piece_bytes(s), e);
    if (result == 0) {
        atomic_fetch_add(&w->tally->done_bytes, (uint64_t)piece_bytes(s) * w->a->n);
        atomic_fetch_add(&w->tally->nonfinite, s->nonfinite);
    }
    scratch_give(w, s);
    return result;
}

static int do_piece_and_tell(void *context, size_t i, struct err *e)
{
    struct work *w = context;

    if (do_piece(w, i, e) < 0)
        return -1;
    pthread_mutex_lock(&w->lock);
    bool go_on = tell(w);
    pthread_mutex_unlock(&w->lock);
    return go_on ? 0 : err_set(e, ERR_RETRY, "interrupted");
}

/* ---- all of it ---- */

/* Header and metadata are those of the first input, byte for byte. */
static int copy_header(const struct work *w, struct err *e)
{
    const struct fed_source *source = &w->inputs[0];
    AUTO_MEM char *bytes = mem_zero(PIECE_BYTES, 1);

    for (uint64_t at = 0; at < w->first->data_offset;) {
        uint64_t left = w->first->data_offset - at;
        size_t n = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        if (source->read(source->context, at, bytes, n, e) < 0 ||
            w->sink->write(w->sink->context, at, bytes, n, e) < 0)
            return -1;
        at += n;
    }
    return 0;
}

static void summarize(const struct work *w, struct fed_summary *out)
{
    *out = (struct fed_summary){.tensors = w->first->n,
                                .nonfinite = atomic_load(&w->tally->nonfinite),
                                .bytes = w->inputs[0].size,
                                .dropped = w->drop};
    if (w->unpacked[0])
        out->packing = fed_unpacked_kind(w->unpacked[0]);
    for (size_t i = 0; i < w->first->n; i++) {
        const struct fed_tensor *t = &w->first->tensors[i];
        if (fed_dtype_is_float(t->dtype))
            out->numbers += t->bytes / fed_dtype_bytes(t->dtype);
        else
            out->copied++;
    }
}

static int do_all(struct work *w, struct err *e)
{
    unsigned wanted = w->a->threads ? w->a->threads : parallel_cores();
    unsigned at_once = wanted < THREADS_MAX ? wanted : THREADS_MAX;

    if (w->a->forked) {
        w->in_place = true;
        int done = parallel_each_forked(w->pieces->n, at_once, do_piece, tell, w, e);
        w->in_place = false;
        if (done <= 0)
            return done;
        /* Again from the start: where a file was cut or cannot be read, which ends the process that
         * looks at it, this way tells which. */
        *w->tally = (struct tally){0};
    }
    return parallel_each(w->pieces->n, at_once, do_piece_and_tell, w, e);
}

static int run(struct work *w, struct fed_summary *out, struct err *e)
{
    choose_parts(w);
    if (lay_out(w, e) < 0 || w->sink->begin(w->sink->context, w->inputs[0].size, e) < 0 ||
        copy_header(w, e) < 0 || do_all(w, e) < 0)
        return -1;
    summarize(w, out);
    return 0;
}

int fed_average(const struct fed_average *a,
                const struct fed_sink *sink,
                struct fed_summary *out,
                struct err *e)
{
    struct work w = {.a = a, .sink = sink, .kernels = fed_kernels_best()};

    if (check_request(a, e) < 0)
        return -1;
    w.tally =
        mmap(NULL, sizeof *w.tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w.tally == MAP_FAILED)
        return err_set(e, ERR_IO, "no memory for counters that processes share");
    pthread_mutex_init(&w.lock, NULL);
    int result = run(&w, out, e);
    while (w.spare) {
        struct scratch *s = w.spare;
        w.spare = s->next;
        scratch_free(s);
    }
    pthread_mutex_destroy(&w.lock);
    munmap(w.tally, sizeof *w.tally);
    fed_pieces_free(w.pieces);
    fed_file_free(w.first);
    for (size_t i = 0; w.unpacked && i < a->n; i++)
        fed_unpacked_free(w.unpacked[i]);
    free(w.unpacked);
    free(w.inputs);
    free(w.parts);
    free(w.weights);
    return result;
}
