#include "catalog/store.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/time.h"
#include "catalog/internal.h"
#include "catalog/read.h"
#include "catalog/rows.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define LOCK_WAIT_S 30
#define LOCK_POLL_US 20000
/* Writers remove the generation a reader was about to open; each time there is a newer one. */
#define OPEN_ATTEMPTS 10

/* The linker's, from builtin.S. */
extern const char catalog_builtin[] __attribute__((visibility("hidden")));
extern const char catalog_builtin_end[] __attribute__((visibility("hidden")));

struct catalog_store {
    char *dir; /* HOME/catalog */
    int lock_fd;
};

static int try_lock(struct catalog_store *s, double wait_s, struct err *e)
{
    double until = time_monotonic_s() + wait_s;

    while (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return file_error(e, "lock", s->dir);
        if (time_monotonic_s() >= until)
            return err_set(e, ERR_RETRY, "%s: another import is running; try again later", s->dir);
        usleep(LOCK_POLL_US);
    }
    return 0;
}

static struct catalog_store *lock_within(const char *home, double wait_s, struct err *e)
{
    AUTO(catalog_store) struct catalog_store *s = mem_zero(1, sizeof *s);

    s->lock_fd = -1;
    s->dir = mem_printf("%s/catalog", home);
    if (file_make_own_dirs(s->dir, e) < 0)
        return NULL;
    AUTO_MEM char *path = mem_printf("%s/lock", s->dir);
    s->lock_fd = file_open_own(path, O_RDWR, FILE_OWN);
    if (s->lock_fd < 0) {
        file_error(e, "open", path);
        return NULL;
    }
    return try_lock(s, wait_s, e) < 0 ? NULL : TAKE(s);
}

struct catalog_store *catalog_store_lock(const char *home, struct err *e)
{
    return lock_within(home, LOCK_WAIT_S, e);
}

void catalog_store_free(struct catalog_store *s)
{
    if (!s)
        return;
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    free(s->dir);
    free(s);
}

/* What cannot be removed is only waste: the next import tries again. */
static void remove_generations_except(const struct catalog_store *s, const char *keep)
{
    DIR *d = opendir(s->dir);
    struct dirent *entry;

    if (!d)
        return;
    while ((entry = readdir(d))) {
        if (strncmp(entry->d_name, "gen-", 4) != 0 || strcmp(entry->d_name, keep) == 0)
            continue;
        AUTO_MEM char *path = mem_printf("%s/%s", s->dir, entry->d_name);
        file_remove_tree(path);
    }
    closedir(d);
}

/* One more than the greatest there is, whole or left behind. */
static uint64_t next_generation(const struct catalog_store *s)
{
    DIR *d = opendir(s->dir);
    struct dirent *entry;
    uint64_t last = 0;

    if (!d)
        return 1;
    while ((entry = readdir(d))) {
        double n;
        if (strncmp(entry->d_name, "gen-", 4) == 0 && number_parse(entry->d_name + 4, &n) &&
            n < 1e15 && (uint64_t)n > last)
            last = (uint64_t)n;
    }
    closedir(d);
    return last + 1;
}

static int write_snapshot(const struct catalog *c, const char *dir, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/snapshot", dir);

    return file_replace(path, c->bytes, c->n_bytes, FILE_OWN, e);
}

static int write_generation(const struct catalog *c, const char *dir, struct err *e)
{
    if (file_make_own_dirs(dir, e) < 0 || catalog_write_tables(c, dir, FILE_OWN, e) < 0 ||
        catalog_write_sources(c, dir, e) < 0 || write_snapshot(c, dir, e) < 0)
        return -1;
    return file_sync_dir(dir, e);
}

static int swap_link(const struct catalog_store *s, const char *generation, struct err *e)
{
    AUTO_MEM char *link = mem_printf("%s/current", s->dir);
    AUTO_MEM char *next = mem_printf("%s/next", s->dir);

    unlink(next);
    if (symlink(generation, next) < 0 || rename(next, link) < 0)
        return file_error(e, "replace", link);
    return file_sync_dir(s->dir, e);
}

