/* A new version of a set from newer versions of the sets it was made from. `replay` calls it. */
#include "base/arena.h"
#include "base/mem.h"
#include "lake/core/bits.h"
#include "lake/core/internal.h"
#include "lake/set/graph.h"
#include "lake/set/internal.h"
#include "lake/set/set.h"

#include <stdlib.h>
#include <string.h>

/* Some ten million files. */
#define ARENA_BYTES ((size_t)1 << 31)

struct file {
    struct lake_entry entry; /* its path is in the arena */
    size_t order;            /* of two with one path the later wins */
    bool held;               /* of an old set version: base holds it */
};

struct files {
    struct file *items;
    size_t n, cap;
};

struct swapping {
    struct lake *l;
    struct arena *arena;
    struct bits held;     /* ids of file versions that base holds */
    struct bits dropped;  /* of these: those an old set version holds, too */
    struct bits replaced; /* ids of old set versions */
    struct files result;
    struct files old; /* of the swap at hand */
    size_t order;     /* of the swap at hand */
    int64_t now;      /* its new set version */
    int64_t *parents; /* of the result */
    size_t n_parents, cap_parents;
};

static void swapping_clear(struct swapping *s)
{
    arena_free(s->arena);
    bits_clear(&s->held);
    bits_clear(&s->dropped);
    bits_clear(&s->replaced);
    free(s->result.items);
    free(s->old.items);
    free(s->parents);
}

static int add(struct swapping *s, struct files *to, const struct lake_entry *entry, struct err *e)
{
    const char *path = arena_dup(s->arena, entry->path);

    if (!path)
        return err_set(e, ERR_NOFIT, "the sets have too many files to be joined");
    to->items = mem_room(to->items, to->n, &to->cap, sizeof *to->items);
    to->items[to->n] =
        (struct file){*entry, .order = s->order, .held = bits_has(&s->held, entry->version)};
    to->items[to->n++].entry.path = path;
    return 0;
}

static int note_held(void *context, const struct lake_entry *entry, struct err *e)
{
    (void)e;
    bits_add(&((struct swapping *)context)->held, entry->version);
    return 0;
}

static int add_old(void *context, const struct lake_entry *entry, struct err *e)
{
    struct swapping *s = context;

    if (bits_has(&s->held, entry->version))
        bits_add(&s->dropped, entry->version);
    return add(s, &s->old, entry, e);
}

static int add_new(void *context, const struct lake_entry *entry, struct err *e)
{
    struct swapping *s = context;

    return add(s, &s->result, entry, e);
}

static int add_kept(void *context, const struct lake_entry *entry, struct err *e)
{
    const struct swapping *s = context;

    return bits_has(&s->dropped, entry->version) ? 0 : add_new(context, entry, e);
}

/* ---- which directories of the old one base held ---- */

static int take_file(struct swapping *s, const struct file *old, struct err *e)
{
    struct lake_entry entry;
    int found = old->held ? entries_find(s->l, s->now, old->entry.path, &entry, e) : 0;

    return found > 0 ? add_new(s, &entry, e) : found;
}

static size_t count_held(const struct swapping *s, size_t from, size_t to)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        n += s->old.items[i].held;
    return n;
}

/* Files from .. to of the old one lie in the directory that the first `len` bytes of their paths
 * name. As deep as paths are. */
static int take_directory(struct swapping *s, size_t from, size_t to, size_t len, struct err *e)
{
    size_t held = count_held(s, from, to);

    if (held == 0)
        return 0;
    if (held == to - from) {
        AUTO_MEM char *directory = mem_printf("%.*s", (int)len, s->old.items[from].entry.path);
        return entries_each(s->l, s->now, directory, add_new, s, e);
    }
    for (size_t i = from; i < to;) {
        const char *path = s->old.items[i].entry.path;
        size_t part = strcspn(path + len, "/"), end = i + 1;
        if (!path[len + part]) {
            if (take_file(s, &s->old.items[i++], e) < 0)
                return -1;
            continue;
        }
        size_t below = len + part + 1;
        while (end < to && strncmp(s->old.items[end].entry.path, path, below) == 0)
            end++;
        if (take_directory(s, i, end, below, e) < 0)
            return -1;
        i = end;
    }
    return 0;
}

