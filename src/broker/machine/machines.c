#include "broker/machine/machines.h"

#include "base/mem.h"
#include "base/time.h"
#include "broker/machine/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* The columns of all queries that read_row reads. */
#define MACHINE_COLUMNS                                                                            \
    "m.world, m.token, m.cloud, m.stage, m.attempt, m.state, m.asked, m.since, m.absent,"          \
    " m.data_microusd, m.max_price, m.reason, m.id, m.owner, m.run, m.job, m.expires, m.provider," \
    " m.region, m.zone, m.instance_type, m.spot, m.cpus, m.memory_gb, m.accelerator,"              \
    " m.accelerators, m.price, m.bill_min_s, m.launched, m.ready, m.ended, m.notice,"              \
    " m.exec_driver, m.address, m.root, m.metered_usd, m.metered,"                                 \
    " m.private_address, m.origin, m.kept"
#define MACHINE_COLUMNS_N 40

static const char *const tables[] = {
    /* world, state: machines.h. max_price NULL: none. Times: milliseconds, 0 = not yet. */
    "CREATE TABLE machine (world INTEGER NOT NULL, token TEXT NOT NULL, cloud TEXT NOT NULL,"
    " stage INTEGER NOT NULL, attempt INTEGER NOT NULL, state INTEGER NOT NULL,"
    " asked INTEGER NOT NULL, since INTEGER NOT NULL, absent INTEGER NOT NULL,"
    " data_microusd INTEGER NOT NULL, max_price REAL, reason TEXT NOT NULL, id TEXT NOT NULL,"
    " owner TEXT NOT NULL, run INTEGER NOT NULL, job INTEGER NOT NULL, expires INTEGER NOT NULL,"
    " provider TEXT NOT NULL, region TEXT NOT NULL, zone TEXT NOT NULL,"
    " instance_type TEXT NOT NULL, spot INTEGER NOT NULL, cpus REAL NOT NULL,"
    " memory_gb REAL NOT NULL, accelerator TEXT NOT NULL, accelerators REAL NOT NULL,"
    " price REAL NOT NULL, bill_min_s REAL NOT NULL, launched INTEGER NOT NULL,"
    " ready INTEGER NOT NULL, ended INTEGER NOT NULL, notice INTEGER NOT NULL,"
    " exec_driver TEXT NOT NULL, address TEXT NOT NULL, root TEXT NOT NULL,"
    " PRIMARY KEY (world, token))",
    "CREATE INDEX machine_run ON machine (run)",
    /* 5: MACHINE_GONE. What is not gone is looked for often and is little. */
    "CREATE INDEX machine_open ON machine (world) WHERE state < 5",
    "CREATE TABLE world (run INTEGER PRIMARY KEY, now INTEGER NOT NULL)",
    "CREATE TABLE owner (name TEXT NOT NULL)",
    NULL,
};

static const char *const metered[] = {
    /* metered: milliseconds; 0 = its price does not move. */
    "ALTER TABLE machine ADD COLUMN metered_usd REAL NOT NULL DEFAULT 0",
    "ALTER TABLE machine ADD COLUMN metered INTEGER NOT NULL DEFAULT 0",
    NULL,
};

/* billed: the job's record has what the machine cost, or there is no such job. */
static const char *const bills[] = {
    "ALTER TABLE machine ADD COLUMN billed INTEGER NOT NULL DEFAULT 1",
    "UPDATE machine SET billed = 0 WHERE world = 0 AND job > 0 AND state < 5",
    "CREATE INDEX machine_unbilled ON machine (job) WHERE billed = 0",
    "CREATE INDEX machine_job ON machine (job) WHERE job > 0",
    NULL,
};

