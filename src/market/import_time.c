/* Times in the notations of histories. The readers of the formats call it. */
#include "market/internal.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Days since 1970 of a date that exists between 1970 and 2200. */
static bool days_since_1970(unsigned year, unsigned month, unsigned day, double *out)
{
    static const unsigned before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    static const unsigned lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    if (year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1 ||
        day > lengths[month - 1] + (leap && month == 2))
        return false;
    unsigned years = year - 1;
    unsigned leaps = years / 4 - years / 100 + years / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    *out =
        (double)((year - 1970) * 365 + leaps + before[month - 1] + (leap && month > 2) + day - 1);
    return true;
}

/* Exactly so many digits; false when there are other characters. */
static bool digits(const char **text, size_t n, unsigned *out)
{
    unsigned value = 0;

    for (size_t i = 0; i < n; i++) {
        if ((*text)[i] < '0' || (*text)[i] > '9')
            return false;
        value = value * 10 + (unsigned)((*text)[i] - '0');
    }
    *text += n;
    *out = value;
    return true;
}

static bool skip(const char **text, char c)
{
    if (**text != c)
        return false;
    ++*text;
    return true;
}

/* "22:06", "22:06:16", "22:06:16.25": parts of a second do not count. */
static bool clock_time(const char **p, double *seconds)
{
    unsigned hour, minute, second = 0;

    if (!digits(p, 2, &hour) || !skip(p, ':') || !digits(p, 2, &minute))
        return false;
    if (skip(p, ':') && !digits(p, 2, &second))
        return false;
    if (skip(p, '.')) {
        if (!isdigit((unsigned char)**p))
            return false;
        while (isdigit((unsigned char)**p))
            ++*p;
    }
    *seconds = hour * 3600.0 + minute * 60.0 + second;
    return hour < 24 && minute < 60 && second < 60;
}

enum zone { ZONE_UTC, ZONE_NONE, ZONE_OTHER, ZONE_BAD };

/* "Z", "+00:00", "+0530", "-08", or nothing. */
static enum zone zone_of(const char *p, double *offset_s)
{
    unsigned hours, minutes = 0;
    double sign = *p == '-' ? -1 : 1;

    *offset_s = 0;
    if (!*p)
        return ZONE_NONE;
    if (strcmp(p, "Z") == 0 || strcmp(p, "z") == 0 || strcmp(p, " UTC") == 0)
        return ZONE_UTC;
    if (*p != '+' && *p != '-')
        return ZONE_BAD;
    p++;
    if (!digits(&p, 2, &hours))
        return ZONE_BAD;
    skip(&p, ':');
    if ((*p && !digits(&p, 2, &minutes)) || *p || hours > 14 || minutes > 59)
        return ZONE_BAD;
    *offset_s = sign * (hours * 3600.0 + minutes * 60.0);
    return hours || minutes ? ZONE_OTHER : ZONE_UTC;
}

static bool parse(const char *p, double *out, enum zone *zone)
{
    unsigned year, month, day;
    double days, seconds = 0, offset_s = 0;

    if (!digits(&p, 4, &year) || !skip(&p, '-') || !digits(&p, 2, &month) || !skip(&p, '-') ||
        !digits(&p, 2, &day) || !days_since_1970(year, month, day, &days))
        return false;
    *zone = ZONE_UTC; /* a day is a day */
    if (*p) {
        if ((!skip(&p, 'T') && !skip(&p, ' ')) || !clock_time(&p, &seconds))
            return false;
        *zone = zone_of(p, &offset_s);
    }
    *out = days * DAY_S + seconds - offset_s;
    return *zone != ZONE_BAD;
}

bool import_us_date(const char *text, double *out_s)
{
    unsigned month, day, year;
    double days;

    /* One digit or two: the separator tells. */
    if (!digits(&text, text[0] && text[1] == '/' ? 1 : 2, &month) || !skip(&text, '/') ||
        !digits(&text, text[0] && text[1] == '/' ? 1 : 2, &day) || !skip(&text, '/') ||
        !digits(&text, 4, &year) || *text || !days_since_1970(year, month, day, &days))
        return false;
    *out_s = days * DAY_S;
    return true;
}

bool market_parse_time(const char *text, double *out_s)
{
    enum zone zone;

    return parse(text, out_s, &zone);
}

bool import_parse_time(struct import_at *at, const char *text, double *out)
{
    enum zone zone;

    if (!parse(text, out, &zone))
        return import_drop(at, MARKET_DROP_TIME,
                           "\"%.40s\" is not a time like 2020-02-20T22:06:16Z", text);
    at->report->notes[MARKET_NOTE_ZONE] += zone == ZONE_OTHER;
    at->report->notes[MARKET_NOTE_NO_ZONE] += zone == ZONE_NONE;
    return true;
}
