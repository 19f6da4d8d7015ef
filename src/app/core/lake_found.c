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

json_t *lake_found_json(const struct lake_found *found)
{
    json_t *item = json_object(), *meta = json_object();

    for (size_t i = 0; i < found->n_values; i++)
        json_object_set_new(meta, found->values[i].key, lake_value_json(&found->values[i]));
    json_object_set_new(item, "ref", json_text(found->ref));
    json_object_set_new(item, "kind", json_string(found->kind));
    json_object_set_new(item, "meta", meta);
    return item;
}

const char *lake_found_text(const struct lake_value *v)
{
    return v->text ? v->text : "";
}

const struct lake_value *lake_found_get(const struct lake_found *found, const char *key)
{
    for (size_t i = 0; i < found->n_values; i++)
        if (strcmp(found->values[i].key, key) == 0)
            return &found->values[i];
    return NULL;
}
