/* file: operations that list, remove and protect files. `tradewind ls`, `log`, `rm`, `chmod` and
 * `chown` call them. */
#include "app/data/data.h"
#include "base/mem.h"
#include "lake/core/files.h"

#include <string.h>

/* ---- what is told of a file ---- */

static bool has_no_rights(const void *record)
{
    return !((const struct data_file *)record)->with_rights;
}

/* clang-format off */
#define FILE_FIELDS                                                                                \
    {"path", FIELD(TEXT, struct data_file, path),                                                  \
     .help = "Path; of a directory it ends in '/', and the other fields are null."},               \
    {"version", FIELD(INT, struct data_file, version), .help = "Number of the version."},          \
    {"size_bytes", FIELD(BYTES, struct data_file, bytes), .unit = "bytes", .help = "Its size."},   \
    {"sha256", FIELD(TEXT, struct data_file, sha256), .help = "Digest of the content."},           \
    {"create_time", FIELD(TIME, struct data_file, created_ms), .help = "Time of its creation."},   \
    {"creator", FIELD(TEXT, struct data_file, creator), .help = "User who created it."}

static const struct field file_fields[] = {
    FILE_FIELDS,
    {"owner", FIELD(TEXT, struct data_file, owner), .is_absent = has_no_rights,
     .help = "User who owns the file; only where details are asked for."},
    {"group", FIELD(TEXT, struct data_file, group), .is_absent = has_no_rights,
     .help = "Group that shares the file; only where details are asked for."},
    {"mode", FIELD(TEXT, struct data_file, mode), .is_absent = has_no_rights,
     .help = "Permissions, as in \"640\"; only where details are asked for."},
    {"executable", FIELD(BOOL, struct data_file, executable), .is_absent = has_no_rights,
     .help = "Whether it was an executable file; only where details are asked for."},
};

static const struct field version_fields[] = {
    FILE_FIELDS,
    {"removed", FIELD(BOOL, struct data_file, removed), .help = "Whether rm removed the version."},
    {"gone", FIELD(BOOL, struct data_file, gone), .help = "Whether gc removed the content."},
};
/* clang-format on */

struct listing {
    struct answer *out;
    bool with_rights;
};

static int list_file(void *context, const struct lake_file *f, struct err *e)
{
    struct listing *s = context;
    char digest[SHA256_HEX], mode[8];
    struct data_file item = {.path = f->path,
                             .version = FIELD_NONE,
                             .bytes = UINT64_MAX,
                             .created_ms = FIELD_NONE,
                             .with_rights = s->with_rights};

    if (f->path[strlen(f->path) - 1] == '/')
        return answer_listed(s->out, &item, e);
    item.version = f->number;
    item.bytes = f->size;
    item.sha256 = sha256_text(&f->digest, digest);
    item.created_ms = f->origin.create_time_ms;
    item.creator = f->origin.creator;
    item.owner = f->owner;
    item.group = *f->group ? f->group : NULL;
    item.mode = app_data_mode_text(f->mode, mode);
    item.executable = f->executable;
    item.removed = f->removed;
    item.gone = f->gone;
    return answer_listed(s->out, &item, e);
}

/* ---- file.list ---- */

struct list_request {
    const char *path;
    bool recursive, with_details;
};

/* clang-format off */
static const struct field list_fields[] = {
    {"path", FIELD(TEXT, struct list_request, path), .operand = true, .preset = "/",
     .help = "A directory, a file or a set."},
    {"recursive", FIELD(BOOL, struct list_request, recursive), .letter = 'r',
     .help = "List everything below a directory."},
    {"long", FIELD(BOOL, struct list_request, with_details), .letter = 'l',
     .help = "Also list permissions, owner, group, version, size and time (UTC)."},
};
/* clang-format on */

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct list_request *q = request;
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct listing s = {out, q->with_details};
    struct lake *l = app_lake(app, e);

    if (!l || lake_resolve(l, q->path, LAKE_READ, &ref, e) < 0)
        return -1;
    return lake_list(l, &ref, q->recursive, list_file, &s, e);
}

const struct operation file_list_operation = {
    .name = "file.list",
    .summary = "List the files of a directory or a set.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct list_request, list_fields),
    .item = RECORD_AT("file", struct data_file, file_fields),
    .run = run_list,
};

/* ---- file.history ---- */

struct history_request {
    const char *path;
};

static const struct field history_fields[] = {
    {"path", FIELD(TEXT, struct history_request, path), .required = true, .operand = true,
     .help = "Path of the file."},
};

