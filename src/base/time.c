#include "base/time.h"

#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define MINUTE_S 60.0
#define HOUR_S 3600.0
#define DAY_S 86400.0

/* 0 when c is not a unit. */
static double unit_s(char c)
{
    return c == 's' ? 1 : c == 'm' ? MINUTE_S : c == 'h' ? HOUR_S : c == 'd' ? DAY_S : 0;
}

static int bad_duration(const char *text, struct err *e)
{
    return err_set(e, ERR_USAGE, "\"%s\" is not a duration; give 90s, 10m, 1.5h, 2d or 1h30m",
                   text);
}

int time_parse_duration(const char *text, double bare_unit_s, double *seconds_out, struct err *e)
{
    const char *p = text;
    double total = 0, last_unit = 0;

    do {
        double value;
        if (*p == '-' && p == text)
            return err_set(e, ERR_USAGE, "\"%s\": a duration cannot be negative", text);
        if (*p == '-' || *p == '+' || !number_prefix(p, &p, &value))
            return bad_duration(text, e);
        if (!*p && last_unit == 0) {
            total = value * bare_unit_s;
            break;
        }
        double unit = unit_s(*p++);
        if (unit == 0 ||
            (last_unit > 0 && unit >= last_unit)) /* "1h30m", never "30m1h" or "1h1h" */
            return bad_duration(text, e);
        total += value * unit;
        last_unit = unit;
    } while (*p);
    if (!isfinite(total))
        return bad_duration(text, e);
    *seconds_out = total;
    return 0;
}

const char *time_text(double seconds, char out[static 32])
{
    double tenths = floor(seconds * 10 + 0.5) / 10, whole = floor(seconds + 0.5);
    double minutes = floor(seconds / MINUTE_S + 0.5), hours = floor(seconds / HOUR_S + 0.5);

    if (isnan(seconds))
        snprintf(out, 32, "unknown");
    else if (seconds < 0 || seconds > 1e12)
        snprintf(out, 32, "%.3g s", seconds);
    else if (tenths < MINUTE_S)
        snprintf(out, 32, "%.1f s", tenths);
    else if (whole < HOUR_S)
        snprintf(out, 32, "%d m %02d s", (int)whole / 60, (int)whole % 60);
    else if (minutes < DAY_S / MINUTE_S)
        snprintf(out, 32, "%d h %02d m", (int)minutes / 60, (int)minutes % 60);
    else
        snprintf(out, 32, "%d d %d h", (int)(hours / 24), (int)fmod(hours, 24));
    return out;
}

const char *time_typed_text(double seconds, char out[static 32])
{
    /* Sums of times carry rounding errors far below a microsecond. */
    double whole = ceil(seconds - 1e-6), minutes = ceil((seconds - 1e-6) / MINUTE_S);
    int64_t big, small;

    if (whole < MINUTE_S || !(whole < 1e12)) {
        snprintf(out, 32, "%.0fs", whole);
        return out;
    }
    bool in_hours = whole >= HOUR_S;
    big = in_hours ? (int64_t)minutes / 60 : (int64_t)whole / 60;
    small = in_hours ? (int64_t)minutes % 60 : (int64_t)whole % 60;
    if (small)
        snprintf(out, 32, "%" PRId64 "%c%" PRId64 "%c", big, in_hours ? 'h' : 'm', small,
                 in_hours ? 'm' : 's');
    else
        snprintf(out, 32, "%" PRId64 "%c", big, in_hours ? 'h' : 'm');
    return out;
}

double time_monotonic_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int64_t time_monotonic_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + 1;
}

int64_t time_epoch_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

const char *time_iso(int64_t epoch_ms, char out[static 32])
{
    time_t seconds = (time_t)(epoch_ms / 1000) - (epoch_ms % 1000 < 0);
    struct tm utc;

    if (!gmtime_r(&seconds, &utc) || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        snprintf(out, 32, "unknown");
    return out;
}

const char *time_iso_ms(int64_t epoch_ms, char out[static 32])
{
    int ms = (int)(epoch_ms % 1000);
    char seconds[32];

    time_iso(epoch_ms, seconds);
    if (seconds[0] == 'u')
        snprintf(out, 32, "%s", seconds);
    else
        snprintf(out, 32, "%.*s.%03dZ", (int)strlen(seconds) - 1, seconds, ms < 0 ? ms + 1000 : ms);
    return out;
}

int64_t time_from_iso(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    double fraction = 0;

    if (end && *end == '.') {
        char *after = NULL;
        fraction = strtod(end, &after);
        end = after;
    }
    struct tm zone = {0};
    bool is_ahead = end && *end == '+';
    if (end && (*end == '+' || *end == '-'))
        end = strptime(end + 1, "%H:%M", &zone);
    else
        end = end && *end == 'Z' ? end + 1 : NULL;
    if (!end || *end || !(fraction >= 0 && fraction < 1))
        return 0;
    int64_t ahead_ms = (zone.tm_hour * 60 + zone.tm_min) * INT64_C(60000);
    return (int64_t)timegm(&tm) * 1000 + (int64_t)(fraction * 1000) +
           (is_ahead ? -ahead_ms : ahead_ms);
}

int64_t time_from_http(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);

    return end && !*end ? (int64_t)timegm(&tm) * 1000 : 0;
}

int64_t time_from_date(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%d", &tm);

    return end && !*end ? (int64_t)timegm(&tm) * 1000 : 0;
}
