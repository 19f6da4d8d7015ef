/* Packed files: by hand, there and back, averaged, and damaged. */
#include "fed/packing.h"

#include "tap.h"
#include "tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MANY 30000

static int begin(void *context, uint64_t size_bytes, struct err *e)
{
    struct buf *b = context;

    (void)e;
    buf_clear(b);
    buf_init(b, (size_t)size_bytes); /* no byte more than was told */
    return 0;
}

static int put(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e)
{
    struct buf *b = context;

    if (offset != b->len || buf_add(b, bytes, n) < 0)
        return err_set(e, ERR_IO, "not in order, or longer than was told");
    return 0;
}

/* One tensor "w" of n numbers. */
static void make(struct buf *b, const float *w, size_t n)
{
    char header[200];

    snprintf(header, sizeof header,
             "{\"w\":{\"dtype\":\"F32\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}", n,
             n * sizeof *w);
    make_safetensors(b, header, w, n * sizeof *w);
}

static int pack(
    enum fed_packing kind, double share, const float *w, size_t n, struct buf *out, struct err *e)
{
    AUTO_CLEAR(buf) struct buf plain = {0};
    const struct fed_sink sink = {begin, put, out};

    make(&plain, w, n);
    struct fed_source source = fed_source_of_memory("plain", plain.data, plain.len);
    *e = (struct err){0};
    return fed_pack(kind, share, &source, &sink, e);
}

/* What it stands for, n numbers, `step` at a time. */
static int unpack(const struct buf *packed, float *out, size_t n, size_t step, struct err *e)
{
    struct fed_source stored = fed_source_of_memory("packed", packed->data, packed->len);
    AUTO(fed_file) struct fed_file *f = fed_file_read(FED_SAFETENSORS, &stored, e);

    if (!f || !f->packing)
        return -1;
    AUTO(fed_unpacked) struct fed_unpacked *u = fed_unpack(f, &stored, e);
    if (!u)
        return -1;
    const struct fed_source *s = fed_unpacked_source(u);
    AUTO(fed_file) struct fed_file *plain = fed_file_read(FED_SAFETENSORS, s, e);
    if (!plain || plain->n != 1 || plain->tensors[0].bytes != n * sizeof *out)
        return -1;
    for (size_t i = 0; i < n; i += step) {
        size_t some = n - i < step ? n - i : step;
        if (s->read(s->context, plain->tensors[0].offset + i * sizeof *out, out + i,
                    some * sizeof *out, e) < 0)
            return -1;
    }
    return 0;
}

static const char *tail(const struct buf *b, size_t n)
{
    return b->data + b->len - n;
}

static void by_hand(void)
{
    /* The largest is 127, so that a step is 1; halves go to the even one. */
    static const float w[] = {127, -64, 0.5F, 1.5F, -2.6F, 0}, near[] = {127, -64, 0, 2, -3, 0};
    static const signed char steps[] = {127, -64, 0, 2, -3, 0};
    /* A third of six are two: -64 and 127, not the 0.5. */
    static const unsigned char pairs[] = {0, 0, 0, 0, 0, 0, 0xfe, 0x42,
                                          1, 0, 0, 0, 0, 0, 0x80, 0xc2};
    static const float largest[] = {127, -64, 0, 0, 0, 0};
    /* Of numbers that are alike the first stay. */
    static const float alike[] = {1, -1, 1, 1, -1, 1}, first[] = {1, -1, 0, 0, 0, 0};
    static const float zeros[6] = {0};
    AUTO_CLEAR(buf) struct buf b = {0};
    struct err e;
    float out[6];

    CHECK(pack(FED_PACKING_INT8, 0, w, 6, &b, &e) == 0 && !memcmp(tail(&b, 6), steps, 6),
          "int8: a byte for each number: %s", e.text);
    CHECK(strstr(b.data + 8, "\"dtype\":\"I8\",\"shape\":[6],\"data_offsets\":[0,6]") &&
              strstr(b.data + 8, "{\\\"scale\\\":1.0}"),
          "its header: %s", b.data + 8);
    CHECK(unpack(&b, out, 6, 6, &e) == 0 && !memcmp(out, near, sizeof near), "and back: %s",
          e.text);
    CHECK(pack(FED_PACKING_TOPK, 1 / 3.0, w, 6, &b, &e) == 0 && !memcmp(tail(&b, 16), pairs, 16),
          "topk: index and bits of the largest: %s", e.text);
    CHECK(strstr(b.data + 8, "\"dtype\":\"U32\",\"shape\":[2,2],\"data_offsets\":[0,16]") &&
              strstr(b.data + 8, "\\\"shape\\\":[6],\\\"counts\\\":[2]"),
          "its header: %s", b.data + 8);
    CHECK(unpack(&b, out, 6, 2, &e) == 0 && !memcmp(out, largest, sizeof largest), "and back: %s",
          e.text);
    CHECK(pack(FED_PACKING_TOPK, 0.3, alike, 6, &b, &e) == 0 && unpack(&b, out, 6, 6, &e) == 0 &&
              !memcmp(out, first, sizeof first),
          "two of six that are alike");
    CHECK(pack(FED_PACKING_TOPK, 0.3, zeros, 6, &b, &e) == 0 &&
              strstr(b.data + 8, "\"shape\":[0,2]") && unpack(&b, out, 6, 6, &e) == 0 &&
              !memcmp(out, zeros, sizeof zeros),
          "zeros are not sent");
    CHECK(pack(FED_PACKING_INT8, 0, zeros, 6, &b, &e) == 0 && unpack(&b, out, 6, 6, &e) == 0 &&
              !memcmp(out, zeros, sizeof zeros),
          "nor divided by");
    CHECK(pack(FED_PACKING_TOPK, 0.5, w, 6, &b, &e) == 0 && unpack(&b, out, 6, 6, &e) == 0 &&
              !memcmp(out, w, sizeof w) && !memcmp(tail(&b, sizeof w), w, sizeof w),
          "what would not become smaller stays as it is");
}

