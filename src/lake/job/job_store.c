/* Output of a job: stored as a set version with edges to its input, and the tags the job printed.
 * The broker calls it. */
#include "base/log.h"
#include "base/mem.h"
#include "lake/job/internal.h"
#include "lake/job/job.h"
#include "lake/meta/internal.h"
#include "lake/meta/meta_value.h"
#include "lake/put/internal.h"
#include "lake/set/graph.h"
#include "lake/set/set.h"

#include <string.h>

/* ---- tags ---- */

/* As many as names of metrics. */
#define TAGS_MAX 1000

/* *n_tags: how many keys the job has as tags. */
static int write_tag(
    struct lake *l, const struct job_row *row, const char *pair, int64_t *n_tags, struct err *e)
{
    struct meta_pair split;
    int64_t key = 0, has = 0;
    int known = meta_pair_split(pair, &split, e) < 0 ? -1 : meta_key_find(l, split.key, &key, e);

    if (known < 0 ||
        (known && db_get_int(l->db, e, &has,
                             "SELECT 1 FROM job_tag WHERE job = $1 AND key = $2 AND kind = $3",
                             DB_INT(row->id), DB_INT(key), DB_INT(JOB_KEY_TAG)) < 0))
        return -1;
    if (!has && *n_tags >= TAGS_MAX)
        return err_set(e, ERR_USAGE, "job %lld has %d tags already, no room for %s",
                       (long long)row->id, TAGS_MAX, split.key);
    *n_tags += !has;
    return lake_job_key_put(l, row, JOB_KEY_TAG, &split, e);
}

static int write_tags(struct lake *l, int64_t id, const char *const *pairs, size_t n, struct err *e)
{
    struct job_row row;
    int64_t n_tags = 0;

    if (lake_job_row_own(l, id, &row, e) < 0 ||
        db_get_int(l->db, e, &n_tags, "SELECT count(*) FROM job_tag WHERE job = $1 AND kind = $2",
                   DB_INT(id), DB_INT(JOB_KEY_TAG)) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (write_tag(l, &row, pairs[i], &n_tags, e) < 0)
            return -1;
    return 0;
}

int lake_job_tag(struct lake *l, int64_t id, const char *const *pairs, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (meta_job_pair_check(pairs[i], e) < 0)
            return -1;
    if (db_begin(l->db, e) < 0)
        return -1;
    return db_end(l->db, write_tags(l, id, pairs, n, e), e) < 0
               ? err_wrap(e, "tag job %lld", (long long)id)
               : 0;
}

/* The version of the set that the job reads, "@S:3"; NULL: none, or e. */
static char *version_read(struct lake *l, const struct job_row *row, const char *set, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        l->db, e,
        "SELECT v.number FROM fileset f CROSS JOIN set_version v WHERE f.project = $1"
        " AND f.name = $2 AND v.fileset = f.id AND (v.id IN ($3, $4)"
        " OR v.id IN (SELECT parent FROM edge WHERE child = $3)) ORDER BY v.id DESC LIMIT 1",
        DB_INT(l->project), DB_TEXT(set), DB_INT(row->input_version), DB_INT(row->code_version));
    int found = db_step(q, e);

    if (found == 0)
        err_set(e, ERR_NOTFOUND, "job %lld neither reads nor makes a set %.100s",
                (long long)row->id, set);
    return found == 1 ? lake_ref_of_set(set, db_int(q, 0)) : NULL;
}

/* Jobs that read a set, each of which may tag it, are no way to fill the lake. */
static int check_room(struct lake *l, const struct lake_ref *ref, const char *pair, struct err *e)
{
    struct meta_pair split;
    int64_t key = 0, has = 0, n = 0;
    int known = meta_pair_split(pair, &split, e) < 0 ? -1 : meta_key_find(l, split.key, &key, e);

    if (known < 0 ||
        (known &&
         db_get_int(l->db, e, &has, "SELECT 1 FROM meta WHERE kind = $1 AND item = $2 AND key = $3",
                    DB_INT(LAKE_ITEM_SET), DB_INT(ref->set_version), DB_INT(key)) < 0) ||
        (!has && db_get_int(l->db, e, &n, "SELECT count(*) FROM meta WHERE kind = $1 AND item = $2",
                            DB_INT(LAKE_ITEM_SET), DB_INT(ref->set_version)) < 0))
        return -1;
    if (has || n < TAGS_MAX)
        return 0;
    return err_set(e, ERR_USAGE, "@%s:%lld has %d tags already, no room for %s", ref->set_name,
                   (long long)ref->number, TAGS_MAX, split.key);
}

