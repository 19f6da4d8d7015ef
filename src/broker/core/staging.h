/* staging: private directories below the home for what is only passing through. */
#ifndef BROKER_CORE_STAGING_H
#define BROKER_CORE_STAGING_H

#include "base/auto.h"
#include "base/err.h"

struct staging {
    char *path;
    int lock; /* held as long as it lives */
};

/* Makes home/staging/XXXXXX, mode 700, and removes directories there that no process locks. */
int staging_open(const char *home, struct staging *out, struct err *e);
/* Removes it with all it holds. */
void staging_clear(struct staging *s);

#endif