static void edges(void)
{
    static const float huge[] = {3.4028235e38F, -3.4028235e38F, 1}, tiny[] = {1e-45F, 0, 0};
    const float bad[] = {1, INFINITY, 2, 3, NAN, 4, 5, 6};
    AUTO_CLEAR(buf) struct buf b = {0};
    struct err e;
    float out[8];

    CHECK(pack(FED_PACKING_INT8, 0, huge, 3, &b, &e) == 0 && unpack(&b, out, 3, 3, &e) == 0 &&
              isfinite(out[0]) && fabsf(out[0] / huge[0] - 1) < 1e-6F && out[1] == -out[0],
          "the largest number there is stays finite: %g", (double)out[0]);
    CHECK(pack(FED_PACKING_INT8, 0, tiny, 3, &b, &e) == 0 && unpack(&b, out, 3, 3, &e) == 0 &&
              out[0] == 0,
          "the smallest is left out");
    CHECK(pack(FED_PACKING_INT8, 0, bad, 8, &b, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "tensor \"w\"") && strstr(e.text, "index 1 is NaN or infinite"),
          "int8 refuses what is not finite: %s", e.text);
    CHECK(pack(FED_PACKING_TOPK, 0.25, bad, 8, &b, &e) == 0 && unpack(&b, out, 8, 8, &e) == 0 &&
              isinf(out[1]) && isnan(out[4]) && out[7] == 0,
          "topk has it among the largest");
    CHECK(pack(FED_PACKING_TOPK, 0.25, NULL, 0, &b, &e) == 0 && unpack(&b, out, 0, 1, &e) == 0,
          "no numbers: %s", e.text);
}

static float *random_numbers(size_t n)
{
    float *w = malloc(n * sizeof *w);
    uint32_t seed = 1;

    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        w[i] = (float)(int32_t)seed * 0x1p-31F;
    }
    return w;
}

static int by_magnitude(const void *a, const void *b)
{
    float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);

    return (x < y) - (x > y);
}

/* Across chunks, in pieces that begin and end anywhere. */
static void there_and_back(void)
{
    AUTO_CLEAR(buf) struct buf b = {0};
    float *w = random_numbers(MANY), *out = malloc(MANY * sizeof *out),
          *sorted = malloc(MANY * sizeof *out);
    struct err e;
    size_t kept = 0;
    bool good = true;

    memcpy(sorted, w, MANY * sizeof *w);
    qsort(sorted, MANY, sizeof *sorted, by_magnitude);
    CHECK(pack(FED_PACKING_TOPK, 0.01, w, MANY, &b, &e) == 0 && unpack(&b, out, MANY, 777, &e) == 0,
          "topk:0.01 of 30,000: %s", e.text);
    for (size_t i = 0; i < MANY; i++) {
        bool large = fabsf(w[i]) >= fabsf(sorted[MANY / 100 - 1]);
        good = good && out[i] == (large ? w[i] : 0);
        kept += large;
    }
    CHECK(good && kept == MANY / 100, "the 300 largest, and no other");
    CHECK(b.len < MANY / 100 * 8 + 400, "eight bytes each: %zu", b.len);
    good = pack(FED_PACKING_INT8, 0, w, MANY, &b, &e) == 0 && unpack(&b, out, MANY, 777, &e) == 0;
    for (size_t i = 0; i < MANY; i++)
        good = good && fabsf(w[i] - out[i]) <= fabsf(sorted[0]) / 254 * 1.00001F;
    CHECK(good && b.len < MANY + 400, "int8: within half a step, a byte each: %zu", b.len);
    free(w);
    free(out);
    free(sorted);
}

