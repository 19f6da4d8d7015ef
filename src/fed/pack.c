/* Compresses a file of float32 tensors, as int8 or by its largest values (top-k), with error
 * feedback. Workers call it before an upload. */
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "fed/formats.h"
#include "fed/kernels.h"
#include "fed/packing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 4096
#define HEADER_MAX ((size_t)2 * FED_HEADER_MAX)
#define STEPS 127
/* Magnitudes are compared as bits, in two halves: all but the sign, of which NaN has the most. */
#define HALF_BITS 16
#define HALVES ((size_t)1 << HALF_BITS)
#define MAGNITUDE 0x7fffffffU

/* Which numbers of a tensor stay: magnitudes above `least`, and the first `ties` of just that. */
struct choice {
    uint32_t least;
    uint64_t ties;
};

struct packed {
    enum fed_packing kind; /* none: stays as it is */
    float scale;
    struct choice choice;
    uint64_t kept;
    json_t *counts;
};

struct packer {
    enum fed_packing kind;
    double share;
    const struct fed_source *plain;
    const struct fed_sink *sink;
    struct fed_tensor *tensors; /* by place */
    size_t n;
    struct packed *packed;
    struct buf out; /* not yet in the sink */
    uint64_t written;
};

static uint64_t numbers_of(const struct fed_tensor *t)
{
    return t->bytes / sizeof(float);
}

/* The numbers of a tensor, a block at a time. */
struct blocks {
    const struct packer *packer;
    const struct fed_tensor *tensor;
    uint64_t first; /* index of the first number of the block */
    size_t n;
    uint32_t bits[BLOCK];
};

/* 1: the next block is there. 0: the tensor is over. */
static int next_block(struct blocks *b, struct err *e)
{
    const struct fed_source *plain = b->packer->plain;

    b->first += b->n;
    uint64_t left = numbers_of(b->tensor) - b->first;
    b->n = left < BLOCK ? (size_t)left : BLOCK;
    if (b->n == 0)
        return 0;
    uint64_t at = b->tensor->offset + b->first * sizeof *b->bits;
    return plain->read(plain->context, at, b->bits, b->n * sizeof *b->bits, e) < 0 ? -1 : 1;
}

