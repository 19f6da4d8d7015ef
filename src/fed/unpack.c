/* Reads a compressed file of tensors (pack.c) as if it were uncompressed. The aggregator calls
 * it for every input. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "fed/formats.h"
#include "fed/packing.h"

#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 4096
#define NUMBER_BYTES sizeof(float)
#define PAIR_BYTES (2 * sizeof(uint32_t))
/* Of shapes and counts: what a header can hold. */
#define TABLE_MAX ((size_t)64 << 20)
#define HEADER_MAX ((size_t)2 * FED_HEADER_MAX)

/* A tensor: where it is in the plain file, and from what it is made. */
struct part {
    enum fed_packing kind;
    uint64_t at, bytes;
    uint64_t from; /* in the packed file */
    float scale;
    const uint64_t *ends; /* topk: pairs up to the end of each chunk */
};

struct fed_unpacked {
    const struct fed_source *packed;
    struct fed_source source;
    enum fed_packing kind;
    struct arena *arena; /* holds the parts */
    struct buf header;
    struct part *parts; /* by place, none empty */
    size_t n;
};

int fed_packing_parse(const char *text, enum fed_packing *out, double *share_out, struct err *e)
{
    static const char topk[] = "topk:";

    *share_out = 0;
    *out = strcmp(text, "int8") == 0   ? FED_PACKING_INT8
           : strcmp(text, "none") == 0 ? FED_PACKING_NONE
                                       : FED_PACKING_TOPK;
    if (*out != FED_PACKING_TOPK)
        return 0;
    if (strncmp(text, topk, strlen(topk)) == 0 && number_parse(text + strlen(topk), share_out) &&
        *share_out > 0 && *share_out <= 1)
        return 0;
    return err_set(
        e, ERR_USAGE,
        "\"%.60s\" is not a compression; give none, int8 or topk:SHARE with a SHARE above 0 "
        "and at most 1",
        text);
}

/* ---- what the packing says of one tensor ---- */

static int damaged(struct err *e, const char *what)
{
    return err_set(e, ERR_USAGE, "damaged packing: %s", what);
}

static int read_scale(const struct fed_tensor *t, const json_t *said, struct part *p, struct err *e)
{
    const json_t *scale = json_object_get(said, "scale");
    double value = json_number_value(scale);

    if (t->dtype != FED_I8 || !json_is_number(scale) ||
        !(value >= 0 && value <= (double)FLT_MAX / 127))
        return damaged(e, "int8 needs I8 and a scale");
    p->scale = (float)value;
    return 0;
}

static int read_counts(struct fed_unpacked *u,
                       const struct fed_tensor *t,
                       const json_t *said,
                       uint64_t numbers,
                       struct part *p,
                       struct err *e)
{
    const json_t *counts = json_object_get(said, "counts");
    size_t n = json_array_size(counts);
    uint64_t *ends = arena_alloc(u->arena, n + 1, sizeof *ends), sum = 0;

    if (!ends || n != numbers / FED_PACKING_CHUNK + (numbers % FED_PACKING_CHUNK > 0))
        return damaged(e, "counts and shape disagree");
    for (size_t i = 0; i < n; i++) {
        const json_t *count = json_array_get(counts, i);
        json_int_t value = json_integer_value(count);
        if (!json_is_integer(count) || value < 0 || value > FED_PACKING_CHUNK)
            return damaged(e, "a count is out of range");
        sum += (uint64_t)value;
        ends[i] = sum;
    }
    if (t->dtype != FED_U32 || t->rank != 2 || t->dims[0] != sum || t->dims[1] != 2)
        return damaged(e, "topk needs as many pairs of U32 as are counted");
    p->ends = ends;
    return 0;
}

