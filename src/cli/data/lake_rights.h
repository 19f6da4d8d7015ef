/* lake_rights: owner, group and mode of files and sets, as they are shown. */
#ifndef CLI_DATA_LAKE_RIGHTS_H
#define CLI_DATA_LAKE_RIGHTS_H

#include "base/json.h"

#include <stdbool.h>

struct lake_rights {
    const char *owner, *group; /* group "" = none */
    unsigned mode;
};

/* "rw-r-----"; executable: x for those who may read. out is returned. */
const char *lake_rights_mode(unsigned mode, bool executable, char out[static 10]);
/* Sets owner, group (null = none) and mode, as chmod takes it: "640". rights NULL: all null. */
void lake_rights_json(json_t *item, const struct lake_rights *rights);

#endif
