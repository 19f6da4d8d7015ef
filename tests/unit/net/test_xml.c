#include "net/xml.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "tap.h"

#include <string.h>

/* Writes down what it sees as "parent/name=text;". */
static int note(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    buf_printf(context, "%s/%s=%s;", parent, name, text);
    return strcmp(name, "Stop") == 0 ? err_set(e, ERR_USAGE, "stopped") : 0;
}

static void check_xml(void)
{
    static const struct {
        const char *xml, *seen; /* NULL = an error */
    } cases[] = {
        {"<a><b>1</b><b>2</b></a>", "a/b=1;a/b=2;/a=;"},
        {"\n\n <?xml version=\"1.0\"?>\n<a xmlns=\"urn:x\"> <b>x &amp; &lt;y&gt; &#65;</b> </a>",
         "a/b=x & <y> A;/a=;"},
        {"<a><b/></a>", "a/b=;/a=;"},
        {"<a><b>1</a>", NULL},
        {"<a>", NULL},
        {"", NULL},
        {"no xml", NULL},
        {"<x:a xmlns:x=\"urn:x\"><x:b>1</x:b></x:a>", "a/b=1;/a=;"},
        {"<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", NULL},
        {"<a><a><a><a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a></a></a></a>"
         "</a>",
         NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(buf) struct buf seen = {0};
        struct err e = {0};
        buf_init(&seen, 1000);
        int result = xml_read(cases[i].xml, strlen(cases[i].xml), note, &seen, &e);
        if (cases[i].seen)
            CHECK(result == 0 && strcmp(buf_str(&seen), cases[i].seen) == 0, "XML %zu: %s", i,
                  buf_str(&seen));
        else
            CHECK(result < 0 && e.kind == ERR_IO, "XML %zu: %s", i, e.text);
    }
    AUTO_CLEAR(buf) struct buf seen = {0};
    struct err e = {0};
    buf_init(&seen, 1000);
    CHECK(xml_read("<a><Stop/><b/></a>", 18, note, &seen, &e) < 0 && e.kind == ERR_USAGE &&
              strcmp(buf_str(&seen), "a/Stop=;") == 0,
          "a visit that fails ends it: %s", buf_str(&seen));
}

static void check_xml_text(void)
{
    AUTO_CLEAR(buf) struct buf b = {0};
    AUTO_CLEAR(buf) struct buf seen = {0};

    buf_init(&b, 100);
    xml_put(&b, "\"a\" <&> b");
    CHECK(strcmp(buf_str(&b), "\"a\" &lt;&amp;&gt; b") == 0, "escaped: %s", buf_str(&b));
    /* Longer texts than any key are cut, not refused. */
    AUTO_MEM char *xml = mem_printf("<a><b>%05000d</b></a>", 0);
    buf_init(&seen, 10000);
    CHECK(xml_read(xml, strlen(xml), note, &seen, NULL) == 0 &&
              seen.len == strlen("a/b=;/a=;") + XML_TEXT_BYTES - 1,
          "a long text is cut to %zu bytes", seen.len);
}

static void check_tree(void)
{
    static const char text[] =
        "<?xml version=\"1.0\"?>\n<R xmlns=\"http://x/\"><set>\n <item><id>\n i-1 \n</id>"
        "<at><zone>a</zone></at></item><ns:item xmlns:ns=\"y\"><id>&lt;2&amp;</id></ns:item>"
        "</set><none/></R>";
    AUTO(arena) struct arena *a = arena_new(1 << 20);
    AUTO(arena) struct arena *small = arena_new(64);
    struct err e = {0};
    const struct xml *x = xml_tree(a, text, strlen(text), &e);

    CHECK(x && strcmp(x->name, "R") == 0 && !x->next, "the root: %s", e.text);
    const struct xml *item = xml_items(x, "set");
    CHECK(item && strcmp(xml_text(item, "id"), "i-1") == 0, "without white space around a text");
    CHECK(strcmp(xml_text(item, "at/zone"), "a") == 0, "by a path");
    CHECK(item->next && strcmp(item->next->name, "item") == 0 &&
              strcmp(xml_text(item->next, "id"), "<2&") == 0 && !item->next->next,
          "the second of a set, without prefix, with entities");
    CHECK(strcmp(xml_text(x, "none"), "") == 0 && !xml_items(x, "none") && !xml_at(x, "set/no"),
          "empty and missing elements");
    CHECK(strcmp(xml_text(NULL, "a"), "") == 0 && !xml_at(NULL, "a"), "of nothing: nothing");
    CHECK(!xml_tree(a, text, strlen(text) - 20, &e) && e.kind == ERR_IO, "cut: %s", e.text);
    e = (struct err){0};
    CHECK(!xml_tree(small, text, strlen(text), &e) && strstr(e.text, "too large"),
          "past the arena's cap: %s", e.text);
}

int main(void)
{
    check_tree();
    check_xml();
    check_xml_text();
    return TAP_DONE();
}
