#include "broker/pipeline/repository.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/program.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL_FILE_MAX ((size_t)4096)
#define PACKED_REFS_MAX ((size_t)64 << 20)
#define INDEX_MAX ((size_t)512 << 20)
/* Paths that continue the one before make an index of version 4 longer when it is read; by far less
 * than this unless it means harm. */
#define INDEX_GROWTH_MAX 16
/* References to references. */
#define REFS_MAX 5
#define STATUS_MAX ((size_t)4096)
#define STATUS_LIMIT_S 60

/* ---- files ---- */

/* The content of a regular file of at most max bytes; false: there is none. */
static bool read_data(const char *path, size_t max, struct buf *out)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;

    buf_init(out, max);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > max)
        return false;
    size_t size = (size_t)st.st_size;
    char *room = buf_room(out, size);
    ssize_t n = room ? file_pread_all(fd, room, size, 0) : -1;
    if (n < 0)
        return false;
    out->len = (size_t)n;
    out->data[n] = 0;
    return true;
}

/* The first line of a small file; NULL: there is none. */
static char *read_line(struct arena *arena, const char *directory, const char *name)
{
    AUTO_MEM char *path = mem_printf("%s/%s", directory, name);
    AUTO_CLEAR(buf) struct buf b = {0};

    if (!read_data(path, SMALL_FILE_MAX, &b))
        return NULL;
    const char *text = buf_str(&b);
    return arena_dup_n(arena, text, strcspn(text, "\r\n"));
}

static bool is_directory(const char *directory, const char *name)
{
    AUTO_MEM char *path = mem_printf("%s/%s", directory, name);
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- HEAD ---- */

static bool is_commit(const char *text, size_t n)
{
    return (n == 40 || n == 64) && strspn(text, "0123456789abcdef") >= n;
}

/* The reference of "ref: refs/heads/main"; NULL: it is none, or leads elsewhere. */
static const char *ref_of(const char *line)
{
    static const char begin[] = "ref:";

    if (strncmp(line, begin, sizeof begin - 1) != 0)
        return NULL;
    line += sizeof begin - 1;
    line += strspn(line, " \t");
    return strncmp(line, "refs/", 5) == 0 && !strstr(line, "..") ? line : NULL;
}

static void find_packed(struct repository *r, const char *ref)
{
    AUTO_MEM char *path = mem_printf("%s/packed-refs", r->common);
    AUTO_CLEAR(buf) struct buf b = {0};
    size_t n = strlen(ref);

    if (!read_data(path, PACKED_REFS_MAX, &b))
        return;
    for (const char *at = buf_str(&b); *at;) {
        size_t line = strcspn(at, "\n"), digits = strcspn(at, " \n");
        if (is_commit(at, digits) && line == digits + 1 + n && !memcmp(at + digits + 1, ref, n))
            snprintf(r->commit, sizeof r->commit, "%.*s", (int)digits, at);
        at += line + (at[line] == '\n');
    }
}

/* False: no line that a HEAD may have. */
static bool read_head(struct repository *r, struct arena *arena)
{
    const char *line = read_line(arena, r->directory, "HEAD"), *ref = NULL;

    for (int i = 0; i < REFS_MAX && line; i++) {
        size_t n = strlen(line);
        if (is_commit(line, n)) {
            snprintf(r->commit, sizeof r->commit, "%s", line);
            return true;
        }
        ref = ref_of(line);
        if (!ref)
            return false;
        line = read_line(arena, r->directory, ref);
        if (!line)
            line = read_line(arena, r->common, ref);
    }
    if (ref)
        find_packed(r, ref);
    return ref != NULL;
}

/* .git may be a file that names the directory, and that directory another one. */
static bool find_directories(struct repository *r, struct arena *arena)
{
    static const char begin[] = "gitdir: ";

    r->directory = arena_printf(arena, "%s/.git", r->root);
    if (!is_directory(r->root, ".git")) {
        const char *line = read_line(arena, r->root, ".git");
        if (!line || strncmp(line, begin, sizeof begin - 1) != 0)
            return false;
        line += sizeof begin - 1;
        r->directory = *line == '/' ? line : arena_printf(arena, "%s/%s", r->root, line);
    }
    const char *common = read_line(arena, r->directory, "commondir");
    r->common = !common          ? r->directory
                : *common == '/' ? common
                                 : arena_printf(arena, "%s/%s", r->directory, common);
    return is_directory(r->common, "objects");
}

/* ---- the index ---- */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct repository_file *)a)->path,
                  ((const struct repository_file *)b)->path);
}

/* An index while it is read. */
struct reader {
    struct arena *arena;
    const unsigned char *at, *end;
    uint32_t version;
    size_t oid_bytes;
    const char *previous; /* path */
    size_t room;          /* bytes that further paths may take */
};

