#include "view/text.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WORD_MAX_BYTES 4096

static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

/* What COLUMNS says, else the terminal; 0 = neither. */
static size_t width_of(FILE *out)
{
    const char *told = getenv("COLUMNS");
    struct winsize size = {0};
    double columns = 0;

    if ((!told || !number_parse(told, &columns) || !(columns >= 1)) && isatty(fileno(out)) &&
        ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    if (!(columns >= 1))
        return 0;
    return (size_t)fmin(fmax(columns, TEXT_COLUMNS_LEAST), TEXT_COLUMNS_MOST);
}

struct text_look text_look_for(FILE *out)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

    return (struct text_look){
        .utf8 = locale_is_utf8(),
        .colour =
            isatty(fileno(out)) && !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0,
        .columns = width_of(out),
    };
}

/* The first character of a text that is not empty: its length, or 0 when it is no UTF-8. */
static size_t decode(const char *s, uint32_t *out)
{
    return utf8_decode(s, strnlen(s, 4), out);
}

/* The blocks of Unicode that terminals draw two columns wide. */
static bool is_wide(uint32_t c)
{
    static const uint32_t ranges[][2] = {
        {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
        {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

static bool is_control(uint32_t c)
{
    bool turns_direction = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);

    return c < 0x20 || (c >= 0x7f && c < 0xa0) || turns_direction;
}

static size_t char_width(uint32_t c)
{
    bool joins = (c >= 0x300 && c <= 0x36f) || c == 0x200d || (c >= 0xfe00 && c <= 0xfe0f);

    return joins ? 0 : is_wide(c) ? 2 : 1;
}

size_t text_width(const char *s)
{
    size_t width = 0;

    while (*s) {
        uint32_t c;
        size_t len = decode(s, &c);
        width += len ? char_width(c) : 1;
        s += len ? len : 1;
    }
    return width;
}

static void put_char(struct buf *b, const char *s, size_t len, uint32_t c, bool utf8)
{
    if (len == 0 || is_control(c) || (!utf8 && c >= 0x80))
        buf_add(b, "?", 1);
    else
        buf_add(b, s, len);
}

void text_put(struct buf *b, const char *s, size_t max_columns, bool utf8)
{
    const char *ellipsis = utf8 ? "\xe2\x80\xa6" : "...";
    size_t ellipsis_columns = utf8 ? 1 : 3;
    bool cut = text_width(s) > max_columns;
    size_t room = max_columns;

    if (cut && max_columns < ellipsis_columns)
        return;
    if (cut)
        room -= ellipsis_columns;
    for (size_t len; *s; s += len ? len : 1) {
        uint32_t c = 0;
        len = decode(s, &c);
        size_t width = len ? char_width(c) : 1;
        if (width > room)
            break;
        room -= width;
        put_char(b, s, len, c, utf8);
    }
    if (cut)
        buf_puts(b, ellipsis);
}

void text_print(FILE *out, const char *s, size_t max_columns)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, 4 * max_columns + 16);
    text_put(&b, s, max_columns, text_look_for(out).utf8);
    fputs(buf_str(&b), out);
}

void text_print_lines(FILE *out, const char *s, size_t max_columns, size_t indent)
{
    AUTO_MEM char *lines = mem_dup(s);

    for (char *rest = lines, *line; (line = strsep(&rest, "\n"));) {
        fprintf(out, "%*s", line == lines || !*line ? 0 : (int)indent, "");
        text_print(out, line, max_columns);
        fputc('\n', out);
    }
}

void text_paragraph(FILE *out, const char *s, size_t indent, const struct text_look *look)
{
    size_t column = strspn(s, " "), columns = text_columns(look);
    bool fresh = true; /* no word on this line yet */

    fprintf(out, "%*s", (int)column, "");
    for (s += strspn(s, " \n"); *s; s += strspn(s, " \n")) {
        AUTO_CLEAR(buf) struct buf word;
        AUTO_MEM char *piece = mem_printf("%.*s", (int)strcspn(s, " \n"), s);
        buf_init(&word, WORD_MAX_BYTES);
        text_put(&word, piece, columns - indent, look->utf8);
        size_t width = text_width(buf_str(&word));
        if (!fresh && column + 1 + width > columns) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            fresh = true;
        }
        fprintf(out, "%s%s", fresh ? "" : " ", buf_str(&word));
        column += width + (fresh ? 0 : 1);
        fresh = false;
        s += strlen(piece);
    }
    fputc('\n', out);
}

const char *text_count(size_t n, char out[static 32])
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%zu", n), used = 0;

    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

const char *text_bytes(uint64_t n, char out[static 32])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)n / 1024;
    size_t unit = 0;

    if (n < 1024) {
        char count[32];
        snprintf(out, 32, "%.20s B", text_count((size_t)n, count));
        return out;
    }
    /* 1023.95 would be shown as 1024.0. */
    for (; value >= 1023.95 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1024;
    snprintf(out, 32, "%.1f %s", value, units[unit]);
    return out;
}
