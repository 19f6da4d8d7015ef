/* What a directory does when writers die, disks fail and files are damaged. */
#include "base/file.h"
#include "base/mem.h"
#include "store/conformance.h"
#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static struct store *open_at(const char *path, const struct store_settings *more)
{
    AUTO_MEM char *url = mem_printf("dir:%s", path);
    struct store_settings settings = more ? *more : (struct store_settings){0};
    struct err e = {0};

    settings.url = url;
    struct store *s = store_open(&settings, &e);
    if (!s)
        printf("# %s\n", e.text);
    return s;
}

static char *scratch(const char *root, const char *name)
{
    return mem_printf("%s/%s", root, name);
}

/* ---- writers side by side ---- */

#define CHILDREN 4
#define CONTENTS 300

/* A child writes and reports its places; its exit says whether all went well. */
static void child_writes(const char *path, unsigned number, int report)
{
    AUTO(store) struct store *s = open_at(path, NULL);
    AUTO(store_writer) struct store_writer *w = s ? store_writer_new(s, "p", 1, NULL) : NULL;
    bool good = w != NULL;

    for (unsigned i = 0; good && i < CONTENTS; i++) {
        struct store_content c;
        good = conformance_put_small(w, number * 1000 + i, 3000 + i, &c) == 0 &&
               (i % 100 != 99 || store_flush(w, NULL) == 0) &&
               write(report, &c.place, sizeof c.place) == (ssize_t)sizeof c.place;
    }
    _exit(good ? 0 : 1);
}

static void test_processes(const char *root)
{
    AUTO_MEM char *path = scratch(root, "processes");
    int pipes[CHILDREN][2];
    pid_t pids[CHILDREN];
    bool exits = true, whole = true;

    for (unsigned k = 0; k < CHILDREN; k++) {
        if (pipe(pipes[k]) < 0 || (pids[k] = fork()) < 0)
            return;
        if (pids[k] == 0)
            child_writes(path, k + 1, pipes[k][1]);
        close(pipes[k][1]);
    }
    AUTO(store) struct store *s = open_at(path, NULL);
    for (unsigned k = 0; k < CHILDREN; k++) {
        struct store_content c = {0};
        unsigned n = 0;
        int status = -1;
        struct store_place places[CONTENTS];
        while (n < CONTENTS &&
               read(pipes[k][0], &places[n], sizeof places[n]) == (ssize_t)sizeof places[n])
            n++;
        waitpid(pids[k], &status, 0);
        close(pipes[k][0]);
        exits = exits && status == 0 && n == CONTENTS;
        for (unsigned i = 0; i < n; i++) {
            c.place = places[i];
            whole = whole && conformance_is_small(s, "p", &c, (k + 1) * 1000 + i);
        }
    }
    CHECK(exits, "several processes write at once");
    CHECK(whole, "and none harms another's content");
    CHECK(conformance_count(s, "p").blobs <= CHILDREN, "in at most a pack each");
}

