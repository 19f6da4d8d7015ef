/* s3_xml: the XML of S3's answers, element by element. */
#ifndef STORE_S3_XML_H
#define STORE_S3_XML_H

#include "base/err.h"

#include <stddef.h>

/* Longer texts of an element are cut: keys have at most 1,024 bytes, three times that encoded. */
#define S3_XML_TEXT 4096

/* Calls visit at the end of every element, with the name of the one around it ("" for the root).
 * text is what stands in an element without children, "" for others. A visit that fails ends it.
 * ERR_IO for what is no XML, is nested deeper than any answer, or brings a document type. */
int s3_xml_read(const char *bytes,
                size_t n,
                int (*visit)(void *context,
                             const char *parent,
                             const char *name,
                             const char *text,
                             struct err *e),
                void *context,
                struct err *e);

struct buf;
/* Appends text with & < > escaped. */
void s3_xml_put(struct buf *b, const char *text);

#endif
