#include "draw/chart_svg.h"

#include "base/auto.h"
#include "base/buf.h"
#include "tap.h"

#include <math.h>
#include <string.h>

int main(void)
{
    const struct svg_label at = {10, 20, "start", 10, ""};
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, 1 << 16);
    /* Ten columns of 6 each. */
    CHECK(fabs(svg_text_width("0123456789", 10) - 60) < 1e-9, "a column is 0.6 of the size");
    svg_text_within(&b, at, 60, "0123456789");
    CHECK(strcmp(buf_str(&b), "<text x=\"10.0\" y=\"20.0\" text-anchor=\"start\" "
                              "font-size=\"10\">0123456789</text>\n") == 0,
          "what fits stays as it is");
    buf_clear(&b);
    buf_init(&b, 1 << 16);
    svg_text_within(&b, at, 59, "012345678<");
    CHECK(strstr(buf_str(&b), "><title>012345678&lt;</title>01234567…</text>"),
          "what does not is cut to nine columns, and told whole: %s", buf_str(&b));
    return TAP_DONE();
}
