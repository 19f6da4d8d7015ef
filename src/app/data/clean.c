/* clean: operations that remove content nothing needs, protect content from removal, and verify
 * content. `tradewind gc`, `pin` and `fsck` call them. */
#include "app/core/lake_open.h"
#include "app/data/data.h"
#include "base/buf.h"
#include "base/mem.h"

#include <string.h>

/* ---- lake.gc ---- */

/* Some ten million versions: more than any lake removes at once. */
#define LISTED_MAX_BYTES ((size_t)1 << 30)

/* The versions whose content goes, each its size and its reference: a struct for each of a million
 * would fill the memory. */
struct versions {
    uint64_t limit;
    struct buf list;
    uint64_t n;
};

static void versions_clear(struct versions *v)
{
    buf_clear(&v->list);
}

/* Called within the lake's transaction: nothing is answered here, where a slow reader would keep
 * other writers waiting. */
static int note_version(void *context, const char *ref, uint64_t size, struct err *e)
{
    struct versions *v = context;

    if (v->n++ >= v->limit)
        return 0;
    buf_add(&v->list, &size, sizeof size);
    if (buf_add(&v->list, ref, strlen(ref) + 1) < 0)
        return err_set(e, ERR_USAGE, "too many versions to list; limit the list");
    return 0;
}

static int answer_versions(const struct versions *v, struct answer *out, struct err *e)
{
    struct data_gc_file item;

    for (size_t at = 0; at < v->list.len; at += strlen(item.ref) + 1) {
        memcpy(&item.bytes, v->list.data + at, sizeof item.bytes);
        at += sizeof item.bytes;
        item.ref = v->list.data + at;
        if (answer_item(out, &item, e) < 0)
            return -1;
    }
    return 0;
}

/* clang-format off */
static const struct field gc_file_fields[] = {
    {"ref", FIELD(TEXT, struct data_gc_file, ref), .help = "The file version."},
    {"size_bytes", FIELD(BYTES, struct data_gc_file, bytes), .unit = "bytes", .help = "Its size."},
};

#define GC(TYPE, member) FIELD(TYPE, struct data_gc, member)
static const struct field gc_fields[] = {
    {"removed", GC(BOOL, removed), .help = "Whether the content was removed."},
    {"versions", GC(COUNT, sum.versions), .help = "File versions that lose their content."},
    {"latest_versions", GC(COUNT, sum.latest_versions),
     .help = "Those of them that are the newest version of a listed file."},
    {"objects", GC(COUNT, sum.objects), .help = "Contents that go."},
    {"size_bytes", GC(BYTES, sum.bytes), .unit = "bytes", .help = "Their size."},
    {"blobs", GC(COUNT, sum.blobs), .help = "Whole objects of the store that go."},
    {"blob_bytes", GC(BYTES, sum.blob_bytes), .unit = "bytes",
     .help = "Their size: space that is free at once."},
    {"rewritten_bytes", GC(BYTES, sum.rewritten_bytes), .unit = "bytes",
     .help = "Contents moved out of packs of which little is left."},
    {"leftovers", GC(COUNT, sum.leftovers), .help = "Leftovers of interrupted writers."},
    {"leftover_bytes", GC(BYTES, sum.leftover_bytes), .unit = "bytes", .help = "Their size."},
    {"sessions_expired", GC(COUNT, sum.sessions_expired),
     .help = "Upload sessions that expired."},
    {"busy", GC(COUNT, sum.busy), .help = "Packs skipped because of a writer."},
    {"logs", GC(COUNT, jobs.logs), .help = "Jobs with a log, which gc leaves: see job.remove."},
    {"log_bytes", GC(BYTES, jobs.log_bytes), .unit = "bytes", .help = "Size of their logs."},
    {"kept_outputs", GC(COUNT, jobs.outputs),
     .help = "Outputs of unsaved and failed jobs that are in no set, which gc leaves."},
    {"kept_output_bytes", GC(BYTES, jobs.output_bytes), .unit = "bytes", .help = "Their size."},
};

