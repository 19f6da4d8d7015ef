/* space: the parameters of a sweep and the values that they may have. Pure.
 *
 * A parameter is a list of values or a range:
 *     0.1,0.2            these texts               2..8               whole numbers, both ends
 *     0.1..0.9           any number between        log:1e-5..1e-1     the same, by its logarithm
 *     0.1..0.9/5         five of them, evenly spaced; log:... by the logarithm
 * In a grid a range of whole numbers is all of them, and a log range without a count its ends and
 * the powers of ten between them. In a command a parameter stands in braces anywhere within a word:
 * {lr=log:1e-5..1e-1}, or a plain list {a,b} as template.h has it, whose name is that of the
 * argument. Braces with anything else in them are ordinary text. */
#ifndef BROKER_LEARN_SPACE_H
#define BROKER_LEARN_SPACE_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPACE_TRIALS_MAX 10000
/* Of random search in a space that has ranges of any numbers. */
#define SPACE_TRIALS_DEFAULT 20
#define SPACE_PARAMS_MAX 100

enum space_kind { SPACE_LIST, SPACE_INTEGERS, SPACE_REALS };

struct space_param {
    const char *name; /* "" = a plain list that is no value of an argument */
    bool is_named;    /* in braces or by --param */
    enum space_kind kind;
    bool is_log;
    double low, high; /* of a range */
    size_t count;     /* of a range of any numbers: values in a grid; 0 = not said */
    const char **values;
    size_t n, cap; /* of a list */
};

struct space {
    struct arena *arena;
    struct space_param *params;
    size_t n, cap;
    struct space_word *words; /* of the command */
    size_t n_words;
};

/* The parameters in the words of a command. ERR_USAGE quotes what is wrong. */
struct space *space_of_command(const char *const *words, size_t n, struct err *e);
/* "LR=0.1,0.2" each. */
struct space *space_of_params(const char *const *texts, size_t n, struct err *e);
void space_free(struct space *s);
AUTO_DEFINE(space)

/* Trials: rows of s->n texts, each row once. */
struct space_trials {
    struct arena *arena;
    const char ***rows;
    size_t n;
};
void space_trials_clear(struct space_trials *t);
/* Every combination; the last parameter changes fastest. ERR_USAGE: there are more than
 * SPACE_TRIALS_MAX, or a range of any numbers has no count. */
int space_grid(const struct space *s, struct space_trials *out, struct err *e);
/* `wanted` different combinations at random; 0 = all where they can be counted, else
 * SPACE_TRIALS_DEFAULT. More of them begin with the same ones; fewer come where there are no more.
 */
int space_random(
    const struct space *s, size_t wanted, uint64_t seed, struct space_trials *out, struct err *e);

/* The command with the values of a row: s->n_words texts and NULL, freed by template_words_free. */
char **space_command(const struct space *s, const char *const *row);

#endif