/* A child that is killed with unflushed contents and an unfinished large file. */
static pid_t start_victim(const char *path, int report)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    struct store *s = open_at(path, NULL);
    struct store_writer *w = store_writer_new(s, "p", 1, NULL);
    struct store_content c;
    AUTO_MEM char *leftover = mem_printf("%s/p/tmp/9-new-0000000000000001", path);

    for (unsigned i = 0; i < 500; i++) /* past the first buffer, so that there is a tail */
        conformance_put_small(w, i, 20000, &c);
    int fd = open(leftover, O_CREAT | O_WRONLY, 0444);
    if (fd < 0 || write(report, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static int count_size(void *context, const struct store_blob *blob, struct err *e)
{
    (void)e;
    *(uint64_t *)context += blob->size;
    return 0;
}

static void test_killed(const char *root)
{
    AUTO_MEM char *path = scratch(root, "killed");
    int report[2];
    char x;
    uint64_t tail = 0;
    struct store_content first, second;
    AUTO(store) struct store *s = open_at(path, NULL);

    if (pipe(report) < 0)
        return;
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 2, NULL);
    pid_t victim = start_victim(path, report[1]);
    CHECK(victim > 0 && read(report[0], &x, 1) == 1, "a writer is at work");
    CHECK(conformance_put_small(w, 7, 5000, &first) == 0 && store_flush(w, NULL) == 0,
          "another writes beside it");
    CHECK(conformance_count(s, "p").blobs == 2, "to a pack of its own");
    kill(victim, SIGKILL);
    waitpid(victim, NULL, 0);
    close(report[0]);
    close(report[1]);
    store_writer_free(TAKE(w));
    store_list(s, "p", count_size, &tail, NULL);
    CHECK(tail > 4 * MIB, "the dead writer left a tail");
    w = store_writer_new(s, "p", 3, NULL);
    AUTO(store_writer) struct store_writer *w2 = store_writer_new(s, "p", 4, NULL);
    CHECK(conformance_put_small(w, 8, 5000, &second) == 0 && store_flush(w, NULL) == 0,
          "the next goes on");
    CHECK(conformance_put_small(w2, 9, 5000, &second) == 0 && store_flush(w2, NULL) == 0,
          "and so does the one after");
    CHECK(conformance_count(s, "p").blobs == 2, "both packs are used again");
    CHECK(conformance_is_small(s, "p", &first, 7) && conformance_is_small(s, "p", &second, 9),
          "nothing flushed is lost");
    CHECK(conformance_count(s, "p").unfinished == 1, "what was unfinished is listed");
}

/* ---- locks ---- */

static int try_delete(void *context, const struct store_blob *blob, struct err *e)
{
    struct store *s = context;

    return store_delete(s, "p", blob, NULL, NULL, e);
}

static void test_locks(const char *root)
{
    AUTO_MEM char *path = scratch(root, "locks");
    AUTO(store) struct store *s = open_at(path, NULL);
    AUTO(store) struct store *other = open_at(path, NULL);
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 2, NULL);
    struct store_content c, d;
    struct err e = {0};

    conformance_put_small(w, 1, 100, &c);
    store_flush(w, NULL);
    CHECK(store_list(other, "p", try_delete, other, &e) == -1 && e.kind == ERR_RETRY,
          "a pack in use is not deleted: %s", e.text);
    CHECK(conformance_is_small(s, "p", &c, 1), "and stays whole");
    store_writer_free(TAKE(w));
    CHECK(store_list(other, "p", try_delete, other, &e) == 0, "once it is free, it is");
    CHECK(conformance_count(s, "p").blobs == 0, "and is gone");
    w = store_writer_new(s, "p", 2, NULL);
    CHECK(conformance_put_small(w, 2, 100, &d) == 0 && store_flush(w, NULL) == 0 &&
              strcmp(c.place.blob, d.place.blob) != 0,
          "the next writer makes a new one, with a new name");
}

