/* Expressions: what they mean, and where they are wrong. */
#include "lake/find/find_parse.h"
#include "lake/find/find_pattern.h"
#include "lake/meta/meta.h"

#include "base/mem.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* "[0.5,1)" style: bounds of the condition as text. */
static char *bounds(const struct find_condition *c)
{
    char low[64] = "-", high[64] = "-";
    bool text = c->kind == LAKE_VALUE_TEXT;

    if (c->low.given)
        snprintf(low, sizeof low, text ? "%s" : "%.0s%.17g", text ? c->low.text : "",
                 c->low.number);
    if (c->high.given)
        snprintf(high, sizeof high, text ? "%s" : "%.0s%.17g", text ? c->high.text : "",
                 c->high.number);
    return mem_printf("%s %d %d %c%s,%s%c", c->key, c->op, c->kind, c->low.open ? '(' : '[', low,
                      high, c->high.open ? ')' : ']');
}

#define N LAKE_VALUE_NUMBER
#define T LAKE_VALUE_TIME
#define X LAKE_VALUE_TEXT

static void test_meanings(void)
{
    /* 2026-11-15T00:00Z and the next day, in ms: date -u +%s */
    static const struct {
        const char *text;
        const char *key;
        enum find_op op;
        enum lake_value_kind kind;
        const char *bounds;
    } cases[] = {
        {"k=1", "k", FIND_WITHIN, N, "[1,1]"},
        {"k==1.0", "k", FIND_WITHIN, N, "[1,1]"},
        {"k=-0", "k", FIND_WITHIN, N, "[0,0]"},
        {"k!=-2.5", "k", FIND_OUTSIDE, N, "[-2.5,-2.5]"},
        {"k<1", "k", FIND_WITHIN, N, "[-,1)"},
        {"k<=1", "k", FIND_WITHIN, N, "[-,1]"},
        {"k>1", "k", FIND_WITHIN, N, "(1,-]"},
        {"k>=1", "k", FIND_WITHIN, N, "[1,-]"},
        {"k=-1..2.5", "k", FIND_WITHIN, N, "[-1,2.5]"},
        {"k!=1..2", "k", FIND_OUTSIDE, N, "[1,2]"},
        {"k = 1", "k", FIND_WITHIN, N, "[1,1]"},
        {"k=BERT", "k", FIND_WITHIN, X, "[BERT,BERT]"},
        {"k=\"1\"", "k", FIND_WITHIN, X, "[1,1]"},
        {"k='a b'", "k", FIND_WITHIN, X, "[a b,a b]"},
        {"k='it''s'", "k", FIND_WITHIN, X, "[it's,it's]"},
        {"k=\"a\"\"b\"", "k", FIND_WITHIN, X, "[a\"b,a\"b]"},
        {"k=o'neil", "k", FIND_WITHIN, X, "[o'neil,o'neil]"},
        {"k=\"\"", "k", FIND_WITHIN, X, "[,]"},
        {"k=\"a..b\"", "k", FIND_WITHIN, X, "[a..b,a..b]"},
        {"k=a..b", "k", FIND_WITHIN, X, "[a,b]"},
        {"k=x=y", "k", FIND_WITHIN, X, "[x=y,x=y]"},
        {"k>b", "k", FIND_WITHIN, X, "(b,-]"},
        {"k<'>0'", "k", FIND_WITHIN, X, "[-,>0)"},
        {"k='2026-13-45'", "k", FIND_WITHIN, X, "[2026-13-45,2026-13-45]"},
        {"k=2026-11-15-run", "k", FIND_WITHIN, X, "[2026-11-15-run,2026-11-15-run]"},
        {"k=2026-11-15Tx", "k", FIND_WITHIN, X, "[2026-11-15Tx,2026-11-15Tx]"},
        {"k=12026-11-15", "k", FIND_WITHIN, X, "[12026-11-15,12026-11-15]"},
        {"t=2028-02-29", "t", FIND_WITHIN, T, "[1835395200000,1835481600000)"},
        {"t=2026-11-15", "t", FIND_WITHIN, T, "[1794700800000,1794787200000)"},
        {"t>2026-11-15", "t", FIND_WITHIN, T, "[1794787200000,-]"},
        {"t>=2026-11-15", "t", FIND_WITHIN, T, "[1794700800000,-]"},
        {"t<2026-11-15", "t", FIND_WITHIN, T, "[-,1794700800000)"},
        {"t<=2026-11-15", "t", FIND_WITHIN, T, "[-,1794787200000)"},
        {"t=2026-11-15..2026-11-15", "t", FIND_WITHIN, T, "[1794700800000,1794787200000)"},
        {"create_time>='2026-11-15 00:00'", "create_time", FIND_WITHIN, T, "[1794700800000,-]"},
        {"size>10MB", "size", FIND_WITHIN, N, "(10000000,-]"},
        {"size=1.5kib", "size", FIND_WITHIN, N, "[1536,1536]"},
        {"size<\"2 B\"", NULL, FIND_WITHIN, N, ""},
        {"model=10MB", "model", FIND_WITHIN, X, "[10MB,10MB]"},
        {"creator=007", "creator", FIND_WITHIN, X, "[007,007]"},
        {"name>5", "name", FIND_WITHIN, X, "(5,-]"},
        {"k", "k", FIND_EXISTS, LAKE_VALUE_NONE, "[-,-]"},
        {"!k", "k", FIND_MISSING, LAKE_VALUE_NONE, "[-,-]"},
        {"and=1", "and", FIND_WITHIN, N, "[1,1]"},
        {"a/b.c-d_9=1", "a/b.c-d_9", FIND_WITHIN, N, "[1,1]"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(find_expression) struct find_expression x = {0};
        struct err e = {0};
        if (!cases[i].key) {
            CHECK(find_parse(cases[i].text, &x, &e) < 0 && e.kind == ERR_USAGE, "%s: %s",
                  cases[i].text, e.text);
            continue;
        }
        AUTO_MEM char *want =
            mem_printf("%s %d %d %s", cases[i].key, cases[i].op, cases[i].kind, cases[i].bounds);
        AUTO_MEM char *got = find_parse(cases[i].text, &x, &e) == 0 && x.n == 1
                                 ? bounds(&x.conditions[0])
                                 : mem_dup(e.text);
        CHECK(strcmp(got, want) == 0, "%s: %s", cases[i].text, got);
    }
}

static void test_joining(void)
{
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {
        {"", 0},
        {" \t\n", 0},
        {"kind=set creator=john create_time>=2026-11-15 model=BERT precision>0.5", 5},
        {"a AND b", 2},
        {"a and !b And c=1 anD d", 4},
        {"a !b", 2},
        {"a != b", 1},
        {"a>1 AND a<2 AND a!=1.5", 3},
        {"and > 1 and a", 2},
        {"android ANDROID", 2},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(find_expression) struct find_expression x = {0};
        struct err e = {0};
        CHECK(find_parse(cases[i].text, &x, &e) == 0 && x.n == cases[i].n,
              "case %zu: %zu conditions %s", i, x.n, e.text);
    }
}

static void test_mistakes(void)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"=1", "column 1,"},
        {"k=", "at the end of the expression (column 3)"},
        {"k= m=1", "column 4,"},
        {"kind=set 5=a", "column 10,"},
        {"k=\"a", "column 3, at \"\"a\": the quote has no end"},
        {"k='a'b", "column 6,"},
        {"k=1..", "a range needs two ends"},
        {"k=..1", "a range needs two ends"},
        {"k=2..1", "the range is empty"},
        {"k=1..b", "both be numbers, times or text"},
        {"k>1..2", "a range needs ="},
        {"size>big", "size is a number"},
        {"size>5XB", "size is a number"},
        {"version=latest", "version is a number"},
        {"create_time>yesterday", "create_time is a time"},
        {"create_time~2026", "~ is for text"},
        {"kind=sets", "did you mean set?"},
        {"kind=zebra", "kind is file, path, set or job"},
        {"v<>0", "column 3, at \">0\": unknown operator"},
        {"v=>0", "column 3,"},
        {"v=<0", "column 3,"},
        {"v=~a", "column 3,"},
        {"v===1", "column 4,"},
        {"v = !a", "column 5,"},
        {"path=~^/d", "column 6,"},
        {"t>2026-13-45", "column 3, at \"2026-13-45\": this is not a time"},
        {"t=2026-02-29", "this is not a time"},
        {"t=2026-1-5", "this is not a time"},
        {"t=2026-11-15T25:00", "this is not a time"},
        {"t=2026-11-15..2026-11-31", "column 15,"},
        {"a AND", "AND must be between"},
        {"AND a", "AND must be between"},
        {"a AND AND b", "column 7,"},
        {"a OR b", "join conditions with one AND"},
        {"not a", "join conditions with one AND"},
        {"a && b", "column 3,"},
        {"(a)", "column 1,"},
        {"a,b", "column 2,"},
        {"! a", "column 2,"},
        {"\xc3\xa4\xc3\xb6=1", "column 1,"},
        {"k=\xc3\xa4\xc3\xb6 ?", "column 6,"},
        {"k~((", "Unmatched"},
        {"k~[a", "column 3,"},
        {"k~(a)\\1", "not supported"},
        {"k=\xff", "not clean UTF-8"},
        {"k~((a{99}){99}){99}", "repeats too much"},
        {"k~^k********************************************************************4", "repeats"},
        {"k~^k*+++++++++kin", "repeats too much"},
        {"k~((((((((k+)+)+)+)+)+)+)+", "repeats too much"},
        {"k~(((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", "repeats too much"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(find_expression) struct find_expression x = {0};
        struct err e = {0};
        CHECK(find_parse(cases[i].text, &x, &e) < 0 && e.kind == ERR_USAGE &&
                  strstr(e.text, cases[i].part),
              "%s", e.text);
    }
}

