#include "lake/find/find_pattern.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The library copies what is repeated, once for every time, and copies of copies for nested
 * repeats: (((a{99}){99}){99}) would take all memory. This number of pieces is plenty. */
#define PIECES_MAX 2000
#define REPEAT_WEIGHT 4

/* Past the bracket expression that begins at p: ']' right after the begin is no end. */
static const char *skip_bracket(const char *p)
{
    p++;
    p += *p == '^';
    p += *p == ']';
    while (*p && *p != ']') {
        char inner = p[0] == '[' && p[1] && strchr(":.=", p[1]) ? p[1] : 0;
        p++;
        if (!inner)
            continue;
        while (*p && !(p[0] == inner && p[1] == ']' && p[-1] != '['))
            p++;
        p += *p ? 2 : 0;
    }
    return p + (*p == ']');
}

static unsigned read_count(const char **p)
{
    unsigned n = 0;

    for (; **p >= '0' && **p <= '9'; (*p)++)
        if (n <= PIECES_MAX)
            n = n * 10 + (unsigned)(**p - '0');
    return n;
}

/* What the repeat at *p multiplies the pieces before it by, which moves past it; 0 = there is no
 * repeat. '*' and '?' copy nothing, but a repeat of a repeat takes the library more time with each:
 * five on one another are enough. */
static unsigned repeat(const char **p)
{
    if (**p == '*' || **p == '?' || **p == '+')
        return (*p)++, REPEAT_WEIGHT;
    if (**p != '{')
        return 0;
    const char *q = *p + 1;
    unsigned least = read_count(&q), most = least;
    if (*q == ',') {
        q++;
        most = *q == '}' ? least + 1 : read_count(&q);
    }
    if (*q != '}')
        return 0; /* no repeat, or no regular expression: the library will tell */
    *p = q + 1;
    most = most > least ? most : least;
    return most > REPEAT_WEIGHT ? most : REPEAT_WEIGHT;
}

/* Pieces the pattern has once its repeats are written out; more than PIECES_MAX = too many. */
static unsigned long count_pieces(const char *pattern)
{
    struct {
        unsigned long done, last;
    } group[FIND_PATTERN_MAX + 1] = {{0}};
    size_t depth = 0;

    for (const char *p = pattern; *p;) {
        unsigned times = repeat(&p);
        if (times) {
            group[depth].last *= times;
            if (group[depth].last > PIECES_MAX)
                return PIECES_MAX + 1;
            continue;
        }
        group[depth].done += group[depth].last;
        group[depth].last = 1;
        if (*p == '(') {
            group[depth++].last = 0;
            memset(&group[depth], 0, sizeof group[depth]);
        } else if (*p == ')' && depth > 0) {
            unsigned long inner = group[depth].done; /* ')' itself counted as its last */
            group[--depth].last = inner + 1;
        }
        p = *p == '[' ? skip_bracket(p) : p + 1 + (*p == '\\' && p[1]);
    }
    unsigned long pieces = 0;
    for (size_t i = 0; i <= depth; i++)
        pieces += group[i].done + group[i].last;
    return pieces;
}

static bool refers_back(const char *pattern)
{
    for (const char *p = pattern; *p;) {
        if (*p == '\\' && p[1] >= '1' && p[1] <= '9')
            return true;
        p = *p == '[' ? skip_bracket(p) : p + 1 + (*p == '\\' && p[1]);
    }
    return false;
}

int find_pattern_compile(const char *pattern, regex_t *out, struct err *e)
{
    if (strlen(pattern) > FIND_PATTERN_MAX)
        return err_set(e, ERR_USAGE, "the regular expression is longer than %d bytes",
                       FIND_PATTERN_MAX);
    if (refers_back(pattern))
        return err_set(e, ERR_USAGE, "\\1 to \\9 are not supported in regular expressions");
    if (count_pieces(pattern) > PIECES_MAX)
        return err_set(e, ERR_USAGE, "the regular expression repeats too much");
    int code = regcomp(out, pattern, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char why[100];
        regerror(code, out, why, sizeof why);
        return err_set(e, ERR_USAGE, "not a regular expression: %s", why);
    }
    return 0;
}

const char *find_pattern_prefix(const char *pattern, char out[static FIND_PATTERN_MAX + 1])
{
    size_t n = 0;

    out[0] = 0;
    if (pattern[0] != '^' || strchr(pattern, '|'))
        return out;
    n = strcspn(pattern + 1, ".[]()*+?{}\\^$");
    /* What follows may make the last character optional, or repeat it. */
    if (n > 0 && pattern[1 + n] && strchr("*?{+", pattern[1 + n]))
        n--;
    /* An ASCII character at the end lets callers name the first text past all that begin so. */
    while (n > 0 && (unsigned char)pattern[n] >= 0x7f)
        n--;
    memcpy(out, pattern + 1, n);
    out[n] = 0;
    return out;
}
