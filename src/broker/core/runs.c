#include "broker/core/runs.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/secrets.h"
#include "db/db.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)256 << 20)

static const char *const tables[] = {
    /* state: enum run_state. place: where it was told to run. */
    "CREATE TABLE run (id INTEGER PRIMARY KEY, name TEXT NOT NULL, file TEXT NOT NULL,"
    " creator TEXT NOT NULL, place TEXT NOT NULL, state INTEGER NOT NULL, reason TEXT NOT NULL,"
    " created INTEGER NOT NULL, ended INTEGER NOT NULL, stop INTEGER NOT NULL,"
    " no_cache INTEGER NOT NULL, planned_s REAL NOT NULL, planned_microusd INTEGER NOT NULL)",
    "CREATE INDEX run_state ON run (state)",
    "CREATE INDEX run_name ON run (name)",
    /* plan: run_text.c. state: enum run_stage_state. job: id in the lake, 0 = none. */
    "CREATE TABLE stage (run INTEGER NOT NULL, seq INTEGER NOT NULL, plan TEXT NOT NULL,"
    " state INTEGER NOT NULL, job INTEGER NOT NULL, reason TEXT NOT NULL,"
    " PRIMARY KEY (run, seq)) WITHOUT ROWID",
    NULL,
};

/* attempts: how many jobs, or gangs of them, the stage was given one after another. max_microusd: 0
 * = no limit. */
static const char *const attempts[] = {
    "ALTER TABLE run ADD COLUMN max_microusd INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE run ADD COLUMN stop_reason TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE stage ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0",
    NULL,
};

/* sweep: whose trial the run is; params: the trial's parameters as JSON. */
static const char *const trials[] = {
    "ALTER TABLE run ADD COLUMN sweep TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE run ADD COLUMN params TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX run_sweep ON run (sweep) WHERE sweep <> ''",
    NULL,
};

/* request: how a run on clouds was planned, for plans of what is left. */
static const char *const requests[] = {
    "ALTER TABLE run ADD COLUMN request TEXT NOT NULL DEFAULT ''", NULL};

static const struct db_migration migrations[] = {
    {1, tables}, {2, attempts}, {3, trials}, {4, requests}, {0}};

struct runs {
    struct db *db;
    char *home;
};

const char *run_stage_state_text(enum run_stage_state state)
{
    static const char *const texts[] = {"",       "waiting", "going",   "finished",
                                        "reused", "failed",  "skipped", "stopped"};

    return texts[state];
}

bool run_stage_state_final(enum run_stage_state state)
{
    return state >= STAGE_FINISHED;
}

void run_clear(struct run *r)
{
    arena_free(r->priv);
    *r = (struct run){0};
}

struct runs *runs_open(const char *home, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/runs.db", home);
    AUTO(runs) struct runs *r = mem_zero(1, sizeof *r);

    r->db = db_open(
        &(struct db_options){.url = path, .name = "the record of runs", .migrations = migrations},
        e);
    if (!r->db)
        return NULL;
    r->home = mem_dup(home);
    return TAKE(r);
}

void runs_free(struct runs *r)
{
    if (!r)
        return;
    db_free(r->db);
    free(r->home);
    free(r);
}

const char *runs_home(const struct runs *r)
{
    return r->home;
}

void runs_relax(struct runs *r)
{
    db_relax(r->db);
}

/* ---- writing ---- */

static int insert_run(struct runs *r, const struct run *run, struct err *e)
{
    return db_run(
        r->db, e,
        "INSERT INTO run (id, name, file, creator, place, state, reason, created, ended, stop,"
        " no_cache, planned_s, planned_microusd, max_microusd, sweep, params,"
        " request)"
        " VALUES ($1, $2, $3, $4, $5, $6, '', $7, 0, 0, $8, $9, $10, $11, $12, $13, $14)",
        DB_INT(run->id), DB_TEXT(run->name), DB_TEXT(run->file), DB_TEXT(run->user),
        DB_TEXT(run->on), DB_INT(run->state), DB_INT(run->created_ms), DB_INT(run->no_cache),
        DB_REAL(run->planned_s), DB_INT(run->planned_microusd), DB_INT(run->max_microusd),
        DB_TEXT(run->sweep ? run->sweep : ""), DB_TEXT(run->params ? run->params : ""),
        DB_TEXT(run->request ? run->request : ""));
}

static int insert_stage(struct runs *r, const struct run *run, size_t i, struct err *e)
{
    AUTO_MEM char *plan = run_plan_text(&run->stages[i].plan);

    return db_run(r->db, e,
                  "INSERT INTO stage (run, seq, plan, state, job, reason)"
                  " VALUES ($1, $2, $3, $4, 0, '')",
                  DB_INT(run->id), DB_INT((int64_t)i), DB_TEXT(plan), DB_INT(STAGE_WAITING));
}