/* failure, scope: of cloud.h. */
static const char *const refusals[] = {
    "CREATE TABLE refusal (at INTEGER NOT NULL, run INTEGER NOT NULL, job INTEGER NOT NULL,"
    " provider TEXT NOT NULL, region TEXT NOT NULL, zone TEXT NOT NULL,"
    " instance_type TEXT NOT NULL, accelerator TEXT NOT NULL, spot INTEGER NOT NULL,"
    " failure INTEGER NOT NULL, scope INTEGER NOT NULL, took_s REAL NOT NULL, text TEXT NOT NULL)",
    "CREATE INDEX refusal_at ON refusal (at)",
    NULL,
};

static const char *const private_addresses[] = {
    "ALTER TABLE machine ADD COLUMN private_address TEXT NOT NULL DEFAULT ''", NULL};

/* origin: the token of the cloud, where the machine was another job's before; kept: milliseconds,
 * until when it waits for another job. */
static const char *const kept[] = {
    "ALTER TABLE machine ADD COLUMN origin TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE machine ADD COLUMN kept INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX machine_origin ON machine (origin) WHERE origin <> ''",
    NULL,
};

/* Of functions, see resources.h. state: enum deploy_state. */
static const char *const resources[] = {
    "CREATE TABLE resource (cloud TEXT NOT NULL, region TEXT NOT NULL, kind TEXT NOT NULL,"
    " name TEXT NOT NULL, parent TEXT NOT NULL, deployment TEXT NOT NULL, state INTEGER NOT NULL,"
    " asked INTEGER NOT NULL, since INTEGER NOT NULL,"
    " PRIMARY KEY (cloud, region, kind, name, parent))",
    NULL,
};

static const struct db_migration migrations[] = {
    {1, tables}, {2, metered},   {3, bills}, {4, refusals}, {5, private_addresses},
    {6, kept},   {7, resources}, {0}};

const char *machine_state_text(enum machine_state state)
{
    static const char *const texts[] = {"", "intended", "requested", "running", "deleting", "gone"};

    return texts[state];
}

/* A host of the configuration is released only when it answers, which may be never. Its lease
 * reserves the host for one home; after the lease other homes may take it. Clouds bill until the
 * machine is terminated. */
int64_t machine_paid_until_ms(const struct machine *m)
{
    if (strcmp(m->cloud, "pool") != 0)
        return INT64_MAX;
    /* A broker that was away for long renewed none, and its job ran all the same. */
    return m->state == MACHINE_DELETING && m->since_ms > m->facts.expires_ms ? m->since_ms
                                                                             : m->facts.expires_ms;
}

int64_t machine_cost_when_over(const struct machine *m, int64_t now_ms)
{
    const struct cloud_machine *f = &m->facts;
    int64_t paid_ms = machine_paid_until_ms(m);

    if (!f->launched_ms)
        return 0;
    /* One that ended costs the same at any time, also by a clock that lags behind its own. */
    if (f->ended_ms)
        return cloud_cost_microusd(f, f->ended_ms > now_ms ? f->ended_ms : now_ms);
    return cloud_cost_microusd(f, now_ms < paid_ms ? now_ms : paid_ms);
}

int64_t machine_cost_microusd(const struct machine *m, int64_t now_ms)
{
    if (m->state >= MACHINE_DELETING || m->facts.ended_ms || !m->facts.launched_ms)
        return machine_cost_when_over(m, now_ms);
    return cloud_cost_microusd(&m->facts, now_ms);
}

/* ---- opening ---- */

/* 1: read, 0: there is none, -1. */
static int read_owner(struct machines *m, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(m->db, e, "SELECT name FROM owner", DB_NONE);
    int found = db_step(q, e);

    if (found > 0)
        snprintf(m->owner, sizeof m->owner, "%s", db_text(q, 0));
    return found;
}

static int draw_owner(struct machines *m, struct err *e)
{
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return err_set(e, ERR_IO, "draw a name for this home's machines: %s", strerror(errno));
    snprintf(m->owner, sizeof m->owner, "tw-%016" PRIx64, number);
    return db_run(m->db, e, "INSERT INTO owner (name) VALUES ($1)", DB_TEXT(m->owner));
}

