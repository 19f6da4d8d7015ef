/* library: functions of shared libraries that are found at run time, so that the program starts
 * without them. */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include "base/err.h"

#include <stddef.h>

struct library_function {
    const char *name;
    void *pointer_out; /* the address of a pointer to the function */
};

/* The library, for dlclose, with all of these functions; NULL with ERR_IO: `needs` says what for,
 * and which package has it. */
void *library_open(const char *name,
                   const char *needs,
                   const struct library_function *functions,
                   size_t n,
                   struct err *e);

#endif
