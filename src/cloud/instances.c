#include "cloud/instances.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/time.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define SUFFIX ".machine"
#define DIR_MODE 0700
#define LOCK_WAIT_S 30.0
#define LOCK_POLL_US 500
#define FORGET_AT_LEAST 1024

struct instances {
    char *dir;
    bool durable;
    int lock_fd;
    bool is_known;           /* what follows was read, when the counter was at `counter` */
    uint64_t counter;        /* of writes to the folder by any process */
    struct instance **items; /* all of them */
    size_t n, cap;
    struct instance **open; /* those that were not over when last looked at */
    size_t n_open, cap_open;
    struct map *by_token; /* to indices of items */
    size_t forget_at;     /* how many items make it worth to look for old ones */
};

const char *instances_dir(const struct instances *r)
{
    return r->dir;
}

/* ---- the table ---- */

static bool same_token(const void *items, uint32_t i, const void *token)
{
    struct instance *const *all = items;

    return strcmp(all[i]->machine.token, token) == 0;
}

static struct instance *find_item(const struct instances *r, const char *token)
{
    uint32_t i = map_find(r->by_token, hash_text(token), same_token, r->items, token);

    return i != MAP_NONE ? r->items[i] : NULL;
}

static void index_items(struct instances *r)
{
    map_clear(r->by_token);
    for (size_t i = 0; i < r->n; i++)
        map_add(r->by_token, hash_text(r->items[i]->machine.token), (uint32_t)i);
}

static void add_item(struct instances *r, const struct instance *instance)
{
    struct instance *copy = mem_zero(1, sizeof *copy);

    *copy = *instance;
    r->items = mem_room(r->items, r->n, &r->cap, sizeof *r->items);
    r->open = mem_room(r->open, r->n_open, &r->cap_open, sizeof *r->open);
    map_add(r->by_token, hash_text(copy->machine.token), (uint32_t)r->n);
    r->items[r->n++] = copy;
    r->open[r->n_open++] = copy;
}

static void clear_items(struct instances *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->items[i]);
    r->n = r->n_open = 0;
    map_clear(r->by_token);
}

const struct instance *instances_find(const struct instances *r, const char *token)
{
    return find_item(r, token);
}

const struct instance *instances_next(struct instances *r, size_t *at, int64_t now_ms)
{
    while (*at < r->n_open && instance_is_over(r->open[*at], now_ms))
        r->open[*at] = r->open[--r->n_open];
    return *at < r->n_open ? r->open[(*at)++] : NULL;
}

/* ---- the folder ---- */

struct instances *instances_open(const char *home, const char *name, bool durable, struct err *e)
{
    AUTO(instances) struct instances *r = mem_zero(1, sizeof *r);

    r->durable = durable;
    r->dir = mem_printf("%s/clouds/%s", home, name);
    r->lock_fd = -1;
    r->by_token = map_new();
    if (file_make_dirs(r->dir, DIR_MODE, e) < 0)
        return NULL;
    AUTO_MEM char *path = mem_printf("%s/lock", r->dir);
    r->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (r->lock_fd < 0) {
        file_error(e, "open", path);
        return NULL;
    }
    return TAKE(r);
}

void instances_free(struct instances *r)
{
    if (!r)
        return;
    clear_items(r);
    if (r->lock_fd >= 0)
        close(r->lock_fd);
    free(r->items);
    free(r->open);
    map_free(r->by_token);
    free(r->dir);
    free(r);
}

static char *path_of(const struct instances *r, const char *token)
{
    return mem_printf("%s/%s" SUFFIX, r->dir, token);
}

static int load_file(struct instances *r, const char *name, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/%s", r->dir, name);
    struct err why = {0};
    struct instance instance;
    bool is_empty = false;
    AUTO_JSON json_t *value = sumfile_read(path, r->durable ? NULL : &is_empty, &why);

    if (!value && is_empty) {
        log_warn("cloud", "%s is empty, as a kill or a power cut leaves it: removed", path);
        unlink(path);
        return 0;
    }
    if (value && instance_from_json(value, &instance, &why) == 0 &&
        (strlen(instance.machine.token) != strlen(name) - strlen(SUFFIX) ||
         strncmp(instance.machine.token, name, strlen(instance.machine.token)) != 0))
        err_set(&why, ERR_USAGE, "it is about %s", instance.machine.token);
    if (value && why.kind)
        err_wrap(&why, "%s is damaged", path);
    if (why.kind)
        return err_set(e, why.kind, "%s%s", why.text,
                       why.kind == ERR_USAGE ? "; remove it once nothing runs on its machine" : "");
    if (r->n == INSTANCES_MAX)
        return err_set(e, ERR_USAGE, "%s: more than %d machines", r->dir, INSTANCES_MAX);
    add_item(r, &instance);
    return 0;
}

