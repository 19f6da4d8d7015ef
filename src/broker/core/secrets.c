#include "broker/core/secrets.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file: stage, name and value of each, every one ended by a NUL, which none of them holds. */

static char *path_of(const char *home, int64_t run)
{
    return mem_printf("%s/secrets/%" PRId64, home, run);
}

static char *put(char *at, const char *text)
{
    size_t n = strlen(text) + 1;

    memcpy(at, text, n);
    return at + n;
}

int secrets_pack(const struct run_secret *all, size_t n, struct secrets *out, struct err *e)
{
    size_t size = 0;

    *out = (struct secrets){0};
    for (size_t i = 0; i < n && size <= SECRETS_BYTES_MAX; i++)
        size += strlen(all[i].stage) + strlen(all[i].name) + strlen(all[i].value) + 3;
    if (size > SECRETS_BYTES_MAX)
        return err_set(e, ERR_USAGE, "the secrets of a run take more than %zu MiB together",
                       SECRETS_BYTES_MAX >> 20);
    *out = (struct secrets){.bytes = mem_zero(size + 3, 1), .n = size};
    char *at = out->bytes;
    for (size_t i = 0; i < n; i++)
        at = put(put(put(at, all[i].stage), all[i].name), all[i].value);
    return 0;
}

int secrets_write(
    const char *home, int64_t run, const struct run_secret *all, size_t n, struct err *e)
{
    AUTO_MEM char *dir = mem_printf("%s/secrets", home);
    AUTO_MEM char *path = path_of(home, run);
    struct secrets s;

    secrets_remove(home, run);
    if (n == 0)
        return 0;
    if (secrets_pack(all, n, &s, e) < 0)
        return -1;
    int result = file_make_dirs(dir, 0700, e);
    if (result == 0)
        result = file_replace(path, s.bytes, s.n, 0600, e);
    secrets_clear(&s);
    return result;
}

void secrets_remove(const char *home, int64_t run)
{
    AUTO_MEM char *path = path_of(home, run);

    unlink(path);
}

static int read_all(int fd, const char *path, struct secrets *out, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return file_error(e, "read", path);
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > SECRETS_BYTES_MAX)
        return err_set(e, ERR_IO, "%s is not a file of secrets", path);
    out->bytes = mem_zero((size_t)st.st_size + 3, 1);
    ssize_t n = file_pread_all(fd, out->bytes, (size_t)st.st_size, 0);
    if (n < 0)
        return file_error(e, "read", path);
    out->n = (size_t)n;
    return 0;
}

int secrets_read(const char *home, int64_t run, struct secrets *out, struct err *e)
{
    AUTO_MEM char *path = path_of(home, run);
    AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    *out = (struct secrets){0};
    if (fd < 0 && errno == ENOENT)
        return err_set(e, ERR_NOTFOUND,
                       "the secrets of run %" PRId64 " no longer exist: run it again with "
                       "--resume, which asks for them",
                       run);
    if (fd < 0)
        return file_error(e, "read", path);
    if (read_all(fd, path, out, e) == 0)
        return 0;
    secrets_clear(out);
    return -1;
}

void secrets_clear(struct secrets *s)
{
    if (s->bytes)
        explicit_bzero(s->bytes, s->n);
    free(s->bytes);
    *s = (struct secrets){0};
}

/* The three NULs behind the end keep a cut file from leading beyond it. */
const char *secrets_get(const struct secrets *s, const char *stage, const char *name)
{
    for (size_t at = 0; at < s->n;) {
        const char *its_stage = s->bytes + at;
        const char *its_name = its_stage + strlen(its_stage) + 1;
        if (its_name >= s->bytes + s->n)
            return NULL;
        const char *value = its_name + strlen(its_name) + 1;
        if (value >= s->bytes + s->n)
            return NULL;
        if (!strcmp(its_stage, stage) && !strcmp(its_name, name))
            return value;
        at = (size_t)(value - s->bytes) + strlen(value) + 1;
    }
    return NULL;
}