int lake_job_tag_set(struct lake *l, int64_t id, const char *set, const char *pair, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};
    const char *const pairs[] = {pair};
    struct job_row row;

    if (lake_job_row_own(l, id, &row, e) < 0)
        return -1;
    if (strcmp(set, row.output_name) == 0)
        return lake_job_tag(l, id, pairs, 1, e);
    AUTO_MEM char *name = version_read(l, &row, set, e);
    if (!name || lake_resolve(l, name, LAKE_WRITE, &ref, e) < 0 || check_room(l, &ref, pair, e) < 0)
        return -1;
    return lake_tag(l, &ref, pairs, 1, e);
}

/* What is known of the job, on its output as well; and the job itself, to be found by. */
static int copy_keys(struct lake *l, int64_t job, int64_t set_version, struct err *e)
{
    AUTO_MEM char *of_job = mem_printf("job=%lld", (long long)job);

    return lake_job_keys_copy(l, job, set_version, e) < 0
               ? -1
               : meta_put(l, LAKE_ITEM_SET, set_version, of_job, e);
}

/* ---- the output ---- */

struct storing {
    struct lake *l;
    struct lake_job_change *change;
    const char *directory;
    const struct lake_progress *progress; /* may be NULL */
    struct job_row row;
    bool late;        /* the job came to its end meanwhile */
    int64_t again;    /* id of the set version that it is to make again; 0 = none */
    const char *text; /* the same as a reference */
};

static int add_edge(
    struct lake *l, int64_t job, int64_t child, int64_t parent, int seq, struct err *e)
{
    if (!parent)
        return 0;
    return db_run(l->db, e,
                  "INSERT INTO edge (child, parent, kind, job, seq)"
                  " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
                  DB_INT(child), DB_INT(parent), DB_INT(LAKE_EDGE_JOB), DB_INT(job), DB_INT(seq));
}

int lake_job_made_with(struct lake *l, int64_t job, int64_t other, struct err *e)
{
    struct job_row row, with;

    if (lake_job_row_own(l, job, &row, e) < 0 || lake_job_row_own(l, other, &with, e) < 0)
        return -1;
    if (!row.output_version)
        return 0;
    if (db_begin(l->db, e) < 0)
        return -1;
    /* Behind its own input and code; the same code needs no telling twice. */
    int64_t code = with.code_version == row.code_version ? 0 : with.code_version;
    int added = add_edge(l, other, row.output_version, with.input_version, 2, e);
    if (added == 0)
        added = add_edge(l, other, row.output_version, code, 3, e);
    if (db_end(l->db, added, e) == 0)
        return 0;
    return err_wrap(e, "note that job %lld was part of job %lld", (long long)other, (long long)job);
}

/* In the transaction that numbers the versions, or undoes them. */
static int take_output(void *context, int64_t set_version, bool is_new, struct err *e)
{
    struct storing *s = context;

    if (lake_job_apply(s->l, s->change, e) < 0)
        return -1;
    if (!s->change->applied) {
        s->late = true;
        return err_set(e, ERR_USAGE, "job %lld came to its end meanwhile", (long long)s->row.id);
    }
    if (db_run(s->l->db, e,
               "UPDATE job SET output_version = $2, reproduced = $4, output = '@' || $3 || ':' ||"
               " (SELECT number FROM set_version WHERE id = $2) WHERE id = $1",
               DB_INT(s->row.id), DB_INT(set_version), DB_TEXT(s->row.output_name),
               DB_INT(!is_new)) < 0)
        return -1;
    if (!is_new) /* it has its edges and tags */
        return 0;
    if (add_edge(s->l, s->row.id, set_version, s->row.input_version, 0, e) < 0 ||
        add_edge(s->l, s->row.id, set_version, s->row.code_version, 1, e) < 0 ||
        copy_keys(s->l, s->row.id, set_version, e) < 0)
        return -1;
    AUTO_MEM char *differs = mem_printf(LAKE_TAG_NON_DETERMINISTIC "=%s", s->text ? s->text : "");
    return s->again ? meta_put(s->l, LAKE_ITEM_SET, set_version, differs, e) : 0;
}