static int make_owner(struct machines *m, struct err *e)
{
    if (db_begin(m->db, e) < 0)
        return -1;
    int found = read_owner(m, e);
    if (found > 0 || (found == 0 && draw_owner(m, e) == 0))
        return db_commit(m->db, e);
    db_rollback(m->db);
    return -1;
}

bool machines_exist(const char *home)
{
    AUTO_MEM char *path = mem_printf("%s/machines.db", home);

    return access(path, F_OK) == 0;
}

struct machines *machines_open(const char *home, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/machines.db", home);
    AUTO(machines) struct machines *m = mem_zero(1, sizeof *m);

    m->db = db_open(&(struct db_options){.url = path,
                                         .name = "the record of machines",
                                         .migrations = migrations},
                    e);
    if (!m->db)
        return NULL;
    int found = read_owner(m, e);
    if (found < 0 || (found == 0 && make_owner(m, e) < 0))
        return NULL;
    return TAKE(m);
}

void machines_free(struct machines *m)
{
    if (!m)
        return;
    db_free(m->db);
    free(m);
}

void machines_relax(struct machines *m)
{
    db_relax(m->db);
}

void machines_group(struct machines *m, bool on)
{
    m->is_grouping = on;
}

int machines_flush(struct machines *m, struct err *e)
{
    if (!m->is_waiting)
        return 0;
    m->is_waiting = false;
    return db_commit(m->db, e);
}

int machine_change(struct machines *m,
                   const char *sql,
                   const struct db_value *values,
                   struct err *e)
{
    if (m->is_grouping && !m->is_waiting) {
        if (db_begin(m->db, e) < 0)
            return -1;
        m->is_waiting = true;
    }
    return db_finish(db_query_bound(m->db, sql, values, e), e);
}

const char *machines_owner(const struct machines *m)
{
    return m->owner;
}

/* ---- rows ---- */

static void take(struct db_query *q, int column, char *into, size_t room)
{
    const char *text = db_text(q, column);

    snprintf(into, room, "%s", text ? text : "");
}
#define TAKE_TEXT(q, column, field) take((q), (column), (field), sizeof(field))

static void read_facts(struct db_query *q, struct cloud_machine *f)
{
    TAKE_TEXT(q, 1, f->token);
    TAKE_TEXT(q, 12, f->id);
    TAKE_TEXT(q, 13, f->owner);
    f->run = db_int(q, 14);
    f->job = db_int(q, 15);
    f->expires_ms = db_int(q, 16);
    TAKE_TEXT(q, 17, f->provider);
    TAKE_TEXT(q, 18, f->region);
    TAKE_TEXT(q, 19, f->zone);
    TAKE_TEXT(q, 20, f->instance_type);
    f->spot = db_int(q, 21) != 0;
    f->cpus = db_real(q, 22);
    f->memory_gb = db_real(q, 23);
    TAKE_TEXT(q, 24, f->accelerator);
    f->accelerators = db_real(q, 25);
    f->price_usd_per_hour = db_real(q, 26);
    f->bill_min_s = db_real(q, 27);
    f->launched_ms = db_int(q, 28);
    f->ready_ms = db_int(q, 29);
    f->ended_ms = db_int(q, 30);
    f->notice_ms = db_int(q, 31);
    TAKE_TEXT(q, 32, f->exec_driver);
    TAKE_TEXT(q, 33, f->address);
    TAKE_TEXT(q, 34, f->root);
    f->metered_usd = db_real(q, 35);
    f->metered_ms = db_int(q, 36);
    TAKE_TEXT(q, 37, f->private_address);
}