int catalog_store_put(struct catalog_store *s, const struct catalog *c, struct err *e)
{
    AUTO_MEM char *name = mem_printf("gen-%llu", (unsigned long long)next_generation(s));
    AUTO_MEM char *dir = mem_printf("%s/%s", s->dir, name);

    if (write_generation(c, dir, e) < 0 || file_sync_dir(s->dir, e) < 0 ||
        swap_link(s, name, e) < 0) {
        file_remove_tree(dir);
        return -1;
    }
    remove_generations_except(s, name);
    return 0;
}

int catalog_store_reset(struct catalog_store *s, bool *was_out, struct err *e)
{
    AUTO_MEM char *link = mem_printf("%s/current", s->dir);

    *was_out = unlink(link) == 0;
    if (!*was_out && errno != ENOENT)
        return file_error(e, "remove", link);
    if (file_sync_dir(s->dir, e) < 0)
        return -1;
    remove_generations_except(s, "");
    return 0;
}

/* The directory of the generation in use, or NULL: there is none. */
static char *current_generation(const char *home)
{
    AUTO_MEM char *link = mem_printf("%s/catalog/current", home);
    char name[256];
    ssize_t n = readlink(link, name, sizeof name - 1);

    if (n <= 0)
        return NULL;
    name[n] = 0;
    return mem_printf("%s/catalog/%s", home, name);
}

/* Written for the next start, unless an import is running: that one writes a newer one. */
static void write_snapshot_again(const char *home, const char *dir, const struct catalog *c)
{
    AUTO(catalog_store) struct catalog_store *s = lock_within(home, 0, NULL);

    if (s && access(dir, W_OK) == 0)
        write_snapshot(c, dir, NULL);
}

struct catalog *catalog_open_dir(const char *dir, struct err *e)
{
    AUTO(catalog_rows) struct catalog_rows *rows = catalog_rows_new();
    void *bytes;
    size_t len;

    if (catalog_read_dir(dir, rows, e) < 0)
        return NULL;
    if (catalog_build(rows, dir, &bytes, &len, e) < 0)
        return NULL;
    return catalog_open_owned(dir, bytes, len, e);
}

static struct catalog *rebuild(const char *home,
                               const char *dir,
                               const struct err *damage,
                               struct err *e)
{
    struct err why = {0};
    struct catalog *c = catalog_open_dir(dir, &why);

    if (!c) {
        err_set(e, ERR_IO,
                "%s; its CSVs cannot replace it (%s): import again, or return to the built-in "
                "catalog with `tradewind catalog reset`",
                damage->text, why.text);
        return NULL;
    }
    log_warn("catalog", "%s: built again from its CSVs", damage->text);
    write_snapshot_again(home, dir, c);
    return c;
}

static void name_origin(struct catalog *c, const char *home)
{
    free(c->origin);
    c->origin = mem_printf("%s/catalog, imported %s", home, catalog_date(c));
}

struct catalog *catalog_store_open(const char *home, struct err *e)
{
    for (int attempt = 1;; attempt++) {
        AUTO_MEM char *dir = current_generation(home);
        if (!dir) {
            err_set(e, ERR_NOTFOUND, "%s: no imported catalog", home);
            return NULL;
        }
        AUTO_MEM char *path = mem_printf("%s/snapshot", dir);
        struct err damage = {0};
        struct catalog *c = catalog_open_file(path, &damage);
        if (!c) {
            AUTO_MEM char *now = current_generation(home);
            if (attempt < OPEN_ATTEMPTS && (!now || strcmp(now, dir) != 0))
                continue;
            c = rebuild(home, dir, &damage, e);
        }
        if (c)
            name_origin(c, home);
        return c;
    }
}

struct catalog *catalog_open_builtin(struct err *e)
{
    return catalog_open_bytes("the built-in catalog", catalog_builtin,
                              (size_t)(catalog_builtin_end - catalog_builtin), e);
}

struct catalog *catalog_open(const char *home, struct err *e)
{
    struct err why = {0};
    struct catalog *c = catalog_store_open(home, &why);

    if (c)
        return c;
    if (why.kind == ERR_NOTFOUND)
        return catalog_open_builtin(e);
    err_set(e, why.kind, "%s", why.text);
    return NULL;
}
