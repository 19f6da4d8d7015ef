/* Rows of the table of machines: read, inserted, updated. machines.c and machine_life.c call it. */
#include "broker/machine/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
}

void machine_row_read(struct db_query *q, struct machine *out)
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
    read_facts(q, &out->facts);
    out->facts.state = states[out->state];
}

/* ---- writing ---- */

/* $1 to $29: the key, and everything that can change. */
#define N_CHANGING 29
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
        DB_INT(f->metered_ms),
    };

    memcpy(out, values, sizeof values);
}

int machine_row_insert(struct machines *m, const struct machine *x, struct err *e)
{
    bool has_limit = isfinite(x->max_price_usd_per_hour);
    struct db_value values[N_CHANGING + 8] = {
        [N_CHANGING] = DB_TEXT(x->cloud),
        DB_INT(x->attempt),
        DB_INT(x->asked_ms),
        has_limit ? DB_REAL(x->max_price_usd_per_hour) : DB_NULL,
        DB_TEXT(x->facts.owner),
        DB_INT(x->facts.run),
        DB_INT(x->facts.job),
        DB_NONE,
    };

    put_changing(values, x);
    return machine_change(
        m,
        "INSERT INTO machine (world, token, state, since, absent, reason, id, exec_driver, address,"
        " root, stage, expires, launched, ready, ended, notice, provider, region, zone,"
        " instance_type, spot, cpus, memory_gb, accelerator, accelerators, price, bill_min_s,"
        " metered_usd, metered, cloud, attempt, asked, max_price, owner, run, job, data_microusd,"
        " billed)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,"
        " $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35,"
        " $36, 0, CASE WHEN $1 = 0 AND $36 > 0 THEN 0 ELSE 1 END)",
        values, e);
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
            " metered = $29"
            " WHERE world = $1 AND token = $2 AND state <= $3",
            values, e) < 0)
        return -1;
    return db_changes(m->db) ? 0 : machines_get(m, x->world, x->facts.token, x, e);
}