static void read_row(struct db_query *q, struct machine *out)
{
    static const enum cloud_state states[] = {
        [MACHINE_INTENDED] = CLOUD_REQUESTED, [MACHINE_REQUESTED] = CLOUD_REQUESTED,
        [MACHINE_RUNNING] = CLOUD_RUNNING,    [MACHINE_DELETING] = CLOUD_DELETING,
        [MACHINE_GONE] = CLOUD_GONE,
    };

    *out = (struct machine){
        .world = db_int(q, 0),
        .stage = db_int(q, 3),
        .attempt = (unsigned)db_int(q, 4),
        .state = (enum machine_state)db_int(q, 5),
        .asked_ms = db_int(q, 6),
        .since_ms = db_int(q, 7),
        .absent_ms = db_int(q, 8),
        .data_microusd = db_int(q, 9),
        .max_price_usd_per_hour = db_is_null(q, 10) ? (double)INFINITY : db_real(q, 10),
    };
    TAKE_TEXT(q, 2, out->cloud);
    TAKE_TEXT(q, 11, out->reason);
    TAKE_TEXT(q, 38, out->origin);
    out->kept_until_ms = db_int(q, 39);
    read_facts(q, &out->facts);
    out->facts.state = states[out->state];
}

/* $1 to $30: the key, and everything that can change. */
#define N_CHANGING 30
static void put_changing(struct db_value *out, const struct machine *x)
{
    const struct cloud_machine *f = &x->facts;
    const struct db_value values[N_CHANGING] = {
        DB_INT(x->world),         DB_TEXT(f->token),
        DB_INT(x->state),         DB_INT(x->since_ms),
        DB_INT(x->absent_ms),     DB_TEXT(x->reason),
        DB_TEXT(f->id),           DB_TEXT(f->exec_driver),
        DB_TEXT(f->address),      DB_TEXT(f->root),
        DB_INT(x->stage),         DB_INT(f->expires_ms),
        DB_INT(f->launched_ms),   DB_INT(f->ready_ms),
        DB_INT(f->ended_ms),      DB_INT(f->notice_ms),
        DB_TEXT(f->provider),     DB_TEXT(f->region),
        DB_TEXT(f->zone),         DB_TEXT(f->instance_type),
        DB_INT(f->spot),          DB_REAL(f->cpus),
        DB_REAL(f->memory_gb),    DB_TEXT(f->accelerator),
        DB_REAL(f->accelerators), DB_REAL(f->price_usd_per_hour),
        DB_REAL(f->bill_min_s),   DB_REAL(f->metered_usd),
        DB_INT(f->metered_ms),    DB_TEXT(f->private_address),
    };

    memcpy(out, values, sizeof values);
}

int machine_row_insert(struct machines *m,
                       const struct machine *x,
                       double max_usd_per_hour,
                       struct err *e)
{
    bool has_limit = isfinite(x->max_price_usd_per_hour);
    struct db_value values[N_CHANGING + 9] = {
        [N_CHANGING] = DB_TEXT(x->cloud),
        DB_INT(x->attempt),
        DB_INT(x->asked_ms),
        has_limit ? DB_REAL(x->max_price_usd_per_hour) : DB_NULL,
        DB_TEXT(x->facts.owner),
        DB_INT(x->facts.run),
        DB_INT(x->facts.job),
        max_usd_per_hour > 0 ? DB_REAL(max_usd_per_hour) : DB_NULL,
        DB_NONE,
    };

    put_changing(values, x);
    if (machine_change(
            m,
            "INSERT INTO machine (world, token, state, since, absent, reason, id, exec_driver, "
            "address,"
            " root, stage, expires, launched, ready, ended, notice, provider, region, zone,"
            " instance_type, spot, cpus, memory_gb, accelerator, accelerators, price, bill_min_s,"
            " metered_usd, metered, private_address, cloud, attempt, asked, max_price, owner, run, "
            "job, data_microusd,"
            " billed)"
            " SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, "
            "$18,"
            " $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35,"
            " $36, $37, 0, CASE WHEN $1 = 0 AND $37 > 0 THEN 0 ELSE 1 END"
            " WHERE $38 IS NULL OR $26 + (SELECT COALESCE(SUM(price), 0) FROM machine"
            " WHERE world = 0 AND state < 5 AND cloud <> 'pool') <= $38",
            values, e) < 0)
        return -1;
    return db_changes(m->db) || max_usd_per_hour <= 0
               ? 0
               : err_set(e, ERR_NOFIT,
                         "limits.max_usd_per_hour: %.2f USD would be exceeded by a machine of %.2f "
                         "USD per hour",
                         max_usd_per_hour, x->facts.price_usd_per_hour);
}

