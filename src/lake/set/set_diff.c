/* Compares two set versions. `set diff` calls it. */
#include "base/mem.h"
#include "lake/set/internal.h"
#include "lake/set/set.h"

#include <string.h>

/* One side of a comparison. */
struct side {
    struct parts parts;
    struct cursor cursor;
};

static void side_clear(struct side *s)
{
    cursor_clear(&s->cursor);
    parts_clear(&s->parts);
}

static int side_open(struct side *s, struct lake *l, const struct lake_ref *ref, struct err *e)
{
    if (ref_ask(l, ref, LAKE_READ, e) < 0)
        return -1;
    if (ref->kind != LAKE_REF_SET)
        return ref_refuse(ref, REF_NOT_A_SET, e);
    s->cursor = (struct cursor){
        .l = l, .parts = &s->parts, .prefix = ref->path, .set_version = ref->set_version};
    if (parts_of(l, ref->set_version, ref->path, &s->parts, e) < 0)
        return -1;
    return cursor_start(&s->cursor, e);
}

/* Where both stand before the same chunk, there is nothing to see in it. */
static bool is_same_part(const struct side *a, const struct side *b)
{
    const struct part *x = cursor_whole(&a->cursor), *y = cursor_whole(&b->cursor);

    return x && y && sha256_equal(&x->hash, &y->hash);
}

/* Below 0: a's next path comes first, above 0: b's, 0: both have it. */
static int compare(const struct side *a, const struct side *b)
{
    const char *x = cursor_path(&a->cursor), *y = cursor_path(&b->cursor);

    return x && y ? strcmp(x, y) : x ? -1 : 1;
}

struct differ {
    struct lake *l;
    lake_visit_change *visit;
    void *context;
};

/* Files that may not be read are left out. */
static int tell(const struct differ *d,
                enum lake_set_change change,
                const struct lake_entry *before,
                const struct lake_entry *after,
                struct err *e)
{
    struct item_row row = {0};

    if (!d->l->admin && lake_file_find(d->l, before ? before->path : after->path, &row, e) < 0)
        return -1;
    if (!d->l->admin && !(row.may & LAKE_READ))
        return 0;
    return d->visit(d->context, change, before, after, e);
}

static int compare_entry(struct side *a, struct side *b, const struct differ *d, struct err *e)
{
    int order = compare(a, b), told = 0;

    if ((order <= 0 && cursor_open(&a->cursor, e) < 0) ||
        (order >= 0 && cursor_open(&b->cursor, e) < 0))
        return -1;
    const struct lake_entry *before = &a->cursor.entry, *after = &b->cursor.entry;
    if (order < 0)
        told = tell(d, LAKE_SET_REMOVED, before, NULL, e);
    else if (order > 0)
        told = tell(d, LAKE_SET_ADDED, NULL, after, e);
    else if (before->version != after->version)
        told = tell(d, LAKE_SET_CHANGED, before, after, e);
    if (told < 0 || (order <= 0 && cursor_next(&a->cursor, e) < 0) ||
        (order >= 0 && cursor_next(&b->cursor, e) < 0))
        return -1;
    return 0;
}

int lake_set_diff(struct lake *l,
                  const struct lake_ref *a,
                  const struct lake_ref *b,
                  lake_visit_change *visit,
                  void *context,
                  struct err *e)
{
    const struct differ d = {l, visit, context};
    AUTO_CLEAR(side) struct side x = {0};
    AUTO_CLEAR(side) struct side y = {0};

    if (side_open(&x, l, a, e) < 0 || side_open(&y, l, b, e) < 0)
        return -1;
    while (cursor_path(&x.cursor) || cursor_path(&y.cursor)) {
        if (is_same_part(&x, &y)) {
            if (cursor_skip(&x.cursor, e) < 0 || cursor_skip(&y.cursor, e) < 0)
                return -1;
        } else if (compare_entry(&x, &y, &d, e) < 0) {
            return -1;
        }
    }
    return 0;
}
