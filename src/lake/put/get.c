/* Gets files of the lake: what is wanted, what is there already, what is written. `get` and the
 * broker call it. */
#include "base/file.h"
#include "base/mem.h"
#include "lake/put/internal.h"
#include "lake/put/source.h"
#include "lake/set/set_nesting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_BYTES ((size_t)1 << 18)

static void get_clear(struct get *g)
{
    free(g->entries);
    free(g->paths);
    tree_clear(&g->tree);
    pthread_mutex_destroy(&g->progress.lock);
}

void get_names_add(struct get_names *names, const char *name)
{
    AUTO_MEM char *shown = source_printable(name);
    size_t at = strlen(names->text);

    if (names->n++ < GET_NAMED_MAX)
        snprintf(names->text + at, sizeof names->text - at, "%s%s", at ? ", " : "", shown);
}

const char *get_path(const struct get *g, size_t i)
{
    return g->paths + g->entries[i].path;
}

int get_hash(int fd, const char *name, struct sha256_digest *out, struct err *e)
{
    AUTO(sha256) struct sha256 *hash = sha256_new();
    AUTO_MEM char *piece = mem_zero(HASH_BYTES, 1);
    ssize_t n;

    for (uint64_t at = 0; (n = file_pread_all(fd, piece, HASH_BYTES, at)) != 0; at += (uint64_t)n) {
        if (n < 0)
            return file_error(e, "read", name);
        sha256_add(hash, piece, (size_t)n);
    }
    *out = sha256_take(hash);
    return 0;
}

int get_object(
    struct lake *l, int64_t version, struct object *out, bool *executable_out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, "SELECT object, executable FROM version WHERE id = $1 AND project = $2",
                 DB_INT(version), DB_INT(l->project));

    *out = (struct object){0};
    int row = db_step(q, e);
    if (row < 0)
        return -1;
    if (row == 0)
        return err_set(e, ERR_IO, "the lake's database is damaged at file version %lld",
                       (long long)version);
    int64_t object = db_int(q, 0);
    if (executable_out)
        *executable_out = db_int(q, 1) != 0;
    return object_get(l, object, out, e);
}

/* ---- which files ---- */

static int add_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    struct get *g = context;
    size_t n = strlen(entry->path) + 1;

    (void)e;
    while (g->paths_cap < g->paths_len + n) {
        g->paths_cap = g->paths_cap ? g->paths_cap * 2 : 4096;
        g->paths = mem_grow(g->paths, g->paths_cap, 1);
    }
    memcpy(g->paths + g->paths_len, entry->path, n);
    g->entries = mem_room(g->entries, g->n_entries, &g->cap_entries, sizeof *g->entries);
    g->entries[g->n_entries++] =
        (struct get_entry){.path = g->paths_len, .version = entry->version, .size = entry->size};
    g->paths_len += n;
    return 0;
}

static int collect(struct get *g, struct err *e)
{
    for (size_t i = 0; i < g->o->n_refs; i++) {
        AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
        if (lake_resolve(g->l, g->o->refs[i], LAKE_READ, &ref, e) < 0 ||
            lake_every_file(g->l, &ref, add_entry, g, e) < 0)
            return -1;
    }
    return 0;
}

static int compare_entries(const void *a, const void *b, void *paths)
{
    const struct get_entry *x = a, *y = b;
    const char *all = paths;

    return strcmp(all + x->path, all + y->path);
}

/* Several references may name one file, but not two versions of it: one path, one content. */
static int merge(struct get *g, struct err *e)
{
    size_t kept = 0;

    if (g->o->n_refs < 2)
        return 0;
    qsort_r(g->entries, g->n_entries, sizeof *g->entries, compare_entries, g->paths);
    for (size_t i = 0; i < g->n_entries; i++) {
        if (kept && strcmp(get_path(g, i), get_path(g, kept - 1)) == 0) {
            if (g->entries[i].version == g->entries[kept - 1].version)
                continue;
            AUTO_MEM char *shown = source_printable(get_path(g, i));
            return err_set(e, ERR_USAGE, "two versions of %s are named: get them one by one",
                           shown);
        }
        g->entries[kept++] = g->entries[i];
    }
    g->n_entries = kept;
    return 0;
}

/* Sets of different times may hold "/a" and "/a/b": one directory cannot. */
static int check_nesting(const struct get *g, struct err *e)
{
    AUTO_MEM struct set_nesting *nesting = mem_zero(1, sizeof *nesting);
    char shown[PATH_SHOWN], shown_file[PATH_SHOWN];

    if (g->o->n_refs < 2)
        return 0;
    for (size_t i = 0; i < g->n_entries; i++) {
        const char *path = get_path(g, i);
        size_t above = set_nesting_above(nesting, path);
        if (above && set_nesting_is_file(nesting, above) == SET_NESTING_YES) {
            AUTO_MEM char *file = mem_printf("%.*s", (int)above, path);
            return err_set(e, ERR_USAGE,
                           "both %s and %s are named, which lies below it: get them"
                           " one by one",
                           path_shown(file, shown_file), path_shown(path, shown));
        }
        set_nesting_add(nesting, path);
    }
    return 0;
}

