#include "view/json_list.h"

#include "base/auto.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Bytes of most items. */
#define ITEM_USUAL 2048

static int failed(struct err *e)
{
    return err_set(e, ERR_IO, "write JSON: %s", errno ? strerror(errno) : "output failed");
}

void json_list_begin(struct json_list *list, FILE *out)
{
    *list = (struct json_list){.out = out};
}

int json_list_begin_within(
    struct json_list *list, FILE *out, const json_t *head, const char *key, struct err *e)
{
    static const char end[] = "\n}";
    AUTO_MEM char *text = json_dumps(head, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

    assert(json_object_size(head) > 0);
    *list = (struct json_list){.out = out, .within = true};
    errno = 0;
    if (!text)
        return failed(e);
    text[strlen(text) - strlen(end)] = 0;
    return fprintf(out, "%s,\n  \"%s\": ", text, key) < 0 ? failed(e) : 0;
}

/* ---- flat items ---- */

struct line {
    char text[ITEM_USUAL];
    size_t n;
    bool is_other; /* something is in it that Jansson has to write */
};

static void put(struct line *l, const char *text, size_t n)
{
    l->is_other = l->is_other || n > sizeof l->text - l->n;
    if (l->is_other)
        return;
    memcpy(l->text + l->n, text, n);
    l->n += n;
}

static void put_string(struct line *l, const char *text, size_t n)
{
    for (size_t i = 0; i < n && !l->is_other; i++)
        l->is_other = (unsigned char)text[i] < ' ' || text[i] == '"' || text[i] == '\\';
    put(l, "\"", 1);
    put(l, text, n);
    put(l, "\"", 1);
}

static void put_value(struct line *l, const json_t *value)
{
    char digits[32];

    if (json_is_string(value)) {
        put_string(l, json_string_value(value), json_string_length(value));
    } else if (json_is_integer(value)) {
        int n = snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        put(l, digits, (size_t)n);
    } else if (json_is_null(value)) {
        put(l, "null", 4);
    } else {
        l->is_other = true;
    }
}

/* An object of whole numbers and texts without escapes, as Jansson would write it, which looks at
 * every character as UTF-8 and keeps a table of parents for each item: half of the time of a long
 * list. False: it is something else. */
static bool put_flat(struct line *l, json_t *item)
{
    const char *key;
    json_t *value;

    l->n = 0;
    l->is_other = json_object_size(item) == 0;
    json_object_foreach(item, key, value)
    {
        put(l, l->n ? ", " : "{", l->n ? 2 : 1);
        put_string(l, key, strlen(key));
        put(l, ": ", 2);
        put_value(l, value);
        if (l->is_other)
            return false;
    }
    put(l, "}", 1);
    return !l->is_other;
}

/* ---- any items ---- */

/* In one piece where that is possible: Jansson writes a file word by word, which takes longer than
 * all the rest. */
static int write_item(FILE *out, json_t *item)
{
    struct line line;

    if (put_flat(&line, item))
        return fwrite(line.text, 1, line.n, out) == line.n ? 0 : -1;
    size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(json_digits(item));
    char text[ITEM_USUAL];
    size_t n = json_dumpb(item, text, sizeof text, flags);

    if (n == 0 || n > sizeof text)
        return json_dumpf(item, out, flags);
    return fwrite(text, 1, n, out) == n ? 0 : -1;
}

int json_list_add(struct json_list *list, json_t *item, struct err *e)
{
    errno = 0;
    fputs(list->begun ? ",\n  " : "[\n  ", list->out);
    fputs(list->within ? "  " : "", list->out);
    list->begun = true;
    int result = write_item(list->out, item);
    json_decref(item);
    return result < 0 ? failed(e) : 0;
}

int json_list_end(struct json_list *list, struct err *e)
{
    const char *end = !list->begun ? "[]" : list->within ? "\n  ]" : "\n]";

    errno = 0;
    return fprintf(list->out, "%s\n%s", end, list->within ? "}\n" : "") < 0 ? failed(e) : 0;
}