/* A job that is over: finished is what was asked for, be it by an earlier call. */
static int answer_again(struct storing *s, struct err *e)
{
    if (lake_job_row_get(s->l, s->row.id, &s->row, e) < 0)
        return -1;
    s->change->applied = s->row.state == LAKE_JOB_FINISHED;
    return 0;
}

static int store_output(struct storing *s, struct err *e)
{
    AUTO_MEM char *source = mem_printf("%s/.", s->directory);
    AUTO_MEM char *destination = mem_printf("/%s/", s->row.output_name);
    AUTO_MEM char *name = lake_job_put_name(s->row.id);
    const char *sources[] = {source};
    const struct lake_put_options o = {
        .sources = sources,
        .n_sources = 1,
        .destination = destination,
        .set = s->row.output_name,
        .progress = s->progress ? *s->progress : (struct lake_progress){0},
    };
    /* The output belongs to the job's user, also when an admin stores it. */
    const struct commit_also also = {
        .name = name,
        .owner = s->row.creator,
        .unless = s->again,
        .unless_latest = !s->again,
        .run = take_output,
        .context = s,
    };
    struct lake_put_summary summary;

    if (put_also(s->l, &o, &also, &summary, e) < 0) {
        s->change->applied = false;
        return s->late ? answer_again(s, e) : err_wrap(e, "store the output of %s", name);
    }
    if (summary.files > 0)
        return 0;
    if (s->row.output_named)
        log_warn("lake", "job %lld wrote nothing: there is no version of @%s of it",
                 (long long)s->row.id, s->row.output_name);
    if (lake_job_step(s->l, s->change, 1, e) < 0)
        return -1;
    return s->change->applied ? 0 : answer_again(s, e);
}

static int store_job(struct storing *s, struct err *e)
{
    struct lake *l = s->l;

    s->change->applied = false;
    if (s->change->to != LAKE_JOB_FINISHED)
        return err_set(e, ERR_USAGE, "job %lld: only what is finished has an output",
                       (long long)s->change->id);
    if (lake_job_row_own(l, s->change->id, &s->row, e) < 0)
        return -1;
    if (lake_job_state_final(s->row.state))
        return answer_again(s, e);
    return store_output(s, e);
}

int lake_job_store(struct lake *l,
                   struct lake_job_change *change,
                   const char *directory,
                   const struct lake_progress *progress,
                   struct err *e)
{
    struct storing s = {.l = l, .change = change, .directory = directory, .progress = progress};

    return store_job(&s, e);
}

static int set_output(struct lake *l, int64_t id, const char *set, struct err *e)
{
    AUTO_MEM char *shown = mem_printf("@%s", set);
    struct item_row item;
    struct job_row row;

    if (lake_job_row_own(l, id, &row, e) < 0)
        return -1;
    if (row.state != LAKE_JOB_UNSAVED)
        return err_set(e, ERR_USAGE, "job %lld is not unsaved", (long long)id);
    int found = fileset_find(l, set, &item, e);
    if (found < 0 || (found == 1 && item_ask(l, &item, shown, LAKE_WRITE, e) < 0))
        return -1;
    return db_run(l->db, e, "UPDATE job SET output_name = $2 WHERE id = $1", DB_INT(id),
                  DB_TEXT(set));
}

int lake_job_set_output(struct lake *l, int64_t id, const char *set, struct err *e)
{
    if (lake_path_check_set(set, e) < 0 || db_begin(l->db, e) < 0)
        return -1;
    return db_end(l->db, set_output(l, id, set, e), e);
}

int lake_job_restore(struct lake *l,
                     struct lake_job_change *change,
                     const char *directory,
                     const char *set,
                     const struct lake_progress *progress,
                     struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    change->applied = false;
    if (lake_resolve(l, set, LAKE_READ, &ref, e) < 0)
        return -1;
    if (ref.kind != LAKE_REF_SET)
        return err_set(e, ERR_USAGE, "%.200s is not a set version that a job could make again",
                       set);
    struct storing s = {.l = l,
                        .change = change,
                        .directory = directory,
                        .progress = progress,
                        .again = ref.set_version,
                        .text = set};
    return store_job(&s, e);
}
