#include "lake/job/job_code.h"

#include "base/arena.h"
#include "lake/core/entries.h"
#include "lake/job/internal.h"

#include <string.h>

/* ---- writing ---- */

static int write_tag(struct lake *l, int64_t id, const struct sha256_digest *key, struct err *e)
{
    struct job_row row;

    return lake_job_row_own(l, id, &row, e) < 0
               ? -1
               : db_run(l->db, e,
                        "INSERT INTO job_code (job, project, key) VALUES ($1, $2, $3)"
                        " ON CONFLICT (job) DO UPDATE SET key = excluded.key",
                        DB_INT(id), DB_INT(l->project), DB_BYTES(key->bytes, sizeof key->bytes));
}

int lake_job_code_tag(struct lake *l, int64_t id, const struct sha256_digest *key, struct err *e)
{
    return db_begin(l->db, e) < 0 ? -1 : db_end(l->db, write_tag(l, id, key, e), e);
}

/* The id of the list; 0 = an empty one. */
static int put_used(struct lake *l, const void *used, size_t n, int64_t *id_out, struct err *e)
{
    struct sha256_digest hash = sha256_of(used, n);

    *id_out = 0;
    if (n == 0)
        return 0;
    int found =
        db_get_int(l->db, e, id_out, "SELECT id FROM code_used WHERE project = $1 AND hash = $2",
                   DB_INT(l->project), DB_BYTES(hash.bytes, sizeof hash.bytes));
    if (found != 0)
        return found < 0 ? -1 : 0;
    if (db_ids(l->db, "code_used", 1, id_out, e) < 0)
        return -1;
    return db_run(l->db, e,
                  "INSERT INTO code_used (id, project, hash, body) VALUES ($1, $2, $3, $4)",
                  DB_INT(*id_out), DB_INT(l->project), DB_BYTES(hash.bytes, sizeof hash.bytes),
                  DB_BYTES(used, n));
}

static int write_note(struct lake *l,
                      const struct lake_job_code *code,
                      const void *used,
                      size_t n_used,
                      struct err *e)
{
    struct job_row row;
    int64_t list;

    if (lake_job_row_own(l, code->job, &row, e) < 0 || put_used(l, used, n_used, &list, e) < 0)
        return -1;
    return db_run(l->db, e,
                  "INSERT INTO job_code (job, project, code_version, why, names, whole, used)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (job) DO UPDATE SET"
                  " code_version = excluded.code_version, why = excluded.why,"
                  " names = excluded.names, whole = excluded.whole, used = excluded.used",
                  DB_INT(code->job), DB_INT(l->project), DB_INT(code->code_version),
                  DB_TEXT(code->why), DB_BYTES(code->names.bytes, SHA256_BYTES),
                  DB_BYTES(code->whole.bytes, SHA256_BYTES), DB_INT(list));
}

int lake_job_code_note(struct lake *l,
                       const struct lake_job_code *code,
                       const void *used,
                       size_t n_used,
                       struct err *e)
{
    if (db_begin(l->db, e) < 0)
        return -1;
    return db_end(l->db, write_note(l, code, used, n_used, e), e) < 0
               ? err_wrap(e, "record the code that job %lld used", (long long)code->job)
               : 0;
}

/* ---- reading ---- */

#define CODE_COLUMNS                                                                               \
    "SELECT c.job, c.code_version, c.why, c.names, c.whole, c.used, j.code_version"                \
    " FROM job_code c JOIN job j ON j.id = c.job"

static int read_row(struct db_query *q, struct arena *arena, struct lake_job_code *out)
{
    const char *why = db_is_null(q, 2) ? NULL : db_text(q, 2);

    *out = (struct lake_job_code){
        .job = db_int(q, 0),
        .code_version = db_int(q, 1),
        .why = why ? arena_dup(arena, why) : NULL,
        .used = db_int(q, 5),
        .asked_version = db_int(q, 6),
    };
    /* What cannot be read is not recorded. */
    if (!object_read_digest(q, 3, &out->names) || !object_read_digest(q, 4, &out->whole))
        out->why = NULL;
    return 0;
}

int lake_job_code_load(
    struct lake *l, int64_t id, struct arena *arena, struct lake_job_code *out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, CODE_COLUMNS " WHERE c.job = $1 AND c.project = $2", DB_INT(id),
                 DB_INT(l->project));
    int found = db_step(q, e);

    if (found == 1)
        read_row(q, arena, out);
    return found;
}

int lake_job_code_find(struct lake *l,
                       const struct sha256_digest *key,
                       struct arena *arena,
                       struct lake_job_code *out,
                       size_t limit,
                       struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 CODE_COLUMNS " WHERE c.project = $1 AND c.key = $2 AND j.state = $3"
                              " ORDER BY c.job DESC LIMIT $4",
                 DB_INT(l->project), DB_BYTES(key->bytes, sizeof key->bytes),
                 DB_INT(LAKE_JOB_FINISHED), DB_INT((int64_t)limit));
    int more, n = 0;

    while ((more = db_step(q, e)) == 1)
        read_row(q, arena, &out[n++]);
    return more < 0 ? -1 : n;
}

int lake_job_code_used(struct lake *l,
                       int64_t used,
                       struct arena *arena,
                       const void **bytes_out,
                       size_t *n_out,
                       struct err *e)
{
    *bytes_out = NULL;
    *n_out = 0;
    if (!used)
        return 0;
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, "SELECT body FROM code_used WHERE id = $1 AND project = $2",
                 DB_INT(used), DB_INT(l->project));
    int found = db_step(q, e);
    if (found <= 0)
        return found < 0 ? -1
                         : err_set(e, ERR_IO, "the lake's list %lld of used code is missing",
                                   (long long)used);
    const void *bytes = db_bytes(q, 0, n_out);
    void *copy = arena_alloc(arena, *n_out + 1, 1);
    if (!copy)
        return err_set(e, ERR_USAGE, "a list of used code is too large");
    if (*n_out)
        memcpy(copy, bytes, *n_out);
    *bytes_out = copy;
    return 0;
}

/* ---- the files of the code ---- */

struct reading {
    struct lake *l;
    int (*visit)(void *context, const struct lake_code_file *f, struct err *e);
    void *context;
};

static int read_file(void *context, const struct lake_entry *entry, struct err *e)
{
    struct reading *r = context;
    struct lake_code_file f = {.path = entry->path};
    AUTO_RESET struct db_query *q =
        db_query(r->l->db, e,
                 "SELECT v.executable, o.sha256 FROM version v JOIN object o ON o.id = v.object"
                 " WHERE v.id = $1",
                 DB_INT(entry->version));
    int found = db_step(q, e);

    if (found < 0)
        return -1;
    if (found == 0 || !object_read_digest(q, 1, &f.digest))
        return err_set(e, ERR_IO, "the lake's database is damaged at version %lld",
                       (long long)entry->version);
    f.executable = db_int(q, 0) != 0;
    return r->visit(r->context, &f, e);
}

int lake_job_code_files(struct lake *l,
                        int64_t set_version,
                        int (*visit)(void *context, const struct lake_code_file *f, struct err *e),
                        void *context,
                        struct err *e)
{
    struct reading r = {l, visit, context};

    return entries_each(l, set_version, "/", read_file, &r, e);
}
