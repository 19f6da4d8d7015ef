/* session: operations on uploads in steps: begin names the files, they arrive one by one, finish
 * numbers their versions at once. `tradewind session ...` calls them. */
#include "lake/put/session.h"
#include "app/data/data.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"
#include "lake/core/path.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Of an upload URL. */
#define URL_S 3600

/* ---- what is told of a session ---- */

const char *const data_session_states[] = {
    [DATA_SESSION_PENDING] = "pending",
    [DATA_SESSION_COMMITTED] = "committed",
    [DATA_SESSION_ABORTED] = "aborted",
    [DATA_SESSION_EXPIRED] = "expired",
};
const char *const data_file_states[] = {
    [DATA_FILE_PENDING] = "pending",
    [DATA_FILE_ARRIVED] = "arrived",
    [DATA_FILE_COMMITTED] = "committed",
};

/* A put records files as they arrive: their number is not known beforehand. */
static void arrived_cell(const void *record, struct buf *out)
{
    const struct data_session *s = record;

    buf_printf(out, "%" PRIu64, s->arrived);
    if (!s->put)
        buf_printf(out, " of %" PRIu64, s->files);
}

/* clang-format off */
#define SESSION(TYPE, member) FIELD(TYPE, struct data_session, member)
static const struct field session_fields[] = {
    {"session", SESSION(INT, id), .help = "Number of the session.", .heading = "session"},
    {"state", SESSION(ENUM, state), .choices = data_session_states,
     .n_choices = DATA_SESSION_EXPIRED + 1, .help = "Its state.", .heading = "state"},
    {"expires_at", SESSION(TEXT, expires_at), .heading = "expires",
     .help = "When it expires, unless something arrives before."},
    {"creator", SESSION(TEXT, creator), .help = "User who began it."},
    {"create_time", SESSION(TEXT, created_at), .help = "When it began."},
    {"set", SESSION(TEXT, set), .help = "Set it creates a version of."},
    {"set_version", SESSION(INT, set_version),
     .help = "That version; null = none was created by this call."},
    {"n_files", SESSION(COUNT, files), .help = "How many files it expects."},
    {"n_arrived", SESSION(COUNT, arrived), .help = "How many have arrived.", .heading = "arrived",
     .cell = arrived_cell},
    {"bytes_arrived", SESSION(BYTES, bytes_arrived), .unit = "bytes", .heading = "size",
     .help = "Size of the files that have arrived."},
    {"put", SESSION(TEXT, put), .heading = "interrupted", .cut_rank = 1, .least_width = 12,
     .help = "The interrupted put that left it; null = begun by hand."},
};
static const struct record session_record =
    RECORD("session", struct data_session, session_fields);

#define ENTRY(TYPE, member) FIELD(TYPE, struct data_session_file, member)
static const struct field file_fields[] = {
    {"path", ENTRY(TEXT, path), .help = "Path in the lake."},
    {"state", ENTRY(ENUM, state), FIELD_CHOICES(data_file_states), .help = "Its state."},
    {"object", ENTRY(TEXT, object), .help = "Name of the upload in the store."},
    {"size_bytes", ENTRY(BYTES, bytes), .unit = "bytes", .help = "Size announced or arrived."},
    {"sha256", ENTRY(TEXT, sha256), .help = "Digest announced or arrived."},
    {"version", ENTRY(INT, version), .help = "Number of the version; null before session.finish."},
    {"url", ENTRY(TEXT, url), .help = "Upload URL, where one is asked for."},
    {"header", ENTRY(TEXT, header), .help = "Header that the upload must carry."},
    {"unchanged", ENTRY(BOOL, unchanged),
     .help = "Whether the latest version had this content already."},
    {"ref", ENTRY(TEXT, ref), .help = "Reference of the version; null before session.finish."},
};
/* clang-format on */

_Static_assert(LAKE_SESSION_PENDING + 1 == (int)DATA_SESSION_PENDING &&
                   LAKE_SESSION_EXPIRED + 1 == (int)DATA_SESSION_EXPIRED,
               "the same order");