struct gc_request {
    bool remove, keep_latest;
    uint64_t limit;
};

static const struct field gc_request_fields[] = {
    {"remove", FIELD(BOOL, struct gc_request, remove), .option = "--yes",
     .help = "Remove the content; without this, only report it."},
    {"keep_latest", FIELD(BOOL, struct gc_request, keep_latest),
     .help = "Also keep the newest version of every listed file."},
    {"limit", FIELD(COUNT, struct gc_request, limit), .is_remote_only = true,
     .help = "List at most this many files; all are counted."},
};
/* clang-format on */

static int answer_gc(struct data_gc *head, struct answer *out, struct err *e)
{
    head->sum.leftovers += head->jobs.removed;
    head->sum.leftover_bytes += head->jobs.removed_bytes;
    return answer_head(out, head, e);
}

static int run_gc(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct gc_request *q = request;
    AUTO_CLEAR(versions) struct versions versions = {.limit = q->limit};
    struct app_progress progress = {app, "removing"};
    const struct lake_gc_options options = {.remove = q->remove,
                                            .keep_latest = q->keep_latest,
                                            .progress = app_lake_progress(&progress)};
    struct data_gc head = {.removed = q->remove};
    const char *home = app_home(app, e);

    /* What is removed makes room for what tells of that. */
    if (home && q->remove)
        lake_reserve_use(home);
    struct lake *l = home ? app_lake(app, e) : NULL;
    buf_init(&versions.list, LISTED_MAX_BYTES);
    if (!l || kept_measure(home, l, q->remove, &head.jobs, e) < 0 ||
        lake_gc(l, &options, note_version, &versions, &head.sum, e) < 0 ||
        answer_gc(&head, out, e) < 0)
        return -1;
    out->more = versions.n > versions.limit;
    return answer_versions(&versions, out, e);
}

const struct operation lake_gc_operation = {
    .name = "lake.gc",
    .summary = "Remove content that no set, job, pin or upload session needs.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    REQUEST(struct gc_request, gc_request_fields),
    .answer = RECORD_AT("gc", struct data_gc, gc_fields),
    .item = RECORD_AT("gc_file", struct data_gc_file, gc_file_fields),
    .items_name = "files",
    .run = run_gc,
};

/* ---- lake.fsck ---- */

/* clang-format off */
static const struct field problem_fields[] = {
    {"problem", FIELD(TEXT, struct data_problem, text),
     .help = "What is wrong with which file or set version."},
};
static const struct record problem_record = {.name = "problem",
                                             .size = sizeof(struct data_problem),
                                             .fields = problem_fields,
                                             .n_fields = 1,
                                             .is_bare = true};

#define SUMMARY(TYPE, member) FIELD(TYPE, struct lake_fsck_summary, member)
static const struct field fsck_fields[] = {
    {"checked_files", SUMMARY(COUNT, files), .help = "File versions that were read and verified."},
    {"checked_bytes", SUMMARY(BYTES, bytes), .unit = "bytes", .help = "Their size."},
    {"problems_count", SUMMARY(COUNT, problems), .help = "How many problems were found."},
    {"leftovers", SUMMARY(COUNT, leftovers),
     .help = "Leftovers of interrupted writers, which gc removes."},
    {"leftover_bytes", SUMMARY(BYTES, leftover_bytes), .unit = "bytes", .help = "Their size."},
    {"modes_fixed", SUMMARY(COUNT, modes_fixed),
     .help = "Files and directories that others could read or write, until --fix-modes."},
};
/* clang-format on */

static int tell_problem(void *context, const char *text, struct err *e)
{
    return answer_item(context, &(struct data_problem){text}, e);
}

struct fsck_request {
    bool fix_modes;
};

static const struct field fsck_request_fields[] = {
    {"fix_modes", FIELD(BOOL, struct fsck_request, fix_modes),
     .help =
         "Also take from others what they may read or write in the home and its store; a shared "
         "home stays its group's."},
};

