/* child: child processes with bounded output, bounded time and default signals, and the words of
 * their command lines. */
#ifndef EXEC_CHILD_H
#define EXEC_CHILD_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid;  /* 0 once it was waited for */
    int out_fd; /* does not block; -1 = not ours */
    int err_fd; /* does not block */
};

/* Starts argv[0] (looked for in PATH) in a process group of its own, so that Ctrl-C at our terminal
 * does not end it. in_fd < 0: nothing to read. out_fd < 0: a pipe to us; else there. */
int child_start(struct child *c, char *const *argv, int in_fd, int out_fd, struct err *e);
/* Adds what it said on stderr so far; what is too much is dropped. */
void child_hear(const struct child *c, struct buf *said);
/* Whether it has ended; child_wait returns at once then. */
bool child_over(const struct child *c);
/* Waits for its end, for so long; then it is killed. Returns its exit code, 128 + signal. */
int child_wait(struct child *c, double seconds);
/* Kills it if it lives, and closes everything. */
void child_clear(struct child *c);

/* All of the above at once. out gets stdout (NULL: dropped), said stderr; ERR_RETRY when it takes
 * longer than this number of seconds. */
int child_run(char *const *argv,
              int in_fd,
              double seconds,
              struct buf *out,
              struct buf *said,
              int *code_out,
              struct err *e);

/* A list of words that grows and ends with NULL; each is copied. */
struct words {
    char **list;
    size_t n, cap;
};
void words_add(struct words *w, const char *word);
/* words ends with NULL. */
void words_add_all(struct words *w, const char *const *words);
void words_clear(struct words *w);

/* Adds word as one word of a command for a shell on another machine. */
void quote_word(struct buf *b, const char *word);
/* Adds a path: "~" and "~/..." stand for the home directory there; a path that begins with '-' is
 * no option. */
void quote_path(struct buf *b, const char *path);

#endif
