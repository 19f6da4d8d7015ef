#include "broker/pipeline/codecopy.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "broker/core/program.h"
#include "lake/core/path.h"
#include "lake/put/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODE_BYTES_MAX ((uint64_t)4 << 30)
/* What an unpacked file or directory counts beside its bytes: a block of the disk. */
#define ENTRY_BYTES 4096
/* "code-" before it, and "-9" after it, fit a set's name. */
#define NAME_MAX_BYTES (LAKE_NAME_MAX - 8)

struct copying {
    struct arena *arena;
    struct codecopy *out;
    const char *given; /* the directory or archive that is copied */
    char *root;        /* real path of the working directory, or of what was unpacked */
    bool archive;
};

/* ---- the copy ---- */

static int copy_bytes(int from, int to, const char *shown, struct err *e)
{
    char bytes[65536];
    ssize_t n;

    while ((n = read(from, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || file_write_all(to, bytes, (size_t)n) < 0)
            return file_error(e, "copy", shown);
    }
    return 0;
}

static int make_parents(const char *path, struct err *e)
{
    AUTO_MEM char *dir = mem_dup(path);
    char *slash = strrchr(dir, '/');

    assert(slash);
    *slash = 0;
    return file_make_dirs(dir, 0700, e);
}

static int too_large(const char *path, struct err *e)
{
    AUTO_MEM char *shown = source_printable(path);

    return err_set(
        e, ERR_USAGE,
        "%s is larger than %llu GiB, which is not code: put data into the lake, or leave "
        "it out by .tradewindignore",
        shown, (unsigned long long)(CODE_BYTES_MAX >> 30));
}

static int copy_file(struct copying *c, int from, const char *path, struct err *e)
{
    AUTO_MEM char *to_path = mem_printf("%s/%s", c->out->directory, path);
    AUTO_MEM char *shown = source_printable(path);
    struct stat st;

    if (fstat(from, &st) < 0)
        return file_error(e, "read", shown);
    c->out->bytes += (uint64_t)st.st_size;
    if (c->out->bytes > CODE_BYTES_MAX)
        return too_large(c->given, e);
    bool executable = (st.st_mode & S_IXUSR) != 0;
    if (make_parents(to_path, e) < 0)
        return -1;
    int to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, executable ? 0700 : 0600);
    if (to < 0)
        return file_error(e, "copy", shown);
    int result = copy_bytes(from, to, shown, e);
    if (close(to) < 0 && result == 0)
        result = file_error(e, "copy", shown);
    c->out->files[c->out->n++] = (struct codecopy_file){
        .path = path, .executable = executable, .bytes = (uint64_t)st.st_size};
    return result;
}

/* Whether a link is to be followed: 1; 0: it is left out, with a warning; -1: it leads out. */
static int judge_link(const struct copying *c, const char *path, const char *whole, struct err *e)
{
    AUTO_MEM char *target = realpath(whole, NULL);
    AUTO_MEM char *shown = source_printable(path);
    size_t n = strlen(c->root);
    struct stat st;

    if (!target) {
        log_warn("code", "left out: %s is a link that leads nowhere", shown);
        return 0;
    }
    if (strncmp(target, c->root, n) != 0 || (target[n] && target[n] != '/')) {
        AUTO_MEM char *where = source_printable(target);
        return err_set(e, ERR_USAGE,
                       "%s is a link that leads out of the directory, to %s: copy it in, or leave "
                       "it out by .tradewindignore",
                       shown, where);
    }
    if (stat(target, &st) == 0 && S_ISREG(st.st_mode))
        return 1;
    log_warn("code", "left out: %s is a link to a directory", shown);
    return 0;
}

static int copy_one(struct copying *c, const char *path, struct err *e)
{
    AUTO_MEM char *whole = mem_printf("%s/%s", c->root, path);
    struct stat st;

    if (lstat(whole, &st) < 0)
        return 0; /* gone since it was listed, as editors' and compilers' files are */
    if (S_ISLNK(st.st_mode)) {
        int follow = judge_link(c, path, whole, e);
        if (follow <= 0)
            return follow;
    } else if (!S_ISREG(st.st_mode)) {
        return 0;
    }
    AUTO_FD int from = open(whole, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (from < 0 && errno == ENOENT)
        return 0;
    if (from < 0) {
        int why = errno;
        AUTO_MEM char *shown = source_printable(whole);
        errno = why;
        return file_error(e, "read", shown);
    }
    return copy_file(c, from, path, e);
}

static int copy_all(struct copying *c, struct err *e)
{
    struct codecopy *out = c->out;

    out->files = arena_zero(c->arena, out->list.n + 1, sizeof *out->files);
    for (size_t i = 0; i < out->list.n; i++)
        if (copy_one(c, out->list.paths[i], e) < 0)
            return -1;
    if (out->n)
        return 0;
    AUTO_MEM char *shown = source_printable(c->given);
    return err_set(e, ERR_USAGE,
                   "%s: no file of it is left by .gitignore and .tradewindignore, so there is no "
                   "code to run",
                   shown);
}

/* ---- archives ---- */

static const struct {
    const char *suffix;
    bool zip;
} archives[] = {{".tar", false}, {".tar.gz", false}, {".tgz", false}, {".zip", true}};

/* Bytes of name before the suffix of an archive; 0: it is none. */
static size_t archive_stem(const char *name, bool *zip_out)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof archives / sizeof *archives; i++) {
        size_t of_suffix = strlen(archives[i].suffix);
        if (n > of_suffix && strcasecmp(name + n - of_suffix, archives[i].suffix) == 0) {
            *zip_out = archives[i].zip;
            return n - of_suffix;
        }
    }
    return 0;
}

