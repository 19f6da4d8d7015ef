/* Objects as sources of an average: each is one request, however many there are, however large and
 * by however many threads; and what lies in another order is right all the same. */
#include "fed/internal.h"

#include "base/file.h"
#include "base/mem.h"
#include "fed/average.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)

/* Number i of input k: what sums of it are is plain. */
static float number(size_t k, size_t i)
{
    return (float)(i % 1000) + (float)k;
}

struct scene {
    struct store *store;
    struct fed_object *objects;
    size_t n;
};

static void scene_clear(struct scene *s)
{
    for (size_t i = 0; i < s->n; i++)
        free((char *)(uintptr_t)s->objects[i].key);
    free(s->objects);
    store_free(s->store);
}

static void add(struct scene *s, const void *bytes, size_t size)
{
    char *key = mem_printf("input-%zu", s->n);
    struct store_keyed_put put = {.key = key, .bytes = bytes, .n = size};

    if (store_keyed_put(s->store, &put, NULL) != 0)
        printf("Bail out! put\n");
    s->objects[s->n++] = (struct fed_object){.key = key, .size = size};
}

static struct scene scene_new(const char *dir, size_t most)
{
    AUTO_MEM char *url = mem_printf("dir:%s", dir);
    struct err e = {0};
    struct scene s = {.objects = mem_zero(most, sizeof *s.objects)};

    s.store = store_open(&(struct store_settings){.url = url, .path_style = -1}, &e);
    if (!s.store)
        printf("Bail out! %s\n", e.text);
    return s;
}

struct result {
    char *bytes;
    size_t size;
};

static int begin(void *context, uint64_t size_bytes, struct err *e)
{
    struct result *r = context;

    (void)e;
    r->size = (size_t)size_bytes;
    r->bytes = mem_zero(r->size, 1);
    return 0;
}

static int write_at(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e)
{
    struct result *r = context;

    (void)e;
    memcpy(r->bytes + offset, bytes, n);
    return 0;
}

static int average(const struct scene *s,
                   enum fed_format format,
                   unsigned threads,
                   struct result *out,
                   struct store_tally *tally)
{
    struct err e = {0};
    AUTO(fed_inputs) struct fed_inputs *in = fed_inputs_open(s->store, s->objects, s->n, &e);
    struct fed_summary summary;

    if (!in)
        return -1;
    struct fed_average a = {
        .format = format, .inputs = fed_inputs_sources(in), .n = s->n, .threads = threads};
    struct fed_sink sink = {.begin = begin, .write = write_at, .context = out};
    int result = fed_average(&a, &sink, &summary, &e);
    fed_inputs_stop(in, tally);
    if (result < 0)
        printf("# %s\n", e.text);
    return result;
}

static bool is_mean(const struct result *r, size_t skip, size_t n_inputs)
{
    for (size_t i = 0; i < (r->size - skip) / 4; i++) {
        float got;
        memcpy(&got, r->bytes + skip + 4 * i, sizeof got);
        if (fabsf(got - (number(0, i) + (float)(n_inputs - 1) / 2)) > 1e-3F)
            return false;
    }
    return true;
}

static void check_plain(const char *dir, size_t n, size_t size, unsigned threads)
{
    AUTO_CLEAR(scene) struct scene s = scene_new(dir, n);
    AUTO_MEM float *numbers = mem_zero(size, 1);
    struct store_tally tally = {0};
    struct result r = {0};

    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < size / 4; i++)
            numbers[i] = number(k, i);
        add(&s, numbers, size);
    }
    CHECK(average(&s, FED_RAW_F32, threads, &r, &tally) == 0 && is_mean(&r, 0, n),
          "%zu inputs of %zu bytes, %u threads", n, size, threads);
    CHECK(tally.reads == n && tally.read_bytes == n * size, "a request each: %u",
          (unsigned)tally.reads);
    free(r.bytes);
}

/* Two tensors of 3 MB, which half of the inputs have the other way round. */
static void check_order(const char *dir)
{
    static const char *const headers[] = {
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[786432],\"data_offsets\":[0,3145728]},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[786432],\"data_offsets\":[3145728,6291456]}}",
        "{\"b\":{\"dtype\":\"F32\",\"shape\":[786432],\"data_offsets\":[0,3145728]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[786432],\"data_offsets\":[3145728,6291456]}}",
    };
    AUTO_CLEAR(scene) struct scene s = scene_new(dir, 4);
    size_t header = strlen(headers[0]), half = 3 * MB / 4, size = 8 + header + 6 * MB;
    AUTO_MEM char *file = mem_zero(size, 1);
    struct store_tally tally = {0};
    struct result r = {0};

    for (size_t k = 0; k < 4; k++) {
        memset(file, 0, 8);
        file[0] = (char)header;
        file[1] = (char)(header >> 8);
        memcpy(file + 8, headers[k % 2], header);
        for (size_t i = 0; i < 2 * half; i++) {
            float x = number(k, i);
            memcpy(file + 8 + header + 4 * (k % 2 ? (i + half) % (2 * half) : i), &x, sizeof x);
        }
        add(&s, file, size);
    }
    CHECK(average(&s, FED_SAFETENSORS, 2, &r, &tally) == 0 && is_mean(&r, 8 + header, 4),
          "tensors in another order: %u requests", (unsigned)tally.reads);
    free(r.bytes);
}

int main(void)
{
    /* In memory, where nothing waits for a disk. */
    char dir[40];

    snprintf(dir, sizeof dir, "%s/tradewind-inputs-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");

    if (!mkdtemp(dir))
        return 1;
    check_plain(dir, 1, 8, 2);
    /* Windows are of 1 MiB, and with 300 inputs smaller. */
    check_plain(dir, 4, 5 * MB + 4, 1);
    check_plain(dir, 4, 5 * MB + 4, 8);
    check_plain(dir, 300, 3000, 2);
    check_plain(dir, 300, 150000, 4);
    check_order(dir);
    file_remove_tree(dir);
    return TAP_DONE();
}