static int insert_all(struct runs *r, struct run *run, struct err *e)
{
    if (db_ids(r->db, "run", 1, &run->id, e) < 0 || insert_run(r, run, e) < 0)
        return -1;
    for (size_t i = 0; i < run->n_stages; i++)
        if (insert_stage(r, run, i, e) < 0)
            return -1;
    /* Before the run is visible: its first stage may need the secrets at once. */
    return secrets_write(r->home, run->id, run->secrets, run->n_secrets, e);
}

int runs_add(struct runs *r, struct run *run, struct err *e)
{
    run->state = RUN_GOING;
    run->created_ms = time_epoch_ms();
    if (db_begin(r->db, e) < 0)
        return -1;
    if (insert_all(r, run, e) == 0 && db_commit(r->db, e) == 0)
        return 0;
    if (run->id)
        secrets_remove(r->home, run->id);
    db_rollback(r->db);
    return -1;
}

int runs_set_stage(struct runs *r,
                   int64_t run,
                   size_t stage,
                   enum run_stage_state state,
                   int64_t job,
                   const char *reason,
                   struct err *e)
{
    return db_run(
        r->db, e,
        "UPDATE stage SET attempts = attempts + CASE WHEN $3 = $6 AND job <> $4 THEN 1 ELSE 0 END,"
        " state = $3, job = $4, reason = $5 WHERE run = $1 AND seq = $2",
        DB_INT(run), DB_INT((int64_t)stage), DB_INT(state), DB_INT(job), DB_TEXT(reason),
        DB_INT(STAGE_GOING));
}

int runs_set_plan(
    struct runs *r, int64_t run, size_t stage, const struct run_stage_plan *plan, struct err *e)
{
    AUTO_MEM char *text = run_plan_text(plan);

    return db_run(r->db, e, "UPDATE stage SET plan = $3 WHERE run = $1 AND seq = $2", DB_INT(run),
                  DB_INT((int64_t)stage), DB_TEXT(text));
}

int runs_end(struct runs *r, int64_t run, enum run_state state, const char *reason, struct err *e)
{
    return db_run(
        r->db, e, "UPDATE run SET state = $2, reason = $3, ended = $4 WHERE id = $1 AND state = $5",
        DB_INT(run), DB_INT(state), DB_TEXT(reason), DB_INT(time_epoch_ms()), DB_INT(RUN_GOING));
}

static int reopen_stages(struct runs *r, int64_t run, struct err *e)
{
    return db_run(r->db, e,
                  "UPDATE stage SET state = $2, reason = '', attempts = 0 WHERE "
                  "run = $1 AND state NOT IN ($3, $4)",
                  DB_INT(run), DB_INT(STAGE_WAITING), DB_INT(STAGE_FINISHED), DB_INT(STAGE_REUSED));
}

static int reopen_run(struct runs *r, int64_t run, struct err *e)
{
    if (db_run(r->db, e,
               "UPDATE run SET state = $2, reason = '', ended = 0, stop = 0,"
               " stop_reason = ''"
               " WHERE id = $1 AND state <> $3",
               DB_INT(run), DB_INT(RUN_GOING), DB_INT(RUN_FINISHED)) < 0)
        return -1;
    if (db_changes(r->db) == 0)
        return err_set(e, ERR_USAGE, "run %" PRId64 " has finished", run);
    return reopen_stages(r, run, e);
}

int runs_reopen(struct runs *r, int64_t run, struct err *e)
{
    if (db_begin(r->db, e) < 0)
        return -1;
    if (reopen_run(r, run, e) == 0)
        return db_commit(r->db, e);
    db_rollback(r->db);
    return -1;
}

int runs_ask_stop(struct runs *r, int64_t run, unsigned how, struct err *e)
{
    return db_run(r->db, e, "UPDATE run SET stop = $2 WHERE id = $1 AND stop < $2 AND state = $3",
                  DB_INT(run), DB_INT(how), DB_INT(RUN_GOING));
}

int runs_ask_stop_for(struct runs *r, int64_t run, const char *reason, struct err *e)
{
    return db_run(r->db, e,
                  "UPDATE run SET stop = 1, stop_reason = $2"
                  " WHERE id = $1 AND stop = 0 AND state = $3",
                  DB_INT(run), DB_TEXT(reason), DB_INT(RUN_GOING));
}

/* ---- reading ---- */

int runs_stop_asked(struct runs *r, int64_t run, unsigned *how_out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(r->db, e, "SELECT stop FROM run WHERE id = $1", DB_INT(run));
    int found = db_step(q, e);

    *how_out = found > 0 ? (unsigned)db_int(q, 0) : 0;
    return found < 0 ? -1 : 0;
}

#define RUN_COLUMNS                                                                                \
    "id, name, file, creator, place, state, reason, created, ended, stop, no_cache, planned_s,"    \
    " planned_microusd, max_microusd, stop_reason, sweep, params, request"

