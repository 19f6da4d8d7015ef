/* Opens the catalog of a home, or the built-in one that is linked in where the home has none.
 * Called by commands and by everything that plans. */
#include "catalog/internal.h"
#include "catalog/store.h"

/* The linker's, from builtin.S. */
extern const char catalog_builtin[] __attribute__((visibility("hidden")));
extern const char catalog_builtin_end[] __attribute__((visibility("hidden")));

struct catalog *catalog_open_builtin(struct err *e)
{
    return catalog_open_bytes("the built-in catalog", catalog_builtin,
                              (size_t)(catalog_builtin_end - catalog_builtin), e);
}

struct catalog *catalog_open(const char *home, struct err *e)
{
    struct err why = {0};
    struct catalog *c = catalog_store_open(home, &why);

    if (c)
        return c;
    if (why.kind == ERR_NOTFOUND)
        return catalog_open_builtin(e);
    err_set(e, why.kind, "%s", why.text);
    return NULL;
}
