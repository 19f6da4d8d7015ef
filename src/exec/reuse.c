#include "exec/reuse.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "exec/reuse_line.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_BYTES ((size_t)256 << 10)
/* Digest, size, mode and time before the path. */
#define LINE_HEAD 128

void reuse_clear(struct reuse *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->files[i].path);
    free(r->files);
    *r = (struct reuse){0};
}

/* tar takes excluded names from lines: blanks at their end are cut off, backslashes may be read. */
static bool plain_name(const char *path)
{
    size_t n = strlen(path);

    for (const char *p = path; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127 || *p == '\\')
            return false;
    return n && n < REUSE_LINE_MAX - LINE_HEAD && path[n - 1] != ' ';
}

static void add_file(struct reuse *r, const FTSENT *entry, size_t top)
{
    const char *path = entry->fts_path + top;
    const struct stat *st = entry->fts_statp;

    if (entry->fts_info != FTS_F || !S_ISREG(st->st_mode) ||
        (uint64_t)st->st_size < REUSE_BYTES_MIN || !plain_name(path))
        return;
    r->files = mem_room(r->files, r->n, &r->cap, sizeof *r->files);
    r->files[r->n++] =
        (struct reuse_file){.path = mem_dup(path),
                            .size = (uint64_t)st->st_size,
                            .mode = st->st_mode & 07777,
                            .mtime_s = st->st_mtim.tv_sec > 0 ? st->st_mtim.tv_sec : 0};
    r->bytes += (uint64_t)st->st_size;
}

static int walk(struct reuse *r, const char *dir, struct err *e)
{
    AUTO_MEM char *copy = mem_dup(dir);
    char *roots[] = {copy, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const FTSENT *entry;

    if (!tree)
        return file_error(e, "read", dir);
    while ((entry = fts_read(tree)) && r->n < REUSE_FILES_MAX)
        add_file(r, entry, strlen(dir) + 1);
    fts_close(tree);
    return 0;
}

struct hashing {
    struct reuse *files;
    const char *dir;
};

static int hash_file(void *context, size_t i, struct err *e)
{
    const struct hashing *all = context;
    struct reuse_file *f = &all->files->files[i];
    AUTO_MEM char *path = mem_printf("%s/%s", all->dir, f->path);
    AUTO_MEM char *bytes = mem_zero(HASH_BYTES, 1);
    AUTO(sha256) struct sha256 *hash = sha256_new();
    ssize_t n;
    AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return file_error(e, "read", path);
    while ((n = read(fd, bytes, HASH_BYTES)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            sha256_add(hash, bytes, (size_t)n);
    if (n < 0)
        return file_error(e, "read", path);
    f->digest = sha256_take(hash);
    return 0;
}

int reuse_look(struct reuse *r, const char *dir, struct err *e)
{
    struct hashing hashing = {.files = r, .dir = dir};

    *r = (struct reuse){0};
    if (walk(r, dir, e) < 0)
        return -1;
    return parallel_each(r->n, parallel_cores(), hash_file, &hashing, e);
}

/* A file in memory that line() writes to; false there leaves a file out. */
static int in_memory(const struct reuse *r,
                     bool (*line)(FILE *out, const struct reuse_file *f),
                     struct err *e)
{
    int fd = memfd_create("tradewind-list", MFD_CLOEXEC);
    int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
    size_t written = 0;

    for (size_t i = 0; out && i < r->n; i++)
        written += line(out, &r->files[i]);
    if (!out && copy >= 0)
        close(copy);
    if (!out || fclose(out) != 0 || lseek(fd, 0, SEEK_SET) < 0)
        err_set(e, ERR_IO, "write a list of files: %s", strerror(errno));
    else if (written)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool list_line(FILE *out, const struct reuse_file *f)
{
    struct reuse_line line = {
        .size = f->size, .mode = f->mode, .mtime_s = f->mtime_s, .path = f->path};

    sha256_text(&f->digest, line.name);
    reuse_line_write(&line, out);
    return true;
}

int reuse_list(const struct reuse *r, struct err *e)
{
    return in_memory(r, list_line, e);
}

int reuse_answer(struct reuse *r, const char *answer, size_t n, struct err *e)
{
    char known[] = {REUSE_PLACED, REUSE_MISSING, 0};

    if (n != r->n || strspn(answer, known) != n)
        return err_set(e, ERR_IO, "the agent there does not say which files it has");
    for (size_t i = 0; i < n; i++)
        r->files[i].placed = answer[i] == REUSE_PLACED;
    return 0;
}

static bool excluded_line(FILE *out, const struct reuse_file *f)
{
    if (f->placed)
        fprintf(out, "./%s\n", f->path);
    return f->placed;
}

int reuse_excluded(const struct reuse *r, struct err *e)
{
    return in_memory(r, excluded_line, e);
}
