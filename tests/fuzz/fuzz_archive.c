/* Any bytes as an archive of code, which tar or unzip unpacks: the copy is of plain files, what is
 * beside the staging directory stays as it was, and nothing of the archive stays. Headers of tar
 * get the checksums that they lack, so that more than those are tried. */
#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "broker/pipeline/codecopy.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BLOCK 512
/* What tar may write into a file, sparse ones included. */
#define FILE_BYTES_MAX (16 << 20)

static const char secret[] = "what no archive may read";

/* One directory for the whole run: home/staging/XXXXXX/unpacked is where archives go, and
 * ../../../../outside/secret leads out of it. */
static char base[] = "/tmp/tradewind-fuzz-XXXXXX";
static char *home, *outside, *outside_file, *with_suffix[3];
static struct stat before;

static void remove_base(void)
{
    file_remove_tree(base);
    free(home);
    free(outside);
    free(outside_file);
    for (int i = 0; i < 3; i++)
        free(with_suffix[i]);
}

static void make_base(void)
{
    static const char *const names[] = {"code.tar", "code.tgz", "code.zip"};
    const struct rlimit limit = {FILE_BYTES_MAX, FILE_BYTES_MAX};
    struct err e = {0};

    assert(mkdtemp(base) && setrlimit(RLIMIT_FSIZE, &limit) == 0);
    log_set_level(LOG_ERROR);
    home = mem_printf("%s/home", base);
    outside = mem_printf("%s/outside", base);
    outside_file = mem_printf("%s/secret", outside);
    for (int i = 0; i < 3; i++)
        with_suffix[i] = mem_printf("%s/%s", base, names[i]);
    assert(file_make_dirs(home, 0700, &e) == 0 && file_make_dirs(outside, 0700, &e) == 0 &&
           file_replace(outside_file, secret, strlen(secret), 0600, &e) == 0 &&
           stat(outside_file, &before) == 0);
    atexit(remove_base);
}

/* ---- tar ---- */

static size_t octal(const uint8_t *digits, size_t n)
{
    size_t value = 0;

    for (size_t i = 0; i < n && digits[i] >= '0' && digits[i] <= '7'; i++)
        value = value * 8 + (size_t)(digits[i] - '0');
    return value;
}

/* The checksum counts its own field as blanks. */
static void add_sums(uint8_t *tar, size_t size)
{
    static const uint8_t zeros[BLOCK];

    for (size_t at = 0; at + BLOCK <= size; at += BLOCK) {
        uint8_t *header = tar + at;
        unsigned sum = 0;
        char text[8];

        if (memcmp(header, zeros, BLOCK) == 0)
            continue;
        memset(header + 148, ' ', 8);
        for (size_t i = 0; i < BLOCK; i++)
            sum += header[i];
        snprintf(text, sizeof text, "%06o", sum);
        memcpy(header + 148, text, 7);
        at += (octal(header + 124, 12) + BLOCK - 1) / BLOCK * BLOCK;
    }
}

/* ---- what comes of it ---- */

static size_t count(const char *directory)
{
    DIR *d = opendir(directory);
    size_t n = 0;

    assert(d);
    for (const struct dirent *entry; (entry = readdir(d));)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(d);
    return n;
}

static void holds_no_secret(const char *path, size_t bytes)
{
    char start[sizeof secret] = "";
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert(fd >= 0);
    if (bytes == strlen(secret))
        assert(read(fd, start, bytes) == (ssize_t)bytes && strcmp(start, secret) != 0);
}

static void check_copy(const struct codecopy *c)
{
    uint64_t bytes = 0;

    assert(c->n > 0 && *c->name && !strchr(c->name, '/'));
    for (size_t i = 0; i < c->n; i++) {
        const struct codecopy_file *f = &c->files[i];
        AUTO_MEM char *path = mem_printf("%s/%s", c->directory, f->path);
        struct stat st;

        assert(i == 0 || strcmp(c->files[i - 1].path, f->path) < 0);
        assert(lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1);
        assert((st.st_mode & 07777) == (f->executable ? 0700 : 0600));
        assert((uint64_t)st.st_size == f->bytes);
        holds_no_secret(path, f->bytes);
        bytes += f->bytes;
    }
    assert(bytes == c->bytes);
}

/* Beside the archive there are the home, with an empty staging directory, and the file outside. */
static void check_base(const char *archive)
{
    AUTO_MEM char *staging = mem_printf("%s/staging", home);
    struct stat st;

    assert(unlink(archive) == 0 && count(base) == 2 && count(home) == 1 && count(staging) == 0);
    assert(count(outside) == 1 && stat(outside_file, &st) == 0);
    assert(st.st_ino == before.st_ino && st.st_nlink == 1 && st.st_mode == before.st_mode &&
           st.st_size == before.st_size && st.st_mtim.tv_sec == before.st_mtim.tv_sec &&
           st.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
}

static void write_archive(const char *path, const void *bytes, size_t size)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert(fd >= 0 && file_write_all(fd, bytes, size) == 0);
}

static void copy_code(const char *archive)
{
    AUTO(arena) struct arena *arena = arena_new((size_t)1 << 30);
    AUTO_CLEAR(staging) struct staging staging;
    struct codecopy copy;
    struct err e = {0};

    assert(staging_open(home, &staging, &e) == 0);
    if (codecopy_make(archive, &staging, arena, &copy, &e) == 0)
        check_copy(&copy);
    else
        assert(*e.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool gzip = size > 1 && data[0] == 0x1f && data[1] == 0x8b;
    bool zip = size > 1 && data[0] == 'P' && data[1] == 'K';
    AUTO_MEM uint8_t *bytes = mem_zero(size + 1, 1);

    if (!home)
        make_base();
    memcpy(bytes, data, size);
    if (!gzip && !zip)
        add_sums(bytes, size);
    const char *archive = with_suffix[gzip ? 1 : zip ? 2 : 0];
    write_archive(archive, bytes, size);
    copy_code(archive);
    check_base(archive);
    return 0;
}
