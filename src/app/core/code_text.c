#include "app/core/code_text.h"

#include "base/buf.h"
#include "base/mem.h"
#include "lake/put/source.h"
#include "view/text.h"

#include <inttypes.h>
#include <string.h>

/* More is hardly code. */
#define MUCH_BYTES ((uint64_t)50000000)
#define NAMES_MAX ((size_t)16384)

/* "." and ".." say nothing of which directory that is. */
static bool has_name(const char *directory)
{
    size_t end = strlen(directory), begin;

    while (end > 0 && directory[end - 1] == '/')
        end--;
    for (begin = end; begin > 0 && directory[begin - 1] != '/'; begin--)
        ;
    return end - begin > 2 || strspn(directory + begin, "./") < end - begin;
}

void app_tell_code(const struct app *app, const char *directory, const struct code *code)
{
    AUTO_MEM char *shown = source_printable(directory);
    AUTO_CLEAR(buf) struct buf names;
    char size[32];

    buf_init(&names, NAMES_MAX);
    for (size_t i = 0; code->bytes > MUCH_BYTES && i < CODE_LARGEST && code->largest[i].path; i++) {
        AUTO_MEM char *path = source_printable(code->largest[i].path);
        buf_printf(&names, "%s%s (%s)", i ? ", " : "; the largest: ", path,
                   text_bytes(code->largest[i].bytes, size));
    }
    AUTO_MEM char *set = has_name(directory) ? mem_dup("") : mem_printf(" (%s)", code->ref);
    app_notice(app, "code of %s%s: %" PRIu64 " file%s, %s%s%s", shown, set, code->files,
               code->files == 1 ? "" : "s", text_bytes(code->bytes, size), buf_str(&names),
               names.len ? "; .tradewindignore leaves files out" : "");
}
