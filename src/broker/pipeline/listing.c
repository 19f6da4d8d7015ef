#include "broker/pipeline/listing.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "broker/core/program.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names of a directory's files: a million of 64 bytes. More is no code. */
#define NAMES_MAX ((size_t)64 << 20)
#define STATUS_MAX ((size_t)64 << 10)
/* Repositories within repositories. */
#define DEPTH_MAX 16

struct reading {
    const char *directory; /* where we began */
    const char *empty;     /* a repository without anything in it */
    struct arena *arena;
    struct listing *list;
};

static void add_path(struct arena *a, struct listing *t, const char *path)
{
    t->paths = arena_room(a, t->paths, t->n, &t->cap, sizeof *t->paths);
    t->paths[t->n++] = arena_dup(a, path);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int too_many(const char *directory, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "%s: the names of its files take more than %zu MiB; leave data out by "
                   ".tradewindignore and keep it in the lake",
                   directory, NAMES_MAX >> 20);
}

/* ---- git ---- */

/* A hook may have set variables that lead git elsewhere; git must lock and run nothing. */
static const char *const git_env[] = {
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_OPTIONAL_LOCKS=0",
    "LC_ALL=C",
    NULL,
};

#define GIT_WORDS_MAX 16

/* `git -C directory` and the words, which end with NULL. out is begun here. 1: git ran and was
 * content, 0: it was not, or is not there; complaint says what it printed. */
static int run_git(const char *directory,
                   const char *const *words,
                   struct buf *out,
                   size_t out_max,
                   char complaint[static PROGRAM_COMPLAINT],
                   struct err *e)
{
    const char *argv[GIT_WORDS_MAX] = {"git", "-C", directory, "-c", "core.fsmonitor=false"};
    struct program_run run = {.argv = argv, .env = git_env, .out = out};

    buf_init(out, out_max);
    for (size_t i = 5; *words; i++)
        argv[i] = *words++;
    int ran = program_run(&run, e);
    memcpy(complaint, run.complaint, sizeof run.complaint);
    return ran > 0 && run.status != 0 && !out->full ? 0 : ran;
}

static bool git_is_there(void)
{
    static const char *const words[] = {"--version", NULL};
    AUTO_CLEAR(buf) struct buf out = {0};
    char complaint[PROGRAM_COMPLAINT];
    struct err ignored;

    return run_git("/", words, &out, 4096, complaint, &ignored) > 0;
}

/* Whether .git is in the directory or above it on the same file system, where git looks. */
static bool has_repository(const char *directory)
{
    AUTO_MEM char *at = realpath(directory, NULL);
    struct stat top, here;

    if (!at || stat(at, &top) < 0)
        return false;
    for (char *end = at + strlen(at); end; end = strrchr(at, '/')) {
        *end = 0;
        AUTO_MEM char *git = mem_printf("%s/.git", at);
        if (stat(*at ? at : "/", &here) < 0 || here.st_dev != top.st_dev)
            return false;
        if (access(git, F_OK) == 0)
            return true;
    }
    return false;
}

/* The commit, and whether what is there differs from it. 1: directory is in a repository. */
static int ask_status(const char *directory, struct listing *list, struct err *e)
{
    static const char branch[] = "# branch.oid ";
    static const char *const words[] = {
        "status", "-z", "--porcelain=2", "--branch", "--untracked-files=normal", "--", ".", NULL};
    AUTO_CLEAR(buf) struct buf out = {0};
    char complaint[PROGRAM_COMPLAINT];
    int good = run_git(directory, words, &out, STATUS_MAX, complaint, e);

    if (good == 0 && has_repository(directory))
        log_warn("code", "%s: git says: %s; its commit is not recorded", directory, complaint);
    if (good <= 0)
        return good;
    for (const char *at = buf_str(&out), *end = at + out.len; at < end; at += strlen(at) + 1) {
        if (*at != '#')
            list->dirty = true;
        if (strncmp(at, branch, sizeof branch - 1) == 0 && at[sizeof branch - 1] != '(')
            snprintf(list->commit, sizeof list->commit, "%s", at + sizeof branch - 1);
    }
    return 1;
}

/* Names into a list of their own, without the '/' that ends those of repositories within. */
static void take_names(struct arena *a, struct buf *names, struct listing *out)
{
    if (!names->len)
        return;
    for (char *at = names->data, *end = at + names->len; at < end;) {
        size_t n = strlen(at);
        if (n && at[n - 1] == '/')
            at[n - 1] = 0;
        add_path(a, out, at);
        at += n + 1;
    }
    qsort(out->paths, out->n, sizeof *out->paths, by_bytes);
}

/* The files that git would show with these rules. empty NULL: those of the repository too that
 * directory is in. */
static int ask_names(const struct reading *r,
                     const char *directory,
                     const char *empty,
                     const char *rules,
                     struct listing *out,
                     struct err *e)
{
    AUTO_MEM char *git_dir = mem_printf("--git-dir=%s", empty ? empty : "");
    AUTO_MEM char *work_tree = mem_printf("--work-tree=%s", directory);
    AUTO_MEM char *exclude = mem_printf("--exclude-per-directory=%s", rules);
    const char *alone[] = {git_dir, work_tree, "ls-files", "-z", "--others", exclude, NULL};
    const char *within[] = {"ls-files", "--cached", "--others", exclude, "-z", NULL};
    AUTO_CLEAR(buf) struct buf names = {0};
    char complaint[PROGRAM_COMPLAINT];
    int good = run_git(directory, empty ? alone : within, &names, NAMES_MAX, complaint, e);

