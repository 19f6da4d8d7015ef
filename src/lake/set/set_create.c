/* Creates a set version from references. `set create` calls it. */
#include "base/mem.h"
#include "lake/set/internal.h"
#include "lake/set/set.h"

#include <stdlib.h>
#include <string.h>

/* One reference of a creation: its files as chunks, stored ones of a set, else in memory. Encoded,
 * a million files take some 15 MB. */
struct source {
    struct creation *creation;
    const char *text; /* as given */
    struct lake_ref ref;
    struct parts parts;
    struct chunk gathering;
    struct cursor cursor;
};

struct creation {
    struct lake *l;
    const struct lake_set_request *request;
    struct source *sources;
    size_t n;
    uint64_t seen; /* files, for the progress */
    /* Sources with something left, as a binary heap: the lowest path first, then the earlier
     * source. */
    struct source **heap;
    size_t n_heap;
    struct source **same; /* those that stand at the lowest path */
};

/* How many files pass between two looks at whether to go on. */
#define TOLD_EVERY 4096

static void creation_clear(struct creation *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct source *s = &c->sources[i];
        cursor_clear(&s->cursor);
        parts_clear(&s->parts);
        chunk_clear(&s->gathering);
        lake_ref_clear(&s->ref);
    }
    free(c->sources);
    free(c->heap);
    free(c->same);
}

static int count_file(struct creation *c, struct err *e)
{
    const struct lake_progress *p = &c->request->progress;

    if (++c->seen % TOLD_EVERY == 0 && p->tell && !p->tell(p->context, c->seen, 0, 0, 0))
        return err_set(e, ERR_RETRY, "interrupted");
    return 0;
}

/* What comes from sets is not looked at: they hold their content. */
static int gather(void *context, const struct lake_entry *entry, struct err *e)
{
    struct source *s = context;
    char shown[PATH_SHOWN];

    if (entry->gone)
        return err_set(e, ERR_NOTFOUND, "the content of %s#%lld was removed by gc: put it again",
                       path_shown(entry->path, shown), (long long)entry->number);
    if (!chunk_takes(&s->gathering, entry))
        return set_entry_damaged(entry, e);
    chunk_add(&s->gathering, entry);
    if (chunk_ends(entry->path, s->gathering.files))
        parts_add(&s->parts, &s->gathering);
    return count_file(s->creation, e);
}

static int pass(void *context, const struct lake_entry *entry, struct err *e)
{
    (void)context;
    (void)entry;
    (void)e;
    return 0;
}

static int open_source(struct lake *l, struct source *s, struct err *e)
{
    s->cursor = (struct cursor){.l = l, .parts = &s->parts, .prefix = "/"};
    if (s->ref.kind == LAKE_REF_JOB)
        return err_set(e, ERR_USAGE, "%s: a job holds no files; name its output set", s->text);
    if (s->ref.kind == LAKE_REF_SET) {
        s->cursor.prefix = s->ref.path;
        s->cursor.set_version = s->ref.set_version;
        /* Chunks go from set to set unread, so the caller's right to what is in them is asked
         * before. */
        if (!l->admin && lake_every_file(l, &s->ref, pass, NULL, e) < 0)
            return -1;
        if (parts_of(l, s->ref.set_version, s->ref.path, &s->parts, e) < 0)
            return -1;
    } else {
        if (lake_every_file(l, &s->ref, gather, s, e) < 0)
            return -1;
        if (s->gathering.files > 0)
            parts_add(&s->parts, &s->gathering);
    }
    return cursor_start(&s->cursor, e);
}

/* ---- the heap ---- */

static bool is_before(const struct source *a, const struct source *b)
{
    int order = strcmp(cursor_path(&a->cursor), cursor_path(&b->cursor));

    return order != 0 ? order < 0 : a < b;
}

static void heap_put(struct creation *c, struct source *s)
{
    size_t i = c->n_heap++;

    for (; i > 0 && is_before(s, c->heap[(i - 1) / 2]); i = (i - 1) / 2)
        c->heap[i] = c->heap[(i - 1) / 2];
    c->heap[i] = s;
}

static struct source *heap_take(struct creation *c)
{
    struct source *lowest = c->heap[0], *moved = c->heap[--c->n_heap];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < c->n_heap) {
        if (child + 1 < c->n_heap && is_before(c->heap[child + 1], c->heap[child]))
            child++;
        if (!is_before(c->heap[child], moved))
            break;
        c->heap[i] = c->heap[child];
        i = child;
    }
    c->heap[i] = moved;
    return lowest;
}

/* Takes all sources that stand at the lowest path, in order of the request. */
static size_t take_same(struct creation *c)
{
    size_t n = 0;

    c->same[n++] = heap_take(c);
    const char *path = cursor_path(&c->same[0]->cursor);
    while (c->n_heap > 0 && strcmp(cursor_path(&c->heap[0]->cursor), path) == 0)
        c->same[n++] = heap_take(c);
    return n;
}