int machine_row_update(struct machines *m, struct machine *x, struct err *e)
{
    struct db_value values[N_CHANGING + 1] = {[N_CHANGING] = DB_NONE};

    put_changing(values, x);
    if (machine_change(
            m,
            "UPDATE machine SET state = $3, since = $4, absent = $5, reason = $6, id = $7,"
            " exec_driver = $8, address = $9, root = $10, stage = $11, expires = $12, launched = "
            "$13,"
            " ready = $14, ended = $15, notice = $16, provider = $17, region = $18, zone = $19,"
            " instance_type = $20, spot = $21, cpus = $22, memory_gb = $23, accelerator = $24,"
            " accelerators = $25, price = $26, bill_min_s = $27, metered_usd = $28,"
            " metered = $29, private_address = $30"
            " WHERE world = $1 AND token = $2 AND state <= $3",
            values, e) < 0)
        return -1;
    return db_changes(m->db) ? 0 : machines_get(m, x->world, x->facts.token, x, e);
}

/* ---- reading ---- */

int machines_get(
    struct machines *m, int64_t world, const char *token, struct machine *out, struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        m->db, e, "SELECT " MACHINE_COLUMNS " FROM machine m WHERE m.world = $1 AND m.token = $2",
        DB_INT(world), DB_TEXT(token));
    int found = db_step(q, e);

    if (found > 0)
        read_row(q, out);
    if (found < 0)
        return -1;
    return found ? 0 : err_set(e, ERR_NOTFOUND, "there is no record of machine %s", token);
}

/* One text for each case, so that each finds its index. */
static struct db_query *each_query(struct machines *m,
                                   const struct machine_filter *f,
                                   struct err *e)
{
#define EACH(condition)                                                                            \
    "SELECT " MACHINE_COLUMNS ", w.now FROM machine m LEFT JOIN world w ON w.run = m.world"        \
    " WHERE " condition " ORDER BY m.run, m.asked, m.token"
    const char *sql = f->run          ? EACH("m.run = $1 AND m.state < $2")
                      : f->world >= 0 ? EACH("m.world = $1 AND m.state < $2")
                                      : EACH("$1 <> 0 AND m.state < $2");

    return db_query(m->db, e, sql, DB_INT(f->run ? f->run : f->world),
                    DB_INT(f->with_gone ? MACHINE_GONE + 1 : MACHINE_GONE));
}

int machines_each(struct machines *m,
                  const struct machine_filter *filter,
                  machine_visit *visit,
                  void *context,
                  struct err *e)
{
    AUTO_RESET struct db_query *q = each_query(m, filter, e);
    int64_t real_ms = time_epoch_ms();
    int found;

    while ((found = db_step(q, e)) > 0) {
        struct machine x;
        read_row(q, &x);
        int64_t now_ms = db_is_null(q, MACHINE_COLUMNS_N) ? real_ms : db_int(q, MACHINE_COLUMNS_N);
        if (visit(context, &x, now_ms, e) < 0)
            return -1;
    }
    return found;
}

int machines_bill(struct machines *m,
                  int64_t run,
                  int64_t now_ms,
                  int64_t *compute_out,
                  int64_t *data_out,
                  struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        m->db, e, "SELECT " MACHINE_COLUMNS " FROM machine m WHERE m.run = $1", DB_INT(run));
    int found;

    *compute_out = *data_out = 0;
    while ((found = db_step(q, e)) > 0) {
        struct machine x;
        read_row(q, &x);
        *compute_out += machine_cost_microusd(&x, now_ms);
        *data_out += x.data_microusd;
    }
    return found;
}

/* ---- simulated worlds ---- */

int machines_clock(struct machines *m, int64_t world, int64_t *now_ms_out, struct err *e)
{
    *now_ms_out = 0;
    return db_get_int(m->db, e, now_ms_out, "SELECT now FROM world WHERE run = $1", DB_INT(world)) <
                   0
               ? -1
               : 0;
}

