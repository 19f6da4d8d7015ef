#include "lake/set_parts.h"

#include <string.h>

static int each_entry(struct set_cursor *c,
                      int (*visit)(void *context, const struct lake_entry *entry, struct err *e),
                      void *context,
                      struct err *e)
{
    if (set_cursor_start(c, e) < 0)
        return -1;
    while (set_cursor_path(c)) {
        if (set_cursor_open(c, e) < 0 || visit(context, &c->entry, e) < 0 ||
            set_cursor_next(c, e) < 0)
            return -1;
    }
    return 0;
}

int set_each(struct lake *l,
             int64_t set_version,
             const char *prefix,
             int (*visit)(void *context, const struct lake_entry *entry, struct err *e),
             void *context,
             struct err *e)
{
    AUTO_CLEAR(set_parts) struct set_parts parts = {0};
    AUTO_CLEAR(set_cursor)
    struct set_cursor c = {.l = l, .parts = &parts, .prefix = prefix, .set_version = set_version};

    if (set_parts_of(l, set_version, prefix, &parts, e) < 0)
        return -1;
    return each_entry(&c, visit, context, e);
}

int set_find(
    struct lake *l, int64_t set_version, const char *path, struct lake_entry *out, struct err *e)
{
    AUTO_CLEAR(set_parts) struct set_parts parts = {0};
    /* Of all paths that begin with these bytes, the one that has no more comes first. */
    AUTO_CLEAR(set_cursor)
    struct set_cursor c = {.l = l, .parts = &parts, .prefix = path, .set_version = set_version};

    if (set_parts_of(l, set_version, path, &parts, e) < 0 || set_cursor_start(&c, e) < 0)
        return -1;
    const char *found = set_cursor_path(&c);
    if (!found || strcmp(found, path) != 0)
        return 0;
    if (set_cursor_open(&c, e) < 0)
        return -1;
    *out = c.entry;
    out->path = path;
    return 1;
}

int set_each_held(struct lake *l,
                  int (*visit)(void *context, const struct lake_entry *entry, struct err *e),
                  void *context,
                  struct err *e)
{
    int64_t chunk = 0;
    int got;

    for (;;) {
        AUTO_CLEAR(set_parts) struct set_parts part = {0};
        AUTO_CLEAR(set_cursor) struct set_cursor c = {.l = l, .parts = &part, .prefix = "/"};
        if ((got = set_parts_next_held(l, chunk, &part, &c.set_version, e)) <= 0)
            return got;
        chunk = part.items[0].chunk;
        if (each_entry(&c, visit, context, e) < 0)
            return -1;
    }
}
