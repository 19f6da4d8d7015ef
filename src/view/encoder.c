#include "view/encoder.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/time.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are copied at once, of which a word has some. */
#define WORD_BYTES 48
/* Bytes of most values. */
#define VALUE_USUAL 2048

/* A short text that is always the same. */
struct word {
    char text[WORD_BYTES + 1]; /* zero behind it; one more than is copied, to begin at the second */
    unsigned char n;
};

struct encoder_step {
    bool is_always_shown;
    enum { OTHER, TEXT, TIME, INT, CHOICE, TRUTH } kind;
    int64_t none;         /* of INT */
    struct word name;     /* , "name": */
    struct word *choices; /* of CHOICE and TRUTH */
};

static struct word word_of(const char *before, const char *text, const char *after)
{
    struct word w = {{0}, 0};
    int n = snprintf(w.text, sizeof w.text, "%s%s%s", before, text, after);

    assert(n < WORD_BYTES);
    w.n = (unsigned char)n;
    return w;
}

static struct word *choices_of(const struct field *f)
{
    bool is_truth = f->type == FIELD_BOOL;
    struct word *out = mem_zero(is_truth ? 2 : f->n_choices, sizeof *out);

    out[0] = word_of("", is_truth ? "false" : "null", "");
    if (is_truth)
        out[1] = word_of("", "true", "");
    for (size_t i = 1; i < f->n_choices; i++)
        out[i] = word_of("\"", f->choices[i], "\"");
    return out;
}

static struct encoder_step step_of(const struct field *f)
{
    struct encoder_step s = {.is_always_shown =
                                 !f->is_column_only && !f->omit_none && !f->is_absent,
                             .none = f->type == FIELD_INT ? FIELD_NONE : (int64_t)UINT64_MAX,
                             .name = word_of(", \"", f->name, "\": ")};

    if (f->json)
        s.kind = OTHER;
    else if (f->type == FIELD_TEXT)
        s.kind = TEXT;
    else if (f->type == FIELD_TIME)
        s.kind = TIME;
    else if (f->type == FIELD_INT || f->type == FIELD_COUNT || f->type == FIELD_BYTES)
        s.kind = INT;
    else if (f->type == FIELD_BOOL)
        s.kind = TRUTH;
    else if (f->type == FIELD_ENUM)
        s.kind = CHOICE;
    s.choices = s.kind == CHOICE || s.kind == TRUTH ? choices_of(f) : NULL;
    return s;
}

void encoder_begin(struct encoder *x, const struct record *r)
{
    encoder_clear(x);
    *x = (struct encoder){r, mem_zero(r->n_fields, sizeof *x->steps)};
    for (size_t i = 0; i < r->n_fields; i++)
        x->steps[i] = step_of(&r->fields[i]);
}

void encoder_clear(struct encoder *x)
{
    for (size_t i = 0; x->record && i < x->record->n_fields; i++)
        free(x->steps[i].choices);
    free(x->steps);
    *x = (struct encoder){0};
}

/* Jansson's form of anything. */
static void put_value(const struct field *f, const void *record, struct buf *out)
{
    AUTO_JSON json_t *value = field_json(f, record);
    size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(json_digits(value));
    char usual[VALUE_USUAL];
    size_t n = json_dumpb(value, usual, sizeof usual, flags);

    if (n > 0 && n <= sizeof usual) {
        buf_add(out, usual, n);
        return;
    }
    AUTO_MEM char *text = json_dumps(value, flags);
    buf_puts(out, text ? text : "null");
}

typedef signed char sixteen __attribute__((vector_size(16)));
typedef uint64_t two __attribute__((vector_size(16)));

/* Whether JSON has n bytes as they are: printable ASCII but quotes and backslashes. 16 bytes at a
 * time, the last of which may lie behind them. */
static inline bool is_plain(const char *text, size_t n)
{
    sixteen odd = {0}, c;

    for (size_t at = 0; at < n; at += sizeof c) {
        memcpy(&c, text + at, sizeof c);
        odd |= (c < ' ') | (c == '"') | (c == '\\') | (c == 0x7f); /* from 0x80 on: below 0 */
    }
    two halves = (two)odd;
    return (halves[0] | halves[1]) == 0;
}

/* A line on its way. */
struct line {
    char *at, *end; /* where the next byte goes; no text may go further than end */
    struct buf *out;
    size_t words; /* bytes that all words of a record take at most: there is always room for them */
};