int machines_set_clock(struct machines *m, int64_t world, int64_t now_ms, struct err *e)
{
    return machine_change(m,
                          "INSERT INTO world (run, now) VALUES ($1, $2)"
                          " ON CONFLICT (run) DO UPDATE SET now = excluded.now"
                          " WHERE excluded.now > world.now",
                          DB_VALUES(DB_INT(world), DB_INT(now_ms)), e);
}

int machines_end_world(struct machines *m, int64_t world, struct err *e)
{
    if (machine_change(m,
                       "DELETE FROM world WHERE run = $1 AND NOT EXISTS"
                       " (SELECT 1 FROM machine WHERE world = $1 AND state < 5)",
                       DB_VALUES(DB_INT(world)), e) < 0)
        return -1;
    if (db_changes(m->db) == 0)
        return err_set(e, ERR_USAGE, "machines of run %" PRId64 " are not gone yet", world);
    return 0;
}

int machines_each_world(struct machines *m,
                        int (*visit)(void *context, int64_t world, struct err *e),
                        void *context,
                        struct err *e)
{
    for (int64_t last = 0;;) {
        int found =
            db_get_int(m->db, e, &last, "SELECT run FROM world WHERE run > $1 ORDER BY run LIMIT 1",
                       DB_INT(last));
        if (found <= 0)
            return found;
        if (visit(context, last, e) < 0)
            return -1;
    }
}

/* ---- small changes ---- */

int machine_renew(struct machines *m, int64_t run, int64_t expires_ms, struct err *e)
{
    return machine_change(m, "UPDATE machine SET expires = $2 WHERE run = $1 AND state < 4",
                          DB_VALUES(DB_INT(run), DB_INT(expires_ms)), e);
}

int machine_renew_one(
    struct machines *m, int64_t world, const char *token, int64_t expires_ms, struct err *e)
{
    return machine_change(
        m, "UPDATE machine SET expires = $3 WHERE world = $1 AND token = $2 AND state < 4",
        DB_VALUES(DB_INT(world), DB_TEXT(token), DB_INT(expires_ms)), e);
}

int machine_keep(struct machines *m, struct machine *x, int64_t until_ms, struct err *e)
{
    if (machine_change(
            m, "UPDATE machine SET kept = $3 WHERE world = $1 AND token = $2 AND state < 4",
            DB_VALUES(DB_INT(x->world), DB_TEXT(x->facts.token), DB_INT(until_ms)), e) < 0)
        return -1;
    x->kept_until_ms = until_ms;
    return 0;
}

/* Clouds bill begun seconds from the launch on: the next tenant pays from a full one on, so that no
 * second is paid for twice. */
static int64_t end_of_second(const struct machine *x, int64_t now_ms)
{
    int64_t from_ms = x->facts.launched_ms;

    return now_ms <= from_ms ? from_ms : from_ms + (now_ms - from_ms + 999) / 1000 * 1000;
}

static int end_tenure(
    struct machines *m, const struct machine *x, int64_t job, int64_t at_ms, struct err *e)
{
    AUTO_MEM char *reason = mem_printf("handed to job %" PRId64, job);

    if (db_run(m->db, e,
               "UPDATE machine SET state = 5, ended = $3, since = $3, kept = 0, reason = $4"
               " WHERE world = $1 AND token = $2 AND state < 4",
               DB_INT(x->world), DB_TEXT(x->facts.token), DB_INT(at_ms), DB_TEXT(reason)) < 0)
        return -1;
    return db_changes(m->db)
               ? 0
               : err_set(e, ERR_NOTFOUND, "machine %s is being released", x->facts.token);
}

/* The columns that the new record has from the old one; ended, kept and reason begin anew. */
#define KEPT_COLUMNS                                                                               \
    "world, cloud, stage, id, owner, provider, region, zone, instance_type, spot, cpus,"           \
    " memory_gb, accelerator, accelerators, price, ready, notice, exec_driver,"                    \
    " address, root, metered_usd, metered, private_address, max_price, expires"

