/* json_list: a JSON array written item by item, so that a million of them need no memory. All long
 * answers have this look: one item a line, in an array of their own or as a member of an object. */
#ifndef VIEW_JSON_LIST_H
#define VIEW_JSON_LIST_H

#include "base/json.h"

#include <stdbool.h>

struct json_list {
    FILE *out;
    bool begun;
    bool within; /* an object */
};

void json_list_begin(struct json_list *list, FILE *out);
/* One item, on a line of its own, with all digits of its numbers; takes the reference. */
int json_list_add(struct json_list *list, json_t *item, struct err *e);
/* What stands before the next item, for callers that write the item themselves. */
const char *json_list_next(struct json_list *list);
/* Ends the array alone; json_list_end also ends its object and the line. */
int json_list_close(struct json_list *list, struct err *e);
int json_list_end(struct json_list *list, struct err *e);

#endif
