#include "base/number.h"
#include "tap.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static void parse(void)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0},
        {"1", 1},
        {"-1.5", -1.5},
        {"+2", 2},
        {".5", 0.5},
        {"2.", 2},
        {"1e3", 1000},
        {"1E-2", 0.01},
        {"0.1", 0.1},
        {"000000000000000000000000000012", 12},
        {"123456789012345", 123456789012345},
        {"0.0000000000000000000000000001", 1e-28},
        {"9007199254740993", 9007199254740992},
        {"1.7976931348623157e308", DBL_MAX},
        {"4.9e-324", 4.9e-324},
        {"1e-999", 0},
        {"0.30000000000000004", 0.30000000000000004},
    };
    static const char *const bad[] = {"",    " 1",    "1 ",    "-",   ".",     "e5",
                                      "1e",  "1e+",   "0x10",  "inf", "nan",   "-inf",
                                      "1,5", "1.2.3", "1e999", "--1", "1_000", "NaN"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = -7;
        CHECK(number_parse(good[i].text, &value) && value == good[i].value, "%s is %.17g",
              good[i].text, good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = -7;
        CHECK(!number_parse(bad[i], &value) && value == -7, "\"%s\" is no number", bad[i]);
    }
}

/* The short cut must round exactly as strtod does. */
static void agrees_with_strtod(void)
{
    uint64_t state = 20261115;
    int wrong = 0;

    for (int i = 0; i < 50000; i++) {
        char text[64];
        double got, want;
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t digits = (state >> 20) % 1000000000000000u;
        int decimals = (int)((state >> 8) % 16);
        snprintf(text, sizeof text, "%s%.*f", state & 1 ? "-" : "", decimals,
                 (double)digits / pow(10, (double)(state >> 3 & 15)));
        want = strtod(text, NULL);
        wrong += !number_parse(text, &got) || memcmp(&got, &want, sizeof got) != 0;
    }
    CHECK(wrong == 0, "50000 random numbers read as strtod reads them (%d differ)", wrong);
}

static void prefix(void)
{
    const char *end;
    double value;

    CHECK(number_prefix("12.5h", &end, &value) && value == 12.5 && strcmp(end, "h") == 0,
          "a number in front of a unit");
    CHECK(number_prefix("3e", &end, &value) && value == 3 && strcmp(end, "e") == 0,
          "an e without digits is not the number's");
    CHECK(number_prefix("0x1p3", &end, &value) && value == 0 && strcmp(end, "x1p3") == 0,
          "hexadecimal ends after its zero");
    CHECK(!number_prefix("h", &end, &value), "no number, no prefix");
}

static void hex(void)
{
    CHECK(number_hex('0') == 0 && number_hex('9') == 9 && number_hex('a') == 10 &&
              number_hex('F') == 15,
          "hexadecimal digits");
    CHECK(number_hex('g') == -1 && number_hex('/') == -1 && number_hex(':') == -1 &&
              number_hex('@') == -1 && number_hex('`') == -1 && number_hex('\0') == -1,
          "their neighbours are none");
}

static void percents(void)
{
    double share = -1;

    CHECK(number_percent("1%", &share) && share == 0.01, "1%%");
    CHECK(number_percent("66.2", &share) && fabs(share - 0.662) < 1e-15, "without the sign");
    CHECK(number_percent("-5%", &share) && share == -0.05, "negative: the caller's business");
    CHECK(!number_percent("", &share) && !number_percent("%", &share) &&
              !number_percent("1%%", &share) && !number_percent("1 %", &share) &&
              !number_percent("one", &share),
          "what is none");
}

int main(void)
{
    hex();
    parse();
    agrees_with_strtod();
    prefix();
    percents();
    return TAP_DONE();
}
