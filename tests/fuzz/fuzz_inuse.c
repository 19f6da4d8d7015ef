/* What files on a host say of the home that has it, and of the lease: what is taken is written as
 * it reads, and never leads out of the directory of homes. */
#include "base/auto.h"
#include "base/mem.h"
#include "exec/inuse.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_MEM char *text = mem_zero(size + 1, 1);
    struct inuse first, again;
    double seconds;

    memcpy(text, data, size);
    inuse_parse(text, &first);
    if (*first.by) {
        assert(inuse_is_word(first.by) && !strchr(first.by, '/') && first.by[0] != '.');
        assert(inuse_is_word(first.token) && *first.label && !strchr(first.label, '\n'));
        AUTO_MEM char *line = inuse_text(&first);
        inuse_parse(line, &again);
        assert(!strcmp(first.by, again.by) && !strcmp(first.token, again.token) &&
               !strcmp(first.label, again.label) && first.until_ms == again.until_ms);
    } else {
        assert(!*first.token && !*first.label && first.until_ms == 0);
    }
    if (inuse_lease(text, &seconds))
        assert(isfinite(seconds) && seconds >= 0);
    return 0;
}
