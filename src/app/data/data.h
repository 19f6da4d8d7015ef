/* data: operations on files, sets, metadata, provenance and uploads, and on the lake as a whole. */
#ifndef APP_DATA_DATA_H
#define APP_DATA_DATA_H

#include "app/core/operation.h"
#include "broker/core/kept.h"
#include "lake/clean/clean.h"
#include "lake/core/lake.h"
#include "lake/put/put.h"

/* clang-format off */
#define DATA_OPERATIONS(X)                                                                         \
    X(file_list) X(file_history) X(file_remove) X(file_chmod) X(file_chown) X(set_create)          \
    X(set_list) X(set_get) X(set_diff) X(alias_list) X(alias_set) X(alias_remove) X(tag_get)       \
    X(tag_set) X(tag_remove) X(find) X(trace) X(session_list) X(session_get) X(session_begin)      \
    X(session_finish) X(session_abort) X(url_get) X(pin_list) X(pin_add) X(pin_remove)             \
    X(lake_init) X(lake_gc) X(lake_gc_economic) X(lake_fsck)
/* clang-format on */
DATA_OPERATIONS(OPERATION_DECLARE)
/* Operations on files of this machine: no front end but the command line offers them, so that the
 * table does not list them. */
extern const struct operation data_put_operation, data_get_operation, data_session_put_operation;

/* ---- texts that operations of this room share ---- */

/* Permissions as chmod takes them: "640". out is returned. */
static inline const char *app_data_mode_text(unsigned mode, char out[static 4])
{
    out[0] = (char)('0' + (mode >> 6 & 7));
    out[1] = (char)('0' + (mode >> 3 & 7));
    out[2] = (char)('0' + (mode & 7));
    out[3] = 0;
    return out;
}

/* The name of a set may be written as a reference is: "@S". NULL stays NULL. */
static inline const char *app_data_set_name(const char *name)
{
    return name && name[0] == '@' ? name + 1 : name;
}

/* ---- files ---- */

/* Answered by file.list and file.history. A directory has its path alone. */
struct data_file {
    const char *path;
    int64_t version;
    uint64_t bytes;
    const char *sha256;
    int64_t created_ms;
    const char *creator;
    const char *owner, *group; /* group NULL = none */
    const char *mode;          /* "640" */
    bool with_rights;          /* owner, group and mode are asked for */
    bool executable;
    bool removed, gone; /* by rm; the content by gc */
};

struct data_removed {
    uint64_t versions;
};

/* ---- sets ---- */

/* Answered by set.list, and as a part by set.create and set.get. */
struct data_set {
    const char *name;
    int64_t version;
    uint64_t files, bytes;
    int64_t created_ms;
    const char *creator;
    const char *owner, *group; /* group NULL = none */
    const char *mode;          /* "640" */
};

/* Where two references of set.create held different versions of one file. */
struct data_conflict {
    const char *path;
    int64_t kept;
    const char *kept_of;
    int64_t dropped;
    const char *dropped_of;
};

struct data_set_created {
    struct data_set set; /* without owner, group and mode */
    struct field_list parents;
    struct field_records conflicts; /* struct data_conflict, the first thousand */
    int64_t n_conflicts;
};

/* The head of set.get. */
struct data_set_shown {
    struct data_set set;
    struct field_list parents;
};

struct data_set_file {
    const char *path;
    int64_t version;
    uint64_t bytes;
};

enum data_change { DATA_ADDED = 1, DATA_REMOVED, DATA_CHANGED };

struct data_set_change {
    const char *path;
    enum data_change change;
    int64_t before, after; /* versions */
};

struct data_alias {
    const char *set, *alias;
    int64_t version;
};

struct data_alias_removed {
    const char *alias; /* "@S:prod" */
};

/* ---- metadata ---- */

struct lake_value;

/* Answered by lake.find and tag.*. */
struct data_found {
    const char *ref, *kind;
    json_t *meta; /* NULL = made from the values */
    const struct lake_value *values;
    size_t n_values;
};
/* A value for people, borrowed or written into room: "" for a tag without one, fractions with six
 * digits; NULL = there is no such key. */
const char *app_data_found_text(const struct data_found *f, const char *key, char room[static 32]);
/* Key i, and its value as it was given. */
const char *app_data_found_at(const struct data_found *f, size_t i, const char **text_out);

