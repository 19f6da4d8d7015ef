/* Which machines are not on the bills of their jobs yet. */
#include "broker/machine/internal.h"

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
        machine_row_read(q, &x);
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
