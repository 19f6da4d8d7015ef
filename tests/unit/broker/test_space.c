#include "broker/learn/space.h"

#include "base/buf.h"
#include "base/mem.h"
#include "broker/learn/template.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

#define WORDS 6

/* "a b|c d": the commands of all trials. New string. */
static char *commands(const struct space *s, const struct space_trials *t)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < t->n; i++) {
        char **words = space_command(s, t->rows[i]);
        buf_puts(&b, i ? "|" : "");
        for (size_t k = 0; words[k]; k++)
            buf_printf(&b, "%s%s", k ? " " : "", words[k]);
        template_words_free(words);
    }
    return mem_dup(buf_str(&b));
}

static const struct {
    const char *words[WORDS];
    const char *commands; /* of a grid; or a part of the error behind "!" */
} grids[] = {
    {{"t", "{1,2}", "{a,b}"}, "t 1 a|t 1 b|t 2 a|t 2 b"},
    {{"t", "--lr={lr=0.1,0.2}"}, "t --lr=0.1|t --lr=0.2"},
    {{"t", "{layers=2..5}"}, "t 2|t 3|t 4|t 5"},
    {{"t", "{n=-1..1}"}, "t -1|t 0|t 1"},
    {{"t", "{lr=log:1e-3..1e-1}"}, "t 0.001|t 0.01|t 0.1"},
    {{"t", "{lr=log:0.002..0.3}"}, "t 0.002|t 0.01|t 0.1|t 0.3"},
    {{"t", "{lr=log:1e-4..1/3}"}, "t 0.0001|t 0.01|t 1"},
    {{"t", "{x=0..1/5}"}, "t 0|t 0.25|t 0.5|t 0.75|t 1"},
    {{"t", "{x=0.5..2.5/3}"}, "t 0.5|t 1.5|t 2.5"},
    {{"t", "x{a=1,2}-{b=3,4}"}, "t x1-3|t x1-4|t x2-3|t x2-4"},
    {{"t", "{1,11}{1,11}"}, "t 11|t 111|t 111|t 1111"}, /* rows differ */
    {{"t", "{lr=0.1,lr=0.2}"}, "t lr=0.1|t lr=0.2"},    /* as before there were names */
    {{"t", "{1..3}", "{a=b}", "{1}", "{print $1}"}, "t {1..3} {a=b} {1} {print $1}"},
    {{"t", "{1,2}", "{\"a\": 1, \"b\": 2}", "{print 1, 2}"},
     "t 1 {\"a\": 1, \"b\": 2} {print 1, 2}|t 2 {\"a\": 1, \"b\": 2} {print 1, 2}"},
    {{"t", "\\{a,b}", "{a\\,b,c}"}, "t {a,b} a,b|t {a,b} c"},
    {{"t", "{x=0.1..0.9}"}, "!x: a grid needs the number of values: write x=0.1..0.9/5"},
    {{"t", "{x=5..2}"}, "!x=5..2: the first number must be the lower one"},
    {{"t", "{x=log:0..2}"}, "!x=log:0..2: a log range must be above 0"},
    {{"t", "{x=log:a,b}"}, "!write a range as log:1e-5..1e-1"},
    {{"t", "{x=1,2}", "{x=3,4}"}, "!parameter x has values twice"},
    {{"t", "{x=1..20000}"}, "!more than 10000 values"},
    {{"t", "{x=1..200}", "{y=1..200}"}, "!more than 10000 combinations"},
};

static void check_grids(void)
{
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        struct err e = {0};
        size_t n = 0;
        while (n < WORDS && grids[i].words[n])
            n++;
        AUTO(space) struct space *s = space_of_command(grids[i].words, n, &e);
        AUTO_CLEAR(space_trials) struct space_trials t = {0};
        bool good = s && space_grid(s, &t, &e) == 0;
        AUTO_MEM char *got = good ? commands(s, &t) : mem_printf("!%s", e.text);
        const char *wanted = grids[i].commands;
        CHECK(*wanted == '!' ? !good && e.kind == ERR_USAGE && strstr(got, wanted + 1)
                             : strcmp(got, wanted) == 0,
              "%s: %s", grids[i].words[1], got);
    }
}

static char *draw(const struct space *s, size_t n, uint64_t seed, struct space_trials *t)
{
    struct err e = {0};

    CHECK(space_random(s, n, seed, t, &e) == 0, "random %zu with seed %d", n, (int)seed);
    return commands(s, t);
}

