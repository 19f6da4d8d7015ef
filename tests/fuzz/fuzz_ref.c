/* Any text as a reference: it resolves to something whose own reference leads back to it, or it is
 * refused in words that can be printed. Paths survive escaping. */
#include "lake.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill_lake(void)
{
    open_lake();
    put_versions("/a", 3);
    put_versions("/a:2", 1);
    put_versions("/d/b@c", 2);
    put_versions("/d/%23", 1);
    put_versions("/d/e/f", 1);
    make_set("S");
}

static void survives_escaping(const char *text)
{
    AUTO_MEM char *escaped = lake_path_escape(text);
    AUTO_MEM char *back = lake_path_unescape(escaped);

    assert(strcmp(back, text) == 0 && !strpbrk(escaped, "#:@"));
}

static void leads_back(const struct lake_ref *ref)
{
    AUTO_CLEAR(lake_ref) struct lake_ref again = {0};
    AUTO_MEM char *text = lake_ref_text(ref);
    struct err e = {0};

    assert(lake_resolve(lake, text, LAKE_READ, &again, &e) == 0);
    /* A file that is named "/a:2" hides nothing: references are written with '#'. */
    assert(again.kind == ref->kind && again.number == ref->number &&
           again.version == ref->version && strcmp(again.path, ref->path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO_MEM char *text = mem_zero(size + 1, 1);
    struct err e = {0};

    if (!lake)
        fill_lake();
    memcpy(text, data, size);
    survives_escaping(text);
    if (lake_resolve(lake, text, LAKE_READ, &ref, &e) == 0) {
        leads_back(&ref);
        return 0;
    }
    assert(e.kind == ERR_USAGE || e.kind == ERR_NOTFOUND);
    for (const char *c = e.text; *c; c++)
        assert((unsigned char)*c >= 0x20 && *c != 0x7f);
    return 0;
}
