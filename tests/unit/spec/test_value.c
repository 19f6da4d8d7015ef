#include "spec/value.h"

#include "load.h"

static void sizes(void)
{
    static const struct {
        const char *text;
        double gb; /* negative: refused */
    } cases[] = {
        {"12", 12},
        {"0", 0},
        {"0.5", 0.5},
        {"500MB", 0.5},
        {"2TB", 2000},
        {"10GB", 10},
        {"10 GB", 10},
        {"10gb", 10},
        {"1K", 1e-6},
        {"1000000000", 1e9},
        {"1GiB", 1.073741824},
        {"1e3", 1000},
        {"-1", -1},
        {"", -1},
        {"x", -1},
        {"GB", -1},
        {"10XB", -1},
        {"10  GB", -1},
        {"10GBx", -1},
        {"nan", -1},
        {"inf", -1},
        {"0x10", -1},
        {"1e10", -1},
        {"2000000TB", -1},
        {" 1", -1},
        {"1 ", -1},
        {".nan", -1},
        {"1,5", -1},
        {"1e999", -1},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        double gb = -1;
        bool good = value_size_gb(cases[i].text, &gb);
        CHECK(good == (cases[i].gb >= 0) && near(gb, cases[i].gb), "size \"%s\"", cases[i].text);
    }
}

static void factors(void)
{
    double x = 0;

    CHECK(value_factor("9x", &x) && x == 9, "9x");
    CHECK(value_factor("0.5X", &x) && x == 0.5, "0.5X");
    CHECK(!value_factor("9", &x) && !value_factor("x", &x) && !value_factor("9xx", &x) &&
              !value_factor("-1x", &x) && !value_factor("9 x", &x),
          "what is no factor");
}

static void ranges(void)
{
    static const struct {
        const char *text;
        bool sizes, good;
        double min, max;
    } cases[] = {
        {"4", false, true, 4, 4},
        {"4+", false, true, 4, (double)INFINITY},
        {"4-8", false, true, 4, 8},
        {"0.5", false, true, 0.5, 0.5},
        {"4-4", false, true, 4, 4},
        {"16GB", true, true, 16, 16},
        {"16GB+", true, true, 16, (double)INFINITY},
        {"16GiB", true, true, 16, 16},
        {"512MiB-2gib", true, true, 0.5, 2},
        {"512MB-2GB", true, true, 0.512, 2},
        {"16-32", true, true, 16, 32},
        {"8-4", false, false, 0, 0},
        {"8x", false, false, 0, 0},
        {"0", false, false, 0, 0},
        {"-4", false, false, 0, 0},
        {"+", false, false, 0, 0},
        {"", false, false, 0, 0},
        {"4-", false, false, 0, 0},
        {"4++", false, false, 0, 0},
        {"+4", false, false, 0, 0},
        {"16GB", false, false, 0, 0},
        {"1000", false, false, 0, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct spec_range r = {0, 0};
        bool good = value_range(cases[i].text, cases[i].sizes, 999, &r);
        CHECK(good == cases[i].good && r.min == cases[i].min && r.max == cases[i].max,
              "range \"%s\"%s", cases[i].text, cases[i].sizes ? " of sizes" : "");
    }
}

static void words(void)
{
    static const char *const truths[] = {"true", "True", "TRUE", "yes", "on", "y", "Y", "On"};
    static const char *const lies[] = {"false", "No", "OFF", "n"};
    static const char *const neither[] = {"", "1", "0", "maybe", "tru", "yes ", "null"};
    bool b;
    double usd;

    for (size_t i = 0; i < COUNT(truths); i++)
        CHECK(value_bool(truths[i], &b) && b, "%s is true", truths[i]);
    for (size_t i = 0; i < COUNT(lies); i++)
        CHECK(value_bool(lies[i], &b) && !b, "%s is false", lies[i]);
    for (size_t i = 0; i < COUNT(neither); i++)
        CHECK(!value_bool(neither[i], &b), "\"%s\" is neither", neither[i]);
    CHECK(value_usd("12.5", &usd) && usd == 12.5, "12.5 dollars");
    CHECK(value_usd("$12", &usd) && usd == 12, "$12");
    CHECK(!value_usd("-1", &usd) && !value_usd("$", &usd) && !value_usd("12 USD", &usd) &&
              !value_usd("$$1", &usd) && !value_usd("nan", &usd),
          "what is no amount");
}

int main(void)
{
    sizes();
    factors();
    ranges();
    words();
    return TAP_DONE();
}
