#include "broker/pipeline/listing.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "broker/pipeline/ignore.h"
#include "broker/pipeline/repository.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names of a directory's files: a million of 64 bytes. More is no code. */
#define NAMES_MAX ((size_t)64 << 20)
#define RULES_MAX ((size_t)1 << 20)
/* Directories within directories; PATH_MAX allows no more. */
#define DEPTH_MAX 2048

static const char built_in[] = ".venv\nvenv\nnode_modules\n__pycache__\n.mypy_cache\n";

/* The repository that a directory is in. */
struct scope {
    bool has_repository;
    struct repository repository;
    size_t skip; /* bytes of a path before those relative to the repository */
    bool is_new; /* it has files that are not tracked */
};

struct reading {
    const struct listing_options *options;
    const char *origin; /* paths while walking are relative to it: the repository, or directory */
    size_t skip;        /* bytes of such a path before those relative to directory */
    size_t bytes;
    struct arena *arena;
    struct listing *list;
};

/* A directory on the way. */
struct place {
    const char *path; /* relative to origin, "" = it, else with '/' at its end */
    struct scope *scope;
    const struct ignore_rules *git, *ours;
    bool ignored; /* by git: tracked files alone count */
    unsigned depth;
};

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int too_many(const struct reading *r, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "%s: the names of its files take more than %zu MiB; leave data out by "
                   ".tradewindignore and keep it in the lake",
                   r->options->directory, NAMES_MAX >> 20);
}

/* ---- rules ---- */

/* The rules of this file in the directory at path, or those above where there is none. A link is
 * no such file, as for git. */
static int read_rules(struct reading *r,
                      const char *path,
                      const char *name,
                      const struct ignore_rules **rules,
                      struct err *e)
{
    AUTO_MEM char *whole = mem_printf("%s/%s%s", r->origin, path, name);
    AUTO_FD int fd = open(whole, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 && (errno == ENOENT || errno == ELOOP))
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return file_error(e, "read", whole);
    if (!S_ISREG(st.st_mode))
        return 0;
    if ((uint64_t)st.st_size > RULES_MAX)
        return err_set(e, ERR_USAGE, "%s is larger than %zu MiB; shorten it", whole,
                       RULES_MAX >> 20);
    AUTO_MEM char *text = mem_zero((size_t)st.st_size + 1, 1);
    ssize_t n = file_pread_all(fd, text, (size_t)st.st_size, 0);
    if (n < 0)
        return file_error(e, "read", whole);
    *rules = ignore_parse(r->arena, *rules, strlen(path), text, (size_t)n);
    return 0;
}

/* ---- the walk ---- */

struct entry {
    const char *name;
    unsigned char type;
};

struct entries {
    struct entry *list;
    size_t n, cap;
    bool has_git, has_gitignore, has_ours;
};

