/* xml: the XML of answers of cloud services, element by element. */
#ifndef NET_XML_H
#define NET_XML_H

#include "base/err.h"

#include <stddef.h>

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
/* Appends text with & < > escaped. */
void xml_put(struct buf *b, const char *text);

#endif
