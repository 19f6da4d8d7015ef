/* json: helpers for Jansson that several rooms use. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/err.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Writes one document, indented, with a final newline; reals with 15 significant digits, so that
 * 0.1 stays 0.1 and micro-dollars up to a billion dollars are exact. */
int json_write(FILE *out, const json_t *root, struct err *e);

/* How many significant digits, 15 to 17, the reals of a value need to be read back as they are. */
size_t json_digits(const json_t *value);

/* A string; bytes that are no UTF-8, as in names of files, and beside them control characters
 * become
 * '?', since JSON cannot hold them. New reference. */
json_t *json_text(const char *s);
/* A real, or null when v is NaN or infinite (JSON has neither). New reference. */
json_t *json_number(double v);
/* Dollars from micro-dollars. New reference. */
json_t *json_usd(int64_t microusd);

static inline void json_auto_decref(json_t **p)
{
    json_decref(*p);
}
#define AUTO_JSON __attribute__((cleanup(json_auto_decref)))

#endif