/* Counts what was written, and makes room for n bytes besides the words. False: it does not fit. */
static bool make_room(struct line *l, size_t n)
{
    if (l->at)
        l->out->len = (size_t)(l->at - l->out->data);
    l->at = buf_room(l->out, n + l->words);
    l->end = l->at ? l->out->data + l->out->cap - 1 - l->words : NULL;
    return l->at;
}

/* Words may have gone past the end. */
static inline bool has_room(struct line *l, size_t n)
{
    return l->end - l->at >= (ptrdiff_t)n || make_room(l, n);
}

static inline void put_word(struct line *l, const struct word *w)
{
    memcpy(l->at, w->text, WORD_BYTES);
    l->at += w->n;
}

/* , "name":  The first begins with { instead of a comma and a blank. */
static inline void put_name(struct line *l, const struct word *w, bool is_first)
{
    memcpy(l->at, w->text + is_first, WORD_BYTES);
    if (is_first)
        l->at[0] = '{';
    l->at += w->n - is_first;
}

/* False: it does not fit, or JSON writes it in another way. */
static inline bool put_plain(struct line *l, const char *text)
{
    size_t n = strlen(text);

    if (!has_room(l, n + 2 + sizeof(sixteen)))
        return false;
    memcpy(l->at + 1, text, n);
    memset(l->at + 1 + n, ' ', sizeof(sixteen));
    if (!is_plain(l->at + 1, n))
        return false;
    l->at[0] = l->at[n + 1] = '"';
    l->at += n + 2;
    return true;
}

static bool put_other(struct line *l, const struct field *f, const void *record)
{
    if (!make_room(l, 0))
        return false;
    put_value(f, record, l->out);
    l->at = NULL;
    return make_room(l, 0);
}

static bool put_number(struct line *l, int64_t v)
{
    char digits[24];
    const char *text = number_text(v, digits);
    size_t n = (size_t)(digits + sizeof digits - 1 - text);

    if (!has_room(l, n))
        return false;
    memcpy(l->at, text, n);
    l->at += n;
    return true;
}

static bool put_time(struct line *l, int64_t v)
{
    char text[32];

    return put_plain(l, time_iso_ms(v, text));
}

static inline bool put_member(struct line *l,
                              const struct encoder_step *s,
                              const struct field *f,
                              const void *record)
{
    const void *at = (const char *)record + f->offset;

    switch (s->kind) {
    case TEXT:
        if (*(const char *const *)at)
            return put_plain(l, *(const char *const *)at) || put_other(l, f, record);
        break;
    case CHOICE:
        assert(*(const unsigned *)at < f->n_choices);
        put_word(l, &s->choices[*(const unsigned *)at]);
        return true;
    case TRUTH:
        put_word(l, &s->choices[*(const bool *)at]);
        return true;
    case INT:
        if (*(const int64_t *)at != s->none)
            return put_number(l, *(const int64_t *)at);
        break;
    case TIME:
        if (*(const int64_t *)at != FIELD_NONE)
            return put_time(l, *(const int64_t *)at);
        break;
    case OTHER:
        return put_other(l, f, record);
    }
    memcpy(l->at, "null", 4);
    l->at += 4;
    return true;
}

void encoder_put(const struct encoder *x, const void *record, struct buf *out)
{
    const struct record *r = x->record;
    struct line l = {.out = out, .words = (2 * r->n_fields + 1) * WORD_BYTES};
    bool is_first = true;

    if (!make_room(&l, 0))
        return;
    for (size_t i = 0; i < r->n_fields; i++) {
        const struct encoder_step *s = &x->steps[i];
        if (!s->is_always_shown && !field_is_shown(&r->fields[i], record))
            continue;
        if (!r->is_bare)
            put_name(&l, &s->name, is_first);
        if (!put_member(&l, s, &r->fields[i], record))
            return;
        is_first = false;
    }
    if (!r->is_bare && is_first)
        *l.at++ = '{';
    if (!r->is_bare)
        *l.at++ = '}';
    *l.at = 0;
    out->len = (size_t)(l.at - out->data);
}

void encoder_put_one(const struct record *r, const void *record, struct buf *out)
{
    AUTO_CLEAR(encoder) struct encoder x = {0};

    encoder_begin(&x, r);
    encoder_put(&x, record, out);
}
