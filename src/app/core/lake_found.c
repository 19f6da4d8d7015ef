#include "app/core/lake_found.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Digits only, within the range of whole numbers. */
static bool is_whole(const char *text, long long *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    char *end;

    if (!*digits || strspn(digits, "0123456789") != strlen(digits))
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && !*end;
}

json_t *lake_value_json(const struct lake_value *v)
{
    long long whole;

    switch (v->kind) {
    case LAKE_VALUE_NONE:
        return json_true();
    case LAKE_VALUE_NUMBER:
        return is_whole(v->text, &whole) ? json_integer(whole) : json_number(v->number);
    case LAKE_VALUE_TIME:
    case LAKE_VALUE_TEXT:
        break;
    }
    return json_text(v->text);
}
