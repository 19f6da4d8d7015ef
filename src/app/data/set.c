/* set: operations that create, show and compare file sets, and name their versions by aliases.
 * `tradewind set ...` and `tradewind alias` call them. */
#include "lake/set/set.h"
#include "app/data/data.h"
#include "base/buf.h"

#include <inttypes.h>

/* An answer lists this many conflicts, and counts all of them. */
#define CONFLICTS_MAX 1000

/* Parts of an answer, as they come. */
struct parts {
    const struct answer *out;
    struct field_records list;
    int64_t n; /* of conflicts: all of them */
};

static int add_parent(void *context, const char *ref, struct err *e)
{
    struct parts *p = context;
    const char *copy = arena_dup(p->out->arena, ref);

    return answer_push(p->out, &p->list, &copy, sizeof copy, e);
}

/* The references that a set version was made from. */
static int read_parents(struct lake *l,
                        int64_t set_version,
                        const struct answer *out,
                        struct field_list *parents_out,
                        struct err *e)
{
    struct parts p = {.out = out};

    if (lake_set_parents(l, set_version, add_parent, &p, e) < 0)
        return -1;
    *parents_out = (struct field_list){p.list.items, p.list.n};
    return 0;
}

static struct data_set set_of(const struct lake_set *set, char mode[static 4])
{
    return (struct data_set){
        .name = set->name,
        .version = set->number,
        .files = set->files,
        .bytes = set->bytes,
        .created_ms = set->origin.create_time_ms,
        .creator = set->origin.creator,
        .owner = set->owner,
        .group = set->group && *set->group ? set->group : NULL,
        .mode = app_data_mode_text(set->mode, mode),
    };
}

static void ref_cell(const void *record, struct buf *out)
{
    const struct data_set *set = record;

    buf_printf(out, "@%s:%" PRId64, set->name, set->version);
}

/* What every answer tells of a set version; `at` leads to the struct data_set. */
#define SET_FIELDS(type, at)                                                                       \
    {"set",                                                                                        \
     FIELD(TEXT, type, at name),                                                                   \
     .help = "Name of the set.",                                                                   \
     .heading = "set",                                                                             \
     .cell = ref_cell,                                                                             \
     .cut_rank = 2,                                                                                \
     .least_width = 20},                                                                           \
        {"version", FIELD(INT, type, at version), .help = "Number of the version."},               \
        {"files_count", FIELD(COUNT, type, at files), .help = "How many files it holds.",          \
         .heading = "files"},                                                                      \
        {"size_bytes", FIELD(BYTES, type, at bytes), .unit = "bytes",                              \
         .help = "Size of all its files.", .heading = "size"},                                     \
        {"create_time", FIELD(TIME, type, at created_ms), .help = "Time of its creation.",         \
         .heading = "created"},                                                                    \
    {                                                                                              \
        "creator", FIELD(TEXT, type, at creator), .help = "User who created it.", .heading = "by", \
                                                  .cut_rank = 1, .least_width = 8                  \
    }

/* ---- set.list ---- */

/* "rw-r-----" */
static void mode_cell(const void *record, struct buf *out)
{
    const struct data_set *set = record;

    for (const char *digit = set->mode; *digit; digit++)
        buf_printf(out, "%c%c-", *digit & 4 ? 'r' : '-', *digit & 2 ? 'w' : '-');
}

static void group_cell(const void *record, struct buf *out)
{
    const struct data_set *set = record;

    buf_puts(out, set->group ? set->group : "-");
}

/* clang-format off */
static const struct field set_fields[] = {
    SET_FIELDS(struct data_set, ),
    {"mode", FIELD(TEXT, struct data_set, mode), .help = "Permissions, as in \"640\".",
     .heading = "mode", .cell = mode_cell, .is_detail = true},
    {"owner", FIELD(TEXT, struct data_set, owner), .help = "User who owns the set.",
     .heading = "owner", .cut_rank = 1, .least_width = 8, .is_detail = true},
    {"group", FIELD(TEXT, struct data_set, group), .help = "Group that shares the set.",
     .heading = "group", .cell = group_cell, .cut_rank = 1, .least_width = 8, .is_detail = true},
};
/* clang-format on */

struct list_request {
    const char *name;
    bool all;
};

/* clang-format off */
static const struct field list_fields[] = {
    {"name", FIELD(TEXT, struct list_request, name), .help = "Only this set.", .operand = true},
    {"all", FIELD(BOOL, struct list_request, all), .letter = 'a',
     .help = "List all versions, not only the latest of each set."},
};
/* clang-format on */

