/* objects: objects of a bucket that other programs wrote, for reading only. The store is one that
 * store_open made of "s3://BUCKET". */
#ifndef STORE_OBJECTS_H
#define STORE_OBJECTS_H

#include "store/store.h"

struct store_object {
    const char *key;
    uint64_t size;
    const char *etag; /* without quotes; "" = the server told none */
};
/* All objects whose keys begin so, in the order of the server. */
int store_objects_list(struct store *s,
                       const char *prefix,
                       int (*visit)(void *context, const struct store_object *o, struct err *e),
                       void *context,
                       struct err *e);
int store_object_read(
    struct store *s, const char *key, uint64_t offset, void *bytes, size_t n, struct err *e);

#endif
