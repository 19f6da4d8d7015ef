/* What keys and values mean. */
#include "lake/meta/meta.h"
#include "lake/meta/meta_value.h"

#include "tap.h"

#include <string.h>

static void test_kinds(void)
{
    static const struct {
        const char *text;
        enum lake_value_kind kind;
        double number;
    } cases[] = {
        {"0", LAKE_VALUE_NUMBER, 0},
        {"-0", LAKE_VALUE_NUMBER, 0},
        {"+5", LAKE_VALUE_NUMBER, 5},
        {"-1.5e3", LAKE_VALUE_NUMBER, -1500},
        {".5", LAKE_VALUE_NUMBER, 0.5},
        {"1e308", LAKE_VALUE_NUMBER, 1e308},
        {"1e309", LAKE_VALUE_TEXT, 0},
        {"nan", LAKE_VALUE_TEXT, 0},
        {"inf", LAKE_VALUE_TEXT, 0},
        {"0x10", LAKE_VALUE_TEXT, 0},
        {" 1", LAKE_VALUE_TEXT, 0},
        {"1 ", LAKE_VALUE_TEXT, 0},
        {"1,5", LAKE_VALUE_TEXT, 0},
        {"", LAKE_VALUE_TEXT, 0},
        {"1970-01-01", LAKE_VALUE_TIME, 0},
        {"1970-01-02 00:00", LAKE_VALUE_TIME, 86400000},
        {"1969-12-31T23:59:59Z", LAKE_VALUE_TIME, -1000},
        {"1970-01-01T01:00:00+01:00", LAKE_VALUE_TIME, 0},
        {"1970-01-01T01:00:00.25-0130", LAKE_VALUE_TIME, 9000250},
        {"1970-01-01T01+01", LAKE_VALUE_TEXT, 0},
        {"1970-01-01T01:00+01", LAKE_VALUE_TIME, 0},
        {"1970-01-01T00:00:00.123456789Z", LAKE_VALUE_TIME, 123},
        /* date -u -d 2026-11-15T22:36:00Z +%s */
        {"2026-11-15T22:36:00Z", LAKE_VALUE_TIME, 1794782160000},
        {"2024-02-29", LAKE_VALUE_TIME, 1709164800000},
        {"2023-02-29", LAKE_VALUE_TEXT, 0},
        {"2026-13-01", LAKE_VALUE_TEXT, 0},
        {"2026-11-00", LAKE_VALUE_TEXT, 0},
        {"2026-11-15T24:00", LAKE_VALUE_TEXT, 0},
        {"2026-11-15T10:60", LAKE_VALUE_TEXT, 0},
        {"2026-11-15T10:30:", LAKE_VALUE_TEXT, 0},
        {"2026-11-15T10:30:00.", LAKE_VALUE_TEXT, 0},
        {"2026-11-15T10:30:00+1", LAKE_VALUE_TEXT, 0},
        {"2026-11-15T10:30:00Zx", LAKE_VALUE_TEXT, 0},
        {"2026-11-15Z", LAKE_VALUE_TEXT, 0},
        {"2026-11", LAKE_VALUE_TEXT, 0},
        {"BERT", LAKE_VALUE_TEXT, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double number;
        enum lake_value_kind kind = meta_value_kind(cases[i].text, &number);
        CHECK(kind == cases[i].kind && number == cases[i].number, "\"%s\": kind %d, compares as %g",
              cases[i].text, kind, number);
    }
}

static void test_intervals(void)
{
    static const struct {
        const char *text;
        int64_t length_ms;
    } cases[] = {
        {"2026-11-15", 86400000},          {"2026-11-15T10:30", 60000},
        {"2026-11-15 10:30:05Z", 1000},    {"2026-11-15T10:30:05.1Z", 100},
        {"2026-11-15T10:30:05.12+02", 10}, {"2026-11-15T10:30:05.123", 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct meta_time t = {0};
        CHECK(meta_time_parse(cases[i].text, &t) && t.until_ms - t.from_ms == cases[i].length_ms,
              "%s lasts %lld ms", cases[i].text, (long long)cases[i].length_ms);
    }
}

static void test_pairs(void)
{
    struct meta_pair p;
    struct err e = {0};

    CHECK(meta_pair_split("a=b=c", &p, &e) == 0 && strcmp(p.key, "a") == 0 &&
              strcmp(p.value, "b=c") == 0,
          "the first = counts");
    CHECK(meta_pair_split("golden", &p, &e) == 0 && p.kind == LAKE_VALUE_NONE && !p.value,
          "a tag without a value");
    CHECK(meta_pair_split("k=", &p, &e) == 0 && p.kind == LAKE_VALUE_TEXT && !*p.value,
          "an empty value is text");
    CHECK(meta_pair_split("_a/b.c-D9=x", &p, &e) == 0, "all that a key may hold");
    CHECK(meta_pair_split("k=\xc3\xa4\n\xf0\x9f\x98\x80", &p, &e) == 0, "unicode and lines");

    static const char *const bad[] = {
        "",        "=v",       "1a=v",        "-a=v",   "a b=v",       "k\xc3\xa4=v",
        "a'=v",    "a;--=v",   "kind=set",    "path=x", "create_time", "exit_code=0",
        "size=10", "k=\x01",   "k=\xff\xfe",  "name=n", "runtime_s=1", "cost_usd=1",
        "version", "creator=", "k=a\x1b[31m", "k=\x7f",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        e = (struct err){0};
        CHECK(meta_pair_split(bad[i], &p, &e) < 0 && e.kind == ERR_USAGE && *e.text,
              "refused, number %zu: %s", i, e.text);
    }
}

static void test_lengths(void)
{
    static char pair[LAKE_KEY_MAX + LAKE_VALUE_MAX + 16];
    struct meta_pair p;
    struct err e = {0};

    memset(pair, 'k', LAKE_KEY_MAX);
    CHECK(meta_pair_split(pair, &p, &e) == 0, "the longest key");
    pair[LAKE_KEY_MAX] = 'k';
    CHECK(meta_pair_split(pair, &p, &e) < 0 && e.kind == ERR_USAGE, "one byte more");
    memset(pair, 'v', sizeof pair - 1);
    pair[1] = '=';
    pair[2 + LAKE_VALUE_MAX] = 0;
    CHECK(meta_pair_split(pair, &p, &e) == 0, "the longest value");
    pair[2 + LAKE_VALUE_MAX] = 'v';
    pair[3 + LAKE_VALUE_MAX] = 0;
    CHECK(meta_pair_split(pair, &p, &e) < 0 && e.kind == ERR_USAGE, "one byte more");
}

int main(void)
{
    test_kinds();
    test_intervals();
    test_pairs();
    test_lengths();
    return TAP_DONE();
}
