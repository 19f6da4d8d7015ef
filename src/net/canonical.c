#include "net/canonical.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* isalnum without the locale. */
static bool is_unreserved(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

static void put_encoded(struct buf *out, char c)
{
    static const char digits[] = "0123456789ABCDEF";
    unsigned char byte = (unsigned char)c;

    if (is_unreserved(c))
        buf_add(out, &c, 1);
    else
        buf_add(out, (char[]){'%', digits[byte >> 4], digits[byte & 15]}, 3);
}

char *sigv4_encode(const char *text, bool keep_slash)
{
    struct buf out;

    buf_init(&out, 3 * strlen(text));
    buf_puts(&out, "");
    for (; *text; text++) {
        if (keep_slash && *text == '/')
            buf_add(&out, text, 1);
        else
            put_encoded(&out, *text);
    }
    return out.data;
}

char *sigv4_decode(const char *text)
{
    char *copy = mem_dup(text), *to = copy;

    for (const char *c = copy; *c; c++, to++) {
        int high = *c == '%' ? number_hex(c[1]) : -1, low = high >= 0 ? number_hex(c[2]) : -1;
        *to = low >= 0 ? (char)(high << 4 | low) : *c == '+' ? ' ' : *c;
        c += low >= 0 ? 2 : 0;
    }
    *to = '\0';
    return copy;
}

/* New string: "/a/./b//../c" is "/a/c"; a slash at the end stays. */
static char *resolve_dots(const char *path)
{
    size_t len = strlen(path), n = 0;
    char *out = mem_zero(len + 3, 1);

    for (const char *p = path; *p;) {
        size_t k = strcspn(p, "/");
        if (k == 2 && p[0] == '.' && p[1] == '.') {
            while (n > 0 && out[--n] != '/')
                ;
        } else if (k > 0 && !(k == 1 && *p == '.')) {
            out[n++] = '/';
            memcpy(out + n, p, k);
            n += k;
        }
        p += k;
        p += *p == '/';
    }
    if (n == 0 || path[len - 1] == '/')
        out[n++] = '/';
    out[n] = '\0';
    return out;
}

void canonical_path(struct buf *out, const char *path, bool as_it_is, bool keep)
{
    if (!*path)
        path = "/";
    if (as_it_is) {
        buf_puts(out, path);
        return;
    }
    AUTO_MEM char *resolved = keep ? mem_dup(path) : resolve_dots(path);
    AUTO_MEM char *encoded = sigv4_encode(resolved, true);
    buf_puts(out, encoded);
}

/* New string: encoded as we encode, whatever was encoded before and how. Byte by byte, so that %00
 * is nothing special. */
static char *encoded_anew(const char *text, size_t n)
{
    struct buf out;

    buf_init(&out, 3 * n);
    buf_puts(&out, "");
    for (size_t i = 0; i < n; i++) {
        int high = i + 2 < n && text[i] == '%' ? number_hex(text[i + 1]) : -1;
        int low = high >= 0 ? number_hex(text[i + 2]) : -1;
        if (low < 0) {
            put_encoded(&out, text[i]);
            continue;
        }
        put_encoded(&out, (char)(high << 4 | low));
        i += 2;
    }
    return out.data;
}

struct parameter {
    char *name, *value;
};

static int compare_parameters(const void *left, const void *right)
{
    const struct parameter *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    return order ? order : strcmp(a->value, b->value);
}

void canonical_query(struct buf *out, const char *query)
{
    AUTO_MEM struct parameter *all = NULL;
    size_t n = 0, cap = 0;

    for (const char *p = query ? query : ""; *p;) {
        size_t len = strcspn(p, "&");
        if (len) {
            const char *equals = memchr(p, '=', len);
            size_t name_len = equals ? (size_t)(equals - p) : len;
            all = mem_room(all, n, &cap, sizeof *all);
            all[n].name = encoded_anew(p, name_len);
            all[n++].value =
                equals ? encoded_anew(equals + 1, len - name_len - 1) : encoded_anew("", 0);
        }
        p += len;
        p += *p == '&';
    }
    if (n)
        qsort(all, n, sizeof *all, compare_parameters);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s%s=%s", i ? "&" : "", all[i].name, all[i].value);
        free(all[i].name);
        free(all[i].value);
    }
}

struct header {
    char *name; /* lower case */
    const char *value;
    size_t at; /* qsort is not stable */
};

static int compare_headers(const void *left, const void *right)
{
    const struct header *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    return order ? order : (a->at > b->at) - (a->at < b->at);
}

static void put_value(struct buf *out, const char *value)
{
    bool begun = false;

    for (const char *p = value; *p;) {
        while (isspace((unsigned char)*p))
            p++;
        const char *word = p;
        while (*p && !isspace((unsigned char)*p))
            p++;
        if (p == word)
            return;
        if (begun)
            buf_add(out, " ", 1);
        buf_add(out, word, (size_t)(p - word));
        begun = true;
    }
}

void canonical_headers(struct buf *out,
                       struct buf *names_out,
                       const struct sigv4_pair *headers,
                       size_t n)
{
    AUTO_MEM struct header *all = mem_zero(n, sizeof *all);

    for (size_t i = 0; i < n; i++) {
        all[i] = (struct header){mem_dup(headers[i].name), headers[i].value, i};
        for (char *c = all[i].name; *c; c++)
            *c = (char)tolower((unsigned char)*c);
    }
    qsort(all, n, sizeof *all, compare_headers);
    for (size_t i = 0; i < n; i++) {
        bool repeated = i > 0 && strcmp(all[i].name, all[i - 1].name) == 0;
        if (repeated)
            buf_puts(out, ",");
        else
            buf_printf(out, "%s%s:", i ? "\n" : "", all[i].name);
        put_value(out, all[i].value);
        if (!repeated)
            buf_printf(names_out, "%s%s", i ? ";" : "", all[i].name);
    }
    buf_puts(out, "\n");
    for (size_t i = 0; i < n; i++)
        free(all[i].name);
}