/* (127, -64, ...) in steps, (1, 3, ...) of which the largest, and a plain file. */
static void averaged(void)
{
    static const float x[] = {127, -64, 1, 0, 0, 0}, y[] = {0, 9, 0, 0, 0, 3},
                       z[] = {2, 1, 2, 3, 0, 0};
    /* y without its 3, of a sixth; (127 + 0 + 2) / 3, (-64 + 9 + 1) / 3, ... */
    static const float wanted[] = {43, -18, 1, 1, 0, 0};
    AUTO_CLEAR(buf) struct buf a = {0}, b = {0}, c = {0}, out = {0};
    struct fed_summary summary;
    struct err e;

    pack(FED_PACKING_INT8, 0, x, 6, &a, &e);
    pack(FED_PACKING_TOPK, 1 / 6.0, y, 6, &b, &e);
    make(&c, z, 6);
    const struct fed_source in[] = {fed_source_of_memory("a", a.data, a.len),
                                    fed_source_of_memory("b", b.data, b.len),
                                    fed_source_of_memory("c", c.data, c.len)};
    const struct fed_average request = {
        .format = FED_SAFETENSORS, .inputs = in, .n = 3, .threads = 1};
    const struct fed_sink sink = {begin, put, &out};
    CHECK(fed_average(&request, &sink, &summary, &e) == 0 &&
              !memcmp(tail(&out, sizeof wanted), wanted, sizeof wanted),
          "the mean of packed and plain files is plain: %s", e.text);
    CHECK(summary.packing == FED_PACKING_INT8 && summary.numbers == 6, "and tells of the first");
}

static void damaged(void)
{
#define INT8(packing)                                                                              \
    "{\"__metadata__\":{\"tradewind.packing\":\"" packing                                          \
    "\"},\"w\":{\"dtype\":\"I8\",\"shape\":[8],\"data_offsets\":[0,8]}}"
#define TOPK(packing)                                                                              \
    "{\"__metadata__\":{\"tradewind.packing\":\"" packing                                          \
    "\"},\"w\":{\"dtype\":\"U32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}"
    static const char *const headers[] = {
        INT8("no JSON"),
        INT8("{}"),
        INT8("{\\\"kind\\\":\\\"zip\\\"}"),
        INT8("{\\\"kind\\\":\\\"int8\\\",\\\"tensors\\\":{\\\"w\\\":{}}}"),
        INT8("{\\\"kind\\\":\\\"int8\\\",\\\"tensors\\\":{\\\"w\\\":{\\\"scale\\\":-1}}}"),
        INT8("{\\\"kind\\\":\\\"int8\\\",\\\"tensors\\\":{\\\"w\\\":{\\\"scale\\\":1e300}}}"),
        INT8("{\\\"kind\\\":\\\"int8\\\",\\\"tensors\\\":{\\\"v\\\":{\\\"scale\\\":1}}}"),
        TOPK("{\\\"kind\\\":\\\"int8\\\",\\\"tensors\\\":{\\\"w\\\":{\\\"scale\\\":1}}}"),
        TOPK("{\\\"kind\\\":\\\"topk\\\",\\\"tensors\\\":{\\\"w\\\":{\\\"counts\\\":[1]}}}"),
        TOPK("{\\\"kind\\\":\\\"topk\\\",\\\"tensors\\\":{\\\"w\\\":{\\\"shape\\\":[8],"
             "\\\"counts\\\":[1,0]}}}"),
        TOPK("{\\\"kind\\\":\\\"topk\\\",\\\"tensors\\\":{\\\"w\\\":{\\\"shape\\\":[8],"
             "\\\"counts\\\":[2]}}}"),
        TOPK("{\\\"kind\\\":\\\"topk\\\",\\\"tensors\\\":{\\\"w\\\":{\\\"shape\\\":[99999999,"
             "99999999999],\\\"counts\\\":[1]}}}"),
        TOPK("{\\\"kind\\\":\\\"topk\\\",\\\"tensors\\\":{\\\"w\\\":{\\\"shape\\\":[-8],"
             "\\\"counts\\\":[1]}}}"),
        /* Beyond its eight numbers: found when it is read. */
        TOPK("{\\\"kind\\\":\\\"topk\\\",\\\"tensors\\\":{\\\"w\\\":{\\\"shape\\\":[8],"
             "\\\"counts\\\":[1]}}}"),
    };
    static const uint32_t data[] = {8, 0x3f800000};
    float out[8];

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        AUTO_CLEAR(buf) struct buf b = {0};
        struct err e = {0};
        make_safetensors(&b, headers[i], data, sizeof data);
        CHECK(unpack(&b, out, 8, 8, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "packed: ") &&
                  strstr(e.text, "damaged packing"),
              "damaged %zu: %s", i, e.text);
    }
}

static void settings(void)
{
    static const char *const wrong[] = {"zip", "topk", "topk:", "topk:0", "topk:2", "topk:x", ""};
    enum fed_packing kind;
    double share;
    struct err e = {0};

    CHECK(fed_packing_parse("none", &kind, &share, &e) == 0 && kind == FED_PACKING_NONE, "none");
    CHECK(fed_packing_parse("int8", &kind, &share, &e) == 0 && kind == FED_PACKING_INT8, "int8");
    CHECK(fed_packing_parse("topk:0.01", &kind, &share, &e) == 0 && kind == FED_PACKING_TOPK &&
              share == 0.01,
          "topk:0.01");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(fed_packing_parse(wrong[i], &kind, &share, &e) < 0 && e.kind == ERR_USAGE,
              "\"%s\" is none", wrong[i]);
}

int main(void)
{
    by_hand();
    edges();
    there_and_back();
    averaged();
    damaged();
    settings();
    return TAP_DONE();
}
