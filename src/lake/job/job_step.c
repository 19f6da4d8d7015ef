/* Steps of a job from state to state, with its log of states. The broker and `job stop` call it. */
#include "lake/job/internal.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "lake/put/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_MAX 2000
#define WORD_MAX 1000 /* of machine, limits and cost_basis */

static void copy_name(char out[static LAKE_NAME_MAX + 1], const char *text)
{
    snprintf(out, LAKE_NAME_MAX + 1, "%s", text ? text : "");
}

int lake_job_row_get(struct lake *l, int64_t id, struct job_row *out, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        l->db, e,
        "SELECT creator, state, stop_reason, changed, runtime_s, input_version,"
        " code_version, CASE reproduced WHEN 0 THEN output_version END, output_name FROM job"
        " WHERE id = $1 AND project = $2",
        DB_INT(id), DB_INT(l->project));
    int found = db_step(q, e);

    if (found == 0)
        return err_set(e, ERR_NOTFOUND, "there is no job %lld", (long long)id);
    if (found < 0)
        return -1;
    *out = (struct job_row){
        .id = id,
        .state = (enum lake_job_state)db_int(q, 1),
        .stop_asked = !db_is_null(q, 2),
        .changed_ms = db_int(q, 3),
        .runtime_s = db_real(q, 4),
        .input_version = db_int(q, 5),
        .code_version = db_int(q, 6),
        .output_version = db_int(q, 7),
    };
    copy_name(out->creator, db_text(q, 0));
    copy_name(out->output_name, db_text(q, 8));
    if (!out->output_name[0])
        snprintf(out->output_name, sizeof out->output_name, LAKE_JOB_SET "%lld", (long long)id);
    else
        out->output_named = true;
    return 0;
}

int lake_job_row_own(struct lake *l, int64_t id, struct job_row *out, struct err *e)
{
    if (lake_job_row_get(l, id, out, e) < 0)
        return -1;
    if (!l->admin && strcmp(out->creator, l->user) != 0)
        return err_set(e, ERR_DENIED, "job %lld belongs to %s: only they or an admin may do that",
                       (long long)id, out->creator);
    return 0;
}

int lake_job_log(struct lake *l,
                 int64_t id,
                 enum lake_job_state state,
                 int64_t at_ms,
                 const char *reason,
                 struct err *e)
{
    return db_run(l->db, e,
                  "INSERT INTO job_state (job, seq, state, at, reason) SELECT $1,"
                  " COALESCE((SELECT MAX(seq) FROM job_state WHERE job = $1), 0) + 1, $2, $3, $4",
                  DB_INT(id), DB_INT(state), DB_INT(at_ms), DB_TEXT(reason));
}

/* Clean text, cut between characters. Its lines stay: the end of a log has some. */
static void clean_text(const char *text, char out[static REASON_MAX + 1])
{
    size_t len = strlen(text), n = 0, width;
    uint32_t c;

    for (size_t i = 0; i < len; i += width) {
        width = utf8_decode(text + i, len - i, &c);
        bool bad = width == 0 || (c < 0x20 && c != '\n') || (c >= 0x7f && c < 0xa0);
        width = width ? width : 1;
        if (n + width > REASON_MAX)
            break;
        if (bad)
            out[n++] = c == '\t' ? ' ' : '?';
        else
            n = (size_t)((char *)mempcpy(out + n, text + i, width) - out);
    }
    out[n] = 0;
}

/* Late news of a state that was left is not told again; a lost machine sends a job back. */
static bool leads_on(enum lake_job_state from, enum lake_job_state to)
{
    /* For another reason, until it is stored, or lost with its host. */
    if (from == LAKE_JOB_UNSAVED)
        return to == LAKE_JOB_UNSAVED || to == LAKE_JOB_FINISHED || to == LAKE_JOB_LOST;
    if (lake_job_state_final(from) || from == to)
        return false;
    if (to == LAKE_JOB_UNSAVED)
        return from == LAKE_JOB_STORING;
    return to > from || to <= LAKE_JOB_LAUNCHING;
}

static int check_change(const struct lake_job_change *c, struct err *e)
{
    const char *words[] = {c->cost_basis, c->machine, c->limits, c->devices};

    if (c->to < LAKE_JOB_QUEUED || c->to >= LAKE_JOB_STATES)
        return err_set(e, ERR_USAGE, "job %lld: %d is not a state", (long long)c->id, (int)c->to);
    if (!isfinite(c->runtime_s))
        return err_set(e, ERR_USAGE, "job %lld: its runtime is not a number", (long long)c->id);
    if (c->cost_basis && c->cost_microusd < 0)
        return err_set(e, ERR_USAGE, "job %lld: its cost is negative", (long long)c->id);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i] && strlen(words[i]) > WORD_MAX)
            return err_set(e, ERR_USAGE, "job %lld: \"%.40s...\" is longer than %d bytes",
                           (long long)c->id, words[i], WORD_MAX);
    return 0;
}

/* What the job ran until now, in seconds; < 0 = as before. */
static double ran_s(const struct job_row *row, const struct lake_job_change *c, int64_t now)
{
    if (c->runtime_s >= 0)
        return c->runtime_s;
    return row->state == LAKE_JOB_RUNNING
               ? row->runtime_s + (double)(now - row->changed_ms) / 1000.0
               : -1;
}

