/* Stars for secrets do not depend on the pieces in which the text comes: whatever the cuts, the
 * output is that of a plain definition over the whole text. */
#include "base/mem.h"
#include "exec/mask.h"
#include "tap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 256
#define ROUNDS 4000
#define VALUES_MAX 4

static uint64_t state = 14;

static unsigned draw(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

/* The definition: three stars for each longest stretch of bytes that all belong to a value. Values
 * have no line ends here. */
static void define(const char *text, const char *const *values, size_t n_values, char *out)
{
    bool hidden[TEXT_MAX] = {false};
    size_t n = strlen(text), to = 0;

    for (size_t v = 0; v < n_values; v++)
        for (size_t i = 0; strlen(values[v]) >= MASK_LEAST && i < n; i++)
            if (!strncmp(text + i, values[v], strlen(values[v])))
                memset(hidden + i, true, strlen(values[v]));
    for (size_t i = 0; i < n; i++) {
        if (!hidden[i])
            out[to++] = text[i];
        else if (i == 0 || !hidden[i - 1])
            for (int star = 0; star < 3; star++)
                out[to++] = '*';
    }
    out[to] = '\0';
}

struct secrets {
    char *env[VALUES_MAX];
    const char *names[VALUES_MAX];
    size_t n;
};

static void mask_in_pieces(const struct secrets *s,
                           const char *text,
                           const bool *cut_before,
                           char *out)
{
    struct jobfile job = {
        .env = (const char *const *)s->env, .n_env = s->n, .secrets = s->names, .n_secrets = s->n};
    struct mask m;
    const char *some;
    size_t n = strlen(text), to = 0;

    mask_init(&m, &job);
    for (size_t from = 0, i = 1; i <= n; i++) {
        if (i < n && !cut_before[i])
            continue;
        size_t got = mask_take(&m, text + from, i - from, &some);
        memcpy(out + to, some, got);
        to += got;
        from = i;
    }
    size_t got = mask_rest(&m, &some);
    if (got)
        memcpy(out + to, some, got);
    out[to + got] = '\0';
    mask_clear(&m);
}

static void test_any_cut(void)
{
    static const char *const names[VALUES_MAX] = {"A", "B", "C", "D"};
    size_t bad = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct secrets s = {.n = 1 + draw(VALUES_MAX)};
        const char *values[VALUES_MAX];
        char text[TEXT_MAX], wanted[TEXT_MAX], got[TEXT_MAX];
        bool cuts[TEXT_MAX];
        size_t n = draw(60), letters = 2 + draw(2);
        for (size_t v = 0; v < s.n; v++) {
            char value[16] = {0};
            for (size_t i = 0, len = 3 + draw(7); i < len; i++)
                value[i] = (char)('a' + draw((unsigned)letters));
            s.names[v] = names[v];
            s.env[v] = mem_printf("%s=%s", names[v], value);
            values[v] = s.env[v] + 2;
        }
        for (size_t i = 0; i < n; i++)
            text[i] = (char)('a' + draw((unsigned)letters));
        text[n] = '\0';
        define(text, values, s.n, wanted);
        /* In one piece, byte by byte, and in others. */
        for (unsigned way = 0; way < 8; way++) {
            for (size_t i = 0; i < n; i++)
                cuts[i] = way == 1 || (way > 1 && draw(way) == 0);
            mask_in_pieces(&s, text, cuts, got);
            if (strcmp(got, wanted) != 0 && bad++ < 3)
                printf("# %s of %s, %s ...: %s, not %s\n", text, values[0],
                       s.n > 1 ? values[1] : "", got, wanted);
        }
        for (size_t v = 0; v < s.n; v++)
            free(s.env[v]);
    }
    CHECK(bad == 0, "any cut gives what the definition gives, %zu do not", bad);
}

/* What leaked before: the end of a value that begins with another, or overlaps it. */
static void test_known(void)
{
    static const struct {
        const char *first, *second, *text;
        size_t cut;
        const char *wanted;
    } cases[] = {
        {"abcd", "abcdefgh", "<abcdefgh>", 5, "<***>"}, {"abcd", "cdef", "<abcdef>", 5, "<***>"},
        {"abcd", "efgh", "<abcdefgh>", 5, "<***>"},     {"abcd", "wxyz", "abcdwxyz", 4, "***"},
        {"abcd", "wxyz", "abcabcd", 3, "abc***"},       {"abcd", "wxyz", "abc", 2, "abc"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct secrets s = {
            .env = {mem_printf("A=%s", cases[i].first), mem_printf("B=%s", cases[i].second)},
            .names = {"A", "B"},
            .n = 2};
        bool cuts[TEXT_MAX] = {false};
        char got[TEXT_MAX];
        cuts[cases[i].cut] = true;
        mask_in_pieces(&s, cases[i].text, cuts, got);
        CHECK(!strcmp(got, cases[i].wanted), "%s, cut at %zu: %s", cases[i].text, cases[i].cut,
              got);
        free(s.env[0]);
        free(s.env[1]);
    }
}

/* A value of several lines: its lines by themselves, and a piece for each byte. */
static void test_lines(void)
{
    struct secrets s = {
        .env = {mem_printf("A=%s", "abcdefgh\nxy\nijklmnop")}, .names = {"A"}, .n = 1};
    const char *text = "> abcdefgh\n> xy\nabcdefgh\nxy\nijklmnop!\nabcdefgh\nx";
    bool all[TEXT_MAX], none[TEXT_MAX] = {false};
    char got[TEXT_MAX];

    memset(all, true, sizeof all);
    mask_in_pieces(&s, text, all, got);
    CHECK(!strcmp(got, "> ***\n> xy\n***!\n***\nx"), "byte by byte: %s", got);
    mask_in_pieces(&s, text, none, got);
    CHECK(!strcmp(got, "> ***\n> xy\n***!\n***\nx"), "at once: %s", got);
    free(s.env[0]);
}

int main(void)
{
    test_any_cut();
    test_known();
    test_lines();
    return TAP_DONE();
}
