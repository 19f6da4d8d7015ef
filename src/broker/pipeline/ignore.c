#include "broker/pipeline/ignore.h"

#include "base/arena.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

enum token_kind {
    TOKEN_LITERAL,    /* this byte */
    TOKEN_ANY,        /* ?: one byte, no '/' */
    TOKEN_SET,        /* [...]: one byte of the set, no '/' */
    TOKEN_STAR,       /* *: any bytes, no '/' */
    TOKEN_DEEP,       /* **: any bytes */
    TOKEN_DEEP_SLASH, /* **, '/': any directories, or none */
    TOKEN_NEVER,      /* a mistake in the pattern: matches nothing */
};

struct byte_set {
    unsigned char has[UCHAR_MAX + 1];
};

struct token {
    enum token_kind kind;
    unsigned char byte;
    const struct byte_set *set;
};

struct ignore_pattern {
    const struct token *tokens;
    size_t n;
    bool negative;       /* !: what matches is taken after all */
    bool directory_only; /* ends with '/' */
    bool name_only;      /* without '/': for names at any depth */
};

/* ---- patterns ---- */

/* A pattern while it is read. */
struct reader {
    struct arena *arena;
    const unsigned char *p, *end;
};

static unsigned char peek(const struct reader *r, size_t ahead)
{
    return (size_t)(r->end - r->p) > ahead ? r->p[ahead] : 0;
}

static const struct {
    const char *name;
    int (*has)(int c);
} classes[] = {{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
               {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
               {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit}};

/* "[:name:]" of bytes below 128, as git's own tables have it; false: there is no such class. */
static bool add_class(struct byte_set *set, const unsigned char *name, size_t len)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strlen(classes[i].name) != len || memcmp(classes[i].name, name, len) != 0)
            continue;
        for (int c = 0; c < 128; c++)
            set->has[c] |= classes[i].has(c) != 0;
        return true;
    }
    return false;
}

/* At "[:": 1: a class was read, and p is at its "]"; 0: there is none, '[' is itself; -1: a
 * mistake. */
static int read_class(struct reader *r, struct byte_set *set)
{
    const unsigned char *name = r->p + 2, *close = name;

    while (close < r->end && *close != ']')
        close++;
    if (close >= r->end)
        return -1;
    if (close == name || close[-1] != ':')
        return 0;
    if (!add_class(set, name, (size_t)(close - 1 - name)))
        return -1;
    r->p = close;
    return 1;
}

/* One member of a set: p is at its first byte, and at its last byte afterwards. previous: the byte
 * before it, 0 where no range can begin. Returns the next previous, -1 for a mistake. */
static int read_member(struct reader *r, struct byte_set *set, int previous)
{
    int c = peek(r, 0);

    if (c == '-' && previous && peek(r, 1) && peek(r, 1) != ']') {
        c = *++r->p;
        if (c == '\\') {
            r->p++;
            c = peek(r, 0);
        }
        for (int i = previous; c && i <= c; i++)
            set->has[i] = 1;
        return c ? 0 : -1;
    }
    if (c == '[' && peek(r, 1) == ':') {
        int found = read_class(r, set);
        if (found)
            return found < 0 ? -1 : 0;
    }
    if (c == '\\') {
        r->p++;
        c = peek(r, 0);
    }
    set->has[c] = 1;
    return c ? c : -1;
}

/* From '[' to after ']'. */
static struct token read_set(struct reader *r)
{
    struct byte_set *set = arena_zero(r->arena, 1, sizeof *set);
    int previous = 0;

    r->p++;
    bool negated = peek(r, 0) == '!' || peek(r, 0) == '^';
    r->p += negated;
    do {
        previous = r->p < r->end ? read_member(r, set, previous) : -1;
        if (previous < 0)
            return (struct token){.kind = TOKEN_NEVER};
        r->p++;
    } while (peek(r, 0) != ']');
    r->p++;
    for (size_t i = 0; i <= UCHAR_MAX; i++)
        set->has[i] ^= negated;
    set->has['/'] = 0;
    return (struct token){.kind = TOKEN_SET, .set = set};
}

/* Asterisks. bounded: nothing, or a '/', is before them. */
static struct token read_stars(struct reader *r, bool bounded)
{
    size_t n = 0;

    while (peek(r, 0) == '*') {
        r->p++;
        n++;
    }
    bool slash = peek(r, 0) == '/';
    if (n < 2 || !bounded ||
        !(r->p == r->end || slash || (peek(r, 0) == '\\' && peek(r, 1) == '/')))
        return (struct token){.kind = TOKEN_STAR};
    r->p += slash;
    return (struct token){.kind = slash ? TOKEN_DEEP_SLASH : TOKEN_DEEP};
}

static struct token read_token(struct reader *r, bool bounded)
{
    switch (*r->p) {
    case '*':
        return read_stars(r, bounded);
    case '?':
        r->p++;
        return (struct token){.kind = TOKEN_ANY};
    case '[':
        return read_set(r);
    case '\\':
        if (++r->p == r->end)
            return (struct token){.kind = TOKEN_NEVER};
        break;
    default:
        break;
    }
    return (struct token){.kind = TOKEN_LITERAL, .byte = *r->p++};
}

