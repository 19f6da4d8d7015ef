/* Reads jobs, their states and transitions. `job`, broker and planner call it. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "lake/job/internal.h"

#include <stdlib.h>
#include <string.h>

const char *const lake_job_state_texts[LAKE_JOB_STATES] = {
    [LAKE_JOB_QUEUED] = "queued",     [LAKE_JOB_LAUNCHING] = "launching",
    [LAKE_JOB_FETCHING] = "fetching", [LAKE_JOB_RUNNING] = "running",
    [LAKE_JOB_STORING] = "storing",   [LAKE_JOB_FINISHED] = "finished",
    [LAKE_JOB_FAILED] = "failed",     [LAKE_JOB_KILLED] = "killed",
    [LAKE_JOB_LOST] = "lost",         [LAKE_JOB_UNSAVED] = "unsaved",
};

const char *lake_job_state_text(enum lake_job_state state)
{
    return state >= LAKE_JOB_QUEUED && state < LAKE_JOB_STATES ? lake_job_state_texts[state]
                                                               : "unknown";
}

int lake_job_state_parse(const char *text, enum lake_job_state *out, struct err *e)
{
    for (enum lake_job_state state = LAKE_JOB_QUEUED; state < LAKE_JOB_STATES; state++)
        if (strcmp(text, lake_job_state_texts[state]) == 0) {
            *out = state;
            return 0;
        }
    const char *close = nearest(text, lake_job_state_texts + 1, LAKE_JOB_STATES - 1);
    if (close)
        return err_set(e, ERR_USAGE, "\"%.40s\" is not a state of a job; did you mean %s?", text,
                       close);
    return err_set(
        e, ERR_USAGE,
        "\"%.40s\" is not a state of a job; give queued, launching, fetching, running, storing, "
        "unsaved, finished, failed, killed or lost",
        text);
}

bool lake_job_state_final(enum lake_job_state state)
{
    return state >= LAKE_JOB_FINISHED && state <= LAKE_JOB_LOST;
}

bool lake_job_is_over(const struct lake_job *job)
{
    return lake_job_state_final(job->state) ||
           (job->state == LAKE_JOB_UNSAVED && !job->saves_later);
}

/* ---- rows ---- */

/* Ten times the columns below, and room. */
#define SQL_MAX 16384
#define N_STATES (LAKE_JOB_STATES - 1)

enum column {
    ID,
    CREATOR,
    NAME,
    STATE,
    REASON,
    STOP_REASON,
    INPUT,
    CODE,
    OUTPUT_NAME,
    OUTPUT,
    OUTPUT_VERSION,
    REPRODUCED,
    CPUS,
    MEMORY_MB,
    TIME_LIMIT_S,
    RUN,
    RERUN_OF,
    PRIORITY,
    QUEUED,
    STARTED,
    FINISHED,
    EXIT_CODE,
    RUNTIME_S,
    COST,
    COST_BASIS,
    MACHINE,
    LIMITS,
    DEVICES,
    COMMAND,
    DETAILS,
    SAVES_LATER,
};
#define JOB_SELECT                                                                                 \
    "SELECT j.id, j.creator, j.name, j.state, j.reason, j.stop_reason, j.input, j.code,"           \
    " j.output_name, j.output, j.output_version, j.reproduced, j.cpus, j.memory_mb, "              \
    "j.time_limit_s, j.run,"                                                                       \
    " j.rerun_of, j.priority, j.queued, j.started, j.finished, j.exit_code, j.runtime_s,"          \
    " j.cost_microusd, j.cost_basis, j.machine, j.limits, j.devices, t.command, t.details,"        \
    " j.saves_later"                                                                               \
    " FROM job j CROSS JOIN job_text t WHERE t.job = j.id"

static const char *text_or_empty(struct db_query *q, enum column column)
{
    const char *text = db_text(q, (int)column);

    return text ? text : "";
}

/* The start of the word after the one at `at`; NULL: the word at `at` has no end before `end`. */
static const char *next_word(const char *at, const char *end)
{
    const char *nul = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;

    return nul ? nul + 1 : NULL;
}