/* The head of lake.find: the keys that a table shows. */
#define DATA_FOUND_KEYS_MAX 8
struct data_found_keys {
    struct field_list keys;
};

struct data_tagged {
    uint64_t lines;
};
extern const struct record data_tagged_record;
/* Carries out lines of "REF KEY=VALUE ..." in one transaction; next_line gives NULL at the end. */
int app_data_tag_lines(struct app *app,
                       const char *(*next_line)(void *context),
                       void *context,
                       struct data_tagged *out,
                       struct err *e);

/* ---- provenance ---- */

struct data_node {
    const char *ref;
};

/* An item of lake.trace: from was made from to. Edges of one `from` stand together, in the order of
 * the nodes. */
struct data_edge {
    const char *from, *to;
    enum lake_edge_kind kind;
    int64_t job;
};

struct data_trace_cost {
    uint64_t jobs;
    int64_t cost_microusd;
    double runtime_s;
};

/* The head of lake.trace. Nodes and their references live in the answer's arena. */
struct data_trace {
    const void *cost;           /* struct data_trace_cost; NULL = not asked for */
    struct field_records nodes; /* struct data_node */
};

/* ---- bytes ---- */

struct data_put {
    struct field_list sources;
    const char *destination;
    const char *set;
    struct field_list tags;
    bool force;
};

struct data_put_file {
    const char *path;
    int64_t version;
    uint64_t bytes;
    const char *sha256;
    bool unchanged;
    const char *ref; /* "/p#2" */
};

/* The head of a put, behind the files. */
struct data_put_summary {
    uint64_t files, bytes, unchanged;
    uint64_t stored_bytes; /* UINT64_MAX = nothing had to be stored */
    uint64_t skipped;      /* links to directories and special files */
    const char *set;       /* NULL = none */
    int64_t set_version;
};

struct data_get {
    struct field_list refs;
    const char *directory;
    bool force, link;
};

/* The content of one file version in order, verified. */
int app_data_cat(struct app *app,
                 const char *ref,
                 int (*sink)(void *context, const void *bytes, size_t n, struct err *e),
                 void *context,
                 struct err *e);

struct data_url {
    const char *url, *header; /* header NULL = none */
};

/* ---- upload sessions ---- */

enum data_session_state {
    DATA_SESSION_PENDING = 1,
    DATA_SESSION_COMMITTED,
    DATA_SESSION_ABORTED,
    DATA_SESSION_EXPIRED
};
extern const char *const data_session_states[];

/* Answered by session.list, and as head by the other operations on sessions. */
struct data_session {
    int64_t id;
    enum data_session_state state;
    const char *expires_at;
    const char *creator;
    const char *created_at;
    const char *set; /* NULL = none */
    const char *put; /* the put that was interrupted, as a command line; NULL = begun by hand */
    uint64_t files, arrived, bytes_arrived;
    int64_t set_version; /* after session.finish; FIELD_NONE = none */
};

enum data_file_state { DATA_FILE_PENDING = 1, DATA_FILE_ARRIVED, DATA_FILE_COMMITTED };
extern const char *const data_file_states[];

struct data_session_file {
    const char *path;
    enum data_file_state state;
    const char *object;
    uint64_t bytes;
    const char *sha256;
    int64_t version;
    const char *url, *header;
    bool unchanged;
    const char *ref; /* "/p#2" of a committed file; NULL = not committed */
};

/* ---- the lake as a whole ---- */

struct data_ref {
    const char *ref;
};

struct data_gc {
    bool removed;
    struct lake_gc_summary sum;
    struct kept_usage jobs;
};

struct data_gc_file {
    const char *ref;
    uint64_t bytes;
};

/* The head of lake.gc_economic. */
struct data_gc_economic {
    bool removed;
    double gb_month_usd;
    const char *price_basis;
    double horizon_months;
    uint64_t versions, bytes;            /* that were removed */
    uint64_t n_sets, n_going, own_bytes; /* sets that were weighed, those that go, what goes */
};

struct data_gc_set {
    const char *ref;
    int64_t job;
    uint64_t own_bytes;
    double keep_usd_per_month;
    int64_t keep_microusd, replay_microusd;
    double replay_s;
    uint64_t replay_jobs;
    bool goes;
    const char *why;
};

struct data_problem {
    const char *text;
};

struct data_init {
    const char *home, *store;
};

#endif