/* ---- the end ---- */

static int report(const struct get *g, struct err *e)
{
    if (g->damaged.n == 1)
        return err_set(e, g->first.kind, "%s was not written: %s", g->damaged.text, g->first.text);
    if (g->damaged.n)
        return err_set(e, g->first.kind, "%llu files were not written: %s%s. The first: %s",
                       (unsigned long long)g->damaged.n, g->damaged.text,
                       g->damaged.n > GET_NAMED_MAX ? " ..." : "", g->first.text);
    if (g->gone.n)
        return err_set(e, ERR_NOTFOUND, "the content of %llu file%s was removed by gc: %s%s",
                       (unsigned long long)g->gone.n, g->gone.n == 1 ? "" : "s", g->gone.text,
                       g->gone.n > GET_NAMED_MAX ? " ..." : "");
    return 0;
}

int lake_get(struct lake *l,
             const struct lake_get_options *options,
             struct lake_get_summary *summary,
             struct err *e)
{
    AUTO_CLEAR(get) struct get g = {.l = l, .o = options, .summary = summary, .tree = {.root = -1}};

    *summary = (struct lake_get_summary){0};
    pthread_mutex_init(&g.progress.lock, NULL);
    g.progress.to = options->progress;
    if (!*options->directory)
        return err_set(e, ERR_USAGE, "the directory to write below has no name; . is this one");
    if (collect(&g, e) < 0 || merge(&g, e) < 0 || check_nesting(&g, e) < 0)
        return -1;
    if (get_look(&g, e) < 0 || get_write(&g, e) < 0)
        return -1;
    return report(&g, e);
}

/* ---- one file in order ---- */

struct cat {
    int (*sink)(void *context, const void *bytes, size_t n, struct err *e);
    void *context;
    bool begun;
};

static int pass_on(void *context, const void *bytes, size_t n, struct err *e)
{
    struct cat *c = context;

    c->begun = true;
    return c->sink(c->context, bytes, n, e);
}

static int cat_object(struct lake *l, struct object *o, struct cat *c, struct err *e)
{
    struct store *store = lake_store(l, e);
    struct err why = {0};

    if (!store)
        return -1;
    while (store_stream(store, l->area, &o->content, 0, UINT64_MAX, pass_on, c, &why) < 0) {
        int moved = c->begun ? 0 : object_moved(l, o, e);
        if (moved < 0)
            return -1;
        if (!moved) /* a blob that is missing is damage, too */
            return err_set(e, why.kind == ERR_NOTFOUND ? ERR_IO : why.kind, "%s", why.text);
        if (!o->present)
            return err_set(e, ERR_NOTFOUND, "its content was removed by gc meanwhile");
    }
    return 0;
}

static int take_version(void *context, const struct lake_entry *entry, struct err *e)
{
    (void)e;
    *(int64_t *)context = entry->version;
    return 0;
}

/* The content of the one file that ref must stand for; of a file as a whole, its latest version, as
 * for get and for sets. */
static int content_of(struct lake *l, const struct lake_ref *ref, struct object *o, struct err *e)
{
    AUTO_MEM char *name = lake_ref_text(ref);
    int64_t version = 0;

    if (ref_ask(l, ref, LAKE_READ, e) < 0)
        return -1;
    if (ref->kind != LAKE_REF_FILE && ref->kind != LAKE_REF_PATH)
        return err_set(e, ERR_USAGE, "%s is not one file", name);
    if (lake_every_file(l, ref, take_version, &version, e) < 0 ||
        get_object(l, version, o, NULL, e) < 0)
        return -1;
    if (!o->present)
        return err_set(e, ERR_NOTFOUND, "the content of %s was removed by gc", name);
    return 0;
}

int lake_cat(struct lake *l,
             const struct lake_ref *ref,
             int (*sink)(void *context, const void *bytes, size_t n, struct err *e),
             void *context,
             struct err *e)
{
    AUTO_CLEAR(object) struct object o = {0};
    struct cat c = {sink, context, false};

    if (content_of(l, ref, &o, e) < 0)
        return -1;
    if (cat_object(l, &o, &c, e) == 0)
        return 0;
    AUTO_MEM char *name = lake_ref_text(ref);
    return err_wrap(e, "%s", name);
}

int lake_url(struct lake *l,
             const struct lake_ref *ref,
             unsigned expires_s,
             struct store_url *out,
             struct err *e)
{
    AUTO_CLEAR(object) struct object o = {0};
    struct store *s = lake_store(l, e);

    if (!s || content_of(l, ref, &o, e) < 0)
        return -1;
    if (!o.content.place.size && store_has_urls(s)) {
        AUTO_MEM char *name = lake_ref_text(ref);
        return err_set(e, ERR_NOFIT,
                       "%s is empty: a URL reads a range of bytes, and there are none; make an "
                       "empty file instead",
                       name);
    }
    const struct store_grant grant = {l->area, o.content.place, false, expires_s};
    return store_presign(s, &grant, out, e);
}
