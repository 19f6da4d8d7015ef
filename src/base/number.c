#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below 2^53 a mantissa is exact, and so are powers of ten up to 22: their product or quotient
 * is rounded once, hence correctly. Longer numbers are left to strtod, which is slower. */
#define MANTISSA_DIGITS_EXACT 15
#define POWER_MAX_EXACT 22

static const double powers_of_ten[POWER_MAX_EXACT + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

struct digits {
    uint64_t mantissa; /* meaningless once significant > MANTISSA_DIGITS_EXACT */
    int significant;
    int fraction; /* digits after the point */
    bool any;
};

static const char *scan_digits(const char *p, struct digits *d, bool fraction)
{
    for (; is_digit(*p); p++) {
        d->any = true;
        if (d->significant || *p != '0')
            d->significant += d->significant <= MANTISSA_DIGITS_EXACT;
        if (d->significant <= MANTISSA_DIGITS_EXACT)
            d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
        if (fraction)
            d->fraction += d->fraction <= POWER_MAX_EXACT;
    }
    return p;
}

bool number_prefix(const char *text, const char **end_out, double *out)
{
    struct digits d = {0};
    bool negative = *text == '-';
    const char *p = scan_digits(text + (*text == '-' || *text == '+'), &d, false);

    if (*p == '.')
        p = scan_digits(p + 1, &d, true);
    if (!d.any)
        return false;
    bool exponent = (*p == 'e' || *p == 'E') && is_digit(p[1 + (p[1] == '-' || p[1] == '+')]);
    if (exponent || d.significant > MANTISSA_DIGITS_EXACT || d.fraction > POWER_MAX_EXACT) {
        char *end;
        *out = strtod(text, &end);
        *end_out = end;
        return isfinite(*out);
    }
    double value = (double)d.mantissa / powers_of_ten[d.fraction];
    *out = negative ? -value : value;
    *end_out = p;
    return true;
}

bool number_percent(const char *text, double *out)
{
    const char *end;
    double percent;

    if (!number_prefix(text, &end, &percent) || (*end && strcmp(end, "%") != 0))
        return false;
    *out = percent / 100;
    return true;
}

bool number_parse(const char *text, double *out)
{
    const char *end;
    double value;

    if (!number_prefix(text, &end, &value) || *end)
        return false;
    *out = value;
    return true;
}

int number_digits(double v)
{
    char text[40];
    int digits = DBL_DIG;

    for (; digits < DBL_DECIMAL_DIG; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (memcmp(&v, &(double){strtod(text, NULL)}, sizeof v) == 0)
            break;
    }
    return digits;
}

int number_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

const char *number_text(int64_t v, char out[static 24])
{
    uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;
    char *at = out + 23;

    *at = 0;
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (v < 0)
        *--at = '-';
    return at;
}

int number_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

size_t number_sort_unique(double *numbers, size_t n)
{
    size_t kept = 0;

    if (n)
        qsort(numbers, n, sizeof *numbers, number_compare);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || numbers[i] > numbers[kept - 1])
            numbers[kept++] = numbers[i];
    return kept;
}
