/* array: a JSON array written item by item, so that a million of them need no memory. All long
 * answers have this look: one item a line, in an array of their own or as a member of an object. */
#ifndef VIEW_ARRAY_H
#define VIEW_ARRAY_H

#include "base/json.h"

#include <stdbool.h>

struct array {
    FILE *out;
    bool begun;
    bool within; /* an object */
};

void array_begin(struct array *list, FILE *out);
/* One item, on a line of its own, with all digits of its numbers; takes the reference. */
int array_add(struct array *list, json_t *item, struct err *e);
/* What stands before the next item, for callers that write the item themselves. */
const char *array_next(struct array *list);
/* Ends the array alone; array_end also ends its object and the line. */
int array_close(struct array *list, struct err *e);
int array_end(struct array *list, struct err *e);

#endif
