#include "broker/learn/logscan.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "broker/learn/logscan_json.h"
#include "lake/core/path.h"
#include "lake/job/job.h"
#include "lake/meta/meta.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The end of the log that is kept for messages. */
#define TAIL_BYTES ((size_t)16 << 10)
/* Bytes of a malformed line that its warning shows. */
#define SHOWN_BYTES 120

struct logscan {
    struct logscan_visitor visitor;
    char line[LOGSCAN_LINE_MAX + 1]; /* one that came in pieces */
    size_t len;
    bool too_long;   /* what follows up to the newline is dropped */
    bool not_a_mark; /* known from its beginning: the rest is dropped */
    double n_json;   /* lines of JSON so far */
    bool told_not_json;
    char *tail; /* the last bytes of all: tail_len of them */
    size_t tail_len;
    bool tail_cut;   /* there was more before it */
    struct buf last; /* answer of logscan_last_lines */
};

/* ---- marks ---- */

enum mark { MARK_TAG, MARK_NUMBER, MARK_METRIC };

static const struct mark_name {
    const char *text;
    enum mark mark;
} mark_names[] = {
    {"[TRADEWIND_TAG]", MARK_TAG},       {"[TRADEWIND_TAG_NUM]", MARK_NUMBER},
    {"[TRADEWIND_METRIC]", MARK_METRIC}, {"[ACAI_TAG]", MARK_TAG},
    {"[ACAI_TAG_NUM]", MARK_NUMBER},
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Whether these first bytes of a line can still become a mark: blanks, then the bracket or brace.
 */
static bool may_be_mark(const struct logscan *s, const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_blank(line[i]))
            return (s->visitor.json && line[i] == '{') ||
                   (line[i] == '[' && (i + 1 == n || line[i + 1] == 'T' || line[i + 1] == 'A'));
    return true;
}

static void make_printable(char *text, size_t len)
{
    for (size_t i = 0, n; i < len; i += n) {
        uint32_t c;
        n = utf8_decode(text + i, len - i, &c);
        if (n == 1 && c == '\t')
            text[i] = ' ';
        else if (!n || (c < 0x20 && c != '\n') || (c >= 0x7f && c < 0xa0)) {
            n = n ? n : 1;
            memset(text + i, '?', n);
        }
    }
}

/* Bytes of text up to max, without the pieces of a character that was cut. */
static size_t whole_characters(const char *text, size_t len, size_t max)
{
    if (len <= max)
        return len;
    while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
        max--;
    return max;
}

