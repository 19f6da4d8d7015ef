#include "net/xml.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"

#include <expat.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 12
#define NAME_BYTES 64

struct walk {
    XML_Parser parser;
    char names[DEPTH_MAX][NAME_BYTES]; /* of the open elements; the root is the first */
    size_t depth;
    char text[XML_TEXT_BYTES];
    size_t text_len;
    bool leaf; /* nothing has ended inside the innermost open element */
    bool failed;
    xml_visit *visit;
    void *context;
    struct err *e;
};

static void stop(struct walk *w)
{
    w->failed = true;
    XML_StopParser(w->parser, XML_FALSE);
}

static void XMLCALL begin(void *context, const XML_Char *name, const XML_Char **attributes)
{
    struct walk *w = context;

    (void)attributes;
    if (w->depth == DEPTH_MAX) {
        err_set(w->e, ERR_IO, "the XML is nested too deeply");
        stop(w);
        return;
    }
    const char *colon = strrchr(name, ':');
    snprintf(w->names[w->depth++], NAME_BYTES, "%s", colon ? colon + 1 : name);
    w->text_len = 0;
    w->leaf = true;
}

static void XMLCALL add_text(void *context, const XML_Char *bytes, int n)
{
    struct walk *w = context;
    size_t room = sizeof w->text - 1 - w->text_len, take = (size_t)n < room ? (size_t)n : room;

    memcpy(w->text + w->text_len, bytes, take);
    w->text_len += take;
}

static void XMLCALL end(void *context, const XML_Char *name)
{
    struct walk *w = context;

    (void)name;
    if (w->failed)
        return;
    w->depth--;
    w->text[w->leaf ? w->text_len : 0] = '\0';
    const char *parent = w->depth ? w->names[w->depth - 1] : "";
    if (w->visit(w->context, parent, w->names[w->depth], w->text, w->e) < 0)
        stop(w);
    w->leaf = false;
}

/* No answer has one, and its entities are how small documents become large ones. */
static void XMLCALL refuse_doctype(void *context,
                                   const XML_Char *name,
                                   const XML_Char *system_id,
                                   const XML_Char *public_id,
                                   int internal)
{
    struct walk *w = context;

    (void)name;
    (void)system_id;
    (void)public_id;
    (void)internal;
    err_set(w->e, ERR_IO, "the XML brings a document type");
    stop(w);
}

int xml_read(const char *bytes, size_t n, xml_visit *visit, void *context, struct err *e)
{
    AUTO_MEM struct walk *w = mem_zero(1, sizeof *w);

    /* A server that takes long may send white space first, to keep the connection open. */
    while (n && strchr(" \t\r\n", *bytes) && *bytes) {
        bytes++;
        n--;
    }
    w->visit = visit;
    w->context = context;
    w->e = e;
    if (n > INT_MAX)
        return err_set(e, ERR_IO, "the XML is too large");
    w->parser = XML_ParserCreate(NULL);
    if (!w->parser)
        return err_set(e, ERR_IO, "no memory to read XML");
    XML_SetUserData(w->parser, w);
    XML_SetElementHandler(w->parser, begin, end);
    XML_SetCharacterDataHandler(w->parser, add_text);
    XML_SetStartDoctypeDeclHandler(w->parser, refuse_doctype);
    bool good = XML_Parse(w->parser, bytes, (int)n, XML_TRUE) == XML_STATUS_OK;
    if (!good && !w->failed)
        err_set(e, ERR_IO, "not XML: %s in line %lu", XML_ErrorString(XML_GetErrorCode(w->parser)),
                (unsigned long)XML_GetCurrentLineNumber(w->parser));
    XML_ParserFree(w->parser);
    return good ? 0 : -1;
}

void xml_put(struct buf *b, const char *text)
{
    for (; *text; text++) {
        if (strchr("&<>", *text))
            buf_puts(b, *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : "&gt;");
        else
            buf_add(b, text, 1);
    }
}
