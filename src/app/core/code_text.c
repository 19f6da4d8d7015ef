#include "app/core/code_text.h"

#include "base/buf.h"
#include "base/mem.h"
#include "lake/put/source.h"
#include "view/text.h"

#include <inttypes.h>

/* More is hardly code. */
#define MUCH_BYTES ((uint64_t)50000000)
#define NAMES_MAX ((size_t)16384)

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
    app_notice(app, "code of %s: %" PRIu64 " file%s, %s%s%s", shown, code->files,
               code->files == 1 ? "" : "s", text_bytes(code->bytes, size), buf_str(&names),
               names.len ? "; .tradewindignore leaves files out" : "");
}
