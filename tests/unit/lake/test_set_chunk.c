/* Entries of a set as bytes: what goes in comes out, damage is noticed, ends depend on paths. */
#include "lake/core/chunk.h"

#include "base/mem.h"
#include "tap.h"

#include <string.h>

static uint64_t seed = 7;

static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

static void add(struct chunk *c, const char *path, int64_t number, int64_t version, uint64_t n)
{
    chunk_add(c,
              &(struct lake_entry){.path = path, .number = number, .version = version, .size = n});
}

/* Reads a whole body: entries, or -1 at damage. */
static int count_entries(const void *body, size_t n)
{
    struct chunk_reader r;
    struct lake_entry entry;
    int got, entries = 0;

    if (chunk_open(&r, body, n) < 0)
        return -1;
    while ((got = chunk_next(&r, &entry)) == 1)
        entries++;
    return got < 0 ? -1 : entries;
}

static bool next_is(
    struct chunk_reader *r, const char *path, int64_t number, int64_t version, uint64_t size)
{
    struct lake_entry entry;

    return chunk_next(r, &entry) == 1 && strcmp(entry.path, path) == 0 && entry.number == number &&
           entry.version == version && entry.size == size;
}

static void test_bytes(void)
{
    static const unsigned char wanted[] = {
        1,                                       /* format */
        0, 4, '/', 'a', '/', 'b', 2, 6, 0xac, 2, /* #2, id 3 (zigzag 6), 300 bytes */
        3, 2, 'c', 'd', 1,   3,   0,             /* "/a/" kept, id 1: 2 less (zigzag 3) */
    };
    AUTO_CLEAR(chunk) struct chunk c;
    struct chunk_reader r;
    struct lake_entry entry;

    chunk_init(&c);
    add(&c, "/a/b", 2, 3, 300);
    add(&c, "/a/cd", 1, 1, 0);
    CHECK(c.body.len == sizeof wanted && memcmp(c.body.data, wanted, sizeof wanted) == 0,
          "the bytes are those of the format");
    CHECK(c.files == 2 && c.bytes == 300, "files and bytes are counted");
    CHECK(strcmp(buf_str(&c.first), "/a/b") == 0 && strcmp(buf_str(&c.last), "/a/cd") == 0,
          "first and last path are known");
    CHECK(chunk_open(&r, c.body.data, c.body.len) == 0 && next_is(&r, "/a/b", 2, 3, 300) &&
              next_is(&r, "/a/cd", 1, 1, 0) && chunk_next(&r, &entry) == 0,
          "and it reads back");
}

static void test_extremes(void)
{
    AUTO_CLEAR(chunk) struct chunk c;
    struct chunk_reader r;
    char longest[LAKE_PATH_MAX + 1];

    memset(longest, 'x', LAKE_PATH_MAX);
    longest[0] = '/';
    longest[LAKE_PATH_MAX] = 0;
    chunk_init(&c);
    add(&c, "/a", INT64_MAX, INT64_MAX, INT64_MAX);
    add(&c, "/a\xc3\xa4", 1, 1, INT64_MAX);
    add(&c, longest, 1, INT64_MAX, 1);
    CHECK(c.bytes == INT64_MAX, "sizes do not run over");
    CHECK(chunk_open(&r, c.body.data, c.body.len) == 0 &&
              next_is(&r, "/a", INT64_MAX, INT64_MAX, INT64_MAX) &&
              next_is(&r, "/a\xc3\xa4", 1, 1, INT64_MAX) && next_is(&r, longest, 1, INT64_MAX, 1),
          "the largest numbers and the longest path read back");
    chunk_clear(&c);
    add(&c, "/b", 1, 1, 1);
    CHECK(count_entries(c.body.data, c.body.len) == 1, "a cleared chunk begins anew");
}

