#include "broker/pipeline/code.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "broker/core/program.h"
#include "broker/core/staging.h"
#include "broker/pipeline/codefiles.h"
#include "broker/pipeline/listing.h"
#include "lake/core/path.h"
#include "lake/put/put.h"
#include "lake/put/source.h"
#include "lake/set/set.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODE_BYTES_MAX ((uint64_t)4 << 30)
/* "code-" before it, and "-9" after it, fit a set's name. */
#define NAME_MAX_BYTES (LAKE_NAME_MAX - 8)
/* NAME, NAME-2 ... */
#define NAMES 9

struct staged {
    const char *path; /* relative; of the list */
    bool executable;
    uint64_t bytes;
    int64_t number; /* of its version in the lake */
};

struct storing {
    struct arena *arena; /* of all texts and lists */
    struct lake *l;
    const char *given; /* what we were asked to store */
    char *root;        /* real path of the working directory, or of what was unpacked */
    char *stage;       /* where the copy is made */
    char *prefix;      /* "/code/NAME/" */
    char *set;         /* "code-NAME" */
    struct listing list;
    struct staged *files; /* by path */
    size_t n_files;
    uint64_t bytes;
    bool archive;
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

static int copy_file(struct storing *s, int from, const char *path, struct err *e)
{
    AUTO_MEM char *to_path = mem_printf("%s/%s", s->stage, path);
    AUTO_MEM char *shown = source_printable(path);
    struct stat st;

    if (fstat(from, &st) < 0)
        return file_error(e, "read", shown);
    s->bytes += (uint64_t)st.st_size;
    if (s->bytes > CODE_BYTES_MAX)
        return too_large(s->given, e);
    bool executable = (st.st_mode & S_IXUSR) != 0;
    if (make_parents(to_path, e) < 0)
        return -1;
    int to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, executable ? 0700 : 0600);
    if (to < 0)
        return file_error(e, "copy", shown);
    int result = copy_bytes(from, to, shown, e);
    if (close(to) < 0 && result == 0)
        result = file_error(e, "copy", shown);
    s->files[s->n_files++] =
        (struct staged){.path = path, .executable = executable, .bytes = (uint64_t)st.st_size};
    return result;
}

