#include "base/auto.h"
#include "base/buf.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static void full(void)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, 8);
    CHECK(buf_puts(&b, "12345678") == 0 && !b.full, "the maximum itself fits");
    CHECK(buf_add(&b, "", 0) == 0, "nothing more fits too");
    CHECK(buf_puts(&b, "9") == -1 && b.full, "one byte more does not");
    CHECK(strcmp(buf_str(&b), "12345678") == 0, "what was there stays");
    buf_clear(&b);
    CHECK(!b.full && b.max == 8, "a cleared buffer is usable again");
    CHECK(buf_printf(&b, "%d", 123456789) == -1 && b.full, "formatted text is bounded too");
    CHECK(buf_puts(&b, "x") == -1, "a full buffer takes nothing more, or it would have a hole");
}

int main(void)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, 1 << 20);
    CHECK(strcmp(buf_str(&b), "") == 0, "empty text before the first write");
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "%03d", i);
    CHECK(b.len == 3000 && strncmp(b.data + 2997, "999", 4) == 0, "a buffer grows");
    CHECK(buf_add(&b, "a\0b", 3) == 0 && b.len == 3003 && b.data[3002] == 'b', "any bytes go in");

    buf_clear(&b);
    CHECK(buf_puts(&b, "again") == 0 && strcmp(buf_str(&b), "again") == 0,
          "a cleared buffer is usable again");
    full();
    return TAP_DONE();
}
