/* Reads NumPy's .npy files as one tensor. tensor_file.c calls it. */
#include "base/arena.h"
#include "fed/formats.h"

#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
/* Headers are padded to 64 or 128 bytes; numpy itself refuses to read more than 10,000. */
#define HEADER_MAX 65535
#define DESCR_MAX 32

/* The header is a Python dictionary of three entries, written as text. */
struct header {
    const char *at;
    char descr[DESCR_MAX];
    bool fortran;
    uint64_t dims[FED_RANK_MAX];
    size_t rank;
    unsigned seen; /* one bit for each entry */
};
enum { SEEN_DESCR = 1, SEEN_ORDER = 2, SEEN_SHAPE = 4, SEEN_ALL = 7 };

static int damaged(struct err *e, const char *what)
{
    return err_set(e, ERR_USAGE, "damaged npy header: %s", what);
}

static void skip_space(struct header *h)
{
    h->at += strspn(h->at, " \t\r\n");
}

static bool skip(struct header *h, const char *token)
{
    size_t n = strlen(token);

    skip_space(h);
    if (strncmp(h->at, token, n) != 0)
        return false;
    h->at += n;
    return true;
}

/* A text in either kind of quotes, without escapes: no name or type has any. */
static int read_text(struct header *h, char out[static DESCR_MAX], struct err *e)
{
    skip_space(h);
    const char quote = *h->at;
    if (quote != '\'' && quote != '"')
        return damaged(e, "a text is missing");
    const char *end = strchr(h->at + 1, quote);
    size_t n = end ? (size_t)(end - h->at) - 1 : DESCR_MAX;
    if (n >= DESCR_MAX || memchr(h->at, '\\', n + 1))
        return damaged(e, "a text does not end, or is too long");
    memcpy(out, h->at + 1, n);
    out[n] = 0;
    h->at = end + 1;
    return 0;
}

static int read_dim(struct header *h, struct err *e)
{
    uint64_t v = 0;

    skip_space(h);
    if (*h->at < '0' || *h->at > '9' || h->rank == FED_RANK_MAX)
        return damaged(e, "its shape");
    for (; *h->at >= '0' && *h->at <= '9'; h->at++)
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*h->at - '0'), &v))
            return damaged(e, "its shape is too large");
    h->at += *h->at == 'L'; /* Python 2 wrote long integers so */
    h->dims[h->rank++] = v;
    return 0;
}

/* (), (3,) or (3, 4) */
static int read_shape(struct header *h, struct err *e)
{
    if (!skip(h, "("))
        return damaged(e, "its shape");
    while (!skip(h, ")")) {
        if (read_dim(h, e) < 0)
            return -1;
        if (skip(h, ","))
            continue;
        if (h->rank < 2 || !skip(h, ")"))
            return damaged(e, "its shape");
        break;
    }
    h->seen |= SEEN_SHAPE;
    return 0;
}

static int read_descr(struct header *h, struct err *e)
{
    skip_space(h);
    if (*h->at == '[')
        return err_set(e, ERR_USAGE,
                       "a structured array; only arrays of plain floats are averaged");
    h->seen |= SEEN_DESCR;
    return read_text(h, h->descr, e);
}

static int read_order(struct header *h, struct err *e)
{
    h->fortran = skip(h, "True");
    if (!h->fortran && !skip(h, "False"))
        return damaged(e, "fortran_order is neither True nor False");
    h->seen |= SEEN_ORDER;
    return 0;
}

static int read_entry(struct header *h, struct err *e)
{
    char key[DESCR_MAX];

    if (read_text(h, key, e) < 0)
        return -1;
    if (!skip(h, ":"))
        return damaged(e, "a colon is missing");
    if (!strcmp(key, "descr") && !(h->seen & SEEN_DESCR))
        return read_descr(h, e);
    if (!strcmp(key, "fortran_order") && !(h->seen & SEEN_ORDER))
        return read_order(h, e);
    if (!strcmp(key, "shape") && !(h->seen & SEEN_SHAPE))
        return read_shape(h, e);
    return damaged(e, "an entry that does not belong there");
}