struct unpacking {
    char *into;
    bool too_deep;
};

/* Whether what was unpacked so far is still within bounds. */
static bool is_small(void *context)
{
    struct unpacking *u = context;
    char *const roots[] = {u->into, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    uint64_t bytes = 0;

    for (FTSENT *f; tree && (f = fts_read(tree));) {
        bytes += ENTRY_BYTES;
        if (f->fts_info == FTS_F)
            bytes += (uint64_t)f->fts_statp->st_size;
        /* Such a file has bytes that are not seen from here. */
        u->too_deep = u->too_deep || (f->fts_info == FTS_NS && f->fts_errno == ENAMETOOLONG);
    }
    if (tree)
        fts_close(tree);
    return bytes <= CODE_BYTES_MAX && !u->too_deep;
}

/* tar and unzip refuse names that lead out of the directory themselves. */
static int unpack(const char *archive, bool zip, char *into, struct err *e)
{
    const char *tar[] = {"tar", "-x", "--no-same-owner", "-f", archive, "-C", into, NULL};
    const char *unzip[] = {"unzip", "-qq", "-o", archive, "-d", into, NULL};
    AUTO_CLEAR(buf) struct buf out;
    struct unpacking unpacking = {.into = into};
    struct program_run run = {
        .argv = zip ? unzip : tar, .out = &out, .go_on = is_small, .context = &unpacking};
    AUTO_MEM char *shown = source_printable(archive);

    buf_init(&out, 65536);
    if (file_make_dirs(into, 0700, e) < 0)
        return -1;
    int ran = program_run(&run, e);
    if (ran < 0)
        return -1;
    if (ran == 0)
        return err_set(e, ERR_USAGE, "%s: %s is not installed; unpack it yourself", shown,
                       run.argv[0]);
    if (unpacking.too_deep)
        return err_set(e, ERR_USAGE, "%s has paths that are too long; unpack it yourself", shown);
    if (run.stopped)
        return too_large(archive, e);
    if (run.status != 0)
        return err_set(e, ERR_USAGE, "%s cannot be unpacked: %s", shown, run.complaint);
    return 0;
}

/* ---- names ---- */

/* The path's last part, made fit for a set. */
static char *fit_name(struct arena *arena, const char *path, size_t len)
{
    AUTO_MEM char *whole = mem_printf("%.*s", (int)len, path);
    const char *slash = strrchr(whole, '/'), *name = slash ? slash + 1 : whole;
    char out[NAME_MAX_BYTES + 1];
    size_t n = 0;

    for (; *name && n < NAME_MAX_BYTES; name++) {
        bool letter = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                      (*name >= '0' && *name <= '9');
        bool other = *name == '.' || *name == '_' || *name == '-';
        if (n || letter)
            out[n++] = letter || other ? *name : '-';
    }
    out[n] = 0;
    return arena_dup(arena, n ? out : "work");
}

/* ---- all ---- */

/* Fills in root, and the name; an archive is unpacked into the staging directory. */
static int find_root(struct copying *c, const struct staging *staging, struct err *e)
{
    AUTO_MEM char *real = realpath(c->given, NULL);
    AUTO_MEM char *shown = source_printable(c->given);
    struct stat st;
    bool zip;

    if (!real && (errno == ENOENT || errno == ENOTDIR))
        return err_set(e, ERR_NOTFOUND, "there is no directory %s", shown);
    if (!real || stat(real, &st) < 0)
        return file_error(e, "read", shown);
    if (S_ISDIR(st.st_mode)) {
        c->root = arena_dup(c->arena, real);
        c->out->name = fit_name(c->arena, real, strlen(real));
        return 0;
    }
    size_t stem = archive_stem(real, &zip);
    if (!stem || !S_ISREG(st.st_mode))
        return err_set(e, ERR_USAGE,
                       "%s is neither a directory nor an archive (.tar, .tar.gz, .tgz, .zip)",
                       shown);
    c->out->name = fit_name(c->arena, real, stem);
    c->root = arena_printf(c->arena, "%s/unpacked", staging->path);
    c->archive = true;
    return unpack(real, zip, c->root, e);
}

int codecopy_make(const char *directory,
                  const struct staging *staging,
                  struct arena *arena,
                  struct codecopy *out,
                  struct err *e)
{
    struct copying c = {.arena = arena, .out = out, .given = directory};

    *out = (struct codecopy){.directory = arena_printf(arena, "%s/code", staging->path)};
    if (find_root(&c, staging, e) < 0)
        return -1;
    /* What was unpacked below the home is of no repository that may be around the home. */
    const struct listing_options options = {
        .directory = c.root, .scratch = c.archive ? NULL : staging->path, .is_alone = c.archive};
    return listing_read(&options, arena, &out->list, e) < 0 ? -1 : copy_all(&c, e);
}
