#include "fed/average.h"

#include "tap.h"
#include "tensors.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* ---- a sink in memory ---- */

struct memory {
    char *bytes;
    uint64_t size;
    uint64_t fail_at; /* an offset whose writing fails; UINT64_MAX = none */
};

static int begin(void *context, uint64_t size, struct err *e)
{
    struct memory *m = context;

    (void)e;
    m->bytes = malloc(size ? size : 1);
    memset(m->bytes, 0xee, size);
    m->size = size;
    return 0;
}

static int keep(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e)
{
    struct memory *m = context;

    if (m->fail_at >= offset && m->fail_at - offset < n)
        return err_set(e, ERR_IO, "no room");
    if (offset + n > m->size)
        return err_set(e, ERR_IO, "written beyond the end");
    memcpy(m->bytes + offset, bytes, n);
    return 0;
}

static int average(struct fed_average *a,
                   struct memory *m,
                   struct fed_summary *summary,
                   struct err *e)
{
    const struct fed_sink sink = {begin, keep, m};

    *m = (struct memory){.fail_at = UINT64_MAX};
    *e = (struct err){0};
    return fed_average(a, &sink, summary, e);
}

/* ---- raw numbers, by hand ---- */

static void check_hand(void)
{
    static const float x[] = {1, 2, -4}, y[] = {3, 4, 4}, z[] = {5, 9, 0.75F};
    const struct fed_source in[] = {fed_source_of_memory("x.f32", x, sizeof x),
                                    fed_source_of_memory("y.f32", y, sizeof y),
                                    fed_source_of_memory("z.f32", z, sizeof z)};
    static const float plain[] = {3, 5, 0.25F}, weighted[] = {2.5F, 3.5F, 2},
                       middle[] = {3, 4, 0.75F};
    const double weights[] = {20, 60, 0};
    struct fed_average a = {.format = FED_RAW_F32, .inputs = in, .n = 3};
    struct memory m;
    struct fed_summary s;
    struct err e;

    CHECK(average(&a, &m, &s, &e) == 0 && m.size == sizeof plain &&
              !memcmp(m.bytes, plain, sizeof plain),
          "the mean of three: %s", e.text);
    CHECK(s.tensors == 1 && s.numbers == 3 && s.copied == 0 && s.nonfinite == 0 && s.bytes == 12 &&
              s.dropped == 0,
          "and what was averaged");
    free(m.bytes);
    a.weights = weights;
    CHECK(average(&a, &m, &s, &e) == 0 && !memcmp(m.bytes, weighted, sizeof weighted),
          "weights 20, 60 and 0: a quarter, three quarters, nothing: %s", e.text);
    free(m.bytes);
    a.weights = NULL;
    a.trim = 0.34;
    CHECK(average(&a, &m, &s, &e) == 0 && !memcmp(m.bytes, middle, sizeof middle) && s.dropped == 1,
          "without the smallest and the largest the middle is left: %s", e.text);
    free(m.bytes);
    a.trim = 0.2;
    CHECK(average(&a, &m, &s, &e) == 0 && !memcmp(m.bytes, plain, sizeof plain) && s.dropped == 0,
          "0.2 of three is none: %s", e.text);
    free(m.bytes);
}

