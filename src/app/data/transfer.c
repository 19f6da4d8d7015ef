/* transfer: moving bytes into the lake and out of it. `tradewind put`, `get`, `cat` and `url` call
 * these functions. */
#include "app/data/data.h"
#include "base/mem.h"
#include "lake/core/path.h"

/* ---- put ---- */

/* clang-format off */
static const struct field put_file_fields[] = {
    {"path", FIELD(TEXT, struct data_put_file, path), .help = "Path in the lake."},
    {"version", FIELD(INT, struct data_put_file, version), .help = "Number of the version."},
    {"size_bytes", FIELD(BYTES, struct data_put_file, bytes), .unit = "bytes", .help = "Its size."},
    {"sha256", FIELD(TEXT, struct data_put_file, sha256), .help = "Digest of the content."},
    {"unchanged", FIELD(BOOL, struct data_put_file, unchanged),
     .help = "Whether the latest version had this content already."},
    {"ref", FIELD(TEXT, struct data_put_file, ref), .help = "Reference of the version."},
};

static const struct field put_fields[] = {
    {"sources", FIELD(LIST, struct data_put, sources), .required = true, .operand = true,
     .is_local = true, .help = "Files and directories of this machine; - for standard input."},
    {"destination", FIELD(TEXT, struct data_put, destination), .required = true, .operand = true,
     .help = "Path in the lake; with '/' at the end each source goes below it."},
    {"set", FIELD(TEXT, struct data_put, set), .value = "NAME",
     .help = "Also create a version of this set from the files."},
    {"tags", FIELD(LIST, struct data_put, tags), .option = "--tag", .value = "KEY=VALUE",
     .help = "Set this tag on every new version, and on the set version."},
    {"force", FIELD(BOOL, struct data_put, force),
     .help = "Create a new version even of unchanged content, and store damaged content again."},
};
/* clang-format on */

static const struct field put_summary_fields[] = {
    {"files_count", FIELD(COUNT, struct data_put_summary, files), .help = "How many files."},
};

static int tell_put(void *context, const struct lake_put_file *file, struct err *e)
{
    char hex[SHA256_HEX];
    AUTO_MEM char *ref = lake_file_ref(file->path, file->number);
    const struct data_put_file item = {
        .path = file->path,
        .version = file->number,
        .bytes = file->size,
        .sha256 = sha256_text(&file->digest, hex),
        .unchanged = file->unchanged,
        .ref = ref,
    };

    return answer_item(context, &item, e);
}

static int run_put(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct data_put *q = request;
    AUTO_MEM char *destination = lake_path_unescape(q->destination);
    struct app_progress progress = {app, "storing"};
    const struct lake_put_options options = {
        .sources = q->sources.items,
        .n_sources = q->sources.n,
        .destination = destination,
        .set = app_data_set_name(q->set),
        .tags = q->tags.items,
        .n_tags = q->tags.n,
        .force = q->force,
        .progress = app_lake_progress(&progress),
    };
    struct lake_put_summary s;
    struct lake *l = app_lake(app, e);

    if (!l || lake_put(l, &options, tell_put, out, &s, e) < 0)
        return -1;
    if (s.resumed)
        app_notice(app, "resumed session %lld", (long long)s.session);
    const struct data_put_summary summary = {
        .files = s.files,
        .bytes = s.bytes,
        .unchanged = s.unchanged,
        .stored_bytes = s.session ? s.new_bytes : UINT64_MAX,
        .skipped = s.skipped,
        .set = options.set,
        .set_version = s.set_number,
    };
    return answer_head(out, &summary, e);
}

const struct operation data_put_operation = {
    .name = "file.put",
    .summary = "Put files and directories of this machine into the lake.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct data_put, put_fields),
    .answer = RECORD_AT("put_summary", struct data_put_summary, put_summary_fields),
    .item = RECORD_AT("put_file", struct data_put_file, put_file_fields),
    .run = run_put,
};

/* ---- get ---- */

