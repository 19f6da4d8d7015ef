#include "cli/json_list.h"

#include <errno.h>
#include <string.h>

static int failed(struct err *e)
{
    return err_set(e, ERR_IO, "write JSON: %s", errno ? strerror(errno) : "output failed");
}

void json_list_begin(struct json_list *list, FILE *out)
{
    *list = (struct json_list){.out = out};
}

int json_list_add(struct json_list *list, json_t *item, struct err *e)
{
    errno = 0;
    fputs(list->begun ? ",\n  " : "[\n  ", list->out);
    list->begun = true;
    int result = json_dumpf(item, list->out, JSON_REAL_PRECISION(15));
    json_decref(item);
    return result < 0 ? failed(e) : 0;
}

int json_list_end(struct json_list *list, struct err *e)
{
    errno = 0;
    return fputs(list->begun ? "\n]\n" : "[]\n", list->out) == EOF ? failed(e) : 0;
}
