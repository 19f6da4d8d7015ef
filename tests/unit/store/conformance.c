#include "store/conformance.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define THREADS 4
#define EACH 200

struct trial {
    struct store *store;
    struct store_writer *writer;
    conformance_tell *tell;
};

/* ---- helpers ---- */

void conformance_fill(unsigned char *bytes, size_t n, uint64_t seed)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;

    for (size_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (unsigned char)(x >> 56);
    }
}

struct store *conformance_open(const struct store_settings *settings)
{
    struct err e = {0};
    struct store *s = store_open(settings, &e);

    if (!s) {
        printf("Bail out! %s\n", e.text);
        exit(EXIT_FAILURE);
    }
    return s;
}

int conformance_file(const void *bytes, size_t n)
{
    int fd = memfd_create("source", MFD_CLOEXEC);

    if (fd >= 0 && n && write(fd, bytes, n) != (ssize_t)n) {
        close(fd);
        return -1;
    }
    return fd;
}

int conformance_put_small(struct store_writer *w,
                          uint64_t seed,
                          size_t n,
                          struct store_content *out)
{
    AUTO_MEM unsigned char *bytes = mem_zero(n + 1, 1);

    conformance_fill(bytes, n, seed);
    *out = (struct store_content){.digest = sha256_of(bytes, n)};
    return store_write_small(w, bytes, n, &out->digest, &out->place, NULL);
}

bool conformance_is_small(struct store *s,
                          const char *project,
                          const struct store_content *c,
                          uint64_t seed)
{
    size_t n = (size_t)c->place.size;
    AUTO_MEM unsigned char *want = mem_zero(n + 1, 1), *got = mem_zero(n + 1, 1);

    conformance_fill(want, n, seed);
    return store_read(s, project, &c->place, 0, got, n, NULL) == 0 && !memcmp(want, got, n);
}

static int count_blob(void *context, const struct store_blob *blob, struct err *e)
{
    struct conformance_count *c = context;

    (void)e;
    *(blob->unfinished ? &c->unfinished : &c->blobs) += 1;
    return 0;
}

struct conformance_count conformance_count(struct store *s, const char *project)
{
    struct conformance_count c = {0};

    if (store_list(s, project, count_blob, &c, NULL) < 0)
        c.blobs = SIZE_MAX;
    return c;
}

struct emptying {
    struct store *store;
    const char *project;
};

static int delete_blob(void *context, const struct store_blob *blob, struct err *e)
{
    struct emptying *m = context;

    return store_delete(m->store, m->project, blob, NULL, NULL, e);
}

void conformance_empty(struct store *s, const char *project)
{
    struct emptying m = {s, project};

    (void)store_list(s, project, delete_blob, &m, NULL);
}

static void fails(
    const struct trial *t, int result, const struct err *e, enum err_kind kind, const char *what)
{
    if (!(result == -1 && e->kind == kind))
        printf("# result %d, kind %d: %s\n", result, e->kind, e->text);
    t->tell(result == -1 && e->kind == kind && e->text[0], what);
}

static void works(const struct trial *t, int result, const struct err *e, const char *what)
{
    if (result != 0)
        printf("# %s\n", e->text);
    t->tell(result == 0, what);
}

/* ---- small contents ---- */

static const size_t small_sizes[] = {0, 1, 47, 8192, 8193, 100000, STORE_SMALL_MAX};
#define N_SMALL (sizeof small_sizes / sizeof small_sizes[0])

struct arrivals {
    const struct store_content *contents;
    pthread_mutex_t lock;
    unsigned good[N_SMALL], bad[N_SMALL];
    enum err_kind why;
    char text[400];
    bool refuse;
};

static int arrived(void *context, size_t i, const void *bytes, size_t n, struct err *e)
{
    struct arrivals *a = context;
    struct sha256_digest d = sha256_of(bytes, n);

    if (a->refuse)
        return err_set(e, ERR_NOFIT, "no more room");
    pthread_mutex_lock(&a->lock);
    a->good[i] += n == small_sizes[i] && sha256_equal(&d, &a->contents[i].digest);
    pthread_mutex_unlock(&a->lock);
    return 0;
}

