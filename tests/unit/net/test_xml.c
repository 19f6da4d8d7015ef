#include "net/xml.h"

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

int main(void)
{
    check_xml();
    check_xml_text();
    return TAP_DONE();
}
