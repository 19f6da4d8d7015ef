/* Any words as a command template, a word a line: written again it is the same, every command of it
 * matches it and has its arguments, and it is its own union. */
#include "broker/learn/template.h"

#include "base/mem.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define WORDS 16
/* Commands that are looked at, of thousands. */
#define LOOKED_AT 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t cut(char *text, const char *words[static WORDS])
{
    size_t n = 0;

    for (char *at = text; at && n < WORDS; n++) {
        char *end = strchr(at, '\n');
        if (end)
            *end++ = 0;
        words[n] = at;
        at = end;
    }
    return n;
}

static struct template *again(const struct template *t)
{
    const char *words[WORDS];

    for (size_t i = 0; i < t->n; i++)
        words[i] = t->written[i];
    return template_new(words, t->n, NULL);
}

static void check_args(const struct template *t, char **command)
{
    size_t n = t->n_args, n_words = t->n;
    const struct template_arg *args = t->args;

    for (size_t i = 0; i < n; i++) {
        const char *value = template_value(&args[i], (const char *const *)command);
        assert(args[i].word < n_words && *args[i].key);
        assert(value >= command[args[i].word] &&
               value <= command[args[i].word] + strlen(command[args[i].word]));
    }
}

static void check_command(const struct template *t, size_t combination)
{
    char **command = template_command(t, combination);
    size_t n = 0;

    while (command[n])
        n++;
    assert(n == t->n);
    assert(template_matches(t, (const char *const *)command, n));
    check_args(t, command);
    template_words_free(command);
}

static void check_fill(const struct template *t)
{
    size_t n = t->n_args;
    const struct template_arg *args = t->args;

    for (size_t i = 0; i < n; i++) {
        const struct template_setting setting = {args[i].key, "20"};
        char **command = template_fill(t, &setting, 1, NULL);
        template_words_free(command);
    }
}

static void check_union(const struct template *t, const struct template *other)
{
    struct err e = {0};
    AUTO(template) struct template *both = template_union(t, other, &e);

    assert(template_same_shape(t, other));
    assert(both && template_same_shape(both, t));
    assert(both->combinations <= t->combinations);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *words[WORDS];
    AUTO_MEM char *text = mem_zero(size + 1, 1);
    struct err e = {0};

    memcpy(text, data, size);
    size_t n = cut(text, words);
    AUTO(template) struct template *t = template_new(words, n, &e);
    if (!t) {
        assert(e.kind == ERR_USAGE);
        return 0;
    }
    AUTO(template) struct template *copy = again(t);
    assert(copy && copy->combinations == t->combinations);
    AUTO_MEM char *shown = template_text(t), *shown_again = template_text(copy);
    assert(strcmp(shown, shown_again) == 0);
    size_t all = t->combinations, step = all / LOOKED_AT + 1;
    for (size_t i = 0; i < all; i += step)
        check_command(t, i);
    check_command(t, all - 1);
    check_fill(t);
    check_union(t, copy);
    (void)template_check_args(t, &e);
    return 0;
}
