#include "view/array.h"

#include <errno.h>
#include <string.h>

/* Bytes of most items. */
#define ITEM_USUAL 2048

static int failed(struct err *e)
{
    return err_set(e, ERR_IO, "write JSON: %s", errno ? strerror(errno) : "output failed");
}

void array_begin(struct array *list, FILE *out)
{
    *list = (struct array){.out = out};
}

/* In one piece where that is possible: Jansson writes a file word by word, which takes longer than
 * all the rest. */
static int write_item(FILE *out, json_t *item)
{
    size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(json_digits(item));
    char text[ITEM_USUAL];
    size_t n = json_dumpb(item, text, sizeof text, flags);

    if (n == 0 || n > sizeof text)
        return json_dumpf(item, out, flags);
    return fwrite(text, 1, n, out) == n ? 0 : -1;
}

const char *array_next(struct array *list)
{
    const char *first = list->within ? "[\n    " : "[\n  ";
    const char *other = list->within ? ",\n    " : ",\n  ";
    bool is_first = !list->begun;

    list->begun = true;
    return is_first ? first : other;
}

int array_add(struct array *list, json_t *item, struct err *e)
{
    errno = 0;
    fputs(array_next(list), list->out);
    int result = write_item(list->out, item);
    json_decref(item);
    return result < 0 ? failed(e) : 0;
}

int array_close(struct array *list, struct err *e)
{
    errno = 0;
    return fputs(!list->begun   ? "[]"
                 : list->within ? "\n  ]"
                                : "\n]",
                 list->out) < 0
               ? failed(e)
               : 0;
}

int array_end(struct array *list, struct err *e)
{
    if (array_close(list, e) < 0)
        return -1;
    return fputs(list->within ? "\n}\n" : "\n", list->out) < 0 ? failed(e) : 0;
}
