/* A lake for fuzzers: one for the whole run, removed at its end. Its versions have no content. */
#ifndef FUZZ_LAKE_H
#define FUZZ_LAKE_H

#include "base/file.h"
#include "base/mem.h"
#include "lake/core/internal.h"
#include "lake/set/internal.h"
#include "lake/set/set.h"

#include <assert.h>
#include <stdlib.h>

static char lake_home[] = "/tmp/tradewind-fuzz-XXXXXX";
static struct lake *lake;

static void close_lake(void)
{
    lake_free(lake);
    file_remove_tree(lake_home);
}

static void open_lake(void)
{
    struct err e = {0};

    assert(mkdtemp(lake_home));
    AUTO_MEM char *url = mem_printf("dir:%s/objects", lake_home);
    struct lake_options options = {
        .home = lake_home,
        .store = {.url = url},
        .caller = {.project = "fuzz", .user = "fuzz", .admin = true},
    };
    lake = lake_open(&options, &e);
    assert(lake);
    db_relax(lake->db);
    atexit(close_lake);
}

static void put_versions(const char *path, int versions)
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

static int add_to_set(void *context, const struct lake_entry *entry, struct err *e)
{
    return set_builder_add(context, entry, e);
}

/* Of all files. */
static void make_set(const char *name)
{
    struct lake_ref all = {.kind = LAKE_REF_TREE, .project = lake->project, .may = LAKE_READ};
    struct lake_set done;
    struct err e = {0};
    struct lake_made made;
    char root[] = "/";

    all.path = root;
    assert(db_begin(lake->db, &e) == 0 && lake_made_new(lake, lake->user, &made, &e) == 0);
    AUTO(set_builder) struct set_builder *b = set_builder_new(lake, name, &made, &e);
    assert(b && lake_each_file(lake, &all, add_to_set, b, &e) == 0 &&
           set_builder_finish(b, NULL, 0, &done, &e) == 0 && db_commit(lake->db, &e) == 0);
}

#endif
