/* Finds the event files of TensorBoard below a directory and reads them piece by piece. The broker
 * calls it for the output of a job. */
#include "base/file.h"
#include "base/mem.h"
#include "broker/learn/tfevents.h"
#include "lake/meta/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BEGINS "events.out.tfevents."
/* Several records, or one of the longest with its frame. */
#define PIECE_BYTES (TFEVENTS_RECORD_MAX + ((size_t)64 << 10))
#define FILES_MAX 10000

struct files {
    char **paths; /* below the directory */
    size_t n, cap;
};

static void files_clear(struct files *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->paths[i]);
    free(f->paths);
}

static int compare_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int find_files(const char *directory, struct files *out, struct err *e)
{
    AUTO_MEM char *walked = mem_dup(directory);
    char *const roots[] = {walked, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_names);
    size_t skip = strlen(directory) + 1;

    if (!walk)
        return file_error(e, "read", directory);
    for (const FTSENT *f; out->n < FILES_MAX && (f = fts_read(walk));) {
        if (f->fts_info != FTS_F || strncmp(f->fts_name, NAME_BEGINS, strlen(NAME_BEGINS)) != 0)
            continue;
        out->paths = mem_room(out->paths, out->n, &out->cap, sizeof *out->paths);
        out->paths[out->n++] = mem_dup(f->fts_path + skip);
    }
    fts_close(walk);
    return 0;
}

/* Length of the directory of a path, with its slash. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Length of the deepest directory that has all files, with its slash. */
static size_t common_length(const struct files *f)
{
    size_t n = f->n ? directory_length(f->paths[0]) : 0;

    for (size_t i = 1; i < f->n; i++) {
        size_t same = 0, limit = directory_length(f->paths[i]);
        while (same < n && same < limit && f->paths[0][same] == f->paths[i][same])
            same++;
        while (same > 0 && f->paths[0][same - 1] != '/')
            same--;
        n = same;
    }
    return n;
}

/* ---- one file ---- */

struct reading {
    const struct tfevents_visitor *visitor;
    const char *prefix; /* "train/"; prefix_len bytes */
    size_t prefix_len;
    bool stopped; /* by the visitor */
};

static int visit_named(void *context, const char *tag, double step, double value, struct err *e)
{
    struct reading *r = context;
    AUTO_MEM char *name = mem_printf("%.*s%s", (int)r->prefix_len, r->prefix, tag);

    if (strlen(name) > LAKE_KEY_MAX)
        return 0;
    int result = r->visitor->scalar(r->visitor->context, name, step, value, e);
    r->stopped = result < 0;
    return result;
}

static int read_file(struct reading *r, const char *path, struct err *e)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    AUTO_MEM unsigned char *bytes = mem_zero(PIECE_BYTES, 1);
    const struct tfevents_visitor named = {visit_named, r};
    uint64_t at = 0, skip;
    struct stat st;
    size_t used;

    if (fd < 0 || fstat(fd, &st) < 0)
        return file_error(e, "read", path);
    for (;;) {
        ssize_t n = pread(fd, bytes, PIECE_BYTES, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_error(e, "read", path);
        if (tfevents_take(&named, bytes, (size_t)n, &used, &skip, e) < 0)
            return r->stopped ? -1 : err_wrap(e, "at byte %llu", (unsigned long long)(at + used));
        at += used + skip;
        /* At the end, or before a record that is not whole. */
        if ((!used && !skip) || at >= (uint64_t)st.st_size)
            return 0;
    }
}

int tfevents_read_all(const char *directory,
                      const struct tfevents_visitor *visitor,
                      void (*warn)(void *context, const char *text),
                      struct err *e)
{
    AUTO_CLEAR(files) struct files files = {0};

    if (find_files(directory, &files, e) < 0)
        return -1;
    size_t common = common_length(&files);
    for (size_t i = 0; i < files.n; i++) {
        const char *name = files.paths[i];
        AUTO_MEM char *path = mem_printf("%s/%s", directory, name);
        struct reading r = {.visitor = visitor,
                            .prefix = name + common,
                            .prefix_len = directory_length(name) - common};
        struct err why = {0};
        if (read_file(&r, path, &why) == 0)
            continue;
        if (r.stopped) {
            *e = why;
            return -1;
        }
        AUTO_MEM char *text = mem_printf("output: %.200s: %s", name, why.text);
        warn(visitor->context, text);
    }
    return 0;
}
