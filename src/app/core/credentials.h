/* credentials: where the credentials of clouds lie on this machine, never the credentials. */
#ifndef APP_CORE_CREDENTIALS_H
#define APP_CORE_CREDENTIALS_H

#include <stdbool.h>

struct app_credentials {
    const char *cloud;
    const char *variable; /* of the environment */
    const char *path;     /* below the user's home */
};
/* The last one has no cloud. */
extern const struct app_credentials app_credentials[];

/* "VARIABLE in the environment" or "~/PATH"; NULL when they are in neither. New string. */
char *app_credentials_find(const struct app_credentials *k);
/* Whether any cloud has credentials here. */
bool app_credentials_any(void);

#endif