static void test_takes(void)
{
    AUTO_CLEAR(chunk) struct chunk c;
    char too_long[LAKE_PATH_MAX + 2];

    memset(too_long, 'x', LAKE_PATH_MAX + 1);
    too_long[0] = '/';
    too_long[LAKE_PATH_MAX + 1] = 0;
    chunk_init(&c);
    add(&c, "/b", 1, 1, 0);
    const struct {
        struct lake_entry entry;
        bool taken;
    } cases[] = {
        {{"/c", 1, 1, 0, false}, true},           {{"/b/c", 1, 1, INT64_MAX, false}, true},
        {{"/a", 1, 1, 0, false}, false},          {{"/b", 1, 1, 0, false}, false},
        {{"c", 1, 1, 0, false}, false},           {{NULL, 1, 1, 0, false}, false},
        {{"/c", 0, 1, 0, false}, false},          {{"/c", 1, 0, 0, false}, false},
        {{"/c", -1, 1, 0, false}, false},         {{"/c", 1, -1, 0, false}, false},
        {{"/c", 1, 1, UINT64_MAX, false}, false}, {{too_long, 1, 1, 0, false}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(chunk_takes(&c, &cases[i].entry) == cases[i].taken, "entry %zu is %s", i,
              cases[i].taken ? "taken" : "refused");
}

static void test_ends(void)
{
    size_t ends = 0;

    for (int i = 0; i < 100000; i++) {
        AUTO_MEM char *path = mem_printf("/data/%d", i);
        ends += chunk_ends(path, 1000);
    }
    CHECK(ends > 50 && ends < 200, "about one path in 1,024 ends a chunk: %zu of 100,000", ends);
    CHECK(!chunk_ends("/data/1", CHUNK_LEAST - 1), "none ends a chunk of 255");
    CHECK(chunk_ends("/data/1", CHUNK_MOST), "each ends a chunk of 4,096");
}

struct damage {
    const char *name;
    unsigned char bytes[24];
    size_t n;
};

static void test_damage(void)
{
    static const struct damage cases[] = {
        {"nothing", {0}, 0},
        {"another format", {2, 0, 2, '/', 'a', 1, 2, 0}, 8},
        {"no entries", {1}, 1},
        {"cut in a path", {1, 0, 2, '/'}, 4},
        {"cut before the size", {1, 0, 2, '/', 'a', 1, 2}, 7},
        {"a path that is not absolute", {1, 0, 2, 'a', 'b', 1, 2, 0}, 8},
        {"an empty path", {1, 0, 0, 1, 2, 0}, 6},
        {"a NUL in a path", {1, 0, 3, '/', 0, 'a', 1, 2, 0}, 9},
        {"more kept than there was", {1, 0, 2, '/', 'a', 1, 2, 0, 3, 1, 'b', 1, 2, 0}, 14},
        {"the same path twice", {1, 0, 2, '/', 'a', 1, 2, 0, 1, 1, 'a', 1, 2, 0}, 14},
        {"falling paths", {1, 0, 2, '/', 'b', 1, 2, 0, 1, 1, 'a', 1, 2, 0}, 14},
        {"version number 0", {1, 0, 2, '/', 'a', 0, 2, 0}, 8},
        {"version id 0", {1, 0, 2, '/', 'a', 1, 0, 0}, 8},
        {"a negative version id", {1, 0, 2, '/', 'a', 1, 1, 0}, 8},
        {"a number of 65 bits",
         {1, 0, 2, '/', 'a', 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 2, 0},
         17},
        {"a size above 63 bits",
         {1, 0, 2, '/', 'a', 1, 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1},
         17},
        {"a path longer than paths are", {1, 0, 0x80, 0x20, '/', 'a', 1, 2, 0}, 9},
    };
    static const unsigned char good[] = {1, 0, 2, '/', 'a', 1, 2, 0};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(count_entries(cases[i].bytes, cases[i].n) == -1, "damaged: %s", cases[i].name);
    CHECK(count_entries(good, sizeof good) == 1, "the pattern of these cases is sound itself");
}

static void test_too_many(void)
{
    AUTO_CLEAR(buf) struct buf body;

    buf_init(&body, 1 << 20);
    buf_add(&body, "\x01", 1);
    for (unsigned i = 0; i <= CHUNK_MOST; i++) {
        unsigned a = i / 100 + 33, b = i % 100 + 33;
        const unsigned char entry[] = {(unsigned char)(i ? i % 100 ? 2 : 1 : 0),
                                       (unsigned char)(i ? i % 100 ? 1 : 2 : 3),
                                       '/',
                                       (unsigned char)a,
                                       (unsigned char)b,
                                       1,
                                       2,
                                       0};
        buf_add(&body, entry, 2);
        buf_add(&body, entry + 2 + entry[0], entry[1]);
        buf_add(&body, entry + 5, 3);
        if (i + 1 == CHUNK_MOST)
            CHECK(count_entries(body.data, body.len) == CHUNK_MOST, "4,096 entries are read");
    }
    CHECK(count_entries(body.data, body.len) == -1, "4,097 are damage");
}

static void test_round_trips(void)
{
    bool good = true;

    for (int round = 0; round < 50; round++) {
        AUTO_CLEAR(chunk) struct chunk c;
        struct lake_entry entries[300];
        char *paths[300];
        size_t n = 1 + draw(300);
        struct chunk_reader r;
        chunk_init(&c);
        for (size_t i = 0; i < n; i++) {
            paths[i] = mem_printf("/d%03zu/%s%llu", i / 7, draw(2) ? "long-name-" : "x",
                                  1000 * (unsigned long long)i + draw(1000));
            if (i % 7 && strcmp(paths[i - 1], paths[i]) >= 0) {
                free(paths[i]);
                paths[i] = mem_printf("%s.%zu", paths[i - 1], i);
            }
            entries[i] = (struct lake_entry){.path = paths[i],
                                             .number = 1 + (int64_t)draw(300),
                                             .version = 1 + (int64_t)draw(1u << 30),
                                             .size = draw(1u << 30)};
            chunk_add(&c, &entries[i]);
        }
        good = good && chunk_open(&r, c.body.data, c.body.len) == 0;
        for (size_t i = 0; i < n; i++) {
            good = good &&
                   next_is(&r, paths[i], entries[i].number, entries[i].version, entries[i].size);
            free(paths[i]);
        }
        /* No cut body is taken for a whole one that says more or as much. */
        for (size_t cut = 0; cut < c.body.len; cut += 1 + draw(40))
            good = good && count_entries(c.body.data, cut) < (int)n;
    }
    CHECK(good, "50 random chunks read back, and their beginnings are told from them");
}

int main(void)
{
    test_bytes();
    test_extremes();
    test_takes();
    test_ends();
    test_damage();
    test_too_many();
    test_round_trips();
    return TAP_DONE();
}