static int damaged(void *context, size_t i, const struct err *why, struct err *e)
{
    struct arrivals *a = context;

    (void)e;
    pthread_mutex_lock(&a->lock);
    a->bad[i]++;
    a->why = why->kind;
    snprintf(a->text, sizeof a->text, "%s", why->text);
    pthread_mutex_unlock(&a->lock);
    return 0;
}

static int read_all(const struct trial *t,
                    const struct store_content *contents,
                    struct arrivals *a,
                    struct err *e)
{
    const struct store_content *list[N_SMALL];
    struct store_reader reader = {.arrived = arrived, .damaged = damaged, .context = a};

    for (size_t i = 0; i < N_SMALL; i++)
        list[i] = &contents[i];
    pthread_mutex_init(&a->lock, NULL);
    int result = store_read_many(t->store, "alpha", list, N_SMALL, &reader, e);
    pthread_mutex_destroy(&a->lock);
    return result;
}

/* All but `except` arrived once; that one was told as damaged once. */
static bool others_came(const struct arrivals *a, size_t except)
{
    for (size_t i = 0; i < N_SMALL; i++)
        if (a->good[i] != (i != except) || a->bad[i] != (i == except))
            return false;
    return true;
}

static void try_read_many(const struct trial *t, struct store_content *contents)
{
    struct err e = {0};
    struct arrivals all = {.contents = contents};

    works(t, read_all(t, contents, &all, &e), &e, "many are read");
    t->tell(others_came(&all, SIZE_MAX), "each arrives once, verified");

    struct arrivals one = {.contents = contents};
    contents[3].digest.bytes[5] ^= 1;
    works(t, read_all(t, contents, &one, &e), &e, "a wrong digest does not end it");
    contents[3].digest.bytes[5] ^= 1;
    t->tell(others_came(&one, 3) && one.why == ERR_IO, "only that one is damaged");
    t->tell(strstr(one.text, contents[3].place.blob) != NULL, "and its blob is named");

    struct arrivals gone = {.contents = contents};
    struct store_place kept = contents[4].place;
    snprintf(contents[4].place.blob, STORE_BLOB_NAME, "7-abcdefabcdef-0000000000000000");
    works(t, read_all(t, contents, &gone, &e), &e, "a missing blob does not end it");
    t->tell(others_came(&gone, 4) && gone.why == ERR_NOTFOUND, "only that one is missing");
    contents[4].place = kept;

    struct arrivals past = {.contents = contents};
    contents[4].place.offset = (uint64_t)1 << 40;
    works(t, read_all(t, contents, &past, &e), &e, "a place past the end does not end it");
    t->tell(others_came(&past, 4) && past.why == ERR_IO, "only that one is damaged");
    contents[4].place = kept;

    struct arrivals stop = {.contents = contents, .refuse = true};
    e = (struct err){0};
    fails(t, read_all(t, contents, &stop, &e), &e, ERR_NOFIT, "a reader that fails ends it");
}

static void try_ranges(const struct trial *t, const struct store_content *c)
{
    unsigned char want[8192], got[100];
    struct err e = {0};
    struct store_place none = {.size = 5};

    conformance_fill(want, sizeof want, 3);
    works(t, store_read(t->store, "alpha", &c->place, 8092, got, 100, &e), &e, "a range is read");
    t->tell(!memcmp(got, want + 8092, 100), "and is the right one");
    fails(t, store_read(t->store, "alpha", &c->place, 8093, got, 100, &e), &e, ERR_USAGE,
          "a range past the content is refused");
    fails(t, store_read(t->store, "alpha", &c->place, UINT64_MAX, got, 2, &e), &e, ERR_USAGE,
          "so is one that wraps around");
    fails(t, store_read(t->store, "alpha", &none, 0, got, 1, &e), &e, ERR_USAGE,
          "a blob has a name");
    snprintf(none.blob, sizeof none.blob, "../alpha");
    fails(t, store_read(t->store, "alpha", &none, 0, got, 1, &e), &e, ERR_USAGE,
          "with no way out in it");
    snprintf(none.blob, sizeof none.blob, "p-0000000000000000");
    fails(t, store_read(t->store, "alpha", &none, 0, got, 1, &e), &e, ERR_NOTFOUND,
          "a blob that is not there is not found");
    fails(t, store_read(t->store, "beta", &c->place, 0, got, 1, &e), &e, ERR_NOTFOUND,
          "nor is one of another project");
}

