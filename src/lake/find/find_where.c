/* Conditions of find, held against values in memory. `run ls --where` and find_scope.c call it. */
#include "base/mem.h"
#include "lake/find/find_parse.h"
#include "lake/meta/meta.h"

#include <stdlib.h>
#include <string.h>

struct lake_where {
    struct find_expression x;
};

struct lake_where *lake_where_new(const char *expression, struct err *e)
{
    AUTO(lake_where) struct lake_where *w = mem_zero(1, sizeof *w);

    return find_parse(expression, &w->x, e) < 0 ? NULL : TAKE(w);
}

void lake_where_free(struct lake_where *w)
{
    if (!w)
        return;
    find_expression_clear(&w->x);
    free(w);
}

/* Below 0: the value lies below the bound. */
static int compare(const struct lake_value *v, const struct find_bound *bound)
{
    if (v->kind == LAKE_VALUE_TEXT)
        return strcmp(v->text, bound->text);
    return (v->number > bound->number) - (v->number < bound->number);
}

static bool is_within(const struct find_condition *c, const struct lake_value *v)
{
    if (v->kind != c->kind)
        return false;
    int low = c->low.given ? compare(v, &c->low) : 1;
    int high = c->high.given ? compare(v, &c->high) : -1;
    return (c->low.open ? low > 0 : low >= 0) && (c->high.open ? high < 0 : high <= 0);
}

bool find_holds(const struct find_condition *c, const struct lake_value *v)
{
    if (!v)
        return c->op == FIND_MISSING;
    switch (c->op) {
    case FIND_EXISTS:
        return true;
    case FIND_MISSING:
        return false;
    case FIND_WITHIN:
        return is_within(c, v);
    case FIND_OUTSIDE:
        return !is_within(c, v);
    case FIND_MATCHES:
        return v->text && regexec(&c->regex, v->text, 0, NULL, 0) == 0;
    }
    return false;
}

bool lake_where_holds(const struct lake_where *w, const struct lake_value *values, size_t n)
{
    for (size_t i = 0; i < w->x.n; i++) {
        const struct lake_value *found = NULL;
        for (size_t k = 0; k < n && !found; k++)
            if (strcmp(values[k].key, w->x.conditions[i].key) == 0)
                found = &values[k];
        if (!find_holds(&w->x.conditions[i], found))
            return false;
    }
    return true;
}