static void read_tokens(struct reader *r, struct ignore_pattern *out)
{
    struct token *tokens = arena_zero(r->arena, (size_t)(r->end - r->p) + 1, sizeof *tokens);
    const unsigned char *begin = r->p, *special = begin;

    /* git compares what is before the first special byte apart; for asterisks, the pattern begins
     * after it. */
    while (special < r->end && !strchr("*?[\\", *special))
        special++;
    while (r->p < r->end) {
        bool bounded = r->p == begin || r->p == special || r->p[-1] == '/';
        tokens[out->n++] = read_token(r, bounded);
    }
    out->tokens = tokens;
}

/* Blanks at the end do not count, unless one is behind a backslash. */
static size_t without_blanks(const char *line, size_t len)
{
    size_t kept = 0;

    for (size_t i = 0; i < len; i++) {
        if (line[i] == '\\') {
            if (++i == len)
                return len;
            kept = i + 1;
        } else if (line[i] != ' ') {
            kept = i + 1;
        }
    }
    return kept;
}

static void read_pattern(struct arena *arena,
                         const char *line,
                         size_t len,
                         struct ignore_pattern *out)
{
    *out = (struct ignore_pattern){0};
    if (len && *line == '!') {
        out->negative = true;
        line++;
        len--;
    }
    if (len && line[len - 1] == '/') {
        out->directory_only = true;
        len--;
    }
    out->name_only = !memchr(line, '/', len);
    if (len && *line == '/') {
        line++;
        len--;
    }
    struct reader r = {arena, (const unsigned char *)line, (const unsigned char *)line + len};
    read_tokens(&r, out);
}

const struct ignore_rules *ignore_parse(struct arena *arena,
                                        const struct ignore_rules *above,
                                        size_t base,
                                        const char *text,
                                        size_t len)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct ignore_rules *rules = arena_zero(arena, 1, sizeof *rules);
    struct ignore_pattern *patterns = NULL;
    size_t cap = 0;

    *rules = (struct ignore_rules){.above = above, .base = base};
    if (len >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        len -= 3;
    }
    for (const char *end = text + len, *next; text < end; text = next) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        next = stop ? stop + 1 : end;
        size_t n = (size_t)((stop ? stop : end) - text);
        const char *nul = memchr(text, 0, n);
        if (n && text[0] == '#')
            continue;
        if (nul)
            n = (size_t)(nul - text);
        else if (n && text[n - 1] == '\r')
            n--;
        n = without_blanks(text, n);
        /* A longer one matches no path, except by long sets. */
        if (!n || n > PATH_MAX)
            continue;
        patterns = arena_room(arena, patterns, rules->n, &cap, sizeof *patterns);
        read_pattern(arena, text, n, &patterns[rules->n++]);
    }
    rules->patterns = patterns;
    return rules;
}

/* ---- matching ---- */

/* Whether one byte fits a token that stands for one. */
static bool fits(const struct token *t, unsigned char c)
{
    switch (t->kind) {
    case TOKEN_LITERAL:
        return t->byte == c;
    case TOKEN_ANY:
        return c != '/';
    case TOKEN_SET:
        return t->set->has[c];
    case TOKEN_STAR:
    case TOKEN_DEEP:
    case TOKEN_DEEP_SLASH:
    case TOKEN_NEVER:
        break;
    }
    return false;
}

/* reach[i]: the tokens so far match the first i bytes. One more token; false when no i is left. */
static bool advance(const struct token *t, const unsigned char *text, size_t n, bool *reach)
{
    bool any = false, before = false, here;

    for (size_t i = 0; i <= n; i++) {
        bool was = reach[i];
        switch (t->kind) {
        case TOKEN_STAR:
            here = was || (before && text[i - 1] != '/');
            before = here;
            break;
        case TOKEN_DEEP:
            here = was || before;
            before = here;
            break;
        case TOKEN_DEEP_SLASH:
            here = was || (before && text[i - 1] == '/');
            before = before || was;
            break;
        case TOKEN_LITERAL:
        case TOKEN_ANY:
        case TOKEN_SET:
        case TOKEN_NEVER:
        default:
            here = before && fits(t, text[i - 1]);
            before = was;
            break;
        }
        reach[i] = here;
        any = any || here;
    }
    return any;
}

/* Literals at both ends, which most patterns are, are compared first. */
static bool glob(const struct ignore_pattern *p, const unsigned char *text, size_t n)
{
    const struct token *t = p->tokens, *end = t + p->n;
    bool reach[PATH_MAX + 1];

    for (; t < end && t->kind == TOKEN_LITERAL; t++, text++, n--)
        if (!n || *text != t->byte)
            return false;
    for (; t < end && end[-1].kind == TOKEN_LITERAL; end--, n--)
        if (!n || text[n - 1] != end[-1].byte)
            return false;
    if (t == end || n > PATH_MAX)
        return n == 0;
    memset(reach, 0, n + 1);
    reach[0] = true;
    for (; t < end; t++)
        if (!advance(t, text, n, reach))
            return false;
    return reach[n];
}

bool ignore_matches(const struct ignore_rules *rules, const char *path, bool is_directory)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t path_len = strlen(path), name_len = path_len - (size_t)(name - path);

    for (; rules; rules = rules->above) {
        for (size_t i = rules->n; i-- > 0;) {
            const struct ignore_pattern *p = &rules->patterns[i];
            const char *text = p->name_only ? name : path + rules->base;
            size_t n = p->name_only ? name_len : path_len - rules->base;
            if (p->directory_only && !is_directory)
                continue;
            if (p->n && glob(p, (const unsigned char *)text, n))
                return !p->negative;
        }
    }
    return false;
}
