#include "net/xml.h"

#include "base/arena.h"
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

/* A tree on its way: by depth, the elements that have ended and whose parent has not. */
struct growth {
    struct arena *arena;
    struct xml *first[DEPTH_MAX + 1], *last[DEPTH_MAX + 1];
};

struct walk {
    XML_Parser parser;
    char names[DEPTH_MAX][NAME_BYTES]; /* of the open elements; the root is the first */
    size_t depth;
    char text[XML_TEXT_BYTES];
    size_t text_len;
    bool leaf; /* nothing has ended inside the innermost open element */
    bool failed;
    xml_visit *visit; /* NULL: the tree grows */
    void *context;
    struct growth *tree;
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

static int grow(struct walk *w)
{
    static const char blanks[] = " \t\r\n";
    struct growth *t = w->tree;
    size_t depth = w->depth, n;
    const char *text = w->text + strspn(w->text, blanks);
    struct xml *x = arena_alloc(t->arena, 1, sizeof *x);

    for (n = strlen(text); n && strchr(blanks, text[n - 1]); n--)
        ;
    if (!x || !(x->name = arena_dup(t->arena, w->names[depth])) ||
        !(x->text = arena_dup_n(t->arena, text, n)))
        return err_set(w->e, ERR_IO, "the XML is too large");
    x->first = t->first[depth + 1];
    t->first[depth + 1] = t->last[depth + 1] = NULL;
    if (t->last[depth])
        t->last[depth]->next = x;
    else
        t->first[depth] = x;
    t->last[depth] = x;
    return 0;
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
    if ((w->visit ? w->visit(w->context, parent, w->names[w->depth], w->text, w->e) : grow(w)) < 0)
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

static int walk_all(struct walk *w, const char *bytes, size_t n, struct err *e)
{
    /* A server that takes long may send white space first, to keep the connection open. */
    while (n && strchr(" \t\r\n", *bytes) && *bytes) {
        bytes++;
        n--;
    }
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

int xml_read(const char *bytes, size_t n, xml_visit *visit, void *context, struct err *e)
{
    AUTO_MEM struct walk *w = mem_zero(1, sizeof *w);

    w->visit = visit;
    w->context = context;
    return walk_all(w, bytes, n, e);
}

/* ---- as a tree ---- */

const struct xml *xml_tree(struct arena *a, const char *bytes, size_t n, struct err *e)
{
    AUTO_MEM struct walk *w = mem_zero(1, sizeof *w);
    struct growth tree = {.arena = a};

    w->tree = &tree;
    return walk_all(w, bytes, n, e) < 0 ? NULL : tree.first[0];
}

const struct xml *xml_at(const struct xml *x, const char *path)
{
    while (x && *path) {
        size_t n = strcspn(path, "/");
        for (x = x->first; x; x = x->next)
            if (strncmp(x->name, path, n) == 0 && !x->name[n])
                break;
        path += n + (path[n] == '/');
    }
    return x;
}

const char *xml_text(const struct xml *x, const char *path)
{
    const struct xml *at = xml_at(x, path);

    return at ? at->text : "";
}

const struct xml *xml_items(const struct xml *x, const char *path)
{
    const struct xml *at = xml_at(x, path);

    return at ? at->first : NULL;
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
