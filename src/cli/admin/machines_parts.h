/* machines_parts: what the commands on machines share. */
#ifndef CLI_ADMIN_MACHINES_PARTS_H
#define CLI_ADMIN_MACHINES_PARTS_H

#include "base/json.h"
#include "broker/machine/machines.h"
#include "spec/config.h"

/* The record of machines of the home of the configuration, which is made where it is missing. */
int machines_records_open(struct config **config_out, struct machines **out, struct err *e);

/* "aws/us-east-1a" where the zone's name begins with the region's, "lab" for a pool. New string. */
char *machines_place(const struct cloud_machine *f);
/* Its type; hosts of one's own have a name instead. */
const char *machines_kind(const struct cloud_machine *f);
/* New reference. */
json_t *machines_json(const struct machine *m, int64_t now_ms);

#endif