/* A pack just below 256 MiB (a hole, so that the test is quick) takes one more content. */
static void test_rotation(const char *root)
{
    AUTO_MEM char *path = scratch(root, "rotation");
    AUTO(store) struct store *s = open_at(path, NULL);
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 2, NULL);
    struct store_content c[3], later;

    CHECK(conformance_put_small(w, 1, 100, &c[0]) == 0 && store_flush(w, NULL) == 0, "a pack");
    store_writer_free(TAKE(w));
    AUTO_MEM char *pack = mem_printf("%s/p/packs/%s", path, c[0].place.blob);
    CHECK(truncate(pack, (off_t)(256 * MIB) - 1) == 0, "is almost full");
    w = store_writer_new(s, "p", 2, NULL);
    CHECK(conformance_put_small(w, 2, 1000, &c[1]) == 0 &&
              conformance_put_small(w, 3, 1000, &c[2]) == 0 && store_flush(w, NULL) == 0,
          "and two contents come");
    CHECK(!strcmp(c[1].place.blob, c[0].place.blob) && c[1].place.offset == 256 * MIB - 1 + 48,
          "the first is appended behind its header");
    CHECK(strcmp(c[2].place.blob, c[0].place.blob) != 0 && c[2].place.offset == 48,
          "the second begins a new pack");
    CHECK(conformance_is_small(s, "p", &c[0], 1) && conformance_is_small(s, "p", &c[1], 2) &&
              conformance_is_small(s, "p", &c[2], 3),
          "all read back");
    struct store_blob full = {.name = c[0].place.blob};
    struct err e = {0};
    CHECK(store_delete(s, "p", &full, NULL, NULL, &e) == -1 && e.kind == ERR_RETRY,
          "the full one stays locked while its writer lives");
    AUTO(store_writer) struct store_writer *next = store_writer_new(s, "p", 3, NULL);
    CHECK(conformance_put_small(next, 4, 10, &later) == 0 &&
              strcmp(later.place.blob, c[0].place.blob) != 0 &&
              strcmp(later.place.blob, c[2].place.blob) != 0,
          "another writer takes neither");
}

struct paused {
    struct store *other;
    struct err why;
    bool tried;
};

static bool look_meanwhile(void *context, uint64_t more)
{
    struct paused *p = context;

    (void)more;
    if (!p->tried) {
        p->tried = true;
        store_list(p->other, "p", try_delete, p->other, &p->why);
    }
    return true;
}

static void test_live_large(const char *root)
{
    AUTO_MEM char *path = scratch(root, "live");
    AUTO(store) struct store *s = open_at(path, NULL);
    struct paused p = {.other = s};
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 2, NULL);
    AUTO_CLEAR(store_content) struct store_content c = {0};
    struct err e = {0};
    struct store_source source = {.fd = conformance_file("some bytes", 10),
                                  .name = "source",
                                  .progress = look_meanwhile,
                                  .context = &p};

    CHECK(store_write_large(w, &source, &c, &e) == 0 && store_flush(w, &e) == 0, "a large file");
    CHECK(p.tried && p.why.kind == ERR_RETRY, "whose beginning nobody may delete: %s", p.why.text);
    CHECK(conformance_count(s, "p").blobs == 1, "arrives");
    close(source.fd);
}

struct syncs {
    unsigned count;
    bool refuse;
};

static bool count_syncs(void *context, const char *operation)
{
    struct syncs *s = context;

    if (strcmp(operation, "sync") != 0)
        return true;
    __atomic_add_fetch(&s->count, 1, __ATOMIC_RELAXED);
    return !s->refuse;
}

static void test_many_large(const char *root)
{
    AUTO_MEM char *path = scratch(root, "many");
    struct syncs syncs = {0};
    struct store_settings settings = {.allow = count_syncs, .context = &syncs};
    AUTO(store) struct store *s = open_at(path, &settings);
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 2, NULL);
    bool written = true, whole = true;
    struct store_place places[100];

    for (unsigned i = 0; i < 100; i++) {
        AUTO_CLEAR(store_content) struct store_content c = {0};
        struct store_source source = {.fd = conformance_file(&i, sizeof i), .name = "source"};
        written = written && store_write_large(w, &source, &c, NULL) == 0;
        places[i] = c.place;
        close(source.fd);
    }
    syncs.count = 0;
    CHECK(written && store_flush(w, NULL) == 0, "a hundred large files are written");
    CHECK(syncs.count <= 5, "and synced together, %u times", syncs.count);
    for (unsigned i = 0, got = 0; i < 100; i++)
        whole = whole && store_read(s, "p", &places[i], 0, &got, sizeof got, NULL) == 0 && got == i;
    CHECK(whole, "each reads back");
    struct store_source source = {.fd = conformance_file("more", 4), .name = "source"};
    for (unsigned i = 0; i < 100; i++) {
        AUTO_CLEAR(store_content) struct store_content c = {0};
        written = written && store_write_large(w, &source, &c, NULL) == 0;
    }
    close(source.fd);
    syncs.refuse = true;
    CHECK(written && store_flush(w, NULL) == -1, "a sync that fails is no success");
    syncs.refuse = false;
    CHECK(store_flush(w, NULL) == -1, "not even the second time");
}