static int list_set(void *context, const struct lake_set *set, struct err *e)
{
    char mode[4];
    const struct data_set item = set_of(set, mode);

    return answer_listed(context, &item, e);
}

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct list_request *q = request;
    struct lake *l = app_lake(app, e);

    return l ? lake_set_list(l, app_data_set_name(q->name), q->all, list_set, out, e) : -1;
}

const struct operation set_list_operation = {
    .name = "set.list",
    .summary = "List sets.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct list_request, list_fields),
    .item = RECORD_AT("set", struct data_set, set_fields),
    .run = run_list,
};

/* ---- set.create ---- */

/* clang-format off */
static const struct field conflict_fields[] = {
    {"path", FIELD(TEXT, struct data_conflict, path), .help = "Path of the file."},
    {"kept", FIELD(INT, struct data_conflict, kept), .help = "Version that the set holds."},
    {"kept_of", FIELD(TEXT, struct data_conflict, kept_of), .help = "Reference it came from."},
    {"dropped", FIELD(INT, struct data_conflict, dropped), .help = "Version that was left out."},
    {"dropped_of", FIELD(TEXT, struct data_conflict, dropped_of), .help = "Reference it came from."},
};
static const struct record conflict_record =
    RECORD("conflict", struct data_conflict, conflict_fields);

static const struct field created_fields[] = {
    SET_FIELDS(struct data_set_created, set.),
    {"parents", FIELD(LIST, struct data_set_created, parents), .help = "Sets it was made from."},
    {"conflicts", FIELD(RECORDS, struct data_set_created, conflicts), .record = &conflict_record,
     .help = "Files of which two references held different versions, the first 1,000."},
    {"conflicts_count", FIELD(INT, struct data_set_created, n_conflicts),
     .help = "How many there are."},
};

struct create_request {
    const char *name;
    struct field_list refs;
};

static const struct field create_fields[] = {
    {"name", FIELD(TEXT, struct create_request, name), .help = "Name of the set.",
     .required = true, .operand = true},
    {"refs", FIELD(LIST, struct create_request, refs), .required = true, .operand = true,
     .help = "Files, directories and sets it is made of: /p, /dir/, @A, /dir/@A."},
};
/* clang-format on */

static void add_conflict(void *context, const struct lake_set_conflict *c)
{
    struct parts *p = context;
    struct arena *arena = p->out->arena;

    if (p->n++ >= CONFLICTS_MAX)
        return;
    const struct data_conflict item = {
        .path = arena_dup(arena, c->path),
        .kept = c->kept,
        .kept_of = arena_dup(arena, c->kept_of),
        .dropped = c->dropped,
        .dropped_of = arena_dup(arena, c->dropped_of),
    };
    (void)answer_push(p->out, &p->list, &item, sizeof item, NULL);
}

static int run_create(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct create_request *q = request;
    struct parts conflicts = {.out = out};
    struct app_progress progress = {app, "collecting"};
    struct lake_set_request asked = {
        .name = app_data_set_name(q->name),
        .refs = q->refs.items,
        .n_refs = q->refs.n,
        .conflict = add_conflict,
        .context = &conflicts,
        .progress = app_lake_progress(&progress),
    };
    struct data_set_created made = {0};
    struct lake *l = app_lake(app, e);
    struct lake_set set;
    char mode[4];

    if (!l || lake_set_create(l, &asked, &set, e) < 0 ||
        read_parents(l, set.version, out, &made.parents, e) < 0)
        return -1;
    made.set = set_of(&set, mode);
    made.conflicts = conflicts.list;
    made.n_conflicts = conflicts.n;
    return answer_head(out, &made, e);
}

const struct operation set_create_operation = {
    .name = "set.create",
    .summary = "Make the next version of a set from files, directories and other sets.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct create_request, create_fields),
    .answer = RECORD_AT("set_created", struct data_set_created, created_fields),
    .run = run_create,
};

/* ---- set.get ---- */

/* clang-format off */
static const struct field shown_fields[] = {
    SET_FIELDS(struct data_set_shown, set.),
    {"owner", FIELD(TEXT, struct data_set_shown, set.owner), .help = "User who owns the set."},
    {"group", FIELD(TEXT, struct data_set_shown, set.group), .help = "Group that shares the set."},
    {"mode", FIELD(TEXT, struct data_set_shown, set.mode), .help = "Permissions, as in \"640\"."},
    {"parents", FIELD(LIST, struct data_set_shown, parents), .help = "Sets it was made from."},
};