/* clang-format off */
static const struct field got_fields[] = {
    {"files", FIELD(COUNT, struct lake_get_summary, files), .help = "How many files there are."},
    {"bytes", FIELD(BYTES, struct lake_get_summary, bytes), .unit = "bytes", .help = "Their size."},
    {"unchanged", FIELD(COUNT, struct lake_get_summary, unchanged),
     .help = "How many were there already with this content."},
    {"linked", FIELD(COUNT, struct lake_get_summary, linked),
     .help = "How many share storage with the lake."},
};

static const struct field get_fields[] = {
    {"refs", FIELD(LIST, struct data_get, refs), .required = true, .operand = true,
     .help = "Files, directories and sets of the lake."},
    {"directory", FIELD(TEXT, struct data_get, directory), .required = true, .operand = true,
     .is_local = true, .help = "Directory of this machine."},
    {"force", FIELD(BOOL, struct data_get, force), .help = "Overwrite files that differ."},
    {"link", FIELD(BOOL, struct data_get, link),
     .help = "Share storage with the lake (reflinks, or read-only hard links)."},
};
/* clang-format on */

static int run_get(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct data_get *q = request;
    struct app_progress progress = {app, "fetching"};
    const struct lake_get_options options = {
        .refs = q->refs.items,
        .n_refs = q->refs.n,
        .directory = q->directory,
        .force = q->force,
        .link = q->link,
        .progress = app_lake_progress(&progress),
    };
    struct lake_get_summary s;
    struct lake *l = app_lake(app, e);

    if (!l || lake_get(l, &options, &s, e) < 0)
        return -1;
    return answer_head(out, &s, e);
}

const struct operation data_get_operation = {
    .name = "file.get",
    .summary = "Write files of the lake below a directory of this machine.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct data_get, get_fields),
    .answer = RECORD_AT("got", struct lake_get_summary, got_fields),
    .run = run_get,
};

/* ---- cat ---- */

int app_data_cat(struct app *app,
                 const char *ref_text,
                 int (*sink)(void *context, const void *bytes, size_t n, struct err *e),
                 void *context,
                 struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    struct lake *l = app_lake(app, e);

    if (!l || lake_resolve(l, ref_text, LAKE_READ, &ref, e) < 0)
        return -1;
    return lake_cat(l, &ref, sink, context, e);
}

/* ---- url.get ---- */

struct url_request {
    const char *ref;
    double lasts_s;
};

/* clang-format off */
static const struct field url_request_fields[] = {
    {"ref", FIELD(TEXT, struct url_request, ref), .required = true, .operand = true,
     .help = "The file version."},
    /* A week is the limit of S3. */
    {"expires_s", FIELD(DURATION, struct url_request, lasts_s), .option = "--expires", .unit = "s",
     .preset = "1h", .least = 1, .most = 604800,
     .help = "How long the URL works, at most 7d (default 1h)."},
};

static const struct field url_fields[] = {
    {"url", FIELD(TEXT, struct data_url, url), .help = "The URL."},
    {"header", FIELD(TEXT, struct data_url, header),
     .help = "Header that the request must carry; null = none."},
};
/* clang-format on */

static int run_url(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct url_request *q = request;
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    AUTO_CLEAR(store_url) struct store_url url = {0};
    struct lake *l = app_lake(app, e);

    if (!l || lake_resolve(l, q->ref, LAKE_READ, &ref, e) < 0 ||
        lake_url(l, &ref, (unsigned)q->lasts_s, &url, e) < 0)
        return -1;
    return answer_head(out, &(struct data_url){url.url, url.header}, e);
}

const struct operation url_get_operation = {
    .name = "url.get",
    .summary = "Make a URL with which anyone can read one file version for a limited time.",
    .role = APP_MEMBER, /* the URL reads without an account */
    .effect = OPERATION_READS,
    REQUEST(struct url_request, url_request_fields),
    .answer = RECORD_AT("url", struct data_url, url_fields),
    .run = run_url,
};
