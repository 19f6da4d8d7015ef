#include "set_checks.h"

#include "base/buf.h"

#include <string.h>

static int add_text(void *context, const char *ref, struct err *e)
{
    (void)e;
    buf_printf(context, "%s ", ref);
    return 0;
}

bool set_parents_are(struct lake *l, int64_t set_version, const char *wanted)
{
    AUTO_CLEAR(buf) struct buf got;
    struct err e = {0};

    buf_init(&got, 65536);
    return lake_set_parents(l, set_version, add_text, &got, &e) == 0 &&
           strcmp(buf_str(&got), wanted) == 0;
}
