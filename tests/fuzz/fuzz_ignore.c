/* Any bytes as a .gitignore, after a line with a path to ask for: rules that stand twice mean the
 * same, a name that is asked for may be ignored and taken back, and memory stays within bounds. */
#include "base/arena.h"
#include "base/mem.h"
#include "broker/pipeline/ignore.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool asks(const char *text, size_t len, const char *path)
{
    /* The bound that the header promises, with room for what an arena takes besides. */
    AUTO(arena) struct arena *a = arena_new(100 * len + ((size_t)1 << 20));
    const struct ignore_rules *rules = ignore_parse(a, NULL, 0, text, len);
    bool file = ignore_matches(rules, path, false);

    /* A directory matches whatever a file does, unless the last pattern is for directories. */
    return file || ignore_matches(rules, path, true);
}

/* Plain names: no byte of theirs means anything in a pattern. */
static bool is_plain(const char *path)
{
    return *path && !strpbrk(path, "*?[\\!# \t\r/");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;

    if (!line || line - data > 4000 || memchr(data, 0, (size_t)(line - data)) || line == data)
        return 0;
    AUTO_MEM char *path = mem_printf("%.*s", (int)(line - data), (const char *)data);
    const char *text = (const char *)line + 1;
    size_t len = size - (size_t)(text - (const char *)data);
    bool first = asks(text, len, path);
    if (len > 2 && !memcmp(text, "\xef\xbb\xbf", 3))
        return 0;
    AUTO_MEM char *twice = mem_zero(2 * len + strlen(path) + 3, 1);
    memcpy(twice, text, len);
    twice[len] = '\n';
    memcpy(twice + len + 1, text, len);
    assert(asks(twice, 2 * len + 1, path) == first);
    if (!is_plain(path))
        return 0;
    memcpy(twice + len + 1, path, strlen(path));
    assert(asks(twice, len + 1 + strlen(path), path));
    twice[len + 1] = '!';
    memcpy(twice + len + 2, path, strlen(path));
    assert(!asks(twice, len + 2 + strlen(path), path));
    return 0;
}
