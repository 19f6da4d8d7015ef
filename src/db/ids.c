/* Ids of rows: blocks of numbers reserved from the table `counter`. db.h declares the functions;
 * every room that stores rows calls them. */
#include "db/internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Reserving costs as much as the row an id is for. A transaction that asks again and again gets
 * more at a time, up to this; unused ids return to the counter at its end, so that no id is lost.
 */
#define AHEAD_MAX 1024

/* Moves the counter on by n; *end_out is one past the last id reserved. */
static int reserve(struct db *d, const char *kind, int64_t n, int64_t *end_out, struct err *e)
{
    AUTO_RESET struct db_query *q =
        db_query(d, e,
                 "INSERT INTO counter (kind, next) VALUES ($1, 1 + $2)"
                 " ON CONFLICT (kind) DO UPDATE SET next = counter.next + $2 RETURNING next",
                 DB_TEXT(kind), DB_INT(n));

    if (db_step(q, e) < 0)
        return -1;
    *end_out = db_int(q, 0);
    return db_finish(q, e);
}

/* What this transaction has of that kind; NULL when there is no room to remember it. */
static struct db_ids *find(struct db *d, const char *kind)
{
    for (size_t i = 0; i < d->n_ids; i++)
        if (strcmp(d->ids[i].kind, kind) == 0)
            return &d->ids[i];
    if (d->n_ids == DB_IDS_KINDS || strlen(kind) >= sizeof d->ids->kind)
        return NULL;
    struct db_ids *new = &d->ids[d->n_ids++];
    *new = (struct db_ids){.ahead = 1};
    snprintf(new->kind, sizeof new->kind, "%s", kind);
    return new;
}

int db_ids(struct db *d, const char *kind, int64_t n, int64_t *first_out, struct err *e)
{
    struct db_ids *ids = find(d, kind);
    int64_t end;

    assert(d->transaction == DB_TRANSACTION_WRITE && n > 0 && n < INT64_C(1) << 48);
    if (ids && ids->end - ids->next >= n) {
        *first_out = ids->next;
        ids->next += n;
        return 0;
    }
    int64_t more = ids && ids->ahead > n ? ids->ahead : n;
    if (reserve(d, kind, more, &end, e) < 0)
        return -1;
    if (!ids) {
        *first_out = end - n;
        return 0;
    }
    /* No other transaction moves the counter meanwhile: these ids follow those that are left. */
    if (ids->end == 0)
        ids->next = end - more;
    ids->end = end;
    ids->ahead = ids->ahead < AHEAD_MAX ? 2 * ids->ahead : AHEAD_MAX;
    *first_out = ids->next;
    ids->next += n;
    return 0;
}

int db_ids_return(struct db *d, struct err *e)
{
    for (size_t i = 0; i < d->n_ids; i++) {
        struct db_ids *ids = &d->ids[i];
        if (ids->next == ids->end)
            continue;
        if (db_run(d, e, "UPDATE counter SET next = $2 WHERE kind = $1", DB_TEXT(ids->kind),
                   DB_INT(ids->next)) < 0)
            return -1;
    }
    d->n_ids = 0;
    return 0;
}
