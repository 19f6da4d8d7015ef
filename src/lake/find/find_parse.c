#include "lake/find/find_parse.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/utf8.h"
#include "lake/find/find_pattern.h"
#include "lake/meta/meta.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct parser {
    const char *text;
    const char *at;
    struct find_expression *out;
    struct arena *arena;
};

/* A value as written. */
struct operand {
    const char *begin; /* in the expression */
    const char *text;
    bool quoted;
};

enum operation { OP_EQUAL, OP_UNEQUAL, OP_BELOW, OP_AT_MOST, OP_ABOVE, OP_AT_LEAST, OP_MATCHES };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct parser *p)
{
    while (is_blank(*p->at))
        p->at++;
}

/* Adds the place to the error: the column in characters, and what stands there. */
static int fail_at(const struct parser *p, const char *place, struct err *e)
{
    int column = 1, shown = 0;

    for (const char *q = p->text; q < place; q += utf8_width(q))
        column++;
    while (place[shown] && shown < 30)
        shown += (int)utf8_width(place + shown);
    if (*place)
        err_wrap(e, "column %d, at \"%.*s%s\"", column, shown, place, place[shown] ? "..." : "");
    else
        err_wrap(e, "at the end of the expression (column %d)", column);
    return -1;
}

#define FAIL(p, place, e, ...) (err_set(e, ERR_USAGE, __VA_ARGS__), fail_at(p, place, e))

/* ---- words ---- */

static int take_key(struct parser *p, struct find_condition *c, struct err *e)
{
    const char *begin = p->at;

    if (!meta_key_begins(*begin))
        return FAIL(p, begin, e, "a key is expected here, as in key=value, key or !key");
    while (meta_key_char(*p->at))
        p->at++;
    size_t n = (size_t)(p->at - begin);
    if (n > LAKE_KEY_MAX)
        return FAIL(p, begin, e, "a key has at most %d bytes", LAKE_KEY_MAX);
    memcpy(c->key, begin, n);
    c->key[n] = 0;
    c->builtin = meta_builtin(c->key);
    return 0;
}

/* False when what follows is no operator; then nothing is taken, blanks included. */
static bool take_operator(struct parser *p, enum operation *out)
{
    static const struct {
        const char *text;
        enum operation op;
    } operators[] = {
        {"!=", OP_UNEQUAL}, {"<=", OP_AT_MOST}, {">=", OP_AT_LEAST}, {"==", OP_EQUAL},
        {"=", OP_EQUAL},    {"<", OP_BELOW},    {">", OP_ABOVE},     {"~", OP_MATCHES},
    };
    const char *q = p->at;

    while (is_blank(*q))
        q++;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t n = strlen(operators[i].text);
        if (strncmp(q, operators[i].text, n) == 0) {
            *out = operators[i].op;
            p->at = q + n;
            return true;
        }
    }
    return false;
}

static int take_quoted(struct parser *p, struct operand *out, struct err *e)
{
    const char *begin = p->at;
    char quote = *begin;
    char *text = arena_dup(p->arena, begin + 1);
    size_t n = 0;

    if (!text)
        return FAIL(p, begin, e, "the expression is too long");
    for (p->at++; *p->at; p->at++) {
        if (*p->at == quote) {
            if (p->at[1] != quote)
                break;
            p->at++;
        }
        text[n++] = *p->at;
    }
    if (!*p->at)
        return FAIL(p, begin, e, "the quote has no end");
    p->at++;
    text[n] = 0;
    *out = (struct operand){.begin = begin, .text = text, .quoted = true};
    return 0;
}

/* over_blanks: blanks were passed on the way here. Then `model= kind=set` is a slip, not a value.
 */
static int take_operand(struct parser *p, bool over_blanks, struct operand *out, struct err *e)
{
    const char *begin = p->at;

    if (!*begin)
        return FAIL(p, begin, e, "a value is missing; write \"\" for an empty one");
    if (*begin == '"' || *begin == '\'')
        return take_quoted(p, out, e);
    while (*p->at && !is_blank(*p->at))
        p->at++;
    size_t n = (size_t)(p->at - begin);
    char *text = arena_dup_n(p->arena, begin, n);
    if (!text)
        return FAIL(p, begin, e, "the expression is too long");
    if (over_blanks && strpbrk(text, "=<>~"))
        return FAIL(p, begin, e, "a value is missing before this, or it needs quotes");
    *out = (struct operand){.begin = begin, .text = text};
    return 0;
}

