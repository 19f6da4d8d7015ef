#include "cli/data/data.h"

#include "base/buf.h"
#include "view/text.h"

#include <string.h>

/* Bytes of a path, and of the longest text below. */
#define TEXT_MAX 4095
/* Files that people see one by one; the rest is counted. */
#define PUT_LINES 20
#define PUT_REF_COLUMNS 74

void cli_data_print(const struct operate_text *t, const char *text, size_t columns)
{
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, (size_t)4 * (TEXT_MAX + 1));
    text_put(&b, text, columns ? columns : TEXT_MAX, t->look.utf8);
    fwrite(buf_str(&b), 1, b.len, t->out);
    for (size_t width = columns ? text_width(buf_str(&b)) : 0; width < columns; width++)
        putc(' ', t->out);
}

const char *cli_data_rights_text(const char *mode, bool executable, char out[static 10])
{
    char *at = out;

    for (size_t i = 0; i < 3 && mode[i]; i++) {
        *at++ = mode[i] & 4 ? 'r' : '-';
        *at++ = mode[i] & 2 ? 'w' : '-';
        *at++ = executable && mode[i] & 4 ? 'x' : '-';
    }
    *at = 0;
    return out;
}

void cli_data_print_put(const struct operate_text *t,
                        struct data_put_lines *lines,
                        const char *ref,
                        uint64_t bytes,
                        bool unchanged)
{
    AUTO_CLEAR(buf) struct buf b = {0};
    char size[32];

    lines->bytes += bytes;
    lines->unchanged += unchanged;
    if (lines->n++ >= PUT_LINES)
        return;
    buf_init(&b, (size_t)4 * PUT_REF_COLUMNS + 64);
    text_put(&b, ref, PUT_REF_COLUMNS, t->look.utf8);
    fprintf(t->out, "%s  %s%s\n", buf_str(&b), text_bytes(bytes, size),
            unchanged ? ", unchanged" : "");
}

void cli_data_print_put_sum(FILE *out,
                            const struct data_put_lines *lines,
                            const struct data_put_summary *s)
{
    char number[32], bytes[32];

    if (lines->n > PUT_LINES)
        fprintf(out, "... and %s more\n", text_count(lines->n - PUT_LINES, number));
    fprintf(out, "%s file%s, %s", text_count((size_t)s->files, number), s->files == 1 ? "" : "s",
            text_bytes(s->bytes, bytes));
    if (s->unchanged)
        fprintf(out, "; %s unchanged", text_count((size_t)s->unchanged, number));
    if (s->stored_bytes != UINT64_MAX)
        fprintf(out, "; %s stored", text_bytes(s->stored_bytes, bytes));
    if (s->skipped)
        fprintf(out, "; %s left out", text_count((size_t)s->skipped, number));
    if (s->set)
        fprintf(out, "; @%s:%lld", s->set, (long long)s->set_version);
    putc('\n', out);
}
