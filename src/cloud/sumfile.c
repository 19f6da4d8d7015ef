/* Small JSON files with a checksum: one line of JSON and one of its checksum. */
#include "base/auto.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cloud/instances.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 16 digits between two newlines. */
#define CHECK_BYTES 18
#define FILE_MODE 0600

static void check_line(const char *text, size_t n, char out[static CHECK_BYTES + 1])
{
    snprintf(out, CHECK_BYTES + 1, "\n%016" PRIx64 "\n", hash_xxh3(text, n));
}

/* 0, or -1 with errno. */
static int write_in_place(const char *path, const char *bytes, size_t n)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    struct stat st;

    if (fd < 0)
        return -1;
    errno = 0;
    bool is_new = fstat(fd, &st) == 0 && st.st_size == 0;
    bool good = errno == 0 && file_pwrite_all(fd, bytes, n, 0) == 0;
    int why = errno ? errno : ENOSPC;
    if (!good && is_new)
        unlink(path);
    errno = why;
    return good ? 0 : -1;
}

/* Something longer, which the page would not cover, has to be replaced. */
static bool is_longer(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_size > (off_t)SUMFILE_PAGE_BYTES;
}

int sumfile_write(const char *path, const json_t *value, bool durable, struct err *e)
{
    AUTO_MEM char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17));
    size_t n = text ? strlen(text) : SIZE_MAX;
    AUTO_MEM char *whole = mem_zero(SUMFILE_BYTES_MAX + 1, 1);

    if (n > SUMFILE_BYTES_MAX - CHECK_BYTES)
        return err_set(e, ERR_USAGE, "write %s: more than %zu bytes", path, SUMFILE_BYTES_MAX);
    memcpy(whole, text, n);
    bool in_place = !durable && n <= SUMFILE_PAGE_BYTES - CHECK_BYTES && !is_longer(path);
    while (in_place && n < SUMFILE_PAGE_BYTES - CHECK_BYTES)
        whole[n++] = ' ';
    check_line(whole, n, whole + n);
    n += CHECK_BYTES;
    if (!in_place)
        return file_replace(path, whole, n, FILE_MODE, e);
    return write_in_place(path, whole, n) < 0 ? file_error(e, "write", path) : 0;
}

json_t *sumfile_parse(const char *bytes, size_t n, struct err *e)
{
    char check[CHECK_BYTES + 1];

    if (n <= CHECK_BYTES || n > SUMFILE_BYTES_MAX) {
        err_set(e, ERR_USAGE, "it has %zu bytes", n);
        return NULL;
    }
    n -= CHECK_BYTES;
    check_line(bytes, n, check);
    if (memcmp(bytes + n, check, CHECK_BYTES) != 0) {
        err_set(e, ERR_USAGE, "its checksum is wrong");
        return NULL;
    }
    while (n > 0 && bytes[n - 1] == ' ')
        n--;
    json_error_t why;
    json_t *value = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &why);
    if (!value)
        err_set(e, ERR_USAGE, "it is not JSON: %s", why.text);
    return value;
}

/* At most max bytes; -1 with errno, EFBIG when there are more. */
static ssize_t read_at_most(const char *path, char *bytes, size_t max)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    ssize_t n = -1;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
        errno = ELOOP;
    else
        n = file_pread_all(fd, bytes, max + 1, 0);
    if (n <= (ssize_t)max)
        return n;
    errno = EFBIG;
    return -1;
}

json_t *sumfile_read(const char *path, bool *empty_out, struct err *e)
{
    AUTO_MEM char *bytes = mem_zero(SUMFILE_BYTES_MAX + 1, 1);
    ssize_t n = read_at_most(path, bytes, SUMFILE_BYTES_MAX);
    json_t *value = NULL;

    if (n < 0 && errno == ENOENT) {
        err_set(e, ERR_NOTFOUND, "%s is not there", path);
        return NULL;
    }
    if (n < 0 && (errno == EFBIG || errno == ELOOP)) {
        err_set(e, ERR_USAGE, "%s is damaged: %s", path,
                errno == EFBIG ? "it is too large" : "it is not a regular file");
        return NULL;
    }
    if (n < 0) {
        file_error(e, "read", path);
        return NULL;
    }
    if (empty_out && (*empty_out = n == 0)) {
        err_set(e, ERR_NOTFOUND, "%s is empty", path);
        return NULL;
    }
    value = sumfile_parse(bytes, (size_t)n, e);
    if (!value)
        err_wrap(e, "%s is damaged", path);
    return value;
}