/* Texts of the times: *expires and *begun. */
static struct data_session session_of(const struct lake_session *s,
                                      char expires[static 32],
                                      char begun[static 32])
{
    return (struct data_session){
        .id = s->id,
        .state = (enum data_session_state)s->state + 1,
        .expires_at = time_iso(s->expires_ms, expires),
        .creator = s->origin.creator,
        .created_at = time_iso(s->origin.create_time_ms, begun),
        .set = s->set,
        .put = s->put,
        .files = s->files,
        .arrived = s->arrived,
        .bytes_arrived = s->bytes_arrived,
        .set_version = FIELD_NONE,
    };
}

struct telling {
    struct lake *l;
    struct answer *out;
    int64_t id;
    bool urls; /* of the files that have not arrived */
    bool is_pending, has_url;
    int64_t set_version; /* 0 = none */
};

static int tell_session(void *context, const struct lake_session *s, struct err *e)
{
    struct telling *t = context;
    char expires[32], begun[32];
    struct data_session head = session_of(s, expires, begun);

    t->is_pending = s->state == LAKE_SESSION_PENDING;
    if (t->set_version)
        head.set_version = t->set_version;
    return answer_head(t->out, &head, e);
}

static int tell_file(void *context, const struct lake_session_file *f, struct err *e)
{
    struct telling *t = context;
    AUTO_CLEAR(store_url) struct store_url url = {0};
    AUTO_MEM char *ref = f->committed ? lake_file_ref(f->path, f->number) : NULL;
    char hex[SHA256_HEX];

    if (t->urls && t->is_pending && !f->arrived &&
        lake_session_url(t->l, t->id, f->path, URL_S, &url, e) < 0)
        return -1;
    const struct data_session_file item = {
        .path = f->path,
        .state = f->committed ? DATA_FILE_COMMITTED
                 : f->arrived ? DATA_FILE_ARRIVED
                              : DATA_FILE_PENDING,
        .object = f->object,
        .bytes = f->size_known ? f->size : UINT64_MAX,
        .sha256 = f->digest_known ? sha256_text(&f->digest, hex) : NULL,
        .version = f->committed ? f->number : FIELD_NONE,
        .url = url.url,
        .header = url.header,
        .unchanged = f->unchanged,
        .ref = ref,
    };
    return answer_item(t->out, &item, e);
}

/* Before anything is answered: can the store make URLs at all? */
static int try_url(void *context, const struct lake_session_file *f, struct err *e)
{
    struct telling *t = context;
    AUTO_CLEAR(store_url) struct store_url url = {0};

    if (f->arrived || t->has_url)
        return 0;
    t->has_url = true;
    return lake_session_url(t->l, t->id, f->path, URL_S, &url, e);
}

/* The session and its files: what all operations on one session answer with. */
#define SESSION_ANSWER                                                                             \
    .answer = &session_record,                                                                     \
    .item = RECORD_AT("session_file", struct data_session_file, file_fields),                      \
    .items_name = "files"

static int tell_all(struct telling *t, struct err *e)
{
    if ((t->urls && lake_session_files(t->l, t->id, try_url, t, e) < 0) ||
        lake_session_list(t->l, t->id, tell_session, t, e) < 0)
        return -1;
    return lake_session_files(t->l, t->id, tell_file, t, e);
}

/* ---- session.list ---- */

static int list_session(void *context, const struct lake_session *s, struct err *e)
{
    char expires[32], begun[32];
    const struct data_session item = session_of(s, expires, begun);

    return answer_item(context, &item, e);
}

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    struct lake *l = app_lake(app, e);

    (void)request;
    return l ? lake_session_list(l, 0, list_session, out, e) : -1;
}

const struct operation session_list_operation = {
    .name = "session.list",
    .summary = "List pending upload sessions.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &record_none,
    .item = &session_record,
    .run = run_list,
};

/* ---- session.get, session.finish, session.abort ---- */

struct id_request {
    int64_t id;
    bool urls;
};

#define SESSION_ID(type)                                                                           \
    {                                                                                              \
        "session", FIELD(INT, type, id), .required = true, .operand = true, .least = 1,            \
                                         .most = 9007199254740992.0,                               \
                                         .help = "Number of the session."                          \
    }

