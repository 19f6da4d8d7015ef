#include "lake/put/source.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "lake/core/path.h"
#include "lake/put/internal.h"
#include "lake/put/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_PARENT UINT32_MAX

/* What one operand stands for. A file's path is root + names of the directories + its own. */
struct source_root {
    char *paths[SOURCE_REAL + 1]; /* by side, without '/' at the end; real may be NULL */
};

struct source_dir {
    uint32_t root;
    uint32_t parent; /* NO_PARENT: this is the root itself */
    uint32_t name;
};

/* One name of a directory that is being read. */
struct entry {
    uint32_t name;
    bool is_dir;
};

struct source_stamp source_stamp_of(const struct stat *st)
{
    return (struct source_stamp){
        .device = st->st_dev,
        .inode = st->st_ino,
        .size = (uint64_t)st->st_size,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
    };
}

bool source_stamp_equal(const struct source_stamp *a, const struct source_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

void source_list_free(struct source_list *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_roots; i++)
        for (size_t side = 0; side <= SOURCE_REAL; side++)
            free(s->roots[i].paths[side]);
    if (s->spool >= 0)
        close(s->spool);
    free(s->roots);
    free(s->dirs);
    mem_pages_free(s->names, s->names_bytes);
    mem_pages_free(s->files, s->files_bytes);
    free(s->by_path);
    free(s);
}

char *source_printable(const char *path)
{
    char *out = mem_dup(path);
    size_t len = strlen(out);

    for (size_t i = 0; i < len;) {
        uint32_t c;
        size_t n = utf8_decode(out + i, len - i, &c);
        if (!n || c < 0x20 || (c >= 0x7f && c < 0xa0)) {
            size_t bad = n ? n : 1;
            memset(out + i, '?', bad);
            n = bad;
        }
        i += n;
    }
    return out;
}

static int local_error(struct err *e, const char *what, const char *path)
{
    int why = errno;
    AUTO_MEM char *shown = source_printable(path);

    if (why == ENOENT || why == ENOTDIR)
        return err_set(e, ERR_NOTFOUND, "%s %s: there is no such file", what, shown);
    errno = why;
    return file_error(e, what, shown);
}

/* ---- paths ---- */

static char *prepend(char *at, const char *start, const char *text)
{
    size_t n = strlen(text);

    if ((size_t)(at - start) < n)
        return NULL;
    while (n)
        *--at = text[--n];
    return at;
}

/* NULL when it does not fit. */
static char *build(const struct source_list *s,
                   uint32_t dir,
                   uint32_t name,
                   enum source_side side,
                   char out[static SOURCE_PATH_MAX])
{
    char *at = out + SOURCE_PATH_MAX - 1;

    *at = 0;
    for (;;) {
        const struct source_dir *d = &s->dirs[dir];
        if (*(s->names + name)) {
            at = prepend(at, out, s->names + name);
            at = at ? prepend(at, out, "/") : NULL;
        }
        if (!at)
            return NULL;
        if (d->parent == NO_PARENT)
            return prepend(at, out, s->roots[d->root].paths[side]);
        name = d->name;
        dir = d->parent;
    }
}

const char *source_path(const struct source_list *s,
                        size_t i,
                        enum source_side side,
                        char out[static SOURCE_PATH_MAX])
{
    const struct source_file *f = &s->files[i];

    return s->roots[s->dirs[f->dir].root].paths[side] ? build(s, f->dir, f->name, side, out) : NULL;
}

size_t source_nth(const struct source_list *s, size_t n)
{
    return s->by_path ? s->by_path[n] : n;
}

/* ---- the list ---- */

static int add_name(struct source_list *s, const char *name, uint32_t *out, struct err *e)
{
    size_t n = strlen(name) + 1;

    if (s->names_len + n > UINT32_MAX)
        return err_set(e, ERR_NOFIT, "more than 4 GB of file names in one put");
    s->names = mem_pages(s->names, &s->names_bytes, s->names_len + n);
    memcpy(s->names + s->names_len, name, n);
    *out = (uint32_t)s->names_len;
    s->names_len += n;
    return 0;
}

