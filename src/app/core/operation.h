/* operation: everything that can be asked of Tradewind, one entry each. The front ends (command
 * line, HTTP, MCP) know this struct and no single operation.
 *
 * An operation decodes its request from JSON, does its work without argv, stdout or FILE, and hands
 * its answer to a sink: one record (the head), a stream of records (the items), or both. */
#ifndef APP_CORE_OPERATION_H
#define APP_CORE_OPERATION_H

#include "app/core/app.h"
#include "base/arena.h"
#include "base/json.h"
#include "view/record.h"

enum operation_effect { OPERATION_READS, OPERATION_WRITES };

/* Where the answer goes: the head once, before the items or after them. Records are read during the
 * call only. */
struct answer {
    struct arena *arena; /* for the answer's parts; lives as long as the call of the operation */
    int (*head)(void *context, const void *record, struct err *e);
    int (*item)(void *context, const void *record, struct err *e);
    void *context;
    /* Set by operation_call: who asks, and how errors spell the fields of the request. */
    const struct app *app;
    const struct record *request;
    enum field_spelling spelling;
    bool more;       /* set by the operation: its limit left items out */
    struct err late; /* set by the operation: an error to report after a whole answer */
};
int answer_head(struct answer *a, const void *record, struct err *e);
int answer_item(struct answer *a, const void *record, struct err *e);
/* As answer_item, for lists that may be long: ERR_RETRY once the caller has cancelled. */
int answer_listed(struct answer *a, const void *record, struct err *e);
/* Parts of the answer, in its arena. NULL or -1: the arena's cap is reached, and e says so.
 * answer_push adds a record of `size` bytes to a list that starts as {0} and is only filled here.
 */
void *answer_alloc(const struct answer *a, size_t n, size_t size, struct err *e)
    __attribute__((malloc, alloc_size(2, 3), warn_unused_result));
int answer_push(const struct answer *a,
                struct field_records *list,
                const void *record,
                size_t size,
                struct err *e);
char *answer_text(const struct answer *a, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), malloc, warn_unused_result));
/* A dry run leaves what it has prepared for the start with the same request, which then reads and
 * solves nothing again. answer_take gives the thing to the caller; NULL = nothing was left, or the
 * request is a dry run. */
void answer_leave(const struct answer *a,
                  struct app *app,
                  const void *request,
                  void *thing,
                  void (*release)(void *thing));
void *answer_take(const struct answer *a, struct app *app, const void *request);
/* "max_cost" or "--max-cost": the field of the request as the caller typed it; operands as their
 * name. For errors that decoding cannot see. */
const char *answer_spell(const struct answer *a, const char *field, char out[static 64]);

struct operation {
    const char *name;    /* "job.list" */
    const char *summary; /* one sentence, imperative */
    enum app_role role;  /* the least that may call */
    enum operation_effect effect;
    const struct record *request; /* of run's request; &record_none = no fields */
    const struct record *answer;  /* of the head; NULL = there is none */
    const struct record *item;    /* of the items; NULL = there are none */
    /* Member of the items in the JSON of the head; NULL = JSON is an array of the items, and a head
     * is for people alone. */
    const char *items_name;
    /* The items are events, answered as they happen, and the head comes last: JSON is one object
     * per line. */
    bool is_feed;
    /* The answer tells how jobs or runs stand: app_refresh comes first. */
    bool is_live;
    /* The operation starts work that costs money. What it would cost is the answer of `quote`, a
     * request of which has fields of the same names and types; NULL = of its own dry_run. */
    bool bills;
    const struct operation *quote;
    /* The request is decoded and within its bounds, and the caller may call. */
    int (*run)(struct app *app, const void *request, struct answer *out, struct err *e);
};

/* clang-format off */
/* Of requests that start something: the command line asks after a dry run, and has no option. */
#define APP_DRY_RUN_FIELD(type, member)                                                            \
    {"dry_run", FIELD(BOOL, type, member), .is_remote_only = true,                                 \
     .help = "Start nothing: answer with what would be started."}
/* clang-format on */

/* The request of an operation by its struct and the list of its fields. */
#define REQUEST(type, list) .request = RECORD_AT(NULL, type, list)

/* A room lists its operations once, as a macro over their names: ROOM_OPERATIONS(X). */
#define OPERATION_DECLARE(name) extern const struct operation name##_operation;
#define OPERATION_LIST(name) &name##_operation,

/* All of them: one list per family, each ending with NULL; the list of families ends with NULL. */
extern const struct operation *const *const operation_families[];
/* By name; NULL = there is none. */
const struct operation *operation_find(const char *name);

/* The one way in: checks the caller, decodes the request (and adds presets to it), runs op. */
int operation_call(struct app *app,
                   const struct operation *op,
                   json_t *request,
                   enum field_spelling spelling,
                   struct answer *out,
                   struct err *e);
/* The one place that decides who may call. ERR_DENIED names the role that is missing. */
int operation_allowed(const struct app *app, const struct operation *op, struct err *e);

/* The table's entry for documentation and programs. New reference. */
json_t *operation_describe(const struct operation *op);

#endif
