/* template: a command with lists in it, "train.py --epoch {1,2,5}", and the commands it stands for.
 * Pure.
 *
 * A list is `{`, two or more texts with commas between them, `}`, anywhere within a word: the word
 * "m-{a,b}.bin" stands for "m-a.bin" and "m-b.bin". Lists do not nest, and `{` without a comma and
 * a `}` behind it in the same word is an ordinary sign, as is one of JSON or of a program:
 * template_is_code. `{epoch=1,2,5}` is a list of three texts whose argument has this name. `\{`
 * is never the beginning of a list;
 * within a list `\,`, `\{` and `\}` are signs of the text. Every other backslash stays. */
#ifndef BROKER_LEARN_TEMPLATE_H
#define BROKER_LEARN_TEMPLATE_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define TEMPLATE_COMBINATIONS_MAX 10000
#define TEMPLATE_WORDS_MAX 1000

/* Whether the text between braces, from..end, is no list although it has commas: a value begins
 * with a quote, as in {"a": 1, "b": 2}, or blanks stand behind a comma and within a value, as in
 * {print 1, 2}. */
bool template_is_code(const char *from, const char *end);

/* An argument with a value, as lake/job_args.h names it: --epoch 5, --epoch=5, or a word alone. */
struct template_arg {
    char *key;     /* "epoch", "arg1"; the name in a list comes first */
    size_t word;   /* where the value stands ... */
    size_t offset; /* ... from this byte of the word on */
    bool listed;   /* there is a list in it */
    bool option;   /* else a word alone */
};

struct template
{
    struct arena *arena; /* of all of it */
    /* How words are written: template_new of all of them makes the same template. */
    const char **written;
    struct template_word *words;
    size_t n;
    size_t combinations;       /* number of commands */
    struct template_arg *args; /* in the order of words */
    size_t n_args, cap_args;
};

/* Bytes of the name that text begins with, before "="; 0 = none. */
size_t template_name_bytes(const char *text, size_t len);

/* ERR_USAGE: no word, more than TEMPLATE_WORDS_MAX, or more bytes than a job may have. */
int template_check_words(const char *const *words, size_t n, struct err *e);

/* ERR_USAGE: as template_check_words, or more than TEMPLATE_COMBINATIONS_MAX commands. */
struct template *template_new(const char *const *words, size_t n, struct err *e);
/* Of a profile without a command: no words, and no command matches. */
struct template *template_none(void);
void template_free(struct template *t);
AUTO_DEFINE(template)

/* All words as a shell takes them. New string. */
char *template_text(const struct template *t);

/* The words of one command; the last list changes fastest. t->n of them and NULL; freed
 * by template_words_free. */
char **template_command(const struct template *t, size_t combination);
void template_words_free(char **words);

/* By its key; NULL = there is none. */
const struct template_arg *template_find_arg(const struct template *t, const char *key);
/* ERR_USAGE when a list stands elsewhere than in the value of an argument: no number can be learned
 * about it. */
int template_check_args(const struct template *t, struct err *e);
/* The value of the argument in a command that the template matches; borrowed from the command. */
const char *template_value(const struct template_arg *arg, const char *const *command);

/* Whether the command could be one of the template with other values: in lists any, and of
 * options without a list too. */
bool template_matches(const struct template *t, const char *const *command, size_t n);

/* A command of the template with these values ("epoch", "20") instead of its first ones. ERR_USAGE
 * when a key is no argument of it. As template_command. */
struct template_setting {
    const char *key, *value;
};
char **template_fill(const struct template *t,
                     const struct template_setting *settings,
                     size_t n,
                     struct err *e);

/* Whether they are the same but for the texts in lists. */
bool template_same_shape(const struct template *a, const struct template *b);
/* The lists of both, each text once; same shape. ERR_USAGE past TEMPLATE_COMBINATIONS_MAX. */
struct template *template_union(const struct template *a, const struct template *b, struct err *e);

#endif
