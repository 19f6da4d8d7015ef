#include "fed/tensor_file.h"

#include "tap.h"
#include "tensors.h"

#include <string.h>

static struct fed_file *read_bytes(const void *bytes, size_t n, struct err *e)
{
    const struct fed_source source = fed_source_of_memory("w.npy", bytes, n);

    return fed_file_read(FED_NPY, &source, e);
}

#define HEAD "{'descr': '<f4', 'fortran_order': False, 'shape': "

static const struct {
    const char *header;
    unsigned major;
    enum fed_dtype dtype;
    bool column_major;
    size_t rank, data_bytes;
    uint64_t dims[3];
} good[] = {
    {HEAD "(3,), }", 1, FED_F32, false, 1, 12, {3}},
    {HEAD "(3, 2), }", 2, FED_F32, false, 2, 24, {3, 2}},
    {HEAD "(3, 2)}", 3, FED_F32, false, 2, 24, {3, 2}},
    {HEAD "(), }", 1, FED_F32, false, 0, 4, {0}},
    {HEAD "(0, 5), }", 1, FED_F32, false, 2, 0, {0, 5}},
    {HEAD "(3L, 1L, 2L,), }", 1, FED_F32, false, 3, 24, {3, 1, 2}},
    {"{'shape':(2,),'fortran_order':True,\"descr\":\"<f8\"}", 1, FED_F64, true, 1, 16, {2}},
    {"{'descr': '<f2', 'fortran_order': True, 'shape': (2, 2), }", 1, FED_F16, true, 2, 8, {2, 2}},
};

static void check_good(void)
{
    static const char data[24];

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        AUTO_CLEAR(buf) struct buf b;
        struct err e = {0};
        make_npy(&b, good[i].major, good[i].header, data, good[i].data_bytes);
        AUTO(fed_file) struct fed_file *f = read_bytes(b.data, b.len, &e);
        CHECK(f && f->n == 1 && f->tensors->dtype == good[i].dtype &&
                  f->column_major == good[i].column_major && f->tensors->rank == good[i].rank &&
                  (!good[i].rank ||
                   !memcmp(f->tensors->dims, good[i].dims, good[i].rank * sizeof(uint64_t))) &&
                  f->tensors->offset == b.len - good[i].data_bytes &&
                  f->tensors->bytes == good[i].data_bytes && f->data_offset % 64 == 0,
              "version %u: %s %s", good[i].major, good[i].header, e.text);
    }
}

static const struct {
    const char *header, *part;
} bad[] = {
    {"", "no dictionary"},
    {"{}", "are not all"},
    {HEAD "(3,)", "a comma"},
    {HEAD "(3)}", "its shape"},
    {HEAD "(3 4)}", "its shape"},
    {HEAD "(-3,)}", "its shape"},
    {HEAD "(3.0,)}", "its shape"},
    {HEAD "3}", "its shape"},
    {HEAD "(99999999999999999999,)}", "too large"},
    {HEAD "(4611686018427387904, 4)}", "shorter than its shape"},
    {HEAD "(4,)}", "shorter than its shape"},
    {HEAD "(2,)}", "4 bytes after the array"},
    {HEAD "(3,)} x", "are not all"},
    {HEAD "(3,), 'shape': (3,)}", "does not belong"},
    {HEAD "(3,), 'more': 1}", "does not belong"},
    {"{'descr': '<f4', 'fortran_order': False}", "are not all"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", "fortran_order"},
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}", "big-endian; a.astype('<f4')"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (3,)}", "type <i4 are not averaged"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", "type |O are not averaged"},
    {"{'descr': '\x1b[31m', 'fortran_order': False, 'shape': (3,)}", "type ?[31m are not"},
    {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,)}", "structured"},
    {"{'descr': '<f4", "does not end"},
    {"{'des\\x63r': '<f4'}", "does not end"},
    {"{'descr' '<f4'}", "a colon"},
};

static void check_bad(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        AUTO_CLEAR(buf) struct buf b;
        struct err e = {0};
        make_npy(&b, 1, bad[i].header, "123456789012", 12);
        AUTO(fed_file) struct fed_file *f = read_bytes(b.data, b.len, &e);
        CHECK(!f && e.kind == ERR_USAGE && !strncmp(e.text, "w.npy: ", 7) &&
                  strstr(e.text, bad[i].part),
              "refused: %s", e.text);
    }
}

static void check_prefix(void)
{
    AUTO_CLEAR(buf) struct buf b;
    struct err e = {0};

    make_npy(&b, 4, HEAD "(3,)}", "123456789012", 12);
    CHECK(!read_bytes(b.data, b.len, &e) && strstr(e.text, "version 4.0"), "%s", e.text);
    b.data[6] = 2;
    memset(b.data + 8, 0xff, 4);
    CHECK(!read_bytes(b.data, b.len, &e) && strstr(e.text, "longer than"), "%s", e.text);
    b.data[0] = 'x';
    CHECK(!read_bytes(b.data, b.len, &e) && strstr(e.text, "no npy file"), "%s", e.text);
    b.data[0] = '\x93';
    memcpy(b.data + 8, "\x10\0\0\0", 4);
    b.data[20] = 0;
    CHECK(!read_bytes(b.data, b.len, &e) && strstr(e.text, "a zero byte"), "%s", e.text);
}

static void check_cuts(void)
{
    AUTO_CLEAR(buf) struct buf b;
    unsigned taken = 0;

    make_npy(&b, 2, HEAD "(3,), }", "123456789012", 12);
    for (size_t n = 0; n < b.len; n++) {
        struct err e = {0};
        char *exact = malloc(n ? n : 1);
        memcpy(exact, b.data, n);
        struct fed_file *f = read_bytes(exact, n, &e);
        taken += f || e.kind != ERR_USAGE;
        fed_file_free(f);
        free(exact);
    }
    CHECK(taken == 0, "cut at any of its %zu bytes it is refused", b.len);
}

static void check_damage(void)
{
    AUTO_CLEAR(buf) struct buf b;
    unsigned outside = 0;

    make_npy(&b, 1, HEAD "(3, 1), }", "123456789012", 12);
    for (size_t at = 0; at < b.len - 12; at++)
        for (unsigned v = 0; v < 256; v++) {
            char was = b.data[at];
            b.data[at] = (char)v;
            struct fed_file *f = read_bytes(b.data, b.len, NULL);
            outside += f && f->tensors->offset + f->tensors->bytes != b.len;
            fed_file_free(f);
            b.data[at] = was;
        }
    CHECK(outside == 0, "with any byte changed, the array is the rest of the file");
}

int main(void)
{
    check_good();
    check_bad();
    check_prefix();
    check_cuts();
    check_damage();
    return TAP_DONE();
}