/* The number of words in the command's bytes; their starts go into words unless NULL. */
static size_t split_command(const char *at, size_t bytes, const char **words)
{
    const char *end = at + bytes, *next;
    size_t n = 0;

    for (; (next = next_word(at, end)); at = next, n++)
        if (words)
            words[n] = at;
    return n;
}

static struct lake_job_request read_request(struct db_query *q)
{
    return (struct lake_job_request){
        .name = db_text(q, NAME),
        .input = db_text(q, INPUT),
        .code = db_text(q, CODE),
        .output = db_text(q, OUTPUT_NAME),
        .cpus = db_real(q, CPUS),
        .memory_mb = (uint64_t)db_int(q, MEMORY_MB),
        .time_limit_s = db_real(q, TIME_LIMIT_S),
        .run = db_int(q, RUN),
        .rerun_of = db_int(q, RERUN_OF),
        .priority = db_int(q, PRIORITY),
        .details = db_text(q, DETAILS),
    };
}

/* The row as a job without its command; texts are those of the row. */
static struct lake_job read_job(struct lake *l, struct db_query *q)
{
    return (struct lake_job){
        .id = db_int(q, ID),
        .project = l->project_name,
        .user = db_text(q, CREATOR),
        .asked = read_request(q),
        .state = (enum lake_job_state)db_int(q, STATE),
        .reason = db_text(q, REASON),
        .stop_asked = !db_is_null(q, STOP_REASON),
        .stop_reason = text_or_empty(q, STOP_REASON),
        .queued_ms = db_int(q, QUEUED),
        .started_ms = db_int(q, STARTED),
        .finished_ms = db_int(q, FINISHED),
        .exited = !db_is_null(q, EXIT_CODE),
        .exit_code = (int)db_int(q, EXIT_CODE),
        .runtime_s = db_real(q, RUNTIME_S),
        .cost_microusd = db_int(q, COST),
        .cost_basis = text_or_empty(q, COST_BASIS),
        .machine = text_or_empty(q, MACHINE),
        .limits = text_or_empty(q, LIMITS),
        .devices = text_or_empty(q, DEVICES),
        .saves_later = db_int(q, SAVES_LATER) != 0,
        .output_set = db_is_null(q, OUTPUT_VERSION) ? "" : text_or_empty(q, OUTPUT),
        .reproduced = db_int(q, REPRODUCED) != 0,
    };
}

static int tell(
    struct lake *l, struct db_query *q, lake_visit_job *visit, void *context, struct err *e)
{
    struct lake_job job = read_job(l, q);
    size_t bytes;
    const char *command = db_bytes(q, COMMAND, &bytes);
    size_t n = split_command(command, bytes, NULL);
    AUTO_MEM const char **words = mem_zero(n + 1, sizeof *words);

    job.asked.n_command = split_command(command, bytes, words);
    job.asked.command = words;
    return visit(context, &job, e);
}

int lake_job_reproductions(
    struct lake *l,
    int (*visit)(void *context, int64_t output, int64_t input, int64_t code, struct err *e),
    void *context,
    struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e,
                 "SELECT output_version, input_version, code_version FROM job"
                 " WHERE project = $1 AND reproduced = 1",
                 DB_INT(l->project));
    int more;

    while ((more = db_step(q, e)) == 1)
        if (visit(context, db_int(q, 0), db_int(q, 1), db_int(q, 2), e) < 0)
            return -1;
    return more;
}

/* ---- one job ---- */

/* Moves the job's texts and command from the row into the arena; without one there are none. */
static int keep_texts(struct db_query *q, struct arena *a, struct lake_job *job, struct err *e)
{
    const char **texts[] = {
        &job->project,      &job->user,          &job->reason,      &job->stop_reason,
        &job->cost_basis,   &job->machine,       &job->limits,      &job->output_set,
        &job->devices,      &job->asked.name,    &job->asked.input, &job->asked.code,
        &job->asked.output, &job->asked.details,
    };
    bool fits = true;
    size_t bytes;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = *texts[i];
        *texts[i] = a && text ? arena_dup(a, text) : NULL;
        fits = fits && (!a || !text || *texts[i]);
    }
    if (!a)
        return 0;
    const char *row = db_bytes(q, COMMAND, &bytes);
    size_t n = split_command(row, bytes, NULL);
    const char *command = arena_dup_n(a, row, bytes);
    const char **words = arena_alloc(a, n + 1, sizeof *words);
    if (!fits || !command || !words)
        return err_set(e, ERR_USAGE, "job %lld is too large", (long long)job->id);
    job->asked.n_command = split_command(command, bytes, words);
    job->asked.command = words;
    return 0;
}

