/* Contents that were read once come from the cache, verified, in bounds; the store counts how often
 * it is asked. */
#include "base/file.h"
#include "base/mem.h"
#include "store/conformance.h"
#include "tap.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGE ((size_t)20 << 20) /* two parts */
#define MIDDLE ((size_t)100000)
#define LITTLE ((size_t)1000)

static char root[] = "/tmp/tradewind-cache-XXXXXX";
static atomic_size_t reads; /* by several threads */
static size_t arrived;

static bool count_reads(void *context, const char *operation)
{
    (void)context;
    atomic_fetch_add(&reads, !strcmp(operation, "read"));
    return true;
}

static struct store *open_store(uint64_t cache_bytes)
{
    AUTO_MEM char *url = mem_printf("dir:%s/objects", root);
    AUTO_MEM char *cache = mem_printf("%s/cache", root);
    const struct store_settings settings = {
        .url = url, .cache = cache, .cache_bytes = cache_bytes, .allow = count_reads};

    return conformance_open(&settings);
}

/* Where the cache has it, or would. */
static char *kept_at(const struct store_content *c)
{
    char hex[SHA256_HEX];

    sha256_text(&c->digest, hex);
    return mem_printf("%s/cache/%.2s/%s", root, hex, hex);
}

static bool is_kept(const struct store_content *c)
{
    AUTO_MEM char *path = kept_at(c);

    return access(path, F_OK) == 0;
}

static void spoil(const struct store_content *c, off_t at)
{
    AUTO_MEM char *path = kept_at(c);

    chmod(path, 0600);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (pwrite(fd, "spoilt", 6, at) != 6)
        abort();
    close(fd);
}

static struct store_content write_large(struct store *s, uint64_t seed, bool keep)
{
    AUTO_MEM unsigned char *bytes = mem_zero(LARGE, 1);
    struct store_content c = {0};
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 1, NULL);

    conformance_fill(bytes, LARGE, seed);
    int fd = conformance_file(bytes, LARGE);
    const struct store_source source = {.fd = fd, .name = "sample"};
    if (keep)
        store_writer_keep(w);
    if (store_write_large(w, &source, &c, NULL) < 0 || store_flush(w, NULL) < 0)
        abort();
    close(fd);
    return c;
}

static struct store_content write_small(struct store *s, uint64_t seed, size_t n, bool keep)
{
    struct store_content c = {0};
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 1, NULL);

    if (keep)
        store_writer_keep(w);
    if (conformance_put_small(w, seed, n, &c) < 0 || store_flush(w, NULL) < 0)
        abort();
    return c;
}

/* Called by several threads. */
static bool told_enough(void *context, uint64_t more_bytes)
{
    atomic_fetch_add((_Atomic uint64_t *)context, more_bytes);
    return true;
}

/* How often the store was asked for it; SIZE_MAX when it is not what it was. */
static size_t copied(struct store *s, const struct store_content *c, uint64_t seed)
{
    AUTO_MEM unsigned char *wanted = mem_zero(LARGE, 1), *got = mem_zero(LARGE, 1);
    _Atomic uint64_t told = 0;
    int fd = conformance_file("old content", 11);

    conformance_fill(wanted, LARGE, seed);
    reads = 0;
    bool good = store_copy(s, "p", c, fd, told_enough, &told, NULL) == 0 &&
                pread(fd, got, LARGE, 0) == (ssize_t)LARGE && !memcmp(wanted, got, LARGE) &&
                told == LARGE;
    close(fd);
    return good ? reads : SIZE_MAX;
}

static int compare(void *context, size_t i, const void *bytes, size_t n, struct err *e)
{
    const struct sha256_digest digest = sha256_of(bytes, n);
    const struct store_content *c = context;

    (void)i;
    arrived++;
    return sha256_equal(&digest, &c->digest) ? 0 : err_set(e, ERR_IO, "another content");
}

static int complain(void *context, size_t i, const struct err *why, struct err *e)
{
    (void)context;
    (void)i;
    return err_set(e, why->kind, "%s", why->text);
}

