/* Room on the disk of the database that is kept for a full disk: gc, and the broker's records of
 * what happened, then still find some. */
#include "base/auto.h"
#include "base/mem.h"
#include "lake/core/internal.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Enough for the log of the database with what gc writes of some 10,000 files. */
#define RESERVE_BYTES ((off_t)1 << 20)
/* A disk with less room than this gives nothing away. */
#define ROOM_BYTES (3 * (uint64_t)RESERVE_BYTES)

static uint64_t room_of(const char *home)
{
    struct statvfs disk;

    return statvfs(home, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
}

static char *reserve_path(const char *home)
{
    return mem_printf("%s/lake.reserve", home);
}

void lake_reserve_make(const char *home)
{
    AUTO_MEM char *path = reserve_path(home);

    if (access(path, F_OK) == 0 || room_of(home) < ROOM_BYTES)
        return;
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && posix_fallocate(fd, 0, RESERVE_BYTES) != 0)
        unlink(path);
}

bool lake_reserve_use(const char *home)
{
    AUTO_MEM char *path = reserve_path(home);

    return room_of(home) < (uint64_t)RESERVE_BYTES && unlink(path) == 0;
}
