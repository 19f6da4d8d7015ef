/* Any text as a reference: it resolves to something whose own reference leads back to it, or it is
 * refused in words that can be printed. Paths survive escaping. */
#include "base/file.h"
#include "base/mem.h"
#include "lake/core/internal.h"
#include "lake/set/internal.h"
#include "lake/set/set.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One lake for the whole run, removed at its end. */
static char home[] = "/tmp/tradewind-fuzz-XXXXXX";
static struct lake *lake;

static void close_lake(void)
{
    lake_free(lake);
    file_remove_tree(home);
}

static void put(const char *path, int versions)
{
    struct err e = {0};
    struct lake_made made;

    assert(db_begin(lake->db, &e) == 0 && lake_made_new(lake, lake->user, &made, &e) == 0);
    AUTO(version_rows) struct version_rows *rows = version_rows_new(lake, &made);
    for (int i = 0; i < versions; i++) {
        struct store_content content = {
            .digest = sha256_of(&i, sizeof i),
            .place = {.blob = "p-fuzz", .size = 1},
        };
        struct version_new v = {.path = path};
        struct version_done done;
        assert(object_keep(lake, &content, &v.object, &e) == 0 &&
               version_rows_add(rows, &v, &done, &e) == 0);
    }
    assert(db_commit(lake->db, &e) == 0);
}

static int add(void *context, const struct lake_entry *entry, struct err *e)
{
    return set_builder_add(context, entry, e);
}

static void make_set(void)
{
    struct lake_ref all = {.kind = LAKE_REF_TREE, .project = lake->project, .may = LAKE_READ};
    struct lake_set done;
    struct err e = {0};
    struct lake_made made;
    char root[] = "/";

    all.path = root;
    assert(db_begin(lake->db, &e) == 0 && lake_made_new(lake, lake->user, &made, &e) == 0);
    AUTO(set_builder) struct set_builder *b = set_builder_new(lake, "S", &made, &e);
    assert(b && lake_each_file(lake, &all, add, b, &e) == 0 &&
           set_builder_finish(b, NULL, 0, &done, &e) == 0 && db_commit(lake->db, &e) == 0);
}

static void open_lake(void)
{
    struct err e = {0};

    assert(mkdtemp(home));
    AUTO_MEM char *url = mem_printf("dir:%s/objects", home);
    struct lake_options options = {
        .home = home,
        .store = {.url = url},
        .caller = {.project = "fuzz", .user = "fuzz", .admin = true},
    };
    lake = lake_open(&options, &e);
    assert(lake);
    atexit(close_lake);
    put("/a", 3);
    put("/a:2", 1);
    put("/d/b@c", 2);
    put("/d/%23", 1);
    put("/d/e/f", 1);
    make_set();
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
        open_lake();
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