/* Fills *meant, the tensor that is meant, and *p but for its places. */
static int read_tensor(struct fed_unpacked *u,
                       const struct fed_tensor *t,
                       const json_t *said,
                       struct fed_tensor *meant,
                       struct part *p,
                       struct err *e)
{
    *meant = *t;
    if (!said)
        return 0;
    meant->dtype = FED_F32;
    if (p->kind == FED_PACKING_TOPK && fed_safetensors_shape(u->arena, said, meant, e) < 0)
        return err_wrap(e, "damaged packing");
    if (!fed_tensor_size(FED_F32, meant->dims, meant->rank, &meant->bytes) ||
        meant->bytes / NUMBER_BYTES > UINT32_MAX)
        return damaged(e, "too large");
    if (p->kind == FED_PACKING_TOPK)
        return read_counts(u, t, said, meant->bytes / NUMBER_BYTES, p, e);
    return read_scale(t, said, p, e);
}

/* ---- all of them ---- */

static int read_kind(const json_t *root, enum fed_packing *out, struct err *e)
{
    const char *kind = json_string_value(json_object_get(root, "kind"));

    if (!kind || (strcmp(kind, "int8") != 0 && strcmp(kind, "topk") != 0))
        return damaged(e, "its kind is neither int8 nor topk");
    *out = strcmp(kind, "int8") == 0 ? FED_PACKING_INT8 : FED_PACKING_TOPK;
    return 0;
}

/* The plain file has the tensors in the order of the packed one, so that both are read in order. */
static int lay_out(struct fed_unpacked *u, const struct fed_file *f, struct err *e)
{
    AUTO_JSON json_t *said = json_loads(f->packing, JSON_REJECT_DUPLICATES, NULL);
    const json_t *tensors = json_object_get(said, "tensors");
    AUTO_JSON json_t *root = json_object();
    AUTO_MEM struct fed_tensor *order = mem_zero(f->n + 1, sizeof *order);
    size_t told = 0;

    if (read_kind(said, &u->kind, e) < 0)
        return -1;
    if (f->n)
        memcpy(order, f->tensors, f->n * sizeof *order);
    qsort(order, f->n, sizeof *order, fed_tensor_by_place);
    for (size_t i = 0; i < f->n; i++) {
        const json_t *entry = json_object_get(tensors, order[i].name);
        struct part *p = &u->parts[u->n];
        struct fed_tensor meant;
        *p = (struct part){.kind = entry ? u->kind : FED_PACKING_NONE, .from = order[i].offset};
        told += entry != NULL;
        if (read_tensor(u, &order[i], entry, &meant, p, e) < 0)
            return fed_tensor_error(e, order[i].name);
        meant.offset = u->source.size;
        fed_safetensors_add(root, &meant);
        p->at = meant.offset;
        p->bytes = meant.bytes;
        if (__builtin_add_overflow(u->source.size, meant.bytes, &u->source.size))
            return damaged(e, "too large");
        u->n += meant.bytes > 0;
    }
    if (told != json_object_size(tensors))
        return damaged(e, "it tells of tensors that are not there");
    return fed_safetensors_header(root, &u->header, e);
}

/* ---- reading ---- */

static int read_packed(
    const struct fed_unpacked *u, uint64_t from, void *bytes, size_t n, struct err *e)
{
    return u->packed->read(u->packed->context, from, bytes, n, e);
}

/* Numbers that are asked for: `count` from the first on. */
struct wanted {
    const struct part *part;
    uint64_t first;
    size_t count;
    char *to;
};

static int read_int8(const struct fed_unpacked *u, const struct wanted *w, struct err *e)
{
    signed char block[BLOCK];

    for (size_t done = 0; done < w->count;) {
        size_t some = w->count - done < BLOCK ? w->count - done : BLOCK;
        if (read_packed(u, w->part->from + w->first + done, block, some, e) < 0)
            return -1;
        for (size_t i = 0; i < some; i++) {
            float x = (float)block[i] * w->part->scale;
            memcpy(w->to + (done + i) * NUMBER_BYTES, &x, sizeof x);
        }
        done += some;
    }
    return 0;
}

