#include "base/csv.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"

#include <zlib.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- files ---- */

#define READ_FIRST_BYTES ((size_t)64 << 10)
#define INFLATE_BYTES (256 << 10)

static void close_gz(gzFile *f)
{
    if (*f)
        gzclose(*f);
}

/* Why a gzread failed: damage is the file's fault, the rest the system's. */
static int read_error(const char *path, gzFile f, struct err *e)
{
    int code;
    const char *why = gzerror(f, &code);

    if (code != Z_ERRNO)
        return err_set(e, ERR_USAGE, "%s: damaged gzip data (%s)", path, why);
    return err_set(e, errno == EISDIR ? ERR_USAGE : ERR_IO, "%s: %s", path, strerror(errno));
}

/* Whole content, unpacked and NUL-terminated; the caller frees it. */
static char *read_all(const char *path, gzFile f, size_t max_bytes, size_t *len_out, struct err *e)
{
    AUTO_MEM char *text = NULL;
    size_t len = 0, cap = 0;

    for (;;) {
        if (cap - len < 2) {
            cap = cap ? cap * 2 : READ_FIRST_BYTES;
            char *more = realloc(text, cap);
            if (!more) {
                err_set(e, ERR_IO, "%s: out of memory at %zu bytes", path, cap);
                return NULL;
            }
            text = more;
        }
        size_t want = cap - len - 1;
        int n = gzread(f, text + len, want < INT32_MAX ? (unsigned)want : INT32_MAX);
        int code = Z_OK;
        if (n == 0)
            gzerror(f, &code); /* a cut file ends like a whole one, but for this code */
        if (n < 0 || code != Z_OK) {
            read_error(path, f, e);
            return NULL;
        }
        len += (size_t)n;
        if (len > max_bytes) {
            err_set(e, ERR_USAGE, "%s: larger than the limit of %zu bytes", path, max_bytes);
            return NULL;
        }
        if (n == 0)
            break;
    }
    text[len] = 0;
    *len_out = len;
    return TAKE(text);
}

char *gzip_read(const char *path, size_t max_bytes, size_t *len_out, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        err_set(e, ERR_USAGE, "%s: %s", path, strerror(errno));
        return NULL;
    }
    __attribute__((cleanup(close_gz))) gzFile f = gzdopen(fd, "rb");
    if (!f) {
        close(fd);
        err_set(e, ERR_IO, "%s: out of memory", path);
        return NULL;
    }
    gzbuffer(f, INFLATE_BYTES);
    return read_all(path, f, max_bytes, len_out, e);
}

/* ---- rows ---- */

#define FIELDS_MAX 256

/* The text is cut into fields in place: separators become NUL, quotes are squeezed out. */
struct csv {
    char *name;
    char *text;       /* len bytes and a NUL that ends the scan */
    bool borrowed;    /* text is the caller's */
    char *at, *limit; /* where the next row begins; text + len */
    size_t line;      /* of `at` */
    size_t row_line;
    struct csv_field fields[FIELDS_MAX];
};

static struct csv *csv_new(const char *name, char *text, size_t len)
{
    struct csv *c = mem_zero(1, sizeof *c);

    c->name = mem_dup(name);
    c->text = text;
    c->at = text;
    c->limit = text + len;
    c->line = 1;
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        c->at += 3;
    return c;
}

void csv_free(struct csv *c)
{
    if (!c)
        return;
    free(c->name);
    if (!c->borrowed)
        free(c->text);
    free(c);
}

struct csv *csv_from_memory(const char *name, const void *bytes, size_t len)
{
    char *text = mem_grow(NULL, len + 1, 1);

    if (len)
        memcpy(text, bytes, len);
    text[len] = 0;
    return csv_new(name, text, len);
}

struct csv *csv_in_place(const char *name, char *text, size_t len)
{
    struct csv *c = csv_new(name, text, len);

    c->borrowed = true;
    return c;
}

struct csv *csv_open(const char *path, size_t max_bytes, struct err *e)
{
    size_t len;
    char *text = gzip_read(path, max_bytes, &len, e);

    return text ? csv_new(path, text, len) : NULL;
}

/* Bytes at which an unquoted field may end. */
static const bool field_stop[256] = {['\0'] = true, ['\n'] = true, ['\r'] = true, [','] = true};

enum after_field { AFTER_COMMA, AFTER_LINE, AFTER_ERROR };

static enum after_field bad_row(struct csv *c, char *p, const char *what, struct err *e)
{
    char *newline = memchr(p, '\n', (size_t)(c->limit - p));

    err_set(e, ERR_USAGE, "%s:%zu: %s", c->name, c->line, what);
    c->at = newline ? newline + 1 : c->limit;
    c->line++;
    return AFTER_ERROR;
}