/* ---- merging ---- */

/* The chunk that all n sources have here and nothing else falls into. */
static const struct part *common_part(const struct creation *c, size_t n)
{
    const struct part *part = cursor_whole(&c->same[0]->cursor);

    if (!part || (c->n_heap > 0 && strcmp(cursor_path(&c->heap[0]->cursor), part->last) <= 0))
        return NULL;
    for (size_t i = 1; i < n; i++) {
        const struct part *other = cursor_whole(&c->same[i]->cursor);
        if (!other || !sha256_equal(&other->hash, &part->hash))
            return NULL;
    }
    return part;
}

static int add_part(
    struct creation *c, size_t n, const struct part *part, struct set_builder *b, struct err *e)
{
    if (set_builder_add_part(b, part, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (cursor_skip(&c->same[i]->cursor, e) < 0)
            return -1;
    return 0;
}

static int add_entry(struct creation *c, size_t n, struct set_builder *b, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (cursor_open(&c->same[i]->cursor, e) < 0)
            return -1;
    const struct source *winner = c->same[n - 1];
    const struct lake_entry *kept = &winner->cursor.entry;
    for (size_t i = 0; i + 1 < n && c->request->conflict; i++) {
        const struct lake_entry *dropped = &c->same[i]->cursor.entry;
        if (dropped->version != kept->version)
            c->request->conflict(c->request->context,
                                 &(struct lake_set_conflict){.path = kept->path,
                                                             .kept = kept->number,
                                                             .dropped = dropped->number,
                                                             .kept_of = winner->text,
                                                             .dropped_of = c->same[i]->text});
    }
    /* Others were counted when they were gathered. */
    if (winner->ref.kind == LAKE_REF_SET && count_file(c, e) < 0)
        return -1;
    if (set_builder_add(b, kept, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (cursor_next(&c->same[i]->cursor, e) < 0)
            return -1;
    return 0;
}

static int merge(struct creation *c, struct set_builder *b, struct err *e)
{
    for (size_t i = 0; i < c->n; i++)
        if (cursor_path(&c->sources[i].cursor))
            heap_put(c, &c->sources[i]);
    while (c->n_heap > 0) {
        size_t n = take_same(c);
        const struct part *part = common_part(c, n);
        int whole = part ? set_builder_takes_part(b, part, e) : 0;
        if (whole < 0 || (whole ? add_part(c, n, part, b, e) : add_entry(c, n, b, e)) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            if (cursor_path(&c->same[i]->cursor))
                heap_put(c, c->same[i]);
    }
    return 0;
}

/* ---- the creation ---- */

static int resolve_all(struct creation *c, struct err *e)
{
    for (size_t i = 0; i < c->n; i++) {
        struct source *s = &c->sources[i];
        s->creation = c;
        s->text = c->request->refs[i];
        chunk_init(&s->gathering);
        if (lake_resolve(c->l, s->text, LAKE_READ, &s->ref, e) < 0)
            return -1;
    }
    for (size_t i = 0; i < c->n; i++)
        if (open_source(c->l, &c->sources[i], e) < 0)
            return -1;
    return 0;
}

static int create(struct creation *c, struct lake_set *out, struct err *e)
{
    struct lake_made made;
    size_t n_parents = 0;

    if (resolve_all(c, e) < 0 || lake_made_new(c->l, c->l->user, &made, e) < 0)
        return -1;
    AUTO(set_builder) struct set_builder *b = set_builder_new(c->l, c->request->name, &made, e);
    if (!b || merge(c, b, e) < 0)
        return -1;
    /* Set versions the references come by, in their order. */
    AUTO_MEM int64_t *parents = mem_zero(c->n, sizeof *parents);
    for (size_t i = 0; i < c->n; i++)
        if (c->sources[i].ref.set_version != 0)
            parents[n_parents++] = c->sources[i].ref.set_version;
    struct lake_set done;
    if (set_builder_finish(b, parents, n_parents, &done, e) < 0)
        return -1;
    done.name = c->request->name;
    if (out)
        *out = done;
    return 0;
}

int lake_set_create(struct lake *l,
                    const struct lake_set_request *request,
                    struct lake_set *out,
                    struct err *e)
{
    AUTO_CLEAR(creation) struct creation c = {.l = l, .request = request, .n = request->n_refs};

    if (c.n == 0)
        return err_set(e, ERR_USAGE, "@%s: name at least one reference to make it from",
                       request->name);
    c.sources = mem_zero(c.n, sizeof *c.sources);
    c.heap = mem_zero(c.n, sizeof(struct source *));
    c.same = mem_zero(c.n, sizeof(struct source *));
    /* Begun before anything is read, so that an update made from the latest version cannot lose
     * what another one adds at the same time. */
    if (db_begin(l->db, e) < 0)
        return -1;
    return db_end(l->db, create(&c, out, e), e) < 0 ? err_wrap(e, "create set %s", request->name)
                                                    : 0;
}