static int read_dictionary(struct header *h, struct err *e)
{
    if (!skip(h, "{"))
        return damaged(e, "no dictionary");
    while (!skip(h, "}")) {
        if (read_entry(h, e) < 0)
            return -1;
        if (skip(h, ","))
            continue;
        if (!skip(h, "}"))
            return damaged(e, "a comma is missing");
        break;
    }
    skip_space(h);
    if (*h->at || h->seen != SEEN_ALL)
        return damaged(e, "descr, fortran_order and shape are not all it has");
    return 0;
}

static int dtype_of(const char *descr, enum fed_dtype *out, struct err *e)
{
    static const struct {
        const char *descr;
        enum fed_dtype dtype;
    } known[] = {{"<f8", FED_F64}, {"<f4", FED_F32}, {"<f2", FED_F16}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(descr, known[i].descr)) {
            *out = known[i].dtype;
            return 0;
        }
    if (descr[0] == '>' && descr[1] == 'f')
        return err_set(e, ERR_USAGE,
                       "its numbers are big-endian; a.astype('<%s') makes them little-endian",
                       descr + 1);
    return err_set(e, ERR_USAGE, "numbers of type %s are not averaged; <f8, <f4 and <f2 are",
                   descr);
}

/* Length and place of the dictionary; 1.0 has two bytes for its length, later versions four. */
static int read_prefix(const struct fed_source *source, size_t *at, size_t *n, struct err *e)
{
    unsigned char b[MAGIC_BYTES + 6] = {0};
    size_t have = source->size < sizeof b ? (size_t)source->size : sizeof b;

    if (source->read(source->context, 0, b, have, e) < 0)
        return -1;
    if (have < sizeof b || memcmp(b, MAGIC, MAGIC_BYTES) != 0)
        return err_set(e, ERR_USAGE, "no npy file: it does not begin as one");
    unsigned major = b[MAGIC_BYTES], minor = b[MAGIC_BYTES + 1];
    const unsigned char *length = b + MAGIC_BYTES + 2;
    if (major < 1 || major > 3 || minor != 0)
        return err_set(e, ERR_USAGE, "version %u.%u of npy; 1.0, 2.0 and 3.0 are read", major,
                       minor);
    *at = MAGIC_BYTES + (major == 1 ? 4 : 6);
    uint64_t bytes = (uint64_t)length[0] | (uint64_t)length[1] << 8;
    if (major > 1)
        bytes |= (uint64_t)length[2] << 16 | (uint64_t)length[3] << 24;
    if (bytes > HEADER_MAX || bytes > source->size - *at)
        return damaged(e, "it is longer than the file, or than any");
    *n = (size_t)bytes;
    return 0;
}

static int fill(struct fed_file *f, const struct header *h, uint64_t data_bytes, struct err *e)
{
    struct fed_tensor *t = arena_alloc(f->arena, 1, sizeof *t);
    uint64_t *dims = arena_alloc(f->arena, h->rank + 1, sizeof *dims);

    if (!t || !dims)
        return damaged(e, "too large");
    memcpy(dims, h->dims, h->rank * sizeof *dims);
    *t = (struct fed_tensor){.name = "", .rank = h->rank, .dims = dims, .offset = f->data_offset};
    if (dtype_of(h->descr, &t->dtype, e) < 0)
        return -1;
    if (!fed_tensor_size(t->dtype, dims, t->rank, &t->bytes) || t->bytes > data_bytes)
        return err_set(e, ERR_USAGE, "shorter than its shape says; was it cut?");
    if (t->bytes < data_bytes)
        return err_set(e, ERR_USAGE, "%llu bytes after the array; only files of one array are read",
                       (unsigned long long)(data_bytes - t->bytes));
    f->tensors = t;
    f->n = 1;
    f->column_major = h->fortran;
    return 0;
}

int fed_npy_read(struct fed_file *f, const struct fed_source *source, struct err *e)
{
    struct header h = {0};
    size_t at = 0, n = 0;

    if (read_prefix(source, &at, &n, e) < 0)
        return -1;
    char *text = arena_alloc(f->arena, n + 1, 1);
    if (!text)
        return damaged(e, "too large");
    if (source->read(source->context, at, text, n, e) < 0)
        return -1;
    if (memchr(text, 0, n))
        return damaged(e, "a zero byte");
    h.at = text;
    if (read_dictionary(&h, e) < 0)
        return -1;
    f->data_offset = at + n;
    return fill(f, &h, source->size - f->data_offset, e);
}
