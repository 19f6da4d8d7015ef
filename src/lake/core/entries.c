#include "lake/core/entries.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static int each_entry(struct cursor *c, lake_visit_entry *visit, void *context, struct err *e)
{
    if (cursor_start(c, e) < 0)
        return -1;
    while (cursor_path(c)) {
        if (cursor_open(c, e) < 0 || visit(context, &c->entry, e) < 0 || cursor_next(c, e) < 0)
            return -1;
    }
    return 0;
}

int entries_each(struct lake *l,
                 int64_t set_version,
                 const char *prefix,
                 lake_visit_entry *visit,
                 void *context,
                 struct err *e)
{
    AUTO_CLEAR(parts) struct parts parts = {0};
    AUTO_CLEAR(cursor)
    struct cursor c = {.l = l, .parts = &parts, .prefix = prefix, .set_version = set_version};

    if (parts_of(l, set_version, prefix, &parts, e) < 0)
        return -1;
    return each_entry(&c, visit, context, e);
}

/* The entry of path among these parts: 1, 0 or -1. */
static int find_in(struct lake *l,
                   struct parts *parts,
                   int64_t set_version,
                   const char *path,
                   struct lake_entry *out,
                   struct err *e)
{
    /* Of all paths that begin with these bytes, the one that has no more comes first. */
    AUTO_CLEAR(cursor)
    struct cursor c = {.l = l, .parts = parts, .prefix = path, .set_version = set_version};

    if (cursor_start(&c, e) < 0)
        return -1;
    const char *found = cursor_path(&c);
    if (!found || strcmp(found, path) != 0)
        return 0;
    if (cursor_open(&c, e) < 0)
        return -1;
    *out = c.entry;
    out->path = path;
    return 1;
}

int entries_find(
    struct lake *l, int64_t set_version, const char *path, struct lake_entry *out, struct err *e)
{
    AUTO_CLEAR(parts) struct parts parts = {0};

    if (parts_of(l, set_version, path, &parts, e) < 0)
        return -1;
    return find_in(l, &parts, set_version, path, out, e);
}

/* A path stands in one chunk of a set version at most, so no version is told twice. */
int entries_each_holder(struct lake *l,
                        const char *path,
                        int64_t version,
                        int (*visit)(void *context, int64_t set_version, struct err *e),
                        void *context,
                        struct err *e)
{
    AUTO_CLEAR(parts) struct parts parts = {0};

    if (parts_around(l, path, &parts, e) < 0)
        return -1;
    for (size_t i = 0; i < parts.n; i++) {
        AUTO_RESET struct db_query *q =
            db_query(l->db, e,
                     "SELECT DISTINCT set_version FROM set_part WHERE chunk = $1"
                     " ORDER BY set_version",
                     DB_INT(parts.items[i].chunk));
        struct parts one = {.items = &parts.items[i], .n = 1};
        struct lake_entry entry;
        int got = db_step(q, e); /* 0: gc is about to take it */
        int found = got == 1 ? find_in(l, &one, db_int(q, 0), path, &entry, e) : 0;
        for (; found == 1 && got == 1 && entry.version == version; got = db_step(q, e))
            if (visit(context, db_int(q, 0), e) < 0)
                return -1;
        if (found < 0 || got < 0)
            return -1;
    }
    return 0;
}

struct used {
    struct lake *l;
    const char *const *paths;
    char **lasts; /* NULL for none; behind all that is below a path; the path itself of a file */
    size_t n, i;
    int (*visit)(void *context, size_t i, const struct lake_entry *entry, struct err *e);
    void *context;
};

static void used_clear(struct used *u)
{
    for (size_t i = 0; i < u->n; i++)
        free(u->lasts[i]);
    free(u->lasts);
}

static bool is_tree(const char *path)
{
    return path[strlen(path) - 1] == '/';
}

static int visit_used(void *context, const struct lake_entry *entry, struct err *e)
{
    struct used *u = context;

    return u->visit(u->context, u->i, entry, e);
}

/* What one chunk holds of path i. */
static int each_used_in(struct used *u, struct part *part, size_t i, struct err *e)
{
    const char *path = u->paths[i];
    struct parts one = {.items = part, .n = 1};
    AUTO_CLEAR(cursor) struct cursor below = {.l = u->l, .parts = &one, .prefix = path};
    struct lake_entry entry;

    if (!path || strcmp(part->first, u->lasts[i]) > 0 || strcmp(part->last, path) < 0)
        return 0;
    u->i = i;
    if (is_tree(path))
        return each_entry(&below, visit_used, u, e);
    int found = find_in(u->l, &one, 0, path, &entry, e);
    return found == 1 ? visit_used(u, &entry, e) : found;
}

int entries_each_used(
    struct lake *l,
    const char *const *paths,
    size_t n,
    int (*visit)(void *context, size_t i, const struct lake_entry *entry, struct err *e),
    void *context,
    struct err *e)
{
    AUTO_CLEAR(used)
    struct used u = {.l = l, .paths = paths, .n = n, .visit = visit, .context = context};
    const char *first = NULL, *last = NULL;

    u.lasts = mem_zero(n + 1, sizeof *u.lasts);
    for (size_t i = 0; i < n; i++) {
        if (!paths[i])
            continue;
        u.lasts[i] = is_tree(paths[i]) ? path_after(paths[i]) : mem_dup(paths[i]);
        first = first && strcmp(first, paths[i]) < 0 ? first : paths[i];
        last = last && strcmp(last, u.lasts[i]) > 0 ? last : u.lasts[i];
    }
    for (int64_t after = 0; first;) {
        AUTO_CLEAR(parts) struct parts parts = {0};
        if (parts_used(l, after, first, last, &parts, e) < 0)
            return -1;
        for (size_t k = 0; k < parts.n; k++)
            for (size_t i = 0; i < n; i++)
                if (each_used_in(&u, &parts.items[k], i, e) < 0)
                    return -1;
        if (parts.n < PARTS_SOME)
            break;
        after = parts.items[parts.n - 1].chunk;
    }
    return 0;
}

int entries_each_held(struct lake *l,
                      const struct bits *except,
                      lake_visit_entry *visit,
                      int (*damaged)(void *context, const char *why, struct err *e),
                      void *context,
                      struct err *e)
{
    AUTO_CLEAR(bits) struct bits chunks = {0};
    int64_t chunk = 0;

    if (except && parts_held_without(l, except, &chunks, e) < 0)
        return -1;
    for (;;) {
        AUTO_CLEAR(parts) struct parts part = {0};
        AUTO_CLEAR(cursor) struct cursor c = {.l = l, .parts = &part, .prefix = "/"};
        struct err why = {0};
        int got = parts_next_held(l, &chunk, &part, &c.set_version, e);
        if (got <= 0)
            return got;
        if (except && !bits_has(&chunks, chunk))
            continue;
        if (part.n == 0)
            entries_damaged(l, c.set_version, &why);
        else if (each_entry(&c, visit, context, &why) == 0)
            continue;
        if (!damaged || (part.n > 0 && !c.damaged))
            return err_set(e, why.kind, "%s", why.text);
        if (damaged(context, why.text, e) < 0)
            return -1;
    }
}
