/* xml: the XML of answers of cloud services, element by element. */
#ifndef NET_XML_H
#define NET_XML_H

#include "base/err.h"

#include <stddef.h>

struct arena;
struct buf;

/* Longer texts of an element are cut: keys of S3 have at most 1,024 bytes, three times that
 * encoded. */
#define XML_TEXT_BYTES 4096

typedef int xml_visit(
    void *context, const char *parent, const char *name, const char *text, struct err *e);
/* Calls visit at the end of every element, with the name of the one around it ("" for the root);
 * names come without their namespace. text is what stands in an element without children, "" for
 * others. A visit that fails ends it. ERR_IO for what is no XML, is nested deeper than any answer,
 * or brings a document type. */
int xml_read(const char *bytes, size_t n, xml_visit *visit, void *context, struct err *e);

/* The same document as a tree, for answers that nest their lists. text: without white space around
 * it. */
struct xml {
    const char *name, *text;
    const struct xml *first, *next; /* its first child; what follows it in its parent */
};
/* The root; all of it lives in a. NULL: as xml_read, or more than the arena holds. */
const struct xml *xml_tree(struct arena *a, const char *bytes, size_t n, struct err *e);
/* The element at a path of names below x, "placement/availabilityZone", the first of each name.
 * NULL: x is NULL or has none. */
const struct xml *xml_at(const struct xml *x, const char *path);
/* Its text; "" = none. */
const char *xml_text(const struct xml *x, const char *path);
/* The first child of the element at path, whose next are the others; NULL = none. */
const struct xml *xml_items(const struct xml *x, const char *path);

/* Appends text with & < > escaped. */
void xml_put(struct buf *b, const char *text);

#endif
