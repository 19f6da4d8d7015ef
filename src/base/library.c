#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

void *library_open(const char *name,
                   const char *needs,
                   const struct library_function *functions,
                   size_t n,
                   struct err *e)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        err_set(e, ERR_IO, "%s: %s", needs, dlerror());
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (!symbol) {
            err_set(e, ERR_IO, "%s has no %s", name, functions[i].name);
            dlclose(library);
            return NULL;
        }
        /* ISO C has no conversion from void * to a function pointer; POSIX makes this copy work. */
        memcpy(functions[i].pointer_out, &symbol, sizeof symbol);
    }
    return library;
}