/* ---- the nth operation fails ---- */

struct nth {
    pthread_mutex_t lock;
    unsigned count, fail_at; /* from 1; 0 = never */
};

static bool nth_allow(void *context, const char *operation)
{
    struct nth *n = context;

    (void)operation;
    pthread_mutex_lock(&n->lock);
    bool good = ++n->count != n->fail_at;
    pthread_mutex_unlock(&n->lock);
    return good;
}

struct outcome {
    struct store_content small, large;
    bool flushed;
    struct err e;
};

static void write_both(struct store *s, struct outcome *o)
{
    static unsigned char bytes[2 * MIB];
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 5, &o->e);

    if (!w)
        return;
    conformance_fill(bytes, sizeof bytes, 4);
    struct store_source source = {.fd = conformance_file(bytes, sizeof bytes), .name = "source"};
    bool good = store_write_large(w, &source, &o->large, &o->e) == 0;
    close(source.fd);
    conformance_fill(bytes, 5000, 3);
    o->small.digest = sha256_of(bytes, 5000);
    o->flushed = good &&
                 store_write_small(w, bytes, 5000, &o->small.digest, &o->small.place, &o->e) == 0 &&
                 store_flush(w, &o->e) == 0;
    if (good && !o->flushed && o->e.kind == ERR_IO && store_flush(w, NULL) == 0 &&
        o->small.place.size)
        o->flushed = true; /* a failed flush must not succeed the second time */
}

static int copy_back(struct store *s, const struct outcome *o, struct err *e)
{
    char got[10];
    int fd = conformance_file("", 0);
    int result = store_copy(s, "p", &o->large, fd, NULL, NULL, e);

    close(fd);
    return result < 0 ? -1 : store_read(s, "p", &o->small.place, 0, got, sizeof got, e);
}

static void test_every_failure(const char *root)
{
    unsigned failed = 0, wrong = 0, unnamed = 0, n = 1;

    for (bool more = true; more && n < 200; n++) {
        AUTO_MEM char *name = mem_printf("nth-%u", n);
        AUTO_MEM char *path = scratch(root, name);
        struct nth nth = {.lock = PTHREAD_MUTEX_INITIALIZER, .fail_at = n};
        struct store_settings settings = {.allow = nth_allow, .context = &nth};
        struct outcome o = {0};
        AUTO(store) struct store *s = open_at(path, &settings);
        if (s)
            write_both(s, &o);
        if (s && o.flushed && nth.count < n) {
            more = copy_back(s, &o, &o.e) < 0;
            wrong += more && o.e.kind != ERR_IO;
        } else {
            failed++;
            wrong += o.flushed || (s && o.e.kind != ERR_IO);
        }
        unnamed += s && o.e.kind && !strstr(o.e.text, path);
        nth.fail_at = 0;
        AUTO(store) struct store *after = open_at(path, NULL);
        struct outcome again = {0};
        write_both(after, &again);
        struct err e = {0};
        wrong += !again.flushed || copy_back(after, &again, &e) < 0;
        wrong += conformance_count(after, "p").unfinished != 0;
        store_content_clear(&o.large);
        store_content_clear(&again.large);
    }
    CHECK(failed > 8 && n < 200, "each of %u operations failed once", n - 1);
    CHECK(wrong == 0, "which was never taken for success, and the next run works");
    CHECK(unnamed == 0, "and every error names the path");
}

/* ---- damage ---- */

