/* Any lines as the words of a sweep's command, or as its parameters: every trial has a value of
 * each parameter, no trial comes twice, and a command without parameters stays as it is. */
#include "base/mem.h"
#include "broker/learn/space.h"
#include "broker/learn/template.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32
/* To compare all of them with each other. */
#define COMPARED_MAX 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same_row(const struct space *s, const char *const *a, const char *const *b)
{
    for (size_t k = 0; k < s->n; k++)
        if (strcmp(a[k], b[k]) != 0)
            return false;
    return true;
}

static void check_trials(const struct space *s, const struct space_trials *t)
{
    assert(t->n <= SPACE_TRIALS_MAX);
    for (size_t i = 0; i < t->n && i < COMPARED_MAX; i++) {
        for (size_t k = 0; k < s->n; k++)
            assert(t->rows[i][k]);
        for (size_t j = 0; j < i; j++)
            assert(!same_row(s, t->rows[i], t->rows[j]));
    }
    if (t->n) {
        char **words = space_command(s, t->rows[0]);
        for (size_t i = 0; i < s->n_words; i++)
            assert(words[i]);
        template_words_free(words);
    }
}

static void check(const struct space *s)
{
    AUTO_CLEAR(space_trials) struct space_trials grid = {0}, few = {0}, more = {0};
    struct err e = {0};

    assert(s->n <= SPACE_PARAMS_MAX);
    if (space_grid(s, &grid, &e) == 0)
        check_trials(s, &grid);
    else
        assert(e.kind == ERR_USAGE && *e.text);
    if (space_random(s, 3, 7, &few, &e) < 0)
        return;
    assert(space_random(s, 5, 7, &more, &e) == 0);
    check_trials(s, &more);
    assert(few.n <= 3 && more.n <= 5 && few.n <= more.n);
    for (size_t i = 0; i < few.n; i++)
        assert(same_row(s, few.rows[i], more.rows[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_MEM char *text = mem_zero(size + 1, 1);
    const char *words[WORDS_MAX];
    size_t n = 0;
    char *at = text, *line;
    struct err e = {0};

    memcpy(text, data, size);
    while (n < WORDS_MAX && (line = strsep(&at, "\n")))
        words[n++] = line;
    AUTO(space) struct space *command = space_of_command(words, n, &e);
    assert(command || (e.kind == ERR_USAGE && *e.text));
    if (command)
        check(command);
    AUTO(space) struct space *params = space_of_params(words, n, &e);
    if (params)
        check(params);
    return 0;
}