/* ---- values ---- */

static bool parse_size(const char *text, double *out)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {
        {"", 1},
        {"B", 1},
        {"KB", 1e3},
        {"MB", 1e6},
        {"GB", 1e9},
        {"TB", 1e12},
        {"PB", 1e15},
        {"KiB", 1024.0},
        {"MiB", 1048576.0},
        {"GiB", 1073741824.0},
        {"TiB", 1099511627776.0},
        {"PiB", 1125899906842624.0},
    };
    const char *unit;
    double value;

    if (!number_prefix(text, &unit, &value))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(unit, units[i].unit) == 0) {
            *out = value * units[i].bytes;
            return true;
        }
    return false;
}

/* What a value stands for: times from..until, others the same twice. */
struct meaning {
    enum lake_value_kind kind;
    struct find_bound low, high;
};

static struct meaning meaning_of_number(double v)
{
    struct find_bound bound = {.given = true, .number = v + 0.0};

    return (struct meaning){LAKE_VALUE_NUMBER, bound, bound};
}

static struct meaning meaning_of_time(const struct meta_time *t)
{
    return (struct meaning){LAKE_VALUE_TIME,
                            {.given = true, .number = (double)t->from_ms},
                            {.given = true, .open = true, .number = (double)t->until_ms}};
}

static struct meaning meaning_of_text(const char *text)
{
    struct find_bound bound = {.given = true, .text = text};

    return (struct meaning){LAKE_VALUE_TEXT, bound, bound};
}

/* Written as a date or time, be it one or not: 2026-13-45, 2026-1-5, 2026-11-15T25:00. */
static bool is_date_shaped(const char *text)
{
    static const char digits[] = "0123456789";
    size_t n = strspn(text, digits);

    if (n != 4 || text[n] != '-')
        return false;
    text += n + 1;
    n = strspn(text, digits);
    if (n < 1 || n > 2 || text[n] != '-')
        return false;
    text += n + 1;
    n = strspn(text, digits);
    if (n < 1 || n > 2)
        return false;
    text += n;
    return !*text || ((*text == 'T' || *text == 't') && text[1] >= '0' && text[1] <= '9');
}

static int understand(const struct parser *p,
                      const struct find_condition *c,
                      const struct operand *o,
                      struct meaning *out,
                      struct err *e)
{
    enum lake_value_kind wanted = meta_builtin_kind(c->builtin);
    struct meta_time time;
    double number;

    if (wanted == LAKE_VALUE_TEXT || (o->quoted && wanted == LAKE_VALUE_NONE)) {
        *out = meaning_of_text(o->text);
        return 0;
    }
    if (wanted == LAKE_VALUE_NUMBER) {
        bool good =
            c->builtin == META_SIZE ? parse_size(o->text, &number) : number_parse(o->text, &number);
        if (!good)
            return FAIL(p, o->begin, e, "%s is a number%s", c->key,
                        c->builtin == META_SIZE ? ", as in 4096, 10MB or 4KiB" : "");
        *out = meaning_of_number(number);
        return 0;
    }
    if (meta_time_parse(o->text, &time)) {
        *out = meaning_of_time(&time);
        return 0;
    }
    if (wanted == LAKE_VALUE_TIME)
        return FAIL(p, o->begin, e, "%s is a time, as in 2026-11-15 or 2026-11-15T10:30Z", c->key);
    /* As text it would find nothing, without a word. */
    if (is_date_shaped(o->text))
        return FAIL(p, o->begin, e,
                    "this is not a time, as 2026-11-15 or 2026-11-15T10:30Z are; quote text");
    *out = number_parse(o->text, &number) ? meaning_of_number(number) : meaning_of_text(o->text);
    return 0;
}

/* Known kinds only: a typing slip would find nothing, without a word. */
static int check_kind_value(const struct parser *p, const struct operand *o, struct err *e)
{
    static const char *const kinds[] = {"file", "path", "set", "job"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(o->text, kinds[i]) == 0)
            return 0;
    const char *close = nearest(o->text, kinds, sizeof kinds / sizeof *kinds);
    if (close)
        return FAIL(p, o->begin, e, "kind is file, path, set or job; did you mean %s?", close);
    return FAIL(p, o->begin, e, "kind is file, path, set or job");
}