static int fix_modes(struct app *app, uint64_t *fixed_out, struct err *e)
{
    struct lake_modes_report report;
    AUTO_MEM char *url = NULL;
    struct lake_modes modes = {.fix = true, .group = LAKE_MODES_ANY_GROUP};

    if (app_modes(app, &modes, &url, e) < 0 || lake_modes(&modes, &report, e) < 0)
        return -1;
    *fixed_out = report.wrong - report.failed;
    return report.failed ? err_set(e, ERR_DENIED,
                                   "%llu modes cannot be changed, of %s; their owner or root can",
                                   (unsigned long long)report.failed, report.first_failed)
                         : 0;
}

static int run_fsck(struct app *app, const void *request, struct answer *out, struct err *e)
{
    struct app_progress verb = {app, "checked"};
    const struct lake_progress progress = app_lake_progress(&verb);
    const struct fsck_request *q = request;
    struct lake_fsck_summary s;
    struct lake *l = app_lake(app, e);
    uint64_t fixed = 0;

    if (!l || (q->fix_modes && fix_modes(app, &fixed, e) < 0) ||
        lake_fsck(l, &progress, tell_problem, out, &s, e) < 0)
        return -1;
    s.modes_fixed = fixed;
    return answer_head(out, &s, e);
}

const struct operation lake_fsck_operation = {
    .name = "lake.fsck",
    .summary = "Read all content of the lake and verify it against its digests.",
    .role = APP_ADMIN,
    .effect = OPERATION_READS,
    REQUEST(struct fsck_request, fsck_request_fields),
    .answer = RECORD_AT("fsck", struct lake_fsck_summary, fsck_fields),
    .item = &problem_record,
    .items_name = "problems",
    .run = run_fsck,
};

/* ---- pin.list, pin.add, pin.remove: all answer with the pins there are then ---- */

static const struct field pin_fields[] = {
    {"ref", FIELD(TEXT, struct data_ref, ref), .help = "The file version or set version."},
};
static const struct record pin_record = {.name = "pin",
                                         .size = sizeof(struct data_ref),
                                         .fields = pin_fields,
                                         .n_fields = 1,
                                         .is_bare = true};

struct pin_request {
    struct field_list refs;
};

static const struct field pin_request_fields[] = {
    {"refs", FIELD(LIST, struct pin_request, refs), .required = true, .operand = true,
     .help = "File versions (/p, /p#2) and set versions (@S:1)."},
};
static const struct record pin_request_record =
    RECORD("pins", struct pin_request, pin_request_fields);

static int list_pin(void *context, const char *ref, struct err *e)
{
    return answer_item(context, &(struct data_ref){ref}, e);
}

static int run_pins(struct app *app, const void *request, struct answer *out, struct err *e)
{
    struct lake *l = app_lake(app, e);

    (void)request;
    return l ? lake_pin_list(l, list_pin, out, e) : -1;
}

static int run_pin(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct pin_request *q = request;
    struct lake *l = app_lake(app, e);

    return l && lake_pin(l, q->refs.items, q->refs.n, e) == 0 ? run_pins(app, NULL, out, e) : -1;
}

static int run_unpin(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct pin_request *q = request;
    struct lake *l = app_lake(app, e);

    return l && lake_unpin(l, q->refs.items, q->refs.n, e) == 0 ? run_pins(app, NULL, out, e) : -1;
}

const struct operation pin_list_operation = {
    .name = "pin.list",
    .summary = "List pinned file versions and set versions.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &record_none,
    .item = &pin_record,
    .run = run_pins,
};

const struct operation pin_add_operation = {
    .name = "pin.add",
    .summary = "Pin file versions and set versions, so that gc keeps their content.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &pin_request_record,
    .item = &pin_record,
    .run = run_pin,
};

const struct operation pin_remove_operation = {
    .name = "pin.remove",
    .summary = "Unpin file versions and set versions.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &pin_request_record,
    .item = &pin_record,
    .run = run_unpin,
};