static uint32_t add_dir(struct source_list *s, uint32_t root, uint32_t parent, uint32_t name)
{
    s->dirs = mem_room(s->dirs, s->n_dirs, &s->cap_dirs, sizeof *s->dirs);
    s->dirs[s->n_dirs] = (struct source_dir){root, parent, name};
    return (uint32_t)s->n_dirs++;
}

/* Whether we may read it, as far as the bits tell; only then the system is asked. */
static bool readable(const char *local, const struct stat *st)
{
    if ((st->st_mode & S_IROTH) || (st->st_uid == geteuid() && (st->st_mode & S_IRUSR)))
        return true;
    return faccessat(AT_FDCWD, local, R_OK, AT_EACCESS) == 0;
}

/* The path in the lake is refused because of what the file or a directory above it is called. */
static bool name_is_odd(const char *local)
{
    size_t len = strlen(local), line;

    return utf8_first_bad(local, len, &line) != len || strcspn(local, "\t\r\n") != len;
}

static int append_file(struct source_list *s,
                       uint32_t dir,
                       uint32_t name,
                       const char *local,
                       const struct stat *st,
                       struct err *e)
{
    char out[SOURCE_PATH_MAX];
    const char *lake = build(s, dir, name, SOURCE_LAKE, out);

    if (!lake || lake_path_check(lake, e) < 0) {
        AUTO_MEM char *shown = source_printable(local);
        if (!lake)
            err_set(e, ERR_USAGE, "the path is too long");
        return err_wrap(e, "%s%s", shown, name_is_odd(local) ? " must be renamed or left out" : "");
    }
    if (!readable(local, st))
        return local_error(e, "read", local);
    if (s->n_files >= UINT32_MAX)
        return err_set(e, ERR_NOFIT, "more than %u files in one put", UINT32_MAX);
    s->files = mem_pages(s->files, &s->files_bytes, (s->n_files + 1) * sizeof *s->files);
    s->files[s->n_files++] = (struct source_file){
        .stamp = source_stamp_of(st),
        .dir = dir,
        .name = name,
        .executable = (st->st_mode & S_IXUSR) != 0,
    };
    s->bytes += (uint64_t)st->st_size;
    return 0;
}

/* ---- directories ---- */

/* As full paths sort: a directory's name counts with its '/'. */
static int compare_entries(const void *a, const void *b, void *names)
{
    const struct entry *x = a, *y = b;
    const unsigned char *s = (const unsigned char *)names + x->name,
                        *t = (const unsigned char *)names + y->name;

    while (*s && *s == *t) {
        s++;
        t++;
    }
    int left = *s ? *s : x->is_dir ? '/' : 0, right = *t ? *t : y->is_dir ? '/' : 0;
    return left - right;
}

static int skip(struct source_list *s, const char *local, const char *what)
{
    AUTO_MEM char *shown = source_printable(local);

    s->skipped++;
    log_warn("put", "left out: %s is %s", shown, what);
    return 0;
}

