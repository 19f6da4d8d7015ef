#include "base/json.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/number.h"
#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int json_write(FILE *out, const json_t *root, struct err *e)
{
    assert(root);
    errno = 0;
    if (json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) < 0 ||
        putc('\n', out) == EOF)
        return err_set(e, ERR_IO, "write JSON: %s", errno ? strerror(errno) : "output failed");
    return 0;
}

static size_t more(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t json_digits(const json_t *value)
{
    json_t *any = (json_t *)(uintptr_t)value; /* which Jansson's loops want */
    const char *key;
    json_t *part;
    size_t i, digits = DBL_DIG;

    if (json_is_real(value))
        return (size_t)number_digits(json_real_value(value));
    json_object_foreach(any, key, part) digits = more(digits, json_digits(part));
    json_array_foreach(any, i, part) digits = more(digits, json_digits(part));
    return digits;
}

json_t *json_text(const char *s)
{
    json_t *clean = json_string(s);

    if (clean)
        return clean;
    AUTO_MEM char *copy = mem_dup(s);
    size_t len = strlen(copy), line;
    for (size_t at = 0; (at += utf8_first_bad(copy + at, len - at, &line)) < len;)
        copy[at] = '?';
    return json_string(copy);
}

json_t *json_number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

json_t *json_usd(int64_t microusd)
{
    return json_real(money_to_usd(microusd));
}
