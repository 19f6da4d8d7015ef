/* Keys of jobs that their outputs have, too: tags, metrics and parameters; and which parameters a
 * request has. job_submit.c, job_store.c and job_summary.c call it. */
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "lake/job/internal.h"
#include "lake/job/job_args.h"
#include "lake/meta/internal.h"
#include "lake/meta/meta_value.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PREFIX "param."
/* Of an option whose name is a key of the lake itself (job_args.h). */
#define ARGUMENT "arg."

/* ---- one key ---- */

/* Whether a kind below has it. */
static int is_taken(
    struct lake *l, int64_t job, int64_t key, enum job_key_kind kind, bool *out, struct err *e)
{
    int64_t owner = kind;
    int got = db_get_int(l->db, e, &owner, "SELECT kind FROM job_tag WHERE job = $1 AND key = $2",
                         DB_INT(job), DB_INT(key));

    *out = owner < (int64_t)kind;
    return got < 0 ? -1 : 0;
}

static int own(struct lake *l, int64_t job, int64_t key, enum job_key_kind kind, struct err *e)
{
    return db_run(l->db, e,
                  "INSERT INTO job_tag (job, key, kind) VALUES ($1, $2, $3)"
                  " ON CONFLICT (job, key) DO UPDATE SET kind = excluded.kind"
                  " WHERE kind <> excluded.kind",
                  DB_INT(job), DB_INT(key), DB_INT(kind));
}

int lake_job_key_put(struct lake *l,
                     const struct job_row *row,
                     enum job_key_kind kind,
                     const struct meta_pair *pair,
                     struct err *e)
{
    int64_t key = 0;
    bool taken = false;
    int known = meta_key_find(l, pair->key, &key, e);

    if (known < 0 || (known && is_taken(l, row->id, key, kind, &taken, e) < 0))
        return -1;
    if (taken)
        return 0;
    if (meta_put_pair(l, LAKE_ITEM_JOB, row->id, pair, e) < 0 ||
        (!known && meta_key_find(l, pair->key, &key, e) < 0) || own(l, row->id, key, kind, e) < 0)
        return -1;
    return row->output_version ? meta_put_pair(l, LAKE_ITEM_SET, row->output_version, pair, e) : 0;
}

int lake_job_keys_copy(struct lake *l, int64_t job, int64_t set_version, struct err *e)
{
    return db_run(l->db, e, /* A slot begins with the key and the kind of thing: see meta_slot. */
                  "INSERT INTO meta (kind, item, key, slot, number, value)"
                  " SELECT $3, $2, m.key, m.slot + ($3 - $4) * $5, m.number, m.value"
                  " FROM job_tag t CROSS JOIN meta m WHERE t.job = $1 AND m.kind = $4"
                  " AND m.item = $1 AND m.key = t.key",
                  DB_INT(job), DB_INT(set_version), DB_INT(LAKE_ITEM_SET), DB_INT(LAKE_ITEM_JOB),
                  DB_INT(META_SLOTS));
}

/* ---- parameters ---- */

/* Names of the environment that say where a job runs, not what it computes. */
static bool is_surroundings(const char *name)
{
    static const char *const names[] = {"PATH",
                                        "HOME",
                                        "VIRTUAL_ENV",
                                        "CONDA_PREFIX",
                                        "PYTHONPATH",
                                        "LD_LIBRARY_PATH",
                                        "CUDA_VISIBLE_DEVICES",
                                        "HIP_VISIBLE_DEVICES"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "TRADEWIND_", 10) == 0 || strncmp(name, "SKYPILOT_", 9) == 0;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);

    return n >= k && strcasecmp(name + n - k, end) == 0;
}

/* By its name, whatever is done with it; a number is none (--max-token 512). */
static bool is_secret_looking(const struct meta_pair *pair)
{
    static const char *const ends[] = {"TOKEN",      "SECRET",  "PASSWORD",   "PASSWD",
                                       "PASSPHRASE", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY",
                                       "SECRET_KEY", "APIKEY",  "CREDENTIALS"};

    for (size_t i = 0; pair->kind == LAKE_VALUE_TEXT && i < sizeof ends / sizeof *ends; i++)
        if (ends_with(pair->key, ends[i]))
            return true;
    return false;
}

/* As NAME and param.NAME; a name that the lake needs itself as the latter only. */
static int put_param(struct lake *l, int64_t job, const struct meta_pair *pair, struct err *e)
{
    const struct job_row row = {.id = job};
    struct meta_pair named = *pair;
    size_t skip = strncmp(pair->key, ARGUMENT, strlen(ARGUMENT)) == 0 ? strlen(ARGUMENT) : 0;

    if (is_secret_looking(pair))
        return 0;
    if (meta_job_builtin(pair->key) == META_NONE &&
        lake_job_key_put(l, &row, JOB_KEY_PARAMETER, pair, e) < 0)
        return -1;
    if (strlen(pair->key + skip) + strlen(PREFIX) > LAKE_KEY_MAX)
        return 0;
    snprintf(named.key, sizeof named.key, PREFIX "%s", pair->key + skip);
    return lake_job_key_put(l, &row, JOB_KEY_PARAMETER, &named, e);
}