int lake_job_load(
    struct lake *l, int64_t id, struct arena *arena, struct lake_job *out, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        l->db, e, JOB_SELECT " AND j.id = $1 AND j.project = $2", DB_INT(id), DB_INT(l->project));
    int found = db_step(q, e);

    if (found == 0)
        return err_set(e, ERR_NOTFOUND, "there is no job %lld", (long long)id);
    if (found < 0)
        return -1;
    *out = read_job(l, q);
    return keep_texts(q, arena, out, e);
}

int lake_job_exists(struct lake *l, int64_t id, bool *out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, "SELECT 1 FROM job WHERE id = $1", DB_INT(id));
    int found = db_step(q, e);

    *out = found > 0;
    return found < 0 ? -1 : 0;
}

/* ---- lists ---- */

/* One part for each state, each in order of the ids by its index; the database merges them, so that
 * the first answers come at once however many jobs there are. */
static void write_list(struct buf *sql, const struct lake_job_filter *f)
{
    const char *between = "";

    for (unsigned state = 1; state <= N_STATES; state++) {
        if (f->states && !(f->states >> state & 1))
            continue;
        buf_printf(sql, "%s" JOB_SELECT " AND j.project = $1 AND j.state = %u", between, state);
        buf_puts(sql, f->after ? " AND j.id > $2" : "");
        buf_puts(sql, f->user ? " AND j.creator = $3" : "");
        buf_puts(sql, f->name ? " AND j.name = $4" : "");
        buf_puts(sql, f->run ? " AND j.run = $5" : "");
        between = " UNION ALL ";
    }
    buf_puts(sql, f->newest_first ? " ORDER BY 1 DESC" : " ORDER BY 1");
    buf_puts(sql, " LIMIT $6");
}

int lake_job_list(struct lake *l,
                  const struct lake_job_filter *filter,
                  lake_visit_job *visit,
                  void *context,
                  struct err *e)
{
    AUTO_CLEAR(buf) struct buf sql;
    int more;

    buf_init(&sql, SQL_MAX);
    /* Bits that are no state ask for nothing. */
    if (filter->states && !(filter->states & ((1U << (N_STATES + 1)) - 2)))
        return 0;
    write_list(&sql, filter);
    bool limited = filter->limit > 0 && filter->limit < INT64_MAX;
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, buf_str(&sql), DB_INT(l->project),
                 filter->after ? DB_INT(filter->after) : DB_NULL, DB_TEXT(filter->user),
                 DB_TEXT(filter->name), filter->run ? DB_INT(filter->run) : DB_NULL,
                 DB_INT(limited ? (int64_t)filter->limit : INT64_MAX));
    while ((more = db_step(q, e)) == 1)
        if (tell(l, q, visit, context, e) < 0)
            return -1;
    return more;
}

int lake_job_transitions(
    struct lake *l, int64_t id, lake_visit_transition *visit, void *context, struct err *e)
{
    struct job_row row;
    int more;

    if (lake_job_row_get(l, id, &row, e) < 0)
        return -1;
    AUTO_RESET struct db_query *q =
        db_query(l->db, e, "SELECT state, at, reason FROM job_state WHERE job = $1 ORDER BY seq",
                 DB_INT(id));
    while ((more = db_step(q, e)) == 1) {
        const struct lake_job_transition t = {(enum lake_job_state)db_int(q, 0), db_int(q, 1),
                                              db_text(q, 2)};
        if (visit(context, &t, e) < 0)
            return -1;
    }
    return more;
}
