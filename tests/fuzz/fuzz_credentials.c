/* The files that AWS's tools share: the first byte says which of the two it is meant to be. Values
 * are what a header could hold one line of, and errors quote nothing of the file. */
#include "net/aws_profile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void check(const struct aws_profile_value *v)
{
    if (v->text && (!*v->text || strpbrk(v->text, "\n") || v->line == 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    AUTO_CLEAR(aws_profile) struct aws_profile p = {0};
    struct err e = {0};

    if (aws_profile_parse("fuzz", (const char *)data + 1, size - 1, data[0] % 2, "default", &p,
                          &e) < 0) {
        if (e.kind != ERR_USAGE || strncmp(e.text, "fuzz:", 5) != 0)
            abort();
        return 0;
    }
    check(&p.key_id);
    check(&p.secret);
    check(&p.token);
    check(&p.region);
    if (!p.key_id.text != !p.secret.text)
        abort();
    if (!p.found && (p.key_id.text || p.region.text || p.unsupported))
        abort();
    return 0;
}
