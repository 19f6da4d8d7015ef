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

typedef int visit_fn(void *context, uint64_t first, const uint32_t *bits, size_t n, struct err *e);

/* The numbers of a tensor, a block at a time. */
static int each_block(const struct packer *p,
                      const struct fed_tensor *t,
                      visit_fn *visit,
                      void *context,
                      struct err *e)
{
    uint32_t block[BLOCK];

    for (uint64_t at = 0; at < numbers_of(t); at += BLOCK) {
        size_t some = numbers_of(t) - at < BLOCK ? (size_t)(numbers_of(t) - at) : BLOCK;
        if (p->plain->read(p->plain->context, t->offset + at * sizeof *block, block,
                           some * sizeof *block, e) < 0)
            return -1;
        if (visit(context, at, block, some, e) < 0)
            return -1;
    }
    return 0;
}

static double number(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* ---- int8 ---- */

struct largest {
    double magnitude;
    uint64_t nonfinite_at; /* UINT64_MAX: none */
};

static int find_largest(
    void *context, uint64_t first, const uint32_t *bits, size_t n, struct err *e)
{
    struct largest *l = context;
    size_t bad = fed_first_nonfinite(FED_F32, bits, n);

    (void)e;
    if (bad < n && l->nonfinite_at == UINT64_MAX)
        l->nonfinite_at = first + bad;
    for (size_t i = 0; i < n; i++)
        l->magnitude = fmax(l->magnitude, fabs(number(bits[i])));
    return 0;
}

static int plan_int8(const struct packer *p,
                     const struct fed_tensor *t,
                     struct packed *out,
                     struct err *e)
{
    struct largest l = {0, UINT64_MAX};

    if (each_block(p, t, find_largest, &l, e) < 0)
        return -1;
    if (l.nonfinite_at != UINT64_MAX)
        return err_set(e, ERR_USAGE,
                       "the number at index %llu is NaN or infinite, which int8 cannot tell",
                       (unsigned long long)l.nonfinite_at);
    /* Rounded down, so that the largest stays within the range of F32. */
    out->scale = (float)(l.magnitude / STEPS);
    if ((double)out->scale > l.magnitude / STEPS)
        out->scale = nextafterf(out->scale, 0);
    out->kind = FED_PACKING_INT8;
    return 0;
}

static void put_int8(struct buf *out, const struct packed *how, const uint32_t *bits, size_t n)
{
    signed char steps[BLOCK];

    for (size_t i = 0; i < n; i++)
        steps[i] = how->scale > 0 ? (signed char)rint(number(bits[i]) / (double)how->scale) : 0;
    buf_add(out, steps, n);
}

/* ---- topk ---- */

struct halves {
    bool low; /* halves of those whose high half is this: */
    uint32_t high;
    uint64_t *counts;
};

static int count_halves(
    void *context, uint64_t first, const uint32_t *bits, size_t n, struct err *e)
{
    struct halves *h = context;

    (void)first;
    (void)e;
    for (size_t i = 0; i < n; i++) {
        uint32_t magnitude = bits[i] & MAGNITUDE;
        if (!h->low)
            h->counts[magnitude >> HALF_BITS]++;
        else if (magnitude >> HALF_BITS == h->high)
            h->counts[magnitude & (HALVES - 1)]++;
    }
    return 0;
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
    AUTO_MEM uint64_t *high = mem_zero(HALVES, sizeof *high);
    AUTO_MEM uint64_t *low = mem_zero(HALVES, sizeof *low);
    struct halves h = {.counts = high};

    out->ties = (uint64_t)ceil(p->share * (double)numbers_of(t));
    if (each_block(p, t, count_halves, &h, e) < 0)
        return -1;
    h = (struct halves){.low = true, .high = find_half(high, &out->ties), .counts = low};
    if (each_block(p, t, count_halves, &h, e) < 0)
        return -1;
    out->least = h.high << HALF_BITS | find_half(low, &out->ties);
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

struct counting {
    struct packed *how;
    struct choice choice;
};

static int count_kept(void *context, uint64_t first, const uint32_t *bits, size_t n, struct err *e)
{
    struct counting *c = context;
    uint64_t before = c->how->kept;

    for (size_t i = 0; i < n; i++)
        c->how->kept += stays(&c->choice, bits[i]);
    /* Blocks lie within chunks. */
    size_t chunk = (size_t)(first / FED_PACKING_CHUNK);
    json_int_t here = (json_int_t)(c->how->kept - before);
    json_t *there = json_array_get(c->how->counts, chunk);
    if ((there ? json_integer_set(there, json_integer_value(there) + here)
               : json_array_append_new(c->how->counts, json_integer(here))) < 0)
        return err_set(e, ERR_IO, "no memory for the counts of numbers");
    return 0;
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
    struct counting c = {out, out->choice};
    out->counts = json_array();
    if (each_block(p, t, count_kept, &c, e) < 0)
        return -1;
    if (out->kept * 2 < numbers_of(t))
        out->kind = FED_PACKING_TOPK;
    return 0;
}

static void put_topk(
    struct buf *out, struct packed *how, uint64_t first, const uint32_t *bits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (stays(&how->choice, bits[i])) {
            const uint32_t pair[2] = {(uint32_t)(first + i), bits[i]};
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

struct putting {
    struct packer *p;
    struct packed *how;
};

static int put_block(void *context, uint64_t first, const uint32_t *bits, size_t n, struct err *e)
{
    struct putting *w = context;

    if (w->how->kind == FED_PACKING_INT8)
        put_int8(&w->p->out, w->how, bits, n);
    else
        put_topk(&w->p->out, w->how, first, bits, n);
    return flush(w->p, e);
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
    struct putting w = {p, &p->packed[i]};

    if (p->packed[i].kind == FED_PACKING_NONE)
        return put_plain(p, &p->tensors[i], e);
    return each_block(p, &p->tensors[i], put_block, &w, e);
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