/* p stands behind the field; its text ends at `end`. Closes it and says what follows. */
static enum after_field end_field(struct csv *c, char *p, char *end, struct err *e)
{
    char stop = *p;

    if (stop == ',') {
        c->at = p + 1;
        *end = 0;
        return AFTER_COMMA;
    }
    if (stop == '\r' && (p[1] == '\n' || p + 1 == c->limit))
        p++;
    if (*p == '\n') {
        c->at = p + 1;
        c->line++;
    } else if (p == c->limit) {
        c->at = p;
    } else {
        return bad_row(c, p, *p ? "text after the closing quote" : "NUL byte", e);
    }
    *end = 0;
    return AFTER_LINE;
}

static enum after_field plain_field(struct csv *c, struct csv_field *f, struct err *e)
{
    char *p = c->at;

    f->text = p;
    for (;;) {
        while (!field_stop[(unsigned char)*p])
            p++;
        if (*p != '\r' || p[1] == '\n' || p + 1 == c->limit)
            break;
        p++; /* a CR inside a field is just a byte */
    }
    f->len = (size_t)(p - c->at);
    return end_field(c, p, p, e);
}

static enum after_field quoted_field(struct csv *c, struct csv_field *f, struct err *e)
{
    char *p = c->at + 1, *end = p;

    f->text = p;
    for (;; p++) {
        if (*p == '"' && *++p != '"')
            break;
        if (p == c->limit) {
            c->line = c->row_line;
            return bad_row(c, p, "unclosed quote", e);
        }
        if (*p == 0)
            return bad_row(c, p, "NUL byte", e);
        c->line += *p == '\n';
        *end++ = *p;
    }
    f->len = (size_t)(end - f->text);
    return end_field(c, p, end, e);
}

static bool skip_empty_lines(struct csv *c)
{
    for (;;) {
        if (*c->at == '\n')
            c->at++;
        else if (c->at[0] == '\r' && c->at[1] == '\n')
            c->at += 2;
        else
            return c->at < c->limit;
        c->line++;
    }
}

int csv_next(struct csv *c, const struct csv_field **fields_out, size_t *n_out, struct err *e)
{
    size_t n = 0;
    enum after_field after;

    if (!skip_empty_lines(c))
        return 0;
    c->row_line = c->line;
    do {
        if (n == FIELDS_MAX) {
            bad_row(c, c->at, "more than 256 fields", e);
            return -1;
        }
        struct csv_field *f = &c->fields[n++];
        after = *c->at == '"' ? quoted_field(c, f, e) : plain_field(c, f, e);
    } while (after == AFTER_COMMA);
    if (after == AFTER_ERROR)
        return -1;
    *fields_out = c->fields;
    *n_out = n;
    return 1;
}

size_t csv_line(const struct csv *c)
{
    return c->row_line;
}

const char *csv_name(const struct csv *c)
{
    return c->name;
}

void csv_rename(struct csv *c, const char *name)
{
    free(c->name);
    c->name = mem_dup(name);
}

int csv_header(struct csv *c, const char *const *names, size_t n_names, size_t *at, struct err *e)
{
    const struct csv_field *fields;
    size_t n;
    int got = csv_next(c, &fields, &n, e);

    if (got < 0)
        return -1;
    if (got == 0)
        return err_set(e, ERR_USAGE, "%s: empty file, no header line", c->name);
    for (size_t i = 0; i < n_names; i++) {
        at[i] = SIZE_MAX;
        for (size_t j = 0; j < n; j++) {
            if (strcmp(fields[j].text, names[i]) != 0)
                continue;
            if (at[i] != SIZE_MAX)
                return err_set(e, ERR_USAGE, "%s:%zu: column \"%s\" is listed twice", c->name,
                               c->row_line, names[i]);
            at[i] = j;
        }
    }
    return 0;
}

int csv_put(struct buf *b, const char *text, bool last_in_row)
{
    size_t len = strlen(text);
    const char *after = last_in_row ? "\n" : ",";

    if (!strpbrk(text, ",\"\r\n") && (!len || (text[0] != ' ' && text[len - 1] != ' '))) {
        buf_add(b, text, len);
        return buf_puts(b, after);
    }
    buf_puts(b, "\"");
    for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
        buf_add(b, text, (size_t)(quote - text));
        buf_puts(b, "\"\"");
    }
    buf_puts(b, text);
    buf_puts(b, "\"");
    return buf_puts(b, after);
}

int csv_put_number(struct buf *b, double value, bool last_in_row)
{
    char text[32] = "";

    if (isfinite(value))
        snprintf(text, sizeof text, "%.*g", number_digits(value), value);
    return csv_put(b, text, last_in_row);
}