/* Whether a link is to be followed: 1; 0: it is left out, with a warning; -1: it leads out. */
static int judge_link(const struct storing *s, const char *path, const char *whole, struct err *e)
{
    AUTO_MEM char *target = realpath(whole, NULL);
    AUTO_MEM char *shown = source_printable(path);
    size_t n = strlen(s->root);
    struct stat st;

    if (!target) {
        log_warn("code", "left out: %s is a link that leads nowhere", shown);
        return 0;
    }
    if (strncmp(target, s->root, n) != 0 || (target[n] && target[n] != '/')) {
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

static int stage_one(struct storing *s, const char *path, struct err *e)
{
    AUTO_MEM char *whole = mem_printf("%s/%s", s->root, path);
    struct stat st;

    if (lstat(whole, &st) < 0)
        return 0; /* gone since it was listed, as editors' and compilers' files are */
    if (S_ISLNK(st.st_mode)) {
        int follow = judge_link(s, path, whole, e);
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
    return copy_file(s, from, path, e);
}

static int stage_all(struct storing *s, struct err *e)
{
    s->files = arena_zero(s->arena, s->list.n + 1, sizeof *s->files);
    for (size_t i = 0; i < s->list.n; i++)
        if (stage_one(s, s->list.paths[i], e) < 0)
            return -1;
    if (s->n_files)
        return 0;
    AUTO_MEM char *shown = source_printable(s->given);
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

/* Whether what was unpacked so far is still within bounds. */
static bool is_small(void *context)
{
    AUTO_MEM char *root = mem_dup(context);
    char *const roots[] = {root, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    uint64_t bytes = 0;

    for (FTSENT *f; tree && (f = fts_read(tree));)
        if (f->fts_info == FTS_F)
            bytes += (uint64_t)f->fts_statp->st_size;
    if (tree)
        fts_close(tree);
    return bytes <= CODE_BYTES_MAX;
}

/* tar and unzip refuse names that lead out of the directory themselves. */
static int unpack(const char *archive, bool zip, char *into, struct err *e)
{
    const char *tar[] = {"tar", "-x", "--no-same-owner", "-f", archive, "-C", into, NULL};
    const char *unzip[] = {"unzip", "-qq", "-o", archive, "-d", into, NULL};
    AUTO_CLEAR(buf) struct buf out;
    struct program_run run = {
        .argv = zip ? unzip : tar, .out = &out, .go_on = is_small, .context = into};
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
    if (run.stopped)
        return too_large(archive, e);
    if (run.status != 0)
        return err_set(e, ERR_USAGE, "%s cannot be unpacked: %s", shown, run.complaint);
    return 0;
}

/* ---- names ---- */

/* The directory's own name, made fit for a set. */
static char *fit_name(const char *path, size_t len)
{
    AUTO_MEM char *whole = mem_printf("%.*s", (int)len, path);
    const char *slash = strrchr(whole, '/'), *name = slash ? slash + 1 : whole;
    char *out = mem_zero(NAME_MAX_BYTES + 1, 1);
    size_t n = 0;

    for (; *name && n < NAME_MAX_BYTES; name++) {
        bool letter = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                      (*name >= '0' && *name <= '9');
        bool other = *name == '.' || *name == '_' || *name == '-';
        if (n || letter)
            out[n++] = letter || other ? *name : '-';
    }
    if (!n)
        memcpy(out, "work", sizeof "work");
    return out;
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
    AUTO_MEM char *source = mem_printf("%s/.", s->stage);
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
    return strcmp(((const struct staged *)a)->path, ((const struct staged *)b)->path);
}

static struct staged *find_staged(struct storing *s, const char *lake_path)
{
    size_t n = strlen(s->prefix);

    if (strncmp(lake_path, s->prefix, n) != 0)
        return NULL;
    const struct staged key = {.path = lake_path + n};
    return bsearch(&key, s->files, s->n_files, sizeof *s->files, by_path);
}

/* Notes the version of each staged file; one whose mode is another than the lake's has none. */
static int note_version(void *context, const struct lake_file *file, struct err *e)
{
    struct storing *s = context;
    struct staged *staged = find_staged(s, file->path);

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

    for (size_t i = 0; i < s->n_files; i++) {
        if (s->files[i].number)
            continue;
        AUTO_MEM char *source = mem_printf("%s/%s", s->stage, s->files[i].path);
        AUTO_MEM char *destination = mem_printf("%s%s", s->prefix, s->files[i].path);
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
    const struct staged *staged = find_staged(s, entry->path);

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
                      s->matched != s->n_files))
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

/* ---- all ---- */

/* Fills in root, and the name; an archive is unpacked into the staging directory. */
static int find_root(struct storing *s,
                     const char *directory,
                     const struct staging *staging,
                     char **name_out,
                     struct err *e)
{
    AUTO_MEM char *real = realpath(directory, NULL);
    AUTO_MEM char *shown = source_printable(directory);
    struct stat st;
    bool zip;

    if (!real && (errno == ENOENT || errno == ENOTDIR))
        return err_set(e, ERR_NOTFOUND, "there is no directory %s", shown);
    if (!real || stat(real, &st) < 0)
        return file_error(e, "read", shown);
    *name_out = fit_name(real, strlen(real));
    s->root = arena_dup(s->arena, real);
    if (S_ISDIR(st.st_mode))
        return 0;
    size_t stem = archive_stem(s->root, &zip);
    if (!stem || !S_ISREG(st.st_mode))
        return err_set(e, ERR_USAGE,
                       "%s is neither a directory nor an archive (.tar, .tar.gz, .tgz, .zip)",
                       shown);
    free(*name_out);
    *name_out = fit_name(s->root, stem);
    s->root = arena_printf(s->arena, "%s/unpacked", staging->path);
    s->archive = true;
    return unpack(real, zip, s->root, e);
}

static void note_largest(const struct storing *s, struct code *out)
{
    const struct staged *largest[CODE_LARGEST] = {NULL};

    for (size_t i = 0; i < s->n_files; i++) {
        const struct staged *f = &s->files[i];
        for (size_t k = 0; k < CODE_LARGEST && f; k++)
            if (!largest[k] || f->bytes > largest[k]->bytes) {
                const struct staged *moved = largest[k];
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
    struct storing s = {.l = l,
                        .arena = arena,
                        .given = directory,
                        .stage = arena_printf(arena, "%s/code", staging->path)};
    AUTO_MEM char *name = NULL;

    if (find_root(&s, directory, staging, &name, e) < 0)
        return -1;
    /* What was unpacked below the home is of no repository that may be around the home. */
    const struct listing_options options = {
        .directory = s.root, .scratch = s.archive ? NULL : staging->path, .is_alone = s.archive};
    if (listing_read(&options, arena, &s.list, e) < 0 || stage_all(&s, e) < 0 ||
        store(&s, name, &out->ref, e) < 0)
        return -1;
    memcpy(out->commit, s.list.commit, sizeof out->commit);
    out->dirty = s.list.dirty;
    out->files = s.n_files;
    out->bytes = s.bytes;
    note_largest(&s, out);
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
