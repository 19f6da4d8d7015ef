#include "broker/machine/refusals.h"

#include "broker/machine/internal.h"

#include <stdio.h>

bool machine_refuses_offer(enum cloud_failure failure)
{
    return failure == CLOUD_QUOTA || failure == CLOUD_CAPACITY || failure == CLOUD_UNSUPPORTED;
}

const char *machine_refusal_failure_text(enum cloud_failure failure)
{
    static const char *const texts[] = {
        [CLOUD_FINE] = "",
        [CLOUD_AUTH] = "credentials",
        [CLOUD_PERMISSION] = "permission",
        [CLOUD_QUOTA] = "quota",
        [CLOUD_CAPACITY] = "capacity",
        [CLOUD_UNSUPPORTED] = "unsupported",
        [CLOUD_THROTTLE] = "throttled",
        [CLOUD_TRANSIENT] = "transient",
        [CLOUD_CONFLICT] = "conflict",
        [CLOUD_NOT_FOUND] = "not found",
        [CLOUD_INVALID] = "invalid",
        [CLOUD_UNKNOWN] = "unknown",
    };

    return texts[failure];
}

const char *machine_refusal_scope_text(enum cloud_scope scope)
{
    static const char *const texts[] = {
        [CLOUD_ZONE] = "zone", [CLOUD_REGION] = "region", [CLOUD_ACCOUNT] = "account"};

    return texts[scope];
}

int machine_refusal_note(struct machines *m, const struct machine_refusal *r, struct err *e)
{
    const struct job_offer *o = &r->offer;

    return machine_change(
        m,
        "INSERT INTO refusal (at, run, job, provider, region, zone, instance_type, accelerator,"
        " spot, failure, scope, took_s, text)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        DB_VALUES(DB_INT(r->at_ms), DB_INT(r->run), DB_INT(r->job), DB_TEXT(o->provider),
                  DB_TEXT(o->region), DB_TEXT(o->zone), DB_TEXT(o->instance_type),
                  DB_TEXT(o->accelerator), DB_INT(o->spot), DB_INT(r->failure), DB_INT(r->scope),
                  DB_REAL(r->took_s), DB_TEXT(r->text)),
        e);
}

#define COPY(into, column) snprintf((into), sizeof(into), "%s", db_text(q, (column)))

static void read_refusal(struct db_query *q, struct machine_refusal *out)
{
    struct job_offer *o = &out->offer;

    *out = (struct machine_refusal){.at_ms = db_int(q, 0),
                                    .run = db_int(q, 1),
                                    .job = db_int(q, 2),
                                    .failure = (enum cloud_failure)db_int(q, 9),
                                    .scope = (enum cloud_scope)db_int(q, 10),
                                    .took_s = db_real(q, 11)};
    COPY(o->provider, 3);
    COPY(o->region, 4);
    COPY(o->zone, 5);
    COPY(o->instance_type, 6);
    COPY(o->accelerator, 7);
    o->spot = db_int(q, 8) != 0;
    COPY(out->text, 12);
}

int machine_refusals_each(struct machines *m,
                          int64_t since_ms,
                          int64_t job,
                          int64_t run,
                          int (*visit)(void *context,
                                       const struct machine_refusal *r,
                                       struct err *e),
                          void *context,
                          struct err *e)
{
    AUTO_RESET struct db_query *q = db_query(
        m->db, e,
        "SELECT at, run, job, provider, region, zone, instance_type, accelerator, spot, failure,"
        " scope, took_s, text FROM refusal WHERE at >= $1 AND ($2 = 0 OR job = $2)"
        " AND ($3 = 0 OR run = $3) ORDER BY at",
        DB_INT(since_ms), DB_INT(job), DB_INT(run));
    int found;

    while ((found = db_step(q, e)) > 0) {
        struct machine_refusal r;
        read_refusal(q, &r);
        if (visit(context, &r, e) < 0)
            return -1;
    }
    return found;
}
