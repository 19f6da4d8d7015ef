/* find_parse: the expressions of find.
 *
 * Conditions joined by blanks or the word AND (in any case); all must hold:
 *     key          has that key                 !key          has not
 *     key=value    equal                        key!=value    has the key, with any other value
 *     key<value  key<=value  key>value  key>=value
 *     key=a..b     from a to b, both included   key!=a..b
 *     key~regex    the value as it was given matches (POSIX extended, bytes)
 * Blanks may stand around an operator. A value ends at a blank unless it is quoted, "so" or 'so'; a
 * quote within is doubled. Bare values are numbers, times (ISO 8601) or else text, by their look;
 * quoted ones are text. A bare value begins with no sign of an operator, and one in the shape of a
 * date is one. Numbers compare with numbers, times with times, text with text by bytes;
 * nothing of one kind is equal to, below or above anything of another. A time stands for all it
 * names: a day, minute or second, so `t=2026-11-15` is any time that day (UTC), `t>2026-11-15` from
 * the next day on. Values for built-in keys are of the key's own kind, quoted or not; size takes
 * units: 10MB, 4KiB. */
#ifndef LAKE_FIND_FIND_PARSE_H
#define LAKE_FIND_FIND_PARSE_H

#include "base/auto.h"
#include "lake/meta/meta.h"
#include "lake/meta/meta_value.h"

#include <regex.h>

#define FIND_EXPRESSION_MAX 131072 /* two of the longest values */
#define FIND_CONDITIONS_MAX 32

enum find_op {
    FIND_EXISTS,
    FIND_MISSING,
    FIND_WITHIN, /* without bounds: any value of that kind; NONE: no value */
    FIND_OUTSIDE,
    FIND_MATCHES,
};

struct find_bound {
    bool given;
    bool open;        /* the bound itself is outside */
    double number;    /* NUMBER, TIME: epoch ms */
    const char *text; /* TEXT */
};

struct find_condition {
    char key[LAKE_KEY_MAX + 1];
    enum meta_builtin builtin;
    enum find_op op;
    enum lake_value_kind kind; /* WITHIN, OUTSIDE: of the bounds */
    struct find_bound low, high;
    /* MATCHES */
    regex_t regex;
    const char *prefix, *past; /* what matches lies from prefix to below past; NULL = anywhere */
};

struct arena;
struct find_expression {
    struct find_condition *conditions;
    size_t n;
    struct arena *arena; /* of the texts */
};

/* ERR_USAGE gives the column (in characters, from 1) and the text there. */
int find_parse(const char *text, struct find_expression *out, struct err *e);
void find_expression_clear(struct find_expression *x);

/* The single value a WITHIN condition allows: low is high. */
bool find_is_equality(const struct find_condition *c);

/* Whether the value meets the condition. NULL = there is none of that key. */
bool find_holds(const struct find_condition *c, const struct lake_value *v);

#endif