static void check_random(void)
{
    const char *const words[] = {"t", "{lr=log:1e-5..1e-1}", "{n=2..8}", "{a,b}"};
    struct err e = {0};
    AUTO(space) struct space *s = space_of_command(words, 4, &e);
    AUTO_CLEAR(space_trials) struct space_trials few = {0}, again = {0}, more = {0}, other = {0};
    AUTO_MEM char *x = draw(s, 5, 0, &few), *y = draw(s, 5, 0, &again), *z = draw(s, 500, 0, &more),
                  *w = draw(s, 5, 1, &other);
    size_t low = 0, good = 0, a = 0;

    CHECK(strcmp(x, y) == 0, "the same seed, the same trials");
    CHECK(strncmp(x, z, strlen(x)) == 0 && more.n == 500, "more trials begin with the same ones");
    CHECK(strcmp(x, w) != 0, "another seed, other trials");
    for (size_t i = 0; i < more.n; i++) {
        double lr = 0;
        int n = 0;
        sscanf(more.rows[i][0], "%lf", &lr);
        sscanf(more.rows[i][1], "%d", &n);
        good += lr >= 1e-5 && lr <= 1e-1 && n >= 2 && n <= 8;
        low += lr < 1e-3;
        a += more.rows[i][2][0] == 'a';
    }
    CHECK(good == 500, "all within their ranges");
    /* Half of each: 250 of 500 with a standard deviation of 11; 60 is more than 5 of them. */
    CHECK(low > 190 && low < 310, "log: half of them below the middle of the logarithms: %zu", low);
    CHECK(a > 190 && a < 310, "half of them a: %zu", a);
}

static void check_small_spaces(void)
{
    const char *const words[] = {"t", "{a,b,c}", "{n=1..2}"};
    struct err e = {0};
    AUTO(space) struct space *s = space_of_command(words, 3, &e);
    AUTO_CLEAR(space_trials) struct space_trials all = {0}, many = {0};

    CHECK(space_random(s, 0, 0, &all, &e) == 0 && all.n == 6, "0 = all combinations, once: %zu",
          all.n);
    CHECK(space_random(s, 50, 0, &many, &e) == 0 && many.n == 6, "never one twice");
}

static void check_names(void)
{
    const char *const words[] = {"t",     "--rate",    "{1,2}", "--x={3,4}",
                                 "{5,6}", "{lr=1..2}", "a{7,8}"};
    const char *const params[] = {"LR=0.1,0.2", "layers=2..4"};
    struct err e = {0};
    AUTO(space) struct space *s = space_of_command(words, 7, &e);
    AUTO(space) struct space *p = space_of_params(params, 2, &e);
    AUTO_CLEAR(space_trials) struct space_trials t = {0};

    CHECK(s && s->n == 5 && !strcmp(s->params[0].name, "rate") && !strcmp(s->params[1].name, "x") &&
              !strcmp(s->params[2].name, "arg1") && !strcmp(s->params[3].name, "lr"),
          "names of options, words and braces");
    CHECK(p && p->n == 2 && space_grid(p, &t, &e) == 0 && t.n == 6 &&
              !strcmp(t.rows[5][0], "0.2") && !strcmp(t.rows[5][1], "4"),
          "--param");
    const char *const bad[] = {"LR", "=1,2", "1x=2"};
    for (size_t i = 0; i < 3; i++) {
        AUTO(space) struct space *none = space_of_params(&bad[i], 1, &e);
        CHECK(!none && strstr(e.text, "is not NAME=VALUES"), "%s", e.text);
    }
}

static void check_long_list(void)
{
    AUTO_CLEAR(buf) struct buf b;
    struct err e = {0};

    buf_init(&b, 1 << 20);
    for (int i = 0; i < SPACE_TRIALS_MAX; i++)
        buf_printf(&b, "%s%d", i ? "," : "{", i);
    buf_puts(&b, "}");
    const char *const words[] = {"t", buf_str(&b)};
    AUTO(space) struct space *s = space_of_command(words, 2, &e);
    AUTO_CLEAR(space_trials) struct space_trials t = {0};
    CHECK(s && space_grid(s, &t, &e) == 0 && t.n == 10000 && !strcmp(t.rows[9999][0], "9999"),
          "a list of 10,000 values");
}

int main(void)
{
    check_grids();
    check_random();
    check_small_spaces();
    check_names();
    check_long_list();
    return TAP_DONE();
}
