/* json_list: a JSON array written item by item, so that a million of them need no memory. */
#ifndef CLI_JSON_LIST_H
#define CLI_JSON_LIST_H

#include "base/json.h"

#include <stdbool.h>

struct json_list {
    FILE *out;
    bool begun;
};

void json_list_begin(struct json_list *list, FILE *out);
/* One item, on a line of its own; takes the reference. */
int json_list_add(struct json_list *list, json_t *item, struct err *e);
int json_list_end(struct json_list *list, struct err *e);

#endif