/* ---- its parents ---- */

static void add_parent(struct swapping *s, int64_t id)
{
    s->parents = mem_room(s->parents, s->n_parents, &s->cap_parents, sizeof *s->parents);
    s->parents[s->n_parents++] = id;
}

static int add_parents(struct swapping *s, int64_t base, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(s->l->db, e, "SELECT parent FROM edge WHERE child = $1 AND kind = $2 ORDER BY seq",
                 DB_INT(base), DB_INT(LAKE_EDGE_CREATE));
    int row;

    while ((row = db_step(q, e)) == 1)
        if (!bits_has(&s->replaced, db_int(q, 0)))
            add_parent(s, db_int(q, 0));
    return row;
}

/* ---- all ---- */

static int swap_one(struct swapping *s, const struct lake_swap *swap, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref before = {0};
    AUTO_CLEAR(lake_ref) struct lake_ref after = {0};

    if (lake_resolve(s->l, swap->old_set, LAKE_READ, &before, e) < 0 ||
        lake_resolve(s->l, swap->new_set, LAKE_READ, &after, e) < 0)
        return -1;
    if (before.kind != LAKE_REF_SET || after.kind != LAKE_REF_SET)
        return err_set(e, ERR_USAGE,
                       "%.100s and %.100s: only set versions can take each other's "
                       "place",
                       swap->old_set, swap->new_set);
    s->order++;
    s->old.n = 0;
    s->now = after.set_version;
    bits_add(&s->replaced, before.set_version);
    add_parent(s, after.set_version);
    if (entries_each(s->l, before.set_version, "/", add_old, s, e) < 0)
        return -1;
    return take_directory(s, 0, s->old.n, 1, e);
}

static int by_path(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    int order = strcmp(x->entry.path, y->entry.path);

    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static int build(struct swapping *s, const char *name, struct lake_set *out, struct err *e)
{
    struct lake_made made;
    struct files *r = &s->result;

    if (r->n == 0)
        return err_set(e, ERR_NOTFOUND, "the newer sets have none of the files that it held");
    qsort(r->items, r->n, sizeof *r->items, by_path);
    if (lake_made_new(s->l, s->l->user, &made, e) < 0)
        return -1;
    AUTO(set_builder) struct set_builder *b = set_builder_new(s->l, name, &made, e);
    if (!b)
        return -1;
    for (size_t i = 0; i < r->n; i++) {
        if (i + 1 < r->n && !strcmp(r->items[i].entry.path, r->items[i + 1].entry.path))
            continue;
        if (set_builder_add(b, &r->items[i].entry, e) < 0)
            return -1;
    }
    return set_builder_finish(b, s->parents, s->n_parents, out, e);
}

static int swap_all(struct swapping *s,
                    const struct lake_ref *base,
                    const struct lake_swap *swaps,
                    size_t n,
                    struct lake_set *out,
                    struct err *e)
{
    if (entries_each(s->l, base->set_version, "/", note_held, s, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (swap_one(s, &swaps[i], e) < 0)
            return -1;
    s->order = 0;
    if (entries_each(s->l, base->set_version, "/", add_kept, s, e) < 0 ||
        add_parents(s, base->set_version, e) < 0)
        return -1;
    return build(s, base->set_name, out, e);
}

int lake_set_swap(struct lake *l,
                  const struct lake_ref *base,
                  const struct lake_swap *swaps,
                  size_t n,
                  struct lake_set *out,
                  struct err *e)
{
    AUTO_CLEAR(swapping) struct swapping s = {.l = l, .arena = arena_new(ARENA_BYTES)};

    if (!base->set_version)
        return err_set(e, ERR_USAGE, "only what comes by a set can be made anew from other sets");
    if (ref_ask(l, base, LAKE_READ, e) < 0 || db_begin(l->db, e) < 0)
        return -1;
    if (db_end(l->db, swap_all(&s, base, swaps, n, out, e), e) < 0)
        return err_wrap(e, "make @%s anew", base->set_name);
    out->name = base->set_name;
    return 0;
}