static void try_small(const struct trial *t)
{
    struct store_content contents[N_SMALL];
    bool good = true;
    struct err e = {0};
    struct sha256_digest d = {{0}};
    struct store_place place;

    for (size_t i = 0; i < N_SMALL; i++)
        good = conformance_put_small(t->writer, i, small_sizes[i], &contents[i]) == 0 && good;
    t->tell(good, "small contents are written");
    works(t, store_flush(t->writer, &e), &e, "and flushed");
    for (size_t i = 0; i < N_SMALL; i++)
        good = conformance_is_small(t->store, "alpha", &contents[i], i) && good;
    t->tell(good, "and read back");
    works(t, store_flush(t->writer, &e), &e, "a second flush has nothing to do");
    fails(t, store_write_small(t->writer, "", STORE_SMALL_MAX + 1, &d, &place, &e), &e, ERR_USAGE,
          "more than the maximum is refused");
    try_ranges(t, &contents[3]);
    try_read_many(t, contents);
}

/* ---- large contents ---- */

struct told {
    uint64_t bytes;
    uint64_t stop_at; /* 0 = never */
    pthread_mutex_t lock;
};

static bool tell_bytes(void *context, uint64_t more)
{
    struct told *told = context;

    pthread_mutex_lock(&told->lock);
    told->bytes += more;
    bool go_on = !told->stop_at || told->bytes < told->stop_at;
    pthread_mutex_unlock(&told->lock);
    return go_on;
}

struct sunk {
    const unsigned char *want;
    uint64_t got;
    bool good;
    bool refuse;
};

static int sink(void *context, const void *bytes, size_t n, struct err *e)
{
    struct sunk *s = context;

    if (s->refuse)
        return err_set(e, ERR_NOFIT, "the pipe is closed");
    s->good = s->good && !memcmp(s->want + s->got, bytes, n);
    s->got += n;
    return 0;
}

static void try_stream(const struct trial *t,
                       const struct store_content *c,
                       const unsigned char *want)
{
    static const struct {
        uint64_t offset, length, got;
    } ranges[] = {
        {0, UINT64_MAX, 40 * MIB + 7}, {16 * MIB - 3, 6, 6},        {40 * MIB, 100, 7},
        {40 * MIB + 7, 1, 0},          {UINT64_MAX, UINT64_MAX, 0}, {5, 0, 0},
    };
    struct err e = {0};

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        struct sunk s = {.want = want + (ranges[i].got ? ranges[i].offset : 0), .good = true};
        works(t,
              store_stream(t->store, "alpha", c, ranges[i].offset, ranges[i].length, sink, &s, &e),
              &e, "a stream");
        t->tell(s.good && s.got == ranges[i].got, "has the bytes asked for, in order");
    }
    struct sunk closed = {.want = want, .refuse = true};
    fails(t, store_stream(t->store, "alpha", c, 0, UINT64_MAX, sink, &closed, &e), &e, ERR_NOFIT,
          "a sink that fails ends it");
}

static bool file_is(int fd, const unsigned char *want, size_t n)
{
    AUTO_MEM unsigned char *got = mem_zero(n + 1, 1);

    return pread(fd, got, n + 1, 0) == (ssize_t)n && !memcmp(got, want, n);
}

