#include "fed/tensor_file.h"

#include "tap.h"
#include "tensors.h"

#include <string.h>

#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define ENTRY(dtype, shape, offsets)                                                               \
    "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static struct fed_file *read_bytes(const void *bytes, size_t n, struct err *e)
{
    const struct fed_source source = fed_source_of_memory("w.safetensors", bytes, n);

    return fed_file_read(FED_SAFETENSORS, &source, e);
}

static void check_good(void)
{
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"w\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[8,20]},"
        "\"bias\":{\"data_offsets\":[0,8],\"dtype\":\"F64\",\"shape\":[]},"
        "\"none\":{\"dtype\":\"BF16\",\"shape\":[0,7],\"data_offsets\":[20,20]}}   ";
    AUTO_CLEAR(buf) struct buf b;
    struct err e = {0};

    make_safetensors(&b, header, "12345678901234567890", 20);
    AUTO(fed_file) struct fed_file *f = read_bytes(b.data, b.len, &e);
    CHECK(f && f->n == 3 && f->data_offset == 8 + strlen(header), "three tensors: %s", e.text);
    if (!f)
        return;
    const struct fed_tensor *t = f->tensors;
    CHECK(!strcmp(t[0].name, "bias") && t[0].dtype == FED_F64 && t[0].rank == 0 &&
              t[0].offset == f->data_offset && t[0].bytes == 8,
          "a number without dimensions is one number");
    CHECK(!strcmp(t[1].name, "none") && t[1].dtype == FED_BF16 && t[1].bytes == 0,
          "a tensor may be empty");
    CHECK(!strcmp(t[2].name, "w") && t[2].dtype == FED_F16 && t[2].rank == 2 && t[2].dims[0] == 2 &&
              t[2].dims[1] == 3 && t[2].offset == f->data_offset + 8 && t[2].bytes == 12,
          "they are sorted by name, with shapes and places");
}

static const struct {
    const char *header, *part;
} bad[] = {
    {"", "JSON"},
    {"[]", "no JSON object"},
    {" {" A "}", "no JSON object"},
    {"{" A, "JSON"},
    {"{" A "," A "}", "JSON"},
    {"{\"__metadata__\":3," A "}", "__metadata__"},
    {"{\"__metadata__\":{\"x\":3}," A "}", "__metadata__"},
    {"{\"a\":3}", "tensor \"a\": damaged header: no dtype"},
    {ENTRY("3", "[2]", "[0,8]"), "no dtype"},
    {ENTRY("\"F8_E4M3\"", "[8]", "[0,8]"), "dtype F8_E4M3 is not averaged"},
    {ENTRY("\"F32\"", "2", "[0,8]"), "no shape"},
    {ENTRY("\"F32\"", "[-2]", "[0,8]"), "a dimension"},
    {ENTRY("\"F32\"", "[2.0]", "[0,8]"), "a dimension"},
    {ENTRY("\"F32\"", "[4611686018427387904,4]", "[0,0]"), "disagree"},
    {ENTRY("\"F32\"", "[2]", "[0]"), "data_offsets"},
    {ENTRY("\"F32\"", "[2]", "[8,0]"), "data_offsets"},
    {ENTRY("\"F32\"", "[2]", "[-8,0]"), "data_offsets"},
    {ENTRY("\"F32\"", "[2]", "[0,4]"), "disagree"},
    {ENTRY("\"F32\"", "[3]", "[0,12]"), "was the file cut?"},
    {ENTRY("\"F32\"", "[1]", "[0,4]"), "4 bytes at its end belong to no tensor"},
    {ENTRY("\"F32\"", "[1]", "[4,8]"), "leaves a hole"},
    {"{" A ",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", "overlaps"},
    {"{}", "8 bytes at its end"},
    {"{\"a\\u001b[31m\":3}", "tensor \"a?[31m\""},
};

static void check_bad(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        AUTO_CLEAR(buf) struct buf b;
        struct err e = {0};
        make_safetensors(&b, bad[i].header, "12345678", 8);
        AUTO(fed_file) struct fed_file *f = read_bytes(b.data, b.len, &e);
        CHECK(!f && e.kind == ERR_USAGE && !strncmp(e.text, "w.safetensors: ", 15) &&
                  strstr(e.text, bad[i].part),
              "refused: %s", e.text);
    }
}

static void check_lengths(void)
{
    static const unsigned char huge[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const unsigned char nine_mb[8] = {0, 0, 0x90};
    struct err e = {0};

    CHECK(!read_bytes("1234567", 7, &e) && strstr(e.text, "too short"), "7 bytes: %s", e.text);
    CHECK(!read_bytes(huge, 8, &e) && strstr(e.text, "cut, or no safetensors"), "huge: %s", e.text);
    char *large = calloc(1, 10 << 20);
    memcpy(large, nine_mb, sizeof nine_mb);
    CHECK(!read_bytes(large, 10 << 20, &e) && strstr(e.text, "of at most 8388608"),
          "a header beyond the limit is not read: %s", e.text);
    free(large);
}

/* A file without its end is no file, wherever the cut is. */
static void check_cuts(void)
{
    AUTO_CLEAR(buf) struct buf b;
    unsigned taken = 0;

    make_safetensors(&b, "{" A "}", "12345678", 8);
    for (size_t n = 0; n < b.len; n++) {
        struct err e = {0};
        char *exact = malloc(n ? n : 1); /* so that a sanitizer sees a byte too many */
        memcpy(exact, b.data, n);
        struct fed_file *f = read_bytes(exact, n, &e);
        taken += f || e.kind != ERR_USAGE;
        fed_file_free(f);
        free(exact);
    }
    CHECK(taken == 0, "cut at any of its %zu bytes it is refused", b.len);
}

/* Whatever one byte is, what is read lies within the file. */
static void check_damage(void)
{
    AUTO_CLEAR(buf) struct buf b;
    unsigned outside = 0;

    make_safetensors(&b, "{" A "}", "12345678", 8);
    for (size_t at = 0; at < b.len - 8; at++)
        for (unsigned v = 0; v < 256; v++) {
            char was = b.data[at];
            b.data[at] = (char)v;
            struct fed_file *f = read_bytes(b.data, b.len, NULL);
            for (size_t i = 0; f && i < f->n; i++)
                outside += f->tensors[i].offset < f->data_offset ||
                           f->tensors[i].offset + f->tensors[i].bytes > b.len;
            fed_file_free(f);
            b.data[at] = was;
        }
    CHECK(outside == 0, "with any byte changed, nothing outside the file is read");
}

int main(void)
{
    check_good();
    check_bad();
    check_lengths();
    check_cuts();
    check_damage();
    return TAP_DONE();
}
