/* operate: a command that is one operation: its arguments become the request, its answer becomes
 * text, JSON or CSV. */
#ifndef CLI_CORE_OPERATE_H
#define CLI_CORE_OPERATE_H

#include "app/core/operation.h"
#include "cli/core/command.h"
#include "view/writer.h"

/* What the printers of an answer know. */
struct operate_text {
    FILE *out;
    struct text_look look; /* of out */
    const struct command_args *args;
    size_t n_items; /* printed so far */
    bool more;      /* at the end: the limit left items out */
    struct arena *arena;
    void *state;      /* the printers' own: state_size bytes, zero at first; NULL = none */
    struct err error; /* set by a printer that fails: the command ends with it */
};

/* How people see an answer. Every member may be NULL: then the head is printed as a list of fields
 * and the items as a table, by their headings. */
struct command_text {
    /* Before the head is printed, with --json too: writes a chart to its file. */
    int (*save)(struct operate_text *t, const void *head, struct err *e);
    /* Before an item is printed, with --json too: whether it is not printed. */
    bool (*take)(struct operate_text *t, const void *item);
    void (*head)(struct operate_text *t, const void *record);
    void (*item)(struct operate_text *t, const void *record);
    /* After the last item, and after the table. */
    void (*end)(struct operate_text *t);
    /* Last of all, after errors too: frees what the state holds outside the arena. */
    void (*clear)(struct operate_text *t);
    size_t state_size;
    bool is_lines;     /* --json prints one object per line, as the command's other answers do */
    const char *empty; /* printed instead of a table without rows; NULL = nothing */
    /* The exit code, with --json too. */
    int (*exit_code)(const void *head);
};

/* For changes that are silent as chmod is: only --json and --csv print the answer. */
extern const struct command_text operate_silent;
/* For heads or items that people do not see. */
void operate_print_nothing(struct operate_text *t, const void *record);

/* Runs the operation of the command: the exit code, or -1. */
int operate_run(const struct command_args *args, struct err *e);
/* The same with another operation, whose request has the command's operands and options. */
int operate_with(const struct command_args *args,
                 const struct operation *op,
                 const struct command_text *text,
                 struct err *e);

/* ---- for commands that call several operations ---- */

/* The command's operands and options as a request of op; options that are no fields of it are left
 * out. New reference; NULL: e. */
json_t *operate_request(const struct command_args *args, const struct operation *op, struct err *e);

/* The terminal as front end: an app whose notices, progress and cancelling are the terminal's. The
 * caller is the user of this process and admin of the project `default`. */
struct operate_terminal;
struct operate_terminal *operate_terminal_new(bool is_long);
void operate_terminal_free(struct operate_terminal *d);
AUTO_DEFINE(operate_terminal)
struct app *operate_app(struct operate_terminal *d);
/* From now on an interrupt does not cancel operations: they call `interrupted` whenever they look
 * for one, and are cancelled when it says so. */
void operate_on_interrupt(struct operate_terminal *d, bool (*interrupted)(void *), void *context);
/* Takes the progress line away; before anything is printed. */
void operate_terminal_quiet(struct operate_terminal *d);

/* Calls op and prints its answer as --json, --csv or text tells: the exit code, or -1. */
int operate_call(const struct command_args *args,
                 struct operate_terminal *terminal,
                 const struct operation *op,
                 json_t *request,
                 const struct command_text *text, /* NULL = a table */
                 struct err *e);

/* The same with a state for the printers. */
int operate_call_with(const struct command_args *args,
                      struct operate_terminal *terminal,
                      const struct operation *op,
                      json_t *request,
                      const struct command_text *text,
                      void *state,
                      struct err *e);

/* Asks on the terminal: 1 = yes, 0 = no, -1 = standard input is no terminal, which is ERR_USAGE
 * with the text of no_terminal. */
int operate_confirm(const char *question, const char *no_terminal, struct err *e);

/* "Print set, version, ...": the help of --json. In a. */
const char *operate_json_help(const struct operation *op, struct arena *a);

#endif
