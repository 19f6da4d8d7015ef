/* Records jobs that are submitted, many in one transaction. `job submit`, sweeps and runs call
 * it. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "lake/core/path.h"
#include "lake/job/internal.h"
#include "lake/meta/internal.h"
#include "lake/meta/meta.h"
#include "lake/meta/meta_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SUBMIT_MAX 1000000
/* More than any machine has; sums of them stay exact. */
#define CPUS_MAX 1e6
#define MEMORY_MB_MAX ((uint64_t)1 << 40)
#define TIME_LIMIT_S_MAX 1e10

/* A reference as it was last asked for: thousands of jobs of one submission share their input. */
struct exact {
    char *asked; /* NULL = none yet */
    char *text;
    int64_t version; /* id of the set version */
};

struct submission {
    struct lake *l;
    int64_t now_ms;
    int64_t id; /* of the job at hand */
    struct exact input, code;
    char *output; /* that may be written; NULL = none asked yet */
};

static void exact_clear(struct exact *x)
{
    free(x->asked);
    free(x->text);
    *x = (struct exact){0};
}

static void submission_clear(struct submission *s)
{
    exact_clear(&s->input);
    exact_clear(&s->code);
    free(s->output);
}

/* ---- what a request may ask for ---- */

static int check_name(const char *name, struct err *e)
{
    size_t len = strlen(name), line;
    char shown[PATH_SHOWN];

    if (len > 0 && len <= LAKE_NAME_MAX && utf8_first_bad(name, len, &line) == len &&
        strcspn(name, "\r\n\t") == len)
        return 0;
    return err_set(e, ERR_USAGE,
                   "\"%s\" is not a name for a job; give one line of at most %d bytes",
                   path_shown(name, shown), LAKE_NAME_MAX);
}

static int check_resources(const struct lake_job_request *r, struct err *e)
{
    if (!(r->cpus >= 0 && r->cpus <= CPUS_MAX))
        return err_set(e, ERR_USAGE, "%g CPUs cannot be had", r->cpus);
    if (r->memory_mb > MEMORY_MB_MAX)
        return err_set(e, ERR_USAGE, "%llu MB of memory cannot be had",
                       (unsigned long long)r->memory_mb);
    if (!(r->time_limit_s >= 0 && r->time_limit_s <= TIME_LIMIT_S_MAX))
        return err_set(e, ERR_USAGE, "a time limit of %g s cannot be set; give 0 to 1e10 seconds",
                       r->time_limit_s);
    if (r->run < 0 || r->rerun_of < 0)
        return err_set(e, ERR_USAGE, "numbers of runs and jobs are above 0");
    return 0;
}

static int check_texts(const struct lake_job_request *r, struct err *e)
{
    size_t bytes = 0;

    if (r->n_command == 0 || !r->command[0][0])
        return err_set(e, ERR_USAGE, "there is no command to run");
    for (size_t i = 0; i < r->n_command && bytes <= LAKE_JOB_TEXT_MAX; i++)
        bytes += strlen(r->command[i]) + 1;
    if (bytes > LAKE_JOB_TEXT_MAX)
        return err_set(e, ERR_USAGE, "the command is longer than %zu bytes: put it into a script",
                       LAKE_JOB_TEXT_MAX);
    if (r->details && strlen(r->details) > LAKE_JOB_TEXT_MAX)
        return err_set(e, ERR_USAGE,
                       "environment and other details are longer than %zu bytes: put them into a "
                       "file of the code",
                       LAKE_JOB_TEXT_MAX);
    return 0;
}

static int check_request(const struct lake_job_request *r, struct err *e)
{
    if (check_texts(r, e) < 0 || check_resources(r, e) < 0 || (r->name && check_name(r->name, e)))
        return -1;
    for (size_t i = 0; i < r->n_tags; i++)
        if (lake_tag_check(r->tags[i], e) < 0)
            return -1;
    for (size_t i = 0; i < r->n_params; i++)
        if (meta_key_check(r->params[i], strcspn(r->params[i], "="), e) < 0)
            return -1;
    return r->output ? lake_path_check_set(r->output, e) : 0;
}

/* ---- references ---- */

/* Of a file the set it comes by is named, not the version of the file. */
static char *exact_text(struct lake *l, const struct lake_ref *ref, struct err *e)
{
    int64_t number = 0;

    if (ref->kind == LAKE_REF_SET)
        return lake_ref_text(ref);
    if (db_get_int(l->db, e, &number, "SELECT number FROM set_version WHERE id = $1",
                   DB_INT(ref->set_version)) < 0)
        return NULL;
    AUTO_MEM char *path = lake_path_escape(ref->path);
    return mem_printf("%s@%s:%lld", path, ref->set_name, (long long)number);
}

static int make_exact(struct lake *l, const char *asked, struct exact *out, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    if (!asked || (out->asked && strcmp(out->asked, asked) == 0))
        return 0;
    exact_clear(out);
    if (lake_resolve(l, asked, LAKE_READ, &ref, e) < 0)
        return -1;
    if (ref.set_version == 0)
        return err_set(
            e, ERR_USAGE,
            "%.200s is not a set or part of one; jobs work on sets, see tradewind help set "
            "create",
            asked);
    out->text = exact_text(l, &ref, e);
    out->version = ref.set_version;
    if (!out->text)
        return -1;
    out->asked = mem_dup(asked);
    return 0;
}

