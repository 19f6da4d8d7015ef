/* internal: machines as rows of the database, for the files of src/broker/machine. */
#ifndef BROKER_MACHINE_INTERNAL_H
#define BROKER_MACHINE_INTERNAL_H

#include "broker/machine/machines.h"
#include "db/db.h"

#define MACHINE_OWNER_BYTES 24

struct machines {
    struct db *db;
    char owner[MACHINE_OWNER_BYTES];
    bool is_grouping; /* machines_group */
    bool is_waiting;  /* a transaction is open */
};

/* Runs one change with its DB_VALUES, in the transaction of its group if there is one. */
int machine_change(struct machines *m,
                   const char *sql,
                   const struct db_value *values,
                   struct err *e);

/* max_usd_per_hour: ERR_NOFIT, and no row, if the machines of clouds on the network would cost more
 * with this one, by one statement that no other process comes between; 0 = whatever they cost. */
int machine_row_insert(struct machines *m,
                       const struct machine *x,
                       double max_usd_per_hour,
                       struct err *e);
/* Writes every column that can change. A record never returns to an earlier state: where another
 * process wrote a later one, *x becomes that record. */
int machine_row_update(struct machines *m, struct machine *x, struct err *e);

/* 1: another job took over the machine of this token, and its record is open; 0; -1. */
int machine_has_heir(struct machines *m, int64_t world, const char *token, struct err *e);

/* When the machine stops to cost anything. INT64_MAX: when its cloud has terminated it. */
int64_t machine_paid_until_ms(const struct machine *m);

/* machine_look that also tells whether another process was releasing the machine meanwhile: then *m
 * becomes that process's record. */
int machine_look_beside(struct machine_provisioner *d,
                        struct machine *m,
                        bool *given_back,
                        struct cloud_error *e);

#endif
