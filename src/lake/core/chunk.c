#include "lake/core/chunk.h"

#include "base/hash.h"
#include "lake/core/internal.h"

#include <assert.h>
#include <string.h>

/* A chunk is this byte, then for each entry, as varints: how many bytes of the path before it are
 * kept, how many follow, those bytes, version number, difference of the version id to the one
 * before, size. */
#define FORMAT 1

/* 10 bytes hold 64 bits, 7 at a time. */
#define VARINT_MAX 10

/* One path in this number ends a chunk. */
#define ENDS_ONE_IN 1024

#define BODY_MAX ((size_t)CHUNK_MOST * (LAKE_PATH_MAX + 5 * VARINT_MAX) + 1)

void chunk_init(struct chunk *c)
{
    *c = (struct chunk){0};
    buf_init(&c->body, BODY_MAX);
    buf_init(&c->first, LAKE_PATH_MAX);
    buf_init(&c->last, LAKE_PATH_MAX);
}

void chunk_clear(struct chunk *c)
{
    buf_clear(&c->body);
    buf_clear(&c->first);
    buf_clear(&c->last);
    c->files = 0;
    c->bytes = 0;
    c->version = 0;
}

uint64_t chunk_bytes_add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? INT64_MAX : sum;
}

static size_t put_varint(unsigned char *out, uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        out[n++] = (unsigned char)(v | 0x80);
    out[n++] = (unsigned char)v;
    return n;
}

/* Small differences of either sign become small numbers. */
static uint64_t zigzag(int64_t v)
{
    return v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1;
}

bool chunk_takes(const struct chunk *c, const struct lake_entry *entry)
{
    return entry->path && entry->path[0] == '/' &&
           strnlen(entry->path, LAKE_PATH_MAX + 1) <= LAKE_PATH_MAX &&
           strcmp(buf_str(&c->last), entry->path) < 0 && entry->number > 0 && entry->version > 0 &&
           entry->size <= INT64_MAX;
}

void chunk_add(struct chunk *c, const struct lake_entry *entry)
{
    unsigned char head[1 + 2 * VARINT_MAX], tail[3 * VARINT_MAX];
    size_t len = strlen(entry->path), shared = path_shared(buf_str(&c->last), entry->path);
    size_t n_head = 0, n_tail = 0;

    assert(len <= LAKE_PATH_MAX && c->files < CHUNK_MOST);
    if (c->files == 0) {
        head[n_head++] = FORMAT;
        buf_add(&c->first, entry->path, len);
    }
    n_head += put_varint(head + n_head, shared);
    n_head += put_varint(head + n_head, len - shared);
    n_tail += put_varint(tail + n_tail, (uint64_t)entry->number);
    n_tail += put_varint(tail + n_tail, zigzag(entry->version - c->version));
    n_tail += put_varint(tail + n_tail, entry->size);
    buf_add(&c->body, head, n_head);
    buf_add(&c->body, entry->path + shared, len - shared);
    buf_add(&c->body, tail, n_tail);
    c->last.len = 0;
    buf_add(&c->last, entry->path, len);
    c->version = entry->version;
    c->bytes = chunk_bytes_add(c->bytes, entry->size);
    c->files++;
}

bool chunk_ends(const char *path, size_t files)
{
    return files >= CHUNK_MOST || (files >= CHUNK_LEAST && hash_text(path) % ENDS_ONE_IN == 0);
}

int chunk_open(struct chunk_reader *r, const void *body, size_t n)
{
    const unsigned char *bytes = body;

    if (n == 0 || bytes[0] != FORMAT)
        return -1;
    r->at = bytes + 1;
    r->end = bytes + n;
    r->path[0] = 0;
    r->path_len = 0;
    r->files = 0;
    r->version = 0;
    return 0;
}

static int get_varint(struct chunk_reader *r, uint64_t *out)
{
    uint64_t v = 0;

    for (unsigned shift = 0; r->at < r->end && shift < 64; shift += 7) {
        unsigned char byte = *r->at++;
        if (shift == 63 && byte > 1)
            return -1;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = v;
            return 0;
        }
    }
    return -1;
}

/* The path of the next entry: longer than what it shares with the one before, and behind it. */
static int get_path(struct chunk_reader *r)
{
    uint64_t shared, more;

    if (get_varint(r, &shared) < 0 || get_varint(r, &more) < 0)
        return -1;
    if (shared > r->path_len || more == 0 || more > LAKE_PATH_MAX - shared ||
        more > (size_t)(r->end - r->at) || memchr(r->at, 0, (size_t)more))
        return -1;
    if (*r->at <= (unsigned char)r->path[shared] || (shared == 0 && *r->at != '/'))
        return -1;
    memcpy(r->path + shared, r->at, (size_t)more);
    r->at += more;
    r->path_len = (size_t)(shared + more);
    r->path[r->path_len] = 0;
    return 0;
}

int chunk_next(struct chunk_reader *r, struct lake_entry *out)
{
    uint64_t number, step, size;
    int64_t version;

    if (r->at == r->end)
        return r->files > 0 ? 0 : -1;
    if (r->files == CHUNK_MOST || get_path(r) < 0 || get_varint(r, &number) < 0 ||
        get_varint(r, &step) < 0 || get_varint(r, &size) < 0)
        return -1;
    int64_t difference = (int64_t)((step >> 1) ^ (~(step & 1) + 1));
    if (number == 0 || number > INT64_MAX || size > INT64_MAX ||
        __builtin_add_overflow(r->version, difference, &version) || version <= 0)
        return -1;
    r->version = version;
    r->files++;
    *out = (struct lake_entry){
        .path = r->path, .number = (int64_t)number, .version = version, .size = size};
    return 1;
}
