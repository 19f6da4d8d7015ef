/* The list of files that an agent gets: what it takes stays below its directory, names a content
 * and reads the same when it is written again. */
#include "base/auto.h"
#include "base/mem.h"
#include "exec/reuse_line.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *path)
{
    AUTO_MEM char *framed = mem_printf("/%s/", path);

    assert(*path && !strstr(framed, "//") && !strstr(framed, "/./") && !strstr(framed, "/../"));
}

static void take(char *line)
{
    struct reuse_line first, again;
    AUTO_MEM char *text = NULL;
    size_t n;

    if (!reuse_line_parse(line, &first))
        return;
    check_path(first.path);
    assert(strspn(first.name, "0123456789abcdef") == DIGEST_TEXT - 1);
    assert(first.mode <= 07777 && first.mtime_s >= 0);
    FILE *out = open_memstream(&text, &n);
    reuse_line_write(&first, out);
    fclose(out);
    assert(reuse_line_parse(text, &again));
    assert(first.size == again.size && first.mode == again.mode && first.mtime_s == again.mtime_s &&
           strcmp(first.path, again.path) == 0 && strcmp(first.name, again.name) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *list = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
    char line[REUSE_LINE_MAX];

    while (list && fgets(line, sizeof line, list))
        take(line);
    if (list)
        fclose(list);
    return 0;
}