/* A removed file still has a history. */
static int resolve_history(struct lake *l, const char *text, struct lake_ref *out, struct err *e)
{
    AUTO_MEM char *all = mem_printf("%s#*", text);
    struct err again = {0};

    if (lake_resolve(l, text, LAKE_READ, out, e) == 0)
        return 0;
    if (e->kind != ERR_NOTFOUND || lake_resolve(l, all, LAKE_READ, out, &again) < 0)
        return -1;
    return 0;
}

static int run_history(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct history_request *q = request;
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct listing s = {.out = out};
    struct lake *l = app_lake(app, e);

    if (!l || resolve_history(l, q->path, &ref, e) < 0)
        return -1;
    return lake_log(l, &ref, list_file, &s, e);
}

const struct operation file_history_operation = {
    .name = "file.history",
    .summary = "List all versions of a file, the newest first.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct history_request, history_fields),
    .item = RECORD_AT("file_version", struct data_file, version_fields),
    .run = run_history,
};

/* ---- file.remove ---- */

struct remove_request {
    struct field_list refs;
    bool recursive, replayable;
};

/* clang-format off */
static const struct field remove_fields[] = {
    {"refs", FIELD(LIST, struct remove_request, refs), .required = true, .operand = true,
     .help = "Files (/p), file versions (/p#2) and set versions (@S:3)."},
    {"recursive", FIELD(BOOL, struct remove_request, recursive), .letter = 'r',
     .help = "Remove directories with everything below them."},
    {"replayable", FIELD(BOOL, struct remove_request, replayable),
     .help = "Also remove versions that a job used; such a job cannot be replayed."},
};

static const struct field removed_fields[] = {
    {"removed_versions", FIELD(COUNT, struct data_removed, versions),
     .help = "How many versions the operation removed."},
};
/* clang-format on */

static int run_remove(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct remove_request *q = request;
    const struct lake_remove_options options = {q->recursive, q->replayable};
    struct data_removed removed;
    struct lake *l = app_lake(app, e);

    if (!l || lake_remove(l, q->refs.items, q->refs.n, &options, &removed.versions, e) < 0)
        return -1;
    return answer_head(out, &removed, e);
}

const struct operation file_remove_operation = {
    .name = "file.remove",
    .summary = "Remove files, file versions or set versions from the lake.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct remove_request, remove_fields),
    .answer = RECORD_AT("removed", struct data_removed, removed_fields),
    .run = run_remove,
};

/* ---- file.chmod, file.chown: both answer with their request ---- */

struct change_request {
    const char *to;
    struct field_list refs;
};

static int change(
    struct app *app,
    const struct change_request *q,
    int (*by)(struct lake *l, const char *to, const char *const *refs, size_t n, struct err *e),
    struct answer *out,
    struct err *e)
{
    struct lake *l = app_lake(app, e);

    return l && by(l, q->to, q->refs.items, q->refs.n, e) == 0 ? answer_head(out, q, e) : -1;
}

#define CHANGED_REFS                                                                               \
    {                                                                                              \
        "refs", FIELD(LIST, struct change_request, refs), .required = true, .operand = true,       \
                                                          .help = "Files, directories and sets."   \
    }

static const struct field chmod_fields[] = {
    {"mode", FIELD(TEXT, struct change_request, to), .required = true, .operand = true,
     .help = "The permissions: 640, o-w, g=r,o=."},
    CHANGED_REFS,
};
static const struct record chmod_record = RECORD("file_mode", struct change_request, chmod_fields);

static int run_chmod(struct app *app, const void *request, struct answer *out, struct err *e)
{
    return change(app, request, lake_chmod, out, e);
}

const struct operation file_chmod_operation = {
    .name = "file.chmod",
    .summary = "Change who may read and write files and sets.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &chmod_record,
    .answer = &chmod_record,
    .run = run_chmod,
};

static const struct field chown_fields[] = {
    {"owner", FIELD(TEXT, struct change_request, to), .required = true, .operand = true,
     .help = "The owner and group: ann, ann:vision, :vision."},
    CHANGED_REFS,
};
static const struct record chown_record = RECORD("file_owner", struct change_request, chown_fields);

static int run_chown(struct app *app, const void *request, struct answer *out, struct err *e)
{
    return change(app, request, lake_chown, out, e);
}

const struct operation file_chown_operation = {
    .name = "file.chown",
    .summary = "Change the owner and group of files and sets.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &chown_record,
    .answer = &chown_record,
    .run = run_chown,
};
