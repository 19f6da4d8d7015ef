#include "local.h"

#include "base/buf.h"
#include "base/file.h"
#include "tap.h"

#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *local_path(const struct scratch *s, const char *name)
{
    static char paths[64][600];
    static unsigned next;
    char *out = paths[next++ % 64];

    snprintf(out, sizeof paths[0], "%s/local/%s", s->home, name);
    return out;
}

void local_write(const struct scratch *s, const char *name, const void *bytes, size_t n)
{
    const char *path = local_path(s, name);
    AUTO_MEM char *dir = mem_dup(path);
    struct err e = {0};

    *strrchr(dir, '/') = 0;
    file_make_dirs(dir, 0777, &e);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
        CHECK(false, "write %s", path);
        exit(TAP_DONE());
    }
}

void local_text(const struct scratch *s, const char *name, const char *text)
{
    local_write(s, name, text, strlen(text));
}

void local_noise(const struct scratch *s, const char *name, size_t n, unsigned seed)
{
    AUTO_MEM unsigned char *bytes = mem_zero(n + 1, 1);
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bytes[i] = (unsigned char)(x >> 32);
    }
    local_write(s, name, bytes, n);
}

bool local_same(const char *one, const char *other)
{
    FILE *a = fopen(one, "r"), *b = fopen(other, "r");
    bool same = a && b;

    while (same) {
        char left[65536], right[65536];
        size_t n = fread(left, 1, sizeof left, a), m = fread(right, 1, sizeof right, b);
        same = n == m && memcmp(left, right, n) == 0;
        if (n == 0)
            break;
    }
    if (a)
        fclose(a);
    if (b)
        fclose(b);
    return same;
}

void local_age(const struct scratch *s, const char *name)
{
    const struct timespec times[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};

    utimensat(AT_FDCWD, local_path(s, name), times, 0);
}

int local_put(struct lake *l,
              const char *source,
              const char *destination,
              struct lake_put_summary *summary,
              struct err *e)
{
    struct lake_put_summary unwanted;
    const struct lake_put_options o = {
        .sources = &source, .n_sources = 1, .destination = destination};

    return lake_put(l, &o, NULL, NULL, summary ? summary : &unwanted, e);
}

int local_get(struct lake *l,
              const char *ref,
              const char *directory,
              struct lake_get_summary *summary,
              struct err *e)
{
    struct lake_get_summary unwanted;
    const struct lake_get_options o = {.refs = &ref, .n_refs = 1, .directory = directory};

    return lake_get(l, &o, summary ? summary : &unwanted, e);
}

static int collect(void *context, const void *bytes, size_t n, struct err *e)
{
    (void)e;
    return buf_add(context, bytes, n);
}

char *local_cat(struct lake *l, const char *text)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO_CLEAR(buf) struct buf b;
    struct err e = {0};

    buf_init(&b, 1 << 24);
    if (lake_resolve(l, text, LAKE_READ, &ref, &e) < 0 || lake_cat(l, &ref, collect, &b, &e) < 0)
        return NULL;
    return mem_dup(buf_str(&b));
}

static uint64_t counted;

static int count(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)path;
    (void)at;
    if (type == FTW_F)
        counted += (uint64_t)st->st_size;
    return 0;
}

uint64_t local_store_bytes(const struct scratch *s)
{
    counted = 0;
    nftw(s->url + strlen("dir:"), count, 8, FTW_PHYS);
    return counted;
}
