/* Metadata from lines of text, for many items at once. `tag --from` calls it. */
#include "base/mem.h"
#include "lake/core/internal.h"
#include "lake/meta/internal.h"
#include "lake/meta/meta.h"

#include <stdlib.h>
#include <string.h>

/* Most pairs on one line, behind the reference. */
#define WORDS_MAX 1024

struct words {
    const char *word[WORDS_MAX];
    size_t n;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Moves the quoted text at *from to *to without its quotes. */
static int take_quoted(char **from, char **to, struct err *e)
{
    char *p = *from, quote = *p++;

    for (; *p; p++) {
        if (*p == quote) {
            if (p[1] != quote)
                break;
            p++;
        }
        *(*to)++ = *p;
    }
    if (!*p)
        return err_set(e, ERR_USAGE, "a quote has no end");
    *from = p + 1;
    if (**from && !is_blank(**from))
        return err_set(e, ERR_USAGE, "a blank is missing after a closing quote");
    return 0;
}

/* A quote counts at the begin of a word and right after its first '='; o'neil needs none. */
static int take_word(char **from, char **to, struct err *e)
{
    bool may_quote = true, key = true;

    while (**from && !is_blank(**from)) {
        if (may_quote && (**from == '"' || **from == '\'')) {
            if (take_quoted(from, to, e) < 0)
                return -1;
            break;
        }
        may_quote = key && **from == '=';
        key &= **from != '=';
        *(*to)++ = *(*from)++;
    }
    return 0;
}

/* Splits the line where it stands; the words are in it. */
static int split(char *line, struct words *out, struct err *e)
{
    char *from = line, *to = line;

    out->n = 0;
    for (;;) {
        while (is_blank(*from))
            from++;
        if (!*from)
            return 0;
        if (out->n == WORDS_MAX)
            return err_set(e, ERR_USAGE, "more than %d words", WORDS_MAX);
        out->word[out->n++] = to;
        if (take_word(&from, &to, e) < 0)
            return -1;
        /* The blank that ends a word makes room for its end. */
        from += *from != 0;
        *to++ = 0;
    }
}

static int tag_words(struct lake *l, const struct words *words, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    if (words->n < 2)
        return err_set(e, ERR_USAGE, "write REF key=value ...");
    if (lake_resolve(l, words->word[0], LAKE_WRITE, &ref, e) < 0)
        return -1;
    return meta_tag_ref(l, &ref, words->word + 1, words->n - 1, e);
}

static int tag_all(struct lake *l,
                   const char *(*next_line)(void *context),
                   void *context,
                   uint64_t *tagged_out,
                   struct err *e)
{
    AUTO_MEM struct words *words = mem_zero(1, sizeof *words);
    const char *line;

    *tagged_out = 0;
    for (uint64_t number = 1; (line = next_line(context)); number++) {
        AUTO_MEM char *copy = mem_dup(line);
        int done = split(copy, words, e);
        if (done == 0 && (words->n == 0 || words->word[0][0] == '#'))
            continue;
        if (done < 0 || tag_words(l, words, e) < 0)
            return err_wrap(e, "line %llu", (unsigned long long)number);
        ++*tagged_out;
    }
    return 0;
}

int lake_tag_lines(struct lake *l,
                   const char *(*next_line)(void *context),
                   void *context,
                   uint64_t *tagged_out,
                   struct err *e)
{
    if (db_begin(l->db, e) < 0)
        return -1;
    return db_end(l->db, tag_all(l, next_line, context, tagged_out, e), e);
}