static bool entry_is_dir(const char *dir, const struct dirent *d)
{
    if (d->d_type != DT_UNKNOWN)
        return d->d_type == DT_DIR;
    AUTO_MEM char *path = mem_printf("%s/%s", dir, d->d_name);
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* All names of a directory, sorted. */
static struct entry *read_dir(struct source_list *s,
                              const char *local,
                              size_t *n_out,
                              struct err *e)
{
    AUTO_MEM struct entry *entries = NULL;
    size_t n = 0, cap = 0;
    DIR *dir = opendir(*local ? local : "/");

    if (!dir) {
        local_error(e, "read", local);
        return NULL;
    }
    for (;;) {
        errno = 0;
        const struct dirent *d = readdir(dir);
        if (!d)
            break;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        entries = mem_room(entries, n, &cap, sizeof *entries);
        if (add_name(s, d->d_name, &entries[n].name, e) < 0) {
            closedir(dir);
            return NULL;
        }
        entries[n++].is_dir = entry_is_dir(local, d);
    }
    int why = errno;
    closedir(dir);
    if (why) {
        errno = why;
        local_error(e, "read", local);
        return NULL;
    }
    if (!entries)
        entries = mem_zero(1, sizeof *entries);
    qsort_r(entries, n, sizeof *entries, compare_entries, s->names);
    *n_out = n;
    return TAKE(entries);
}

static int scan_dir(struct source_list *s, uint32_t dir, const char *local, struct err *e);

static int scan_entry(struct source_list *s,
                      uint32_t dir,
                      const char *parent,
                      const struct entry *entry,
                      struct err *e)
{
    AUTO_MEM char *local = mem_printf("%s/%s", parent, s->names + entry->name);
    struct stat st;

    if (strlen(local) >= PATH_MAX) {
        AUTO_MEM char *shown = source_printable(local);
        return err_set(e, ERR_USAGE, "%s: the path is too long", shown);
    }
    if (entry->is_dir)
        return scan_dir(s, add_dir(s, s->dirs[dir].root, dir, entry->name), local, e);
    if (lstat(local, &st) < 0)
        return local_error(e, "read", local);
    if (S_ISLNK(st.st_mode) && stat(local, &st) < 0)
        return skip(s, local, "a link that leads nowhere");
    if (S_ISDIR(st.st_mode))
        return skip(s, local, "a link to a directory");
    if (!S_ISREG(st.st_mode))
        return skip(s, local, "not a regular file");
    if (tree_is_leftover(s->names + entry->name))
        return skip(s, local, "half a file that a killed get left");
    return append_file(s, dir, entry->name, local, &st, e);
}

static int scan_dir(struct source_list *s, uint32_t dir, const char *local, struct err *e)
{
    size_t n = 0;
    AUTO_MEM struct entry *entries = read_dir(s, local, &n, e);

    if (!entries)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (scan_entry(s, dir, local, &entries[i], e) < 0)
            return -1;
    return 0;
}

/* ---- operands ---- */

/* The name a source has by itself; NULL when it stands for what it holds: "x/.", "..", "/". */
static char *own_name(const char *source)
{
    size_t end = strlen(source);

    while (end && source[end - 1] == '/')
        end--;
    size_t start = end;
    while (start && source[start - 1] != '/')
        start--;
    AUTO_MEM char *name = mem_printf("%.*s", (int)(end - start), source + start);
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return NULL;
    return TAKE(name);
}

/* Where the source goes, without '/' at the end. */
static char *target_of(const char *source, const char *destination)
{
    size_t n = strlen(destination);
    AUTO_MEM char *name = own_name(source);

    if (destination[n - 1] != '/')
        return mem_dup(destination);
    if (name)
        return mem_printf("%s%s", destination, name);
    return mem_printf("%.*s", (int)(n - 1), destination);
}

static char *without_slash(const char *source)
{
    size_t n = strlen(source);

    while (n && source[n - 1] == '/')
        n--;
    return mem_printf("%.*s", (int)n, source);
}

/* The absolute path, unless it is one that the database cannot hold as text. */
static char *real_path(const char *source)
{
    AUTO_MEM char *real = realpath(source, NULL);
    size_t line;

    if (!real || utf8_first_bad(real, strlen(real), &line) != strlen(real))
        return NULL;
    return mem_dup(strcmp(real, "/") == 0 ? "" : real);
}

/* A link's own place, so that it is not taken for the file it leads to. */
static char *real_file_path(const char *source)
{
    AUTO_MEM char *name = own_name(source);
    AUTO_MEM char *dir =
        mem_printf("%.*s", (int)(strlen(source) - (name ? strlen(name) : 0)), source);
    AUTO_MEM char *real = real_path(*dir ? dir : ".");

    if (!real || !name)
        return NULL;
    return mem_printf("%s/%s", real, name);
}

static uint32_t add_root(struct source_list *s, struct source_root root)
{
    s->roots = mem_room(s->roots, s->n_roots, &s->cap_roots, sizeof *s->roots);
    s->roots[s->n_roots] = root;
    return add_dir(s, (uint32_t)s->n_roots++, NO_PARENT, 0);
}

static int scan_source(struct source_list *s,
                       const char *source,
                       const char *destination,
                       struct err *e)
{
    struct stat st;

    if (!*source)
        return err_set(e, ERR_USAGE, "a file to put has no name: it is \"\"");
    if (stat(source, &st) < 0)
        return local_error(e, "read", source);
    if (S_ISDIR(st.st_mode)) {
        AUTO_MEM char *local = without_slash(source);
        uint32_t dir =
            add_root(s, (struct source_root){{[SOURCE_LOCAL] = mem_dup(local),
                                              [SOURCE_REAL] = real_path(source),
                                              [SOURCE_LAKE] = target_of(source, destination)}});
        return scan_dir(s, dir, local, e);
    }
    if (!S_ISREG(st.st_mode)) {
        AUTO_MEM char *shown = source_printable(source);
        return err_set(e, ERR_USAGE, "%s is not a regular file; \"-\" reads standard input", shown);
    }
    uint32_t dir =
        add_root(s, (struct source_root){{[SOURCE_LOCAL] = mem_dup(source),
                                          [SOURCE_REAL] = real_file_path(source),
                                          [SOURCE_LAKE] = target_of(source, destination)}});
    return append_file(s, dir, 0, source, &st, e);
}

/* ---- standard input, which is read twice ---- */

#define PIECE_BYTES ((size_t)1 << 20)

static int nameless_file(struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    const char *dir = tmp && *tmp ? tmp : "/tmp";
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    AUTO_MEM char *name = mem_printf("%s/tradewind-XXXXXX", dir);
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return file_error(e, "create a temporary file in", dir);
    unlink(name);
    return fd;
}

static int copy_stdin(int fd, const struct source_watch *watch, struct err *e)
{
    AUTO_MEM char *piece = mem_zero(1, PIECE_BYTES);
    uint64_t got = 0;

    for (;;) {
        if (watch && watch->go_on && !watch->go_on(watch->context, got))
            return err_set(e, ERR_RETRY, "interrupted");
        /* Unlike read, poll always comes back when a signal arrives. */
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&p, 1, -1) < 0 && errno == EINTR)
            continue;
        ssize_t n = read(STDIN_FILENO, piece, PIECE_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_error(e, "read", "standard input");
        if (n == 0)
            return 0;
        if (file_write_all(fd, piece, (size_t)n) < 0)
            return file_error(e, "keep", "standard input in a temporary file");
        got += (uint64_t)n;
    }
}

