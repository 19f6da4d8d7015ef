#include "store/bucket.h"

#include "base/mem.h"
#include "store/conformance.h"
#include "tap.h"

#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char bucket_project[] = "proj";
const char bucket_name[] = "tradewind-test";

struct store *bucket_open(const char *endpoint_name, const char *url, int path_style)
{
    struct store_settings settings = {
        .url = url, .endpoint = getenv(endpoint_name), .path_style = path_style, .seed = 1};

    return conformance_open(&settings);
}

char *bucket_url(const char *rest)
{
    const char *base = getenv("STORE_BASE");

    return mem_printf("%s%s", base ? base : "s3://", rest);
}

struct store *bucket_direct(void)
{
    AUTO_MEM char *url = bucket_url("tradewind-test/a lake");

    return bucket_open("STORE_ENDPOINT", url, -1);
}

struct store *bucket_proxied(void)
{
    AUTO_MEM char *url = bucket_url("tradewind-test/a lake");

    return bucket_open("PROXY_ENDPOINT", url, -1);
}

const char *bucket_output(const char *fmt, ...)
{
    static char text[4000];
    char command[4000];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    FILE *f = popen(command, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        pclose(f);
    while (n && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    return text;
}

void bucket_spoil(const char *query)
{
    bucket_output("curl -s '%s/_fault?%s'", getenv("PROXY_ENDPOINT"), query);
}

const char *bucket_seen(void)
{
    return bucket_output("curl -s '%s/_log' | tr '\\n' ' '", getenv("PROXY_ENDPOINT"));
}

struct bucket_sample bucket_sample_new(size_t n, uint64_t seed)
{
    struct bucket_sample s = {.n = n, .bytes = mem_zero(n + 1, 1)};

    conformance_fill(s.bytes, n, seed);
    s.fd = conformance_file(s.bytes, n);
    if (s.fd < 0)
        abort();
    s.source = (struct store_source){.fd = s.fd, .name = "sample"};
    return s;
}

void bucket_sample_clear(struct bucket_sample *s)
{
    close(s->fd);
    free(s->bytes);
}

int bucket_write(struct store *s,
                 const struct bucket_sample *sample,
                 struct store_content *out,
                 struct err *e)
{
    AUTO(store_writer) struct store_writer *w = store_writer_new(s, bucket_project, 7, e);

    if (!w || store_write_large(w, &sample->source, out, e) < 0)
        return -1;
    return store_flush(w, e);
}

int bucket_write_small(
    struct store_writer *w, const void *bytes, size_t n, struct store_content *out, struct err *e)
{
    *out = (struct store_content){.digest = sha256_of(bytes, n)};
    return store_write_small(w, bytes, n, &out->digest, &out->place, e);
}

bool bucket_comes_back(struct store *s,
                       const struct bucket_sample *sample,
                       const struct store_content *content,
                       struct err *e)
{
    int fd = memfd_create("back", 0);
    bool same = false;

    if (store_copy(s, bucket_project, content, fd, NULL, NULL, e) == 0) {
        unsigned char *back = mem_zero(sample->n + 1, 1);
        same = pread(fd, back, sample->n + 1, 0) == (ssize_t)sample->n &&
               memcmp(back, sample->bytes, sample->n) == 0;
        free(back);
    }
    close(fd);
    return same;
}

static int count(void *context, const struct store_blob *blob, struct err *e)
{
    struct bucket_tally *t = context;

    (void)e;
    t->blobs += !blob->unfinished;
    t->unfinished += blob->unfinished;
    t->bytes += blob->size;
    if (blob->unfinished)
        snprintf(t->unfinished_name, sizeof t->unfinished_name, "%s", blob->name);
    return 0;
}

struct bucket_tally bucket_tally(struct store *s, const char *of_project)
{
    struct bucket_tally t = {0};
    struct err e = {0};

    if (store_list(s, of_project, count, &t, &e) < 0)
        CHECK(false, "list: %s", e.text);
    return t;
}
