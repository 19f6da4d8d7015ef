#include "net/curl.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static const char library[] = "libcurl.so.4";

/* ISO C has no conversion from void * to a function pointer; POSIX makes this copy work. */
static int find(void *handle, const char *name, void *function_out, struct err *e)
{
    void *symbol = dlsym(handle, name);

    if (!symbol)
        return err_set(e, ERR_IO, "%s has no %s", library, name);
    memcpy(function_out, &symbol, sizeof symbol);
    return 0;
}

static int find_all(struct curl_api *api, struct err *e)
{
    const struct {
        const char *name;
        void *function_out;
    } functions[] = {
        {"curl_global_init", &api->global_init},
        {"curl_global_cleanup", &api->global_cleanup},
        {"curl_easy_init", &api->easy_init},
        {"curl_easy_setopt", &api->easy_setopt},
        {"curl_easy_perform", &api->easy_perform},
        {"curl_easy_getinfo", &api->easy_getinfo},
        {"curl_easy_strerror", &api->easy_strerror},
        {"curl_easy_cleanup", &api->easy_cleanup},
        {"curl_easy_reset", &api->easy_reset},
        {"curl_slist_append", &api->slist_append},
        {"curl_slist_free_all", &api->slist_free_all},
    };

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (find(api->library, functions[i].name, functions[i].function_out, e) < 0)
            return -1;
    }
    return 0;
}

int net_curl_load(struct curl_api *api, struct err *e)
{
    *api = (struct curl_api){.library = dlopen(library, RTLD_NOW | RTLD_LOCAL)};
    if (!api->library)
        return err_set(e, ERR_IO, "the network needs libcurl (Debian package libcurl4): %s",
                       dlerror());
    int found = find_all(api, e);
    if (found == 0 && api->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return 0;
    if (found == 0)
        err_set(e, ERR_IO, "%s does not start", library);
    dlclose(api->library);
    api->library = NULL;
    return -1;
}

void net_curl_unload(struct curl_api *api)
{
    if (!api->library)
        return;
    api->global_cleanup();
    dlclose(api->library);
}