static unsigned char type_of(int directory_fd, const struct dirent *d)
{
    struct stat st;

    if (d->d_type != DT_UNKNOWN)
        return d->d_type;
    if (fstatat(directory_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_UNKNOWN;
    return S_ISDIR(st.st_mode)   ? DT_DIR
           : S_ISREG(st.st_mode) ? DT_REG
           : S_ISLNK(st.st_mode) ? DT_LNK
                                 : DT_UNKNOWN;
}

/* 1: read; 0: the directory is gone. */
static int read_entries(const struct reading *r,
                        const struct place *at,
                        struct arena *arena,
                        struct entries *out,
                        struct err *e)
{
    AUTO_MEM char *whole = mem_printf("%s/%s", r->origin, at->path);
    int fd = open(whole, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    size_t bytes = r->bytes;

    if (!dir && at->depth && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return 0;
    if (!dir)
        return file_error(e, "read", whole);
    for (const struct dirent *d; (d = readdir(dir)) && bytes <= NAMES_MAX;) {
        bool dots = strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0;
        bool git = strcmp(d->d_name, ".git") == 0;
        out->has_git = out->has_git || git;
        out->has_gitignore = out->has_gitignore || strcmp(d->d_name, ".gitignore") == 0;
        out->has_ours = out->has_ours || strcmp(d->d_name, ".tradewindignore") == 0;
        if (dots || git)
            continue;
        bytes += strlen(d->d_name);
        out->list = arena_room(arena, out->list, out->n, &out->cap, sizeof *out->list);
        out->list[out->n++] = (struct entry){arena_dup(arena, d->d_name), type_of(fd, d)};
    }
    closedir(dir);
    return bytes > NAMES_MAX ? too_many(r, e) : 1;
}

static int walk(struct reading *r, const struct place *at, struct err *e);

static int take_directory(struct reading *r,
                          const struct place *at,
                          const char *path,
                          struct err *e)
{
    struct scope *scope = at->scope;
    bool ignored = at->ignored || ignore_matches(at->git, path, true);

    if (ignore_matches(at->ours, path, true))
        return 0;
    if (ignored &&
        !(scope->has_repository && repository_has_below(&scope->repository, path + scope->skip)))
        return 0;
    if (at->depth >= DEPTH_MAX)
        return err_set(e, ERR_USAGE, "%s/%s: directories are too deep", r->origin, path);
    AUTO_MEM char *below = mem_printf("%s/", path);
    struct place next = *at;
    next.path = below;
    next.ignored = ignored;
    next.depth++;
    return walk(r, &next, e);
}

static int take_file(struct reading *r, const struct place *at, const char *path, struct err *e)
{
    struct scope *scope = at->scope;
    struct listing *list = r->list;
    bool tracked =
        scope->has_repository && repository_find(&scope->repository, path + scope->skip) != NULL;

    if (ignore_matches(at->ours, path, false))
        return 0;
    if (!tracked && (at->ignored || ignore_matches(at->git, path, false)))
        return 0;
    scope->is_new = scope->is_new || !tracked;
    r->bytes += strlen(path);
    if (r->bytes > NAMES_MAX)
        return too_many(r, e);
    list->paths = arena_room(r->arena, list->paths, list->n, &list->cap, sizeof *list->paths);
    list->paths[list->n++] = arena_dup(r->arena, path + r->skip);
    return 0;
}

static int take_entries(struct reading *r,
                        const struct place *at,
                        const struct entries *entries,
                        struct err *e)
{
    for (size_t i = 0; i < entries->n; i++) {
        const struct entry *entry = &entries->list[i];
        AUTO_MEM char *path = mem_printf("%s%s", at->path, entry->name);
        int result = 0;
        if (entry->type == DT_DIR)
            result = take_directory(r, at, path, e);
        else if (entry->type == DT_REG || entry->type == DT_LNK)
            result = take_file(r, at, path, e);
        if (result < 0)
            return -1;
    }
    return 0;
}

/* ---- repositories ---- */

/* directory: what of the repository is listed. */
static void note_differences(struct reading *r, const struct scope *scope, const char *directory)
{
    const char *scratch = r->options->scratch;

    if (!scratch || !scope->has_repository)
        return;
    int differs = scope->is_new ? 1 : repository_differs(&scope->repository, directory, scratch);
    if (differs < 0)
        log_warn("code",
                 "%s: whether it differs from its commit is not known (git is not installed, or "
                 "cannot read the repository), so it counts as changed",
                 scope->repository.root);
    r->list->dirty = r->list->dirty || differs != 0;
}

/* A repository within has rules of its own; it differs from what is around it unless that has it as
 * a submodule at the same commit. */
static int walk_within(struct reading *r, struct place *at, struct entries *entries, struct err *e)
{
    AUTO_MEM char *root = mem_printf("%s/%.*s", r->origin, (int)strlen(at->path) - 1, at->path);
    struct scope own = {.skip = strlen(at->path)}, *around = at->scope;

    own.has_repository = repository_read(root, r->arena, &own.repository);
    if (!own.has_repository)
        return take_entries(r, at, entries, e);
    if (around->has_repository) {
        AUTO_MEM char *path = mem_dup(at->path + around->skip);
        path[strlen(path) - 1] = 0;
        const struct repository_file *known = repository_find(&around->repository, path);
        around->is_new = around->is_new || !known || !known->commit ||
                         strcmp(known->commit, own.repository.commit) != 0;
    }
    at->scope = &own;
    at->git = NULL;
    at->ignored = false;
    if (entries->has_gitignore && read_rules(r, at->path, ".gitignore", &at->git, e) < 0)
        return -1;
    if (take_entries(r, at, entries, e) < 0)
        return -1;
    note_differences(r, &own, root);
    return 0;
}

static int walk(struct reading *r, const struct place *from, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(SIZE_MAX);
    struct entries entries = {0};
    struct place at = *from;
    int there = read_entries(r, &at, arena, &entries, e);

    if (there <= 0)
        return there;
    if (entries.has_ours && read_rules(r, at.path, ".tradewindignore", &at.ours, e) < 0)
        return -1;
    if (entries.has_git && at.depth)
        return walk_within(r, &at, &entries, e);
    if (entries.has_gitignore && read_rules(r, at.path, ".gitignore", &at.git, e) < 0)
        return -1;
    return take_entries(r, &at, &entries, e);
}

/* Fills in the scope by the repository in the directory or above it on the same file system. */
static void find_repository(struct reading *r, struct scope *scope)
{
    AUTO_MEM char *at = mem_dup(r->options->directory);
    struct stat top, here;

    if (stat(at, &top) < 0)
        return;
    for (char *end = at + strlen(at); end; end = strrchr(at, '/')) {
        *end = 0;
        if (stat(*at ? at : "/", &here) < 0 || here.st_dev != top.st_dev)
            return;
        scope->has_repository = repository_read(at, r->arena, &scope->repository) > 0;
        if (scope->has_repository || r->options->is_alone)
            return;
    }
}

/* From the repository down to the directory, whose path relative to it is `path` with '/' at its
 * end, "" = the same: the rules above the directory, and whether one of them ignores it. */
static int descend(struct reading *r, const char *path, struct place *at, struct err *e)
{
    for (const char *from = path, *slash; (slash = strchr(from, '/')); from = slash + 1) {
        AUTO_MEM char *above = mem_printf("%.*s", (int)(from - path), path);
        AUTO_MEM char *next = mem_printf("%.*s", (int)(slash - path), path);
        if (read_rules(r, above, ".gitignore", &at->git, e) < 0)
            return -1;
        at->ignored = at->ignored || ignore_matches(at->git, next, true);
    }
    return 0;
}

/* Where the walk begins. A directory that the repository around it ignores is not of it. */
static int begin(struct reading *r, struct scope *scope, struct place *at, struct err *e)
{
    const char *directory = r->options->directory;

    find_repository(r, scope);
    if (scope->has_repository) {
        const char *root = scope->repository.root, *below = directory + strlen(root);
        AUTO_MEM char *path = mem_dup(below + (*below == '/'));
        r->origin = root;
        at->path = *path ? arena_printf(r->arena, "%s/", path) : "";
        if (descend(r, at->path, at, e) < 0)
            return -1;
        if (!at->ignored || repository_has_below(&scope->repository, path)) {
            r->skip = strlen(at->path);
            at->ours = ignore_parse(r->arena, NULL, r->skip, built_in, sizeof built_in - 1);
            return 0;
        }
    }
    *scope = (struct scope){0};
    r->origin = directory;
    *at = (struct place){.path = "", .scope = scope};
    at->ours = ignore_parse(r->arena, NULL, 0, built_in, sizeof built_in - 1);
    return 0;
}

int listing_read(const struct listing_options *options,
                 struct arena *arena,
                 struct listing *out,
                 struct err *e)
{
    struct reading r = {.options = options, .arena = arena, .list = out};
    struct scope scope = {0};
    struct place at = {.path = "", .scope = &scope};

    _Static_assert(TREE_LIST_COMMIT == REPOSITORY_COMMIT, "copied whole");
    *out = (struct listing){0};
    if (begin(&r, &scope, &at, e) < 0 || walk(&r, &at, e) < 0)
        return -1;
    if (options->scratch && scope.has_repository) {
        memcpy(out->commit, scope.repository.commit, sizeof out->commit);
        note_differences(&r, &scope, options->directory);
    }
    if (out->n)
        qsort(out->paths, out->n, sizeof *out->paths, by_bytes);
    return 0;
}