    if (good < 0)
        return -1;
    if (names.full)
        return too_many(directory, e);
    if (!good)
        return err_set(e, ERR_IO, "%s: git ls-files: %s", directory, complaint);
    take_names(r->arena, &names, out);
    return 0;
}

static int read_directory(struct reading *r, const char *below, unsigned depth, struct err *e);

/* A name that both lists have: a file or link is listed, a repository within is read. */
static int take_path(struct reading *r, const char *path, unsigned depth, struct err *e)
{
    AUTO_MEM char *whole = mem_printf("%s/%s", r->directory, path);
    struct stat st;

    if (lstat(whole, &st) < 0)
        return 0; /* gone since */
    if (S_ISDIR(st.st_mode))
        return depth < DEPTH_MAX
                   ? read_directory(r, path, depth + 1, e)
                   : err_set(e, ERR_USAGE, "%s: repositories within repositories, too deep", path);
    if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
        add_path(r->arena, r->list, path);
    return 0;
}

static int take_common(struct reading *r,
                       const char *below,
                       const struct listing *one,
                       const struct listing *other,
                       unsigned depth,
                       struct err *e)
{
    for (size_t i = 0, k = 0; i < one->n && k < other->n;) {
        int order = strcmp(one->paths[i], other->paths[k]);
        if (order == 0 && (i == 0 || strcmp(one->paths[i], one->paths[i - 1]) != 0)) {
            AUTO_MEM char *path = mem_printf("%s%s%s", below, *below ? "/" : "", one->paths[i]);
            if (take_path(r, path, depth, e) < 0)
                return -1;
        }
        i += order <= 0;
        k += order > 0;
    }
    return 0;
}

/* below: relative to where we began, "" = there. */
static int read_directory(struct reading *r, const char *below, unsigned depth, struct err *e)
{
    AUTO_MEM char *directory = mem_printf("%s%s%s", r->directory, *below ? "/" : "", below);
    struct listing git = {0}, ours = {0}, status = {0};
    int within = ask_status(directory, &status, e);

    if (within < 0 || ask_names(r, directory, within ? NULL : r->empty, ".gitignore", &git, e) < 0)
        return -1;
    /* A directory that the repository around it ignores is none of its business. */
    if (within && !git.n) {
        within = 0;
        if (ask_names(r, directory, r->empty, ".gitignore", &git, e) < 0)
            return -1;
    }
    /* Files of the repository, too, may be too large to send: our rules count for all. */
    if (ask_names(r, directory, r->empty, ".tradewindignore", &ours, e) < 0)
        return -1;
    if (within && !*below)
        memcpy(r->list->commit, status.commit, sizeof status.commit);
    r->list->dirty = r->list->dirty || (within && status.dirty);
    return take_common(r, below, &git, &ours, depth, e);
}

static int make_empty(const char *path, struct err *e)
{
    static const char head[] = "ref: refs/heads/main\n";
    AUTO_MEM char *objects = mem_printf("%s/objects", path);
    AUTO_MEM char *refs = mem_printf("%s/refs", path);
    AUTO_MEM char *file = mem_printf("%s/HEAD", path);

    if (file_make_dirs(objects, 0700, e) < 0 || file_make_dirs(refs, 0700, e) < 0)
        return -1;
    AUTO_FD int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fd < 0 || file_write_all(fd, head, sizeof head - 1) < 0 ? file_error(e, "write", file)
                                                                   : 0;
}

/* ---- without git ---- */

static int walk(const struct reading *r, struct err *e)
{
    AUTO_MEM char *root = mem_dup(r->directory);
    char *const roots[] = {root, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t skip = strlen(root) + 1, bytes = 0;
    int result = 0;

    if (!tree)
        return file_error(e, "read", root);
    for (FTSENT *f; result == 0 && (f = fts_read(tree));) {
        if (f->fts_info == FTS_D && strcmp(f->fts_name, ".git") == 0)
            fts_set(tree, f, FTS_SKIP);
        else if (f->fts_info == FTS_DNR || f->fts_info == FTS_ERR || f->fts_info == FTS_NS) {
            errno = f->fts_errno;
            result = file_error(e, "read", f->fts_path);
        } else if ((f->fts_info == FTS_F || f->fts_info == FTS_SL || f->fts_info == FTS_SLNONE) &&
                   strcmp(f->fts_name, ".git") != 0) {
            bytes += strlen(f->fts_path);
            add_path(r->arena, r->list, f->fts_path + skip);
            result = bytes > NAMES_MAX ? too_many(root, e) : 0;
        }
    }
    fts_close(tree);
    return result;
}

int listing_read(const char *directory,
                 const char *scratch,
                 struct arena *arena,
                 struct listing *out,
                 struct err *e)
{
    AUTO_MEM char *empty = mem_printf("%s/git", scratch);
    struct reading r = {directory, empty, arena, out};

    *out = (struct listing){0};
    if (!git_is_there()) {
        log_warn("code",
                 "git is not installed: .gitignore and .tradewindignore are not read, and "
                 "all of %s is taken",
                 directory);
        if (walk(&r, e) < 0)
            return -1;
    } else if (make_empty(empty, e) < 0 || read_directory(&r, "", 0, e) < 0) {
        return -1;
    }
    if (out->n)
        qsort(out->paths, out->n, sizeof *out->paths, by_bytes);
    return 0;
}
