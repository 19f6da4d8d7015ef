#include "lake/core/path.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "lake/core/internal.h"

#include <ctype.h>
#include <string.h>

const char *path_shown(const char *text, char out[static PATH_SHOWN])
{
    size_t n = 0, len = strlen(text), at = 0;

    while (at < len && n + 8 < PATH_SHOWN) {
        uint32_t code;
        size_t width = utf8_decode(text + at, len - at, &code);
        if (width == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
            out[n++] = '?';
            at += width ? width : 1;
            continue;
        }
        memcpy(out + n, text + at, width);
        n += width;
        at += width;
    }
    memcpy(out + n, "...", 3);
    n += at < len ? 3 : 0;
    out[n] = 0;
    return out;
}

static int refuse(const char *path, const char *why, struct err *e)
{
    char shown[PATH_SHOWN];

    return err_set(e, ERR_USAGE, "path \"%s\" %s", path_shown(path, shown), why);
}

static bool is_clean(const char *text, size_t len)
{
    size_t line;

    return utf8_first_bad(text, len, &line) == len && strcspn(text, "\t\r\n") == len;
}

int lake_path_check(const char *path, struct err *e)
{
    size_t len = strlen(path);

    if (path[0] != '/')
        return refuse(path, "does not begin with '/'", e);
    if (len > LAKE_PATH_MAX)
        return refuse(path, "is longer than 4095 bytes", e);
    if (!is_clean(path, len))
        return refuse(path, "is not UTF-8 without control characters", e);
    if (path[len - 1] == '/')
        return refuse(path, "is a directory: a file's path does not end in '/'", e);
    for (const char *part = path + 1, *end; *part; part = *end ? end + 1 : end) {
        end = part + strcspn(part, "/");
        size_t n = (size_t)(end - part);
        if (n == 0)
            return refuse(path, "has an empty part (\"//\")", e);
        if ((n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return refuse(path, "has a part \".\" or \"..\"", e);
        if (n > LAKE_COMPONENT_MAX)
            return refuse(path, "has a part longer than 255 bytes", e);
    }
    return 0;
}

static bool is_name(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > LAKE_NAME_MAX || !isalnum((unsigned char)name[0]))
        return false;
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == len;
}

static int name_check(const char *what, const char *name, struct err *e)
{
    char shown[PATH_SHOWN];

    if (is_name(name))
        return 0;
    return err_set(
        e, ERR_USAGE,
        "\"%s\" is not a name for %s; give up to 128 letters, digits, '.', '_' and '-', the first "
        "a letter or digit",
        path_shown(name, shown), what);
}

int lake_path_check_set(const char *name, struct err *e)
{
    return name_check("a set", name, e);
}

int lake_path_check_alias(const char *name, struct err *e)
{
    if (*name && strspn(name, "0123456789") == strlen(name))
        return err_set(e, ERR_USAGE, "\"%.40s\" is a number: an alias needs a letter", name);
    return name_check("a version", name, e);
}

int path_project_check(const char *name, struct err *e)
{
    if (strlen(name) > PATH_PROJECT_MAX)
        return err_set(e, ERR_USAGE, "a project's name has at most %d characters, not as \"%.60s\"",
                       PATH_PROJECT_MAX, name);
    return name_check("a project", name, e);
}

int path_user_check(const char *what, const char *name, struct err *e)
{
    char shown[PATH_SHOWN];
    size_t len = strlen(name);

    if (len > 0 && len <= LAKE_NAME_MAX && is_clean(name, len) && strcspn(name, ":/") == len)
        return 0;
    return err_set(e, ERR_USAGE,
                   "\"%s\" is not a name for %s; give up to 128 bytes of text without ':' and '/'",
                   path_shown(name, shown), what);
}

/* The character an escape at text stands for, 0 when there is none. */
static char escaped(const char *text)
{
    static const struct {
        char digits[3];
        char meaning;
    } escapes[] = {{"23", '#'}, {"3a", ':'}, {"40", '@'}, {"25", '%'}};

    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (text[0] == '%' && text[1] == escapes[i].digits[0] &&
            tolower((unsigned char)text[2]) == escapes[i].digits[1])
            return escapes[i].meaning;
    return 0;
}

char *lake_path_unescape(const char *text)
{
    char *out = mem_dup(text);
    size_t n = 0;

    while (*text) {
        char meaning = escaped(text);
        out[n++] = meaning ? meaning : *text;
        text += meaning ? 3 : 1;
    }
    out[n] = 0;
    return out;
}

static bool needs_escape(const char *at)
{
    if (*at == '%')
        return isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2]);
    return *at == '#' || *at == ':' || *at == '@';
}

char *lake_path_escape(const char *path)
{
    static const char digits[] = "0123456789ABCDEF";
    char *out = mem_zero(3 * strlen(path) + 1, 1);
    size_t n = 0;

    for (; *path; path++) {
        if (!needs_escape(path)) {
            out[n++] = *path;
            continue;
        }
        out[n++] = '%';
        out[n++] = digits[(unsigned char)*path >> 4];
        out[n++] = digits[(unsigned char)*path & 15];
    }
    return out;
}

size_t path_shared(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

char *path_after(const char *directory)
{
    char *out = mem_dup(directory);
    size_t len = strlen(out);

    /* '0' follows '/' in ASCII: everything below "dir/" sorts before "dir0". */
    out[len - 1] = '0';
    return out;
}
