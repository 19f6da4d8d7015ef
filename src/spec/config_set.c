/* Changes one setting in the configuration file, under a lock, and checks the result before it
 * is written. `config set` calls it. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "spec/config.h"
#include "spec/config_edit.h"
#include "spec/config_schema.h"
#include "spec/yaml.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define ARENA_MAX_BYTES ((size_t)32 << 20)
/* For its owner alone: it will hold more than settings. */
#define HOME_MODE 0700

/* Checks a text as if it were a configuration file; file NULL: no "FILE:LINE" in the message. */
static int check_text(const struct buf *text, const char *file, struct err *e)
{
    AUTO(arena) struct arena *a = arena_new(ARENA_MAX_BYTES);
    struct config scratch = {.arena = a, .file = file};
    const struct yaml_node *root;

    return config_schema_read(&scratch, buf_str(text), text->len, &root, e);
}

static int edit_file(const struct config *c, const char *key, const char *value, struct err *e)
{
    AUTO_CLEAR(buf) struct buf before;
    AUTO_CLEAR(buf) struct buf after;

    buf_init(&before, YAML_MAX_BYTES);
    buf_init(&after, YAML_MAX_BYTES);
    if (access(c->file, F_OK) == 0 && yaml_read(c->file, &before, e) < 0)
        return -1;
    if (config_edit(buf_str(&before), before.len, key, value, &after, e) < 0)
        return err_wrap(e, "%s", c->file);
    if (check_text(&after, c->file, e) < 0)
        return -1;
    return file_replace(c->file, after.data, after.len, 0600, e);
}

int config_set(const struct config *c, const char *key, const char *value, struct err *e)
{
    AUTO_CLEAR(buf) struct buf alone;

    buf_init(&alone, YAML_MAX_BYTES);
    if (config_check_key(key, e) < 0 || config_edit_line(key, value, &alone, e) < 0 ||
        check_text(&alone, NULL, e) < 0 || file_make_dirs(c->home, HOME_MODE, e) < 0)
        return -1;
    /* Two of these at once must not lose one's change. */
    int lock = open(c->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0)
        return file_error(e, "open", c->home);
    int result =
        flock(lock, LOCK_EX) < 0 ? file_error(e, "lock", c->home) : edit_file(c, key, value, e);
    if (result == 0 && fsync(lock) < 0)
        result = file_error(e, "sync", c->home);
    close(lock);
    return result;
}