static double number(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* ---- int8 ---- */

static int plan_int8(const struct packer *p,
                     const struct fed_tensor *t,
                     struct packed *out,
                     struct err *e)
{
    struct blocks b = {.packer = p, .tensor = t};
    double largest = 0;
    int more;

    while ((more = next_block(&b, e)) > 0) {
        size_t bad = fed_first_nonfinite(FED_F32, b.bits, b.n);
        if (bad < b.n)
            return err_set(e, ERR_USAGE,
                           "the number at index %llu is NaN or infinite, which int8 cannot tell",
                           (unsigned long long)(b.first + bad));
        for (size_t i = 0; i < b.n; i++)
            largest = fmax(largest, fabs(number(b.bits[i])));
    }
    if (more < 0)
        return -1;
    /* Rounded down, so that the largest stays within the range of F32. */
    out->scale = (float)(largest / STEPS);
    if ((double)out->scale > largest / STEPS)
        out->scale = nextafterf(out->scale, 0);
    out->kind = FED_PACKING_INT8;
    return 0;
}

static void put_int8(struct buf *out, const struct packed *how, const struct blocks *b)
{
    signed char steps[BLOCK];

    for (size_t i = 0; i < b->n; i++)
        steps[i] = how->scale > 0 ? (signed char)rint(number(b->bits[i]) / (double)how->scale) : 0;
    buf_add(out, steps, b->n);
}

/* ---- topk ---- */

/* How often each upper half of a magnitude occurs or, with `high`, each lower half of those whose
 * upper half is this. */
static int count_halves(const struct packer *p,
                        const struct fed_tensor *t,
                        const uint32_t *high,
                        uint64_t *counts,
                        struct err *e)
{
    struct blocks b = {.packer = p, .tensor = t};
    int more;

    while ((more = next_block(&b, e)) > 0)
        for (size_t i = 0; i < b.n; i++) {
            uint32_t magnitude = b.bits[i] & MAGNITUDE;
            if (!high)
                counts[magnitude >> HALF_BITS]++;
            else if (magnitude >> HALF_BITS == *high)
                counts[magnitude & (HALVES - 1)]++;
        }
    return more;
}

/* Of the `wanted` largest: the half of the last of them; *wanted becomes how many have that half.
 */
static uint32_t find_half(const uint64_t *counts, uint64_t *wanted)
{
    size_t i = HALVES - 1;

    while (i > 0 && counts[i] < *wanted)
        *wanted -= counts[i--];
    return (uint32_t)i;
}

static int choose(const struct packer *p,
                  const struct fed_tensor *t,
                  struct choice *out,
                  struct err *e)
{
    AUTO_MEM uint64_t *upper = mem_zero(HALVES, sizeof *upper);
    AUTO_MEM uint64_t *lower = mem_zero(HALVES, sizeof *lower);

    out->ties = (uint64_t)ceil(p->share * (double)numbers_of(t));
    if (count_halves(p, t, NULL, upper, e) < 0)
        return -1;
    uint32_t high = find_half(upper, &out->ties);
    if (count_halves(p, t, &high, lower, e) < 0)
        return -1;
    out->least = high << HALF_BITS | find_half(lower, &out->ties);
    /* What is left out is 0 anyway. */
    out->ties = out->least ? out->ties : 0;
    return 0;
}

static bool stays(struct choice *c, uint32_t bits)
{
    uint32_t magnitude = bits & MAGNITUDE;

    if (magnitude != c->least || c->ties == 0)
        return magnitude > c->least;
    c->ties--;
    return true;
}

/* How many numbers stay, of all and of each chunk. */
static int count_kept(const struct packer *p,
                      const struct fed_tensor *t,
                      struct packed *how,
                      struct err *e)
{
    struct blocks b = {.packer = p, .tensor = t};
    struct choice choice = how->choice;
    int more;

    while ((more = next_block(&b, e)) > 0) {
        json_int_t here = 0;
        for (size_t i = 0; i < b.n; i++)
            here += stays(&choice, b.bits[i]);
        how->kept += (uint64_t)here;
        /* Blocks lie within chunks. */
        json_t *there = json_array_get(how->counts, (size_t)(b.first / FED_PACKING_CHUNK));
        if ((there ? json_integer_set(there, json_integer_value(there) + here)
                   : json_array_append_new(how->counts, json_integer(here))) < 0)
            return err_set(e, ERR_IO, "no memory for the counts of numbers");
    }
    return more;
}
_Static_assert(FED_PACKING_CHUNK % BLOCK == 0, "blocks lie within chunks");

static int plan_topk(const struct packer *p,
                     const struct fed_tensor *t,
                     struct packed *out,
                     struct err *e)
{
    if (numbers_of(t) > UINT32_MAX)
        return err_set(e, ERR_USAGE, "too large for topk");
    if (p->share > 0 && t->bytes > 0 && choose(p, t, &out->choice, e) < 0)
        return -1;
    out->counts = json_array();
    if (count_kept(p, t, out, e) < 0)
        return -1;
    if (out->kept * 2 < numbers_of(t))
        out->kind = FED_PACKING_TOPK;
    return 0;
}

static void put_topk(struct buf *out, struct packed *how, const struct blocks *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (stays(&how->choice, b->bits[i])) {
            const uint32_t pair[2] = {(uint32_t)(b->first + i), b->bits[i]};
            buf_add(out, pair, sizeof pair);
        }
}

/* ---- the header ---- */

static json_t *told_of(const struct packed *how, const struct fed_tensor *t)
{
    if (how->kind == FED_PACKING_INT8)
        return json_pack("{s:f}", "scale", (double)how->scale);
    return json_pack("{s:o, s:O}", "shape", fed_safetensors_dims(t), "counts", how->counts);
}

/* The tensor as it is in the packed file, at `offset` of its data. */
static struct fed_tensor stored(const struct packed *how,
                                const struct fed_tensor *t,
                                uint64_t offset,
                                uint64_t dims[static 2])
{
    struct fed_tensor as = *t;

    if (how->kind == FED_PACKING_INT8) {
        as.dtype = FED_I8;
        as.bytes = numbers_of(t);
    } else if (how->kind == FED_PACKING_TOPK) {
        dims[0] = how->kept;
        dims[1] = 2;
        as.dtype = FED_U32;
        as.rank = 2;
        as.dims = dims;
        as.bytes = how->kept * 2 * sizeof(uint32_t);
    }
    as.offset = offset;
    return as;
}

static int put_header(struct packer *p, uint64_t *data_bytes_out, struct err *e)
{
    AUTO_JSON json_t *root = json_object();
    AUTO_JSON json_t *tensors = json_object();
    uint64_t at = 0, dims[2];

    for (size_t i = 0; i < p->n; i++) {
        struct fed_tensor as = stored(&p->packed[i], &p->tensors[i], at, dims);
        fed_safetensors_add(root, &as);
        at += as.bytes;
        if (p->packed[i].kind != FED_PACKING_NONE)
            json_object_set_new(tensors, as.name, told_of(&p->packed[i], &p->tensors[i]));
    }
    AUTO_JSON json_t *how = json_pack(
        "{s:s, s:O}", "kind", p->kind == FED_PACKING_INT8 ? "int8" : "topk", "tensors", tensors);
    AUTO_MEM char *text = json_dumps(how, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_object_set_new(root, FED_METADATA, json_pack("{s:s}", FED_PACKING_KEY, text ? text : ""));
    *data_bytes_out = at;
    return fed_safetensors_header(root, &p->out, e);
}

/* ---- all ---- */

static int flush(struct packer *p, struct err *e)
{
    size_t n = p->out.len;

    if (n && p->sink->write(p->sink->context, p->written, p->out.data, n, e) < 0)
        return -1;
    p->written += n;
    buf_clear(&p->out);
    buf_init(&p->out, HEADER_MAX);
    return 0;
}

static int put_plain(struct packer *p, const struct fed_tensor *t, struct err *e)
{
    char block[BLOCK];

    for (uint64_t at = 0; at < t->bytes; at += BLOCK) {
        size_t some = t->bytes - at < BLOCK ? (size_t)(t->bytes - at) : BLOCK;
        if (p->plain->read(p->plain->context, t->offset + at, block, some, e) < 0)
            return -1;
        buf_add(&p->out, block, some);
        if (flush(p, e) < 0)
            return -1;
    }
    return 0;
}

static int plan(const struct packer *p, size_t i, struct err *e)
{
    const struct fed_tensor *t = &p->tensors[i];

    if (t->dtype != FED_F32)
        return 0;
    return (p->kind == FED_PACKING_INT8 ? plan_int8 : plan_topk)(p, t, &p->packed[i], e) < 0
               ? fed_tensor_error(e, t->name)
               : 0;
}

static int put_tensor(struct packer *p, size_t i, struct err *e)
{
    struct packed *how = &p->packed[i];
    struct blocks b = {.packer = p, .tensor = &p->tensors[i]};
    int more;

    if (how->kind == FED_PACKING_NONE)
        return put_plain(p, &p->tensors[i], e);
    while ((more = next_block(&b, e)) > 0) {
        if (how->kind == FED_PACKING_INT8)
            put_int8(&p->out, how, &b);
        else
            put_topk(&p->out, how, &b);
        if (flush(p, e) < 0)
            return -1;
    }
    return more;
}

static int pack(struct packer *p, struct err *e)
{
    uint64_t data_bytes;

    for (size_t i = 0; i < p->n; i++)
        if (plan(p, i, e) < 0)
            return -1;
    if (put_header(p, &data_bytes, e) < 0 ||
        p->sink->begin(p->sink->context, p->out.len + data_bytes, e) < 0 || flush(p, e) < 0)
        return -1;
    for (size_t i = 0; i < p->n; i++)
        if (put_tensor(p, i, e) < 0)
            return -1;
    return 0;
}

int fed_pack(enum fed_packing kind,
             double share,
             const struct fed_source *plain,
             const struct fed_sink *sink,
             struct err *e)
{
    AUTO(fed_file) struct fed_file *f = fed_file_read(FED_SAFETENSORS, plain, e);

    if (!f)
        return -1;
    AUTO_MEM struct packed *packed = mem_zero(f->n + 1, sizeof *packed);
    struct packer p = {.kind = kind,
                       .share = share,
                       .plain = plain,
                       .sink = sink,
                       .tensors = f->tensors,
                       .n = f->n,
                       .packed = packed};
    buf_init(&p.out, HEADER_MAX);
    if (f->n)
        qsort(f->tensors, f->n, sizeof *f->tensors, fed_tensor_by_place);
    int result = pack(&p, e);
    for (size_t i = 0; i < f->n; i++)
        json_decref(packed[i].counts);
    buf_clear(&p.out);
    return result;
}