/* clang-format off */
static const struct field get_fields[] = {
    SESSION_ID(struct id_request),
    {"urls", FIELD(BOOL, struct id_request, urls),
     .help = "Make an upload URL for every file that has not arrived (S3)."},
};
/* clang-format on */
static const struct field id_fields[] = {SESSION_ID(struct id_request)};
static const struct record id_record = RECORD("session_id", struct id_request, id_fields);

static int run_get(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct id_request *q = request;
    struct telling t = {.l = app_lake(app, e), .out = out, .id = q->id, .urls = q->urls};

    return t.l ? tell_all(&t, e) : -1;
}

const struct operation session_get_operation = {
    .name = "session.get",
    .summary = "Show an upload session with its files.",
    .role = APP_MEMBER, /* the URLs upload */
    .effect = OPERATION_READS,
    REQUEST(struct id_request, get_fields),
    SESSION_ANSWER,
    .run = run_get,
};

static int run_finish(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct id_request *q = request;
    struct telling t = {.l = app_lake(app, e), .out = out, .id = q->id};
    struct lake_put_summary summary;

    if (!t.l || lake_session_finish(t.l, q->id, NULL, NULL, &summary, e) < 0)
        return -1;
    t.set_version = summary.set_number;
    return tell_all(&t, e);
}

const struct operation session_finish_operation = {
    .name = "session.finish",
    .summary = "Number the versions of all files of a session at once.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &id_record,
    SESSION_ANSWER,
    .run = run_finish,
};

static int run_abort(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct id_request *q = request;
    struct telling t = {.l = app_lake(app, e), .out = out, .id = q->id};

    if (!t.l || lake_session_abort(t.l, q->id, e) < 0)
        return -1;
    return tell_all(&t, e);
}

const struct operation session_abort_operation = {
    .name = "session.abort",
    .summary = "Abort a session and remove the files that arrived.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &id_record,
    SESSION_ANSWER,
    .run = run_abort,
};

/* ---- session.put ---- */

struct put_request {
    int64_t id;
    const char *file, *path;
};

/* clang-format off */
static const struct field put_fields[] = {
    SESSION_ID(struct put_request),
    {"file", FIELD(TEXT, struct put_request, file), .required = true, .operand = true,
     .is_local = true, .help = "A file of this machine; - for standard input."},
    {"path", FIELD(TEXT, struct put_request, path), .required = true, .operand = true,
     .help = "The path that session begin named."},
};
/* clang-format on */

static int run_put(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct put_request *q = request;
    AUTO_MEM char *path = lake_path_unescape(q->path);
    struct app_progress verb = {app, "storing"};
    const struct lake_progress progress = app_lake_progress(&verb);
    struct telling t = {.l = app_lake(app, e), .out = out, .id = q->id};

    if (!t.l || lake_session_put(t.l, q->id, path, q->file, &progress, e) < 0)
        return -1;
    return tell_all(&t, e);
}

const struct operation data_session_put_operation = {
    .name = "session.put",
    .summary = "Store a file of this machine as one of a session's files.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct put_request, put_fields),
    SESSION_ANSWER,
    .run = run_put,
};

/* ---- session.begin ---- */

struct target {
    const char *path;
    uint64_t bytes;
    const char *sha256;
};

/* clang-format off */
static const struct field target_fields[] = {
    {"path", FIELD(TEXT, struct target, path), .required = true, .help = "Path in the lake."},
    {"size_bytes", FIELD(BYTES, struct target, bytes), .unit = "bytes",
     .help = "Size that the file must have."},
    {"sha256", FIELD(TEXT, struct target, sha256), .help = "Digest that the file must have."},
};
static const struct record target_record = RECORD("session_target", struct target, target_fields);

struct begin_request {
    struct field_list paths;
    uint64_t bytes;
    const char *sha256;
    struct field_records files;
    const char *set;
    struct field_list tags;
    bool force;
    double expires_s;
    bool urls;
};