static void check_requests(void)
{
    static const float x[] = {1};
    const struct fed_source in[] = {fed_source_of_memory("x.f32", x, sizeof x),
                                    fed_source_of_memory("y.f32", x, sizeof x)};
    static const struct {
        double weights[2];
        double trim;
        bool weighted;
        size_t n;
        const char *part;
    } cases[] = {
        {{0, 0}, 0, false, 0, "0 files"},
        {{0, 0}, 0.5, false, 2, "below 0.5"},
        {{0, 0}, -0.1, false, 2, "from 0 up"},
        {{0, 0}, (double)NAN, false, 2, "from 0 up"},
        {{0, 0}, 0, true, 2, "add up to 0"},
        {{1, -1}, 0, true, 2, "weight of y.f32"},
        {{(double)NAN, 1}, 0, true, 2, "weight of x.f32"},
        {{1e308, 1e308}, 0, true, 2, "too much"},
        {{1, 1}, 0.1, true, 2, "no weights"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fed_average a = {.format = FED_RAW_F32,
                                .inputs = in,
                                .n = cases[i].n,
                                .weights = cases[i].weighted ? cases[i].weights : NULL,
                                .trim = cases[i].trim};
        struct memory m;
        struct fed_summary s;
        struct err e;
        CHECK(average(&a, &m, &s, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, cases[i].part) &&
                  !m.bytes,
              "refused, and nothing begun: %s", e.text);
    }
}

/* ---- many numbers: threads, files, groups ---- */

#define MANY 150000 /* of F32: five pieces of 128 KiB, the last one smaller */
#define FILES 21

static float numbers[FILES][MANY];
static struct fed_source many[FILES];

static void fill_many(void)
{
    uint32_t state = 7;

    for (size_t k = 0; k < FILES; k++) {
        many[k] = fed_source_of_memory("w.f32", numbers[k], sizeof numbers[k]);
        for (size_t i = 0; i < MANY; i++) {
            state = state * 1664525 + 1013904223;
            numbers[k][i] = (float)(int32_t)state / 65536;
        }
    }
}

static void check_many(void)
{
    struct fed_average a = {.format = FED_RAW_F32, .inputs = many, .n = FILES, .threads = 1};
    struct memory one, more;
    struct fed_summary s;
    struct err e;
    unsigned wrong = 0;

    CHECK(average(&a, &one, &s, &e) == 0, "one thread: %s", e.text);
    for (size_t i = 0; i < MANY; i++) {
        double sum = 0;
        for (size_t k = 0; k < FILES; k++)
            sum += (double)numbers[k][i];
        wrong += ((const float *)one.bytes)[i] != (float)(sum / FILES);
    }
    CHECK(wrong == 0, "is the double sum in the order of the files, rounded once");
    for (a.threads = 2; a.threads <= 5; a.threads++) {
        CHECK(average(&a, &more, &s, &e) == 0 && !memcmp(one.bytes, more.bytes, sizeof numbers[0]),
              "%u threads give the same bits", a.threads);
        free(more.bytes);
    }
    for (a.piece_bytes = 8; a.piece_bytes < 1 << 20; a.piece_bytes *= 316) {
        CHECK(average(&a, &more, &s, &e) == 0 && !memcmp(one.bytes, more.bytes, sizeof numbers[0]),
              "pieces of %zu bytes give the same bits", a.piece_bytes);
        free(more.bytes);
    }
    free(one.bytes);
}

/* ---- inputs where they lie, looked at by processes ---- */

/* Shared by them. */
static struct shared {
    _Atomic int views, leaves;
    _Atomic bool die; /* the next one that looks */
    float mean[MANY];
} * shared;

static int begin_shared(void *context, uint64_t size, struct err *e)
{
    (void)context;
    return size == sizeof shared->mean ? 0 : err_set(e, ERR_IO, "of another size");
}

static int keep_shared(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e)
{
    (void)context;
    (void)e;
    memcpy((char *)shared->mean + offset, bytes, n);
    return 0;
}

static const void *view(void *context, uint64_t offset, size_t n)
{
    size_t k = *(const size_t *)context;

    (void)n;
    if (atomic_exchange(&shared->die, false))
        raise(SIGKILL);
    if (k % 3 == 1)
        return NULL; /* this one is not to be had so */
    atomic_fetch_add(&shared->views, 1);
    /* Between two numbers: what is read there would be wrong, and on some processors the end. */
    return (const char *)numbers[k] + offset + (k % 3 == 2);
}

static void leave(void *context, uint64_t offset, size_t n)
{
    (void)context;
    (void)offset;
    (void)n;
    atomic_fetch_add(&shared->leaves, 1);
}

static int read_number(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    (void)e;
    memcpy(bytes, (const char *)numbers[*(const size_t *)context] + offset, n);
    return 0;
}

static bool is_mean(void)
{
    for (size_t i = 0; i < MANY; i++) {
        double sum = 0;
        for (size_t k = 0; k < FILES; k++)
            sum += (double)numbers[k][i];
        if (shared->mean[i] != (float)(sum / FILES))
            return false;
    }
    return true;
}

static void check_forked(void)
{
    static size_t which[FILES];
    struct fed_source in[FILES];
    struct fed_average a = {
        .format = FED_RAW_F32, .inputs = in, .n = FILES, .threads = 3, .forked = true};
    const struct fed_sink sink = {begin_shared, keep_shared, NULL};
    struct fed_summary s;
    struct err e = {0};

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (size_t k = 0; k < FILES; k++) {
        which[k] = k;
        in[k] = (struct fed_source){.name = "w.f32",
                                    .size = sizeof numbers[k],
                                    .read = read_number,
                                    .view = view,
                                    .leave = leave,
                                    .context = &which[k]};
    }
    CHECK(fed_average(&a, &sink, &s, &e) == 0 && s.numbers == MANY && is_mean(),
          "processes give the same bits: %s", e.text);
    /* 5 pieces of 14 inputs, of which 7 lie where they can be read. */
    CHECK(shared->views == 70 && shared->leaves == 70, "%d looks, %d left", shared->views,
          shared->leaves);
    memset(shared->mean, 0, sizeof shared->mean);
    shared->die = true;
    CHECK(fed_average(&a, &sink, &s, &e) == 0 && !shared->die && is_mean(),
          "also when one of them is killed: %s", e.text);
    munmap(shared, sizeof *shared);
}

/* Of each number the median of three is left, in whatever order the files come. */
static void check_many_trimmed(void)
{
    struct fed_average a = {.format = FED_RAW_F32, .inputs = many, .n = 3, .trim = 0.4};
    struct memory m;
    struct fed_summary s;
    struct err e;
    unsigned wrong = 0;

    CHECK(average(&a, &m, &s, &e) == 0 && s.dropped == 1, "trimmed: %s", e.text);
    for (size_t i = 0; i < MANY; i++) {
        float x = numbers[0][i], y = numbers[1][i], z = numbers[2][i];
        float middle = fmaxf(fminf(x, y), fminf(fmaxf(x, y), z));
        wrong += ((const float *)m.bytes)[i] != middle;
    }
    CHECK(wrong == 0, "of three the middle");
    free(m.bytes);
}

/* Regions of 1, 2 and 4 workers: the mean of their means, weighted by workers, is the mean of all;
 * without weights it is not. */
static void check_regions(void)
{
    static float means[3][MANY];
    static const size_t first[] = {0, 1, 3}, workers[] = {1, 2, 4};
    const double weights[] = {1, 2, 4};
    struct fed_source regions[3];
    struct memory all, region;
    struct fed_summary s;
    struct err e;
    double worst = 0, unweighted = 0;

    for (size_t r = 0; r < 3; r++) {
        struct fed_average a = {.format = FED_RAW_F32, .inputs = many + first[r], .n = workers[r]};
        CHECK(average(&a, &region, &s, &e) == 0, "a region of %zu: %s", workers[r], e.text);
        memcpy(means[r], region.bytes, sizeof means[r]);
        free(region.bytes);
        regions[r] = fed_source_of_memory("region.f32", means[r], sizeof means[r]);
    }
    struct fed_average central = {.format = FED_RAW_F32, .inputs = many, .n = 7};
    struct fed_average global = {
        .format = FED_RAW_F32, .inputs = regions, .n = 3, .weights = weights};
    CHECK(average(&central, &all, &s, &e) == 0 && average(&global, &region, &s, &e) == 0,
          "central and regional: %s", e.text);
    for (size_t i = 0; i < MANY; i++) {
        double want = (double)((const float *)all.bytes)[i];
        double even = ((double)means[0][i] + (double)means[1][i] + (double)means[2][i]) / 3;
        worst = fmax(worst, fabs((double)((const float *)region.bytes)[i] - want));
        unweighted = fmax(unweighted, fabs(even - want));
    }
    /* Numbers are below 2^15: two roundings to F32 on the way, and one of each. */
    CHECK(worst <= 3 * 0x1p-10 && unweighted > 1000,
          "weighted by workers they agree (%g), else they do not (%g)", worst, unweighted);
    free(all.bytes);
    free(region.bytes);
}

/* ---- safetensors: names, orders, integers ---- */

#define T(name, dtype, shape, from, to)                                                            \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to   \
    "]}"

struct tensors {
    float a[2];
    uint16_t b;
    int16_t step;
    float c;
};

static void check_names(void)
{
    static const struct tensors x = {{1, 2}, 0x3c00, 7, 10}; /* 0x3c00: 1.0 as F16 */
    static const struct {
        float c;
        int16_t step;
        float a[2];
        uint16_t b;
    } __attribute__((packed)) y = {20, 7, {3, 5}, 0x4000}; /* 2.0 */
    static const struct tensors want = {{2, 3.5F}, 0x3e00, 7, 15};
    static const char first[] =
        "{\"__metadata__\":{\"round\":\"7\"}," T("a", "F32", "[2]", 0, 8) "," T(
            "b", "F16", "[]", 8, 10) "," T("step", "I16", "[1]", 10, 12) "," T("c", "F32", "[1]",
                                                                               12, 16) "}";
    AUTO_CLEAR(buf) struct buf f, g;
    struct memory m;
    struct fed_summary s;
    struct err e;

    make_safetensors(&f, first, &x, sizeof x);
    make_safetensors(&g,
                     "{" T("a", "F32", "[2]", 6, 14) "," T("b", "F16", "[]", 14, 16) "," T(
                         "c", "F32", "[1]", 0, 4) "," T("step", "I16", "[1]", 4, 6) "}",
                     &y, sizeof y);
    const struct fed_source in[] = {fed_source_of_memory("f", f.data, f.len),
                                    fed_source_of_memory("g", g.data, g.len)};
    struct fed_average a = {.format = FED_SAFETENSORS, .inputs = in, .n = 2};
    CHECK(average(&a, &m, &s, &e) == 0 && m.size == f.len &&
              !memcmp(m.bytes, f.data, f.len - sizeof x) &&
              !memcmp(m.bytes + f.len - sizeof x, &want, sizeof want),
          "tensors are matched by name, header and metadata are the first's: %s", e.text);
    CHECK(s.tensors == 4 && s.copied == 1 && s.numbers == 4, "integers are copied");
    free(m.bytes);
    g.data[g.len - sizeof y + 4] = 8; /* step */
    CHECK(average(&a, &m, &s, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "g: tensor \"step\": its I16 at index 0 is not that of f"),
          "integers that differ are refused: %s", e.text);
    free(m.bytes);
}

static void check_mismatches(void)
{
    static const char a[] = "{" T("a", "F32", "[2,1]", 0, 8) "}";
    static const struct {
        const char *header, *part;
    } cases[] = {
        {"{" T("b", "F32", "[2,1]", 0, 8) "}", "g: tensor \"a\": is missing here, but f has it"},
        {"{" T("A", "F32", "[2,1]", 0, 8) "}", "g: tensor \"A\": is here, but not in f"},
        {"{" T("a", "F32", "[1,1]", 0, 4) "," T("b", "F32", "[1]", 4, 8) "}",
         "its shape is [1, 1], in f it is [2, 1]"},
        {"{" T("a", "F32", "[2,1]", 0, 8) "," T("b", "F32", "[0]", 8, 8) "}",
         "tensor \"b\": is here, but not in f"},
        {"{" T("a", "F64", "[1,1]", 0, 8) "}", "its numbers are F64, in f they are F32"},
        {"{" T("a", "F32", "[2]", 0, 8) "}", "its shape is [2], in f it is [2, 1]"},
        {"{", "g: damaged header"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_CLEAR(buf) struct buf f, g;
        struct memory m;
        struct fed_summary s;
        struct err e;
        make_safetensors(&f, a, "12345678", 8);
        make_safetensors(&g, cases[i].header, "12345678", 8);
        const struct fed_source in[] = {fed_source_of_memory("f", f.data, f.len),
                                        fed_source_of_memory("g", g.data, g.len)};
        struct fed_average ask = {.format = FED_SAFETENSORS, .inputs = in, .n = 2};
        CHECK(average(&ask, &m, &s, &e) < 0 && e.kind == ERR_USAGE &&
                  strstr(e.text, cases[i].part) && !m.bytes,
              "refused before anything is written: %s", e.text);
    }
}

static void check_npy_orders(void)
{
    static const float x[] = {1, 2, 3, 4}, y[] = {3, 4, 5, 6};
#define NPY(order, shape) "{'descr': '<f4', 'fortran_order': " order ", 'shape': " shape ", }"
    static const struct {
        const char *first, *second;
        bool good;
    } cases[] = {
        {NPY("False", "(2, 2)"), NPY("False", "(2, 2)"), true},
        {NPY("True", "(2, 2)"), NPY("True", "(2, 2)"), true},
        {NPY("True", "(1, 4)"), NPY("False", "(1, 4)"), true},
        {NPY("True", "(2, 2)"), NPY("False", "(2, 2)"), false},
        {NPY("False", "(2, 2)"), NPY("False", "(4,)"), false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_CLEAR(buf) struct buf f, g;
        struct memory m;
        struct fed_summary s;
        struct err e;
        make_npy(&f, 1, cases[i].first, x, sizeof x);
        make_npy(&g, 2, cases[i].second, y, sizeof y);
        const struct fed_source in[] = {fed_source_of_memory("f", f.data, f.len),
                                        fed_source_of_memory("g", g.data, g.len)};
        struct fed_average a = {.format = FED_NPY, .inputs = in, .n = 2};
        static const float want[] = {2, 3, 4, 5};
        int result = average(&a, &m, &s, &e);
        CHECK(cases[i].good ? result == 0 && m.size == f.len &&
                                  !memcmp(m.bytes + f.len - sizeof want, want, sizeof want)
                            : result < 0 && e.kind == ERR_USAGE,
              "npy %s with %s: %s", cases[i].first, cases[i].second, e.text);
        free(m.bytes);
    }
}

/* ---- what goes wrong on the way ---- */

static void check_finite(void)
{
    struct fed_average a = {.format = FED_RAW_F32, .inputs = many, .n = FILES, .only_finite = true};
    struct memory m;
    struct fed_summary s;
    struct err e;
    float was = numbers[17][100000];

    many[17].name = "bad.f32";
    CHECK(average(&a, &m, &s, &e) == 0, "all are finite: %s", e.text);
    free(m.bytes);
    numbers[17][100000] = -(float)INFINITY;
    for (a.trim = 0; a.trim < 0.3; a.trim += 0.2) {
        CHECK(average(&a, &m, &s, &e) < 0 && e.kind == ERR_USAGE &&
                  !strcmp(e.text, "bad.f32: the number at index 100000 is NaN or infinite"),
              "trim %g: %s", a.trim, e.text);
        free(m.bytes);
    }
    a.only_finite = false;
    a.trim = 0;
    CHECK(average(&a, &m, &s, &e) == 0 && s.nonfinite == 1 &&
              ((const float *)m.bytes)[100000] == -(float)INFINITY,
          "when not refused it is counted");
    free(m.bytes);
    a.trim = 0.1;
    CHECK(average(&a, &m, &s, &e) == 0 && s.nonfinite == 0, "and trimming takes it away");
    free(m.bytes);
    numbers[17][100000] = was;
}

static int broken_read(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    if (offset >= 300000)
        return err_set(e, ERR_IO, "broken disk");
    memcpy(bytes, (const char *)context + offset, n);
    return 0;
}

static bool stop_half(void *context, uint64_t done, uint64_t all)
{
    unsigned *calls = context;

    ++*calls;
    return done <= all && done < all / 2;
}

static void check_trouble(void)
{
    unsigned calls = 0;
    struct fed_average a = {.format = FED_RAW_F32, .inputs = many, .n = FILES};
    const struct fed_source kept = many[5];
    struct memory m;
    struct fed_summary s;
    struct err e;

    many[5].read = broken_read;
    CHECK(average(&a, &m, &s, &e) < 0 && e.kind == ERR_IO && !strcmp(e.text, "broken disk"),
          "a read that fails: %s", e.text);
    free(m.bytes);
    many[5] = kept;
    const struct fed_sink sink = {begin, keep, &m};
    m = (struct memory){.fail_at = 400000};
    CHECK(fed_average(&a, &sink, &s, &e) < 0 && e.kind == ERR_IO && !strcmp(e.text, "no room"),
          "a write that fails: %s", e.text);
    free(m.bytes);
    a.threads = 1;
    a.progress = stop_half;
    a.context = &calls;
    CHECK(average(&a, &m, &s, &e) < 0 && e.kind == ERR_RETRY && strstr(e.text, "interrupted") &&
              calls == 3,
          "stopped half way after %u pieces: %s", calls, e.text);
    free(m.bytes);
}

int main(void)
{
    check_hand();
    check_requests();
    fill_many();
    check_many();
    check_forked();
    check_many_trimmed();
    check_regions();
    check_names();
    check_mismatches();
    check_npy_orders();
    check_finite();
    check_trouble();
    return TAP_DONE();
}
