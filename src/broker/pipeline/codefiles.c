#include "broker/pipeline/codefiles.h"

#include "base/mem.h"
#include "broker/pipeline/code.h"
#include "lake/core/ref.h"
#include "lake/job/job_code.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* A million paths. */
#define ARENA_BYTES ((size_t)512 << 20)

void codefiles_free(struct codefiles *c)
{
    if (!c)
        return;
    arena_free(c->arena);
    free(c->list);
    free(c);
}

void codefiles_cache_clear(struct codefiles_cache *c)
{
    for (size_t i = 0; i < CODEFILES_CACHED; i++)
        codefiles_free(c->items[i]);
    *c = (struct codefiles_cache){0};
}

/* ---- names ---- */

/* Files of editors and of git, which no program of a stage looks for. */
static const char *const unseen[] = {
    ".gitignore", ".gitattributes", ".tradewindignore", ".editorconfig", ".github",
    ".vscode",    ".idea",
};
#define UNSEEN_FILES 4 /* the others are directories */

bool codefiles_is_unseen(const char *path)
{
    for (const char *at = path; *at;) {
        size_t n = strcspn(at, "/");
        for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
            if (strlen(unseen[i]) == n && !memcmp(at, unseen[i], n) &&
                (i < UNSEEN_FILES) == (at[n] == 0))
                return true;
        at += n + (at[n] == '/');
    }
    return false;
}

static void hash_name(struct sha256 *h, const struct codefile *f)
{
    sha256_add(h, f->path, strlen(f->path) + 1);
    sha256_add(h, f->executable ? "x" : "-", 1);
}

static void hash_file(struct sha256 *h, const struct codefile *f)
{
    hash_name(h, f);
    sha256_add(h, f->digest.bytes, sizeof f->digest.bytes);
}

static void hash_all(struct codefiles *c)
{
    AUTO(sha256) struct sha256 *names = sha256_new();
    AUTO(sha256) struct sha256 *whole = sha256_new();

    for (size_t i = 0; i < c->n; i++) {
        if (!codefiles_is_unseen(c->list[i].path))
            hash_name(names, &c->list[i]);
        hash_file(whole, &c->list[i]);
    }
    c->names = sha256_take(names);
    c->whole = sha256_take(whole);
}

/* ---- reading ---- */

struct reading {
    struct codefiles *c;
    const char *root; /* "/code/NAME/" */
    size_t n_root;
};

static int read_one(void *context, const struct lake_code_file *f, struct err *e)
{
    struct reading *r = context;
    struct codefiles *c = r->c;

    if (strncmp(f->path, r->root, r->n_root) != 0)
        return err_set(e, ERR_USAGE, "%.200s is not below %s", f->path, r->root);
    const char *path = arena_dup(c->arena, f->path + r->n_root);
    if (!path)
        return err_set(e, ERR_USAGE, "the code has too many files");
    c->list = mem_room(c->list, c->n, &c->cap, sizeof *c->list);
    c->list[c->n++] =
        (struct codefile){.path = path, .executable = f->executable, .digest = f->digest};
    return 0;
}

static struct codefiles *read_all(struct lake *l,
                                  int64_t set_version,
                                  const char *ref,
                                  struct err *e)
{
    AUTO(codefiles) struct codefiles *c = mem_zero(1, sizeof *c);
    AUTO_MEM char *root = code_root(ref);
    struct reading r = {.c = c, .root = root, .n_root = root ? strlen(root) : 0};

    c->arena = arena_new(ARENA_BYTES);
    c->set_version = set_version;
    if (!root) {
        err_set(e, ERR_USAGE, "%s is not code: its path is not below /code/", ref);
        return NULL;
    }
    if (lake_job_code_files(l, set_version, read_one, &r, e) < 0)
        return NULL;
    hash_all(c);
    return TAKE(c);
}

const struct codefiles *codefiles_of(struct lake *l,
                                     struct codefiles_cache *cache,
                                     const char *ref,
                                     struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref found = {0};

    if (lake_resolve(l, ref, LAKE_READ, &found, e) < 0)
        return NULL;
    for (size_t i = 0; i < CODEFILES_CACHED; i++)
        if (cache->items[i] && cache->items[i]->set_version == found.set_version)
            return cache->items[i];
    struct codefiles *c = read_all(l, found.set_version, ref, e);
    if (!c)
        return NULL;
    codefiles_free(cache->items[cache->next]);
    cache->items[cache->next] = c;
    cache->next = (cache->next + 1) % CODEFILES_CACHED;
    return c;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct codefile *)a)->path, ((const struct codefile *)b)->path);
}

const struct codefile *codefiles_find(const struct codefiles *c, const char *path)
{
    const struct codefile key = {.path = path};

    return c->n ? bsearch(&key, c->list, c->n, sizeof *c->list, by_path) : NULL;
}

/* ---- picked by hand ---- */

bool codefiles_picks(const char *pattern, const char *path)
{
    size_t n = strlen(pattern);

    while (n && pattern[n - 1] == '/')
        n--;
    if (!strncmp(pattern, path, n) && (path[n] == '/' || (!path[n] && !pattern[n])))
        return true;
    return strpbrk(pattern, "*?[") && fnmatch(pattern, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0;
}

static bool picked(const char *const *patterns, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (codefiles_picks(patterns[i], path))
            return true;
    return false;
}

struct sha256_digest codefiles_picked(const struct codefiles *c,
                                      const char *const *patterns,
                                      size_t n)
{
    AUTO(sha256) struct sha256 *h = sha256_new();

    for (size_t i = 0; i < c->n; i++)
        if (picked(patterns, n, c->list[i].path))
            hash_file(h, &c->list[i]);
    return sha256_take(h);
}

const char *codefiles_unmatched(const struct codefiles *c, const char *const *patterns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < c->n && !codefiles_picks(patterns[i], c->list[k].path))
            k++;
        if (k == c->n)
            return patterns[i];
    }
    return NULL;
}