static size_t read_small(struct store *s, struct store_content *c)
{
    const struct store_content *contents[] = {c};
    const struct store_reader reader = {compare, complain, c};

    reads = 0;
    arrived = 0;
    bool good = store_read_many(s, "p", contents, 1, &reader, NULL) == 0 && arrived == 1;
    return good ? reads : SIZE_MAX;
}

static void check_large(void)
{
    AUTO(store) struct store *s = open_store((uint64_t)1 << 30);
    struct store_content c = write_large(s, 1, false);

    CHECK(!is_kept(&c), "what is written is not kept");
    size_t first = copied(s, &c, 1);
    CHECK(first > 0 && first < SIZE_MAX && is_kept(&c), "what is read comes from the store: %zu",
          first);
    CHECK(copied(s, &c, 1) == 0, "and from the cache the next time");
    spoil(&c, (off_t)LARGE - 1000);
    CHECK(copied(s, &c, 1) == first, "where it is spoilt, from the store again");
    CHECK(copied(s, &c, 1) == 0, "and it is mended");
    AUTO_MEM char *path = kept_at(&c);
    chmod(path, 0600);
    CHECK(truncate(path, 5) == 0 && copied(s, &c, 1) == first, "one that was cut is not used");
    AUTO_MEM char *cache = mem_printf("%s/cache", root);
    file_remove_tree(cache);
    CHECK(copied(s, &c, 1) == first && copied(s, &c, 1) == 0, "the directory may be removed");
    struct store_content made = write_large(s, 2, true);
    CHECK(is_kept(&made) && copied(s, &made, 2) == 0, "what a job made is there when it is read");
    store_content_clear(&c);
    store_content_clear(&made);
}

static void check_small(void)
{
    AUTO(store) struct store *s = open_store((uint64_t)1 << 30);
    struct store_content middle = write_small(s, 3, MIDDLE, false);
    struct store_content little = write_small(s, 4, LITTLE, true);
    struct store_content made = write_small(s, 5, MIDDLE, true);

    CHECK(read_small(s, &middle) > 0 && read_small(s, &middle) == 0, "contents of packs, too");
    spoil(&middle, 7);
    size_t again = read_small(s, &middle);
    CHECK(again > 0 && again < SIZE_MAX && read_small(s, &middle) == 0, "verified as well");
    CHECK(read_small(s, &made) == 0, "also those that a job made");
    CHECK(read_small(s, &little) > 0 && read_small(s, &little) > 0 && !is_kept(&little),
          "but no little ones");
}

static void check_bounds(void)
{
    AUTO_MEM char *cache = mem_printf("%s/cache", root);
    struct store_content c[3];

    file_remove_tree(cache);
    for (uint64_t i = 0; i < 3; i++) {
        /* One opened anew looks anew at what there is. */
        AUTO(store) struct store *s = open_store(2 * LARGE + 1000);
        c[i] = write_large(s, 10 + i, false);
        copied(s, &c[i], 10 + i);
        if (i == 1) /* the first is used once more, by the clock of files */
            CHECK(usleep(20000) == 0 && copied(s, &c[0], 10) == 0, "two fit");
        usleep(20000);
    }
    CHECK(is_kept(&c[0]) && !is_kept(&c[1]) && is_kept(&c[2]), "the least recently used gives way");
    AUTO(store) struct store *less = open_store(LARGE - 1);
    copied(less, &c[1], 11);
    CHECK(!is_kept(&c[1]), "what is larger than the bound is not kept");
    file_remove_tree(cache);
    AUTO(store) struct store *none = open_store(0);
    CHECK(copied(none, &c[0], 10) > 0 && access(cache, F_OK) < 0, "0 bytes: there is none");
    for (size_t i = 0; i < 3; i++)
        store_content_clear(&c[i]);
}

int main(void)
{
    if (!mkdtemp(root))
        return EXIT_FAILURE;
    check_large();
    check_small();
    check_bounds();
    file_remove_tree(root);
    return TAP_DONE();
}