static int check_output(struct submission *s, const char *name, struct err *e)
{
    AUTO_MEM char *shown = mem_printf("@%s", name);
    struct item_row row;

    if (s->output && strcmp(s->output, name) == 0)
        return 0;
    int found = fileset_find(s->l, name, &row, e);
    if (found < 0 || (found == 1 && item_ask(s->l, &row, shown, LAKE_WRITE, e) < 0))
        return -1;
    free(s->output);
    s->output = mem_dup(name);
    return 0;
}

/* ---- rows ---- */

static int insert_job(struct submission *s, const struct lake_job_request *r, struct err *e)
{
    char shown[PATH_SHOWN];
    const char *name = r->name ? r->name : path_shown(r->command[0], shown);

    return db_run(
        s->l->db, e,
        "INSERT INTO job (id, project, creator, name, state, reason, input, input_version, code,"
        " code_version, output_name, output, cpus, memory_mb, time_limit_s, run, rerun_of,"
        " priority, queued, changed) VALUES ($1, $2, $3, $4, 1, '', $5, $6, $7, $8, $9,"
        " '@' || $9, $10, $11, $12, $13, $14, $15, $16, $16)",
        DB_INT(s->id), DB_INT(s->l->project), DB_TEXT(s->l->user), DB_TEXT(name),
        r->input ? DB_TEXT(s->input.text) : DB_NULL, r->input ? DB_INT(s->input.version) : DB_NULL,
        r->code ? DB_TEXT(s->code.text) : DB_NULL, r->code ? DB_INT(s->code.version) : DB_NULL,
        DB_TEXT(r->output), DB_REAL(r->cpus), DB_INT((int64_t)r->memory_mb),
        r->time_limit_s > 0 ? DB_REAL(r->time_limit_s) : DB_NULL, r->run ? DB_INT(r->run) : DB_NULL,
        r->rerun_of ? DB_INT(r->rerun_of) : DB_NULL, DB_INT(r->priority), DB_INT(s->now_ms));
}

_Static_assert(LAKE_JOB_QUEUED == 1, "number in the SQL above");

static int insert_texts(struct submission *s, const struct lake_job_request *r, struct err *e)
{
    AUTO_CLEAR(buf) struct buf words;

    buf_init(&words, LAKE_JOB_TEXT_MAX);
    for (size_t i = 0; i < r->n_command; i++)
        buf_add(&words, r->command[i], strlen(r->command[i]) + 1);
    return db_run(s->l->db, e, "INSERT INTO job_text (job, command, details) VALUES ($1, $2, $3)",
                  DB_INT(s->id), DB_BYTES(words.data, words.len),
                  DB_TEXT(r->details ? r->details : "{}"));
}

static int submit_one(struct submission *s, const struct lake_job_request *r, struct err *e)
{
    struct job_row old;

    if (make_exact(s->l, r->input, &s->input, e) < 0)
        return err_wrap(e, "input");
    if (make_exact(s->l, r->code, &s->code, e) < 0)
        return err_wrap(e, "code");
    if ((r->output && check_output(s, r->output, e) < 0) ||
        (r->rerun_of && lake_job_row_get(s->l, r->rerun_of, &old, e) < 0))
        return -1;
    if (insert_job(s, r, e) < 0 || insert_texts(s, r, e) < 0 ||
        lake_job_log(s->l, s->id, LAKE_JOB_QUEUED, s->now_ms, "", e) < 0)
        return -1;
    if (lake_job_keys_submit(s->l, s->id, r, e) < 0)
        return -1;
    for (size_t i = 0; i < r->n_tags; i++)
        if (meta_put(s->l, LAKE_ITEM_JOB, s->id, r->tags[i], e) < 0)
            return -1;
    return 0;
}

/* Of one among many its place is told. */
static int blame(size_t i, size_t n, struct err *e)
{
    return n == 1 ? -1 : err_wrap(e, "job %zu of %zu", i + 1, n);
}

static int submit_all(struct submission *s,
                      const struct lake_job_request *requests,
                      size_t n,
                      int64_t *first_out,
                      struct err *e)
{
    s->now_ms = lake_now_ms(s->l);
    if (db_ids(s->l->db, "job", (int64_t)n, first_out, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        s->id = *first_out + (int64_t)i;
        if (submit_one(s, &requests[i], e) < 0)
            return blame(i, n, e);
    }
    return 0;
}

int lake_job_submit(struct lake *l,
                    const struct lake_job_request *requests,
                    size_t n,
                    int64_t *first_id_out,
                    struct err *e)
{
    AUTO_CLEAR(submission) struct submission s = {.l = l};

    *first_id_out = 0;
    if (n == 0 || n > SUBMIT_MAX)
        return err_set(e, ERR_USAGE, "%zu jobs cannot be submitted at once: 1 to %d can", n,
                       SUBMIT_MAX);
    for (size_t i = 0; i < n; i++)
        if (check_request(&requests[i], e) < 0)
            return blame(i, n, e);
    if (db_begin(l->db, e) < 0)
        return -1;
    if (db_end(l->db, submit_all(&s, requests, n, first_id_out, e), e) == 0)
        return 0;
    *first_id_out = 0;
    return -1;
}