struct submitted {
    struct lake *l;
    int64_t job;
};

static int put_argument(void *context, const struct meta_pair *pair, struct err *e)
{
    const struct submitted *s = context;

    return pair->is_option ? put_param(s->l, s->job, pair, e)
                           : meta_put_pair(s->l, LAKE_ITEM_JOB, s->job, pair, e);
}

/* False: it cannot be kept as metadata. */
static bool make_pair(const char *key, size_t key_len, const char *value, struct meta_pair *out)
{
    size_t len = strlen(value), line;

    *out = (struct meta_pair){.value = value};
    if (meta_key_check(key, key_len, NULL) < 0 || len > LAKE_VALUE_MAX ||
        utf8_first_bad(value, len, &line) < len)
        return false;
    memcpy(out->key, key, key_len);
    out->kind = meta_value_kind(value, &out->number);
    return true;
}

static bool is_listed(const json_t *names, const char *name)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *listed = json_string_value(json_array_get(names, i));
        if (listed && strcmp(listed, name) == 0)
            return true;
    }
    return false;
}

static int put_environment(struct lake *l, int64_t job, const char *details, struct err *e)
{
    AUTO_JSON json_t *root =
        details && strstr(details, "\"env\"") ? json_loads(details, 0, NULL) : NULL;
    json_t *envs = json_object_get(root, "env"), *value;
    struct meta_pair pair;
    const char *key;

    json_object_foreach(envs, key, value)
    {
        const char *text = json_string_value(value);
        if (text && !is_surroundings(key) && !is_listed(json_object_get(root, "secrets"), key) &&
            make_pair(key, strlen(key), text, &pair) && put_param(l, job, &pair, e) < 0)
            return -1;
    }
    return 0;
}

int lake_job_keys_submit(struct lake *l,
                         int64_t job,
                         const struct lake_job_request *request,
                         struct err *e)
{
    struct submitted s = {l, job};
    struct meta_pair pair;

    if (put_environment(l, job, request->details, e) < 0)
        return -1;
    for (size_t i = 0; i < request->n_params; i++) {
        const char *text = request->params[i];
        size_t n = strcspn(text, "=");
        if (make_pair(text, n, text[n] ? text + n + 1 : "", &pair) &&
            put_param(l, job, &pair, e) < 0)
            return -1;
    }
    return lake_job_args_each(request->command, request->n_command, put_argument, &s, e);
}

/* ---- lists ---- */

/* The columns key, slot, number, value. */
static int tell_values(struct db_query *q,
                       int (*visit)(void *context, const struct lake_value *v, struct err *e),
                       void *context,
                       struct err *e)
{
    int more;

    while ((more = db_step(q, e)) == 1) {
        struct lake_value v = {
            .key = db_text(q, 0), .kind = meta_slot_kind(db_int(q, 1)), .number = db_real(q, 2)};
        v.text = v.kind == LAKE_VALUE_NONE ? NULL : db_text(q, 3);
        if (visit(context, &v, e) < 0)
            return -1;
    }
    return more;
}

int lake_job_params(struct lake *l,
                    int64_t id,
                    int (*visit)(void *context, const struct lake_value *v, struct err *e),
                    void *context,
                    struct err *e)
{
    struct job_row row;

    if (lake_job_row_get(l, id, &row, e) < 0)
        return -1;
    AUTO_RESET struct db_query *q = db_query(
        l->db, e,
        "SELECT substr(k.name, 7), m.slot, m.number, m.value FROM job_tag t CROSS JOIN meta_key k"
        " CROSS JOIN meta m WHERE t.job = $1 AND t.kind = $2 AND k.id = t.key"
        " AND k.name >= 'param.' AND k.name < 'param/' AND m.kind = $3 AND m.item = $1"
        " AND m.key = t.key ORDER BY k.name",
        DB_INT(id), DB_INT(JOB_KEY_PARAMETER), DB_INT(LAKE_ITEM_JOB));
    return tell_values(q, visit, context, e);
}

int lake_job_tags(struct lake *l,
                  int64_t id,
                  int (*visit)(void *context, const struct lake_value *v, struct err *e),
                  void *context,
                  struct err *e)
{
    struct job_row row;

    if (lake_job_row_get(l, id, &row, e) < 0)
        return -1;
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT k.name, m.slot, m.number, m.value FROM meta m CROSS JOIN meta_key k"
                 " LEFT JOIN job_tag t ON t.job = $1 AND t.key = m.key"
                 " WHERE m.kind = $2 AND m.item = $1 AND k.id = m.key"
                 " AND COALESCE(t.kind, 0) NOT IN ($3, $4) AND NOT (COALESCE(t.kind, 0) = $5"
                 " AND k.name >= 'param.' AND k.name < 'param/') ORDER BY k.name",
                 DB_INT(id), DB_INT(LAKE_ITEM_JOB), DB_INT(JOB_KEY_METRIC), DB_INT(JOB_KEY_EXTREME),
                 DB_INT(JOB_KEY_PARAMETER));
    return tell_values(q, visit, context, e);
}
