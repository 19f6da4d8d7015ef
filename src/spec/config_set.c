#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "spec/config.h"
#include "spec/config_edit.h"
#include "spec/config_schema.h"
#include "spec/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARENA_MAX_BYTES ((size_t)32 << 20)

/* Checks a text as if it were a configuration file; file NULL: no "FILE:LINE" in the message. */
static int check_text(const struct buf *text, const char *file, struct err *e)
{
    AUTO(arena) struct arena *a = arena_new(ARENA_MAX_BYTES);
    struct config scratch = {.arena = a, .file = file};
    const struct yaml_node *root;

    return config_schema_read(&scratch, buf_str(text), text->len, &root, e);
}

static int io_error(const char *what, const char *path, struct err *e)
{
    enum err_kind kind = errno == EACCES || errno == EPERM || errno == EROFS ? ERR_DENIED : ERR_IO;

    return err_set(e, kind, "%s %s: %s", what, path, strerror(errno));
}

/* The home and what leads to it, for its owner alone: it will hold more than settings. */
static int make_home(const char *home, struct err *e)
{
    AUTO_MEM char *path = mem_dup(home);

    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            if (mkdir(path, 0700) < 0 && errno != EEXIST)
                return io_error("create", path, e);
            *p = '/';
        }
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return io_error("create", path, e);
    return 0;
}

static int write_all(int fd, const struct buf *text)
{
    for (size_t done = 0; done < text->len;) {
        ssize_t n = write(fd, text->data + done, text->len - done);
        if (n < 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* A reader sees the old file or the new one, and so does the next start after a crash. */
static int write_whole(const char *file, const struct buf *text, mode_t mode, struct err *e)
{
    AUTO_MEM char *temporary = mem_printf("%s.XXXXXX", file);
    int fd = mkostemp(temporary, O_CLOEXEC);

    if (fd < 0)
        return io_error("write", temporary, e);
    int failed = fchmod(fd, mode) < 0 || write_all(fd, text) < 0 || fsync(fd) < 0;
    failed |= close(fd) < 0;
    if (!failed && rename(temporary, file) == 0)
        return 0;
    io_error("write", file, e);
    unlink(temporary);
    return -1;
}

static int edit_file(const struct config *c, const char *key, const char *value, struct err *e)
{
    AUTO_CLEAR(buf) struct buf before;
    AUTO_CLEAR(buf) struct buf after;
    /* Behind a symbolic link, the file it leads to is the one to replace. */
    AUTO_MEM char *target = realpath(c->file, NULL);
    const char *file = target ? target : c->file;
    struct stat status;
    mode_t mode = stat(file, &status) == 0 ? status.st_mode & 07777 : 0600;

    buf_init(&before, YAML_MAX_BYTES);
    buf_init(&after, YAML_MAX_BYTES);
    if (target && yaml_read(file, &before, e) < 0)
        return -1;
    if (config_edit(buf_str(&before), before.len, key, value, &after, e) < 0)
        return err_wrap(e, "%s", c->file);
    if (check_text(&after, c->file, e) < 0)
        return -1;
    return write_whole(file, &after, mode, e);
}

int config_set(const struct config *c, const char *key, const char *value, struct err *e)
{
    AUTO_CLEAR(buf) struct buf alone;

    buf_init(&alone, YAML_MAX_BYTES);
    if (config_check_key(key, e) < 0 || config_edit_line(key, value, &alone, e) < 0 ||
        check_text(&alone, NULL, e) < 0 || make_home(c->home, e) < 0)
        return -1;
    /* Two of these at once must not lose one's change. */
    int lock = open(c->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0)
        return io_error("open", c->home, e);
    int result =
        flock(lock, LOCK_EX) < 0 ? io_error("lock", c->home, e) : edit_file(c, key, value, e);
    if (result == 0 && fsync(lock) < 0)
        result = io_error("write", c->home, e);
    close(lock);
    return result;
}
