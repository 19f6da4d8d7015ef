/* home: the imported price histories of a home, $TRADEWIND_HOME/market/histories. */
#include "app/market/internal.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "market/series.h"
#include "market/store.h"
#include "spec/config.h"

#include <dirent.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The home may not be there yet, and is for its owner alone. */

static char *path_of(const char *home)
{
    return mem_printf("%s/market/histories", home);
}

static void unmap(void *bytes, size_t len)
{
    munmap(bytes, len);
}

struct market *app_market_load(const char *home, struct err *e)
{
    AUTO_MEM char *path = path_of(home);
    struct err why = {0};
    size_t len;
    void *bytes = file_map(path, &len, &why);

    if (!bytes && why.kind == ERR_NOTFOUND)
        err_set(
            e, ERR_NOTFOUND,
            "there are no price histories yet; import some with `tradewind market import FILE`");
    else if (!bytes)
        err_set(e, why.kind, "%s", why.text);
    struct market *m = bytes ? market_open_bytes(path, bytes, len, unmap, e) : NULL;
    if (bytes && !m)
        unmap(bytes, len);
    if (!m && why.kind != ERR_NOTFOUND)
        err_wrap(e, "price histories (`tradewind market import --replace` replaces them)");
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

int app_market_save(
    const char *home, const void *bytes, size_t len, bool *changed_out, struct err *e)
{
    AUTO_MEM char *path = path_of(home);
    size_t there = 0;
    void *old = file_map(path, &there, NULL);

    *changed_out = !old || there != len || memcmp(old, bytes, len) != 0;
    if (old)
        unmap(old, there);
    return *changed_out ? file_replace(path, bytes, len, FILE_OWN, e) : 0;
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

    if (file_make_own_dirs(dir, e) < 0)
        return -1;
    int fd = file_lock(path, e);
    if (fd < 0)
        return -1;
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
