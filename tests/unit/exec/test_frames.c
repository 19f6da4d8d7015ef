#include "exec/frames.h"

#include "base/buf.h"
#include "tap.h"

#include <string.h>
#include <unistd.h>

struct heard {
    struct buf state, log;
    int ends;
};

static int hear(void *context, enum frame_kind kind, const char *bytes, size_t n, struct err *e)
{
    struct heard *h = context;

    (void)e;
    if (kind == FRAME_END)
        h->ends++;
    else
        buf_add(kind == FRAME_STATE ? &h->state : &h->log, bytes, n);
    return 0;
}

static struct heard heard_new(void)
{
    struct heard h = {0};

    buf_init(&h.state, 1 << 20);
    buf_init(&h.log, 1 << 20);
    return h;
}

static void heard_clear(struct heard *h)
{
    buf_clear(&h->state);
    buf_clear(&h->log);
}

/* By hand: two pieces of state, one of log with a newline and a NUL in it. */
static const char stream[] = "S 3\nabcL 4\n1\n\0003S 2\ndeE 0\n";

static void test_any_pieces(void)
{
    bool good = true;

    for (size_t piece = 1; piece < sizeof stream; piece++) {
        struct heard h = heard_new();
        struct frames *f = frames_new();
        for (size_t at = 0; at < sizeof stream - 1; at += piece) {
            size_t left = sizeof stream - 1 - at;
            good = good &&
                   frames_take(f, stream + at, left < piece ? left : piece, hear, &h, NULL) == 0;
        }
        good = good && h.ends == 1 && !strcmp(buf_str(&h.state), "abcde") && h.log.len == 4 &&
               !memcmp(h.log.data, "1\n\0003", 4);
        frames_free(f);
        heard_clear(&h);
    }
    CHECK(good, "frames come whole, whatever pieces they come in");
}

static void test_refused(void)
{
    static const char *const cases[] = {
        "X 3\nabc",  "S3\nabc",
        "S  3\nabc", "S 03\nabc",
        "S 0\n",     "L 65537\n",
        "S -1\n",    "S\n",
        "\n",        "E 1\nx",
        "E\n",       "E 0\nS 1\n",
        "S 3 \nabc", "S 99999999999999999999999999\n",
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct heard h = heard_new();
        struct frames *f = frames_new();
        struct err e = {0};
        CHECK(frames_take(f, cases[i], strlen(cases[i]), hear, &h, &e) < 0 && e.kind == ERR_IO,
              "case %zu is no frame", i);
        frames_free(f);
        heard_clear(&h);
    }
}

static void test_write(void)
{
    int ends[2];
    static char big[FRAME_BYTES_MAX], back[FRAME_BYTES_MAX + 64];
    struct heard h = heard_new();
    struct frames *f = frames_new();
    ssize_t n;

    memset(big, 'b', sizeof big);
    if (pipe(ends) < 0)
        exit(1);
    if (fork() == 0) {
        close(ends[0]);
        _exit(frames_write(ends[1], FRAME_LOG, big, sizeof big) < 0 ||
              frames_write(ends[1], FRAME_STATE, "x\n", 2) < 0 ||
              frames_write(ends[1], FRAME_END, "", 0) < 0);
    }
    close(ends[1]);
    while ((n = read(ends[0], back, sizeof back)) > 0)
        if (frames_take(f, back, (size_t)n, hear, &h, NULL) < 0)
            break;
    CHECK(h.log.len == sizeof big && !memcmp(h.log.data, big, sizeof big) && h.ends == 1 &&
              !strcmp(buf_str(&h.state), "x\n"),
          "the largest frame goes through a pipe");
    close(ends[0]);
    frames_free(f);
    heard_clear(&h);
}

int main(void)
{
    test_any_pieces();
    test_refused();
    test_write();
    return TAP_DONE();
}
