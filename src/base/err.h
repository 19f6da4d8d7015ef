/* err: a failure on its way from the function where it happens to the one function that prints it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/* The kind decides what the program does next and its exit code; the text is for people. */
enum err_kind {
    ERR_NONE = 0,
    ERR_USAGE,    /* exit 2: the command, file or value must be changed by the user */
    ERR_NOTFOUND, /* exit 3: what was named does not exist */
    ERR_DENIED,   /* exit 4: credentials or permissions are missing */
    ERR_NOFIT,    /* exit 5: nothing that exists satisfies what was asked (quota, no plan) */
    ERR_RETRY,    /* exit 6: a transient error; the same call may work later */
    ERR_IO,       /* exit 7: disk, network or database */
    ERR_CHANGED,  /* exit 6, as ERR_RETRY: a file changed while it was read */
};

struct err {
    enum err_kind kind;
    char text[400]; /* a cut text ends in "..." */
};

/* Both return -1, so that a failing function ends in `return err_set(...)`; e may be NULL.
 * err_wrap puts what the caller was trying to do, and ": ", in front of the text. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int err_exit_code(enum err_kind kind);

#endif