#define BEGIN(TYPE, member) FIELD(TYPE, struct begin_request, member)
static const struct field begin_fields[] = {
    {"paths", BEGIN(LIST, paths), .operand = true,
     .help = "Paths of the files; %23, %3A, %40 and %25 stand for '#', ':', '@' and '%'."},
    {"size", BEGIN(BYTES, bytes), .unit = "bytes",
     .help = "Size that the file must have (one path)."},
    {"sha256", BEGIN(TEXT, sha256), .value = "HEX",
     .help = "Digest that the file must have (one path)."},
    {"files", BEGIN(RECORDS, files), .record = &target_record,
     .is_remote_only = true, .help = "The files, instead of paths."},
    {"set", BEGIN(TEXT, set), .value = "NAME",
     .help = "Also create a version of this set from the files."},
    {"tags", BEGIN(LIST, tags), .option = "--tag", .value = "KEY=VALUE",
     .help = "Set this tag on every new version, and on the set version."},
    {"force", BEGIN(BOOL, force), .help = "Create a new version even of unchanged content."},
    {"expires_s", BEGIN(DURATION, expires_s), .option = "--expires",
     .value = "DURATION", .unit = "s", .preset = "1d",
     .help = "How long after the last activity the session expires (default 1d)."},
    {"urls", BEGIN(BOOL, urls), .help = "Make an upload URL for every file (S3)."},
};
/* clang-format on */

struct targets {
    struct lake_target *all;
    struct sha256_digest *digests;
    char **paths; /* that `all` borrows */
    size_t n;
};

static void targets_clear(struct targets *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->paths[i]);
    free(t->paths);
    free(t->all);
    free(t->digests);
}

static int add_target(struct targets *t, const struct target *from, struct err *e)
{
    size_t i = t->n++;

    t->paths[i] = mem_dup(from->path);
    t->all[i] = (struct lake_target){
        .path = t->paths[i],
        .size_known = from->bytes != UINT64_MAX,
        .size = from->bytes,
        .digest = from->sha256 ? &t->digests[i] : NULL,
    };
    if (from->sha256 && sha256_parse(from->sha256, &t->digests[i], e) < 0)
        return err_wrap(e, "%s: sha256", from->path);
    return 0;
}

static int targets_of(const struct begin_request *q,
                      const struct answer *out,
                      struct targets *t,
                      struct err *e)
{
    const struct target *files = q->files.items;
    bool is_exact = q->bytes != UINT64_MAX || q->sha256;
    size_t n = q->paths.n + q->files.n;
    char size[64], sha256[64];

    if (n == 0)
        return err_set(e, ERR_USAGE, "name the paths of the files");
    if (is_exact && (q->paths.n != 1 || q->files.n))
        return err_set(e, ERR_USAGE, "%s and %s are for one path", answer_spell(out, "size", size),
                       answer_spell(out, "sha256", sha256));
    t->all = mem_zero(n, sizeof *t->all);
    t->digests = mem_zero(n, sizeof *t->digests);
    t->paths = mem_zero(n, sizeof *t->paths);
    for (size_t i = 0; i < q->paths.n; i++) {
        AUTO_MEM char *path = lake_path_unescape(q->paths.items[i]);
        if (add_target(t, &(struct target){path, q->bytes, q->sha256}, e) < 0)
            return -1;
    }
    for (size_t i = 0; i < q->files.n; i++)
        if (add_target(t, &files[i], e) < 0)
            return -1;
    return 0;
}

static int run_begin(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct begin_request *q = request;
    AUTO_CLEAR(targets) struct targets targets = {0};
    const struct lake_put_options like = {
        .set = app_data_set_name(q->set),
        .tags = q->tags.items,
        .n_tags = q->tags.n,
        .force = q->force,
    };

    if (targets_of(q, out, &targets, e) < 0)
        return -1;
    struct telling t = {.l = app_lake(app, e), .out = out, .urls = q->urls};
    if (!t.l || lake_session_begin(t.l, targets.all, targets.n, &like, q->expires_s, &t.id, e) < 0)
        return -1;
    if (tell_all(&t, e) == 0)
        return 0;
    /* The caller does not know the number of the session. */
    (void)lake_session_abort(t.l, t.id, NULL);
    return -1;
}

const struct operation session_begin_operation = {
    .name = "session.begin",
    .summary = "Begin an upload whose files arrive one by one, from any machine.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct begin_request, begin_fields),
    SESSION_ANSWER,
    .run = run_begin,
};