static int write_change(struct lake *l,
                        const struct job_row *row,
                        const struct lake_job_change *c,
                        const char *reason,
                        int64_t now,
                        struct err *e)
{
    double runtime_s = ran_s(row, c, now);

    return db_run(
        l->db, e,
        "UPDATE job SET state = $2, reason = $3, changed = $4,"
        " started = CASE WHEN $2 = 4 AND started IS NULL THEN $4 ELSE started END,"
        " finished = CASE WHEN $2 BETWEEN 6 AND 9 THEN $4 ELSE finished END,"
        " exit_code = COALESCE($5, exit_code), runtime_s = COALESCE($6, runtime_s),"
        " cost_microusd = COALESCE($7, cost_microusd), cost_basis = COALESCE($8, cost_basis),"
        " machine = COALESCE($9, machine), limits = COALESCE($10, limits),"
        " devices = COALESCE($11, devices), saves_later = $12 WHERE id = $1",
        DB_INT(c->id), DB_INT(c->to), DB_TEXT(reason), DB_INT(now),
        c->exited ? DB_INT(c->exit_code) : DB_NULL, runtime_s >= 0 ? DB_REAL(runtime_s) : DB_NULL,
        c->cost_basis ? DB_INT(c->cost_microusd) : DB_NULL, DB_TEXT(c->cost_basis),
        DB_TEXT(c->machine), DB_TEXT(c->limits), DB_TEXT(c->devices), DB_INT(c->saves_later));
}

_Static_assert(LAKE_JOB_RUNNING == 4 && LAKE_JOB_FINISHED == 6 && LAKE_JOB_LOST == 9 &&
                   LAKE_JOB_UNSAVED == 10,
               "numbers in the SQL above");

char *lake_job_put_name(int64_t id)
{
    return mem_printf("job:%lld", (long long)id);
}

int lake_job_end_upload(struct lake *l, int64_t id, struct err *e)
{
    AUTO_MEM char *name = lake_job_put_name(id);

    return session_row_remove_put(l, name, e);
}

int lake_job_apply(struct lake *l, struct lake_job_change *change, struct err *e)
{
    char reason[REASON_MAX + 1];
    struct job_row row;

    change->applied = false;
    if (check_change(change, e) < 0 || lake_job_row_own(l, change->id, &row, e) < 0)
        return -1;
    if (!leads_on(row.state, change->to))
        return 0;
    int64_t now = lake_now_ms(l);
    /* A clock that was put back makes no job run backwards. */
    now = now < row.changed_ms ? row.changed_ms : now;
    clean_text(change->reason ? change->reason : "", reason);
    if (write_change(l, &row, change, reason, now, e) < 0 ||
        lake_job_log(l, change->id, change->to, now, reason, e) < 0 ||
        (change->to >= LAKE_JOB_STORING && lake_job_tell(l, &row, e) < 0) ||
        (change->to > LAKE_JOB_FINISHED && change->to <= LAKE_JOB_LOST &&
         row.state >= LAKE_JOB_STORING && lake_job_end_upload(l, change->id, e) < 0))
        return -1;
    change->applied = true;
    return 0;
}

static int change_all(struct lake *l, struct lake_job_change *changes, size_t n, struct err *e)
{
    struct err why = {0};

    for (size_t i = 0; i < n; i++)
        if (lake_job_apply(l, &changes[i], &why) < 0 &&
            !(changes[i].may_be_gone && why.kind == ERR_NOTFOUND))
            return err_set(e, why.kind, "%s", why.text);
    return 0;
}

int lake_job_step(struct lake *l, struct lake_job_change *changes, size_t n, struct err *e)
{
    if (n == 0)
        return 0;
    if (db_begin(l->db, e) < 0)
        return -1;
    if (db_end(l->db, change_all(l, changes, n, e), e) == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        changes[i].applied = false;
    return -1;
}

/* ---- the end, asked for ---- */

static int ask_stop(struct lake *l, int64_t id, const char *reason, bool *final_out, struct err *e)
{
    struct lake_job_change killed = {
        .id = id, .to = LAKE_JOB_KILLED, .reason = reason, .runtime_s = -1};
    char line[REASON_MAX + 1];
    struct job_row row;

    if (lake_job_row_own(l, id, &row, e) < 0)
        return -1;
    *final_out = lake_job_state_final(row.state);
    if (*final_out)
        return 0;
    clean_text(reason ? reason : "", line);
    if (db_run(l->db, e, "UPDATE job SET stop_reason = $2 WHERE id = $1 AND stop_reason IS NULL",
               DB_INT(id), DB_TEXT(line)) < 0)
        return -1;
    /* The output stays where it is. */
    if (row.state == LAKE_JOB_UNSAVED) {
        *final_out = true;
        return db_run(l->db, e, "UPDATE job SET saves_later = 0 WHERE id = $1", DB_INT(id));
    }
    *final_out = row.state == LAKE_JOB_QUEUED;
    return *final_out ? lake_job_apply(l, &killed, e) : 0;
}

int lake_job_ask_stop(
    struct lake *l, int64_t id, const char *reason, bool *final_out, struct err *e)
{
    if (db_begin(l->db, e) < 0)
        return -1;
    int result = db_end(l->db, ask_stop(l, id, reason, final_out, e), e);
    *final_out = *final_out && result == 0;
    return result;
}
