#include "broker/pipeline/code.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/staging.h"
#include "broker/pipeline/codecopy.h"
#include "broker/pipeline/codefiles.h"
#include "broker/pipeline/listing.h"
#include "lake/put/put.h"
#include "lake/set/set.h"

#include <stdlib.h>
#include <string.h>

/* NAME, NAME-2 ... */
#define NAMES 9

struct storing {
    struct arena *arena; /* of all texts and lists */
    struct lake *l;
    struct codecopy copy;
    char *prefix;   /* "/code/NAME/" */
    char *set;      /* "code-NAME" */
    size_t matched; /* while lists are compared */
    bool differs;
};

void code_clear(struct code *c)
{
    free(c->ref);
    for (size_t i = 0; i < CODE_LARGEST; i++)
        free(c->largest[i].path);
    *c = (struct code){0};
}

char *code_root(const char *ref)
{
    static const char begin[] = "@code-";
    size_t n = sizeof begin - 1;

    if (strncmp(ref, begin, n) != 0)
        return NULL;
    size_t name = strcspn(ref + n, ":");
    return name ? mem_printf("/code/%.*s/", (int)name, ref + n) : NULL;
}

/* ---- into the lake ---- */

static int put(struct storing *s, const char *set, struct err *e)
{
    AUTO_MEM char *source = mem_printf("%s/.", s->copy.directory);
    const char *const sources[] = {source};
    const struct lake_put_options options = {.sources = sources,
                                             .n_sources = 1,
                                             .destination = s->prefix,
                                             .set = set,
                                             .sources_pass = true};
    struct lake_put_summary summary;

    return lake_put(s->l, &options, NULL, NULL, &summary, e);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct codecopy_file *)a)->path, ((const struct codecopy_file *)b)->path);
}

static struct codecopy_file *find_staged(struct storing *s, const char *lake_path)
{
    size_t n = strlen(s->prefix);

    if (strncmp(lake_path, s->prefix, n) != 0)
        return NULL;
    const struct codecopy_file key = {.path = lake_path + n};
    return bsearch(&key, s->copy.files, s->copy.n, sizeof *s->copy.files, by_path);
}

/* Notes the version of each staged file; one whose mode is another than the lake's has none. */
static int note_version(void *context, const struct lake_file *file, struct err *e)
{
    struct storing *s = context;
    struct codecopy_file *staged = find_staged(s, file->path);

    (void)e;
    if (staged)
        staged->number = staged->executable == file->executable ? file->number : 0;
    return 0;
}

static int note_versions(struct storing *s, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    return lake_resolve(s->l, s->prefix, LAKE_READ, &ref, e) < 0
               ? -1
               : lake_list(s->l, &ref, true, note_version, s, e);
}

/* The lake makes no version of a file of which the mode alone changed; a script that became
 * executable must not stay what it was. */
static int put_modes(struct storing *s, struct err *e)
{
    bool any = false;

    for (size_t i = 0; i < s->copy.n; i++) {
        if (s->copy.files[i].number)
            continue;
        AUTO_MEM char *source = mem_printf("%s/%s", s->copy.directory, s->copy.files[i].path);
        AUTO_MEM char *destination = mem_printf("%s%s", s->prefix, s->copy.files[i].path);
        const char *const sources[] = {source};
        const struct lake_put_options options = {.sources = sources,
                                                 .n_sources = 1,
                                                 .destination = destination,
                                                 .force = true,
                                                 .sources_pass = true};
        struct lake_put_summary summary;
        if (lake_put(s->l, &options, NULL, NULL, &summary, e) < 0)
            return -1;
        any = true;
    }
    return any ? note_versions(s, e) : 0;
}

static int compare_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    struct storing *s = context;
    const struct codecopy_file *staged = find_staged(s, entry->path);

    (void)e;
    s->matched += staged != NULL;
    s->differs = s->differs || !staged || staged->number != entry->number;
    return 0;
}

/* The reference of the latest version of the set; NULL: there is none, or only_same and it does not
 * hold exactly the staged files. */