/* Texts are borrowed from the query. */
static void read_run(struct db_query *q, struct run *out)
{
    *out = (struct run){
        .id = db_int(q, 0),
        .name = db_text(q, 1),
        .file = db_text(q, 2),
        .user = db_text(q, 3),
        .on = db_text(q, 4),
        .state = (enum run_state)db_int(q, 5),
        .reason = db_text(q, 6),
        .created_ms = db_int(q, 7),
        .ended_ms = db_int(q, 8),
        .stop_asked = (unsigned)db_int(q, 9),
        .no_cache = db_int(q, 10) != 0,
        .planned_s = db_real(q, 11),
        .planned_microusd = db_int(q, 12),
        .max_microusd = db_int(q, 13),
        .stop_reason = db_text(q, 14),
        .sweep = db_text(q, 15),
        .params = db_text(q, 16),
        .request = db_text(q, 17),
    };
}

static int too_large(int64_t id, struct err *e)
{
    return err_set(e, ERR_IO, "the record of run %" PRId64 " is too large", id);
}

static int keep_run(struct arena *arena, struct run *r, struct err *e)
{
    r->name = arena_dup(arena, r->name);
    r->file = arena_dup(arena, r->file);
    r->user = arena_dup(arena, r->user);
    r->on = arena_dup(arena, r->on);
    r->reason = arena_dup(arena, r->reason);
    r->stop_reason = arena_dup(arena, r->stop_reason);
    r->sweep = arena_dup(arena, r->sweep);
    r->params = arena_dup(arena, r->params);
    r->request = arena_dup(arena, r->request);
    return r->name && r->file && r->user && r->on && r->reason && r->stop_reason && r->sweep &&
                   r->params && r->request
               ? 0
               : too_large(r->id, e);
}

static int get_run(struct runs *r, int64_t id, struct run *out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(r->db, e, "SELECT " RUN_COLUMNS " FROM run WHERE id = $1", DB_INT(id));
    int found = db_step(q, e);

    if (found < 0)
        return -1;
    if (found == 0)
        return err_set(e, ERR_NOTFOUND,
                       "there is no run %" PRId64 "; `tradewind run ls` lists them", id);
    struct arena *arena = out->priv;
    read_run(q, out);
    out->priv = arena;
    return keep_run(arena, out, e);
}

static int get_stages(struct runs *r, struct run *out, struct err *e)
{
    struct arena *arena = out->priv;
    size_t cap = 0;
    AUTO_RESET struct db_query *q =
        db_query(r->db, e,
                 "SELECT plan, state, job, reason, attempts FROM stage WHERE run = $1 ORDER BY seq",
                 DB_INT(out->id));
    int found;

    while ((found = db_step(q, e)) > 0) {
        out->stages = arena_room(arena, out->stages, out->n_stages, &cap, sizeof *out->stages);
        if (!out->stages)
            return too_large(out->id, e);
        struct run_stage *s = &out->stages[out->n_stages++];
        *s = (struct run_stage){.state = (enum run_stage_state)db_int(q, 1),
                                .job = db_int(q, 2),
                                .reason = arena_dup(arena, db_text(q, 3)),
                                .attempts = (unsigned)db_int(q, 4)};
        if (run_plan_parse(arena, db_text(q, 0), &s->plan, e) < 0)
            return -1;
    }
    return found;
}

int runs_get(struct runs *r, int64_t id, struct run *out, struct err *e)
{
    *out = (struct run){.priv = arena_new(ARENA_BYTES)};
    if (get_run(r, id, out, e) == 0 && get_stages(r, out, e) == 0)
        return 0;
    run_clear(out);
    return -1;
}

int runs_list(struct runs *r,
              bool going_only,
              uint64_t limit,
              int (*visit)(void *context, const struct run *run, struct err *e),
              void *context,
              struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(r->db, e,
                 "SELECT " RUN_COLUMNS " FROM run WHERE state <= $1"
                 " ORDER BY id DESC LIMIT $2",
                 DB_INT(going_only ? RUN_GOING : RUN_STOPPED),
                 DB_INT(limit && limit < INT64_MAX ? (int64_t)limit : INT64_MAX));
    int found;

    while ((found = db_step(q, e)) > 0) {
        struct run run;
        read_run(q, &run);
        if (visit(context, &run, e) < 0)
            return -1;
    }
    return found;
}

int runs_of_sweep(struct runs *r,
                  const char *sweep,
                  int (*visit)(void *context, const struct run *run, struct err *e),
                  void *context,
                  struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        r->db, e, "SELECT " RUN_COLUMNS " FROM run WHERE sweep = $1 AND sweep <> '' ORDER BY id",
        DB_TEXT(sweep));
    int found;

    while ((found = db_step(q, e)) > 0) {
        struct run run;
        read_run(q, &run);
        if (visit(context, &run, e) < 0)
            return -1;
    }
    return found;
}

int runs_latest(struct runs *r, const char *name, int64_t *id_out, struct err *e)
{
    *id_out = 0;
    return db_get_int(r->db, e, id_out,
                      "SELECT id FROM run WHERE name = $1 ORDER BY id DESC LIMIT 1",
                      DB_TEXT(name)) < 0
               ? -1
               : 0;
}
