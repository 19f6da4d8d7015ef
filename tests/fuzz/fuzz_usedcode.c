/* Any bytes as a list of used code: once it is in order, it is written and read byte for byte. */
#include "broker/pipeline/usedcode.h"

#include "base/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct usedcode *u)
{
    struct usedcode again = {0};
    size_t n, n_again;
    AUTO_MEM void *bytes = usedcode_bytes(u, &n);

    assert(usedcode_read(&again, bytes, n, NULL) == 0 && again.n == u->n);
    usedcode_sort(&again);
    assert(again.n == u->n);
    AUTO_MEM void *second = usedcode_bytes(&again, &n_again);
    assert(n == n_again && (!n || memcmp(bytes, second, n) == 0));
    usedcode_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct usedcode u = {0};
    struct err e = {0};

    if (usedcode_read(&u, data, size, &e) < 0) {
        assert(e.kind == ERR_IO && *e.text);
    } else {
        usedcode_sort(&u);
        check(&u);
    }
    usedcode_clear(&u);
    return 0;
}