static uint32_t number_at(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static size_t left(const struct reader *in)
{
    return (size_t)(in->end - in->at);
}

/* Times, device, inode (24 bytes), mode (4), owner and size (12), object, flags (2). */
#define INDEX_MODE 24
#define INDEX_OID 40
#define INDEX_IS_LONG 0x4000
#define MODE_SUBMODULE 0160000
#define MODE_TYPE 0170000

/* How many bytes of the previous path the next one does not have. */
static bool read_strip(struct reader *in, size_t *out)
{
    size_t value = 0;

    for (int i = 0; i < 5 && in->at < in->end; i++) {
        unsigned char c = *in->at++;
        value = (value << 7) + (c & 127);
        if (!(c & 128)) {
            *out = value;
            return true;
        }
        value++;
    }
    return false;
}

static const char *read_path(struct reader *in)
{
    size_t strip = 0, had = strlen(in->previous);

    if (in->version == 4 && (!read_strip(in, &strip) || strip > had))
        return NULL;
    const unsigned char *nul = in->at < in->end ? memchr(in->at, 0, left(in)) : NULL;
    if (!nul)
        return NULL;
    size_t n = (size_t)(nul - in->at), kept = in->version == 4 ? had - strip : 0;
    if (!(kept + n) || kept + n > SMALL_FILE_MAX || kept + n > in->room)
        return NULL;
    in->room -= kept + n;
    char *path = arena_zero(in->arena, kept + n + 1, 1);
    memcpy(path, in->previous, kept);
    memcpy(path + kept, in->at, n);
    in->at = nul + 1;
    return path;
}

static const char *hex(struct arena *arena, const unsigned char *bytes, size_t n)
{
    char *out = arena_zero(arena, 2 * n + 1, 1);

    for (size_t i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return out;
}

static bool read_entry(struct reader *in, struct repository_file *out)
{
    const unsigned char *begin = in->at;
    size_t fixed = INDEX_OID + in->oid_bytes + 2;

    if (left(in) < fixed + 2)
        return false;
    bool is_long = in->version >= 3 && begin[fixed - 2] & (INDEX_IS_LONG >> 8);
    in->at += fixed + (is_long ? 2 : 0);
    out->path = read_path(in);
    if (!out->path)
        return false;
    if ((number_at(begin + INDEX_MODE) & MODE_TYPE) == MODE_SUBMODULE)
        out->commit = hex(in->arena, begin + INDEX_OID, in->oid_bytes);
    in->previous = out->path;
    if (in->version == 4)
        return true;
    size_t used = (size_t)(in->at - 1 - begin), whole = (used + 8) & ~(size_t)7;
    if (whole > (size_t)(in->end - begin))
        return false;
    in->at = begin + whole;
    return true;
}

/* Extensions up to the checksum. "link" is a split index: most entries are elsewhere. */
static bool has_all_entries(struct reader *in)
{
    while (left(in) >= 8 + in->oid_bytes) {
        size_t size = number_at(in->at + 4);
        if (memcmp(in->at, "link", 4) == 0 || size > left(in) - 8)
            return false;
        in->at += 8 + size;
    }
    return left(in) == in->oid_bytes;
}

bool repository_parse_index(struct repository *r,
                            struct arena *arena,
                            const unsigned char *bytes,
                            size_t len,
                            size_t oid_bytes)
{
    struct reader in = {arena, bytes + 12, bytes + len, 0, oid_bytes, "", INDEX_GROWTH_MAX * len};

    if (len < 12 || memcmp(bytes, "DIRC", 4) != 0)
        return false;
    in.version = number_at(bytes + 4);
    size_t n = number_at(bytes + 8);
    if (in.version < 2 || in.version > 4 || n > len / (INDEX_OID + oid_bytes + 2))
        return false;
    struct repository_file *files = arena_zero(arena, n + 1, sizeof *files);
    for (size_t i = 0; i < n; i++)
        if (!read_entry(&in, &files[i]))
            return false;
    if (!has_all_entries(&in))
        return false;
    qsort(files, n, sizeof *files, by_path);
    r->files = files;
    r->n_files = n;
    return true;
}

static void read_index(struct repository *r, struct arena *arena)
{
    AUTO_MEM char *path = mem_printf("%s/index", r->directory);
    AUTO_CLEAR(buf) struct buf b = {0};

    if (!read_data(path, INDEX_MAX, &b)) {
        r->index_unknown = access(path, F_OK) == 0;
        return;
    }
    const unsigned char *bytes = (const unsigned char *)buf_str(&b);
    bool is_short = strlen(r->commit) != 64, is_long = strlen(r->commit) != 40;
    r->index_unknown = !((is_short && repository_parse_index(r, arena, bytes, b.len, 20)) ||
                         (is_long && repository_parse_index(r, arena, bytes, b.len, 32)));
}

const struct repository_file *repository_find(const struct repository *r, const char *path)
{
    const struct repository_file key = {.path = path};

    return r->n_files ? bsearch(&key, r->files, r->n_files, sizeof *r->files, by_path) : NULL;
}

bool repository_has_below(const struct repository *r, const char *directory)
{
    size_t n = strlen(directory), low = 0, high = r->n_files;
    AUTO_MEM char *first = mem_printf("%s/", directory);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(r->files[middle].path, first) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n_files && strncmp(r->files[low].path, first, n + 1) == 0;
}

int repository_read(const char *root, struct arena *arena, struct repository *out)
{
    *out = (struct repository){.root = arena_dup(arena, root)};
    if (!find_directories(out, arena) || !read_head(out, arena))
        return 0;
    read_index(out, arena);
    return 1;
}

/* ---- comparing ---- */

static int write_text(const char *directory, const char *name, const char *text)
{
    AUTO_MEM char *path = mem_printf("%s/%s", directory, name);
    struct err e;

    return file_replace(path, text, strlen(text), 0600, &e);
}

/* A repository without configuration, hooks and attributes, at the other one's commit. */
static int make_own(const struct repository *r, const char *path)
{
    AUTO_MEM char *refs = mem_printf("%s/refs", path);
    AUTO_MEM char *objects = mem_printf("%s/objects", path);
    AUTO_MEM char *head = mem_printf("%s\n", *r->commit ? r->commit : "ref: refs/heads/none");
    struct err e;

    file_remove_tree(path);
    return file_make_dirs(refs, 0700, &e) < 0 || file_make_dirs(objects, 0700, &e) < 0 ||
                   write_text(path, "HEAD", head) < 0 ||
                   write_text(path, "config",
                              strlen(r->commit) == 64
                                  ? "[core]\nrepositoryformatversion = 1\n[extensions]\n"
                                    "objectformat = sha256\n"
                                  : "[core]\nrepositoryformatversion = 0\n") < 0
               ? -1
               : 0;
}

static bool in_time(void *context)
{
    return time_monotonic_s() < *(const double *)context;
}

static int run_status(const struct repository *r, const char *directory, const char *own)
{
    AUTO_MEM char *git_dir = mem_printf("--git-dir=%s", own);
    AUTO_MEM char *work_tree = mem_printf("--work-tree=%s", r->root);
    AUTO_MEM char *objects = mem_printf("GIT_OBJECT_DIRECTORY=%s/objects", r->common);
    AUTO_MEM char *index = mem_printf("GIT_INDEX_FILE=%s/index", r->directory);
    AUTO_MEM char *home = mem_printf("HOME=%s", own);
    AUTO_MEM char *settings = mem_printf("XDG_CONFIG_HOME=%s", own);
    const char *argv[] = {"git",
                          "-C",
                          directory,
                          git_dir,
                          work_tree,
                          "--no-pager",
                          "status",
                          "--porcelain",
                          "-z",
                          "--no-renames",
                          "--untracked-files=no",
                          "--ignore-submodules=all",
                          "--",
                          ".",
                          NULL};
    const char *env[] = {objects,
                         index,
                         home,
                         settings,
                         "GIT_DIR",
                         "GIT_WORK_TREE",
                         "GIT_PREFIX",
                         "GIT_COMMON_DIR",
                         "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                         "GIT_NAMESPACE",
                         "GIT_CONFIG",
                         "GIT_CONFIG_COUNT",
                         "GIT_CONFIG_PARAMETERS",
                         "GIT_ATTR_SOURCE",
                         "GIT_EXTERNAL_DIFF",
                         "GIT_CONFIG_NOSYSTEM=1",
                         "GIT_CONFIG_SYSTEM=/dev/null",
                         "GIT_CONFIG_GLOBAL=/dev/null",
                         "GIT_ATTR_NOSYSTEM=1",
                         "GIT_NO_REPLACE_OBJECTS=1",
                         "GIT_NO_LAZY_FETCH=1",
                         "GIT_OPTIONAL_LOCKS=0",
                         "GIT_LITERAL_PATHSPECS=1",
                         "LC_ALL=C",
                         NULL};
    double until = time_monotonic_s() + STATUS_LIMIT_S;
    AUTO_CLEAR(buf) struct buf out;
    struct program_run run = {
        .argv = argv, .env = env, .out = &out, .go_on = in_time, .context = &until};
    struct err e;

    buf_init(&out, STATUS_MAX);
    if (program_run(&run, &e) <= 0 || (run.status != 0 && !out.full))
        return -1;
    return out.len > 0;
}

int repository_differs(const struct repository *r, const char *directory, const char *scratch)
{
    AUTO_MEM char *own = mem_printf("%s/git", scratch);
    AUTO_MEM char *index = mem_printf("%s/index", r->directory);
    struct stat st;

    /* What is no regular file could keep git waiting. */
    if (r->index_unknown || (lstat(index, &st) == 0 && !S_ISREG(st.st_mode)))
        return -1;
    if (make_own(r, own) < 0)
        return -1;
    int differs = run_status(r, directory, own);
    file_remove_tree(own);
    return differs;
}
