#include "spec/value.h"

#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

bool value_bool(const char *text, bool *out)
{
    static const char *const words[][2] = {
        {"false", "true"}, {"no", "yes"}, {"off", "on"}, {"n", "y"}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int truth = 0; truth < 2; truth++)
            if (strcasecmp(text, words[i][truth]) == 0) {
                *out = truth;
                return true;
            }
    return false;
}

static bool unit_gb(const char *unit, double *out)
{
    static const struct {
        const char *name;
        double gb;
    } units[] = {
        {"", 1},
        {"B", 1e-9},
        {"K", 1e-6},
        {"KB", 1e-6},
        {"M", 1e-3},
        {"MB", 1e-3},
        {"G", 1},
        {"GB", 1},
        {"T", 1e3},
        {"TB", 1e3},
        {"P", 1e6},
        {"PB", 1e6},
        {"KiB", 1024e-9},
        {"MiB", 1048576e-9},
        {"GiB", 1073741824e-9},
        {"TiB", 1099511627776e-9},
        {"PiB", 1125899906842624e-9},
    };

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(unit, units[i].name) == 0) {
            *out = units[i].gb;
            return true;
        }
    return false;
}

bool value_size_gb(const char *text, double *out)
{
    const char *unit;
    double number, gb;

    if (!number_prefix(text, &unit, &number))
        return false;
    unit += *unit == ' ' && unit[1];
    if (!unit_gb(unit, &gb) || !(number >= 0) || number * gb > VALUE_MAX_GB)
        return false;
    *out = number * gb;
    return true;
}

bool value_factor(const char *text, double *out)
{
    const char *rest;
    double value;

    if (!number_prefix(text, &rest, &value) || (strcmp(rest, "x") != 0 && strcmp(rest, "X") != 0))
        return false;
    if (!(value >= 0) || value > VALUE_MAX_GB)
        return false;
    *out = value;
    return true;
}

/* Of memory, clouds and SkyPilot write GB for GiB: 16GB and 16GiB are the same size. */
static bool memory_size(const char *text, double *out)
{
    if (!value_size_gb(text, out))
        return false;
    if (strpbrk(text, "iI"))
        *out /= 1073741824e-9;
    return true;
}

static bool figure(const char *text, size_t n, bool sizes, double limit, double *out)
{
    char part[64];
    double value;

    if (n == 0 || n >= sizeof part)
        return false;
    memcpy(part, text, n);
    part[n] = 0;
    if (!isdigit((unsigned char)part[0]) && part[0] != '.')
        return false;
    if (!(sizes ? memory_size(part, &value) : number_parse(part, &value)))
        return false;
    if (!(value > 0) || value > limit)
        return false;
    *out = value;
    return true;
}

bool value_range(const char *text, bool sizes, double limit, struct spec_range *out)
{
    size_t n = strlen(text);
    const char *dash = strchr(text, '-');
    double min, max;

    if (n && text[n - 1] == '+') {
        if (!figure(text, n - 1, sizes, limit, &min))
            return false;
        max = (double)INFINITY;
    } else if (dash) {
        size_t before = (size_t)(dash - text);
        if (!figure(text, before, sizes, limit, &min) ||
            !figure(dash + 1, n - before - 1, sizes, limit, &max) || min > max)
            return false;
    } else {
        if (!figure(text, n, sizes, limit, &min))
            return false;
        max = min;
    }
    *out = (struct spec_range){min, max};
    return true;
}

bool value_usd(const char *text, double *out)
{
    double value;

    if (!number_parse(text + (*text == '$'), &value) || !(value >= 0))
        return false;
    *out = value;
    return true;
}