/* What file_replace writes before it renames: NAME.XXXXXX. */
static bool is_leftover(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && dot != name && strlen(dot) == sizeof ".XXXXXX" - 1;
}

static int load_entry(struct instances *r, const char *name, struct err *e)
{
    size_t n = strlen(name);

    if (n > strlen(SUFFIX) && strcmp(name + n - strlen(SUFFIX), SUFFIX) == 0)
        return load_file(r, name, e);
    /* Under the lock no other process writes: a killed one left it. */
    if (is_leftover(name)) {
        AUTO_MEM char *path = mem_printf("%s/%s", r->dir, name);
        unlink(path);
    }
    return 0;
}

static int load(struct instances *r, struct err *e)
{
    DIR *dir = opendir(r->dir);
    const struct dirent *entry;
    int result = 0;

    if (!dir)
        return file_error(e, "open", r->dir);
    clear_items(r);
    while (result == 0 && (errno = 0, entry = readdir(dir)))
        result = load_entry(r, entry->d_name, e);
    if (result == 0 && errno)
        result = file_error(e, "read", r->dir);
    closedir(dir);
    return result;
}

static int take_lock(const struct instances *r, struct err *e)
{
    double until = time_monotonic_s() + LOCK_WAIT_S;

    while (flock(r->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return file_error(e, "lock", r->dir);
        if (time_monotonic_s() >= until)
            return err_set(e, ERR_RETRY, "%s: another process has held its lock for %.0f s", r->dir,
                           LOCK_WAIT_S);
        usleep(LOCK_POLL_US);
    }
    return 0;
}

int instances_lock(struct instances *r, struct err *e)
{
    uint64_t counter = 0;

    if (take_lock(r, e) < 0)
        return -1;
    /* A new file has no counter yet, which is as good as 0. */
    if (pread(r->lock_fd, &counter, sizeof counter, 0) < 0) {
        instances_unlock(r);
        return file_error(e, "read the lock of", r->dir);
    }
    if (r->is_known && r->counter == counter)
        return 0;
    r->is_known = load(r, e) == 0;
    r->counter = counter;
    if (r->is_known)
        return 0;
    instances_unlock(r);
    return -1;
}

void instances_unlock(struct instances *r)
{
    flock(r->lock_fd, LOCK_UN);
}

/* Others learn that something in the folder changes now. instances_put calls it itself. */
static int instances_announce(struct instances *r, struct err *e)
{
    uint64_t counter = r->counter + 1;

    if (pwrite(r->lock_fd, &counter, sizeof counter, 0) != (ssize_t)sizeof counter)
        return file_error(e, "write the lock of", r->dir);
    r->counter = counter;
    return 0;
}

int instances_put(struct instances *r, const struct instance *instance, struct err *e)
{
    AUTO_MEM char *path = path_of(r, instance->machine.token);
    AUTO_JSON json_t *value = instance_json(instance);
    struct instance *known = find_item(r, instance->machine.token);

    if (!known && r->n >= INSTANCES_MAX)
        return err_set(e, ERR_NOFIT,
                       "%s: more than %d machines; those that are gone are forgotten "
                       "after a day",
                       r->dir, INSTANCES_MAX);
    /* First the counter: killed between the two, others read the folder once in vain. */
    if (instances_announce(r, e) < 0 || sumfile_write(path, value, r->durable, e) < 0)
        return -1;
    if (known)
        *known = *instance;
    else
        add_item(r, instance);
    return r->durable ? file_sync_dir(r->dir, e) : 0;
}

void instances_forget(struct instances *r, int64_t now_ms)
{
    size_t kept = 0;

    if (r->n < r->forget_at || instances_announce(r, NULL) < 0)
        return;
    for (size_t i = 0; i < r->n; i++) {
        struct instance *item = r->items[i];
        bool is_old = instance_is_over(item, now_ms) &&
                      instance_end_ms(item, now_ms) < now_ms - INSTANCES_REMEMBER_MS;
        AUTO_MEM char *path = is_old ? path_of(r, item->machine.token) : NULL;
        if (is_old && unlink(path) == 0)
            free(item);
        else
            r->items[kept++] = item;
    }
    r->n = kept;
    r->n_open = 0;
    for (size_t i = 0; i < kept; i++) {
        r->open = mem_room(r->open, r->n_open, &r->cap_open, sizeof *r->open);
        r->open[r->n_open++] = r->items[i];
    }
    index_items(r);
    r->forget_at = 2 * kept > FORGET_AT_LEAST ? 2 * kept : FORGET_AT_LEAST;
}