static int read_topk(const struct fed_unpacked *u, const struct wanted *w, struct err *e)
{
    const struct part *p = w->part;
    uint32_t block[BLOCK / 4][2];
    uint64_t chunk = w->first / FED_PACKING_CHUNK;
    uint64_t last = (w->first + w->count - 1) / FED_PACKING_CHUNK;
    uint64_t pair = chunk ? p->ends[chunk - 1] : 0, least = chunk * FED_PACKING_CHUNK;
    uint64_t beyond = (last + 1) * FED_PACKING_CHUNK;

    memset(w->to, 0, w->count * NUMBER_BYTES);
    beyond = beyond > p->bytes / NUMBER_BYTES ? p->bytes / NUMBER_BYTES : beyond;
    while (pair < p->ends[last]) {
        uint64_t left = p->ends[last] - pair;
        size_t some = left < BLOCK / 4 ? (size_t)left : BLOCK / 4;
        if (read_packed(u, p->from + pair * PAIR_BYTES, block, some * PAIR_BYTES, e) < 0)
            return -1;
        for (size_t i = 0; i < some; i++) {
            uint64_t index = block[i][0];
            if (index < least || index >= beyond) {
                damaged(e, "an index is out of its place");
                return err_wrap(e, "%s", u->packed->name);
            }
            least = index + 1;
            if (index >= w->first && index < w->first + w->count)
                memcpy(w->to + (index - w->first) * NUMBER_BYTES, &block[i][1], NUMBER_BYTES);
        }
        pair += some;
    }
    return 0;
}

static const struct part *find_part(const struct fed_unpacked *u, uint64_t at)
{
    size_t low = 0, high = u->n;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(u->parts[middle].at <= at ? &low : &high) = middle;
    }
    return &u->parts[low];
}

static int read_unpacked(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    const struct fed_unpacked *u = context;
    char *to = bytes;

    if (offset < u->header.len) {
        size_t some = u->header.len - (size_t)offset < n ? u->header.len - (size_t)offset : n;
        memcpy(to, u->header.data + offset, some);
        offset += some;
        to += some;
        n -= some;
    }
    while (n) {
        const struct part *p = find_part(u, offset - u->header.len);
        uint64_t within = offset - u->header.len - p->at;
        size_t some = p->bytes - within < n ? (size_t)(p->bytes - within) : n;
        /* Whole numbers are asked for, as everywhere. */
        assert(p->kind == FED_PACKING_NONE ||
               (within % NUMBER_BYTES == 0 && some % NUMBER_BYTES == 0));
        const struct wanted w = {p, within / NUMBER_BYTES, some / NUMBER_BYTES, to};
        int result = p->kind == FED_PACKING_NONE   ? read_packed(u, p->from + within, to, some, e)
                     : p->kind == FED_PACKING_INT8 ? read_int8(u, &w, e)
                                                   : read_topk(u, &w, e);
        if (result < 0)
            return -1;
        offset += some;
        to += some;
        n -= some;
    }
    return 0;
}

struct fed_unpacked *fed_unpack(const struct fed_file *f,
                                const struct fed_source *packed,
                                struct err *e)
{
    AUTO(fed_unpacked) struct fed_unpacked *u = mem_zero(1, sizeof *u);

    u->packed = packed;
    u->source = (struct fed_source){.name = packed->name, .read = read_unpacked, .context = u};
    u->arena = arena_new(TABLE_MAX);
    u->parts = mem_zero(f->n + 1, sizeof *u->parts);
    buf_init(&u->header, HEADER_MAX);
    if (lay_out(u, f, e) < 0) {
        err_wrap(e, "%s", packed->name);
        return NULL;
    }
    u->source.size += u->header.len;
    return TAKE(u);
}

void fed_unpacked_free(struct fed_unpacked *u)
{
    if (!u)
        return;
    arena_free(u->arena);
    free(u->parts);
    buf_clear(&u->header);
    free(u);
}

const struct fed_source *fed_unpacked_source(const struct fed_unpacked *u)
{
    return &u->source;
}

enum fed_packing fed_unpacked_kind(const struct fed_unpacked *u)
{
    return u->kind;
}