static const struct field entry_fields[] = {
    {"path", FIELD(TEXT, struct data_set_file, path), .help = "Path of the file."},
    {"version", FIELD(INT, struct data_set_file, version), .help = "Version that the set holds."},
    {"size_bytes", FIELD(BYTES, struct data_set_file, bytes), .unit = "bytes", .help = "Its size."},
};

struct get_request {
    const char *ref;
};

static const struct field get_fields[] = {
    {"ref", FIELD(TEXT, struct get_request, ref), .required = true, .operand = true,
     .help = "The set version, @S or @S:2, or a part of one, /dir/@S."},
};
/* clang-format on */

struct showing {
    struct lake *l;
    struct answer *out;
};

static int show_set(void *context, const struct lake_set *set, struct err *e)
{
    struct showing *s = context;
    char mode[4];
    struct data_set_shown shown = {.set = set_of(set, mode)};

    if (read_parents(s->l, set->version, s->out, &shown.parents, e) < 0)
        return -1;
    return answer_head(s->out, &shown, e);
}

static int show_entry(void *context, const struct lake_entry *entry, struct err *e)
{
    const struct data_set_file item = {entry->path, entry->number, entry->size};

    return answer_listed(context, &item, e);
}

static int run_get(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct get_request *q = request;
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct showing s = {app_lake(app, e), out};

    if (!s.l || lake_resolve(s.l, q->ref, LAKE_READ, &ref, e) < 0 ||
        lake_set_get(s.l, &ref, show_set, &s, e) < 0)
        return -1;
    return lake_each_file(s.l, &ref, show_entry, out, e);
}

const struct operation set_get_operation = {
    .name = "set.get",
    .summary = "Show the files of a set version and the sets it was made from.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct get_request, get_fields),
    .answer = RECORD_AT("set_shown", struct data_set_shown, shown_fields),
    .item = RECORD_AT("set_file", struct data_set_file, entry_fields),
    .items_name = "files",
    .run = run_get,
};

/* ---- set.diff ---- */

static const char *const changes[] = {
    [DATA_ADDED] = "added", [DATA_REMOVED] = "removed", [DATA_CHANGED] = "changed"};

/* clang-format off */
static const struct field change_fields[] = {
    {"path", FIELD(TEXT, struct data_set_change, path), .help = "Path of the file."},
    {"change", FIELD(ENUM, struct data_set_change, change), FIELD_CHOICES(changes),
     .help = "How the second set version differs from the first."},
    {"before", FIELD(INT, struct data_set_change, before),
     .help = "Version that the first set version holds; null = none."},
    {"after", FIELD(INT, struct data_set_change, after),
     .help = "Version that the second set version holds; null = none."},
};

struct diff_request {
    const char *a, *b;
};

static const struct field diff_fields[] = {
    {"a", FIELD(TEXT, struct diff_request, a), .required = true, .operand = true,
     .help = "The first set version."},
    {"b", FIELD(TEXT, struct diff_request, b), .required = true, .operand = true,
     .help = "The second set version."},
};
/* clang-format on */

_Static_assert(LAKE_SET_ADDED + 1 == (int)DATA_ADDED && LAKE_SET_CHANGED + 1 == (int)DATA_CHANGED,
               "the same order");

static int show_change(void *context,
                       enum lake_set_change change,
                       const struct lake_entry *before,
                       const struct lake_entry *after,
                       struct err *e)
{
    const struct data_set_change item = {
        .path = before ? before->path : after->path,
        .change = (enum data_change)change + 1,
        .before = before ? before->number : FIELD_NONE,
        .after = after ? after->number : FIELD_NONE,
    };

    return answer_listed(context, &item, e);
}

static int run_diff(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct diff_request *q = request;
    AUTO_CLEAR(lake_ref) struct lake_ref a = {0};
    AUTO_CLEAR(lake_ref) struct lake_ref b = {0};
    struct lake *l = app_lake(app, e);

    if (!l || lake_resolve(l, q->a, LAKE_READ, &a, e) < 0 ||
        lake_resolve(l, q->b, LAKE_READ, &b, e) < 0)
        return -1;
    return lake_set_diff(l, &a, &b, show_change, out, e);
}

const struct operation set_diff_operation = {
    .name = "set.diff",
    .summary = "List the files in which two set versions differ.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct diff_request, diff_fields),
    .item = RECORD_AT("set_change", struct data_set_change, change_fields),
    .run = run_diff,
};
