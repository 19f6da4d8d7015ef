/* cloud_keys: where credentials of clouds lie on this machine, never what they are. */
#ifndef APP_CORE_CLOUD_KEYS_H
#define APP_CORE_CLOUD_KEYS_H

#include <stdbool.h>

struct cloud_keys {
    const char *cloud;
    const char *variable; /* of the environment */
    const char *path;     /* below the user's home */
};
/* The last one has no cloud. */
extern const struct cloud_keys cloud_keys[];

/* "VARIABLE in the environment" or "~/PATH"; NULL when they are in neither. New string. */
char *cloud_keys_find(const struct cloud_keys *k);
bool cloud_keys_any(void);

#endif