/* ---- conditions ---- */

/* The two ends of a..b; false when o is no range. */
static bool split_range(struct parser *p,
                        const struct operand *o,
                        struct operand ends[static 2],
                        bool *fit_out)
{
    const char *dots = o->quoted ? NULL : strstr(o->text, "..");

    *fit_out = true;
    if (!dots)
        return false;
    size_t n = (size_t)(dots - o->text);
    ends[0] = (struct operand){o->begin, arena_dup_n(p->arena, o->text, n), false};
    ends[1] = (struct operand){o->begin + n + 2, dots + 2, false};
    *fit_out = ends[0].text != NULL;
    return true;
}

static bool is_empty_range(const struct meaning *a, const struct meaning *b)
{
    return a->kind == LAKE_VALUE_TEXT ? strcmp(a->low.text, b->high.text) > 0
                                      : a->low.number > b->high.number;
}

static int set_range(struct parser *p,
                     struct find_condition *c,
                     const struct operand ends[static 2],
                     struct err *e)
{
    struct meaning a = {0}, b = {0};

    if (!*ends[0].text || !*ends[1].text)
        return FAIL(p, ends[0].begin, e,
                    "a range needs two ends, as in 1..5; use < and > for one, quotes for text");
    if (understand(p, c, &ends[0], &a, e) < 0 || understand(p, c, &ends[1], &b, e) < 0)
        return -1;
    if (a.kind != b.kind)
        return FAIL(p, ends[0].begin, e, "the ends of a range must both be numbers, times or text");
    if (is_empty_range(&a, &b))
        return FAIL(p, ends[0].begin, e, "the range is empty: its begin lies above its end");
    c->kind = a.kind;
    c->low = a.low;
    c->high = b.high;
    return 0;
}

static struct find_bound flip(struct find_bound bound)
{
    bound.open = !bound.open;
    return bound;
}

static void set_comparison(struct find_condition *c, enum operation op, const struct meaning *m)
{
    c->kind = m->kind;
    switch (op) {
    case OP_BELOW:
        c->high = flip(m->low);
        break;
    case OP_AT_MOST:
        c->high = m->high;
        break;
    case OP_ABOVE:
        c->low = flip(m->high);
        break;
    case OP_AT_LEAST:
        c->low = m->low;
        break;
    case OP_EQUAL:
    case OP_UNEQUAL:
    case OP_MATCHES:
        c->low = m->low;
        c->high = m->high;
        break;
    }
}

static int set_pattern(struct parser *p,
                       struct find_condition *c,
                       const struct operand *o,
                       struct err *e)
{
    enum lake_value_kind kind = meta_builtin_kind(c->builtin);

    if (kind == LAKE_VALUE_NUMBER || kind == LAKE_VALUE_TIME)
        return FAIL(p, o->begin, e, "~ is for text, and %s is a %s", c->key,
                    kind == LAKE_VALUE_TIME ? "time" : "number");
    if (find_pattern_compile(o->text, &c->regex, e) < 0)
        return fail_at(p, o->begin, e);
    c->op = FIND_MATCHES;
    char prefix[FIND_PATTERN_MAX + 1];
    if (!*find_pattern_prefix(o->text, prefix))
        return 0;
    char *past = arena_dup(p->arena, prefix);
    c->prefix = arena_dup(p->arena, prefix);
    if (past)
        past[strlen(past) - 1]++;
    c->past = c->prefix ? past : NULL;
    c->prefix = past ? c->prefix : NULL;
    return 0;
}

static int set_value(struct parser *p, struct find_condition *c, enum operation op, struct err *e)
{
    bool over_blanks = is_blank(*p->at), fit;
    struct operand o = {0}, ends[2] = {{0}};
    struct meaning m = {0};

    skip_blanks(p);
    if (take_operand(p, over_blanks, &o, e) < 0)
        return -1;
    assert(o.text);
    if (op == OP_MATCHES)
        return set_pattern(p, c, &o, e);
    if (!o.quoted && *o.text && strchr("=<>!~", *o.text))
        return FAIL(p, o.begin, e, "unknown operator; use = != < <= > >= or ~, or quote the text");
    c->op = op == OP_UNEQUAL ? FIND_OUTSIDE : FIND_WITHIN;
    bool range = split_range(p, &o, ends, &fit);
    if (!fit)
        return FAIL(p, o.begin, e, "the expression is too long");
    if (range && op != OP_EQUAL && op != OP_UNEQUAL)
        return FAIL(p, o.begin, e, "a range needs = or !=; quote text that contains \"..\"");
    if (range)
        return set_range(p, c, ends, e);
    if (c->builtin == META_KIND && check_kind_value(p, &o, e) < 0)
        return -1;
    if (understand(p, c, &o, &m, e) < 0)
        return -1;
    set_comparison(c, op, &m);
    return 0;
}