static int flip(const char *path, uint64_t at)
{
    unsigned char byte = 0;

    chmod(path, 0644);
    int fd = open(path, O_RDWR);
    bool good = fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1;
    byte ^= 0x40;
    good = good && pwrite(fd, &byte, 1, (off_t)at) == 1;
    close(fd);
    return good ? 0 : -1;
}

static int nothing(void *context, const void *bytes, size_t n, struct err *e)
{
    (void)bytes;
    (void)e;
    *(size_t *)context += n;
    return 0;
}

static int came(void *context, size_t i, const void *bytes, size_t n, struct err *e)
{
    (void)context;
    (void)i;
    (void)bytes;
    (void)n;
    return err_set(e, ERR_USAGE, "damaged content was let through");
}

static int hurt(void *context, size_t i, const struct err *why, struct err *e)
{
    (void)i;
    (void)e;
    *(struct err *)context = *why;
    return 0;
}

/* Every way to read it fails and says where. */
static void check_damaged(struct store *s, const struct store_content *c, const char *what)
{
    struct err e = {0}, why = {0};
    size_t sunk = 0;
    int fd = conformance_file("", 0);
    const struct store_content *list[] = {c};
    struct store_reader reader = {.arrived = came, .damaged = hurt, .context = &why};

    CHECK(store_copy(s, "p", c, fd, NULL, NULL, &e) == -1 && e.kind == ERR_IO &&
              strstr(e.text, c->place.blob) && strstr(e.text, "damaged"),
          "%s: copy finds it: %s", what, e.text);
    e = (struct err){0};
    CHECK(store_stream(s, "p", c, 0, UINT64_MAX, nothing, &sunk, &e) == -1 && e.kind == ERR_IO &&
              sunk == 0 && strstr(e.text, c->place.blob),
          "%s: stream finds it", what);
    if (c->place.size <= STORE_SMALL_MAX)
        CHECK(store_read_many(s, "p", list, 1, &reader, &e) == 0 && why.kind == ERR_IO &&
                  strstr(why.text, c->place.blob),
              "%s: read_many finds it", what);
    close(fd);
}

static char *large_path(const char *path, const struct store_content *c)
{
    const char *digits = strchr(c->place.blob, '-') + 1;

    return mem_printf("%s/p/large/%.2s/%s", path, digits, c->place.blob);
}

static void test_damage(const char *root)
{
    AUTO_MEM char *path = scratch(root, "damage");
    AUTO(store) struct store *s = open_at(path, NULL);
    struct outcome o = {0};
    struct stat st;

    write_both(s, &o);
    AUTO_MEM char *pack = mem_printf("%s/p/packs/%s", path, o.small.place.blob);
    AUTO_MEM char *large = large_path(path, &o.large);
    CHECK(stat(large, &st) == 0 && (st.st_mode & 0222) == 0, "a large blob is write-protected");
    CHECK(flip(pack, o.small.place.offset + 4999) == 0, "a bit in a pack turns over");
    check_damaged(s, &o.small, "pack");
    CHECK(flip(large, 1 * MIB) == 0, "a bit in a large blob turns over");
    check_damaged(s, &o.large, "large");
    CHECK(truncate(large, 2 * MIB - 1) == 0 && truncate(pack, 1000) == 0, "blobs are cut");
    check_damaged(s, &o.small, "cut pack");
    check_damaged(s, &o.large, "cut large");
    store_content_clear(&o.large);
}

/* ---- sources ---- */

struct meddler {
    int fd;
    bool grow;
    uint64_t seen;
};

static bool meddle(void *context, uint64_t more)
{
    struct meddler *m = context;

    if (m->seen == 0) {
        bool done = m->grow ? pwrite(m->fd, "x", 1, (off_t)(3 * MIB)) == 1
                            : ftruncate(m->fd, (off_t)(MIB + 1)) == 0;
        if (!done)
            return false;
    }
    m->seen += more;
    return true;
}

