/* Lookups in a parsed YAML document, and reading a file of bounded size. Every reader of YAML
 * uses them. */
#include "base/buf.h"
#include "base/utf8.h"
#include "spec/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    if (!map || map->kind != YAML_MAP)
        return NULL;
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->entries[i].key, key) == 0)
            return map->entries[i].value;
    return NULL;
}

bool yaml_is_null(const struct yaml_node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};

    if (!node)
        return true;
    if (node->kind != YAML_SCALAR || !node->plain)
        return false;
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
        if (strcmp(node->text, nulls[i]) == 0)
            return true;
    return false;
}

const char *yaml_kind_text(const struct yaml_node *node)
{
    if (yaml_is_null(node))
        return "nothing";
    if (node->kind == YAML_LIST)
        return "a list";
    return node->kind == YAML_MAP ? "a map" : "text";
}

size_t yaml_byte_offset(const char *text, size_t len, size_t index)
{
    size_t at = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;

    while (index-- > 0 && at < len)
        at += utf8_width(text + at);
    return at < len ? at : len;
}

static int read_all(int fd, const char *path, struct buf *out, struct err *e)
{
    char chunk[65536];
    ssize_t got;

    while ((got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(e, errno == EISDIR ? ERR_USAGE : ERR_IO, "%s: %s", path,
                           strerror(errno));
        if (out->len + (size_t)got > YAML_MAX_BYTES)
            return err_set(e, ERR_USAGE, "%s: larger than %zu MiB", path, YAML_MAX_BYTES >> 20);
        buf_add(out, chunk, (size_t)got);
    }
    return 0;
}

int yaml_read(const char *path, struct buf *out, struct err *e)
{
    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, "stdin", out, e);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_USAGE, "%s: %s", path, strerror(errno));
    int result = read_all(fd, path, out, e);
    close(fd);
    return result;
}
