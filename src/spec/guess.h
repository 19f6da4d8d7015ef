/* guess: values that a file left open and a plan assumed, listed for the user. */
#ifndef SPEC_GUESS_H
#define SPEC_GUESS_H

#include <stddef.h>
#include <stdint.h>

struct arena;

struct guess {
    const char *what;  /* "train: run time" */
    const char *value; /* "1 h" */
    const char *why;   /* "no estimate given" */
    uint64_t hash;     /* of what, to tell at a glance which are new */
};

struct guess_list {
    struct arena *arena; /* where texts and items live; set by the owner, never NULL */
    struct guess *items;
    size_t n, cap;
};

/* Copies the texts; a guess that stands in the list already (same three texts) is not added
 * again. Silently stops adding once the arena is full: guesses are information, not results. */
void guess_add(struct guess_list *list, const char *what, const char *value, const char *why);

#endif
