/* Files below files are found whatever stands between them, and whatever of it is read: held
 * against a plain search. */
#include "lake/set/set_nesting.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define PATHS_MAX 40
#define ROUNDS 20000

static uint64_t seed = 1;

static uint32_t dice(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % n;
}

struct paths {
    char texts[PATHS_MAX][16];
    size_t n;
};

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Of the bytes before, at and behind '/', and one that is no ASCII. */
static void random_paths(struct paths *p)
{
    static const char bytes[] = {'-', '/', '0', 'a', '\xc3'};
    size_t wanted = 2 + dice(PATHS_MAX - 2), kept = 0;

    for (size_t i = 0; i < wanted; i++) {
        char *path = p->texts[i];
        size_t len = 1 + dice(7);
        path[0] = '/';
        for (size_t k = 1; k <= len; k++) {
            char byte = bytes[dice(5)];
            path[k] = byte == '/' && (path[k - 1] == '/' || k == len) ? 'a' : byte;
        }
        path[len + 1] = 0;
    }
    qsort(p->texts, wanted, sizeof *p->texts, compare);
    for (size_t i = 0; i < wanted; i++)
        if (kept == 0 || strcmp(p->texts[kept - 1], p->texts[i]) != 0)
            memmove(p->texts[kept++], p->texts[i], sizeof *p->texts);
    p->n = kept;
}

static bool is_below(const char *path, const char *file)
{
    size_t len = strlen(file);

    return strncmp(path, file, len) == 0 && path[len] == '/';
}

/* Whether one of paths [low, high) lies below another of them. */
static bool has_nested(const struct paths *p, size_t low, size_t high)
{
    for (size_t i = low; i < high; i++)
        for (size_t k = low; k < high; k++)
            if (is_below(p->texts[k], p->texts[i]))
                return true;
    return false;
}

/* Whether the first bytes of path are a file, as the builder of sets asks; done: paths before. */
static bool is_file(const struct set_nesting *n,
                    const struct paths *p,
                    size_t done,
                    const char *path,
                    size_t length)
{
    enum set_nesting_file answer = length ? set_nesting_is_file(n, length) : SET_NESTING_NO;

    if (answer != SET_NESTING_UNREAD)
        return answer == SET_NESTING_YES;
    for (size_t i = 0; i < done; i++)
        if (strlen(p->texts[i]) == length && strncmp(p->texts[i], path, length) == 0)
            return true;
    return false;
}

static bool takes_unread(const struct set_nesting *n, const struct paths *p, size_t at, size_t end)
{
    const char *first = p->texts[at], *last = p->texts[end - 1];
    size_t length = 0;

    /* Chunks come from sets, within which no file lies below another. */
    if (has_nested(p, at, end))
        return false;
    while ((length = set_nesting_above_some(n, first, last, length + 1)))
        if (is_file(n, p, at, first, length))
            return false;
    return true;
}

/* Adds all, in runs that go by unread where they may. False: one was refused. */
static bool add_all(const struct paths *p, size_t *unread)
{
    struct set_nesting n = {0};

    for (size_t at = 0; at < p->n;) {
        size_t end = at + 1 + dice(6);
        const char *path = p->texts[at];
        end = end < p->n ? end : p->n;
        bool whole = dice(2) && takes_unread(&n, p, at, end);
        if (is_file(&n, p, at, path, set_nesting_above(&n, path)))
            return false;
        if (whole) {
            set_nesting_pass(&n, path, p->texts[end - 1]);
            *unread += end - at > 1;
            at = end;
        } else {
            set_nesting_add(&n, path);
            at++;
        }
    }
    return true;
}

int main(void)
{
    size_t wrong = 0, nested = 0, unread = 0;

    for (size_t i = 0; i < ROUNDS; i++) {
        struct paths p;
        random_paths(&p);
        bool bad = has_nested(&p, 0, p.n);
        nested += bad;
        wrong += add_all(&p, &unread) == bad;
    }
    CHECK(wrong == 0, "%d lists are judged as by a plain search (%zu are not)", ROUNDS, wrong);
    CHECK(nested > ROUNDS / 10 && nested < ROUNDS - ROUNDS / 10 && unread > ROUNDS,
          "of both kinds: %zu have a file below another; %zu runs went by unread", nested, unread);
    return TAP_DONE();
}
