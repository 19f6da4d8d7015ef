/* Reads one file of an upload, and notices when it changes meanwhile. put calls it from its
 * threads. */
#include "lake/put/upload.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define ATTEMPTS 4

/* A change within the clock's grain of the one before it leaves the times as they were: a file
 * read sooner than this after its last change is not trusted the next time. */
#define QUIET_MS 100

bool upload_quiet(const struct source_stamp *stamp, int64_t read_ms)
{
    return stamp->ctime_ns / 1000000 + QUIET_MS < read_ms;
}

const char *upload_slot_bytes(const struct upload *u, const struct upload_slot *slot)
{
    return slot->own ? slot->own : u->bytes + slot->at;
}

/* One attempt: 1 when it stayed the same while it was read, 0 when not, -1 with errno. */
static int read_once(struct upload *u, struct upload_slot *slot, int fd)
{
    struct source_file *f = &u->list->files[slot->file];
    struct stat st;
    size_t wanted = (size_t)f->stamp.size;

    if (!slot->own && wanted >= slot->room)
        slot->own = mem_zero(STORE_SMALL_MAX + 1, 1);
    char *bytes = slot->own ? slot->own : u->bytes + slot->at;
    /* One byte more than there should be: the file may have grown, or never told its size. */
    ssize_t n = file_pread_all(fd, bytes, wanted + 1, 0);
    if (n < 0 || fstat(fd, &st) < 0)
        return -1;
    slot->n = (size_t)n;
    struct source_stamp now = source_stamp_of(&st);
    bool same = source_stamp_equal(&now, &f->stamp) && slot->n == wanted;
    f->stamp = now;
    f->executable = (st.st_mode & S_IXUSR) != 0;
    if (now.size > STORE_SMALL_MAX) {
        slot->too_large = true;
        return 1;
    }
    return same;
}

static int cannot_read(const char *local, struct err *e)
{
    int why = errno;
    AUTO_MEM char *shown = source_printable(local);

    errno = why;
    return file_error(e, "read", shown);
}

int upload_read(struct upload *u, struct upload_slot *slot, struct err *e)
{
    struct source_file *f = &u->list->files[slot->file];
    char room[SOURCE_PATH_MAX];
    const char *local = source_path(u->list, slot->file, SOURCE_LOCAL, room);
    int fd = open(local, O_RDONLY | O_CLOEXEC | O_NONBLOCK), same = 0;
    int64_t began_ms = 0;

    if (fd < 0)
        return cannot_read(local, e);
    for (int i = 0; i < ATTEMPTS && same == 0; i++) {
        began_ms = time_epoch_ms();
        same = read_once(u, slot, fd);
    }
    if (same < 0)
        cannot_read(local, e);
    close(fd);
    if (same < 0)
        return -1;
    if (!same) {
        AUTO_MEM char *shown = source_printable(local);
        return err_set(e, ERR_CHANGED, "%s changed while it was read", shown);
    }
    if (slot->too_large)
        return 0;
    f->digest = sha256_of(upload_slot_bytes(u, slot), slot->n);
    f->known = true;
    f->quiet = upload_quiet(&f->stamp, began_ms);
    return 0;
}
