#include "broker/core/kept.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "broker/core/home.h"
#include "lake/core/path.h"
#include "lake/job/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names that differ only in what is refused get numbers. */
#define SAME_MAX 10000

int kept_lock(const char *home, int64_t job, struct err *e)
{
    AUTO_MEM char *path = broker_job_path(home, job, NULL);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return err_set(e, ERR_NOTFOUND, "the directory of job %" PRId64 ", %s, is gone", job, path);
    if (fd < 0)
        return file_error(e, "open", path);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    return err_set(e, ERR_RETRY, "another process stores the output of job %" PRId64 " now", job);
}

bool kept_is_collected(const char *home, int64_t job)
{
    AUTO_MEM char *note = broker_job_path(home, job, KEPT_COLLECTED);

    return access(note, F_OK) == 0;
}

/* ---- names ---- */

static bool can_hold(const char *name)
{
    AUTO_MEM char *path = mem_printf("/%s", name);

    return lake_path_check(path, NULL) == 0;
}

/* The name with _ for each byte that is no text, and for each control character. New string. */
static char *cleaned(const char *name)
{
    size_t len = strlen(name), n = 0;
    char *out = mem_zero(len + 1, 1);
    uint32_t c;

    for (size_t at = 0; at < len;) {
        size_t width = utf8_decode(name + at, len - at, &c);
        bool bad = width == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0);
        width = width ? width : 1;
        if (bad)
            out[n++] = '_';
        else
            n = (size_t)((char *)mempcpy(out + n, name + at, width) - out);
        at += width;
    }
    return out;
}

/* from becomes a name in its directory that is free; *to_out is its path. */
static int rename_one(const char *from, const char *name, char **to_out, struct err *e)
{
    AUTO_MEM char *clean = cleaned(name);
    int dir = (int)(strlen(from) - strlen(name));

    for (unsigned i = 1; i < SAME_MAX; i++) {
        AUTO_MEM char *number = i > 1 ? mem_printf(".%u", i) : mem_dup("");
        int room = LAKE_COMPONENT_MAX - (int)strlen(number);
        AUTO_MEM char *to = mem_printf("%.*s%.*s%s", dir, from, room, clean, number);
        if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
            *to_out = TAKE(to);
            return 0;
        }
        if (errno != EEXIST)
            return file_error(e, "rename", to);
    }
    return err_set(e, ERR_USAGE, "there are too many files with names like %.200s", clean);
}

int kept_rename(const char *directory,
                int (*visit)(void *context, const char *from, const char *to, struct err *e),
                void *context,
                struct err *e)
{
    AUTO_MEM char *walked = mem_dup(directory);
    char *const roots[] = {walked, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t top = strlen(directory) + 1;
    int result = 0;

    if (!walk)
        return file_error(e, "read", directory);
    /* Directories after what is in them. */
    for (const FTSENT *f; result == 0 && (f = fts_read(walk));) {
        AUTO_MEM char *to = NULL;
        if (f->fts_level == 0 || f->fts_info == FTS_D || can_hold(f->fts_name))
            continue;
        result = rename_one(f->fts_path, f->fts_name, &to, e);
        if (result == 0)
            result = visit(context, f->fts_path + top, to + top, e);
    }
    fts_close(walk);
    return result;
}

uint64_t kept_bytes(const char *path)
{
    AUTO_MEM char *walked = mem_dup(path);
    char *const roots[] = {walked, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    uint64_t bytes = 0;

    if (!walk)
        return 0;
    for (const FTSENT *f; (f = fts_read(walk));)
        if (f->fts_info == FTS_F)
            bytes += (uint64_t)f->fts_statp->st_size;
    fts_close(walk);
    return bytes;
}

/* ---- all jobs ---- */

static uint64_t file_bytes(const char *directory, const char *name)
{
    AUTO_MEM char *path = mem_printf("%s/%s", directory, name);
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

struct measuring {
    struct lake *lake;
    bool remove;
    struct kept_usage *usage;
};

/* Of a job that is over only: the directory of any other one is the broker's. */
static int measure_job(
    const char *directory, int64_t job, bool is_leaving, const struct measuring *m, struct err *e)
{
    struct kept_usage *u = m->usage;
    static const char *const files[] = {"log", "log.tail", "state", "warnings"};
    AUTO_MEM char *mark = mem_printf("%s/" KEPT_REMOVED, directory);
    AUTO_MEM char *output = mem_printf("%s/output", directory);
    struct lake_job record;
    bool exists = !is_leaving;
    uint64_t bytes = 0;

    if (!is_leaving && access(mark, F_OK) == 0 && lake_job_exists(m->lake, job, &exists, e) < 0)
        return -1;
    if (!exists) {
        u->removed++;
        u->removed_bytes += kept_bytes(directory);
        if (m->remove)
            file_remove_tree(directory);
        return 0;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        bytes += file_bytes(directory, files[i]);
    u->logs += bytes > 0;
    u->log_bytes += bytes;
    if (access(output, F_OK) == 0 && lake_job_load(m->lake, job, NULL, &record, NULL) == 0 &&
        (record.state == LAKE_JOB_UNSAVED || record.state == LAKE_JOB_FAILED)) {
        u->outputs++;
        u->output_bytes += kept_bytes(output);
    }
    return 0;
}

int kept_measure(
    const char *home, struct lake *l, bool remove, struct kept_usage *out, struct err *e)
{
    AUTO_MEM char *jobs = broker_path(home, BROKER_JOBS);
    DIR *d = opendir(jobs);
    int result = 0;
    const struct measuring m = {l, remove, out};

    *out = (struct kept_usage){0};
    if (!d)
        return errno == ENOENT ? 0 : file_error(e, "read", jobs);
    for (const struct dirent *entry; result == 0 && (entry = readdir(d));) {
        char *end;
        int64_t job = strtoll(entry->d_name, &end, 10);
        bool is_leaving = strcmp(end, KEPT_REMOVED_SUFFIX) == 0;
        AUTO_MEM char *directory = mem_printf("%s/%s", jobs, entry->d_name);
        if (job > 0 && (!*end || is_leaving))
            result = measure_job(directory, job, is_leaving, &m, e);
    }
    closedir(d);
    return result;
}