static char *latest(struct storing *s, bool only_same, struct err *e)
{
    AUTO_MEM char *text = mem_printf("@%s", s->set);
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    if (lake_resolve(s->l, text, LAKE_READ, &ref, e) < 0)
        return NULL;
    s->matched = 0;
    s->differs = false;
    if (only_same && (lake_every_file(s->l, &ref, compare_entry, s, e) < 0 || s->differs ||
                      s->matched != s->copy.n))
        return NULL;
    return lake_ref_text(&ref);
}

static int store_as(struct storing *s, const char *name, char **ref_out, struct err *e)
{
    struct err ignored = {0};

    s->prefix = arena_printf(s->arena, "/code/%s/", name);
    s->set = arena_printf(s->arena, "code-%s", name);
    if (put(s, NULL, e) < 0 || note_versions(s, e) < 0 || put_modes(s, e) < 0)
        return -1;
    *ref_out = latest(s, true, &ignored);
    if (*ref_out)
        return 0;
    if (put(s, s->set, e) < 0)
        return -1;
    *ref_out = latest(s, false, e);
    return *ref_out ? 0 : -1;
}

/* A file where a directory was, or the other way round, is refused by the lake for good, but not
 * below another name. */
static int store(struct storing *s, const char *name, char **ref_out, struct err *e)
{
    if (store_as(s, name, ref_out, e) == 0)
        return 0;
    for (int i = 2; i <= NAMES && e->kind == ERR_USAGE; i++) {
        AUTO_MEM char *other = mem_printf("%s-%d", name, i);
        struct err again = {0};
        if (store_as(s, other, ref_out, &again) == 0) {
            *e = (struct err){0};
            return 0;
        }
    }
    return -1;
}

static void note_largest(const struct codecopy *copy, struct code *out)
{
    const struct codecopy_file *largest[CODE_LARGEST] = {NULL};

    for (size_t i = 0; i < copy->n; i++) {
        const struct codecopy_file *f = &copy->files[i];
        for (size_t k = 0; k < CODE_LARGEST && f; k++)
            if (!largest[k] || f->bytes > largest[k]->bytes) {
                const struct codecopy_file *moved = largest[k];
                largest[k] = f;
                f = moved;
            }
    }
    for (size_t k = 0; k < CODE_LARGEST && largest[k]; k++)
        out->largest[k] =
            (struct code_large){.path = mem_dup(largest[k]->path), .bytes = largest[k]->bytes};
}

static int store_staged(struct lake *l,
                        const struct staging *staging,
                        const char *directory,
                        struct code *out,
                        struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(SIZE_MAX);
    struct storing s = {.l = l, .arena = arena};
    const struct codecopy *copy = &s.copy;

    if (codecopy_make(directory, staging, arena, &s.copy, e) < 0 ||
        store(&s, copy->name, &out->ref, e) < 0)
        return -1;
    memcpy(out->commit, copy->list.commit, sizeof out->commit);
    out->dirty = copy->list.dirty;
    out->files = copy->n;
    out->bytes = copy->bytes;
    note_largest(copy, out);
    return 0;
}

int code_check(const char *directory,
               const char *const *patterns,
               size_t n,
               const char **unmatched_out,
               struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(SIZE_MAX);
    AUTO_MEM char *real = realpath(directory, NULL);
    const struct listing_options options = {.directory = real};
    struct listing list;

    *unmatched_out = NULL;
    if (!real)
        return file_error(e, "read", directory);
    if (listing_read(&options, arena, &list, e) < 0)
        return -1;
    for (size_t i = 0; i < n && !*unmatched_out; i++) {
        size_t k = 0;
        while (k < list.n && !codefiles_picks(patterns[i], list.paths[k]))
            k++;
        *unmatched_out = k == list.n ? patterns[i] : NULL;
    }
    return 0;
}

int code_store(
    struct lake *l, const char *home, const char *directory, struct code *out, struct err *e)
{
    AUTO_CLEAR(staging) struct staging staging;

    *out = (struct code){0};
    if (staging_open(home, &staging, e) < 0)
        return -1;
    /* The real path: what is unpacked there is told from links that lead out of it by it. */
    char *real = realpath(staging.path, NULL);
    if (!real)
        return file_error(e, "find", staging.path);
    free(staging.path);
    staging.path = real;
    return store_staged(l, &staging, directory, out, e);
}
