#include "base/time.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static void durations(void)
{
    static const struct {
        const char *text;
        double bare_unit_s, seconds;
    } good[] = {
        {"90s", 1, 90},         {"10m", 1, 600},   {"3h", 1, 10800},
        {"2d", 1, 172800},      {"1.5h", 1, 5400}, {"1h30m", 1, 5400},
        {"1d2h3m4s", 1, 93784}, {"45", 1, 45},     {"2", 86400, 172800},
        {"0.5", 86400, 43200},  {"0", 1, 0},       {"1e3", 1, 1000},
        {"3h", 86400, 10800},
    };
    static const char *const bad[] = {
        "",     "-5",  "-1h", "abc",   "h",    "5x", "5 m", " 5m",   "1h30",  "30m1h",
        "1h1h", "nan", "inf", "1e999", "0x10", "+5", "5m ", "1h-5m", "1..5h", "1e308d",
    };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct err e = {0};
        double seconds = -1;
        int result = time_parse_duration(good[i].text, good[i].bare_unit_s, &seconds, &e);
        CHECK(result == 0 && fabs(seconds - good[i].seconds) < 1e-9, "\"%s\" is %g s", good[i].text,
              good[i].seconds);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        double seconds = -1;
        int result = time_parse_duration(bad[i], 1, &seconds, &e);
        CHECK(result == -1 && e.kind == ERR_USAGE && seconds == -1 && strstr(e.text, bad[i]),
              "\"%s\" is refused and quoted", bad[i]);
    }
}

static void texts(void)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {
        {0, "0.0 s"},       {1.2, "1.2 s"},        {59.94, "59.9 s"},       {59.96, "1 m 00 s"},
        {245, "4 m 05 s"},  {3599.4, "59 m 59 s"}, {3599.6, "1 h 00 m"},    {12000, "3 h 20 m"},
        {86399, "1 d 0 h"}, {187200, "2 d 4 h"},   {31536000, "365 d 0 h"},
    };
    char out[32];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(strcmp(time_text(cases[i].seconds, out), cases[i].text) == 0, "%g s reads %s, got %s",
              cases[i].seconds, cases[i].text, out);
    CHECK(!strcmp(time_typed_text(42.2, out), "43s") &&
              !strcmp(time_typed_text(2530, out), "42m10s"),
          "typed: seconds, rounded up");
    CHECK(!strcmp(time_typed_text(8941, out), "2h30m") &&
              !strcmp(time_typed_text(104400, out), "29h") &&
              !strcmp(time_typed_text(3600, out), "1h"),
          "typed: from an hour on minutes");
    CHECK(strcmp(time_text((double)NAN, out), "unknown") == 0, "NaN is unknown");
    CHECK(strlen(time_text(1e300, out)) < 32, "absurd times fit");
}

static void clocks(void)
{
    char out[32];
    double before = time_monotonic_s();

    CHECK(time_monotonic_s() >= before, "the monotonic clock does not go back");
    CHECK(time_epoch_ms() > 1577836800000, "it is later than 2020");
    CHECK(strcmp(time_iso(1794782160000, out), "2026-11-15T22:36:00Z") == 0, "a date in UTC: %s",
          out);
    CHECK(strcmp(time_iso(0, out), "1970-01-01T00:00:00Z") == 0, "the epoch");
    CHECK(strcmp(time_iso(-1, out), "1969-12-31T23:59:59Z") == 0, "a millisecond before it");
    CHECK(strcmp(time_iso(951782400000, out), "2000-02-29T00:00:00Z") == 0, "a leap day");
    CHECK(strcmp(time_iso(INT64_MAX, out), "292278994-08-17T07:12:55Z") == 0,
          "the last millisecond there is: %s", out);
    CHECK(strcmp(time_iso_ms(1794782160250, out), "2026-11-15T22:36:00.250Z") == 0, "%s", out);
    CHECK(strcmp(time_iso_ms(-1, out), "1969-12-31T23:59:59.999Z") == 0,
          "milliseconds count upward before the epoch too");
    CHECK(time_from_iso("2026-11-15T22:36:00Z") == 1794782160000 &&
              time_from_iso("2026-11-15T22:36:00.250Z") == 1794782160250,
          "the other way");
    CHECK(time_from_iso("2026-11-15T14:36:00.250-08:00") == 1794782160250 &&
              time_from_iso("2026-11-16T04:06:00+05:30") == 1794782160000,
          "in other time zones");
    CHECK(!time_from_iso("2026-11-15T22:36:00") && !time_from_iso("2026-11-15T22:36:00+") &&
              !time_from_iso("2026-11-15T22:36:00-8") && !time_from_iso("2026-11-15T22:36:00ZZ") &&
              !time_from_iso("2026-11-15T22:36:00-08:00x") && !time_from_iso(""),
          "what is no time");
    /* 20,772 days after 1970-01-01. */
    CHECK(time_from_date("2026-11-15") == 1794700800000, "the begin of a day");
    CHECK(!time_from_date("2026-11-15T00:00:00Z") && !time_from_date("2026-13-01") &&
              !time_from_date("soon") && !time_from_date(""),
          "what is no date");
}

int main(void)
{
    durations();
    texts();
    clocks();
    return TAP_DONE();
}
