/* Any bytes as an expression: understood or refused with its place, and what comes out can be
 * trusted. Any bytes as a value: of a kind that reads back. */
#include "lake/find/find_parse.h"
#include "lake/find/find_pattern.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bound(const struct find_condition *c, const struct find_bound *b)
{
    if (!b->given)
        return;
    assert(c->kind != LAKE_VALUE_NONE);
    assert(c->kind == LAKE_VALUE_TEXT ? b->text != NULL : isfinite(b->number));
}

static void check_condition(const struct find_condition *c, const char *text)
{
    struct err e = {0};

    assert(meta_key_check(c->key, strlen(c->key), &e) == 0);
    assert(c->builtin == meta_builtin(c->key));
    check_bound(c, &c->low);
    check_bound(c, &c->high);
    if (c->op == FIND_WITHIN && c->low.given && c->high.given && c->kind != LAKE_VALUE_TEXT)
        assert(c->low.number <= c->high.number);
    if (c->op != FIND_MATCHES)
        return;
    /* Everything that matches lies where the prefix says. */
    int match = regexec(&c->regex, text, 0, NULL, 0);
    if (match == 0 && c->prefix)
        assert(strcmp(text, c->prefix) >= 0 && strcmp(text, c->past) < 0);
}

static void check_value(const char *text)
{
    double number;
    enum lake_value_kind kind = meta_value_kind(text, &number);

    assert(kind != LAKE_VALUE_NONE && isfinite(number));
    assert(kind != LAKE_VALUE_TEXT || number == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(find_expression) struct find_expression x = {0};
    struct err e = {0};
    char *text = mem_zero(size + 1, 1);

    memcpy(text, data, size);
    if (find_parse(text, &x, &e) == 0) {
        assert(x.n <= FIND_CONDITIONS_MAX);
        for (size_t i = 0; i < x.n; i++)
            check_condition(&x.conditions[i], text);
    } else {
        assert(e.kind == ERR_USAGE && *e.text);
    }
    check_value(text);
    free(text);
    return 0;
}
