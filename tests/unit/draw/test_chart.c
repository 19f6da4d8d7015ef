#include "base/buf.h"
#include "draw/chart.h"
#include "tap.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct chart_point points[] = {{7200, 1}, {3600, 2}, {1800, 5}};

static void check_frontier_svg(void)
{
    struct buf svg;

    buf_init(&svg, CHART_SVG_MAX_BYTES);
    chart_frontier_svg(&svg, &(struct chart_frontier){"a <b> & \"c\"\033", points, 3, 1});
    const char *s = buf_str(&svg);
    CHECK(strstr(s, "a &lt;b&gt; &amp; &quot;c&quot;?"), "the title is escaped");
    CHECK(strstr(s, "cost, USD") && strstr(s, "time, min"), "both axes have units");
    /* The plot begins at 90, 76 and is 770 wide: the text ends where it does, above it. */
    CHECK(strstr(s, "x=\"860.0\" y=\"64.0\" text-anchor=\"end\" font-size=\"13\" "
                    "font-weight=\"bold\">this plan: $2.00, 1 h 00 m<"),
          "the chosen plan's numbers stand clear of the plot");
    CHECK(!strstr(s, "<script"), "no script");
    size_t circles = 0;
    for (const char *p = s; (p = strstr(p, "<circle")); p++)
        circles++;
    CHECK(circles == 3, "a circle for each plan");
    CHECK(svg.len > 7 && !strcmp(s + svg.len - 7, "</svg>\n"), "the picture is closed");
    buf_clear(&svg);
}

static void check_small_frontier(void)
{
    struct buf svg;

    buf_init(&svg, CHART_SVG_MAX_BYTES);
    chart_frontier_svg(&svg,
                       &(struct chart_frontier){"one", &(struct chart_point){240, 0.0012}, 1, 0});
    CHECK(strstr(buf_str(&svg), ">this plan: $0.0012, 4 m 00 s<"), "no plan costs $0.00");
    buf_clear(&svg);
}

static void check_timeline_svg(void)
{
    const struct chart_bar bars[] = {
        {"first", "aws/us-east-1, 1 x c5n.2xlarge, $0.10", 0, {60, 0, 0, 540}},
        {"second", "gcp/us-central1, 1 x e2-standard-8, $0.20", 600, {60, 30, 120, 390}},
    };
    struct buf svg;

    buf_init(&svg, CHART_SVG_MAX_BYTES);
    chart_timeline_svg(&svg,
                       &(struct chart_timeline){"two", {"boot", "setup", "input", "run"}, bars, 2});
    const char *s = buf_str(&svg);
    /* The plot is 510 wide from 350 on and 20 min long, so that 60 s are 25.5 wide; the second
     * bar begins half way. */
    CHECK(strstr(s, "<rect x=\"350.00\" y=\"81.00\" width=\"25.50\""), "boot of the first bar");
    CHECK(strstr(s, "<rect x=\"605.00\" y=\"125.00\" width=\"25.50\""), "boot of the second bar");
    CHECK(strstr(s, "<rect x=\"643.25\" y=\"125.00\" width=\"51.00\""), "input of the second bar");
    CHECK(strstr(s, "aws/us-east-1, 1 x c5n.2xlarge, $0.10"), "details stand beside the bars");
    buf_clear(&svg);
}

static char *drawn(const struct chart_frontier *f, bool utf8)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    chart_frontier_text(out, f, &(struct text_look){.utf8 = utf8});
    fclose(out);
    return text;
}

static size_t widest_line(const char *s)
{
    size_t widest = 0;

    while (*s) {
        char line[1024];
        size_t len = strcspn(s, "\n");
        snprintf(line, sizeof line, "%.*s", (int)len, s);
        widest = text_width(line) > widest ? text_width(line) : widest;
        s += len + (s[len] == '\n');
    }
    return widest;
}

static void check_drawing(void)
{
    struct chart_frontier f = {"", points, 3, 1};

    for (int utf8 = 0; utf8 < 2; utf8++) {
        char *text = drawn(&f, utf8);
        CHECK(widest_line(text) <= TEXT_COLUMNS, "the drawing fits (%s)",
              utf8 ? "braille" : "ASCII");
        CHECK(strstr(text, "$1.00") == NULL && strstr(text, "$1") && strstr(text, "120 min"),
              "axes are labelled");
        CHECK(!!strstr(text, utf8 ? "\xe2\x97\x86" : "X"), "the chosen plan is marked");
        free(text);
    }
    char *ascii = drawn(&f, false);
    bool plain = true;
    for (const char *p = ascii; *p; p++)
        plain = plain && (unsigned char)*p < 0x80;
    CHECK(plain, "nothing but ASCII without UTF-8");
    free(ascii);
    char *single = drawn(&(struct chart_frontier){"", points, 1, SIZE_MAX}, false);
    CHECK(strstr(single, "o\n") && !strchr(single, 'X'), "one plan is one mark");
    free(single);
}