static void test_changed(const char *root)
{
    AUTO_MEM char *path = scratch(root, "changed");
    AUTO(store) struct store *s = open_at(path, NULL);
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 2, NULL);

    for (int grow = 0; grow < 2; grow++) {
        AUTO_CLEAR(store_content) struct store_content c = {0};
        struct err e = {0};
        int fd = conformance_file("", 0);
        struct meddler m = {.fd = fd, .grow = grow};
        struct store_source source = {
            .fd = fd, .name = "restless", .progress = meddle, .context = &m};
        CHECK(ftruncate(fd, (off_t)(3 * MIB)) == 0 && pwrite(fd, "y", 1, (off_t)MIB) == 1,
              "a file");
        CHECK(store_write_large(w, &source, &c, &e) == -1 && e.kind == ERR_CHANGED &&
                  strstr(e.text, "restless changed"),
              "that %s while it is read is refused: %s", grow ? "grows" : "shrinks", e.text);
        close(fd);
    }
    CHECK(store_flush(w, NULL) == 0 && conformance_count(s, "p").blobs == 0 &&
              conformance_count(s, "p").unfinished == 0,
          "and leaves nothing");
}

static void test_sparse(const char *root)
{
    AUTO_MEM char *path = scratch(root, "sparse");
    AUTO_MEM char *from = scratch(root, "sparse.source"), *to = scratch(root, "sparse.copy");
    AUTO(store) struct store *s = open_at(path, NULL);
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 2, NULL);
    AUTO_CLEAR(store_content) struct store_content c = {0};
    struct err e = {0};
    struct stat st;
    char back[4] = "";
    off_t size = (off_t)(100 * MIB + 5);
    int fd = open(from, O_RDWR | O_CREAT, 0644);
    struct store_source source = {.fd = fd, .name = from};
    AUTO(sha256) struct sha256 *sha = sha256_new();

    CHECK(fd >= 0 && ftruncate(fd, size) == 0 && pwrite(fd, "abc", 3, (off_t)(50 * MIB)) == 3,
          "a file of holes");
    CHECK(store_write_large(w, &source, &c, &e) == 0 && store_flush(w, &e) == 0, "is stored");
    CHECK(lseek(fd, 0, SEEK_CUR) == 0, "its offset is kept");
    AUTO_MEM char *blob = large_path(path, &c);
    CHECK(stat(blob, &st) == 0 && st.st_size == size && st.st_blocks * 512 < 8 * (off_t)MIB,
          "its blob has holes too");
    AUTO_MEM unsigned char *zeros = mem_zero(MIB, 1);
    for (unsigned i = 0; i < 50; i++)
        sha256_add(sha, zeros, MIB);
    sha256_add(sha, "abc", 3);
    for (unsigned i = 0; i < 50; i++)
        sha256_add(sha, zeros, MIB);
    sha256_add(sha, zeros, 2);
    struct sha256_digest want = sha256_take(sha);
    CHECK(c.n_parts == 7 && sha256_equal(&want, &c.digest), "its digest is that of the bytes");
    int copy = open(to, O_RDWR | O_CREAT, 0644);
    CHECK(store_copy(s, "p", &c, copy, NULL, NULL, &e) == 0 && fstat(copy, &st) == 0 &&
              st.st_size == size && st.st_blocks * 512 < 8 * (off_t)MIB &&
              pread(copy, back, 3, (off_t)(50 * MIB)) == 3 && !strcmp(back, "abc"),
          "a copy has holes and bytes");
    close(copy);
    close(fd);
}

/* ---- links ---- */