__attribute__((format(printf, 3, 4))) static void tell_malformed(struct logscan *s,
                                                                 const char *line,
                                                                 const char *fmt,
                                                                 ...)
{
    AUTO_CLEAR(buf) struct buf b;
    char why[400];
    va_list ap;
    size_t len = strlen(line), shown = whole_characters(line, len, SHOWN_BYTES);

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    buf_init(&b, SHOWN_BYTES + sizeof why + 16);
    buf_add(&b, line, shown);
    buf_printf(&b, "%s: %s", shown < len ? "..." : "", why);
    make_printable(b.data, b.len);
    /* One line, whatever stood in the log. */
    for (char *at = b.data; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    if (s->visitor.malformed)
        s->visitor.malformed(s->visitor.context, b.data);
}

static char *skip_blanks(char *text)
{
    while (is_blank(*text))
        text++;
    return text;
}

/* Cuts the first word off: text ends after it, the result is what follows its blanks. */
static char *cut_word(char *text)
{
    char *end = text + strcspn(text, " \t");

    if (!*end)
        return end;
    *end = 0;
    return skip_blanks(end + 1);
}

static void take_tag(struct logscan *s, const char *line, char *text, bool number)
{
    char *set = NULL, *colon;
    struct err e = {0};
    double value;

    if (!memchr(text, ':', strcspn(text, " \t"))) {
        set = text + (*text == '@');
        text = cut_word(text);
        if (!*text) {
            tell_malformed(s, line, "want KEY:VALUE or SET KEY:VALUE");
            return;
        }
        if (lake_path_check_set(set, &e) < 0) {
            tell_malformed(s, line, "%s", e.text);
            return;
        }
    }
    colon = strchr(text, ':');
    if (!colon) {
        tell_malformed(s, line, "there is no colon between key and value");
        return;
    }
    *colon = '=';
    char *from = skip_blanks(colon + 1);
    memmove(colon + 1, from, strlen(from) + 1);
    size_t key_len = (size_t)(colon - text);
    if (memchr(text, '=', key_len)) {
        tell_malformed(s, line, "a key has no '='");
        return;
    }
    if (number && !number_parse(colon + 1, &value)) {
        tell_malformed(s, line, "\"%.40s\" is not a number", colon + 1);
        return;
    }
    if (lake_tag_check(text, &e) < 0) {
        tell_malformed(s, line, "%s", e.text);
        return;
    }
    if (s->visitor.tag)
        s->visitor.tag(s->visitor.context, set, text);
}

/* NaN and infinities as C, Python and numpy print them. */
static bool is_not_finite(const char *text)
{
    static const char *const words[] = {"nan", "inf", "infinity"};

    text += *text == '-' || *text == '+';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

static void take_metric(struct logscan *s, const char *line, char *name)
{
    char *step_text = cut_word(name), *value_text = cut_word(step_text);
    char *more = cut_word(value_text);
    double step, value = (double)NAN;

    if (!*value_text || *more)
        tell_malformed(s, line, "want NAME STEP VALUE");
    else if (!lake_job_metric_name(name, strlen(name)))
        tell_malformed(s, line, "a name is clean UTF-8 of at most %d bytes", LAKE_KEY_MAX);
    else if (!number_parse(step_text, &step))
        tell_malformed(s, line, "the step \"%.40s\" is not a number", step_text);
    else if (!is_not_finite(value_text) && !number_parse(value_text, &value))
        tell_malformed(s, line, "the value \"%.40s\" is not a number", value_text);
    else
        s->visitor.metric(s->visitor.context, name, step, value);
}

/* Any text may begin like JSON: the warning comes once. */
static void take_json(struct logscan *s, const char *whole, char *line, size_t len)
{
    if (logscan_json(line, len, s->n_json + 1, s->visitor.metric, s->visitor.context)) {
        s->n_json++;
    } else if (!s->told_not_json) {
        s->told_not_json = true;
        tell_malformed(s, whole, "not a JSON object; further such lines are not told");
    }
}

static const struct mark_name *find_mark(const char *text)
{
    for (size_t i = 0; i < sizeof mark_names / sizeof *mark_names; i++)
        if (strncmp(text, mark_names[i].text, strlen(mark_names[i].text)) == 0)
            return &mark_names[i];
    return NULL;
}

/* Changes line, which ends with NUL. */
static void take_mark(struct logscan *s, char *line, size_t len)
{
    while (len && (is_blank(line[len - 1]) || line[len - 1] == '\r'))
        line[--len] = 0;
    char *text = skip_blanks(line);
    const struct mark_name *mark = find_mark(text);
    AUTO_MEM char *whole = mem_dup(text);

    if (*text == '{') {
        take_json(s, whole, text, (size_t)(line + len - text));
        return;
    }
    if (!mark) {
        /* A misspelt mark would otherwise lose a tag or a metric. */
        if (strncmp(text, "[TRADEWIND_", strlen("[TRADEWIND_")) == 0)
            tell_malformed(s, whole,
                           "the marks are [TRADEWIND_TAG], [TRADEWIND_TAG_NUM] and "
                           "[TRADEWIND_METRIC]");
        return;
    }
    if (memchr(line, 0, len)) {
        tell_malformed(s, whole, "there is a zero byte in it");
        return;
    }
    text += strlen(mark->text);
    if (*text && !is_blank(*text))
        tell_malformed(s, whole, "want a blank after %s", mark->text);
    else if (mark->mark == MARK_METRIC)
        take_metric(s, whole, skip_blanks(text));
    else
        take_tag(s, whole, skip_blanks(text), mark->mark == MARK_NUMBER);
}

/* ---- lines ---- */

static void end_line(struct logscan *s)
{
    if (!s->too_long && !s->not_a_mark && s->len) {
        s->line[s->len] = 0;
        take_mark(s, s->line, s->len);
    }
    s->len = 0;
    s->too_long = s->not_a_mark = false;
}

static void add_piece(struct logscan *s, const char *bytes, size_t n)
{
    if (s->too_long || s->not_a_mark)
        return;
    if (n > LOGSCAN_LINE_MAX - s->len) {
        s->too_long = true;
        return;
    }
    memcpy(s->line + s->len, bytes, n);
    s->len += n;
    s->not_a_mark = !may_be_mark(s, s->line, s->len);
}

static void keep_tail(struct logscan *s, const char *bytes, size_t n)
{
    if (n >= TAIL_BYTES) {
        memcpy(s->tail, bytes + n - TAIL_BYTES, TAIL_BYTES);
        s->tail_cut = s->tail_cut || s->tail_len || n > TAIL_BYTES;
        s->tail_len = TAIL_BYTES;
        return;
    }
    /* Twice the room, so that most pieces are only appended. */
    if (s->tail_len + n > 2 * TAIL_BYTES) {
        size_t kept = TAIL_BYTES - n;
        memmove(s->tail, s->tail + s->tail_len - kept, kept);
        s->tail_len = kept;
        s->tail_cut = true;
    }
    memcpy(s->tail + s->tail_len, bytes, n);
    s->tail_len += n;
}

struct logscan *logscan_new(const struct logscan_visitor *visitor)
{
    struct logscan *s = mem_zero(1, sizeof *s);

    s->visitor = *visitor;
    s->tail = mem_zero(2 * TAIL_BYTES, 1);
    buf_init(&s->last, 2 * TAIL_BYTES);
    return s;
}

void logscan_free(struct logscan *s)
{
    if (!s)
        return;
    buf_clear(&s->last);
    free(s->tail);
    free(s);
}

void logscan_take(struct logscan *s, const char *bytes, size_t n)
{
    const char *end = bytes + n;

    keep_tail(s, bytes, n);
    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t piece = (size_t)((newline ? newline : end) - bytes);
        if (s->len || may_be_mark(s, bytes, piece))
            add_piece(s, bytes, piece);
        else
            s->not_a_mark = true;
        if (!newline)
            return;
        end_line(s);
        bytes = newline + 1;
    }
}

void logscan_end(struct logscan *s)
{
    end_line(s);
}

/* ---- the last lines ---- */

/* Progress bars overwrite their line: the last text counts. */
static const char *shown_part(const char *line, size_t *len)
{
    size_t n = *len;

    while (n && line[n - 1] == '\r')
        n--;
    const char *from = n ? memrchr(line, '\r', n) : NULL;
    from = from ? from + 1 : line;
    *len = (size_t)(line + n - from);
    return from;
}

/* The end of the log as it may be shown, without a line whose beginning is gone. */
static void show_tail(struct logscan *s)
{
    const char *from = s->tail, *end = from + s->tail_len;
    const char *newline = memchr(from, '\n', s->tail_len);

    while (end > from && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    if (s->tail_cut && newline && newline < end)
        from = newline + 1;
    for (const char *next; from < end; from = next) {
        newline = memchr(from, '\n', (size_t)(end - from));
        next = newline ? newline + 1 : end;
        size_t len = (size_t)((newline ? newline : end) - from);
        const char *line = shown_part(from, &len);
        buf_add(&s->last, line, len);
        buf_puts(&s->last, newline ? "\n" : "");
    }
    if (s->last.len)
        make_printable(s->last.data, s->last.len);
}

const char *logscan_last_lines(struct logscan *s, size_t max)
{
    buf_clear(&s->last);
    buf_init(&s->last, 2 * TAIL_BYTES);
    show_tail(s);
    if (s->last.len <= max)
        return buf_str(&s->last);
    char *from = s->last.data + s->last.len - max;
    char *end = s->last.data + s->last.len;
    if (from[-1] == '\n')
        return from;
    char *newline = memchr(from, '\n', max);
    if (newline || max < 4)
        return newline ? newline + 1 : end;
    /* One line is too long: its end, which names the error in most messages. */
    memset(from, '.', 3);
    char *rest = from + 3;
    while (rest < end && ((unsigned char)*rest & 0xc0) == 0x80)
        rest++;
    memmove(from + 3, rest, (size_t)(end - rest) + 1);
    return from;
}