/* A nameless file below TMPDIR with everything standard input gives; closing it removes it. */
static int spool_stdin(const struct source_watch *watch, struct err *e)
{
    int fd = nameless_file(e);

    if (fd < 0)
        return -1;
    if (copy_stdin(fd, watch, e) == 0)
        return fd;
    close(fd);
    return -1;
}

static int scan_stdin(struct source_list *s,
                      const char *destination,
                      const struct source_watch *watch,
                      struct err *e)
{
    struct stat st;

    if (destination[strlen(destination) - 1] == '/')
        return err_set(e, ERR_USAGE, "standard input has no name: give the whole path, \"%sNAME\"",
                       destination);
    if (lake_path_check(destination, e) < 0)
        return -1;
    s->spool = spool_stdin(watch, e);
    if (s->spool < 0)
        return -1;
    if (fstat(s->spool, &st) < 0)
        return file_error(e, "read", "standard input");
    AUTO_MEM char *local = mem_printf("/proc/self/fd/%d", s->spool);
    uint32_t dir =
        add_root(s, (struct source_root){
                        {[SOURCE_LOCAL] = mem_dup(local), [SOURCE_LAKE] = mem_dup(destination)}});
    return append_file(s, dir, 0, local, &st, e);
}

/* ---- order ---- */

