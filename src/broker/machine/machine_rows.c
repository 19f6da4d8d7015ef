#include "broker/machine/internal.h"

#include <math.h>
#include <stdio.h>

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

static enum cloud_state cloud_state_of(enum machine_state state)
{
    switch (state) {
    case MACHINE_INTENDED:
    case MACHINE_REQUESTED:
        return CLOUD_REQUESTED;
    case MACHINE_RUNNING:
        return CLOUD_RUNNING;
    case MACHINE_DELETING:
        return CLOUD_DELETING;
    case MACHINE_GONE:
        break;
    }
    return CLOUD_GONE;
}

void machine_row_read(struct db_query *q, struct machine *out)
{
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
    out->facts.state = cloud_state_of(out->state);
}

/* ---- writing ---- */

static void bind_kind(struct db_query *q, int at, const struct cloud_machine *f)
{
    db_bind_text(q, at, f->provider);
    db_bind_text(q, at + 1, f->region);
    db_bind_text(q, at + 2, f->zone);
    db_bind_text(q, at + 3, f->instance_type);
    db_bind_int(q, at + 4, f->spot);
    db_bind_real(q, at + 5, f->cpus);
    db_bind_real(q, at + 6, f->memory_gb);
    db_bind_text(q, at + 7, f->accelerator);
    db_bind_real(q, at + 8, f->accelerators);
    db_bind_real(q, at + 9, f->price_usd_per_hour);
    db_bind_real(q, at + 10, f->bill_min_s);
}

/* $1 to $29: the key, and everything that can change. */
static void bind_changing(struct db_query *q, const struct machine *x)
{
    const struct cloud_machine *f = &x->facts;

    db_bind_int(q, 1, x->world);
    db_bind_text(q, 2, f->token);
    db_bind_int(q, 3, x->state);
    db_bind_int(q, 4, x->since_ms);
    db_bind_int(q, 5, x->absent_ms);
    db_bind_text(q, 6, x->reason);
    db_bind_text(q, 7, f->id);
    db_bind_text(q, 8, f->exec_driver);
    db_bind_text(q, 9, f->address);
    db_bind_text(q, 10, f->root);
    db_bind_int(q, 11, x->stage);
    db_bind_int(q, 12, f->expires_ms);
    db_bind_int(q, 13, f->launched_ms);
    db_bind_int(q, 14, f->ready_ms);
    db_bind_int(q, 15, f->ended_ms);
    db_bind_int(q, 16, f->notice_ms);
    bind_kind(q, 17, f);
    db_bind_real(q, 28, f->metered_usd);
    db_bind_int(q, 29, f->metered_ms);
}

int machine_row_insert(struct machines *m, const struct machine *x, struct err *e)
{
    struct db_query *q = machine_change(
        m,
        "INSERT INTO machine (world, token, state, since, absent, reason, id, exec_driver, address,"
        " root, stage, expires, launched, ready, ended, notice, provider, region, zone,"
        " instance_type, spot, cpus, memory_gb, accelerator, accelerators, price, bill_min_s,"
        " metered_usd, metered, cloud, attempt, asked, max_price, owner, run, job, data_microusd,"
        " billed)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,"
        " $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35,"
        " $36, 0, CASE WHEN $1 = 0 AND $36 > 0 THEN 0 ELSE 1 END)",
        e);

    if (!q)
        return -1;
    bind_changing(q, x);
    db_bind_text(q, 30, x->cloud);
    db_bind_int(q, 31, x->attempt);
    db_bind_int(q, 32, x->asked_ms);
    if (isfinite(x->max_price_usd_per_hour))
        db_bind_real(q, 33, x->max_price_usd_per_hour);
    else
        db_bind_null(q, 33);
    db_bind_text(q, 34, x->facts.owner);
    db_bind_int(q, 35, x->facts.run);
    db_bind_int(q, 36, x->facts.job);
    return db_run(q, e);
}

int machine_row_update(struct machines *m, struct machine *x, struct err *e)
{
    struct db_query *q = machine_change(
        m,
        "UPDATE machine SET state = $3, since = $4, absent = $5, reason = $6, id = $7,"
        " exec_driver = $8, address = $9, root = $10, stage = $11, expires = $12, launched = $13,"
        " ready = $14, ended = $15, notice = $16, provider = $17, region = $18, zone = $19,"
        " instance_type = $20, spot = $21, cpus = $22, memory_gb = $23, accelerator = $24,"
        " accelerators = $25, price = $26, bill_min_s = $27, metered_usd = $28,"
        " metered = $29"
        " WHERE world = $1 AND token = $2 AND state <= $3",
        e);

    if (!q)
        return -1;
    bind_changing(q, x);
    if (db_run(q, e) < 0)
        return -1;
    return db_changes(m->db) ? 0 : machines_get(m, x->world, x->facts.token, x, e);
}