static int begin_tenure(struct machines *m,
                        const struct machine *x,
                        const struct machine_tenant *t,
                        int64_t at_ms,
                        struct err *e)
{
    return db_run(
        m->db, e,
        "INSERT INTO machine (" KEPT_COLUMNS ", token, origin, attempt, run, job, state,"
        " asked, since, launched, absent, data_microusd, bill_min_s, reason, ended, billed)"
        " SELECT " KEPT_COLUMNS ", $3, CASE WHEN origin = '' THEN token ELSE origin END,"
        " $4, $5, $6, 3, $7, $7, $7, 0, 0, 0, '', 0, 0"
        " FROM machine WHERE world = $1 AND token = $2",
        DB_INT(x->world), DB_TEXT(x->facts.token), DB_TEXT(t->token), DB_INT(t->attempt),
        DB_INT(t->run), DB_INT(t->job), DB_INT(at_ms));
}

int machine_take_over(struct machines *m,
                      struct machine *x,
                      const struct machine_tenant *t,
                      struct err *e)
{
    int64_t at_ms = end_of_second(x, time_epoch_ms());

    if (db_begin(m->db, e) < 0)
        return -1;
    int result =
        end_tenure(m, x, t->job, at_ms, e) < 0 || begin_tenure(m, x, t, at_ms, e) < 0 ? -1 : 0;
    if (db_end(m->db, result, e) < 0)
        return -1;
    return machines_get(m, x->world, t->token, x, e);
}

int machine_has_heir(struct machines *m, int64_t world, const char *token, struct err *e)
{
    int64_t one = 0;

    return db_get_int(
        m->db, e, &one,
        "SELECT 1 FROM machine WHERE origin = $2 AND world = $1 AND state < 5 LIMIT 1",
        DB_INT(world), DB_TEXT(token));
}

int machine_forget(struct machines *m, int64_t world, const char *token, struct err *e)
{
    return machine_change(
        m, "DELETE FROM machine WHERE world = $1 AND token = $2 AND state = 5 AND launched = 0",
        DB_VALUES(DB_INT(world), DB_TEXT(token)), e);
}

int machine_hand_over(struct machine_provisioner *d,
                      const char *token,
                      int64_t stage,
                      struct err *e)
{
    return machine_change(d->records,
                          "UPDATE machine SET stage = $3 WHERE world = $1 AND token = $2",
                          DB_VALUES(DB_INT(d->world), DB_TEXT(token), DB_INT(stage)), e);
}

int machine_charge(struct machine_provisioner *d,
                   const char *token,
                   int64_t microusd,
                   struct err *e)
{
    return machine_change(d->records,
                          "UPDATE machine SET data_microusd = data_microusd + $3"
                          " WHERE world = $1 AND token = $2",
                          DB_VALUES(DB_INT(d->world), DB_TEXT(token), DB_INT(microusd)), e);
}

/* ---- bills ---- */

int machines_each_unbilled(struct machines *m,
                           int64_t job,
                           int (*visit)(void *context, const struct machine *x, struct err *e),
                           void *context,
                           struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(m->db, e,
                 "SELECT " MACHINE_COLUMNS " FROM machine m WHERE m.world = 0 AND m.job IN"
                 " (SELECT u.job FROM machine u WHERE u.billed = 0 AND ($1 = 0 OR u.job = $1))"
                 " ORDER BY m.job, m.attempt",
                 DB_INT(job));
    int found;

    while ((found = db_step(q, e)) > 0) {
        struct machine x;
        read_row(q, &x);
        if (visit(context, &x, e) < 0)
            return -1;
    }
    return found;
}

int machines_note_billed(struct machines *m, int64_t job, struct err *e)
{
    return machine_change(
        m, "UPDATE machine SET billed = 1 WHERE world = 0 AND job = $1 AND state = 5",
        DB_VALUES(DB_INT(job)), e);
}
