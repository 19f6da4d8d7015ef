#include "cli/data/lake_rights.h"

#include <stdio.h>

const char *lake_rights_mode(unsigned mode, bool executable, char out[static 10])
{
    char *at = out;

    for (unsigned shift = 6; at < out + 9; shift -= 3) {
        unsigned bits = mode >> shift;
        *at++ = bits & 4 ? 'r' : '-';
        *at++ = bits & 2 ? 'w' : '-';
        *at++ = executable && bits & 4 ? 'x' : '-';
    }
    out[9] = 0;
    return out;
}

void lake_rights_json(json_t *item, const struct lake_rights *rights)
{
    char mode[8];

    if (!rights) {
        json_object_set_new(item, "owner", json_null());
        json_object_set_new(item, "group", json_null());
        json_object_set_new(item, "mode", json_null());
        return;
    }
    snprintf(mode, sizeof mode, "%03o", rights->mode & 0777);
    json_object_set_new(item, "owner", json_text(rights->owner));
    json_object_set_new(item, "group", *rights->group ? json_text(rights->group) : json_null());
    json_object_set_new(item, "mode", json_string(mode));
}