static void try_copy(const struct trial *t,
                     const struct store_content *c,
                     const unsigned char *want)
{
    struct told told = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct err e = {0};
    size_t n = (size_t)c->place.size;
    static const char old[] = "what was there before";
    int fd = conformance_file(old, sizeof old);

    works(t, store_copy(t->store, "alpha", c, fd, tell_bytes, &told, &e), &e, "a copy");
    t->tell(file_is(fd, want, n), "has the same bytes, and nothing of the old file");
    t->tell(told.bytes == n, "progress counts every byte");
    struct told stop = {.stop_at = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (n)
        fails(t, store_copy(t->store, "alpha", c, fd, tell_bytes, &stop, &e), &e, ERR_RETRY,
              "it can be stopped");
    close(fd);
}

static void try_damage(const struct trial *t, struct store_content *c, const unsigned char *want)
{
    struct err e = {0};
    int fd = conformance_file("", 0);

    c->parts[1].bytes[0] ^= 1;
    fails(t, store_copy(t->store, "alpha", c, fd, NULL, NULL, &e), &e, ERR_IO,
          "a part with another state at its end ends a copy");
    /* The state stands between two parts: whichever is read first tells. */
    t->tell(strstr(e.text, c->place.blob) && strstr(e.text, "damaged") &&
                (strstr(e.text, "offset 16777216") || strstr(e.text, "offset 33554432")),
            "and blob and offset are named");
    struct sunk s = {.want = want, .good = true};
    fails(t, store_stream(t->store, "alpha", c, 17 * MIB, 1, sink, &s, &e), &e, ERR_IO,
          "and a stream");
    t->tell(s.got == 0, "before the sink sees any of it");
    c->parts[1].bytes[0] ^= 1;
    c->n_parts--;
    fails(t, store_copy(t->store, "alpha", c, fd, NULL, NULL, &e), &e, ERR_IO,
          "a part without digest is refused");
    c->n_parts++;
    close(fd);
}

static bool right_digests(const struct store_content *c, const unsigned char *want, size_t n)
{
    struct sha256_digest whole = sha256_of(want, n);
    size_t parts = n ? (n - 1) / (16 * MIB) + 1 : 1;

    if (!sha256_equal(&whole, &c->digest) || c->place.size != n || c->n_parts != parts ||
        c->part_bytes != 16 * MIB)
        return false;
    /* From each state, what follows it leads to the digest of the whole. */
    AUTO(sha256) struct sha256 *sha = sha256_new();
    for (size_t i = 1; i < parts; i++) {
        sha256_resume(sha, &c->parts[i - 1], i * 16 * MIB);
        sha256_add(sha, want + i * 16 * MIB, n - i * 16 * MIB);
        struct sha256_digest d = sha256_take(sha);
        if (!sha256_equal(&d, &whole))
            return false;
    }
    return sha256_equal(&c->parts[parts - 1], &whole);
}

static int put_large(const struct trial *t,
                     const unsigned char *bytes,
                     size_t n,
                     struct told *told,
                     struct store_content *out,
                     struct err *e)
{
    int fd = conformance_file(bytes, n);
    struct store_source source = {
        .fd = fd, .name = "source", .progress = tell_bytes, .context = told};

    lseek(fd, 1, SEEK_SET);
    int result = store_write_large(t->writer, &source, out, e);
    t->tell(lseek(fd, 0, SEEK_CUR) == 1, "the source's offset is kept");
    close(fd);
    return result;
}

static void try_one_large(const struct trial *t, const unsigned char *bytes, size_t n)
{
    AUTO_CLEAR(store_content) struct store_content c = {0};
    struct told told = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct err e = {0};
    uint64_t size = 0;

    printf("# large: %zu bytes\n", n);
    works(t, put_large(t, bytes, n, &told, &c, &e), &e, "a large file is written");
    t->tell(told.bytes == n, "and progress told");
    t->tell(right_digests(&c, bytes, n), "with the digests of the whole and of the parts");
    works(t, store_flush(t->writer, &e), &e, "and flushed");
    works(t, store_size(t->store, "alpha", c.place.blob, &size, &e), &e, "its blob is there");
    t->tell(size == n && c.place.offset == 0, "and holds nothing else");
    try_copy(t, &c, bytes);
    if (n > 32 * MIB) {
        try_stream(t, &c, bytes);
        try_damage(t, &c, bytes);
    }
}

static void try_large(const struct trial *t)
{
    static const size_t sizes[] = {0, 1, 5 * MIB + 1, 16 * MIB, 40 * MIB + 7};
    AUTO_MEM unsigned char *bytes = mem_zero(40 * MIB + 7, 1);
    AUTO_CLEAR(store_content) struct store_content c = {0};
    struct told stop = {.stop_at = 20 * MIB, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct err e = {0};
    struct conformance_count before, after;

    conformance_fill(bytes, 40 * MIB + 7, 99);
    memset(bytes + 17 * MIB, 0, 3 * MIB);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        try_one_large(t, bytes, sizes[i]);
    before = conformance_count(t->store, "alpha");
    fails(t, put_large(t, bytes, 40 * MIB, &stop, &c, &e), &e, ERR_RETRY, "writing can be stopped");
    t->tell(strstr(e.text, "source") != NULL, "which names the source");
    after = conformance_count(t->store, "alpha");
    t->tell(after.blobs == before.blobs, "and leaves no blob");

    int pipes[2];
    if (pipe(pipes) == 0) {
        struct store_source source = {.fd = pipes[0], .name = "a pipe"};
        fails(t, store_write_large(t->writer, &source, &c, &e), &e, ERR_USAGE,
              "a source is a regular file");
        close(pipes[0]);
        close(pipes[1]);
    }
}

static bool yes(void *context, const struct sha256_digest *digest)
{
    *(struct sha256_digest *)context = *digest;
    return true;
}

static void try_known(const struct trial *t)
{
    unsigned char bytes[100];
    AUTO_CLEAR(store_content) struct store_content c = {0};
    struct sha256_digest asked = {{0}};
    struct err e = {0};

    conformance_fill(bytes, sizeof bytes, 5);
    struct store_source source = {.fd = conformance_file(bytes, sizeof bytes),
                                  .name = "source",
                                  .known = yes,
                                  .context = &asked};
    works(t, store_write_large(t->writer, &source, &c, &e), &e, "known content is taken in");
    t->tell(sha256_equal(&asked, &c.digest) && c.place.blob[0] == '\0' && c.place.size == 100,
            "but not sent");
    close(source.fd);
}

/* ---- from several threads ---- */

struct hand {
    struct store_writer *writer;
    unsigned number;
    struct store_content contents[EACH];
    bool good;
};

static void *write_each(void *argument)
{
    struct hand *h = argument;

    h->good = true;
    for (size_t i = 0; i < EACH; i++)
        if (conformance_put_small(h->writer, h->number * 1000 + i, 20000 + i, &h->contents[i]) < 0)
            h->good = false;
    return NULL;
}

static void try_threads(const struct trial *t)
{
    AUTO_MEM struct hand *hands = mem_zero(THREADS, sizeof *hands);
    pthread_t threads[THREADS];
    bool good = true;
    struct err e = {0};

    for (unsigned i = 0; i < THREADS; i++) {
        hands[i].writer = t->writer;
        hands[i].number = i + 1;
        pthread_create(&threads[i], NULL, write_each, &hands[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    works(t, store_flush(t->writer, &e), &e, "what several threads wrote is flushed");
    for (unsigned i = 0; i < THREADS; i++) {
        good = good && hands[i].good;
        for (size_t k = 0; k < EACH; k++)
            good = good && conformance_is_small(t->store, "alpha", &hands[i].contents[k],
                                                hands[i].number * 1000 + k);
    }
    t->tell(good, "and each content is whole");
}

/* ---- keeping house ---- */

struct asked {
    bool answer;
    unsigned times;
    char name[STORE_BLOB_NAME];
};

static bool still(void *context, const char *name)
{
    struct asked *a = context;

    a->times++;
    snprintf(a->name, sizeof a->name, "%s", name);
    return a->answer;
}

struct search {
    const char *name;
    struct store_blob found;
};

static int look_for(void *context, const struct store_blob *blob, struct err *e)
{
    struct search *s = context;

    (void)e;
    if (!strcmp(blob->name, s->name)) {
        s->found = *blob;
        s->found.name = s->name;
    }
    return 0;
}

static int stop_there(void *context, const struct store_blob *blob, struct err *e)
{
    (void)context;
    return err_set(e, ERR_NOFIT, "stopped at %s", blob->name);
}

static void try_house(const struct trial *t)
{
    unsigned char bytes[1000];
    AUTO_CLEAR(store_content) struct store_content c = {0};
    struct told told = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct asked no = {.answer = false}, yes_do = {.answer = true};
    struct err e = {0};
    uint64_t size;

    conformance_fill(bytes, sizeof bytes, 77);
    works(t, put_large(t, bytes, sizeof bytes, &told, &c, &e), &e, "a blob");
    works(t, store_flush(t->writer, &e), &e, "is flushed");
    struct search s = {.name = c.place.blob};
    works(t, store_list(t->store, "alpha", look_for, &s, &e), &e, "and listed");
    t->tell(s.found.name && s.found.size == 1000 && s.found.session == 42 && !s.found.unfinished,
            "with size and session");
    fails(t, store_list(t->store, "alpha", stop_there, NULL, &e), &e, ERR_NOFIT,
          "a visitor that fails ends the list");
    works(t, store_delete(t->store, "alpha", &s.found, still, &no, &e), &e, "still said no");
    t->tell(no.times == 1 && !strcmp(no.name, c.place.blob), "it was asked once, by name");
    t->tell(store_size(t->store, "alpha", c.place.blob, &size, &e) == 0, "and the blob stays");
    works(t, store_delete(t->store, "beta", &s.found, NULL, NULL, &e), &e, "another project's");
    t->tell(store_size(t->store, "alpha", c.place.blob, &size, &e) == 0, "leaves ours alone");
    works(t, store_delete(t->store, "alpha", &s.found, still, &yes_do, &e), &e, "still said yes");
    fails(t, store_size(t->store, "alpha", c.place.blob, &size, &e), &e, ERR_NOTFOUND,
          "and the blob is gone");
    fails(t, store_read(t->store, "alpha", &c.place, 0, bytes, 1, &e), &e, ERR_NOTFOUND,
          "for readers too");
    works(t, store_delete(t->store, "alpha", &s.found, NULL, NULL, &e), &e, "twice is fine");
    t->tell(conformance_count(t->store, "beta").blobs == 0, "the other project is empty");
}

static int count_alpha(void *context, const char *project, struct err *e)
{
    (void)e;
    *(size_t *)context += strcmp(project, "alpha") == 0;
    return 0;
}

static int stop_at_project(void *context, const char *project, struct err *e)
{
    (void)context;
    return err_set(e, ERR_NOFIT, "enough of %s", project);
}

static void try_projects(const struct trial *t)
{
    struct err e = {0};
    size_t n = 0;

    works(t, store_projects(t->store, count_alpha, &n, &e), &e, "projects are listed");
    t->tell(n == 1, "one with many blobs once");
    fails(t, store_projects(t->store, stop_at_project, NULL, &e), &e, ERR_NOFIT,
          "until the visitor fails");
}

static void try_names(const struct trial *t)
{
    static const char *const bad[] = {"", "..", ".x", "a/b", "a b", "\xc3\xa4"};
    struct err e = {0};
    char name[STORE_BLOB_NAME];
    uint64_t size;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct store_writer *w = store_writer_new(t->store, bad[i], 1, &e);
        fails(t, w ? 0 : -1, &e, ERR_USAGE, "a bad project name is refused by writers");
        store_writer_free(w);
        fails(t, store_list(t->store, bad[i], look_for, NULL, &e), &e, ERR_USAGE, "and by lists");
    }
    store_target_name(42, 7, name);
    fails(t, store_size(t->store, "alpha", name, &size, &e), &e, ERR_NOTFOUND,
          "a target nobody wrote to is not there");
}

void conformance_run(const struct store_settings *settings, conformance_tell *tell)
{
    struct err e = {0};
    AUTO(store) struct store *s = store_open(settings, &e);
    struct trial t = {.store = s, .tell = tell};

    works(&t, s ? 0 : -1, &e, "the store opens");
    if (!s)
        return;
    works(&t, store_probe(s, &e), &e, "it can be written and read");
    t.writer = store_writer_new(s, "alpha", 42, &e);
    works(&t, t.writer ? 0 : -1, &e, "a writer begins");
    if (!t.writer)
        return;
    works(&t, store_flush(t.writer, &e), &e, "nothing is flushed easily");
    tell(conformance_count(s, "alpha").blobs == 0, "the project is empty");
    try_small(&t);
    try_large(&t);
    if (!strcmp(store_kind(s), "s3"))
        try_known(&t);
    try_threads(&t);
    try_house(&t);
    try_projects(&t);
    try_names(&t);
    store_writer_free(t.writer);
    conformance_empty(s, "alpha");
    struct conformance_count left = conformance_count(s, "alpha");
    tell(left.blobs == 0 && left.unfinished == 0, "all can be deleted when no writer is left");
}
