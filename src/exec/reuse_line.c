#include "exec/reuse_line.h"

#include "base/cachedir.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void reuse_line_write(const struct reuse_line *l, FILE *out)
{
    fprintf(out, "%s %" PRIu64 " %o %" PRId64 " %s\n", l->name, l->size, (unsigned)l->mode,
            l->mtime_s, l->path);
}

/* A relative path that leads nowhere else. */
static bool stays_below(const char *path)
{
    for (const char *at = path; *at;) {
        size_t n = strcspn(at, "/");
        if (!n || (n == 1 && *at == '.') || (n == 2 && !memcmp(at, "..", 2)))
            return false;
        at += n;
        if (*at == '/' && !*++at)
            return false;
    }
    return *path;
}

/* A number and the space behind it. */
static bool take_number(const char **at, int base, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(*at, &end, base);
    if (**at < '0' || **at > '9' || *end != ' ' || errno || *out > INT64_MAX)
        return false;
    *at = end + 1;
    return true;
}

bool reuse_line_parse(char *line, struct reuse_line *out)
{
    const char *at = line + DIGEST_TEXT;
    size_t n = strlen(line);

    if (n <= DIGEST_TEXT || line[n - 1] != '\n' || line[DIGEST_TEXT - 1] != ' ')
        return false;
    line[n - 1] = line[DIGEST_TEXT - 1] = 0;
    memcpy(out->name, line, DIGEST_TEXT);
    uint64_t mode, mtime_s;
    if (!take_number(&at, 10, &out->size) || !take_number(&at, 8, &mode) ||
        !take_number(&at, 10, &mtime_s))
        return false;
    out->mode = (mode_t)mode & 07777;
    out->mtime_s = (int64_t)mtime_s;
    out->path = at;
    return cachedir_good_name(out->name) && stays_below(out->path);
}
