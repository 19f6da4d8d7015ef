/* internal: what the files of app/data share. */
#ifndef APP_DATA_INTERNAL_H
#define APP_DATA_INTERNAL_H

#include "app/data/data.h"

/* Permissions as chmod takes them: "640". out is returned. */
static inline const char *app_data_mode_text(unsigned mode, char out[static 4])
{
    out[0] = (char)('0' + (mode >> 6 & 7));
    out[1] = (char)('0' + (mode >> 3 & 7));
    out[2] = (char)('0' + (mode & 7));
    out[3] = 0;
    return out;
}

/* The name of a set may be written as a reference is: "@S". NULL stays NULL. */
static inline const char *app_data_set_name(const char *name)
{
    return name && name[0] == '@' ? name + 1 : name;
}

#endif