static int compare_paths(const void *a, const void *b, void *list)
{
    const struct source_list *s = list;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    char left[SOURCE_PATH_MAX], right[SOURCE_PATH_MAX];

    if (s->files[i].dir == s->files[j].dir)
        return strcmp(s->names + s->files[i].name, s->names + s->files[j].name);
    int order = strcmp(source_path(s, i, SOURCE_LAKE, left), source_path(s, j, SOURCE_LAKE, right));
    return order ? order : (i > j) - (i < j);
}

static bool in_order(struct source_list *s)
{
    for (uint32_t i = 1; i < s->n_files; i++) {
        uint32_t before = i - 1;
        if (compare_paths(&before, &i, s) > 0)
            return false;
    }
    return true;
}

/* Two files for one path would make two versions, the first of them unwanted. */
static int check_twice(const struct source_list *s, struct err *e)
{
    char left[SOURCE_PATH_MAX], right[SOURCE_PATH_MAX];

    for (size_t n = 1; n < s->n_files; n++) {
        size_t i = source_nth(s, n - 1), j = source_nth(s, n);
        if (s->files[i].dir == s->files[j].dir)
            continue; /* names within a directory differ */
        const char *path = source_path(s, i, SOURCE_LAKE, left);
        if (strcmp(path, source_path(s, j, SOURCE_LAKE, right)) != 0)
            continue;
        AUTO_MEM char *lake = mem_dup(path);
        AUTO_MEM char *one = source_printable(source_path(s, i, SOURCE_LOCAL, left));
        AUTO_MEM char *other = source_printable(source_path(s, j, SOURCE_LOCAL, right));
        return err_set(e, ERR_USAGE, "%s and %s would both become %s", one, other, lake);
    }
    return 0;
}

static int put_in_order(struct source_list *s, struct err *e)
{
    if (s->n_roots > 1 && !in_order(s)) {
        s->by_path = mem_zero(s->n_files, sizeof *s->by_path);
        for (uint32_t i = 0; i < s->n_files; i++)
            s->by_path[i] = i;
        qsort_r(s->by_path, s->n_files, sizeof *s->by_path, compare_paths, s);
    }
    return s->n_roots > 1 ? check_twice(s, e) : 0;
}

struct source_list *source_scan(const char *const *sources,
                                size_t n,
                                const char *destination,
                                const struct source_watch *watch,
                                struct err *e)
{
    AUTO(source_list) struct source_list *s = mem_zero(1, sizeof *s);
    uint32_t nothing;

    s->spool = -1;
    if (destination[0] != '/') {
        err_set(e, ERR_USAGE, "\"%s\" is not a path in the lake; paths begin with '/'",
                destination);
        return NULL;
    }
    if (n > 1 && destination[strlen(destination) - 1] != '/') {
        err_set(e, ERR_USAGE,
                "%zu sources cannot all become %s; end it in '/' to put them below it", n,
                destination);
        return NULL;
    }
    if (add_name(s, "", &nothing, e) < 0)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        bool is_stdin = strcmp(sources[i], "-") == 0;
        if (is_stdin && n > 1) {
            err_set(e, ERR_USAGE,
                    "\"-\" (standard input) must be the only source; a file is \"./-\"");
            return NULL;
        }
        if ((is_stdin ? scan_stdin(s, destination, watch, e)
                      : scan_source(s, sources[i], destination, e)) < 0)
            return NULL;
    }
    return put_in_order(s, e) < 0 ? NULL : TAKE(s);
}