static void check_save(void)
{
    char directory[] = "/tmp/tradewind-chart-XXXXXX", path[64], text[16] = "";
    struct err e = {0};
    struct buf svg;

    if (!mkdtemp(directory))
        return;
    snprintf(path, sizeof path, "%s/x.svg", directory);
    buf_init(&svg, 100);
    buf_puts(&svg, "<svg/>");
    CHECK(chart_save(path, &svg, &e) == 0 && chart_save(path, &svg, &e) == 0, "saved, twice");
    FILE *f = fopen(path, "r");
    CHECK(f && fgets(text, sizeof text, f) && !strcmp(text, "<svg/>"), "what was saved is there");
    if (f)
        fclose(f);
    CHECK(chart_save(directory, &svg, &e) < 0 && e.kind == ERR_USAGE, "not onto a directory");
    CHECK(chart_save("/nowhere/at/all.svg", &svg, &e) < 0 && e.kind == ERR_IO &&
              strstr(e.text, "/nowhere/at/all.svg"),
          "a missing directory is named");
    unlink(path);
    CHECK(rmdir(directory) == 0, "nothing is left beside it");
    buf_clear(&svg);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static void check_panels(void)
{
    static const double steps[] = {1, 2, 3}, falling[] = {0.9, 0.5, 0.3}, same[] = {7, 7, 7};
    static const double wild[] = {-1.7e308, 5e-324, 1.7e308};
    const struct chart_series series[] = {
        {"loss <train>", steps, falling, 3}, {"lr", steps, same, 3}, {"wild", steps, wild, 3}};
    struct buf svg;

    buf_init(&svg, 1 << 20);
    chart_panels_svg(&svg, &(struct chart_panels){"job 7", series, 3});
    CHECK(!svg.full && strstr(svg.data, "loss &lt;train&gt;") && count(svg.data, "<path ") == 3 &&
              !strstr(svg.data, "nan") && !strstr(svg.data, "inf"),
          "a panel for each series, whatever its numbers are");
    CHECK(strstr(svg.data, ">0.2<") && strstr(svg.data, ">1.0<") && strstr(svg.data, ">7<"),
          "with axes of its own");
    buf_clear(&svg);
}

static void check_spark(void)
{
    static const double y[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, same[] = {3, 3};
    static const struct {
        const char *name;
        const double *y;
        size_t n, columns;
        bool utf8;
        const char *want;
    } cases[] = {
        {"a column each", y, 10, 20, false, "0123456789"},
        {"means of two", y, 10, 5, false, "02579"}, /* 0.5 2.5 4.5 6.5 8.5 of 0.5 .. 8.5 */
        {"all the same", same, 2, 10, false, "55"},
        {"bars", y, 2, 10, true, "\xe2\x96\x81\xe2\x96\x88"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct text_look look = {.utf8 = cases[i].utf8};
        struct buf b;
        buf_init(&b, 1000);
        chart_spark(&b, cases[i].y, cases[i].n, cases[i].columns, &look);
        CHECK(strcmp(buf_str(&b), cases[i].want) == 0, "spark line: %s: %s", cases[i].name,
              buf_str(&b));
        buf_clear(&b);
    }
}

static void check_grid(void)
{
    const struct chart_grid grid = {
        .title = "a <grid>",
        .limit = "past $1",
        .vcpus = (const double[]){0.5, 1},
        .memory_mb = (const double[]){512, 768},
        .n_vcpus = 2,
        .n_memory = 2,
        .time_s = (const double[]){100, 10, 10, 1},
        .within = (const bool[]){false, true, true, true},
        .chosen = 3,
        .chosen_text = "1.0 s, $0.50",
    };
    struct buf svg;

    buf_init(&svg, CHART_SVG_MAX_BYTES);
    chart_grid_svg(&svg, &grid);
    const char *s = buf_str(&svg);
    /* Two columns of 280 from 100 on, two rows of 15 that end at 106. Of 100, 10 and 1 s the middle
     * one is half way by ratio, so that it has the middle colour. */
    CHECK(strstr(s, "x=\"100.00\" y=\"91.00\" width=\"280.00\" height=\"15.00\" fill=\"#00224E\""),
          "the slowest is darkest, small sizes stand below and left");
    CHECK(
        strstr(s, "x=\"100.00\" y=\"76.00\" width=\"280.00\" height=\"15.00\" fill=\"#7C7B78\"") &&
            strstr(s,
                   "x=\"380.00\" y=\"91.00\" width=\"280.00\" height=\"15.00\" fill=\"#7C7B78\""),
        "half way");
    CHECK(strstr(s, "x=\"380.00\" y=\"76.00\" width=\"280.00\" height=\"15.00\" fill=\"#FDE737\""),
          "the fastest is lightest");
    CHECK(count(s, "<line") == 4, "one cell is hatched, and so is the legend");
    CHECK(count(s, "fill=\"none\"") == 2, "one cell is outlined, and so is the legend");
    CHECK(strstr(s, ">vCPU<") && strstr(s, ">memory, MB<") && strstr(s, ">past $1<") &&
              strstr(s, ">1 m 40 s<") && strstr(s, "a &lt;grid&gt;"),
          "axes, units, legend and title");
    buf_clear(&svg);
}

int main(void)
{
    check_grid();
    check_panels();
    check_spark();
    check_frontier_svg();
    check_small_frontier();
    check_timeline_svg();
    check_drawing();
    check_save();
    return TAP_DONE();
}
