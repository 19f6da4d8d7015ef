/* home: the imported price histories of a home, $TRADEWIND_HOME/market/histories. */
#include "app/market/internal.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "market/region.h"
#include "market/store.h"
#include "spec/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The home may not be there yet, and is for its owner alone. */
#define DIR_MODE 0700

static char *path_of(const char *home)
{
    return mem_printf("%s/market/histories", home);
}

static void unmap(void *bytes, size_t len)
{
    munmap(bytes, len);
}

static void *map_file(int fd, const char *path, size_t *len_out, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        file_error(e, "look at", path);
        return NULL;
    }
    if (!S_ISREG(st.st_mode) || st.st_size == 0) {
        err_set(e, ERR_IO, "%s: no file of price histories", path);
        return NULL;
    }
    /* Every byte is read for the checksum anyway: one fault instead of a thousand. */
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (bytes == MAP_FAILED) {
        file_error(e, "map", path);
        return NULL;
    }
    *len_out = (size_t)st.st_size;
    return bytes;
}

struct market *app_market_load(const char *home, struct err *e)
{
    AUTO_MEM char *path = path_of(home);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        err_set(
            e, ERR_NOTFOUND,
            "there are no price histories yet; import some with `tradewind market import FILE`");
        return NULL;
    }
    if (fd < 0) {
        file_error(e, "open", path);
        return NULL;
    }
    void *bytes = map_file(fd, path, &len, e);
    close(fd);
    if (!bytes)
        return NULL;
    struct market *m = market_open_bytes(path, bytes, len, unmap, e);
    if (!m) {
        unmap(bytes, len);
        err_wrap(e, "price histories (`tradewind market import --replace` replaces them)");
    }
    return m;
}

struct market *app_market_open(struct app *app, struct err *e)
{
    const struct config *config = app_config(app, e);

    return config ? app_market_load(config->home, e) : NULL;
}

bool app_market_is_at(const struct market_offer *o, const char *location)
{
    size_t n = location ? strcspn(location, ":/") : 0;

    if (!location)
        return true;
    if (strlen(o->cloud) != n || strncmp(o->cloud, location, n) != 0)
        return false;
    return !location[n] || strcmp(market_region(o->cloud, location + n + 1), o->region) == 0;
}

static bool holds(const char *path, const void *bytes, size_t len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t there = 0;
    void *old = fd >= 0 ? map_file(fd, path, &there, NULL) : NULL;
    bool same = old && there == len && memcmp(old, bytes, len) == 0;

    if (old)
        unmap(old, there);
    if (fd >= 0)
        close(fd);
    return same;
}

int app_market_save(
    const char *home, const void *bytes, size_t len, bool *changed_out, struct err *e)
{
    AUTO_MEM char *path = path_of(home);

    *changed_out = !holds(path, bytes, len);
    return *changed_out ? file_replace(path, bytes, len, 0644, e) : 0;
}

/* Removes drafts of imports that were killed: only the holder of the lock writes drafts. A draft
 * that cannot be removed does no harm. */
static void remove_drafts(const char *dir)
{
    static const char draft[] = "histories.XXXXXX"; /* as file_replace names them */
    size_t known = strlen("histories.");
    DIR *d = opendir(dir);

    for (struct dirent *entry = d ? readdir(d) : NULL; entry; entry = readdir(d))
        if (strlen(entry->d_name) == strlen(draft) && strncmp(entry->d_name, draft, known) == 0)
            unlinkat(dirfd(d), entry->d_name, 0);
    if (d)
        closedir(d);
}

int app_market_lock(const char *home, struct err *e)
{
    AUTO_MEM char *dir = mem_printf("%s/market", home);
    AUTO_MEM char *path = mem_printf("%s/lock", dir);

    if (file_make_dirs(dir, DIR_MODE, e) < 0)
        return -1;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return file_error(e, "open", path);
    while (flock(fd, LOCK_EX) < 0) {
        if (errno == EINTR)
            continue;
        close(fd);
        return file_error(e, "lock", path);
    }
    remove_drafts(dir);
    return fd;
}

const char *app_market_time(double at_s, char out[static 32])
{
    return time_iso((int64_t)(at_s * 1000), out);
}

const char *app_market_day(double at_s, char out[static 32])
{
    app_market_time(at_s, out);
    out[strlen("2020-03-23")] = 0;
    return out;
}