static void test_link(const char *root)
{
    AUTO_MEM char *path = scratch(root, "link");
    AUTO_MEM char *to = scratch(root, "link.file"), *small = scratch(root, "link.small");
    AUTO(store) struct store *s = open_at(path, NULL);
    struct outcome o = {0};
    struct stat st;

    write_both(s, &o);
    CHECK(store_link(s, "p", &o.large, to, true), "a large blob is linked");
    CHECK(stat(to, &st) == 0 && st.st_size == 2 * (off_t)MIB, "as a file of its own");
    CHECK(!store_link(s, "p", &o.large, to, true), "not over a file that is there");
    CHECK(!store_link(s, "p", &o.small, small, true) && access(small, F_OK) < 0,
          "a content of a pack is not linked");
    CHECK(!store_link(s, "q", &o.large, small, true) && access(small, F_OK) < 0,
          "nor one of another project");
    struct store_url url = {0};
    struct err e = {0};
    CHECK(store_presign(s, &(struct store_grant){"p", o.large.place, false, 60}, &url, &e) == -1 &&
              e.kind == ERR_NOFIT,
          "a directory has no URLs: %s", e.text);
    store_content_clear(&o.large);
}

/* ---- disks ---- */

static void test_full_disk(const char *root)
{
    AUTO_MEM char *path = scratch(root, "full");
    AUTO_MEM unsigned char *bytes = mem_zero(6 * MIB, 1);
    struct err e = {0};
    struct store_content c = {0};
    int result = 0;

    /* In a mount namespace of our own, which ends with us whatever happens. */
    if (mkdir(path, 0755) < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", path, "tmpfs", 0, "size=4m") < 0) {
        printf("ok %d - full disk # SKIP cannot mount: %s\n", ++tap_count, strerror(errno));
        return;
    }
    {
        AUTO(store) struct store *s = open_at(path, NULL);
        AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 2, NULL);
        conformance_fill(bytes, 6 * MIB, 1);
        struct store_source source = {.fd = conformance_file(bytes, 6 * MIB), .name = "source"};
        CHECK(store_write_large(w, &source, &c, &e) == -1 && e.kind == ERR_IO &&
                  strstr(e.text, "No space left") && strstr(e.text, path),
              "a full disk is said plainly: %s", e.text);
        CHECK(conformance_count(s, "p").unfinished == 0, "nothing is left in the way");
        close(source.fd);
        for (unsigned i = 0; i < 8 && result == 0; i++)
            result = conformance_put_small(w, i, STORE_SMALL_MAX, &c);
        CHECK(store_flush(w, &e) == -1 && e.kind == ERR_IO && strstr(e.text, "No space left"),
              "so is a pack that does not fit");
        CHECK(store_flush(w, &e) == -1, "and it stays so");
    }
    {
        struct store_content fits = {0};
        AUTO(store) struct store *s = open_at(path, NULL);
        conformance_empty(s, "p");
        AUTO(store_writer) struct store_writer *w = store_writer_new(s, "p", 2, NULL);
        CHECK(conformance_put_small(w, 1, 1000, &fits) == 0 && store_flush(w, &e) == 0,
              "with room again, writing works");
        store_writer_free(TAKE(w));
        mount(NULL, path, NULL, MS_REMOUNT | MS_RDONLY, NULL);
        AUTO(store) struct store *reader = open_at(path, NULL);
        CHECK(reader && conformance_is_small(reader, "p", &fits, 1),
              "a read-only disk is readable");
        w = store_writer_new(reader, "p", 3, NULL);
        CHECK(w && conformance_put_small(w, 2, 10, &c) == -1, "and refuses to be written");
        CHECK(store_probe(reader, &e) == -1 && e.kind == ERR_DENIED && strstr(e.text, "Read-only"),
              "which a probe finds out: %s", e.text);
        store_writer_free(TAKE(w));
    }
    umount(path);
}

int main(void)
{
    char root[] = "/tmp/tradewind-store-XXXXXX";

    if (!mkdtemp(root))
        return TAP_SKIP_ALL("no temporary directory");
    test_processes(root);
    test_killed(root);
    test_locks(root);
    test_rotation(root);
    test_live_large(root);
    test_many_large(root);
    test_every_failure(root);
    test_damage(root);
    test_changed(root);
    test_sparse(root);
    test_link(root);
    test_full_disk(root);
    file_remove_tree(root);
    return TAP_DONE();
}