/* Words of other languages would be taken for keys. */
static int check_bare_key(const struct parser *p, const char *begin, const char *key, struct err *e)
{
    if (strcasecmp(key, "and") == 0 || strcasecmp(key, "or") == 0 || strcasecmp(key, "not") == 0)
        return FAIL(p, begin, e,
                    "join conditions with one AND; negate one with !key or key!=value");
    return 0;
}

static int take_condition(struct parser *p, struct find_condition *c, struct err *e)
{
    const char *begin = p->at;
    enum operation op;

    if (*p->at == '!') {
        p->at++;
        c->op = FIND_MISSING;
        return take_key(p, c, e);
    }
    if (take_key(p, c, e) < 0)
        return -1;
    if (take_operator(p, &op))
        return set_value(p, c, op, e);
    c->op = FIND_EXISTS;
    return check_bare_key(p, begin, c->key, e);
}

/* The word AND, and not a key of that name with an operator. */
static bool take_and(struct parser *p)
{
    struct parser after = {.text = p->text, .at = p->at + 3};
    enum operation op;

    if (strncasecmp(p->at, "and", 3) != 0 || meta_key_char(p->at[3]) || take_operator(&after, &op))
        return false;
    p->at += 3;
    return true;
}

static int take_all(struct parser *p, struct err *e)
{
    struct find_expression *x = p->out;

    for (skip_blanks(p); *p->at; skip_blanks(p)) {
        const char *begin = p->at;
        if (x->n == FIND_CONDITIONS_MAX)
            return FAIL(p, begin, e, "more than %d conditions", FIND_CONDITIONS_MAX);
        if (take_and(p)) {
            skip_blanks(p);
            if (x->n == 0 || !*p->at)
                return FAIL(p, begin, e, "AND must be between two conditions");
        }
        if (take_condition(p, &x->conditions[x->n], e) < 0)
            return -1;
        x->n++;
        if (*p->at && !is_blank(*p->at))
            return FAIL(p, p->at, e, "a blank is missing before this");
    }
    return 0;
}

int find_parse(const char *text, struct find_expression *out, struct err *e)
{
    size_t len = strlen(text), line;

    *out = (struct find_expression){0};
    if (len > FIND_EXPRESSION_MAX)
        return err_set(e, ERR_USAGE, "the expression has %zu bytes; at most %d are allowed", len,
                       FIND_EXPRESSION_MAX);
    if (utf8_first_bad(text, len, &line) < len)
        return err_set(e, ERR_USAGE, "the expression is not clean UTF-8 text: byte %zu",
                       utf8_first_bad(text, len, &line) + 1);
    /* Quoted texts are copied with all that follows them: at most once a condition and end. */
    out->arena = arena_new((size_t)FIND_EXPRESSION_MAX * 4 * FIND_CONDITIONS_MAX);
    out->conditions = mem_zero(FIND_CONDITIONS_MAX, sizeof *out->conditions);
    struct parser p = {.text = text, .at = text, .out = out, .arena = out->arena};
    if (take_all(&p, e) < 0) {
        err_wrap(e, "expression");
        find_expression_clear(out);
        return -1;
    }
    return 0;
}

void find_expression_clear(struct find_expression *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->conditions[i].op == FIND_MATCHES)
            regfree(&x->conditions[i].regex);
    free(x->conditions);
    arena_free(x->arena);
    *x = (struct find_expression){0};
}

bool find_is_equality(const struct find_condition *c)
{
    if (c->op != FIND_WITHIN || !c->low.given || !c->high.given || c->low.open || c->high.open)
        return false;
    return c->kind == LAKE_VALUE_TEXT ? strcmp(c->low.text, c->high.text) == 0
                                      : c->low.number == c->high.number;
}