static bool refused(const char *text)
{
    AUTO_CLEAR(find_expression) struct find_expression x = {0};
    struct err e = {0};

    return find_parse(text, &x, &e) < 0 && e.kind == ERR_USAGE;
}

static void test_limits(void)
{
    AUTO_MEM char *text = mem_zero(FIND_EXPRESSION_MAX + 2, 1);

    memset(text, ' ', FIND_EXPRESSION_MAX + 1);
    CHECK(refused(text), "an expression that is too long");
    for (size_t i = 0; i <= FIND_CONDITIONS_MAX; i++)
        text[2 * i] = 'k';
    text[2 * FIND_CONDITIONS_MAX] = 0;
    CHECK(!refused(text), "as many conditions as may be");
    text[2 * FIND_CONDITIONS_MAX] = 'k';
    text[2 * FIND_CONDITIONS_MAX + 1] = 0;
    CHECK(refused(text), "one more");
    memset(text, 'k', LAKE_KEY_MAX);
    text[LAKE_KEY_MAX] = 0;
    CHECK(!refused(text), "the longest key");
    text[LAKE_KEY_MAX] = 'k';
    text[LAKE_KEY_MAX + 1] = 0;
    CHECK(refused(text), "one byte more");
    memset(text, 'a', FIND_PATTERN_MAX + 3);
    text[1] = '~';
    text[FIND_PATTERN_MAX + 2] = 0;
    CHECK(!refused(text), "the longest pattern");
    text[FIND_PATTERN_MAX + 2] = 'a';
    text[FIND_PATTERN_MAX + 3] = 0;
    CHECK(refused(text), "one byte more");
    /* Each quoted value is copied: many of them must still fit. */
    memset(text, ' ', FIND_EXPRESSION_MAX);
    for (size_t i = 0; i < FIND_CONDITIONS_MAX; i++)
        memcpy(text + 100 * i, "k=\"a\"", 5);
    text[FIND_EXPRESSION_MAX] = 0;
    CHECK(!refused(text), "quoted values at the begin of a long expression");
}

static void test_prefixes(void)
{
    static const struct {
        const char *pattern, *prefix;
    } cases[] = {
        {"^/data/", "/data/"}, {"^/data/.*x", "/data/"}, {"^ab*", "a"},   {"^ab?c", "a"},
        {"^ab{2}", "a"},       {"^ab+c", "a"},           {"^a|b", ""},    {"/data/", ""},
        {"^(ab)", ""},         {"^a\\.b", "a"},          {"^ab$", "ab"},  {"^", ""},
        {"^[a]b", ""},         {"^a\xc3\xa4", "a"},      {"^(a|b)c", ""}, {"^\xc3\xa4", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char prefix[FIND_PATTERN_MAX + 1];
        CHECK(strcmp(find_pattern_prefix(cases[i].pattern, prefix), cases[i].prefix) == 0,
              "%s begins with \"%s\"", cases[i].pattern, prefix);
    }
}

int main(void)
{
    test_meanings();
    test_joining();
    test_mistakes();
    test_limits();
    test_prefixes();
    return TAP_DONE();
}
